/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - a stack that is large enough.
 *
 * Our own frames are small, but librsvg draws with some 200 KB, and threads that
 * libraries start before main() take the limit of the start for their own. So the limit
 * is widened and the program begins again, with the same process, streams and words.
 */
#include "cli/stack.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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
