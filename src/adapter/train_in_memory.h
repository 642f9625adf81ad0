/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_in_memory.h - trains an adapter without a run, for the trial.
 *
 * The same steps as a training with the same options, on some images of the split, or the
 * closed form; spread and strength included. Nothing is logged or saved, and a hook that
 * stops it leaves nothing to resume.
 */
#ifndef INV_TRAIN_IN_MEMORY_H
#define INV_TRAIN_IN_MEMORY_H

#include "adapter/compose.h"
#include "bank/bank.h"
#include "base/options.h"

typedef struct inv_memory_training {
	const invar_bank *bank;
	const invar_options *options; /* made for "train" */
	const uint32_t *images;       /* the rows of the split that train */
	uint32_t image_count;
} inv_memory_training;

/* Gives out->params. */
invar_status inv_train_in_memory(const inv_memory_training *m, inv_mlp_form *out);

#endif
