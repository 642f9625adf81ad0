/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ranks.h - one training step by several processes, each with a share of its images.
 *
 * Every rank maps its own rows to codes. A loss that is a mean over rows (by_rows: MaWa) is
 * evaluated on these, weighted by the share; any other gets the clean rows and the codes of
 * all ranks, is evaluated by each of them, and each goes on with the gradient of its own
 * codes. The gradients of the weights are added over the ranks, in their order, and every
 * rank makes the same AdamW step: all have the same weights, bit for bit.
 *
 * A gradient is a sum over the rows of a batch; its parts are rounded where ranks meet, so
 * that it equals that of one process to float32, not in every bit.
 *
 * Volume of a step, in and out of each rank: 2 (R - 1) / R floats of all weights, and for
 * losses that are not by rows the N d clean values and M w codes of the batch.
 */
#ifndef INV_STEP_RANKS_H
#define INV_STEP_RANKS_H

#include "adapter/step.h"
#include "base/processes.h"

typedef struct inv_step_ranks inv_step_ranks;

/* Fills p->ranks, for a step whose spec has N_all. */
invar_status inv_step_ranks_new(inv_step *p);
void inv_step_ranks_free(inv_step_ranks *r); /* accepts NULL */

/*
 * The loss of all ranks, and the gradient of this one's codes. `st`: what has failed on
 * this rank so far; a failure of any is one of all.
 */
invar_status inv_step_ranks_evaluate(inv_step *p, invar_status st, const inv_loss_batch *b,
                                     inv_loss_value *out, float *d_codes);
/* Of a rank that has no rows for this step. */
void inv_step_ranks_fail(inv_step *p);
/* Starts adding gradients from … end - 1 over the ranks; waits for that. */
invar_status inv_step_ranks_send(inv_step *p, size_t from, size_t end);
invar_status inv_step_ranks_receive(inv_step *p);

#endif
