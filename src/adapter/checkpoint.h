/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - a training between two steps, as a safetensors file.
 *
 * Tensors: 0.weight … 2.bias, the same with m. and v. for AdamW's moments, and
 * with best. if the best epoch so far is kept; a decoder's are dec.0.weight,
 * m.dec.0.weight and so on. Metadata: counters as
 * decimal text, sums and the best loss as hexadecimal floats, which are exact;
 * "invar.made_with", a JSON object of all that the result depends on, see provenance.h.
 */
#ifndef INV_CHECKPOINT_H
#define INV_CHECKPOINT_H

#include "adapter/step.h"
#include "base/json.h"

typedef struct inv_progress_state {
	uint64_t epoch, step; /* the next step to do */
	uint64_t t;           /* steps done over all epochs */
	double loss_sum;      /* over the steps of this epoch */
	double term_sum[INV_VALUE_TERMS];
	double best;         /* validation loss of `best`; infinite before the first */
	uint64_t best_epoch; /* which epoch that was, counted from 1; 0: not known */
} inv_progress_state;

/* best and made_with, which is JSON, may be NULL. */
invar_status inv_checkpoint_save(const char *path, const inv_step *p, const float *best,
                                 const inv_progress_state *at, const char *made_with);
invar_status inv_checkpoint_load(const char *path, inv_step *p, float *best,
                                 inv_progress_state *at);

/*
 * Fails if a checkpoint was made with other values than `now`, naming the field; `says` is
 * the file with the new value. Values that only one of them has are not compared; older
 * checkpoints have none.
 */
invar_status inv_checkpoint_check(const char *path, const json_t *now, const char *says);

#endif
