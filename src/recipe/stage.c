/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - the list of stages: fingerprints, the record, running. See stage.h. */
#include "recipe/stage.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/test_stop.h"

#define FORMAT "invar-stages"

static const char busy[] =
	"another process runs its stages; wait until it has ended, or choose another folder";

typedef struct stage {
	char *name, *says, *output;
	char **inputs; /* ended by NULL */
	const inv_stage_kind *kind;
	void *own;
	char fingerprint[INV_SHA256_HEX]; /* "" until it is computed */
	bool ran;                         /* rather than skipped */
} stage;

struct invar_stages {
	invar_context *ctx;
	char *folder, *path; /* of the record */
	int lock;            /* the folder itself; -1 without */
	json_t *record;
	stage **list;
	size_t count, next; /* next: the first that was not run yet */
};

static invar_status no_memory(const invar_stages *s)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its stages", s->folder);
}

/* ---- The list ----------------------------------------------------------------------- */

static void free_stage(stage *g)
{
	if (!g)
		return;
	if (g->kind->free)
		g->kind->free(g->own);
	for (size_t i = 0; g->inputs && g->inputs[i]; i++)
		inv_free(g->inputs[i]);
	inv_free(g->inputs);
	inv_free(g->name);
	inv_free(g->says);
	inv_free(g->output);
	inv_free(g);
}

void invar_stages_close(invar_stages *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free_stage(s->list[i]);
	inv_free(s->list);
	inv_free(s->folder);
	inv_free(s->path);
	json_decref(s->record);
	if (s->lock >= 0)
		close(s->lock);
	inv_free(s);
}

static stage *find_stage(const invar_stages *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i]->name, name) == 0)
			return s->list[i];
	return NULL;
}

static bool copy_inputs(stage *g, const char *const *inputs)
{
	size_t count = 0;

	while (inputs && inputs[count])
		count++;
	if (!(g->inputs = inv_calloc(count + 1, sizeof *g->inputs)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(g->inputs[i] = inv_strdup(inputs[i])))
			return false;
	return true;
}

static bool append_stage(invar_stages *s, stage *g)
{
	stage **grown = inv_calloc(s->count + 1, sizeof *grown);

	if (!grown)
		return false;
	if (s->count)
		memcpy(grown, s->list, s->count * sizeof *grown);
	grown[s->count++] = g;
	inv_free(s->list);
	s->list = grown;
	return true;
}

invar_status inv_stages_add(invar_stages *s, const char *name, const char *says,
                            const char *const *inputs, const char *output,
                            const inv_stage_kind *kind, void *own)
{
	stage *g = own ? inv_calloc(1, sizeof *g) : NULL;
	bool twice = find_stage(s, name);

	if (!g) {
		if (own)
			kind->free(own);
		return no_memory(s);
	}
	g->kind = kind;
	g->own = own;
	if (!twice && (g->name = inv_strdup(name)) && (g->output = inv_strdup(output)) &&
	    (!says || (g->says = inv_strdup(says))) && copy_inputs(g, inputs) &&
	    append_stage(s, g))
		return INVAR_OK;
	free_stage(g);
	return twice ? inv_fail(INVAR_E_USE, "there are two stages '%s'", name) : no_memory(s);
}

/* ---- The record ---------------------------------------------------------------------- */

static invar_status load_record(invar_stages *s)
{
	const char *format;
	invar_status st = INVAR_OK;

	if (!inv_exists(s->path)) {
		s->record = json_pack("{s:s, s:i, s:{}}", "format", FORMAT, "version", 1, "stages");
		return s->record ? INVAR_OK : no_memory(s);
	}
	if ((st = inv_json_load(s->path, &s->record)) != INVAR_OK)
		return st;
	format = json_string_value(json_object_get(s->record, "format"));
	if (format && strcmp(format, FORMAT) == 0 &&
	    json_integer_value(json_object_get(s->record, "version")) == 1 &&
	    json_is_object(json_object_get(s->record, "stages")))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is not a record of stages of version 1; move it away or choose "
	                "another folder",
	                s->path);
}

invar_status invar_stages_open(invar_context *ctx, const char *folder, invar_stages **out)
{
	invar_stages *s = inv_calloc(1, sizeof *s);
	invar_status st = INVAR_OK;

	*out = NULL;
	if (s)
		s->lock = -1;
	if (!s || !(s->folder = inv_strdup(folder)) ||
	    !(s->path = inv_join(folder, INV_STAGES_JSON))) {
		invar_stages_close(s);
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its stages", folder);
	}
	s->ctx = ctx;
	if ((st = inv_folder_lock(folder, busy, &s->lock)) == INVAR_OK)
		st = load_record(s);
	if (st == INVAR_OK)
		*out = s;
	else
		invar_stages_close(s);
	return st;
}

static json_t *entry_of(const invar_stages *s, const stage *g)
{
	return json_object_get(json_object_get(s->record, "stages"), g->name);
}

static bool is_state(const json_t *entry, const char *state)
{
	const char *found = json_string_value(json_object_get(entry, "state"));

	return found && strcmp(found, state) == 0;
}

