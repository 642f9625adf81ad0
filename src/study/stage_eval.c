/* SPDX-License-Identifier: Apache-2.0 */
/* stage_eval.c - adapters measured on a bank, as a stage; the results are a file. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "measure/eval_options.h"
#include "run/results.h"
#include "run/run.h"
#include "study/stage.h"

typedef struct eval_stage {
	invar_context *ctx;
	invar_options *options;
	char *bank, *results;
	char **paths, **titles; /* [count] */
	invar_adapter **adapters;
	size_t count;
} eval_stage;

static invar_status no_memory(const char *results)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the stage", results);
}

static void close_adapters(eval_stage *e)
{
	for (size_t i = 0; e->adapters && i < e->count; i++) {
		invar_adapter_close(e->adapters[i]);
		e->adapters[i] = NULL;
	}
}

static void free_eval(void *own)
{
	eval_stage *e = own;

	close_adapters(e);
	for (size_t i = 0; i < e->count; i++) {
		if (e->paths)
			inv_free(e->paths[i]);
		if (e->titles)
			inv_free(e->titles[i]);
	}
	inv_free(e->paths);
	inv_free(e->titles);
	inv_free(e->adapters);
	invar_options_free(e->options);
	inv_free(e->bank);
	inv_free(e->results);
	inv_free(e);
}

/* Titles are part of the results, so they are part of the fingerprint. */
static invar_status describe_eval(void *own, json_t *inputs)
{
	const eval_stage *e = own;
	json_t *titles = json_array();

	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(titles, inv_json_path(e->titles[i]));
	if (json_object_set_new(inputs, "titles", titles) != 0 ||
	    json_object_set_new(inputs, "options", inv_options_json(e->options, 0)) != 0)
		return no_memory(e->results);
	return INVAR_OK;
}

static invar_status save_results(const eval_stage *e, const invar_results *r)
{
	char *text;
	invar_status st = invar_results_json(r, &text);

	if (st == INVAR_OK)
		st = inv_file_save(e->results, text, strlen(text));
	inv_free(text);
	return st;
}

/* As the command does: a run keeps its own figures, and pages are made from those. */
static invar_status keep_results(const eval_stage *e, const invar_results *r)
{
	invar_status st = INVAR_OK;
	char id[24];

	for (size_t i = 0; i < e->count && st == INVAR_OK; i++) {
		snprintf(id, sizeof id, "%zu", 1 + i);
		if (inv_is_folder(e->paths[i]))
			st = invar_run_keep_results(e->ctx, e->paths[i], r, id);
	}
	return st;
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
static bool is_partial(const eval_stage *e, invar_status st, const invar_results *r)
{
	if (st != INVAR_E_MISMATCH || !r || !inv_results_is_complete(r) || !has_value(r))
		return false;
	inv_log(e->ctx, INVAR_LOG_INFO, "%s", invar_last_error());
	return true;
}

static invar_status run_eval(void *own, const char *at)
{
	eval_stage *e = own;
	invar_results *r = NULL;
	invar_bank *bank;
	invar_status st;

	(void)at;
	st = invar_bank_open(e->ctx, e->bank, e->options, &bank);
	for (size_t i = 0; i < e->count && st == INVAR_OK; i++)
		st = invar_adapter_open(e->ctx, e->paths[i], &e->adapters[i]);
	if (st == INVAR_OK)
		st = invar_eval(bank, (const invar_adapter *const *)e->adapters,
		                (const char *const *)e->titles, e->count, e->options, &r);
	if (is_partial(e, st, r))
		st = INVAR_OK;
	if (st == INVAR_OK && inv_process_rank(e->ctx) == 0)
		st = keep_results(e, r);
	if (st == INVAR_OK && inv_process_rank(e->ctx) == 0)
		st = save_results(e, r);
	invar_results_free(r);
	close_adapters(e);
	invar_bank_close(bank);
	return st;
}

/* Pages are made from the results that runs keep. */
static bool has_kept(void *own)
{
	const eval_stage *e = own;
	bool all = true;

	for (size_t i = 0; i < e->count && all; i++) {
		char *kept = inv_join(e->paths[i], INV_RUN_METRICS);

		all = !inv_is_folder(e->paths[i]) || (kept && inv_exists(kept));
		inv_free(kept);
	}
	return all;
}

static const inv_stage_kind eval_kind = {
	.describe = describe_eval, .run = run_eval, .is_whole = has_kept, .free = free_eval};

static bool copy_texts(eval_stage *e, const char *const *paths, const char *const *titles,
                       size_t count)
{
	e->paths = inv_calloc(count + 1, sizeof *e->paths);
	e->titles = inv_calloc(count + 1, sizeof *e->titles);
	e->adapters = inv_calloc(count + 1, sizeof(invar_adapter *));
	e->count = count;
	if (!e->paths || !e->titles || !e->adapters)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(e->paths[i] = inv_strdup(paths[i])) ||
		    !(e->titles[i] = inv_strdup(titles[i])))
			return false;
	return true;
}

/* The bank, adapters and list of classes, ended by NULL; gives only the array, inv_free. */
static const char **input_paths(const eval_stage *e)
{
	const char **all = inv_calloc(e->count + 3, sizeof *all);

	if (!all)
		return NULL;
	all[0] = e->bank;
	for (size_t i = 0; i < e->count; i++)
		all[1 + i] = e->paths[i];
	all[1 + e->count] = inv_option_text(e->options, "classes");
	return all;
}

invar_status inv_stages_add_eval(inv_stages *s, const char *name, const char *says,
                                 const char *bank, const char *const *adapters,
                                 const char *const *titles, size_t count,
                                 const invar_options *o, const char *results)
{
	eval_stage *own = inv_calloc(1, sizeof *own);
	const char **inputs = NULL;
	invar_status st;

	if (!own)
		return no_memory(results);
	*own = (eval_stage){.ctx = inv_stages_context(s),
	                    .bank = inv_strdup(bank),
	                    .results = inv_strdup(results)};
	st = own->bank && own->results && copy_texts(own, adapters, titles, count)
	         ? inv_options_pick(o, inv_eval_declare, &own->options)
	         : no_memory(results);
	if (st == INVAR_OK && !(inputs = input_paths(own)))
		st = no_memory(results);
	if (st == INVAR_OK)
		st = inv_stages_add(s, name, says, inputs, results, &eval_kind, own);
	else
		free_eval(own);
	inv_free((void *)(uintptr_t)inputs);
	return st;
}
