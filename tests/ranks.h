/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - several processes for a test, without MPI: forked, joined by sockets.
 *
 * test_ranks_open makes this process rank 0 of `size`; the others run `body`, leave with
 * its status and end. test_ranks_close leaves as well, and checks that all ended with the
 * status that it returns. Fork before any thread has been started (before a context of
 * several threads is used).
 */
#ifndef INV_TEST_RANKS_H
#define INV_TEST_RANKS_H

#include "base/processes.h"
#include "invar.h"

typedef invar_status test_rank_body(inv_processes *p);

inv_processes *test_ranks_open(unsigned size, test_rank_body *body);
/* The process of a rank, to kill it. */
int test_ranks_process(unsigned rank);
invar_status test_ranks_close(inv_processes *p, invar_status st);
/* Of ranks that were killed: what is left of the others is ended. */
void test_ranks_kill(void);

#endif
