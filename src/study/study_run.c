/* SPDX-License-Identifier: Apache-2.0 */
/* study_run.c - the stages of a study, bank after bank. See study_run.h. */
#include "study/study_run.h"
#include "adapter/train_options.h"
#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/status.h"
#include "encode/encoding.h"
#include "images/dataset.h"
#include "run/run.h"
#include "study/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the study");
}

/* ---- Names
 * ------------------------------------------------------------------------------- */

const char *inv_study_below(const inv_study *s, const char *path)
{
	size_t length = strlen(s->folder);

	if (strncmp(path, s->folder, length) != 0 || path[length] != '/')
		return path;
	return path + length + strspn(path + length, "/");
}

char *inv_printed(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

char *inv_study_run_path(const inv_study_bank *b, const inv_study_adapter *a, uint64_t seed)
{
	return inv_printed("%s/runs/%" PRIu64 "/%s", b->folder, seed, a->folder);
}

char *inv_study_eval_path(const inv_study_bank *b, const inv_study_adapter *a,
                          uint64_t seed)
{
	return inv_printed("%s/eval/%" PRIu64 "/%s.json", b->folder, seed, a->folder);
}

/* Creates the folders that lead to a file or folder; rank 0 does. */
static invar_status make_parents(const inv_study_job *j, const char *path)
{
	char *copy = strdup(path);
	invar_status st = copy ? INVAR_OK : no_memory();

	if (inv_process_rank(j->ctx)) {
		free(copy);
		return INVAR_OK;
	}
	for (char *at = copy ? strchr(copy + 1, '/') : NULL; at && st == INVAR_OK;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0777) != 0 && errno != EEXIST)
			st = inv_fail_errno(copy, "cannot create the folder");
		*at = '/';
	}
	free(copy);
	return st;
}

size_t inv_study_stages(const inv_study *s)
{
	size_t per_bank = s->diagnoses + 2 * s->adapters * s->seeds + 1, count = 0;

	for (size_t i = 0; i < s->banks; i++)
		count += per_bank + (s->bank[i].dataset ? 1 : 0);
	return count;
}

/* ---- One stage
 * ------------------------------------------------------------------------------ */

static invar_status note_failure(inv_study_job *j, const char *stage)
{
	inv_study_failure *grown = realloc(j->failure, (j->failures + 1) * sizeof *grown), *f;

	if (!grown)
		return no_memory();
	j->failure = grown;
	f = &j->failure[j->failures];
	*f = (inv_study_failure){strdup(stage), strdup(invar_last_error())};
	if (!f->stage || !f->message) {
		free(f->stage);
		free(f->message);
		return no_memory();
	}
	j->failures++;
	return INVAR_OK;
}

/* After a failure: go on, or end the whole with "STAGE: message"; stage NULL: no prefix. */
static invar_status settle_failure(inv_study_job *j, const char *stage, invar_status st)
{
	if (st == INVAR_E_CANCELLED)
		return st;
	INV_TRY(inv_processes_check(j->ctx->processes)); /* another rank has failed */
	if (j->keep_going && st != INVAR_E_NOMEM)
		return note_failure(j, stage ? stage : "bank");
	inv_study_spelled(st);
	return stage ? inv_context(st, "%.200s", stage) : st;
}

/* Runs the stage that was added with this status. */
static invar_status take_stage(inv_study_job *j, const char *stage, invar_status added,
                               bool *done)
{
	invar_status st = added == INVAR_OK ? inv_stages_run(j->stages) : added;

	*done = st == INVAR_OK;
	j->ran += st == INVAR_OK && inv_stages_ran(j->stages, stage);
	if (st == INVAR_OK)
		return st;
	if (added == INVAR_OK)
		inv_stages_give_up(j->stages);
	return settle_failure(j, stage, st);
}

/* "[3/17] training …" */
static char *announce(inv_study_job *j, const char *verb, const char *what)
{
	return inv_printed("[%zu/%zu] %s %s", ++j->number, j->total, verb, what);
}

invar_status inv_study_add(inv_study_job *j, const inv_own_stage *stage, bool *done)
{
	char *says = announce(j, "writing", inv_study_below(j->study, stage->output));
	inv_own_stage copy = *stage;
	invar_status st = says ? INVAR_OK : no_memory();

	copy.says = says;
	if (st == INVAR_OK)
		st = take_stage(j, stage->name, inv_stages_add_own(j->stages, &copy), done);
	free(says);
	return st;
}

