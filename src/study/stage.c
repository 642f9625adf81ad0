/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - the list of stages: fingerprints, the record, running. See stage.h. */
#include "study/stage.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/test_stop.h"
#include "run/run.h"

#define FORMAT "invar-stages"
enum { VERSION = 2 };

static const char in_use[] = "another process writes to it; wait until it has ended";
static const char busy[] =
	"another process runs its stages; wait until it has ended, or choose another folder";

typedef struct stage {
	char *name, *says, *output;
	char *place, *part, *aside; /* of a folder: see base/folder.h */
	char **inputs;              /* ended by NULL */
	const inv_stage_kind *kind;
	void *own;
	char fingerprint[INV_SHA256_HEX]; /* "" until it is computed */
	bool ran;                         /* rather than skipped */
} stage;

struct inv_stages {
	invar_context *ctx;
	char *folder, *path; /* of the record */
	int lock;            /* the folder itself; -1 without */
	json_t *record;
	int64_t recorded; /* when it was saved, in ns */
	bool unsaved;     /* it has new stamps of inputs */
	bool called;      /* the other ranks know what to do in this stage */
	stage **list;
	size_t count, next; /* next: the first that was not run yet */
};

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
	inv_free(g->place);
	inv_free(g->part);
	inv_free(g->aside);
	inv_free(g);
}

void inv_stages_close(inv_stages *s)
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

static stage *find_stage(const inv_stages *s, const char *name)
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

static bool name_folders(stage *g)
{
	if (!g->kind->list)
		return true;
	g->place = inv_folder_place(g->output);
	g->part = g->place ? inv_folder_name_part(g->place) : NULL;
	g->aside = g->place ? inv_folder_name_aside(g->place) : NULL;
	return g->part && g->aside;
}

static bool append_stage(inv_stages *s, stage *g)
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

invar_status inv_stages_add(inv_stages *s, const char *name, const char *says,
                            const char *const *inputs, const char *output,
                            const inv_stage_kind *kind, void *own)
{
	stage *g = own ? inv_calloc(1, sizeof *g) : NULL;
	bool twice = find_stage(s, name);

	if (!g) {
		if (own)
			kind->free(own);
		return inv_no_memory();
	}
	g->kind = kind;
	g->own = own;
	if (!twice && (g->name = inv_strdup(name)) && (g->output = inv_strdup(output)) &&
	    (!says || (g->says = inv_strdup(says))) && copy_inputs(g, inputs) &&
	    name_folders(g) && append_stage(s, g))
		return INVAR_OK;
	free_stage(g);
	return twice ? inv_fail(INVAR_E_USE, "there are two stages '%s'", name)
	             : inv_no_memory();
}

/* ---- The record ---------------------------------------------------------------------- */

/* The time of the last change of the record itself. */
static void note_time(inv_stages *s)
{
	struct stat info;

	s->recorded = stat(s->path, &info) == 0
	                  ? (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec
	                  : 0;
}

static invar_status load_record(inv_stages *s)
{
	const char *format;
	json_int_t version;
	invar_status st = INVAR_OK;

	if (!inv_exists(s->path)) {
		s->record =
			json_pack("{s:s, s:i, s:{}}", "format", FORMAT, "version", VERSION, "stages");
		return s->record ? INVAR_OK : inv_no_memory();
	}
	if ((st = inv_json_load(s->path, &s->record)) != INVAR_OK)
		return st;
	note_time(s);
	format = json_string_value(json_object_get(s->record, "format"));
	version = json_integer_value(json_object_get(s->record, "version"));
	if (format && strcmp(format, FORMAT) == 0 && version >= 1 && version <= VERSION &&
	    json_is_object(json_object_get(s->record, "stages")))
		return json_object_set_new(s->record, "version", json_integer(VERSION)) == 0
		           ? INVAR_OK
		           : inv_no_memory();
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is not a record of stages of version 1 to %d; move it away or "
	                "choose another folder",
	                s->path, VERSION);
}

invar_status inv_stages_open(invar_context *ctx, const char *folder, inv_stages **out)
{
	inv_stages *s = inv_calloc(1, sizeof *s);
	invar_status st = INVAR_OK;

	*out = NULL;
	if (s)
		s->lock = -1;
	if (!s || !(s->folder = inv_strdup(folder)) ||
	    !(s->path = inv_join(folder, INV_STAGES_JSON))) {
		inv_stages_close(s);
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its stages", folder);
	}
	s->ctx = ctx;
	if (inv_process_rank(ctx) == 0 && inv_exists(folder))
		st = inv_folder_lock(folder, busy, &s->lock);
	if (inv_process_rank(ctx) == 0 && st == INVAR_OK)
		st = load_record(s);
	if (st == INVAR_OK)
		*out = s;
	else
		inv_stages_close(s);
	return st;
}

