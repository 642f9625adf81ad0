/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c - the list of stages: fingerprints, the record, running. See stage.h. */
#include "study/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/pool.h"
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
	inv_stage_work work;
	char fingerprint[INV_SHA256_HEX]; /* "" until it is computed */
	bool ran;                         /* rather than skipped */
} stage;

struct inv_stages {
	invar_context *ctx;
	inv_pool pool;       /* of the stages */
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

void inv_stages_close(inv_stages *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		invar_options_free(s->list[i]->work.options);
	json_decref(s->record);
	if (s->lock >= 0)
		close(s->lock);
	inv_pool_free(&s->pool);
	inv_free(s);
}

static stage *find_stage(const inv_stages *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i]->name, name) == 0)
			return s->list[i];
	return NULL;
}

static invar_status fill_stage(inv_stages *s, stage *g, const char *const *inputs)
{
	const char **texts[] = {&g->work.bank, &g->work.run, &g->work.title, &g->work.file,
	                        &g->work.text};
	size_t count = 0;
	char *copy, *place;
	invar_status st;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (*texts[i]) {
			INV_TRY(inv_pool_print(&s->pool, &copy, "%s", *texts[i]));
			*texts[i] = copy;
		}
	while (inputs && inputs[count])
		count++;
	INV_TRY(inv_pool_zeros(&s->pool, &g->inputs, count + 1));
	for (size_t i = 0; i < count; i++)
		INV_TRY(inv_pool_print(&s->pool, &g->inputs[i], "%s", inputs[i]));
	if (!g->kind->list)
		return INVAR_OK;
	if (!(place = inv_folder_place(g->output)))
		return inv_no_memory();
	st = inv_pool_print(&s->pool, &g->place, "%s", place);
	inv_free(place);
	INV_TRY(st);
	INV_TRY(inv_pool_print(&s->pool, &g->part, "%s.part", g->place));
	return inv_pool_print(&s->pool, &g->aside, "%s.old.part", g->place);
}

invar_status inv_stages_add(inv_stages *s, const char *name, const char *says,
                            const char *const *inputs, const char *output,
                            const inv_stage_kind *kind, const inv_stage_work *work)
{
	stage *g;
	invar_status st;

	if (find_stage(s, name))
		INV_TRY_OR(fail, inv_fail(INVAR_E_USE, "there are two stages '%s'", name));
	INV_TRY_OR(fail, inv_pool_zeros(&s->pool, &g, 1));
	g->kind = kind;
	g->work = *work;
	g->work.ctx = s->ctx;
	INV_TRY_OR(fail, inv_pool_print(&s->pool, &g->name, "%s", name));
	INV_TRY_OR(fail, inv_pool_print(&s->pool, &g->output, "%s", output));
	if (says)
		INV_TRY_OR(fail, inv_pool_print(&s->pool, &g->says, "%s", says));
	INV_TRY_OR(fail, fill_stage(s, g, inputs));
	INV_TRY_OR(fail, inv_pool_more(&s->pool, &s->list, s->count));
	s->list[s->count++] = g;
	return INVAR_OK;
fail:
	invar_options_free(work->options);
	return st;
}

/* ---- A stage of the caller ----------------------------------------------------------- */

static invar_status describe_own(const inv_stage_work *w, json_t *inputs)
{
	if (!w->text || json_object_set_new(inputs, "options", json_string(w->text)) == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "the options of a stage are not UTF-8 text");
}

static invar_status run_own(const inv_stage_work *w, const char *at)
{
	(void)at;
	return w->call(w->user);
}

invar_status inv_stages_add_own(inv_stages *s, const inv_own_stage *o)
{
	static const inv_stage_kind own_kind = {
		.describe = describe_own, .run = run_own, .alone = true};

	return inv_stages_add(
		s, o->name, o->says, o->inputs, o->output, &own_kind,
		&(inv_stage_work){.call = o->run, .user = o->user, .text = o->options});
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
	json_int_t version;

	if (!inv_exists(s->path)) {
		s->record =
			json_pack("{s:s, s:i, s:{}}", "format", FORMAT, "version", VERSION, "stages");
		return s->record ? INVAR_OK : inv_no_memory();
	}
	INV_TRY(inv_json_load(s->path, &s->record));
	note_time(s);
	version = json_integer_value(json_object_get(s->record, "version"));
	if (!inv_json_is(s->record, "format", FORMAT) || version < 1 || version > VERSION ||
	    !json_is_object(json_object_get(s->record, "stages")))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is not a record of stages of version 1 to %d; move it away or "
		                "choose another folder",
		                s->path, VERSION);
	return inv_json_put(s->record, "version", json_integer(VERSION));
}