/* ---- Encoding
 * --------------------------------------------------------------------------------- */

typedef struct encoding {
	invar_options *options;
	invar_dataset *dataset;
	invar_encoder *encoder;
} encoding;

static void close_encoding(encoding *e)
{
	invar_options_free(e->options);
	invar_dataset_close(e->dataset);
	invar_encoder_close(e->encoder);
}

static invar_status open_encoding(inv_study_job *j, const inv_study_bank *b, encoding *e)
{
	invar_status st = inv_settings_options(&b->encode, "encode", &e->options);

	if (st == INVAR_OK)
		st = invar_dataset_open(j->ctx, b->dataset, e->options, &e->dataset);
	return st == INVAR_OK ? invar_encoder_open(j->ctx, NULL, e->options, &e->encoder) : st;
}

static invar_status encode_bank(inv_study_job *j, const inv_study_bank *b, bool *done)
{
	char *name = inv_printed("encode %s", inv_study_below(j->study, b->folder));
	char *says = announce(j, "encoding", b->title);
	encoding e = {0};
	invar_status st = name && says ? open_encoding(j, b, &e) : no_memory();
	const invar_dataset *const sets[] = {e.dataset};

	if (st == INVAR_OK)
		st = inv_stages_add_encode(j->stages, name, says, e.encoder, sets, 1, e.options,
		                           b->path);
	if (name)
		st = take_stage(j, name, st, done);
	close_encoding(&e);
	free(name);
	free(says);
	return st;
}

/* ---- Checks before the first stage ----------------------------------------- */

/* What is known of a bank before it is made: its feature width and its splits. */
typedef struct outlook {
	const char *from; /* the data set or the existing bank */
	const invar_dataset *dataset;
	const invar_bank *bank;
	uint32_t d;
} outlook;

static invar_status check_split(const outlook *k, const inv_settings *set,
                                const char *initial)
{
	size_t count = k->dataset ? inv_dataset_splits(k->dataset) : invar_bank_splits(k->bank);
	const char *split = inv_settings_find(set, "split"), *name;
	char names[200] = "";

	split = split ? split : initial;
	for (size_t i = 0; i < count; i++) {
		name = k->dataset ? inv_dataset_split_name(k->dataset, i)
		                  : invar_bank_split(k->bank, i);
		if (strcmp(name, split) == 0)
			return INVAR_OK;
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
		         name);
	}
	return inv_fail(INVAR_E_USE, "%.400s: has no split %.60s; it has %s", k->from, split,
	                names);
}

/* Options of adapters and measurements against what is known. */
static invar_status check_trials(inv_study_job *j, const inv_study_bank *b,
                                 const outlook *k)
{
	const inv_study *s = j->study;
	char *name;
	invar_status st = INVAR_OK;

	for (size_t a = 0; a < s->adapters && st == INVAR_OK; a++) {
		invar_options *o = NULL;

		st = inv_study_train_options(&s->adapter[a], k->d, s->seed[0], &o);
		if (st == INVAR_OK)
			st = inv_train_check_options(o, k->d);
		if (st == INVAR_OK)
			st = check_split(k, &s->adapter[a].train, "train");
		invar_options_free(o);
		if (st == INVAR_OK)
			continue;
		name = inv_printed("train %s/%s/%" PRIu64, inv_study_below(s, b->folder),
		                   s->adapter[a].folder, s->seed[0]);
		st = name ? settle_failure(j, name, st) : no_memory();
		free(name);
	}
	if (st != INVAR_OK)
		return st;
	st = check_split(k, &s->eval, "test");
	return st == INVAR_OK ? st : settle_failure(j, "eval", st);
}

static invar_status check_encoding(inv_study_job *j, const inv_study_bank *b)
{
	char *name = inv_printed("encode %s", inv_study_below(j->study, b->folder));
	outlook k = {.from = b->dataset};
	encoding e = {0};
	invar_status st = name ? open_encoding(j, b, &e) : no_memory();

	if (st == INVAR_OK)
		st = inv_encode_check(e.encoder, e.dataset, e.options, &k.d);
	if (st != INVAR_OK && name)
		st = settle_failure(j, name, st);
	k.dataset = e.dataset;
	if (st == INVAR_OK)
		st = check_trials(j, b, &k);
	close_encoding(&e);
	free(name);
	return st;
}

