/* SPDX-License-Identifier: Apache-2.0 */
/* study_run.c - the stages of a study, bank after bank. See study_run.h. */
#include "study/study_run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/train_options.h"
#include "bank/bank.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/processes.h"
#include "encode/forecast.h"
#include "images/dataset.h"
#include "run/run.h"
#include "study/comparison.h"

/* Bytes: "train DATA/ENCODER/AUGMENTATION/ADAPTER/SEED", folders have at most 100; and a
 * line of the log, which may be cut off. */
enum { NAME = 640, LINE = 1024 };

/* ---- Names ------------------------------------------------------------------------- */

const char *inv_study_below(const inv_study *s, const char *path)
{
	size_t length = strlen(s->folder);

	if (strncmp(path, s->folder, length) != 0 || path[length] != '/')
		return path;
	return path + length + strspn(path + length, "/");
}

/* A text as printf would write it; gives, NULL if there is no memory. */
static char *printed(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *printed(const char *format, ...)
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
	return printed("%s/runs/%" PRIu64 "/%s", b->folder, seed, a->folder);
}

/* Creates the folders that lead to a file or folder; rank 0 does. */
static invar_status make_parents(const inv_study_job *j, const char *path)
{
	char *copy = j->plans ? NULL : strdup(path);
	invar_status st = copy || j->plans ? INVAR_OK : inv_no_memory();

	if (inv_process_rank(j->ctx)) {
		free(copy);
		return INVAR_OK;
	}
	for (char *at = copy ? strchr(copy + 1, '/') : NULL; at && st == INVAR_OK;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		st = inv_make_folder(copy);
		*at = '/';
	}
	free(copy);
	return st;
}

/* ---- One stage --------------------------------------------------------------------- */

