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

typedef struct results_stage {
	invar_context *ctx;
	invar_options *options;
	char *bank, *results;
	char *run, *title; /* of an adapter; NULL: F alone */
} results_stage;

static void free_stage(void *own)
{
	results_stage *g = own;

	invar_options_free(g->options);
	inv_free(g->bank);
	inv_free(g->results);
	inv_free(g->run);
	inv_free(g->title);
	inv_free(g);
}

/* Gives a stage without an adapter, with the options of o that `declare` knows. */
static invar_status make_stage(inv_stages *s, const char *bank, const char *results,
                               const invar_options *o,
                               invar_status (*declare)(invar_options *),
                               results_stage **out)
{
	results_stage *g = *out = inv_calloc(1, sizeof *g);
	invar_status st;

	if (!g)
		return inv_no_memory();
	*g = (results_stage){.ctx = inv_stages_context(s),
	                     .bank = inv_strdup(bank),
	                     .results = inv_strdup(results)};
	st =
		g->bank && g->results ? inv_options_pick(o, declare, &g->options) : inv_no_memory();
	if (st != INVAR_OK)
		free_stage(g);
	return st;
}

static invar_status describe_options(void *own, json_t *inputs)
{
	const results_stage *g = own;

	return json_object_set_new(inputs, "options", inv_options_json(g->options, 0)) == 0
	           ? INVAR_OK
	           : inv_no_memory();
}

/* Rank 0 does, as all ranks have the same results. */
static invar_status save_results(const results_stage *g, const invar_results *r)
{
	char *text = NULL;
	invar_status st = INVAR_OK;

	if (inv_process_rank(g->ctx) > 0)
		return INVAR_OK;
	st = invar_results_json(r, &text);

	if (st == INVAR_OK)
		st = inv_file_save(g->results, text, strlen(text));
	inv_free(text);
	return st;
}

/* ---- Diagnosis ---------------------------------------------------------------------- */

static invar_status run_diagnose(void *own, const char *at)
{
	const results_stage *g = own;
	invar_results *r = NULL;
	invar_bank *bank;
	invar_status st = inv_bank_open(g->ctx, g->bank, &bank);

	(void)at;
	if (st == INVAR_OK)
		st = invar_diagnose(bank, g->options, &r);
	if (st == INVAR_OK)
		st = save_results(g, r);
	invar_results_free(r);
	invar_bank_close(bank);
	return st;
}

static const inv_stage_kind diagnose_kind = {
	.describe = describe_options, .run = run_diagnose, .free = free_stage};

invar_status inv_stages_add_diagnose(inv_stages *s, const char *name, const char *says,
                                     const char *bank, const invar_options *o,
                                     const char *results)
{
	const char *const inputs[] = {bank, NULL};
	results_stage *own;

	INV_TRY(make_stage(s, bank, results, o, inv_diagnose_declare, &own));
	return inv_stages_add(s, name, says, inputs, results, &diagnose_kind, own);
}

/* ---- Evaluation --------------------------------------------------------------------- */

/* A title is part of the results, so it is part of the fingerprint. */
static invar_status describe_eval(void *own, json_t *inputs)
{
	const results_stage *g = own;
	json_t *titles = json_array();

	if (g->title)
		json_array_append_new(titles, inv_json_path(g->title));
	if (json_object_set_new(inputs, "titles", titles) != 0)
		return inv_no_memory();
	return describe_options(own, inputs);
}

static bool has_value(const invar_results *r)
{
	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		const invar_value *v = invar_results_value(r, invar_results_metric(r, i)->id, "F");

		if (v && !v->reason)
			return true;
	}
	return false;
}

/*
 * What a bank has nothing for, such as a curve over an augmentation without parameters, is
 * no failure of a stage as long as something else was measured: results give the reason.
 */
static bool is_partial(const results_stage *g, invar_status st, const invar_results *r)
{
	if (st != INVAR_E_MISMATCH || !r || !inv_results_is_complete(r) || !has_value(r))
		return false;
	inv_log(g->ctx, INVAR_LOG_INFO, "%s", invar_last_error());
	return true;
}

static invar_status run_eval(void *own, const char *at)
{
	const results_stage *g = own;
	const char *const titles[] = {g->title};
	invar_adapter *adapter = NULL;
	invar_results *r = NULL;
	invar_bank *bank;
	invar_status st = invar_bank_open(g->ctx, g->bank, g->options, &bank);

	(void)at;
	if (st == INVAR_OK && g->run)
		st = invar_adapter_open(g->ctx, g->run, &adapter);
	if (st == INVAR_OK)
		st = invar_eval(bank, (const invar_adapter *const[]){adapter}, titles,
		                g->run ? 1 : 0, g->options, &r);
	if (is_partial(g, st, r))
		st = INVAR_OK;
	/* As the command does: a run keeps its own figures, and pages are made from those. */
	if (st == INVAR_OK && g->run && inv_is_folder(g->run) && inv_process_rank(g->ctx) == 0)
		st = invar_run_keep_results(g->ctx, g->run, r, "1");
	if (st == INVAR_OK)
		st = save_results(g, r);
	invar_results_free(r);
	invar_adapter_close(adapter);
	invar_bank_close(bank);
	return st;
}

static bool has_kept(void *own)
{
	const results_stage *g = own;
	char *kept = g->run ? inv_join(g->run, INV_RUN_METRICS) : NULL;
	bool whole = !g->run || !inv_is_folder(g->run) || (kept && inv_exists(kept));

	inv_free(kept);
	return whole;
}

static const inv_stage_kind eval_kind = {
	.describe = describe_eval, .run = run_eval, .is_whole = has_kept, .free = free_stage};

invar_status inv_stages_add_eval(inv_stages *s, const char *name, const char *says,
                                 const char *bank, const char *run, const char *title,
                                 const invar_options *o, const char *results)
{
	const char *inputs[4] = {bank};
	size_t used = 1;
	results_stage *own;

	INV_TRY(make_stage(s, bank, results, o, inv_eval_declare, &own));
	if (run && (!(own->run = inv_strdup(run)) || !(own->title = inv_strdup(title)))) {
		free_stage(own);
		return inv_no_memory();
	}
	if (run)
		inputs[used++] = run;
	inputs[used] = inv_option_text(own->options, "classes"); /* or the end */
	return inv_stages_add(s, name, says, inputs, results, &eval_kind, own);
}
