/* SPDX-License-Identifier: Apache-2.0 */
/* run_contents.c - which entries of a folder belong to a run. */
#include "run/run_contents.h"

#include <string.h>

#include "bank/bank_contents.h"
#include "base/memory.h"
#include "run/run.h"

static bool is_of_training(const char *entry)
{
	static const char *const names[] = {INV_RUN_JSON, INV_RUN_LOG, INV_RUN_CHECKPOINT,
	                                    INV_RUN_ADAPTER, INV_RUN_DECODER};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (inv_is_own_name(entry, names[i]))
			return true;
	return false;
}

static invar_status exists_in(const char *folder, const char *name, bool *out)
{
	char *path = inv_join(folder, name);

	*out = path && inv_exists(path);
	inv_free(path);
	return path ? INVAR_OK : inv_no_memory();
}

/* Others write pages of this name as well. */
static bool is_own_report(const inv_run_contents *c, const char *entry)
{
	char *path;
	bool ours;

	if (!inv_is_own_name(entry, INV_RUN_REPORT) || !(path = inv_join(c->path, entry)))
		return false;
	ours = inv_file_begins(path, INV_REPORT_MARK);
	inv_free(path);
	return ours;
}

static inv_ownership claim_in_run(const void *user, const char *entry)
{
	const inv_run_contents *c = user;
	size_t clean = strlen(INV_RUN_CLEAN);

	if (!c->json) {
		char *path;
		bool ours;

		/* Without a run.json, only an incomplete one is ours. */
		if (strcmp(entry, INV_RUN_JSON INV_PART) != 0 || !(path = inv_join(c->path, entry)))
			return INV_FOREIGN;
		ours = inv_file_begins(path, INV_RUN_MARK);
		inv_free(path);
		return ours ? INV_OWN_FILE : INV_FOREIGN;
	}
	if (strncmp(entry, INV_RUN_CLEAN, clean) == 0 &&
	    (!entry[clean] || entry[clean] == '/')) {
		if (!c->clean && !c->clean_begun)
			return INV_FOREIGN;
		return *(entry + clean) ? inv_bank_claim(c->clean, (entry + clean) + 1)
		                        : INV_OWN_FOLDER;
	}
	if (is_of_training(entry))
		return INV_OWN_FILE;
	/* What eval and report add once there is an adapter. */
	if (c->has_adapter &&
	    (inv_is_own_name(entry, INV_RUN_METRICS) || is_own_report(c, entry)))
		return INV_OWN_FILE;
	return INV_FOREIGN;
}

inv_owner inv_run_owner(const inv_run_contents *c)
{
	return (inv_owner){claim_in_run, c};
}

/* The run.json of a run; NULL if another file or absent. A damaged one is an error. */
static invar_status load_if_run(const char *folder, json_t **out)
{
	char *path = inv_join(folder, INV_RUN_JSON);
	invar_status st = INVAR_OK;
	const char *format;

	*out = NULL;
	if (!path)
		return inv_no_memory();
	if (inv_exists(path))
		st = inv_json_load(path, out);
	if (st == INVAR_E_FORMAT && !inv_file_begins(path, INV_RUN_MARK))
		st = INVAR_OK;
	inv_free(path);
	format = json_string_value(json_object_get(*out, "format"));
	if (!format || strcmp(format, INV_RUN_FORMAT) != 0) {
		json_decref(*out);
		*out = NULL;
	}
	return st;
}

json_t *inv_run_json(const char *run)
{
	json_t *json;

	(void)load_if_run(run, &json);
	return json;
}

char *inv_run_title(const char *run)
{
	size_t end = strlen(run), start;
	char *name;

	while (end > 1 && run[end - 1] == '/')
		end--;
	for (start = end; start > 0 && run[start - 1] != '/'; start--)
		;
	if ((name = inv_calloc(end - start + 1, 1)))
		memcpy(name, run + start, end - start);
	return name;
}

static invar_status look_at_clean(inv_run_contents *c)
{
	const json_t *images = json_object_get(c->json, "images");
	char *path = inv_join(c->path, INV_RUN_CLEAN);
	invar_status st = path ? INVAR_OK : inv_no_memory();

	if (path && json_is_object(images) && inv_is_folder(path))
		st = inv_bank_find_json(path, images, &c->clean, &c->clean_begun);
	inv_free(path);
	return st;
}

invar_status inv_run_look(const char *path, inv_run_contents *out)
{
	bool checkpoint = false;
	const char *state;

	*out = (inv_run_contents){.path = path};
	INV_TRY(load_if_run(path, &out->json));
	if (!out->json)
		return INVAR_OK;
	INV_TRY(look_at_clean(out));
	INV_TRY(exists_in(path, INV_RUN_ADAPTER, &out->has_adapter));
	INV_TRY(exists_in(path, INV_RUN_CHECKPOINT, &checkpoint));
	state = json_string_value(json_object_get(out->json, "state"));
	out->is_replacing = json_is_true(json_object_get(out->json, INV_RUN_REPLACES));
	out->failed_early =
		state && strcmp(state, "failed") == 0 && !out->has_adapter && !checkpoint;
	return INVAR_OK;
}

void inv_run_forget(inv_run_contents *c)
{
	json_decref(c->json);
	json_decref(c->clean);
	*c = (inv_run_contents){0};
}

invar_status inv_run_refuse_foreign(const inv_run_contents *c, const char *name,
                                    const char *advice)
{
	char *foreign;
	invar_status st = INVAR_OK;
	bool other = false;

	/* A run.json that does not belong to a run explains the other files. */
	foreign = NULL;
	if (!c->json)
		INV_TRY(exists_in(c->path, INV_RUN_JSON, &other));
	INV_TRY(other ? inv_new_text(&foreign, INV_RUN_JSON)
	              : inv_folder_find_foreign(c->path, inv_run_owner(c), &foreign));
	if (foreign)
		st = inv_fail(INVAR_E_IO, "%s: contains %s, which is not part of %s run; %s", name,
		              foreign, c->json ? "the" : "a", advice);
	inv_free(foreign);
	return st;
}
