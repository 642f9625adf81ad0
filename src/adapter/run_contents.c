/* run_contents.c - whose the entries of a run's folder are. */
#include "adapter/run_contents.h"

#include <string.h>

#include "bank/contents.h"
#include "base/memory.h"

/* Files that a training writes, and what eval adds once there is an adapter. */
static const char *const trained[] = {INVAR_RUN_JSON, INVAR_RUN_LOG, INVAR_RUN_CHECKPOINT,
                                      INVAR_RUN_ADAPTER, INVAR_RUN_DECODER};
static const char *const measured[] = {INVAR_RUN_METRICS};

static bool is_named(const char *entry, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (inv_is_own_name(entry, names[i]))
			return true;
	return false;
}

static inv_ownership claim_clean(const inv_run_contents *c, const char *entry)
{
	if (!c->clean && !c->clean_begun)
		return INV_FOREIGN;
	return *entry ? inv_bank_claim(c->clean, entry + 1) : INV_OWN_FOLDER;
}

static bool exists_in(const char *folder, const char *name)
{
	char *path = inv_join(folder, name);
	bool there = path && inv_exists(path);

	inv_free(path);
	return there;
}

/* Without a run.json, only the beginning of one is ours. */
static inv_ownership claim_before(const inv_run_contents *c, const char *entry)
{
	char *path = inv_join(c->path, entry);
	bool ours = path && strcmp(entry, INVAR_RUN_JSON ".part") == 0 &&
	            inv_file_begins(path, INV_RUN_MARK);

	inv_free(path);
	return ours ? INV_OWN_FILE : INV_FOREIGN;
}

static inv_ownership claim(const void *user, const char *entry)
{
	const inv_run_contents *c = user;
	size_t clean = strlen(INVAR_RUN_CLEAN);

	if (!c->json)
		return claim_before(c, entry);
	if (strncmp(entry, INVAR_RUN_CLEAN, clean) == 0 &&
	    (!entry[clean] || entry[clean] == '/'))
		return claim_clean(c, entry + clean);
	if (is_named(entry, trained, sizeof trained / sizeof *trained) ||
	    (c->has_adapter && is_named(entry, measured, sizeof measured / sizeof *measured)))
		return INV_OWN_FILE;
	return INV_FOREIGN;
}

inv_owner inv_run_owner(const inv_run_contents *c)
{
	return (inv_owner){claim, c};
}

/* The run.json of a run, or NULL. */
static json_t *load_json(const char *folder)
{
	char *path = inv_join(folder, INVAR_RUN_JSON);
	json_t *json = NULL;
	const char *format;

	if (!path || !inv_exists(path) || inv_json_load(path, &json) != INVAR_OK)
		json = NULL;
	inv_free(path);
	format = json_string_value(json_object_get(json, "format"));
	if (format && strcmp(format, INV_RUN_FORMAT) == 0)
		return json;
	json_decref(json);
	return NULL;
}

static void look_at_clean(inv_run_contents *c)
{
	const json_t *images = json_object_get(c->json, "images");
	char *path = inv_join(c->path, INVAR_RUN_CLEAN);

	if (path && json_is_object(images) && inv_is_folder(path))
		c->clean = inv_bank_find_json(path, images, &c->clean_begun);
	inv_free(path);
}

void inv_run_look(const char *path, inv_run_contents *out)
{
	const char *state;

	*out = (inv_run_contents){.path = path, .json = load_json(path)};
	if (!out->json)
		return;
	look_at_clean(out);
	state = json_string_value(json_object_get(out->json, "state"));
	out->has_adapter = exists_in(path, INVAR_RUN_ADAPTER);
	out->is_replacing = json_is_string(json_object_get(out->json, "replaces"));
	out->failed_early = state && strcmp(state, "failed") == 0 && !out->has_adapter &&
	                    !exists_in(path, INVAR_RUN_CHECKPOINT);
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
	char *foreign = NULL;
	invar_status st = inv_folder_find_foreign(c->path, inv_run_owner(c), &foreign);

	if (st == INVAR_OK && foreign)
		st = inv_fail(INVAR_E_IO, "%s: holds %s, which is not part of %s run; %s", name,
		              foreign, c->json ? "the" : "a", advice);
	inv_free(foreign);
	return st;
}