static invar_status note_failure(inv_study_job *j, const char *stage)
{
	inv_study_failure *grown = realloc(j->failure, (j->failures + 1) * sizeof *grown), *f;

	if (!grown)
		return inv_no_memory();
	j->failure = grown;
	f = &j->failure[j->failures++];
	*f = (inv_study_failure){strdup(stage), strdup(invar_last_error())};
	return f->stage && f->message ? INVAR_OK : inv_no_memory();
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

/* Asks the stage that was added with this status. */
static invar_status plan_stage(inv_study_job *j, const char *stage, invar_status added)
{
	inv_planned *grown = realloc(j->plan, (j->planned + 1) * sizeof *grown), *p;
	char why[INV_MESSAGE];

	if (!grown)
		return inv_no_memory();
	j->plan = grown;
	p = &j->plan[j->planned++];
	*p = (inv_planned){.stage = strdup(stage),
	                   .pending = true,
	                   .seconds = inv_stages_seconds(j->stages, stage)};
	if (added == INVAR_OK)
		added = inv_stages_pending(j->stages, stage, &p->pending);
	if (added == INVAR_E_CANCELLED || added == INVAR_E_NOMEM)
		return added;
	if (added != INVAR_OK) {
		p->bytes = NAN;
		p->unknown = strdup(inv_last_error_spelled("", why, sizeof why));
	}
	return p->stage && (p->unknown || added == INVAR_OK) ? INVAR_OK : inv_no_memory();
}

/* The stage that was planned last, if it is to be made and its disk space can be told. */
static inv_planned *last_pending(const inv_study_job *j)
{
	inv_planned *last = j->planned ? &j->plan[j->planned - 1] : NULL;

	return last && last->pending && !last->unknown ? last : NULL;
}

/* Runs the stage that was added with this status. */
static invar_status take_stage(inv_study_job *j, const char *stage, invar_status added,
                               bool *done)
{
	invar_status st;

	*done = true;
	if (j->plans)
		return plan_stage(j, stage, added);
	if ((st = added == INVAR_OK ? inv_stages_run(j->stages) : added) == INVAR_OK) {
		j->ran += inv_stages_ran(j->stages, stage);
		return INVAR_OK;
	}
	*done = false;
	if (added == INVAR_OK)
		inv_stages_give_up(j->stages);
	return settle_failure(j, stage, st);
}

/* "[3/17] training …"; returns out. */
static const char *announce(inv_study_job *j, const char *verb, const char *what,
                            char out[LINE])
{
	snprintf(out, LINE, "[%zu/%zu] %s %.900s", ++j->number, j->total, verb, what);
	return out;
}

invar_status inv_study_add(inv_study_job *j, const inv_own_stage *stage, bool *done)
{
	inv_own_stage copy = *stage;
	char says[LINE];

	copy.says = announce(j, "writing", inv_study_below(j->study, stage->output), says);
	return take_stage(j, stage->name, inv_stages_add_own(j->stages, &copy), done);
}

/* ---- Encoding ---------------------------------------------------------------------- */

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

/* *d becomes the feature width. */
static invar_status open_encoding(inv_study_job *j, const inv_study_bank *b, encoding *e,
                                  uint32_t *d)
{
	INV_TRY(inv_settings_options(&b->encode, "encode", &e->options));
	INV_TRY(invar_dataset_open(j->ctx, b->dataset, e->options, &e->dataset));
	INV_TRY(invar_encoder_open(j->ctx, NULL, e->options, &e->encoder));
	return inv_encode_check(e->encoder, e->dataset, e->options, d);
}

/* Of what is missing in the bank; one with other options is made anew beside it. */
static double bank_bytes(const inv_study_bank *b, const encoding *e)
{
	char *part = printed("%s" INV_BANK_PART, b->path);
	inv_encode_needs needs;
	bool known =
		inv_encode_count(e->encoder, e->dataset, e->options, b->path, &needs) == INVAR_OK ||
		(part &&
	     inv_encode_count(e->encoder, e->dataset, e->options, part, &needs) == INVAR_OK);

	free(part);
	return known ? (double)needs.bytes : NAN;
}

static invar_status encode_bank(inv_study_job *j, const inv_study_bank *b, uint32_t *d,
                                bool *done)
{
	char name[NAME], says[LINE];
	encoding e = {0};
	invar_status st = open_encoding(j, b, &e, d);

	snprintf(name, sizeof name, "encode %s", inv_study_below(j->study, b->folder));
	announce(j, "encoding", b->title, says);
	if (st == INVAR_OK)
		st = inv_stages_add_encode(j->stages, name, says, e.encoder, e.dataset, e.options,
		                           b->path);
	st = take_stage(j, name, st, done);
	if (st == INVAR_OK && last_pending(j))
		last_pending(j)->bytes = bank_bytes(b, &e);
	close_encoding(&e);
	return st;
}

static invar_status read_width(inv_study_job *j, const inv_study_bank *b, uint32_t *d,
                               bool *done)
{
	char name[LINE];
	invar_bank *bank;
	invar_status st = inv_bank_open(j->ctx, b->path, &bank);

	if (st == INVAR_OK)
		*d = invar_bank_dim(bank);
	invar_bank_close(bank);
	if (st == INVAR_OK)
		return st;
	if (j->plans) {
		snprintf(name, sizeof name, "bank %s", b->path);
		return plan_stage(j, name, st);
	}
	*done = false;
	return settle_failure(j, NULL, st);
}

/* ---- Checks before the first stage -------------------------------------------------- */

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
	char name[NAME];
	invar_status st;

	for (size_t a = 0; a < s->adapters; a++) {
		invar_options *o = NULL;

		st = inv_study_train_options(&s->adapter[a], k->d, s->seed[0], &o);
		if (st == INVAR_OK)
			st = inv_train_check_options(o, k->d);
		if (st == INVAR_OK)
			st = check_split(k, &s->adapter[a].train, "train");
		invar_options_free(o);
		snprintf(name, sizeof name, "train %s/%s/%" PRIu64, inv_study_below(s, b->folder),
		         s->adapter[a].folder, s->seed[0]);
		if (st != INVAR_OK)
			INV_TRY(settle_failure(j, name, st));
	}
	st = check_split(k, &s->eval, "test");
	return st == INVAR_OK ? st : settle_failure(j, "eval", st);
}

static invar_status check_encoding(inv_study_job *j, const inv_study_bank *b)
{
	char name[NAME];
	outlook k = {.from = b->dataset};
	encoding e = {0};
	invar_status st = open_encoding(j, b, &e, &k.d);

	snprintf(name, sizeof name, "encode %s", inv_study_below(j->study, b->folder));
	k.dataset = e.dataset;
	st = st == INVAR_OK ? check_trials(j, b, &k) : settle_failure(j, name, st);
	close_encoding(&e);
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
	for (size_t i = 0; i < j->study->banks && !j->keep_going; i++) {
		const inv_study_bank *b = &j->study->bank[i];

		INV_TRY(b->dataset ? check_encoding(j, b) : check_existing(j, b));
	}
	return INVAR_OK;
}