static json_t *entry_of(const inv_stages *s, const stage *g)
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

static invar_status save_record(inv_stages *s)
{
	invar_status st = inv_json_save(s->path, s->record);

	note_time(s);
	s->unsaved = false;
	return st;
}

/* Takes the entry. */
static invar_status write_entry(inv_stages *s, const stage *g, json_t *entry)
{
	if (!entry ||
	    json_object_set_new(json_object_get(s->record, "stages"), g->name, entry) != 0)
		return inv_no_memory();
	return save_record(s);
}

/* The entry with another `next`; takes it, NULL: without. */
static invar_status write_next(inv_stages *s, const stage *g, json_t *next)
{
	json_t *entry = json_copy(entry_of(s, g));

	if (next && json_object_set_new(entry, "next", next) != 0) {
		json_decref(entry);
		entry = NULL;
	} else if (!next)
		json_object_del(entry, "next");
	return write_entry(s, g, entry);
}

/* ---- Outputs ------------------------------------------------------------------------- */

/* Version 1: {path: bytes}, by paths relative to the folder of the job if they are in it.
 */
static bool has_sizes(const json_t *outputs)
{
	return outputs && !inv_stamp_sha256(outputs);
}

static bool are_sizes_same(const inv_stages *s, const json_t *outputs)
{
	const char *name;
	json_t *size;

	json_object_foreach ((json_t *)(uintptr_t)outputs, name, size) {
		char *path = *name == '/' ? inv_strdup(name) : inv_join(s->folder, name);
		struct stat info;
		bool same = path && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
		            (json_int_t)info.st_size == json_integer_value(size);

		inv_free(path);
		if (!same)
			return false;
	}
	return true;
}

/* Where the output is, or with `beside` where a new one is made. */
static const char *where(const stage *g, bool beside)
{
	return !g->place ? g->output : beside ? g->part : g->place;
}

/* Does the output have the contents that an entry says? */
static invar_status check_output(const inv_stages *s, const stage *g, bool beside,
                                 const json_t *entry, bool *same, json_t **fresh)
{
	const json_t *outputs = json_object_get(entry, "outputs");

	*same = false;
	*fresh = NULL;
	if (!json_object_size(outputs))
		return INVAR_OK;
	if (has_sizes(outputs)) {
		*same = are_sizes_same(s, outputs);
		return INVAR_OK;
	}
	return inv_stamp_check(s->ctx, where(g, beside), g->kind->list, g->own, outputs,
	                       s->recorded, same, fresh);
}

/* ---- Fingerprints ---------------------------------------------------------------- */

static const stage *maker_of(const inv_stages *s, const stage *reader, const char *path)
{
	for (size_t i = 0; i < s->count && s->list[i] != reader; i++)
		if (strcmp(s->list[i]->output, path) == 0)
			return s->list[i];
	return NULL;
}

/* An input that no stage of the list made: the adapter of a run, a bank, a file. */
static invar_status hash_path(inv_stages *s, const char *path, const char **hex)
{
	char *adapter = inv_join(path, INV_RUN_ADAPTER);
	bool is_run = adapter && inv_exists(adapter);
	const char *at = is_run ? adapter : path;
	inv_stage_list *list = is_run || !inv_is_folder(path) ? NULL : inv_stamp_list_bank;
	json_t *files = json_object_get(s->record, "files"), *key = inv_json_path(at),
		   *fresh = NULL;
	const json_t *known = json_object_get(files, json_string_value(key));
	bool same = false;
	invar_status st = adapter && key ? INVAR_OK : inv_no_memory();

	if (st == INVAR_OK && !files &&
	    json_object_set_new(s->record, "files", files = json_object()) != 0)
		st = inv_no_memory();
	if (st == INVAR_OK && known)
		st = inv_stamp_check(s->ctx, at, list, s->ctx, known, s->recorded, &same, &fresh);
	if (st == INVAR_OK && !same)
		st = inv_stamp_new(s->ctx, at, list, s->ctx, &fresh);
	s->unsaved = s->unsaved || fresh;
	if (st == INVAR_OK && fresh &&
	    json_object_set_new(files, json_string_value(key), fresh) != 0)
		st = inv_no_memory();
	if (st == INVAR_OK)
		*hex = inv_stamp_sha256(json_object_get(files, json_string_value(key)));
	json_decref(key);
	inv_free(adapter);
	return st;
}

