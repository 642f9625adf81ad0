/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - wall and CPU time of this process, for logs and run.json. */
#ifndef INV_CLOCK_H
#define INV_CLOCK_H

#include <sys/resource.h>
#include <time.h>

static inline double inv_wall_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double inv_cpu_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static inline double inv_peak_megabytes(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_maxrss / 1024;
}

#endif