invar_status inv_stages_open(invar_context *ctx, const char *folder, inv_stages **out)
{
	inv_stages *s;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&s));
	s->ctx = ctx;
	s->lock = -1;
	INV_TRY_OR(fail, inv_pool_print(&s->pool, &s->folder, "%s", folder));
	INV_TRY_OR(fail, inv_pool_print(&s->pool, &s->path, "%s/" INV_STAGES_JSON, folder));
	if (inv_process_rank(ctx) == 0 && inv_exists(folder))
		INV_TRY_OR(fail, inv_folder_lock(folder, busy, &s->lock));
	if (inv_process_rank(ctx) == 0)
		INV_TRY_OR(fail, load_record(s));
	*out = s;
	return INVAR_OK;
fail:
	inv_stages_close(s);
	return st;
}

static json_t *entry_of(const inv_stages *s, const stage *g)
{
	return json_object_get(json_object_get(s->record, "stages"), g->name);
}

static invar_status save_record(inv_stages *s)
{
	invar_status st = inv_json_save(s->path, s->record);

	note_time(s);
	s->unsaved = false;
	return st;
}

/* Takes the entry; NULL: no memory. */
static invar_status write_entry(inv_stages *s, const stage *g, json_t *entry)
{
	INV_TRY(inv_json_put(json_object_get(s->record, "stages"), g->name, entry));
	return save_record(s);
}