/* ---- Diagnosis --------------------------------------------------------------------- */

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
	note = printed("%s was left out: %s", stage, invar_last_error());
	if (j->say && note)
		j->say(j->user, note);
	free(note);
	return INVAR_OK;
}

static invar_status diagnose_bank(inv_study_job *j, const inv_study_bank *b)
{
	char name[NAME], says[LINE], *path = printed("%s/diagnose.json", b->folder);
	invar_options *o = NULL;
	invar_status st =
		path ? inv_settings_options(&j->study->diagnose, "diagnose", &o) : inv_no_memory();
	bool done;

	snprintf(name, sizeof name, "diagnose %s", inv_study_below(j->study, b->folder));
	announce(j, "diagnosing", b->title, says);
	if (st == INVAR_OK)
		st = inv_stages_add_diagnose(j->stages, name, says, b->path, o, path);
	st = st == INVAR_OK && j->study->diagnoses_if_possible && !j->plans
	         ? try_stage(j, name)
	         : take_stage(j, name, st, &done);
	invar_options_free(o);
	free(path);
	return st;
}

/* ---- Training and measuring --------------------------------------------------------- */

/* One adapter on one bank with one seed. */
typedef struct fitting {
	const inv_study_bank *bank;
	const inv_study_adapter *adapter;
	uint64_t seed;
	char of[NAME - 8]; /* "BANK/ADAPTER/SEED", as in the names of its stages */
	char what[LINE];   /* the same for people */
	char *run, *results;
	char *none; /* why no adapter helps; NULL: there is one */
} fitting;

/* The adapter, and with a loss a checkpoint: the adapter and the two moments of AdamW. */
static double run_bytes(const invar_options *o, uint32_t d)
{
	inv_train_settings s;
	double weights;

	inv_train_read(o, &s);
	weights = 4.0 * (double)s.hidden * (double)(d + (s.width ? s.width : d));
	return !d ? NAN : strcmp(s.loss, "none") == 0 ? weights : 4 * weights;
}

static invar_status train_adapter(inv_study_job *j, const fitting *f, uint32_t d,
                                  bool *done)
{
	char name[NAME], says[LINE];
	invar_options *o = NULL;
	invar_status st = make_parents(j, f->run);

	snprintf(name, sizeof name, "train %s", f->of);
	announce(j, "training", f->what, says);
	if (st == INVAR_OK)
		st = inv_study_train_options(f->adapter, d, f->seed, &o);
	if (st == INVAR_OK)
		st = inv_stages_add_train(j->stages, name, says, f->bank->path, o, f->run);
	st = take_stage(j, name, st, done);
	if (st == INVAR_OK && last_pending(j))
		last_pending(j)->bytes = run_bytes(o, d);
	invar_options_free(o);
	return st;
}

/* That no adapter helps is a result of a training, see inv_stages_add_train. */
static invar_status read_none(const inv_study_job *j, fitting *f)
{
	json_t *json = inv_run_json(f->run);
	const char *why = json_string_value(json_object_get(json, "error"));
	bool none = json_is_true(json_object_get(json, INV_RUN_NO_ADAPTER));

	if (none)
		f->none = inv_strdup(why ? why : "no adapter helps");
	json_decref(json);
	if (none && !f->none)
		return inv_no_memory();
	return j->plans ? INVAR_OK : inv_broadcast_text(j->ctx, &f->none);
}

static invar_status eval_adapter(inv_study_job *j, const fitting *f, bool *done)
{
	const inv_settings *set = &j->study->eval;
	char name[NAME], says[LINE];
	invar_options *o = NULL;
	invar_status st = make_parents(j, f->results);

	snprintf(name, sizeof name, "eval %s", f->of);
	announce(j, "measuring", f->what, says);
	if (st == INVAR_OK)
		st = inv_settings_options(set, "eval", &o);
	if (st == INVAR_OK && !inv_settings_find(set, "seed"))
		st = invar_options_set_number(o, "seed", (double)f->seed);
	if (st == INVAR_OK)
		st = inv_stages_add_eval(j->stages, name, says, f->bank->path,
		                         f->none ? NULL : f->run, f->adapter->title, o, f->results);
	st = take_stage(j, name, st, done);
	invar_options_free(o);
	return st;
}