static invar_status check_existing(inv_study_job *j, const inv_study_bank *b)
{
	outlook k = {.from = b->path};
	invar_bank *bank;
	invar_status st = inv_bank_open(j->ctx, b->path, &bank);

	if (st != INVAR_OK)
		return settle_failure(j, NULL, st);
	k.bank = bank;
	k.d = invar_bank_dim(bank);
	st = check_trials(j, b, &k);
	invar_bank_close(bank);
	return st;
}

invar_status inv_study_check(inv_study_job *j)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < j->study->banks && !j->keep_going && st == INVAR_OK; i++) {
		const inv_study_bank *b = &j->study->bank[i];

		st = b->dataset ? check_encoding(j, b) : check_existing(j, b);
	}
	return st;
}

/* ---- Diagnosis
 * ---------------------------------------------------------------------------------- */

/* A stage that nobody asked for and nothing needs: too few images are no failure. */
static invar_status try_stage(inv_study_job *j, const char *stage)
{
	invar_status st = inv_stages_run(j->stages);
	char *note;
	bool done;

	if (st != INVAR_E_MISMATCH)
		return st == INVAR_OK ? take_stage(j, stage, st, &done)
		                      : settle_failure(j, stage, st);
	inv_stages_give_up(j->stages);
	note = inv_printed("%s was left out: %s", stage, invar_last_error());
	if (j->say && note)
		j->say(j->user, note);
	free(note);
	return INVAR_OK;
}

static invar_status diagnose_bank(inv_study_job *j, const inv_study_bank *b)
{
	char *name = inv_printed("diagnose %s", inv_study_below(j->study, b->folder));
	char *path = inv_printed("%s/diagnose.json", b->folder);
	char *says = announce(j, "diagnosing", b->title);
	invar_options *o = NULL;
	invar_status st = name && path && says ? INVAR_OK : no_memory();
	bool done;

	if (st == INVAR_OK)
		st = inv_settings_options(&j->study->diagnose, "diagnose", &o);
	if (st == INVAR_OK)
		st = inv_stages_add_diagnose(j->stages, name, says, b->path, o, path);
	if (st == INVAR_OK && j->study->diagnoses_if_possible)
		st = try_stage(j, name);
	else if (name)
		st = take_stage(j, name, st, &done);
	invar_options_free(o);
	free(name);
	free(path);
	free(says);
	return st;
}

/* ---- Training and measuring
 * ----------------------------------------------------------------------- */

/* One adapter on one bank with one seed. */
typedef struct fitting {
	const inv_study_bank *bank;
	const inv_study_adapter *adapter;
	uint64_t seed;
	uint32_t d;
	char *run, *results, *what;
	char *none; /* why no adapter helps; NULL: there is one */
} fitting;

static bool open_trial(fitting *t)
{
	t->run = inv_study_run_path(t->bank, t->adapter, t->seed);
	t->results = inv_study_eval_path(t->bank, t->adapter, t->seed);
	t->what =
		inv_printed("%s on %s, seed %" PRIu64, t->adapter->title, t->bank->title, t->seed);
	return t->run && t->results && t->what;
}

static void close_trial(fitting *t)
{
	free(t->run);
	free(t->results);
	free(t->what);
	inv_free(t->none);
}

/* That no adapter helps is a result of a training, see inv_stages_add_train. */
static invar_status read_none(const inv_study_job *j, fitting *t)
{
	char *path = inv_printed("%s/" INV_RUN_JSON, t->run);
	json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
	const char *why = json_string_value(json_object_get(json, "error"));
	bool none = json_is_true(json_object_get(json, INV_RUN_NO_ADAPTER));

	if (none)
		t->none = inv_strdup(why ? why : "no adapter helps");
	json_decref(json);
	free(path);
	if (!path || (none && !t->none))
		return no_memory();
	return inv_broadcast_text(j->ctx, &t->none);
}

