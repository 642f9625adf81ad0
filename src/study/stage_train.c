/* SPDX-License-Identifier: Apache-2.0 */
/* stage_train.c - a run on a bank, as a stage. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "measure/trial.h"
#include "run/run.h"
#include "run/run_contents.h"
#include "study/stage.h"

static invar_status describe_train(const inv_stage_work *w, json_t *inputs)
{
	return inv_json_put(inputs, "options",
	                    inv_options_used_json(w->options, INVAR_OPTION_RESULT));
}

/*
 * That a trial refuses an adapter is a result: a run.json that says so, without an adapter.
 * For others it is a run that failed before it had anything to lose.
 */
static invar_status keep_none(const inv_stage_work *w, const char *at)
{
	char *path = inv_join(at, INV_RUN_JSON);
	json_t *json =
		json_pack("{s:s, s:i, s:s, s:s, s:b}", "format", INV_RUN_FORMAT, "version", 1,
	              "state", "failed", "error", invar_last_error(), INV_RUN_NO_ADAPTER, 1);
	invar_status st = path && json ? inv_make_folder(at) : inv_no_memory();

	if (st == INVAR_OK) {
		inv_log(w->ctx, INVAR_LOG_INFO, "%s",
		        json_string_value(json_object_get(json, "error")));
		st = inv_json_save(path, json);
	}
	json_decref(json);
	inv_free(path);
	return st;
}

/* Is it such a run? */
static bool is_none(const char *run)
{
	inv_run_contents c;
	bool none = inv_run_look(run, &c) == INVAR_OK &&
	            json_is_true(json_object_get(c.json, INV_RUN_NO_ADAPTER));

	inv_run_forget(&c);
	return none;
}

static invar_status run_train_stage(const inv_stage_work *w, const char *at)
{
	bool none = is_none(at), begun = inv_run_is_begun(at, 0);
	invar_results *trial = NULL;
	invar_options *o = NULL;
	invar_bank *bank;
	invar_status st;

	INV_TRY(inv_broadcast(w->ctx, &none, sizeof none));
	INV_TRY(inv_broadcast(w->ctx, &begun, sizeof begun));
	if (none)
		return INVAR_OK;
	INV_TRY(invar_bank_open(w->ctx, w->bank, w->options, &bank));
	/* A run that was begun had its trial before; what this one finds is for it alone. */
	INV_TRY_OR(done, inv_options_copy(w->options, &o));
	INV_TRY_OR(done, invar_options_set_number(o, "resume", begun));
	if (!begun && inv_option_flag(o, "trial")) {
		INV_TRY_OR(done, invar_trial(bank, o, &trial));
		inv_log(w->ctx, INVAR_LOG_INFO, "trial: %s: %s",
		        invar_results_about(trial, "verdict"), invar_results_about(trial, "why"));
		INV_TRY_OR(done, invar_trial_settle(trial, o));
	}
	st = invar_train(&bank, 1, o, at);
done:
	if (st == INVAR_E_MISMATCH && strcmp(inv_last_error_topic(), INV_NO_ADAPTER) == 0)
		st = inv_process_rank(w->ctx) ? INVAR_OK : keep_none(w, at);
	invar_results_free(trial);
	invar_options_free(o);
	invar_bank_close(bank);
	return st;
}

static invar_status list_run(invar_context *ctx, const char *run, inv_stage_file *each,
                             void *user)
{
	char *adapter = inv_join(run, is_none(run) ? INV_RUN_JSON : INV_RUN_ADAPTER),
		 *decoder = inv_join(run, INV_RUN_DECODER);
	invar_status st = adapter && decoder ? each(user, adapter) : inv_no_memory();

	(void)ctx;
	if (st == INVAR_OK && inv_exists(decoder))
		st = each(user, decoder);
	inv_free(adapter);
	inv_free(decoder);
	return st;
}

/* The record says that it is a finished run, even if its adapter was deleted since. */
static invar_status look_into_run(const char *run, inv_run_contents *out)
{
	invar_status st = inv_run_look(run, out);

	out->has_adapter = true;
	return st;
}

static invar_status refuse_foreign(const char *run)
{
	inv_run_contents c;
	invar_status st = look_into_run(run, &c);

	if (st == INVAR_OK && inv_exists(run))
		st = inv_run_refuse_foreign(&c, run, "move that away to train again");
	inv_run_forget(&c);
	return st;
}

static invar_status remove_run(const char *run, const char *to)
{
	inv_run_contents c;
	invar_status st = look_into_run(run, &c);

	if (st != INVAR_OK || !inv_exists(run))
		goto done;
	if (to)
		INV_TRY_OR(done, inv_folder_move_foreign(run, to, inv_run_owner(&c)));
	INV_TRY_OR(done, inv_folder_remove_own(run, inv_run_owner(&c), INV_RUN_JSON));
	if (rmdir(run) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
		st = inv_fail_errno(run, "cannot remove");
done:
	inv_run_forget(&c);
	return st;
}

static const inv_stage_kind train_kind = {.describe = describe_train,
                                          .run = run_train_stage,
                                          .list = list_run,
                                          .refuse_foreign = refuse_foreign,
                                          .remove = remove_run};

invar_status inv_stages_add_train(inv_stages *s, const char *name, const char *says,
                                  const char *bank, const invar_options *o, const char *run)
{
	inv_stage_work w = {.bank = bank};
	const char *inputs[] = {bank, NULL, NULL};

	INV_TRY(inv_options_copy(o, &w.options));
	inputs[1] = inv_option_text(w.options, "classes"); /* or the end */
	return inv_stages_add(s, name, says, inputs, run, &train_kind, &w);
}