static bool has_fingerprint(const json_t *entry, const stage *g)
{
	const char *found = json_string_value(json_object_get(entry, "fingerprint"));

	return found && strcmp(found, g->fingerprint) == 0;
}

/* Takes outputs; NULL when the stage begins. */
static invar_status write_entry(invar_stages *s, const stage *g, const json_t *inputs,
                                json_t *outputs)
{
	json_t *entry =
		json_pack("{s:s, s:s, s:O, s:o*}", "state", outputs ? "done" : "begun",
	              "fingerprint", g->fingerprint, "inputs", inputs, "outputs", outputs);

	if (json_object_set_new(json_object_get(s->record, "stages"), g->name, entry) != 0)
		return no_memory(s);
	return inv_json_save(s->path, s->record);
}

/* ---- Outputs ------------------------------------------------------------------------- */

/* A path below the folder is recorded relative to it, so that the folder may be moved. */
static const char *below_folder(const invar_stages *s, const char *path)
{
	size_t length = strlen(s->folder);

	if (strncmp(path, s->folder, length) != 0 ||
	    (path[length] != '/' && (!length || s->folder[length - 1] != '/')))
		return path;
	path += length;
	return path + strspn(path, "/");
}

static bool size_of(const char *path, uint64_t *bytes)
{
	struct stat info;
	bool there = stat(path, &info) == 0 && S_ISREG(info.st_mode);

	*bytes = there ? (uint64_t)info.st_size : 0;
	return there;
}

typedef struct stamping {
	const invar_stages *stages;
	const stage *of;
	json_t *outputs; /* { path: bytes } */
} stamping;

static invar_status stamp_file(void *user, const char *path)
{
	const stamping *t = user;
	json_t *key = inv_json_path(below_folder(t->stages, path));
	invar_status st = key ? INVAR_OK : no_memory(t->stages);
	uint64_t bytes;

	if (st == INVAR_OK && !size_of(path, &bytes))
		st = inv_fail(INVAR_E_IO, "%s: the stage %s should have written it", path,
		              t->of->name);
	if (st == INVAR_OK && json_object_set_new(t->outputs, json_string_value(key),
	                                          json_integer((json_int_t)bytes)) != 0)
		st = no_memory(t->stages);
	json_decref(key);
	return st;
}

/* { path: bytes } of what the stage made; a missing file is an error. Gives. */
static invar_status stamp_outputs(const invar_stages *s, const stage *g, json_t **out)
{
	stamping t = {s, g, json_object()};
	invar_status st =
		g->kind->list ? g->kind->list(g->own, stamp_file, &t) : stamp_file(&t, g->output);

	*out = t.outputs;
	if (st == INVAR_OK)
		return INVAR_OK;
	json_decref(*out);
	*out = NULL;
	return st;
}

static bool has_outputs(const invar_stages *s, const json_t *entry)
{
	json_t *outputs = json_object_get(entry, "outputs"), *size;
	const char *name;

	json_object_foreach (outputs, name, size) {
		char *path = *name == '/' ? inv_strdup(name) : inv_join(s->folder, name);
		uint64_t bytes;
		bool same =
			path && size_of(path, &bytes) && (json_int_t)bytes == json_integer_value(size);

		inv_free(path);
		if (!same)
			return false;
	}
	return json_object_size(outputs) > 0;
}

/* ---- Fingerprints ---------------------------------------------------------------- */

static const stage *maker_of(const invar_stages *s, const stage *reader, const char *path)
{
	for (size_t i = 0; i < s->count && s->list[i] != reader; i++)
		if (strcmp(s->list[i]->output, path) == 0)
			return s->list[i];
	return NULL;
}

static invar_status hash_json(const invar_stages *s, const json_t *json,
                              char hex[INV_SHA256_HEX])
{
	char *text = inv_json_text(json, 0);
	invar_status st = text ? inv_sha256(text, strlen(text), hex) : no_memory(s);

	inv_free(text);
	return st;
}

static invar_status hash_split(const invar_bank *b, const inv_split *split, json_t *all)
{
	char labels[INV_SHA256_HEX] = "";
	json_t *files;
	invar_status st = inv_bank_fingerprint(b, split, &files);

	if (st == INVAR_OK && split->labels)
		st = inv_sha256(split->labels->map.data, split->labels->map.size, labels);
	if (st == INVAR_OK &&
	    json_object_set_new(all, split->name,
	                        json_pack("{s:O, s:s}", "files", files, "labels", labels)) != 0)
		st = inv_bank_no_memory(b->path);
	json_decref(files);
	return st;
}

static invar_status hash_bank(const invar_stages *s, const char *path,
                              char hex[INV_SHA256_HEX])
{
	json_t *all = json_object();
	invar_bank *bank;
	invar_status st = invar_bank_open(s->ctx, path, &bank);

	for (size_t i = 0; st == INVAR_OK && i < invar_bank_splits(bank); i++)
		st = hash_split(bank, inv_bank_split(bank, invar_bank_split(bank, i)), all);
	if (st == INVAR_OK)
		st = hash_json(s, all, hex);
	invar_bank_close(bank);
	json_decref(all);
	return st;
}

