/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - joining the ranks that a launcher started, and leaving them.
 *
 * A rank that dies is noticed by the launcher, which ends all others, one that hangs by the
 * other ranks (rank_heartbeat.c); whatever they do at that moment, files outlive it
 * (file.h, block_map.h). A failure of the transport is final: no further exchange is tried,
 * and leaving ends all ranks.
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/processes_inside.h"

inv_processes *inv_ranks_of(const invar_context *ctx)
{
	inv_processes *p = ctx->processes;

	return p && pthread_equal(p->owner, pthread_self()) && !omp_in_parallel() ? p : NULL;
}

unsigned inv_process_rank(const invar_context *ctx)
{
	return inv_processes_rank(inv_ranks_of(ctx));
}

unsigned inv_process_count(const invar_context *ctx)
{
	return inv_processes_size(inv_ranks_of(ctx));
}

unsigned inv_processes_rank(const inv_processes *p)
{
	return p ? p->t->rank : 0;
}

unsigned inv_processes_size(const inv_processes *p)
{
	return p ? p->t->size : 1;
}

void inv_context_share(invar_context *ctx, inv_processes *p)
{
	ctx->processes = p;
}

/* ---- Joining and leaving ----------------------------------------------------------- */

static bool is_number(const char *name, unsigned min)
{
	const char *text = getenv(name);
	char *end;

	return text && *text >= '0' && *text <= '9' && strtoul(text, &end, 10) >= min && !*end;
}

/* Open MPI's mpirun; a PMIx launcher; srun, whose batch script itself is no step. */
static bool is_launched(void)
{
	const char *off = getenv("INVAR_RANKS");

	if (off && strcmp(off, "1") == 0)
		return false;
	return is_number("OMPI_COMM_WORLD_SIZE", 2) || is_number("PMI_SIZE", 2) ||
	       (getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE")) ||
	       (is_number("SLURM_STEP_NUM_TASKS", 2) && is_number("SLURM_PROCID", 0));
}

/*
 * Where the environment says; else beside the library or in its folder invar; else where
 * the program, which contains the library, finds it: in the tree of a build, or installed.
 */
static void *open_plugin(char *why, size_t size)
{
	static const char *const places[] = {"invar_mpi.so", "invar/invar_mpi.so",
	                                     "../invar_mpi.so",
	                                     "../" INV_LIBDIR "/invar/invar_mpi.so"};
	const char *given = getenv("INVAR_MPI_PLUGIN"), *slash;
	char path[4096];
	void *library;
	Dl_info self;

	snprintf(path, sizeof path, "%s", given ? given : "invar_mpi.so");
	if (!given && dladdr((void *)(uintptr_t)&inv_processes_join, &self) &&
	    (slash = strrchr(self.dli_fname, '/')))
		for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
			snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname),
			         self.dli_fname, places[i]);
			if (access(path, F_OK) == 0)
				break;
		}
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		snprintf(why, size, "%s", dlerror());
	return library;
}

static invar_status open_transport(const inv_transport **out)
{
	char why[512] = "";
	void *library = open_plugin(why, sizeof why);
	inv_transport_open_fn *open_it = NULL;
	const char *sentence;

	if (!library)
		return inv_fail(INVAR_E_IO,
		                "a launcher has started several processes, but invar's plugin for "
		                "MPI cannot be loaded: %.300s; install Open MPI, or set "
		                "INVAR_RANKS=1 for programs that know nothing of each other",
		                why);
	*(void **)&open_it = dlsym(library, INV_TRANSPORT_OPEN);
	sentence = open_it ? open_it(out) : "it is not a plugin of invar";
	if (sentence || (*out)->version != INV_TRANSPORT_VERSION)
		return inv_fail(INVAR_E_IO, "invar's plugin for MPI cannot be used: %.300s",
		                sentence ? sentence : "it belongs to another version");
	return INVAR_OK;
}

invar_status inv_processes_join(inv_processes **out)
{
	const inv_transport *t;
	invar_status st;

	*out = NULL;
	if (!is_launched())
		return INVAR_OK;
	if ((st = open_transport(&t)) != INVAR_OK)
		return st;
	return inv_processes_over(t, out);
}

invar_status inv_processes_over(const inv_transport *t, inv_processes **out)
{
	inv_processes *p = inv_calloc(1, sizeof *p);
	invar_status st;

	*out = p;
	if (!p || !(p->heard = inv_calloc(t->size, sizeof *p->heard))) {
		inv_free(p);
		*out = NULL;
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of processes");
	}
	p->t = t;
	p->owner = pthread_self();
	if ((st = inv_heartbeat_start(t, &p->heartbeat)) == INVAR_OK)
		return INVAR_OK;
	inv_free(p->heard);
	inv_free(p);
	*out = NULL;
	return st;
}

void inv_processes_leave(inv_processes *p, int result)
{
	inv_call_header h = {.result = result};

	if (!p)
		return;
	if (!p->broken && !p->t->rank)
		inv_ranks_broadcast(p, 0, &h, sizeof h);
	inv_heartbeat_stop(p->heartbeat, !p->broken);
	if (p->broken)
		p->t->abort(result ? result : 1);
	else
		p->t->close();
	for (size_t i = 0; i < INV_MAX_RANK_CONTEXTS; i++)
		invar_context_free(p->context[i]);
	inv_free(p->heard);
	inv_free(p);
}
