/* SPDX-License-Identifier: Apache-2.0 */
/* run_contents.c - which entries of a folder belong to a run. */
#include "run/run_contents.h"

#include <string.h>

#include "bank/bank_contents.h"
#include "base/memory.h"
#include "run/run.h"

/* Does a file of the folder begin like ours? */
static bool begins_with(const inv_run_contents *c, const char *entry, const char *mark)
{
	char *path = inv_join(c->path, entry);
	bool ours = path && inv_file_begins(path, mark);

	inv_free(path);
	return ours;
}

static invar_status exists_in(const char *folder, const char *name, bool *out)
{
	char *path = inv_join(folder, name);

	*out = path && inv_exists(path);
	inv_free(path);
	return path ? INVAR_OK : inv_no_memory();
}

static inv_ownership claim_in_run(const void *user, const char *entry)
{
	static const char *const names[] = {INV_RUN_JSON, INV_RUN_LOG, INV_RUN_CHECKPOINT,
	                                    INV_RUN_ADAPTER, INV_RUN_DECODER};
	const inv_run_contents *c = user;
	size_t clean = strlen(INV_RUN_CLEAN);

	if (!c->json) /* only an incomplete run.json is ours */
		return strcmp(entry, INV_RUN_JSON INV_PART) == 0 &&
		               begins_with(c, entry, INV_RUN_MARK)
		           ? INV_OWN_FILE
		           : INV_FOREIGN;
	if (strncmp(entry, INV_RUN_CLEAN, clean) == 0 &&
	    (!entry[clean] || entry[clean] == '/')) {
		if (!c->clean && !c->clean_begun)
			return INV_FOREIGN;
		return entry[clean] ? inv_bank_claim(c->clean, entry + clean + 1) : INV_OWN_FOLDER;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (inv_is_own_name(entry, names[i]))
			return INV_OWN_FILE;

	/* What eval and report add once there is an adapter; others write such pages as well.
	 */
	if (c->has_adapter && (inv_is_own_name(entry, INV_RUN_METRICS) ||
	                       (inv_is_own_name(entry, INV_RUN_REPORT) &&
	                        begins_with(c, entry, INV_REPORT_MARK))))
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

invar_status inv_run_look(const char *path, inv_run_contents *out)
{
	bool checkpoint = false;
	const json_t *images;
	char *clean;
	invar_status st;

	*out = (inv_run_contents){.path = path};
	INV_TRY(load_if_run(path, &out->json));
	if (!out->json)
		return INVAR_OK;
	images = json_object_get(out->json, "images");
	clean = inv_join(path, INV_RUN_CLEAN);
	st = clean ? INVAR_OK : inv_no_memory();
	if (clean && json_is_object(images) && inv_is_folder(clean))
		st = inv_bank_find_json(clean, images, &out->clean, &out->clean_begun);
	inv_free(clean);
	INV_TRY(st);

	INV_TRY(exists_in(path, INV_RUN_ADAPTER, &out->has_adapter));
	INV_TRY(exists_in(path, INV_RUN_CHECKPOINT, &checkpoint));
	out->is_replacing = json_is_true(json_object_get(out->json, INV_RUN_REPLACES));
	out->failed_early =
		inv_json_is(out->json, "state", "failed") && !out->has_adapter && !checkpoint;
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
