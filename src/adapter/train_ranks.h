/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_ranks.h - the steps of a training by several processes.
 *
 * Rank 0 is the trainer: it has the run's folder, the log, the checkpoints and the
 * validation. The other ranks open the same bank, take the weights and moments from rank 0
 * and share every step: its rows, of which they read no others, the units of E and the work
 * of the loss (step_ranks.h).
 *
 * Which images a step sees, and which copies, is keyed as always, so the batches are those
 * of one process; a run may be resumed with any number of ranks.
 */
#ifndef INV_TRAIN_RANKS_H
#define INV_TRAIN_RANKS_H

#include "adapter/trainer.h"
#include "base/processes.h"

/*
 * How many ranks take part: all if the rows are in one bank and E has no decoder, else 1,
 * which is logged.
 */
unsigned inv_train_ranks_count(const inv_trainer *t);
/* The images of a batch that belong to this rank. */
void inv_train_ranks_share(const inv_trainer *t, uint32_t *first, uint32_t *count);

/* From the first step on; with one rank these do nothing. */
invar_status inv_train_ranks_begin(inv_trainer *t);
/* Before each step of rank 0. */
invar_status inv_train_ranks_step(inv_trainer *t, double lr);
/* The weights and moments of all ranks come to rank 0's step, if it has not got them. */
invar_status inv_train_ranks_collect(inv_trainer *t);
void inv_train_ranks_end(inv_trainer *t);

extern const inv_service inv_train_service;

#endif