/* An input that no stage of the list made: the adapter of a run, a bank, a file. */
static invar_status hash_path(const invar_stages *s, const char *path,
                              char hex[INV_SHA256_HEX])
{
	char *adapter = inv_join(path, INVAR_RUN_ADAPTER);
	invar_status st;

	if (!adapter)
		return no_memory(s);
	if (inv_exists(adapter))
		st = inv_sha256_file(adapter, hex);
	else
		st = inv_is_folder(path) ? hash_bank(s, path, hex) : inv_sha256_file(path, hex);
	inv_free(adapter);
	return st;
}

static invar_status add_path(const invar_stages *s, const stage *g, const char *path,
                             json_t *stages, json_t *contents)
{
	const stage *maker = maker_of(s, g, path);
	char hex[INV_SHA256_HEX];
	invar_status st;

	if (maker)
		return json_object_set_new(stages, maker->name, json_string(maker->fingerprint)) ==
		               0
		           ? INVAR_OK
		           : no_memory(s);
	if ((st = hash_path(s, path, hex)) != INVAR_OK)
		return st;
	return json_array_append_new(contents, json_string(hex)) == 0 ? INVAR_OK : no_memory(s);
}

/* Everything that decides the result, and its hash. Gives. */
static invar_status describe_stage(const invar_stages *s, stage *g, json_t **out)
{
	json_t *stages = json_object(), *contents = json_array();
	json_t *inputs = *out = json_pack("{s:s, s:o, s:o}", "version", invar_version(),
	                                  "stages", stages, "contents", contents);
	invar_status st = inputs ? INVAR_OK : no_memory(s);

	for (size_t i = 0; st == INVAR_OK && g->inputs[i]; i++)
		st = add_path(s, g, g->inputs[i], stages, contents);
	if (st == INVAR_OK && g->kind->describe)
		st = g->kind->describe(g->own, inputs);
	return st == INVAR_OK ? hash_json(s, inputs, g->fingerprint) : st;
}

/* ---- Running --------------------------------------------------------------------- */

/* Removes what the stage made from other inputs while the record still lists it. */
static invar_status clear_old(const invar_stages *s, const stage *g)
{
	const json_t *entry = entry_of(s, g);

	if (!json_object_get(entry, "fingerprint") || has_fingerprint(entry, g))
		return INVAR_OK;
	inv_log(s->ctx, INVAR_LOG_INFO, "%s: inputs or options have changed; running it again",
	        g->name);
	return g->kind->clear ? g->kind->clear(g->own) : INVAR_OK;
}

static invar_status run_stage(invar_stages *s, stage *g, const json_t *inputs)
{
	json_t *outputs;
	invar_status st = clear_old(s, g);

	if (st == INVAR_OK)
		st = write_entry(s, g, inputs, NULL);
	if (st != INVAR_OK)
		return st;
	if (g->says)
		inv_log(s->ctx, INVAR_LOG_INFO, "%s", g->says);
	g->ran = true;
	inv_test_stop("stage:%s", g->name);
	if ((st = g->kind->run(g->own)) == INVAR_OK)
		st = stamp_outputs(s, g, &outputs);
	return st == INVAR_OK ? write_entry(s, g, inputs, outputs) : st;
}

static bool is_done(const invar_stages *s, const stage *g)
{
	const json_t *entry = entry_of(s, g);

	return is_state(entry, "done") && has_fingerprint(entry, g) && has_outputs(s, entry);
}

static invar_status take_turn(invar_stages *s, stage *g)
{
	json_t *inputs;
	invar_status st = describe_stage(s, g, &inputs);

	if (st == INVAR_OK && is_done(s, g))
		inv_log(s->ctx, INVAR_LOG_INFO, "%s: done before", g->name);
	else if (st == INVAR_OK)
		st = run_stage(s, g, inputs);
	json_decref(inputs);
	return st;
}

invar_status invar_stages_run(invar_stages *s)
{
	invar_status st = INVAR_OK;

	while (st == INVAR_OK && s->next < s->count) {
		st = inv_progress(s->ctx, "stages", s->next, s->count);
		if (st == INVAR_OK)
			st = take_turn(s, s->list[s->next]);
		if (st == INVAR_OK)
			s->next++;
	}
	return st;
}

void invar_stages_give_up(invar_stages *s)
{
	if (s->next < s->count)
		s->next++;
}

invar_status invar_stages_pending(invar_stages *s, const char *name, int *pending)
{
	stage *g = find_stage(s, name);
	json_t *inputs;
	invar_status st;

	if (!g)
		return inv_fail(INVAR_E_USE, "there is no stage '%s'", name);
	st = describe_stage(s, g, &inputs);
	json_decref(inputs);
	*pending = st != INVAR_OK || !is_done(s, g);
	return st;
}

invar_context *inv_stages_context(const invar_stages *s)
{
	return s->ctx;
}

int invar_stages_ran(const invar_stages *s, const char *name)
{
	const stage *g = find_stage(s, name);

	return g && g->ran;
}
