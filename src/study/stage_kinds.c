/* SPDX-License-Identifier: Apache-2.0 */
/* stage_kinds.c - what stages do: encode images, train on a bank, diagnose it, measure. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/bank_contents.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "images/dataset.h"
#include "measure/measurement.h"
#include "measure/trial.h"
#include "run/results.h"
#include "run/run.h"
#include "run/run_contents.h"
#include "study/stage.h"

/* ---- A bank from images -------------------------------------------------------------- */

/*
 * The encoder by its name, its options and its weights, the images by their contents; of
 * the options only those of encoding: the paths of weights and images do not matter.
 */
static invar_status describe_encode(const inv_stage_work *w, json_t *inputs)
{
	char images[INV_SHA256_HEX];
	const char *weights = NULL;
	invar_options *o;
	invar_status st;

	INV_TRY(inv_encoder_sha256(w->encoder, &weights));
	INV_TRY(inv_dataset_fingerprint(w->dataset, images));
	INV_TRY(inv_json_put(inputs, "encoder",
	                     json_pack("{s:o, s:s?, s:s*, s:o}", "name",
	                               inv_json_path(invar_encoder_name(w->encoder)), "sha256",
	                               weights, "version", w->encoder->version, "options",
	                               inv_encoder_options_json(w->encoder))));
	INV_TRY(inv_json_put(inputs, "images", json_pack("[s]", images)));
	INV_TRY(inv_options_pick(w->options, inv_encode_declare, &o));
	st = inv_json_put(inputs, "options", inv_options_json(o, 0));
	invar_options_free(o);
	return st;
}

static invar_status run_encode_stage(const inv_stage_work *w, const char *at)
{
	return invar_encode(w->encoder, w->dataset, w->options, at);
}

static const inv_stage_kind encode_kind = {.describe = describe_encode,
                                           .run = run_encode_stage,
                                           .list = inv_stamp_list_bank,
                                           .refuse_foreign = inv_bank_refuse_foreign,
                                           .remove = inv_bank_remove};

invar_status inv_stages_add_encode(inv_stages *s, const char *name, const char *says,
                                   invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank)
{
	inv_stage_work w = {.encoder = e, .dataset = d};

	INV_TRY(inv_options_copy(o, &w.options));
	return inv_stages_add(s, name, says, NULL, bank, &encode_kind, &w);
}

/* ---- A run on a bank ----------------------------------------------------------------- */

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

/* ---- Results, as a file -------------------------------------------------------------- */

/* Rank 0 does, as all ranks have the same results. */
static invar_status save_results(const inv_stage_work *w, const invar_results *r)
{
	char *text;
	invar_status st;

	if (inv_process_rank(w->ctx) > 0)
		return INVAR_OK;
	INV_TRY(invar_results_json(r, &text));
	st = inv_file_save(w->file, text, strlen(text));
	inv_free(text);
	return st;
}

static invar_status describe_diagnose(const inv_stage_work *w, json_t *inputs)
{
	return inv_json_put(inputs, "options", inv_options_json(w->options, 0));
}

static invar_status run_diagnose_stage(const inv_stage_work *w, const char *at)
{
	invar_results *r = NULL;
	invar_bank *bank;
	invar_status st;

	(void)at;
	INV_TRY(inv_bank_open(w->ctx, w->bank, &bank));
	INV_TRY_OR(done, invar_diagnose(bank, w->options, &r));
	st = save_results(w, r);
done:
	invar_results_free(r);
	invar_bank_close(bank);
	return st;
}

invar_status inv_stages_add_diagnose(inv_stages *s, const char *name, const char *says,
                                     const char *bank, const invar_options *o,
                                     const char *results)
{
	static const inv_stage_kind diagnose_kind = {.describe = describe_diagnose,
	                                             .run = run_diagnose_stage};
	inv_stage_work w = {.bank = bank, .file = results};

	INV_TRY(inv_options_pick(o, inv_diagnose_declare, &w.options));
	return inv_stages_add(s, name, says, (const char *const[]){bank, NULL}, results,
	                      &diagnose_kind, &w);
}

/* A title is part of the results, so it is part of the fingerprint. */
static invar_status describe_eval(const inv_stage_work *w, json_t *inputs)
{
	json_t *titles = json_array();

	if (w->title)
		json_array_append_new(titles, inv_json_path(w->title));
	INV_TRY(inv_json_put(inputs, "titles", titles));
	return inv_json_put(inputs, "options", inv_options_json(w->options, 0));
}

/*
 * What a bank has nothing for, such as a curve over an augmentation without parameters, is
 * no failure of a stage as long as something else was measured: results give the reason.
 */
static bool has_some_values(const invar_results *r)
{
	for (size_t i = 0; r && i < invar_results_metrics(r); i++) {
		const invar_value *v = invar_results_value(r, invar_results_metric(r, i)->id, "F");

		if (v && !v->reason)
			return inv_results_is_complete(r);
	}
	return false;
}

static invar_status run_eval_stage(const inv_stage_work *w, const char *at)
{
	invar_adapter *adapter = NULL;
	invar_results *r = NULL;
	invar_bank *bank;
	invar_status st;

	(void)at;
	INV_TRY(invar_bank_open(w->ctx, w->bank, w->options, &bank));
	if (w->run)
		INV_TRY_OR(done, invar_adapter_open(w->ctx, w->run, &adapter));
	st = invar_eval(bank, (const invar_adapter *const[]){adapter},
	                (const char *const[]){w->title}, w->run ? 1 : 0, w->options, &r);
	if (st == INVAR_E_MISMATCH && has_some_values(r))
		inv_log(w->ctx, INVAR_LOG_INFO, "%s", invar_last_error());
	else if (st != INVAR_OK)
		goto done;
	/* As the command does: a run keeps its own figures, and pages are made from those. */
	if (w->run && inv_is_folder(w->run) && inv_process_rank(w->ctx) == 0)
		INV_TRY_OR(done, invar_run_keep_results(w->ctx, w->run, r, "1"));
	st = save_results(w, r);
done:
	invar_results_free(r);
	invar_adapter_close(adapter);
	invar_bank_close(bank);
	return st;
}

static bool has_kept_results(const inv_stage_work *w)
{
	char *kept = w->run ? inv_join(w->run, INV_RUN_METRICS) : NULL;
	bool whole = !w->run || !inv_is_folder(w->run) || (kept && inv_exists(kept));

	inv_free(kept);
	return whole;
}

static const inv_stage_kind eval_kind = {
	.describe = describe_eval, .run = run_eval_stage, .is_whole = has_kept_results};

invar_status inv_stages_add_eval(inv_stages *s, const char *name, const char *says,
                                 const char *bank, const char *run, const char *title,
                                 const invar_options *o, const char *results)
{
	inv_stage_work w = {
		.bank = bank, .run = run, .title = run ? title : NULL, .file = results};
	const char *inputs[4] = {bank, run};

	INV_TRY(inv_options_pick(o, inv_eval_declare, &w.options));
	inputs[run ? 2 : 1] = inv_option_text(w.options, "classes"); /* or the end */
	return inv_stages_add(s, name, says, inputs, results, &eval_kind, &w);
}
