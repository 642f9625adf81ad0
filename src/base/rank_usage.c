/* SPDX-License-Identifier: Apache-2.0 */
/* rank_usage.c - the memory and processor time that all ranks have used. */
#include <sys/resource.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/processes_inside.h"

static inv_usage own_usage(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (inv_usage){.peak_kb = use.ru_maxrss,
	                   .cpu_seconds =
	                       (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	                       1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec)};
}

static invar_status exchange_usage(const invar_context *ctx, inv_usage *out)
{
	unsigned ranks = inv_process_count(ctx);
	inv_usage *all = inv_calloc(ranks, sizeof *all);
	invar_status st;

	if (!all)
		return inv_ranks_fail(inv_ranks_of(ctx), "not enough memory for a list of ranks");
	st = inv_collect(ctx, (inv_dealt){ranks, 1, sizeof *all}, all, out);
	for (unsigned r = 1; r < ranks && !inv_process_rank(ctx) && st == INVAR_OK; r++) {
		out->peak_kb = all[r].peak_kb > out->peak_kb ? all[r].peak_kb : out->peak_kb;
		out->cpu_seconds += all[r].cpu_seconds;
	}
	inv_free(all);
	return st;
}

static invar_status serve_usage(const invar_context *ctx)
{
	inv_usage own = own_usage();

	return exchange_usage(ctx, &own);
}

const inv_service inv_usage_service = {.name = "usage", .serve = serve_usage};

inv_usage inv_usage_of(const invar_context *ctx)
{
	inv_usage sum = own_usage();

	if (inv_process_count(ctx) > 1 && inv_call(ctx, inv_usage_service.name) == INVAR_OK)
		exchange_usage(ctx, &sum);
	return sum;
}

void inv_context_usage(const invar_context *ctx, double *peak_mb, double *cpu_seconds)
{
	inv_usage sum = inv_usage_of(ctx);

	*peak_mb = (double)sum.peak_kb / 1024;
	*cpu_seconds = sum.cpu_seconds;
}