/* The entry with another `next`; takes it, NULL: without. */
static invar_status write_next(inv_stages *s, const stage *g, json_t *next)
{
	json_t *entry = json_copy(entry_of(s, g));

	if (!next)
		json_object_del(entry, "next");
	else if (json_object_set_new(entry, "next", next) != 0) {
		json_decref(entry);
		entry = NULL;
	}
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

static const char *place_of_output(const stage *g)
{
	return g->place ? g->place : g->output;
}

/* Does the output have the contents that an entry says? Gives a new stamp, or NULL. */
static invar_status check_stage_output(const inv_stages *s, const stage *g,
                                       const json_t *entry, bool *same, json_t **fresh)
{
	const json_t *outputs = json_object_get(entry, "outputs");

	*fresh = NULL;
	*same = json_object_size(outputs) && has_sizes(outputs) && are_sizes_same(s, outputs);
	if (!json_object_size(outputs) || has_sizes(outputs))
		return INVAR_OK;
	return inv_stamp_check(s->ctx, place_of_output(g), g->kind->list, outputs, s->recorded,
	                       same, fresh);
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
	bool is_run = adapter && inv_exists(adapter), same = false;
	const char *at = is_run ? adapter : path;
	inv_stage_list *list = is_run || !inv_is_folder(path) ? NULL : inv_stamp_list_bank;
	json_t *files = json_object_get(s->record, "files"), *key = inv_json_path(at),
		   *fresh = NULL;
	const json_t *known = json_object_get(files, json_string_value(key));
	invar_status st = INVAR_OK;

	if (!adapter || !key)
		INV_TRY_OR(done, inv_no_memory());
	if (!files)
		INV_TRY_OR(done, inv_json_put(s->record, "files", files = json_object()));
	if (known)
		INV_TRY_OR(done,
		           inv_stamp_check(s->ctx, at, list, known, s->recorded, &same, &fresh));
	if (!same)
		INV_TRY_OR(done, inv_stamp_new(s->ctx, at, list, &fresh));
	if (fresh) {
		s->unsaved = true;
		INV_TRY_OR(done, inv_json_put(files, json_string_value(key), fresh));
	}
	*hex = inv_stamp_sha256(json_object_get(files, json_string_value(key)));
done:
	json_decref(key);
	inv_free(adapter);
	return st;
}

/* Everything that decides the result, and its hash. Gives. */
static invar_status describe_stage(inv_stages *s, stage *g, json_t **out)
{
	json_t *stages = json_object(), *contents = json_array();

	*out = json_pack("{s:s, s:o, s:o}", "version", invar_version(), "stages", stages,
	                 "contents", contents);
	if (!*out)
		return inv_no_memory();
	for (size_t i = 0; g->inputs[i]; i++) {
		const stage *maker = maker_of(s, g, g->inputs[i]);
		const char *hex;

		if (maker) {
			INV_TRY(inv_json_put(stages, maker->name, json_string(maker->fingerprint)));
			continue;
		}
		INV_TRY(hash_path(s, g->inputs[i], &hex));
		if (json_array_append_new(contents, json_string(hex)) != 0)
			return inv_no_memory();
	}
	if (g->kind->describe)
		INV_TRY(g->kind->describe(&g->work, *out));
	return inv_json_sha256(*out, g->fingerprint);
}

/* {maker: SHA-256} of what the stages before it have made, as far as it is known. Gives. */
static invar_status describe_reads(const inv_stages *s, const stage *g, json_t **out)
{
	*out = json_object();
	for (size_t i = 0; g->inputs[i]; i++) {
		const stage *maker = maker_of(s, g, g->inputs[i]);
		const char *hex =
			maker ? inv_stamp_sha256(json_object_get(entry_of(s, maker), "outputs")) : NULL;

		if (hex)
			INV_TRY(inv_json_put(*out, maker->name, json_string(hex)));
	}
	return *out ? INVAR_OK : inv_no_memory();
}

/* ---- What is done -------------------------------------------------------------------- */

typedef enum finding { DONE, UNKNOWN, OTHER_INPUTS, OTHER_OUTPUT } finding;

/* What is known of a stage before it runs. */
typedef struct state {
	json_t *inputs, *reads; /* describe_stage, describe_reads */
	json_t *fresh;          /* a stamp that is to be recorded; or NULL */
	finding found;
} state;

/*
 * A program may have been killed after the new folder took the name of the old one, and
 * before the record said so: then `next` is the entry of what is there.
 */
static invar_status find_entry(const inv_stages *s, const stage *g, json_t **out)
{
	json_t *next = json_object_get(entry_of(s, g), "next"), *fresh;
	bool taken = false;

	*out = entry_of(s, g);
	if (json_object_get(next, "outputs")) {
		INV_TRY(check_stage_output(s, g, next, &taken, &fresh));
		json_decref(fresh);
	}
	if (taken)
		*out = next;
	return INVAR_OK;
}

/* A maker whose output is still to be made again has its recorded contents afterwards. */
static bool is_made_from(const json_t *entry, const stage *g, const json_t *reads)
{
	const json_t *read = json_object_get(entry, "reads");
	const char *maker;
	json_t *hex;

	json_object_foreach ((json_t *)(uintptr_t)reads, maker, hex)
		if (read && !json_equal(json_object_get(read, maker), hex))
			return false;
	return inv_json_is(entry, "fingerprint", g->fingerprint);
}

static invar_status find_state(const inv_stages *s, const stage *g, state *now)
{
	json_t *entry;
	bool same;

	now->found = UNKNOWN;
	INV_TRY(find_entry(s, g, &entry));
	if (!json_object_get(entry, "fingerprint"))
		return INVAR_OK;
	if (!is_made_from(entry, g, now->reads)) {
		now->found = OTHER_INPUTS;
		return INVAR_OK;
	}
	if (!json_object_get(entry, "outputs"))
		return INVAR_OK;
	INV_TRY(check_stage_output(s, g, entry, &same, &now->fresh));
	now->found =
		same && (!g->kind->is_whole || g->kind->is_whole(&g->work)) ? DONE : OTHER_OUTPUT;
	return INVAR_OK;
}

/* ---- Folders that are replaced --------------------------------------------- */

/*
 * Removes FOLDER.part; the record says that it is left over until it is gone. Files of
 * others, which came into it or were in the old folder, move to the folder.
 */
static invar_status remove_stage_part(inv_stages *s, const stage *g)
{
	if (json_object_size(json_object_get(entry_of(s, g), "next")))
		INV_TRY(write_next(s, g, json_object()));
	INV_TRY(g->kind->remove(g->part, g->place));
	if (inv_exists(g->part))
		return inv_fail(INVAR_E_IO,
		                "%s: contains other files than the stage %s has written; move them "
		                "away",
		                g->part, g->name);
	return write_next(s, g, NULL);
}

/* What `next` says has the name of the folder: it is done, and the part is left over. */
static invar_status adopt_next(inv_stages *s, const stage *g)
{
	json_t *entry = json_copy(json_object_get(entry_of(s, g), "next"));

	if (json_object_set_new(entry, "state", json_string("done")) != 0 ||
	    json_object_set_new(entry, "next", json_object()) != 0) {
		json_decref(entry);
		return inv_no_memory();
	}
	INV_TRY(write_entry(s, g, entry));
	return remove_stage_part(s, g);
}

/* Completes or removes what an earlier process left beside the output. */
static invar_status settle_part(inv_stages *s, const stage *g, const json_t *reads)
{
	json_t *next = json_object_get(entry_of(s, g), "next"), *found;

	if (!next || !g->place)
		return INVAR_OK;
	if (json_object_get(next, "outputs")) {
		/* Where folders cannot be exchanged at once, the old one has a third name for a
		 * moment. */
		const char *to = !inv_exists(g->place) ? g->place : g->part;

		if (inv_exists(g->aside) && !inv_exists(to) && rename(g->aside, to) != 0)
			return inv_fail_errno(g->aside, "cannot rename");
		INV_TRY(find_entry(s, g, &found));
		if (found == next)
			return adopt_next(s, g);
	}
	return is_made_from(next, g, reads) ? INVAR_OK : remove_stage_part(s, g);
}

/* The new folder takes the name of the old one, of which nobody may be the user now. */
static invar_status exchange(const stage *g)
{
	char *above = inv_join(g->place, "..");
	struct stat info;
	int old = -1, new = -1;
	invar_status st;

	if (!above)
		return inv_no_memory();
	INV_TRY_OR(done, inv_folder_lock(g->part, in_use, &new));
	if (inv_exists(g->place))
		INV_TRY_OR(done, inv_folder_lock(g->place, in_use, &old));
	if (old >= 0 && fstat(old, &info) == 0)
		(void)!fchmod(new, info.st_mode & 07777); /* as open to others as the old one */
	INV_TRY_OR(done, inv_sync_folder(g->part));
	if (inv_exists(g->place))
		INV_TRY_OR(done, inv_folder_exchange(g->place, g->part, g->aside));
	else if (rename(g->part, g->place) != 0)
		INV_TRY_OR(done, inv_fail_errno(g->part, "cannot rename"));
	st = inv_sync_folder(above);
done:
	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
	inv_free(above);
	return st;
}

/* ---- Running --------------------------------------------------------------------- */

/* Gives; takes outputs, or NULL while there are none. */
static json_t *make_entry(const stage *g, const char *word, const state *now,
                          json_t *outputs, double seconds)
{
	return json_pack("{s:s*, s:s, s:O, s:O, s:o*, s:o*}", "state", word, "fingerprint",
	                 g->fingerprint, "inputs", now->inputs, "reads", now->reads, "outputs",
	                 outputs, "seconds", outputs ? json_real(seconds) : NULL);
}

/* The record before the first write: the entry of what is there stays, and that of a folder
 * that was begun elsewhere. */
static invar_status record_begin(inv_stages *s, const stage *g, const state *now,
                                 bool beside)
{
	const json_t *entry = entry_of(s, g);

	if (!beside && !inv_json_is(entry, "state", "done"))
		return write_entry(s, g, make_entry(g, "begun", now, NULL, 0));
	if (is_made_from(json_object_get(entry, "next"), g, now->reads))
		return INVAR_OK;
	if (beside)
		INV_TRY(g->kind->refuse_foreign(g->place));
	if (beside && inv_exists(g->part))
		return inv_fail(INVAR_E_IO,
		                "%s: already exists, but the new %s is made under this name; move "
		                "it away",
		                g->part, g->output);
	return write_next(s, g, make_entry(g, NULL, now, NULL, 0));
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

static invar_status run_stage(inv_stages *s, stage *g, const state *now)
{
	const json_t *entry = entry_of(s, g);
	bool resumes =
		inv_json_is(entry, "state", "begun") && is_made_from(entry, g, now->reads);
	bool beside = g->place && json_object_get(entry, "fingerprint") && !resumes;
	const char *at = beside ? g->part : place_of_output(g);
	double began = inv_wall_seconds();
	json_t *outputs;

	if (now->found == OTHER_INPUTS)
		inv_log(s->ctx, INVAR_LOG_INFO,
		        "%s: inputs or options have changed; running it again", g->name);
	if (now->found == OTHER_OUTPUT)
		inv_log(s->ctx, INVAR_LOG_INFO,
		        "%s: its output was changed or removed; running it again", g->name);
	INV_TRY(record_begin(s, g, now, beside));
	if (g->says)
		inv_log(s->ctx, INVAR_LOG_INFO, "%s", g->says);
	g->ran = true;
	inv_test_stop("stage:%s", g->name);
	INV_TRY(call_ranks(s, g->kind->alone ? NULL : at));
	INV_TRY(g->kind->run(&g->work, at));
	INV_TRY(inv_stamp_new(s->ctx, at, g->kind->list, &outputs));

	if (!beside)
		return write_entry(s, g,
		                   make_entry(g, "done", now, outputs, inv_wall_seconds() - began));
	INV_TRY(
		write_next(s, g, make_entry(g, NULL, now, outputs, inv_wall_seconds() - began)));
	INV_TRY(exchange(g));
	return adopt_next(s, g);
}

/* Nothing is left of work that was begun with other options, and the record is complete. */
static invar_status keep_done(inv_stages *s, const stage *g, state *now)
{
	json_t *entry = entry_of(s, g);

	inv_log(s->ctx, INVAR_LOG_INFO, "%s: done before", g->name);
	if (json_object_get(entry, "next"))
		INV_TRY(g->place ? remove_stage_part(s, g) : inv_file_remove_part(g->output));
	entry = entry_of(s, g);
	if (has_sizes(json_object_get(entry, "outputs")))
		INV_TRY(inv_stamp_new(s->ctx, place_of_output(g), g->kind->list, &now->fresh));
	if (!now->fresh && !json_object_get(entry, "next"))
		return INVAR_OK;
	entry = json_copy(entry);
	json_object_del(entry, "next");
	if (json_object_set(entry, "reads", now->reads) != 0 ||
	    (now->fresh && json_object_set(entry, "outputs", now->fresh) != 0)) {
		json_decref(entry);
		entry = NULL;
	}
	return write_entry(s, g, entry);
}

static invar_status take_turn(inv_stages *s, stage *g)
{
	state now = {0};
	invar_status st;

	INV_TRY_OR(done, describe_stage(s, g, &now.inputs));
	INV_TRY_OR(done, describe_reads(s, g, &now.reads));
	INV_TRY_OR(done, settle_part(s, g, now.reads));
	INV_TRY_OR(done, find_state(s, g, &now));
	st = now.found == DONE ? keep_done(s, g, &now) : run_stage(s, g, &now);
done:
	json_decref(now.fresh);
	json_decref(now.reads);
	json_decref(now.inputs);
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
		st = at ? g->kind->run(&g->work, at) : INVAR_OK;
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

	for (; s->next < s->count; s->next++) {
		INV_TRY(inv_progress(s->ctx, "stages", s->next, s->count));
		INV_TRY((alone ? take_turn : take_turn_together)(s, s->list[s->next]));
	}
	if (s->unsaved)
		return save_record(s);
	return s->lock >= 0 ? inv_file_remove_part(s->path) : INVAR_OK;
}

void inv_stages_give_up(inv_stages *s)
{
	if (s->next < s->count)
		s->next++;
}

invar_status inv_stages_pending(inv_stages *s, const char *name, bool *pending)
{
	stage *g = find_stage(s, name);
	state now = {.found = UNKNOWN};
	invar_status st;

	*pending = true;
	if (!g)
		return inv_fail(INVAR_E_USE, "there is no stage '%s'", name);
	if (!entry_of(s, g)) /* its inputs need not be read */
		return INVAR_OK;
	INV_TRY_OR(done, describe_stage(s, g, &now.inputs));
	INV_TRY_OR(done, describe_reads(s, g, &now.reads));
	INV_TRY_OR(done, find_state(s, g, &now));
	*pending = now.found != DONE;
done:
	json_decref(now.inputs);
	json_decref(now.reads);
	json_decref(now.fresh);
	return st;
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