static invar_status train_trial(inv_study_job *j, const fitting *t, bool *done)
{
	char *name =
		inv_printed("train %s/%s/%" PRIu64, inv_study_below(j->study, t->bank->folder),
	                t->adapter->folder, t->seed);
	char *says = announce(j, "training", t->what);
	invar_options *o = NULL;
	invar_status st = name && says ? make_parents(j, t->run) : no_memory();

	if (st == INVAR_OK)
		st = inv_study_train_options(t->adapter, t->d, t->seed, &o);
	if (st == INVAR_OK)
		st = inv_stages_add_train(j->stages, name, says, t->bank->path, o, t->run);
	if (name)
		st = take_stage(j, name, st, done);
	invar_options_free(o);
	free(name);
	free(says);
	return st;
}

invar_status inv_study_eval_options(const inv_study *s, uint64_t seed, invar_options **out)
{
	invar_status st = inv_settings_options(&s->eval, "eval", out);

	if (st == INVAR_OK && !inv_settings_find(&s->eval, "seed"))
		st = invar_options_set_number(*out, "seed", (double)seed);
	return st;
}

static invar_status eval_trial(inv_study_job *j, const fitting *t, bool *done)
{
	char *name =
		inv_printed("eval %s/%s/%" PRIu64, inv_study_below(j->study, t->bank->folder),
	                t->adapter->folder, t->seed);
	char *says = announce(j, "measuring", t->what);
	const char *const runs[] = {t->run}, *const titles[] = {t->adapter->title};
	size_t count = t->none ? 0 : 1; /* then F alone is measured */
	invar_options *o = NULL;
	invar_status st = name && says ? make_parents(j, t->results) : no_memory();

	if (st == INVAR_OK)
		st = inv_study_eval_options(j->study, t->seed, &o);
	if (st == INVAR_OK)
		st = inv_stages_add_eval(j->stages, name, says, t->bank->path, runs, titles, count,
		                         o, t->results);
	if (name)
		st = take_stage(j, name, st, done);
	invar_options_free(o);
	free(name);
	free(says);
	return st;
}

/* ---- The table of a bank
 * ----------------------------------------------------------------------------- */

typedef struct tabling {
	inv_study_job *job;
	const inv_study_bank *bank;
	inv_compared *adapter; /* [study->adapters]; those without files are left out */
	size_t adapters, files;
	json_t *notes; /* where no adapter helps */
	char *path;
} tabling;

static void free_tabling(tabling *t)
{
	for (size_t a = 0; t->adapter && a < t->job->study->adapters; a++) {
		for (size_t i = 0; i < t->adapter[a].files; i++)
			free((void *)(uintptr_t)t->adapter[a].file[i]);
		free((void *)(uintptr_t)t->adapter[a].file);
	}
	free(t->adapter);
	free(t->path);
	json_decref(t->notes);
}

static bool open_tabling(tabling *t)
{
	const inv_study *s = t->job->study;

	t->path = inv_printed("%s/table.json", t->bank->folder);
	t->notes = json_array();
	t->adapter = calloc(s->adapters, sizeof *t->adapter);
	for (size_t a = 0; t->adapter && a < s->adapters; a++) {
		t->adapter[a].title = s->adapter[a].title;
		if (!(t->adapter[a].file = calloc(s->seeds, sizeof(char *))))
			return false;
	}
	return t->path && t->adapter && t->notes;
}

static bool add_file(tabling *t, size_t a, uint64_t seed)
{
	inv_compared *c = &t->adapter[a];

	if (!(c->file[c->files] =
	          inv_study_eval_path(t->bank, &t->job->study->adapter[a], seed)))
		return false;
	c->files++;
	t->files++;
	return true;
}

/* Adapters of which nothing was measured have no column. */
static void drop_empty(tabling *t, inv_compared *out)
{
	t->adapters = 0;
	for (size_t a = 0; a < t->job->study->adapters; a++)
		if (t->adapter[a].files)
			out[t->adapters++] = t->adapter[a];
}

/* A figure of the paper for this bank. */
static bool find_published(void *user, const char *column, const char *metric,
                           double *value, unsigned *digits)
{
	const tabling *t = user;
	const inv_published_key key = {.dataset = t->bank->data,
	                               .encoder = t->bank->encoder,
	                               .augment = t->bank->augment,
	                               .column = column,
	                               .metric = metric};
	const inv_published_value *found = inv_published_find(t->job->published, &key);

	if (!found)
		return false;
	*value = found->value;
	*digits = found->digits;
	return true;
}

