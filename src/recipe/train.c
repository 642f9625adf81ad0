/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - invar_train: a training on banks, whose options a goal may choose first.
 *
 * The choice is made before the run's folder is created, so that everything in a run
 * follows from known options. A run that is resumed has its choice in run.json.
 */
#include "adapter/goal.h"
#include "adapter/trainer.h"
#include "bank/class_view.h"
#include "recipe/choose.h"

/* Checks the folder as training would, but before the choice. */
static invar_status check_run(const invar_options *o, const char *run)
{
	inv_run *r = NULL;
	invar_status st = inv_run_open(
		run, inv_option_flag(o, "force") ? INV_RUN_REPLACE : INV_RUN_FRESH, &r);

	inv_run_close(r);
	return st;
}

static invar_status choose_and_train(invar_bank *const *banks, size_t count,
                                     const invar_options *o, const char *run)
{
	inv_run_start start = inv_run_start_now();
	invar_options *chosen = NULL;
	json_t *about = NULL;
	invar_status st;

	if (count > 1)
		return inv_fail(INVAR_E_USE,
		                "@%s is measured on the copies of one bank, not of %zu",
		                inv_option_text(o, "goal") ? "goal" : "keep-structure", count);
	if ((st = check_run(o, run)) != INVAR_OK)
		return st;
	st = inv_choose_adapter(banks[0], o, &chosen, &about);
	if (st == INVAR_OK)
		st = inv_train_banks(banks, count, chosen, about, start, run);
	invar_options_free(chosen);
	json_decref(about);
	return st;
}

invar_status invar_train(invar_bank *const *banks, size_t count, const invar_options *o,
                         const char *run)
{
	invar_status st;

	if (!count || count > INV_MAX_SOURCES)
		return inv_fail(INVAR_E_USE, "a training takes 1 to %d banks, not %zu",
		                INV_MAX_SOURCES, count);
	if ((st = inv_options_expect(o, "train")) != INVAR_OK ||
	    (st = inv_options_check_parts(o)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < count; i++)
		if ((st = inv_class_view_check(banks[i], o)) != INVAR_OK)
			return st;
	if (inv_goal_wanted(o) && !inv_option_flag(o, "resume"))
		return choose_and_train(banks, count, o, run);
	return inv_train_banks(banks, count, o, NULL, inv_run_start_now(), run);
}
