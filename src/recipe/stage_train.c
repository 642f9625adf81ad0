/* SPDX-License-Identifier: Apache-2.0 */
/* stage_train.c - a run on a bank, as a stage. */
#include "base/memory.h"
#include "base/options.h"
#include "recipe/stage.h"
#include "run/run_contents.h"

typedef struct train_stage {
	invar_context *ctx;
	invar_options *options;
	char *bank, *run;
} train_stage;

static invar_status no_memory(const char *run)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the stage", run);
}

static void free_train(void *own)
{
	train_stage *t = own;

	invar_options_free(t->options);
	inv_free(t->bank);
	inv_free(t->run);
	inv_free(t);
}

static invar_status describe_train(void *own, json_t *inputs)
{
	const train_stage *t = own;
	json_t *options = inv_options_used_json(t->options, INVAR_OPTION_RESULT);

	return json_object_set_new(inputs, "options", options) == 0 ? INVAR_OK
	                                                            : no_memory(t->run);
}

static invar_status clear_train(void *own)
{
	const train_stage *t = own;
	inv_run_contents c;
	invar_status st = inv_run_look(t->run, &c);

	if (st == INVAR_OK && c.json)
		st = inv_run_refuse_foreign(&c, t->run, "move that away to train again");
	if (st == INVAR_OK && c.json)
		st = inv_folder_remove_own(t->run, inv_run_owner(&c), INVAR_RUN_JSON);
	inv_run_forget(&c);
	return st;
}

static invar_status run_train(void *own)
{
	const train_stage *t = own;
	bool begun = invar_run_is_begun(t->run, 0);
	invar_bank *bank;
	invar_status st = invar_bank_open_with(t->ctx, t->bank, t->options, &bank);

	if (st == INVAR_OK)
		st = invar_options_set_number(t->options, "resume", begun);
	if (st == INVAR_OK)
		st = invar_train(&bank, 1, t->options, t->run);
	invar_bank_close(bank);
	return st;
}

static invar_status list_train(void *own, inv_stage_file *each, void *user)
{
	const train_stage *t = own;
	char *adapter = inv_join(t->run, INVAR_RUN_ADAPTER);
	invar_status st = adapter ? each(user, adapter) : no_memory(t->run);

	inv_free(adapter);
	return st;
}

static const inv_stage_kind train_kind = {describe_train, clear_train, run_train,
                                          list_train, free_train};

invar_status invar_stages_add_train(invar_stages *s, const char *name, const char *says,
                                    const char *bank, const invar_options *o,
                                    const char *run)
{
	const char *inputs[] = {bank, NULL, NULL};
	train_stage *own = inv_calloc(1, sizeof *own);
	invar_status st;

	if (!own)
		return no_memory(run);
	*own = (train_stage){
		.ctx = inv_stages_context(s), .bank = inv_strdup(bank), .run = inv_strdup(run)};
	st = own->bank && own->run ? inv_options_copy(o, &own->options) : no_memory(run);
	if (st != INVAR_OK) {
		free_train(own);
		return st;
	}
	inputs[1] = inv_option_text(own->options, "classes"); /* or the end */
	return inv_stages_add(s, name, says, inputs, run, &train_kind, own);
}
