/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - see launch.h. The words of the command line come from the system. */
#include "cli/launch.h"
#include "base/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 4096, MAX_TEXT = 1 << 20 };

/* The words of this process, each ended by a 0; gives, free(). */
static char *read_words(size_t *bytes)
{
	FILE *f = fopen("/proc/self/cmdline", "rb");
	char *text = malloc(MAX_TEXT);

	*bytes = f && text ? fread(text, 1, MAX_TEXT, f) : 0;
	if (f)
		fclose(f);
	return text;
}

static invar_status start_launcher(const char *ranks, char *text, size_t bytes)
{
	const char *launcher = getenv("SLURM_JOB_ID") ? "srun" : "mpirun";
	char program[PATH_MAX] = "", **word = calloc(MAX_WORDS + 5, sizeof *word);
	size_t words = 4, at;

	if (!word || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
		return inv_no_memory();
	word[0] = (char *)(uintptr_t)launcher;
	word[1] = (char *)(uintptr_t) "-n";
	word[2] = (char *)(uintptr_t)ranks;
	word[3] = program;
	/* The first word is our own name, by whatever path. */
	for (at = strnlen(text, bytes) + 1; at < bytes && words < MAX_WORDS; words++) {
		word[words] = text + at;
		at += strnlen(text + at, bytes - at) + 1;
	}
	fflush(NULL);
	execvp(launcher, word);
	free(word);
	return inv_fail(INVAR_E_IO, "cannot start %s: %s; --ranks needs Open MPI (openmpi-bin)",
	                launcher, strerror(errno));
}

invar_status inv_launch_ranks(inv_session *s, uint64_t ranks)
{
	unsigned size = inv_processes_size(s->processes);
	char number[24], *text;
	size_t bytes;
	invar_status st;

	if (ranks <= 1 || ranks == size)
		return INVAR_OK;
	if (s->processes)
		return inv_fail(INVAR_E_USE,
		                "--ranks %" PRIu64 ", but the launcher has started %u; leave "
		                "--ranks out, or run it without a launcher",
		                ranks, size);
	snprintf(number, sizeof number, "%" PRIu64, ranks);
	text = read_words(&bytes);
	if (!text || !bytes || bytes == MAX_TEXT)
		st = inv_no_memory();
	else
		st = start_launcher(number, text, bytes);
	free(text);
	return st;
}
