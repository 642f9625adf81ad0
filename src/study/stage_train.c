/* SPDX-License-Identifier: Apache-2.0 */
/* stage_train.c - a run on a bank, as a stage. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "base/status.h"
#include "measure/trial.h"
#include "run/run.h"
#include "run/run_contents.h"
#include "study/stage.h"

typedef struct train_stage {
	invar_context *ctx;
	invar_options *options;
	char *bank;
} train_stage;

static void free_train(void *own)
{
	train_stage *t = own;

	invar_options_free(t->options);
	inv_free(t->bank);
	inv_free(t);
}

static invar_status describe_train(void *own, json_t *inputs)
{
	const train_stage *t = own;
	json_t *options = inv_options_used_json(t->options, INVAR_OPTION_RESULT);

	return json_object_set_new(inputs, "options", options) == 0 ? INVAR_OK
	                                                            : inv_no_memory();
}

/*
 * That a trial refuses an adapter is a result: a run.json that says so, without an adapter.
 * For others it is a run that failed before it had anything to lose.
 */
static invar_status keep_none(const train_stage *t, const char *at)
{
	char *path = inv_join(at, INV_RUN_JSON);
	json_t *json =
		json_pack("{s:s, s:i, s:s, s:s, s:b}", "format", INV_RUN_FORMAT, "version", 1,
	              "state", "failed", "error", invar_last_error(), INV_RUN_NO_ADAPTER, 1);
	invar_status st = path && json ? inv_make_folder(at) : inv_no_memory();

	if (st == INVAR_OK)
		inv_log(t->ctx, INVAR_LOG_INFO, "%s",
		        json_string_value(json_object_get(json, "error")));
	if (st == INVAR_OK)
		st = inv_json_save(path, json);
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

/* A run that was begun had its trial before; what this one finds is for this run alone. */
static invar_status try_and_train(const train_stage *t, invar_bank *bank, const char *at,
                                  bool begun)
{
	invar_results *trial = NULL;
	invar_options *o = NULL;
	invar_status st = inv_options_copy(t->options, &o);

	if (st == INVAR_OK)
		st = invar_options_set_number(o, "resume", begun);
	if (st == INVAR_OK && !begun && inv_option_flag(o, "trial"))
		st = invar_trial(bank, o, &trial);
	if (st == INVAR_OK && trial) {
		inv_log(t->ctx, INVAR_LOG_INFO, "trial: %s: %s",
		        invar_results_about(trial, "verdict"), invar_results_about(trial, "why"));
		st = invar_trial_settle(trial, o);
	}
	if (st == INVAR_OK)
		st = invar_train(&bank, 1, o, at);
	invar_results_free(trial);
	invar_options_free(o);
	return st;
}

static invar_status run_train(void *own, const char *at)
{
	const train_stage *t = own;
	bool none = is_none(at), begun = inv_run_is_begun(at, 0);
	invar_bank *bank;
	invar_status st;

	INV_TRY(inv_broadcast(t->ctx, &none, sizeof none));
	INV_TRY(inv_broadcast(t->ctx, &begun, sizeof begun));
	if (none)
		return INVAR_OK;
	st = invar_bank_open(t->ctx, t->bank, t->options, &bank);
	if (st == INVAR_OK)
		st = try_and_train(t, bank, at, begun);
	if (st == INVAR_E_MISMATCH && strcmp(inv_last_error_topic(), INV_NO_ADAPTER) == 0)
		st = inv_process_rank(t->ctx) ? INVAR_OK : keep_none(t, at);
	invar_bank_close(bank);
	return st;
}

static invar_status list_train(void *own, const char *run, inv_stage_file *each, void *user)
{
	char *adapter = inv_join(run, is_none(run) ? INV_RUN_JSON : INV_RUN_ADAPTER),
		 *decoder = inv_join(run, INV_RUN_DECODER);
	invar_status st = adapter && decoder ? each(user, adapter) : inv_no_memory();

	(void)own;
	if (st == INVAR_OK && inv_exists(decoder))
		st = each(user, decoder);
	inv_free(adapter);
	inv_free(decoder);
	return st;
}

/* The record says that it is a finished run, even if its adapter was deleted since. */
static invar_status look_into(const char *run, inv_run_contents *out)
{
	invar_status st = inv_run_look(run, out);

	out->has_adapter = true;
	return st;
}

static invar_status refuse_foreign(void *own, const char *run)
{
	inv_run_contents c;
	invar_status st = look_into(run, &c);

	(void)own;
	if (st == INVAR_OK && inv_exists(run))
		st = inv_run_refuse_foreign(&c, run, "move that away to train again");
	inv_run_forget(&c);
	return st;
}

static invar_status remove_run(void *own, const char *run, const char *to)
{
	inv_run_contents c;
	invar_status st = look_into(run, &c);

	(void)own;
	if (st == INVAR_OK && inv_exists(run)) {
		if (to)
			st = inv_folder_move_foreign(run, to, inv_run_owner(&c));
		if (st == INVAR_OK)
			st = inv_folder_remove_own(run, inv_run_owner(&c), INV_RUN_JSON);
		if (st == INVAR_OK && rmdir(run) != 0 && errno != ENOENT && errno != ENOTEMPTY &&
		    errno != EEXIST)
			st = inv_fail_errno(run, "cannot remove");
	}
	inv_run_forget(&c);
	return st;
}

static const inv_stage_kind train_kind = {.describe = describe_train,
                                          .run = run_train,
                                          .free = free_train,
                                          .list = list_train,
                                          .refuse_foreign = refuse_foreign,
                                          .remove = remove_run};

invar_status inv_stages_add_train(inv_stages *s, const char *name, const char *says,
                                  const char *bank, const invar_options *o, const char *run)
{
	const char *inputs[] = {bank, NULL, NULL};
	train_stage *own = inv_calloc(1, sizeof *own);
	invar_status st;

	if (!own)
		return inv_no_memory();
	*own = (train_stage){.ctx = inv_stages_context(s), .bank = inv_strdup(bank)};
	st = own->bank ? inv_options_copy(o, &own->options) : inv_no_memory();
	if (st != INVAR_OK) {
		free_train(own);
		return st;
	}
	inputs[1] = inv_option_text(own->options, "classes"); /* or the end */
	return inv_stages_add(s, name, says, inputs, run, &train_kind, own);
}
