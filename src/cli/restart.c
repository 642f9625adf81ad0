/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c - settings that libraries read before main(). The program begins again with the
 * same process, streams and words, which takes about 10 ms.
 *
 * Stack: our own frames are small, but librsvg draws with some 200 KB, and threads that
 * libraries start before main() take the limit of the start for their own.
 *
 * Waiting threads: libgomp lets them spin. That gains 1 % at most on an idle machine, and
 * beside other programs it costs far more: t-SNE of 1,600 points on two cores with a load
 * of 25 took 60 s of processor time spinning and 3.4 s asleep. libgomp reads
 * OMP_WAIT_POLICY when it is loaded, and nothing of ours runs between libc, which resets
 * the environment even after .preinit_array, and libgomp.
 */
#include "cli/restart.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_WORDS = 4096, MAX_TEXT = 1 << 20 }; /* of a command line */
enum { LEAST_STACK = 512 << 10, USUAL_STACK = 8 << 20 };

bool inv_stack_suffices(char **argv)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST_STACK)
		return true;
	if (limit.rlim_max < LEAST_STACK) {
		fprintf(stderr,
		        "invar: the stack is limited to %llu KB, but %d KB are needed; raise the "
		        "limit with 'ulimit -s %d'\n",
		        (unsigned long long)limit.rlim_cur >> 10, LEAST_STACK >> 10,
		        USUAL_STACK >> 10);
		return false;
	}
	limit.rlim_cur = limit.rlim_max < USUAL_STACK ? limit.rlim_max : USUAL_STACK;
	if (setrlimit(RLIMIT_STACK, &limit) == 0)
		execv("/proc/self/exe", argv); /* without /proc, the limit at least covers main() */
	return true;
}

void inv_wait_asleep(char **argv)
{
	if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
		return; /* the user's choice, or this is the second time */
	if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
		execv("/proc/self/exe", argv); /* without /proc, threads spin */
}

invar_status inv_launch_ranks(inv_session *s, uint64_t ranks)
{
	const char *launcher = getenv("SLURM_JOB_ID") ? "srun" : "mpirun";
	unsigned size = inv_processes_size(s->processes);
	char program[PATH_MAX] = "", number[24], dash_n[] = "-n", *text, **word;
	size_t bytes = 0, words = 4;
	FILE *f;

	if (ranks <= 1 || ranks == size)
		return INVAR_OK;
	if (s->processes)
		return inv_fail(INVAR_E_USE,
		                "--ranks %" PRIu64 ", but the launcher has started %u; leave "
		                "--ranks out, or run it without a launcher",
		                ranks, size);
	snprintf(number, sizeof number, "%" PRIu64, ranks);
	text = malloc(MAX_TEXT);
	word = calloc(MAX_WORDS + 5, sizeof *word);
	/* The words of this process, each ended by a 0. */
	if (text && (f = fopen("/proc/self/cmdline", "rb"))) {
		bytes = fread(text, 1, MAX_TEXT, f);
		fclose(f);
	}
	if (!word || !bytes || bytes == MAX_TEXT ||
	    readlink("/proc/self/exe", program, sizeof program - 1) < 0) {
		free(text);
		free(word);
		return inv_no_memory();
	}
	word[0] = (char *)(uintptr_t)launcher;
	word[1] = dash_n;
	word[2] = number;
	word[3] = program;
	/* The first word is our own name, by whatever path. */
	for (size_t at = strnlen(text, bytes) + 1; at < bytes && words < MAX_WORDS; words++) {
		word[words] = text + at;
		at += strnlen(text + at, bytes - at) + 1;
	}
	fflush(NULL);
	execvp(launcher, word);
	free(text);
	free(word);
	return inv_fail(INVAR_E_IO, "cannot start %s: %s; --ranks needs Open MPI (openmpi-bin)",
	                launcher, strerror(errno));
}