static invar_status add_path(inv_stages *s, const stage *g, const char *path,
                             json_t *stages, json_t *contents)
{
	const stage *maker = maker_of(s, g, path);
	const char *hex;
	int failed;

	if (!maker)
		INV_TRY(hash_path(s, path, &hex));
	failed = maker
	             ? json_object_set_new(stages, maker->name, json_string(maker->fingerprint))
	             : json_array_append_new(contents, json_string(hex));
	return failed ? inv_no_memory() : INVAR_OK;
}

/* {maker: SHA-256} of what the stages before it have made, as far as it is known. Gives. */
static invar_status describe_reads(const inv_stages *s, const stage *g, json_t **out)
{
	*out = json_object();
	for (size_t i = 0; g->inputs[i]; i++) {
		const stage *maker = maker_of(s, g, g->inputs[i]);
		const char *hex =
			maker ? inv_stamp_sha256(json_object_get(entry_of(s, maker), "outputs")) : NULL;

		if (hex && json_object_set_new(*out, maker->name, json_string(hex)) != 0)
			return inv_no_memory();
	}
	return *out ? INVAR_OK : inv_no_memory();
}

/* Everything that decides the result, and its hash. Gives. */
static invar_status describe_stage(inv_stages *s, stage *g, json_t **out)
{
	json_t *stages = json_object(), *contents = json_array();
	json_t *inputs = *out = json_pack("{s:s, s:o, s:o}", "version", invar_version(),
	                                  "stages", stages, "contents", contents);

	if (!inputs)
		return inv_no_memory();
	for (size_t i = 0; g->inputs[i]; i++)
		INV_TRY(add_path(s, g, g->inputs[i], stages, contents));
	if (g->kind->describe)
		INV_TRY(g->kind->describe(g->own, inputs));
	return inv_json_sha256(inputs, g->fingerprint);
}

/* ---- What is done -------------------------------------------------------------------- */

typedef enum finding { DONE, UNKNOWN, OTHER_INPUTS, OTHER_OUTPUT } finding;

/*
 * A program may have been killed after the new folder took the name of the old one, and
 * before the record said so: then `next` is the entry of what is there.
 */
static invar_status find_entry(const inv_stages *s, const stage *g, json_t **out)
{
	json_t *entry = entry_of(s, g), *next = json_object_get(entry, "next"), *fresh;
	bool taken = false;
	invar_status st = INVAR_OK;

	if (json_object_get(next, "outputs"))
		st = check_output(s, g, false, next, &taken, &fresh);
	if (st == INVAR_OK && json_object_get(next, "outputs"))
		json_decref(fresh);
	*out = taken ? next : entry;
	return st;
}

/* A maker whose output is still to be made again has its recorded contents afterwards. */
static bool has_read(const json_t *entry, const json_t *reads)
{
	const json_t *read = json_object_get(entry, "reads");
	const char *maker;
	json_t *hex;

	json_object_foreach ((json_t *)(uintptr_t)reads, maker, hex)
		if (read && !json_equal(json_object_get(read, maker), hex))
			return false;
	return true;
}

static bool is_made_from(const json_t *entry, const stage *g, const json_t *reads)
{
	return has_fingerprint(entry, g) && has_read(entry, reads);
}

/* *fresh is a stamp that is to be recorded, or NULL. */
static invar_status look_at(const inv_stages *s, const stage *g, const json_t *reads,
                            finding *out, json_t **fresh)
{
	json_t *entry;
	bool same;
	invar_status st = find_entry(s, g, &entry);

	*fresh = NULL;
	*out = UNKNOWN;
	if (st != INVAR_OK || !json_object_get(entry, "fingerprint"))
		return st;
	if (!is_made_from(entry, g, reads)) {
		*out = OTHER_INPUTS;
		return INVAR_OK;
	}
	if (!json_object_get(entry, "outputs"))
		return INVAR_OK;
	st = check_output(s, g, false, entry, &same, fresh);
	*out = same && (!g->kind->is_whole || g->kind->is_whole(g->own)) ? DONE : OTHER_OUTPUT;
	return st;
}

/* ---- Folders that are replaced --------------------------------------------- */

