/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_ranks.h - one training step by several processes, each of which reads a share of its
 * images.
 *
 * The ranks gather the rows of the batch, share the hidden units of E (nn/mlp_ranks.h) and
 * the work of the loss (losses/loss.h), and gather the gradient of the codes. No sum is
 * cut, so that a step has the bits of one process for every loss.
 *
 * Each rank has the weights and moments of its own units; those in the step's vectors are
 * those of the last inv_step_ranks_collect.
 *
 * Floats into each rank and step, besides those of mlp_ranks.h and of the loss: M d for the
 * rows and M w for the gradient, (R - 1) / R of each.
 */
#ifndef INV_STEP_RANKS_H
#define INV_STEP_RANKS_H

#include "adapter/step.h"
#include "base/processes.h"

typedef struct inv_step_ranks inv_step_ranks;

/* Fills p->ranks, for a step whose spec has N_all. */
invar_status inv_step_ranks_new(inv_step *p);
size_t inv_step_ranks_memory(const inv_step_ranks *r);
void inv_step_ranks_free(inv_step_ranks *r); /* accepts NULL */

/* From the step's vectors, the same on all ranks, to each rank's own; and back. */
void inv_step_ranks_take(inv_step *p);
invar_status inv_step_ranks_collect(inv_step *p);

/* rows [(s + 1) N, d] of this rank's N images. A failure of any rank is one of all. */
invar_status inv_step_ranks_run(inv_step *p, const float *rows, double lr,
                                inv_loss_value *out);
/* Of a rank that has no rows for this step: its failure is that of all. */
void inv_step_ranks_fail(inv_step *p, invar_status st);

#endif