/* ---- The table of a bank ------------------------------------------------------------ */

typedef struct tabling {
	inv_study_job *job;
	const inv_study_bank *bank;
	inv_compared *adapter; /* [adapters]: those that were measured */
	size_t adapters;
	const char **file; /* [files]: results of all of them, one after the other, then NULL */
	size_t files;
	json_t *notes; /* where no adapter helps */
	char *path;
} tabling;

/* Takes results. */
static void add_results(tabling *t, const char *title, const char *results)
{
	if (!t->adapters || t->adapter[t->adapters - 1].title != title)
		t->adapter[t->adapters++] =
			(inv_compared){.title = title, .file = t->file + t->files};
	t->adapter[t->adapters - 1].files++;
	t->file[t->files++] = results;
}

static invar_status write_table(void *user)
{
	const tabling *t = user;
	const inv_comparison c = {.adapter = t->adapter,
	                          .adapters = t->adapters,
	                          .study = t->job->study->name,
	                          .title = t->bank->title,
	                          .notes = t->notes};
	char *text = NULL, *lines = NULL;
	json_t *document = NULL;
	invar_status st = inv_compare(&c, &document);

	if (st == INVAR_OK &&
	    (!(text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15))) ||
	     !(lines = printed("%s\n", text))))
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(t->job->ctx, t->path, lines, strlen(lines));
	json_decref(document);
	free(text);
	free(lines);
	return st;
}

