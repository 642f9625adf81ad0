/* SPDX-License-Identifier: Apache-2.0 */
/* stage_own.c - a stage of the caller: a function that writes one file. */
#include "base/memory.h"
#include "study/stage.h"

typedef struct own_stage {
	invar_status (*run)(void *user);
	void *user;
	char *options; /* or NULL */
} own_stage;

static void free_own(void *own)
{
	inv_free(((own_stage *)own)->options);
	inv_free(own);
}

static invar_status describe_own(void *own, json_t *inputs)
{
	const own_stage *o = own;

	if (!o->options || json_object_set_new(inputs, "options", json_string(o->options)) == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "the options of a stage are not UTF-8 text");
}

static invar_status run_own(void *own, const char *at)
{
	const own_stage *o = own;

	(void)at;
	return o->run(o->user);
}

static const inv_stage_kind own_kind = {
	.describe = describe_own, .run = run_own, .alone = true, .free = free_own};

invar_status inv_stages_add_own(inv_stages *s, const inv_own_stage *stage)
{
	own_stage *own = inv_calloc(1, sizeof *own);

	if (!own)
		return inv_no_memory();
	*own = (own_stage){stage->run, stage->user,
	                   stage->options ? inv_strdup(stage->options) : NULL};
	if (stage->options && !own->options) {
		inv_free(own);
		return inv_no_memory();
	}
	return inv_stages_add(s, stage->name, stage->says, stage->inputs, stage->output,
	                      &own_kind, own);
}
