/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp_policy.c - threads that wait should sleep.
 *
 * libgomp lets waiting threads spin. That gains 1 % at most on an idle machine, and beside
 * other programs it costs far more: t-SNE of 1,600 points on two cores with a load of
 * 25 took 60 s of processor time spinning and 3.4 s asleep. libgomp reads OMP_WAIT_POLICY
 * when it is loaded, before main(), and nothing of ours runs between libc, which resets the
 * environment even after .preinit_array, and libgomp. So the program begins again with the
 * variable set, as it does for a larger stack; this takes about 10 ms.
 */
#include "cli/openmp_policy.h"

#include <stdlib.h>
#include <unistd.h>

void inv_wait_asleep(char **argv)
{
	if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
		return; /* the user's choice, or this is the second time */
	if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
		execv("/proc/self/exe", argv); /* without /proc, threads spin */
}