/* Where folders cannot be exchanged at once, the old one has a third name for a moment. */
static invar_status put_back(const stage *g)
{
	const char *to = !inv_exists(g->place) ? g->place : g->part;

	if (!inv_exists(g->aside) || inv_exists(to) || rename(g->aside, to) == 0)
		return INVAR_OK;
	return inv_fail_errno(g->aside, "cannot rename");
}

/*
 * Removes FOLDER.part; the record says that it is left over until it is gone. Files of
 * others, which came into it or were in the old folder, move to the folder.
 */
static invar_status remove_part(inv_stages *s, const stage *g)
{
	invar_status st = INVAR_OK;

	if (json_object_size(json_object_get(entry_of(s, g), "next")))
		st = write_next(s, g, json_object());
	if (st == INVAR_OK)
		st = g->kind->remove(g->own, g->part, g->place);
	if (st == INVAR_OK && inv_exists(g->part))
		st = inv_fail(INVAR_E_IO,
		              "%s: contains other files than the stage %s has written; move them "
		              "away",
		              g->part, g->name);
	return st == INVAR_OK ? write_next(s, g, NULL) : st;
}

/* Completes or removes what an earlier process left beside the output. */
static invar_status settle(inv_stages *s, const stage *g, const json_t *reads)
{
	json_t *entry = entry_of(s, g), *next = json_object_get(entry, "next"), *taken;
	invar_status st = INVAR_OK;

	if (!next || !g->place)
		return INVAR_OK;
	if (json_object_get(next, "outputs")) {
		if ((st = put_back(g)) != INVAR_OK || (st = find_entry(s, g, &taken)) != INVAR_OK)
			return st;
		if (taken == next) {
			taken = json_copy(next);
			if (json_object_set_new(taken, "state", json_string("done")) != 0 ||
			    json_object_set_new(taken, "next", json_object()) != 0) {
				json_decref(taken);
				return inv_no_memory();
			}
			st = write_entry(s, g, taken);
			return st == INVAR_OK ? remove_part(s, g) : st;
		}
	}
	return is_made_from(next, g, reads) ? INVAR_OK : remove_part(s, g);
}

/* The new folder takes the name of the old one, of which nobody may be the user now. */
static invar_status exchange(const stage *g)
{
	char *above = inv_join(g->place, "..");
	struct stat info;
	int old = -1, new = -1;
	invar_status st = above ? inv_folder_lock(g->part, in_use, &new)
	                        : inv_fail(INVAR_E_NOMEM, "%s: not enough memory", g->place);

	if (st == INVAR_OK && inv_exists(g->place))
		st = inv_folder_lock(g->place, in_use, &old);
	if (st == INVAR_OK && old >= 0 && fstat(old, &info) == 0)
		(void)!fchmod(new, info.st_mode & 07777); /* as open to others as the old one */
	if (st == INVAR_OK)
		st = inv_sync_folder(g->part);
	if (st == INVAR_OK && inv_exists(g->place))
		st = inv_folder_exchange(g->place, g->part, g->aside);
	else if (st == INVAR_OK && rename(g->part, g->place) != 0)
		st = inv_fail_errno(g->part, "cannot rename");
	if (st == INVAR_OK)
		st = inv_sync_folder(above);
	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
	inv_free(above);
	return st;
}

/* ---- Running --------------------------------------------------------------------- */

/* Gives. */
static json_t *make_entry(const stage *g, const char *state, json_t *inputs, json_t *reads)
{
	return json_pack("{s:s*, s:s, s:O, s:O}", "state", state, "fingerprint", g->fingerprint,
	                 "inputs", inputs, "reads", reads);
}

/* The record before the first write: the entry of what is there stays, and that of a folder
 * that was begun elsewhere. */
static invar_status begin(inv_stages *s, const stage *g, json_t *inputs, json_t *reads,
                          bool beside)
{
	const json_t *entry = entry_of(s, g);
	invar_status st;

	if (!beside && !is_state(entry, "done"))
		return write_entry(s, g, make_entry(g, "begun", inputs, reads));
	if (is_made_from(json_object_get(entry, "next"), g, reads))
		return INVAR_OK;
	if (beside && (st = g->kind->refuse_foreign(g->own, g->place)) != INVAR_OK)
		return st;
	if (beside && inv_exists(g->part))
		return inv_fail(INVAR_E_IO,
		                "%s: already exists, but the new %s is made under this name; move "
		                "it away",
		                g->part, g->output);
	return write_next(s, g, make_entry(g, NULL, inputs, reads));
}

