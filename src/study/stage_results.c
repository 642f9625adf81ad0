/* SPDX-License-Identifier: Apache-2.0 */
/* stage_results.c - a bank diagnosed, or an adapter measured on it, as stages; the results
 * are a file. */
#include <string.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "measure/eval_options.h"
#include "measure/trial.h"
#include "run/results.h"
#include "run/run.h"
#include "study/stage.h"

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
