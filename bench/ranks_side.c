/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks_side.c - what bench/ranks.py needs besides the program.
 *
 *     ranks_side bank FOLDER ROWS DIM           a bank of synthetic features, 3 copies
 *     mpirun -n R ranks_side exchange MEGABYTES TIMES
 *                                               bytes per second into all ranks together,
 *                                               of arrays of which each has a share
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/processes.h"

static int fail(void)
{
	fprintf(stderr, "ranks_side: %s\n", invar_last_error());
	return EXIT_FAILURE;
}

static int make_bank(char **argv)
{
	invar_options *o = NULL;
	invar_context *ctx;

	if (invar_context_new(0, NULL, &ctx) != INVAR_OK ||
	    invar_options_new("synthetic", &o) != INVAR_OK ||
	    invar_options_set(o, "rows", argv[3]) != INVAR_OK ||
	    invar_options_set(o, "test-rows", "40") != INVAR_OK ||
	    invar_options_set(o, "dim", argv[4]) != INVAR_OK ||
	    invar_options_set(o, "copies", "3") != INVAR_OK ||
	    invar_bank_synthesize(ctx, o, argv[2]) != INVAR_OK)
		return fail();
	invar_options_free(o);
	invar_context_free(ctx);
	return EXIT_SUCCESS;
}

/* As a step of training exchanges its codes; the first time is not counted. */
static int measure_exchange(size_t bytes, unsigned times)
{
	inv_processes *p;
	invar_context *ctx;
	inv_shares shares;
	char *data = inv_calloc(bytes, 1);
	double began = 0, seconds;

	if (!data || inv_processes_join(&p) != INVAR_OK ||
	    invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return fail();
	inv_context_share(ctx, p);
	shares = inv_shares_of(ctx, bytes, 64);
	for (unsigned i = 0; i <= times; i++) {
		if (inv_gather(ctx, &shares, data, 1) != INVAR_OK)
			return fail();
		began = i ? began : inv_wall_seconds();
	}
	seconds = inv_wall_seconds() - began;
	if (inv_process_rank(ctx) == 0)
		printf("%.4g\n", (shares.ranks - 1) * (double)bytes * times / seconds);
	if (inv_processes_leave(p, INVAR_OK) != INVAR_OK)
		return fail();
	inv_processes_close(p, EXIT_SUCCESS);
	invar_context_free(ctx);
	inv_free(data);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "bank") == 0)
		return make_bank(argv);
	if (argc == 4 && strcmp(argv[1], "exchange") == 0)
		return measure_exchange(strtoul(argv[2], NULL, 10) << 20,
		                        (unsigned)strtoul(argv[3], NULL, 10));
	fprintf(stderr, "ranks_side: bank FOLDER ROWS DIM, or exchange MEGABYTES TIMES\n");
	return 2;
}
