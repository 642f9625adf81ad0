/* SPDX-License-Identifier: Apache-2.0 */
/* stage_diagnose.c - a diagnosis of a bank, as a stage; the results are a file. */
#include <string.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/processes.h"
#include "measure/trial.h"
#include "study/stage.h"

typedef struct diagnose_stage {
	invar_context *ctx;
	invar_options *options;
	char *bank, *results;
} diagnose_stage;

static invar_status no_memory(const char *results)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the stage", results);
}

static void free_diagnose(void *own)
{
	diagnose_stage *d = own;

	invar_options_free(d->options);
	inv_free(d->bank);
	inv_free(d->results);
	inv_free(d);
}

static invar_status describe_diagnose(void *own, json_t *inputs)
{
	const diagnose_stage *d = own;

	return json_object_set_new(inputs, "options", inv_options_json(d->options, 0)) == 0
	           ? INVAR_OK
	           : no_memory(d->results);
}

static invar_status run_diagnose(void *own, const char *at)
{
	const diagnose_stage *d = own;
	invar_results *r = NULL;
	char *text = NULL;
	invar_bank *bank;
	invar_status st;

	(void)at;
	st = inv_bank_open(d->ctx, d->bank, &bank);
	if (st == INVAR_OK)
		st = invar_diagnose(bank, d->options, &r);
	if (st == INVAR_OK)
		st = invar_results_json(r, &text);
	if (st == INVAR_OK && inv_process_rank(d->ctx) == 0)
		st = inv_file_save(d->results, text, strlen(text));
	inv_free(text);
	invar_results_free(r);
	invar_bank_close(bank);
	return st;
}

static const inv_stage_kind diagnose_kind = {
	.describe = describe_diagnose, .run = run_diagnose, .free = free_diagnose};

invar_status inv_stages_add_diagnose(inv_stages *s, const char *name, const char *says,
                                     const char *bank, const invar_options *o,
                                     const char *results)
{
	const char *const inputs[] = {bank, NULL};
	diagnose_stage *own = inv_calloc(1, sizeof *own);
	invar_status st;

	if (!own)
		return no_memory(results);
	*own = (diagnose_stage){.ctx = inv_stages_context(s),
	                        .bank = inv_strdup(bank),
	                        .results = inv_strdup(results)};
	st = own->bank && own->results
	         ? inv_options_pick(o, inv_diagnose_declare, &own->options)
	         : no_memory(results);
	if (st != INVAR_OK) {
		free_diagnose(own);
		return st;
	}
	return inv_stages_add(s, name, says, inputs, results, &diagnose_kind, own);
}