/* Takes outputs. */
static invar_status finish(inv_stages *s, const stage *g, json_t *inputs, json_t *reads,
                           json_t *outputs, double seconds, bool beside)
{
	json_t *entry = make_entry(g, beside ? NULL : "done", inputs, reads);
	invar_status st = INVAR_OK;

	if (json_object_set_new(entry, "outputs", outputs) != 0 ||
	    json_object_set_new(entry, "seconds", json_real(seconds)) != 0) {
		json_decref(entry);
		return inv_no_memory();
	}
	if (!beside)
		return write_entry(s, g, entry);
	if ((st = write_next(s, g, json_incref(entry))) == INVAR_OK)
		st = exchange(g);
	if (st == INVAR_OK && (json_object_set_new(entry, "state", json_string("done")) != 0 ||
	                       json_object_set_new(entry, "next", json_object()) != 0))
		st = inv_no_memory();
	if (st != INVAR_OK) {
		json_decref(entry);
		return st;
	}
	st = write_entry(s, g, entry);
	return st == INVAR_OK ? remove_part(s, g) : st;
}

/* Rank 0: the others run the stage in this folder too; NULL: they have nothing to do. */
static invar_status call_ranks(inv_stages *s, const char *at)
{
	char *text = at ? inv_strdup(at) : NULL;
	invar_status st = inv_await_rank_0(s->ctx);

	s->called = true;
	if (st == INVAR_OK)
		st = inv_broadcast_text(s->ctx, &text);
	inv_free(text);
	return st;
}

static invar_status run_stage(inv_stages *s, stage *g, json_t *inputs, json_t *reads,
                              finding found)
{
	const json_t *entry = entry_of(s, g);
	bool resumes = is_state(entry, "begun") && is_made_from(entry, g, reads);
	bool beside = g->place && json_object_get(entry, "fingerprint") && !resumes;
	json_t *outputs = NULL;
	double began = inv_wall_seconds();
	invar_status st;

	if (found == OTHER_INPUTS)
		inv_log(s->ctx, INVAR_LOG_INFO,
		        "%s: inputs or options have changed; running it again", g->name);
	if (found == OTHER_OUTPUT)
		inv_log(s->ctx, INVAR_LOG_INFO,
		        "%s: its output was changed or removed; running it again", g->name);
	if ((st = begin(s, g, inputs, reads, beside)) != INVAR_OK)
		return st;
	if (g->says)
		inv_log(s->ctx, INVAR_LOG_INFO, "%s", g->says);
	g->ran = true;
	inv_test_stop("stage:%s", g->name);
	INV_TRY(call_ranks(s, g->kind->alone ? NULL : where(g, beside)));
	if ((st = g->kind->run(g->own, where(g, beside))) == INVAR_OK)
		st = inv_stamp_new(s->ctx, where(g, beside), g->kind->list, g->own, &outputs);
	return st == INVAR_OK
	           ? finish(s, g, inputs, reads, outputs, inv_wall_seconds() - began, beside)
	           : st;
}

/* Nothing is left of work that was begun with other options, and the record is complete. */
static invar_status keep_done(inv_stages *s, const stage *g, json_t *reads, json_t *fresh)
{
	json_t *entry = entry_of(s, g), *outputs = json_object_get(entry, "outputs");
	invar_status st = INVAR_OK;

	inv_log(s->ctx, INVAR_LOG_INFO, "%s: done before", g->name);
	if (g->place && json_object_get(entry, "next") && (st = remove_part(s, g)) != INVAR_OK)
		return st;
	if (has_sizes(outputs))
		st = inv_stamp_new(s->ctx, where(g, false), g->kind->list, g->own, &fresh);
	if (st != INVAR_OK || (!fresh && !json_object_get(entry_of(s, g), "next")))
		return st;
	entry = json_copy(entry_of(s, g));
	json_object_del(entry, "next");
	if (json_object_set(entry, "reads", reads) != 0 ||
	    (fresh && json_object_set(entry, "outputs", fresh) != 0)) {
		json_decref(entry);
		entry = NULL;
	}
	if (has_sizes(outputs))
		json_decref(fresh);
	return write_entry(s, g, entry);
}