static invar_status write_table(void *user)
{
	tabling *t = user;
	inv_study_job *j = t->job;
	inv_compared *with = calloc(j->study->adapters, sizeof *with);
	inv_comparison c = {.adapter = with,
	                    .study = j->study->name,
	                    .title = t->bank->title,
	                    .notes = t->notes,
	                    .published = j->published ? find_published : NULL,
	                    .user = t};
	char *text = NULL, *lines = NULL;
	json_t *document = NULL;
	invar_status st = with ? INVAR_OK : no_memory();

	if (st == INVAR_OK) {
		drop_empty(t, with);
		c.adapters = t->adapters;
		st = inv_compare(&c, &document);
	}
	if (st == INVAR_OK &&
	    (!(text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15))) ||
	     !(lines = inv_printed("%s\n", text))))
		st = no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(j->ctx, t->path, lines, strlen(lines));
	json_decref(document);
	free(text);
	free(lines);
	free(with);
	return st;
}

/* Titles are part of a table, and they are in no file that it is made from. */
static char *describe_table(const tabling *t)
{
	json_t *all = json_array();
	char *text;

	json_array_append_new(all, json_string(t->job->study->name));
	json_array_append_new(all, json_string(t->bank->title));
	for (size_t a = 0; a < t->job->study->adapters; a++)
		if (t->adapter[a].files)
			json_array_append_new(all, json_pack("[s, I]", t->adapter[a].title,
			                                     (json_int_t)t->adapter[a].files));
	if (json_array_size(t->notes))
		json_array_append(all, t->notes);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

static const char **table_inputs(const tabling *t)
{
	const inv_study *s = t->job->study;
	const char **all = calloc(t->files + 2, sizeof *all);
	size_t used = 0;

	for (size_t a = 0; all && a < s->adapters; a++)
		for (size_t i = 0; i < t->adapter[a].files; i++)
			all[used++] = t->adapter[a].file[i];
	if (all && s->published)
		all[used] = s->published;
	return all;
}

static invar_status keep_table(inv_study_job *j, const tabling *t)
{
	if (!j->table)
		j->table = calloc(j->study->banks, sizeof *j->table);
	if (!j->table_bank)
		j->table_bank = calloc(j->study->banks, sizeof(inv_study_bank *));
	if (!j->table || !j->table_bank || !(j->table[j->tables] = strdup(t->path)))
		return no_memory();
	j->table_bank[j->tables++] = t->bank;
	return INVAR_OK;
}

static invar_status make_table(inv_study_job *j, tabling *t)
{
	char *name = inv_printed("table %s", inv_study_below(j->study, t->bank->folder));
	char *options = describe_table(t);
	const char **inputs = table_inputs(t);
	bool done = false;
	invar_status st = name && options && inputs ? INVAR_OK : no_memory();

	if (st == INVAR_OK)
		st = inv_study_add(j,
		                   &(inv_own_stage){.size = sizeof(inv_own_stage),
		                                    .user = t,
		                                    .name = name,
		                                    .inputs = inputs,
		                                    .options = options,
		                                    .output = t->path,
		                                    .run = write_table},
		                   &done);
	if (st == INVAR_OK && done)
		st = keep_table(j, t);
	free(name);
	free(options);
	free((void *)(uintptr_t)inputs);
	return st;
}

/* ---- Banks
 * ----------------------------------------------------------------------------------------------
 */

/* One run per adapter is enough for a page: seeds differ in little. */
static bool keep_run(inv_study_job *j, const fitting *t)
{
	const inv_study_bank **banks;
	char **grown;

	if (t->seed != j->study->seed[0])
		return true;
	if (!(grown = realloc(j->run, (j->runs + 1) * sizeof *grown)))
		return false;
	j->run = grown;
	if (!(banks = realloc((void *)(uintptr_t)j->run_bank, (j->runs + 1) * sizeof *banks)))
		return false;
	j->run_bank = banks;
	j->run_bank[j->runs] = t->bank;
	if (!(j->run[j->runs] = strdup(t->run)))
		return false;
	j->runs++;
	return true;
}

/* "MaWa, seed 0: no adapter helps here, …" */
static bool add_none(tabling *table, const fitting *t)
{
	char *note =
		inv_printed("%s, seed %" PRIu64 ": %s", t->adapter->title, t->seed, t->none);
	bool added = note && json_array_append_new(table->notes, json_string(note)) == 0;

	free(note);
	return added;
}

static invar_status run_trial(inv_study_job *j, tabling *table, size_t a, uint64_t seed,
                              uint32_t d)
{
	fitting t = {
		.bank = table->bank, .adapter = &j->study->adapter[a], .seed = seed, .d = d};
	bool trained = false, measured = false;
	invar_status st = open_trial(&t) ? train_trial(j, &t, &trained) : no_memory();

	if (st == INVAR_OK && trained)
		st = read_none(j, &t);
	if (st == INVAR_OK && trained)
		st = eval_trial(j, &t, &measured);
	else
		j->number++;
	if (st == INVAR_OK && measured &&
	    (!add_file(table, a, seed) || (t.none ? !add_none(table, &t) : !keep_run(j, &t))))
		st = no_memory();
	close_trial(&t);
	return st;
}

static invar_status run_trials(inv_study_job *j, const inv_study_bank *b, uint32_t d)
{
	tabling table = {.job = j, .bank = b};
	invar_status st = open_tabling(&table) ? INVAR_OK : no_memory();

	for (size_t a = 0; a < j->study->adapters && st == INVAR_OK; a++)
		for (size_t i = 0; i < j->study->seeds && st == INVAR_OK; i++)
			st = run_trial(j, &table, a, j->study->seed[i], d);
	if (st == INVAR_OK && table.files)
		st = make_table(j, &table);
	free_tabling(&table);
	return st;
}

static invar_status read_width(inv_study_job *j, const inv_study_bank *b, uint32_t *d,
                               bool *done)
{
	invar_bank *bank;
	invar_status st = inv_bank_open(j->ctx, b->path, &bank);

	*done = st == INVAR_OK;
	if (st != INVAR_OK)
		return settle_failure(j, NULL, st);
	*d = invar_bank_dim(bank);
	invar_bank_close(bank);
	return INVAR_OK;
}

static invar_status run_bank(inv_study_job *j, const inv_study_bank *b)
{
	bool done = true;
	uint32_t d = 0;
	invar_status st = make_parents(j, b->folder);

	if (st == INVAR_OK && inv_process_rank(j->ctx) == 0 && mkdir(b->folder, 0777) != 0 &&
	    errno != EEXIST)
		st = inv_fail_errno(b->folder, "cannot create the folder");
	if (st == INVAR_OK && b->dataset)
		st = encode_bank(j, b, &done);
	if (st == INVAR_OK && done)
		st = read_width(j, b, &d, &done);
	if (st == INVAR_OK && done && j->study->diagnoses)
		st = diagnose_bank(j, b);
	return st == INVAR_OK && done ? run_trials(j, b, d) : st;
}

/* ---- The whole
 * --------------------------------------------------------------------------------------------
 */

void inv_study_job_clear(inv_study_job *j)
{
	inv_stages_close(j->stages);
	for (size_t i = 0; i < j->tables; i++)
		free(j->table[i]);
	for (size_t i = 0; i < j->failures; i++) {
		free(j->failure[i].stage);
		free(j->failure[i].message);
	}
	for (size_t i = 0; i < j->runs; i++)
		free(j->run[i]);
	free(j->run);
	free((void *)(uintptr_t)j->run_bank);
	free(j->table);
	free((void *)(uintptr_t)j->table_bank);
	free(j->failure);
	inv_published_close(j->published);
}

static invar_status open_published(inv_study_job *j)
{
	if (!j->study->published)
		return INVAR_OK;
	j->published = inv_published_open(j->study->published);
	return j->published ? INVAR_OK : INVAR_E_FORMAT;
}

invar_status inv_study_run(inv_study_job *j, size_t more)
{
	invar_status st = open_published(j);

	if (st == INVAR_OK)
		st = inv_stages_open(j->ctx, j->study->folder, &j->stages);

	j->total = inv_study_stages(j->study) + more;
	for (size_t i = 0; i < j->study->banks && st == INVAR_OK; i++)
		st = run_bank(j, &j->study->bank[i]);
	return st;
}