/* Titles are part of a table, and they are in no file that it is made from. */
static char *describe_table(const tabling *t)
{
	json_t *all = json_pack("[s, s]", t->job->study->name, t->bank->title);
	char *text;

	for (size_t a = 0; a < t->adapters; a++)
		json_array_append_new(
			all, json_pack("[s, I]", t->adapter[a].title, (json_int_t)t->adapter[a].files));
	if (json_array_size(t->notes))
		json_array_append(all, t->notes);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

static invar_status make_table(inv_study_job *j, tabling *t)
{
	char name[NAME], *options = describe_table(t);
	bool done = false;
	invar_status st = options ? INVAR_OK : inv_no_memory();

	snprintf(name, sizeof name, "table %s", inv_study_below(j->study, t->bank->folder));
	if (st == INVAR_OK)
		st = inv_study_add(j,
		                   &(inv_own_stage){.user = t,
		                                    .name = name,
		                                    .inputs = t->file,
		                                    .options = options,
		                                    .output = t->path,
		                                    .run = write_table},
		                   &done);
	if (st == INVAR_OK && done) {
		j->table_bank[j->tables] = t->bank;
		j->table[j->tables++] = t->path;
		t->path = NULL;
	}
	free(options);
	return st;
}

/* ---- Banks ------------------------------------------------------------------------- */

/* What was measured goes to the table; one run per adapter is enough for a page, as seeds
 * differ in little. */
static invar_status keep_fitting(inv_study_job *j, tabling *t, fitting *f)
{
	add_results(t, f->adapter->title, f->results);
	f->results = NULL;
	if (f->none) /* "MaWa, seed 0: no adapter helps here, …" */
		return json_array_append_new(t->notes,
		                             json_sprintf("%s, seed %" PRIu64 ": %s",
		                                          f->adapter->title, f->seed, f->none)) == 0
		           ? INVAR_OK
		           : inv_no_memory();
	if (f->seed == j->study->seed[0]) {
		j->run_bank[j->runs] = f->bank;
		j->run[j->runs++] = f->run;
		f->run = NULL;
	}
	return INVAR_OK;
}

static invar_status fit(inv_study_job *j, tabling *t, const inv_study_adapter *a,
                        uint64_t seed, uint32_t d)
{
	const inv_study_bank *b = t->bank;
	fitting f = {.bank = b,
	             .adapter = a,
	             .seed = seed,
	             .run = inv_study_run_path(b, a, seed),
	             .results =
	                 printed("%s/eval/%" PRIu64 "/%s.json", b->folder, seed, a->folder)};
	bool trained = false, measured = false;
	invar_status st = f.run && f.results ? INVAR_OK : inv_no_memory();

	snprintf(f.of, sizeof f.of, "%s/%s/%" PRIu64, inv_study_below(j->study, b->folder),
	         a->folder, seed);
	snprintf(f.what, sizeof f.what, "%s on %s, seed %" PRIu64, a->title, b->title, seed);
	if (st == INVAR_OK)
		st = train_adapter(j, &f, d, &trained);
	if (st == INVAR_OK && trained && !last_pending(j))
		st = read_none(j, &f);
	if (st == INVAR_OK && trained)
		st = eval_adapter(j, &f, &measured);
	else
		j->number++;
	if (st == INVAR_OK && measured)
		st = keep_fitting(j, t, &f);
	free(f.run);
	free(f.results);
	inv_free(f.none);
	return st;
}

static invar_status fit_adapters(inv_study_job *j, const inv_study_bank *b, uint32_t d)
{
	const inv_study *s = j->study;
	tabling t = {.job = j,
	             .bank = b,
	             .adapter = calloc(s->adapters, sizeof *t.adapter),
	             .file = calloc(s->adapters * s->seeds + 1, sizeof *t.file),
	             .notes = json_array(),
	             .path = printed("%s/table.json", b->folder)};
	invar_status st = t.adapter && t.file && t.notes && t.path ? INVAR_OK : inv_no_memory();

	for (size_t a = 0; a < s->adapters && st == INVAR_OK; a++)
		for (size_t i = 0; i < s->seeds && st == INVAR_OK; i++)
			st = fit(j, &t, &s->adapter[a], s->seed[i], d);
	if (st == INVAR_OK && t.files)
		st = make_table(j, &t);
	for (size_t i = 0; i < t.files; i++)
		free((void *)(uintptr_t)t.file[i]);
	free((void *)(uintptr_t)t.file);
	free(t.adapter);
	free(t.path);
	json_decref(t.notes);
	return st;
}

static invar_status run_bank(inv_study_job *j, const inv_study_bank *b)
{
	bool done = true;
	uint32_t d = 0;

	INV_TRY(make_parents(j, b->folder));
	if (!j->plans && inv_process_rank(j->ctx) == 0)
		INV_TRY(inv_make_folder(b->folder));
	if (b->dataset)
		INV_TRY(encode_bank(j, b, &d, &done));
	else
		INV_TRY(read_width(j, b, &d, &done));
	if (done && j->study->diagnoses)
		INV_TRY(diagnose_bank(j, b));
	return done ? fit_adapters(j, b, d) : INVAR_OK;
}

/* ---- The whole --------------------------------------------------------------------- */

void inv_study_job_clear(inv_study_job *j)
{
	inv_stages_close(j->stages);
	for (size_t i = 0; i < j->tables; i++)
		free(j->table[i]);
	for (size_t i = 0; i < j->failures; i++) {
		free(j->failure[i].stage);
		free(j->failure[i].message);
	}
	for (size_t i = 0; i < j->planned; i++) {
		free(j->plan[i].stage);
		free(j->plan[i].unknown);
	}
	for (size_t i = 0; i < j->runs; i++)
		free(j->run[i]);
	free(j->run);
	free((void *)(uintptr_t)j->run_bank);
	free(j->table);
	free((void *)(uintptr_t)j->table_bank);
	free(j->failure);
	free(j->plan);
}

invar_status inv_study_run(inv_study_job *j, size_t more)
{
	const inv_study *s = j->study;

	INV_TRY(inv_stages_open(j->ctx, s->folder, &j->stages));
	j->table = calloc(s->banks + 1, sizeof *j->table);
	j->table_bank = calloc(s->banks, sizeof *j->table_bank);
	j->run = calloc(s->banks * s->adapters, sizeof *j->run);
	j->run_bank = calloc(s->banks * s->adapters, sizeof *j->run_bank);
	if (!j->table || !j->table_bank || !j->run || !j->run_bank)
		return inv_no_memory();

	j->total = more;
	for (size_t i = 0; i < s->banks; i++)
		j->total +=
			s->diagnoses + 2 * s->adapters * s->seeds + 1 + (s->bank[i].dataset ? 1 : 0);
	for (size_t i = 0; i < s->banks; i++)
		INV_TRY(run_bank(j, &s->bank[i]));
	return INVAR_OK;
}