static invar_status take_turn(inv_stages *s, stage *g)
{
	json_t *inputs, *reads = NULL, *fresh = NULL;
	finding found = UNKNOWN;
	invar_status st = describe_stage(s, g, &inputs);

	if (st == INVAR_OK)
		st = describe_reads(s, g, &reads);
	if (st == INVAR_OK)
		st = settle(s, g, reads);
	if (st == INVAR_OK)
		st = look_at(s, g, reads, &found, &fresh);
	if (st == INVAR_OK)
		st = found == DONE ? keep_done(s, g, reads, fresh)
		                   : run_stage(s, g, inputs, reads, found);
	json_decref(fresh);
	json_decref(reads);
	json_decref(inputs);
	return st;
}

/* Failures that all ranks have alike, unlike those of a disk or of memory. */
static bool is_of_data(invar_status st)
{
	return st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC || st == INVAR_E_USE ||
	       st == INVAR_E_FORMAT;
}

/*
 * Rank 0 decides from the record and the files whether a stage runs, and what became of it.
 * A failure that is not of the data ends the run on all ranks.
 */
static invar_status take_turn_together(inv_stages *s, stage *g)
{
	bool follows = inv_process_rank(s->ctx) > 0;
	invar_status st = INVAR_OK, of_0;
	char *at = NULL, text[1024] = "", *message = NULL;

	s->called = false;
	if (!follows) {
		st = take_turn(s, g);
		if (!s->called && (st == INVAR_OK || is_of_data(st))) {
			inv_last_error_spelled(INV_MARKED, text, sizeof text);
			INV_TRY(call_ranks(s, NULL));
			if (st != INVAR_OK)
				inv_fail(st, "%s", text);
		}
	} else {
		INV_TRY(inv_await_rank_0(s->ctx));
		INV_TRY(inv_broadcast_text(s->ctx, &at));
		g->ran = at != NULL;
		st = at ? g->kind->run(g->own, at) : INVAR_OK;
		inv_free(at);
	}
	if (st != INVAR_OK && !is_of_data(st))
		return st;
	INV_TRY(inv_await_rank_0(s->ctx));
	of_0 = st;
	if (st != INVAR_OK)
		message = inv_strdup(inv_last_error_spelled(INV_MARKED, text, sizeof text));
	INV_TRY(inv_broadcast(s->ctx, &of_0, sizeof of_0));
	INV_TRY(inv_broadcast_text(s->ctx, &message));
	if (of_0 != INVAR_OK)
		st = inv_fail(of_0, "%s", message ? message : "");
	inv_free(message);
	return st;
}

invar_status inv_stages_run(inv_stages *s)
{
	bool alone = inv_process_count(s->ctx) == 1;
	invar_status st = INVAR_OK;

	while (st == INVAR_OK && s->next < s->count) {
		st = inv_progress(s->ctx, "stages", s->next, s->count);
		if (st == INVAR_OK)
			st = (alone ? take_turn : take_turn_together)(s, s->list[s->next]);
		if (st == INVAR_OK)
			s->next++;
	}
	return st == INVAR_OK && s->unsaved ? save_record(s) : st;
}

void inv_stages_give_up(inv_stages *s)
{
	if (s->next < s->count)
		s->next++;
}

invar_status inv_stages_pending(inv_stages *s, const char *name, bool *pending)
{
	stage *g = find_stage(s, name);
	json_t *inputs, *reads = NULL, *fresh = NULL;
	finding found = UNKNOWN;
	invar_status st;

	*pending = true;
	if (!g)
		return inv_fail(INVAR_E_USE, "there is no stage '%s'", name);
	if (!entry_of(s, g)) /* its inputs need not be read */
		return INVAR_OK;
	st = describe_stage(s, g, &inputs);
	if (st == INVAR_OK)
		st = describe_reads(s, g, &reads);
	if (st == INVAR_OK)
		st = look_at(s, g, reads, &found, &fresh);
	json_decref(inputs);
	json_decref(reads);
	json_decref(fresh);
	*pending = st != INVAR_OK || found != DONE;
	return st;
}

invar_context *inv_stages_context(const inv_stages *s)
{
	return s->ctx;
}

double inv_stages_seconds(const inv_stages *s, const char *name)
{
	const json_t *entry = json_object_get(json_object_get(s->record, "stages"), name);
	const json_t *seconds = json_object_get(entry, "seconds");

	return json_is_number(seconds) ? json_number_value(seconds) : NAN;
}

bool inv_stages_ran(const inv_stages *s, const char *name)
{
	const stage *g = find_stage(s, name);

	return g && g->ran;
}
