/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - several processes for a test, without MPI: forked, joined by sockets.
 *
 * test_ranks_open makes this process rank 0 of `size`; the others serve until
 * test_ranks_close, which checks that each of them ended with the result it was given. Fork
 * before any thread has been started (before a context of several threads is used).
 */
#ifndef INV_TEST_RANKS_H
#define INV_TEST_RANKS_H

#include "base/processes.h"
#include "invar.h"

inv_processes *test_ranks_open(unsigned size);
/* The same, but the others first run `body`, in which they are not asked to serve. */
inv_processes *test_ranks_open_with(unsigned size, void (*body)(inv_processes *p));
/* Of ranks opened from now on: they have heartbeats; 0: none, as at first. */
void test_ranks_patience(double seconds);
/* The process of a rank, to kill it. */
int test_ranks_process(unsigned rank);
void test_ranks_close(inv_processes *p, int result);
/* Of ranks that were killed: what is left of the others is ended. */
void test_ranks_kill(void);

#endif
