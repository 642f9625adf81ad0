/* SPDX-License-Identifier: Apache-2.0 */
/* option_sets.c - invar_options_new: the options of each command, one line each. */
#include <string.h>

#include "adapter/evaluate_loss.h"
#include "adapter/export/export.h"
#include "adapter/train_options.h"
#include "bank/bank.h"
#include "bank/class_view.h"
#include "base/options.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "images/augment/augment.h"
#include "images/dataset.h"
#include "images/prepare.h"
#include "measure/check.h"
#include "measure/measurement.h"
#include "measure/projected.h"
#include "measure/trial.h"
#include "study/study.h"

static invar_status declare_encode(invar_options *o)
{
	INV_TRY(inv_encoder_declare(o));
	INV_TRY(inv_encode_declare(o));
	return inv_dataset_declare(o);
}

static invar_status declare_augment(invar_options *o)
{
	INV_TRY(inv_tensor_declare(o));
	return inv_draw_declare(o);
}

static const struct option_set {
	const char *command;
	invar_status (*declare)(invar_options *o);
	invar_status (*check)(const invar_options *o); /* NULL: values are checked alone */
} sets[] = {
	{"train", inv_train_declare, inv_options_check_parts},
	{"loss", inv_loss_options_declare, inv_options_check_parts},
	{"encode", declare_encode, NULL},
	{"data", inv_dataset_declare, NULL},
	{"features", inv_encoder_declare, NULL},
	{"augment", declare_augment, NULL},
	{"synthetic", inv_synthetic_declare, NULL},
	{"eval", inv_eval_declare, inv_eval_check_metrics},
	{"diagnose", inv_diagnose_declare, NULL},
	{"dependence", inv_sliced_declare, NULL},
	{"tsne", inv_tsne_declare, NULL},
	{"bank", inv_bank_declare, NULL},
	{"export", inv_export_declare, inv_options_check_parts},
	{"check", inv_check_declare, NULL},
	{NULL, NULL, NULL},
};

const char *invar_options_commands(size_t i)
{
	return i < sizeof sets / sizeof *sets ? sets[i].command : NULL;
}

static const struct option_set *find_set(const char *command)
{
	for (const struct option_set *set = sets; set->command; set++)
		if (strcmp(set->command, command) == 0)
			return set;
	return NULL;
}

invar_status invar_options_new(const char *command, invar_options **out)
{
	const struct option_set *set = command ? find_set(command) : NULL;
	invar_status st;

	*out = NULL;
	if (command && !set)
		return inv_fail(INVAR_E_USE, "there are no options for '%.64s'", command);
	INV_TRY(inv_options_begin(set ? set->command : "this list", out));
	if (set && (st = set->declare(*out)) != INVAR_OK) {
		invar_options_free(*out);
		*out = NULL;
		return st;
	}
	return INVAR_OK;
}

invar_status inv_options_check(const invar_options *o)
{
	const struct option_set *set = find_set(inv_options_command(o));

	return set && set->check ? set->check(o) : INVAR_OK;
}
