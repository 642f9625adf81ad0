/* SPDX-License-Identifier: Apache-2.0 */
/* study_run.c - the stages of a study, bank after bank. See study_run.h. */
#include "study/study_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/train_options.h"
#include "bank/bank.h"
#include "base/file.h"
#include "base/processes.h"
#include "encode/forecast.h"
#include "images/dataset.h"
#include "run/run.h"
#include "study/comparison.h"

/* Bytes: "train DATA/ENCODER/AUGMENTATION/ADAPTER/SEED", folders have at most 100; and a
 * line of the log, which may be cut off. */
enum { NAME = 640, LINE = 1024 };

const char *inv_study_below(const inv_study *s, const char *path)
{
	size_t length = strlen(s->folder);

	if (strncmp(path, s->folder, length) != 0 || path[length] != '/')
		return path;
	return path + length + strspn(path + length, "/");
}

char *inv_study_run_path(const inv_study_bank *b, const inv_study_adapter *a, uint64_t seed)
{
	char *path;

	return asprintf(&path, "%s/runs/%" PRIu64 "/%s", b->folder, seed, a->folder) < 0 ? NULL
	                                                                                 : path;
}

/* Creates the folders that lead to a file or folder; rank 0 does. */
static invar_status make_parents(inv_study_job *j, const char *path)
{
	char *copy;

	if (j->plans || inv_process_rank(j->ctx))
		return INVAR_OK;
	INV_TRY(inv_pool_print(&j->pool, &copy, "%s", path));
	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		INV_TRY(inv_make_folder(copy));
		*at = '/';
	}
	return INVAR_OK;
}

/* ---- One stage --------------------------------------------------------------------- */

/* After a failure: go on, or end the whole with "STAGE: message"; stage NULL: no prefix. */
static invar_status settle_failure(inv_study_job *j, const char *stage, invar_status st)
{
	inv_study_failure *f;

	if (st == INVAR_E_CANCELLED)
		return st;
	INV_TRY(inv_processes_check(j->ctx->processes)); /* another rank has failed */
	if (!j->keep_going || st == INVAR_E_NOMEM) {
		inv_study_spelled(st);
		return stage ? inv_context(st, "%.200s", stage) : st;
	}
	INV_TRY(inv_pool_more(&j->pool, &j->failure, j->failures));
	f = &j->failure[j->failures++];
	INV_TRY(inv_pool_print(&j->pool, &f->message, "%s", invar_last_error()));
	return inv_pool_print(&j->pool, &f->stage, "%s", stage ? stage : "bank");
}

/* Asks the stage that was added with this status. */
static invar_status plan_stage(inv_study_job *j, const char *stage, invar_status added)
{
	inv_planned *p;
	char why[INV_MESSAGE];

	INV_TRY(inv_pool_more(&j->pool, &j->plan, j->planned));
	p = &j->plan[j->planned++];
	p->pending = true;
	p->seconds = inv_stages_seconds(j->stages, stage);
	if (added == INVAR_OK)
		added = inv_stages_pending(j->stages, stage, &p->pending);
	if (added == INVAR_E_CANCELLED || added == INVAR_E_NOMEM)
		return added;
	if (added != INVAR_OK) {
		p->bytes = NAN;
		inv_last_error_spelled("", why, sizeof why);
		INV_TRY(inv_pool_print(&j->pool, &p->unknown, "%s", why));
	}
	return inv_pool_print(&j->pool, &p->stage, "%s", stage);
}

/* The stage that was planned last, if it is to be made and its disk space is known. */
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

/* What a bank is made of, or the bank; and what is known of it before it is made. */
typedef struct bank_inputs {
	invar_options *options;
	invar_dataset *dataset;
	invar_encoder *encoder;
	invar_bank *bank; /* that exists */
	uint32_t d;       /* feature width */
} bank_inputs;

static void close_bank_inputs(bank_inputs *o)
{
	invar_options_free(o->options);
	invar_dataset_close(o->dataset);
	invar_encoder_close(o->encoder);
	invar_bank_close(o->bank);
}

static invar_status open_bank_inputs(inv_study_job *j, const inv_study_bank *b,
                                     bank_inputs *o)
{
	if (!b->dataset) {
		INV_TRY(inv_bank_open(j->ctx, b->path, &o->bank));
		o->d = invar_bank_dim(o->bank);
		return INVAR_OK;
	}
	INV_TRY(inv_settings_options(&b->encode, "encode", &o->options));
	INV_TRY(invar_dataset_open(j->ctx, b->dataset, o->options, &o->dataset));
	INV_TRY(invar_encoder_open(j->ctx, NULL, o->options, &o->encoder));
	return inv_encode_check(o->encoder, o->dataset, o->options, &o->d);
}

/* *d becomes the feature width, 0 if it is unknown; *done whether there is a bank. */
static invar_status make_bank(inv_study_job *j, const inv_study_bank *b, uint32_t *d,
                              bool *done)
{
	char name[NAME], says[LINE], *part;
	inv_encode_needs needs = {0};
	bank_inputs o = {0};
	invar_status st = open_bank_inputs(j, b, &o);

	*d = o.d;
	if (!b->dataset) {
		*done = st == INVAR_OK || j->plans;
		snprintf(says, sizeof says, "bank %s", b->path);
		if (st != INVAR_OK)
			st = j->plans ? plan_stage(j, says, st) : settle_failure(j, NULL, st);
		goto done;
	}
	snprintf(name, sizeof name, "encode %s", inv_study_below(j->study, b->folder));
	announce(j, "encoding", b->title, says);
	if (st == INVAR_OK)
		st = inv_stages_add_encode(j->stages, name, says, o.encoder, o.dataset, o.options,
		                           b->path);
	INV_TRY_OR(done, take_stage(j, name, st, done));
	if (last_pending(j)) {
		/* What is missing in the bank; one with other options is made anew beside it. */
		INV_TRY_OR(done, inv_pool_print(&j->pool, &part, "%s" INV_BANK_PART, b->path));
		last_pending(j)->bytes =
			inv_encode_count(o.encoder, o.dataset, o.options, b->path, &needs) &&
					inv_encode_count(o.encoder, o.dataset, o.options, part, &needs)
				? NAN
				: (double)needs.bytes;
	}
done:
	close_bank_inputs(&o);
	return st;
}

/* ---- Checks before the first stage -------------------------------------------------- */

static invar_status check_split_exists(const inv_study_bank *b, const bank_inputs *o,
                                       const inv_settings *set, const char *initial)
{
	size_t count = o->dataset ? inv_dataset_splits(o->dataset) : invar_bank_splits(o->bank);
	const char *split = inv_settings_find(set, "split"), *name;
	char names[200] = "";

	split = split ? split : initial;
	for (size_t i = 0; i < count; i++) {
		name = o->dataset ? inv_dataset_split_name(o->dataset, i)
		                  : invar_bank_split(o->bank, i);
		if (strcmp(name, split) == 0)
			return INVAR_OK;
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
		         name);
	}
	return inv_fail(INVAR_E_USE, "%.400s: has no split %.60s; it has %s",
	                b->dataset ? b->dataset : b->path, split, names);
}

static invar_status check_adapter_options(const inv_study *s, const inv_study_bank *b,
                                          const bank_inputs *bank,
                                          const inv_study_adapter *a)
{
	invar_options *o;
	invar_status st;

	INV_TRY(inv_study_train_options(a, bank->d, s->seed[0], &o));
	st = inv_train_check_options(o, bank->d);
	invar_options_free(o);
	return st == INVAR_OK ? check_split_exists(b, bank, &a->train, "train") : st;
}

/* Options of adapters and measurements against what is known of the bank. */
static invar_status check_study_bank(inv_study_job *j, const inv_study_bank *b)
{
	const inv_study *s = j->study;
	const char *below = inv_study_below(s, b->folder);
	char name[NAME];
	bank_inputs bank = {0};
	invar_status st = open_bank_inputs(j, b, &bank);

	snprintf(name, sizeof name, "encode %s", below);
	if (st != INVAR_OK) {
		st = settle_failure(j, b->dataset ? name : NULL, st);
		goto done;
	}
	for (size_t i = 0; i < s->adapters; i++)
		if ((st = check_adapter_options(s, b, &bank, &s->adapter[i])) != INVAR_OK) {
			snprintf(name, sizeof name, "train %s/%s/%" PRIu64, below, s->adapter[i].folder,
			         s->seed[0]);
			INV_TRY_OR(done, settle_failure(j, name, st));
		}
	if ((st = check_split_exists(b, &bank, &s->eval, "test")) != INVAR_OK)
		st = settle_failure(j, "eval", st);
done:
	close_bank_inputs(&bank);
	return st;
}

invar_status inv_study_check(inv_study_job *j)
{
	for (size_t i = 0; i < j->study->banks && !j->keep_going; i++)
		INV_TRY(check_study_bank(j, &j->study->bank[i]));
	return INVAR_OK;
}

/* Too few images for a diagnosis that nobody asked for are no failure. */
static invar_status diagnose_bank(inv_study_job *j, const inv_study_bank *b)
{
	char name[NAME], says[LINE], *path, *note;
	invar_options *o;
	invar_status st;
	bool done;

	INV_TRY(inv_pool_print(&j->pool, &path, "%s/diagnose.json", b->folder));
	snprintf(name, sizeof name, "diagnose %s", inv_study_below(j->study, b->folder));
	announce(j, "diagnosing", b->title, says);
	INV_TRY(inv_settings_options(&j->study->diagnose, "diagnose", &o));
	st = inv_stages_add_diagnose(j->stages, name, says, b->path, o, path);
	invar_options_free(o);
	if (st != INVAR_OK || !j->study->diagnoses_if_possible || j->plans)
		return take_stage(j, name, st, &done);
	if ((st = inv_stages_run(j->stages)) == INVAR_OK)
		return take_stage(j, name, st, &done);
	if (st != INVAR_E_MISMATCH)
		return settle_failure(j, name, st);
	inv_stages_give_up(j->stages);
	INV_TRY(
		inv_pool_print(&j->pool, &note, "%s was left out: %s", name, invar_last_error()));
	if (j->say)
		j->say(j->user, note);
	return INVAR_OK;
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

static invar_status write_bank_table(void *user)
{
	const tabling *t = user;
	const inv_comparison c = {.adapter = t->adapter,
	                          .adapters = t->adapters,
	                          .study = t->job->study->name,
	                          .title = t->bank->title,
	                          .notes = t->notes};
	json_t *document;
	char *text, *lines;
	invar_status st;

	INV_TRY(inv_compare(&c, &document));
	text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	json_decref(document);
	st = text ? inv_pool_print(&t->job->pool, &lines, "%s\n", text) : inv_no_memory();
	free(text);
	return st == INVAR_OK ? inv_file_write(t->job->ctx, t->path, lines, strlen(lines)) : st;
}

static invar_status make_bank_table(tabling *t)
{
	inv_study_job *j = t->job;
	/* Titles are part of a table, and they are in no file that it is made from. */
	json_t *titles = json_pack("[s, s]", j->study->name, t->bank->title);
	char name[NAME], *options;
	bool done = false;
	invar_status st;

	for (size_t a = 0; a < t->adapters; a++)
		json_array_append_new(titles, json_pack("[s, I]", t->adapter[a].title,
		                                        (json_int_t)t->adapter[a].files));
	if (json_array_size(t->notes))
		json_array_append(titles, t->notes);
	options = json_dumps(titles, JSON_COMPACT);
	json_decref(titles);
	if (!options)
		return inv_no_memory();
	snprintf(name, sizeof name, "table %s", inv_study_below(j->study, t->bank->folder));
	st = inv_study_add(j,
	                   &(inv_own_stage){.user = t,
	                                    .name = name,
	                                    .inputs = t->file,
	                                    .options = options,
	                                    .output = t->path,
	                                    .run = write_bank_table},
	                   &done);
	free(options);
	if (st == INVAR_OK && done) {
		j->table_bank[j->tables] = t->bank;
		j->table[j->tables++] = t->path;
	}
	return st;
}

/* ---- Training and measuring --------------------------------------------------------- */

/* The adapter, and with a loss a checkpoint: the adapter and the two moments of AdamW. */
static double run_bytes(const invar_options *o, uint32_t d)
{
	inv_train_settings s;
	double weights;

	inv_train_read(o, &s);
	weights = 4.0 * (double)s.hidden * (double)(d + (s.width ? s.width : d));
	return !d ? NAN : strcmp(s.loss, "none") == 0 ? weights : 4 * weights;
}

/*
 * One adapter on one bank with one seed: trains, then measures. What was measured goes to
 * the table; one run per adapter is enough for a page, as seeds differ in little.
 */
static invar_status fit_adapter(tabling *t, const inv_study_adapter *a, uint64_t seed,
                                uint32_t d)
{
	inv_study_job *j = t->job;
	const inv_study_bank *b = t->bank;
	const inv_settings *eval = &j->study->eval;
	char of[NAME - 8]; /* "BANK/ADAPTER/SEED", as in the names of the stages */
	char what[LINE], name[NAME], says[LINE], *run, *results, *none = NULL;
	invar_options *o = NULL;
	bool done;
	invar_status st;

	snprintf(of, sizeof of, "%s/%s/%" PRIu64, inv_study_below(j->study, b->folder),
	         a->folder, seed);
	snprintf(what, sizeof what, "%s on %s, seed %" PRIu64, a->title, b->title, seed);
	INV_TRY(inv_pool_print(&j->pool, &run, "%s/runs/%" PRIu64 "/%s", b->folder, seed,
	                       a->folder));
	INV_TRY(inv_pool_print(&j->pool, &results, "%s/eval/%" PRIu64 "/%s.json", b->folder,
	                       seed, a->folder));

	snprintf(name, sizeof name, "train %s", of);
	announce(j, "training", what, says);
	st = make_parents(j, run);
	if (st == INVAR_OK)
		st = inv_study_train_options(a, d, seed, &o);
	if (st == INVAR_OK)
		st = inv_stages_add_train(j->stages, name, says, b->path, o, run);
	st = take_stage(j, name, st, &done);
	if (st == INVAR_OK && last_pending(j))
		last_pending(j)->bytes = run_bytes(o, d);
	invar_options_free(o);
	o = NULL;
	if (st != INVAR_OK || !done) {
		j->number++; /* of the stage that is left out */
		return st;
	}

	/* That no adapter helps is a result of a training, see inv_stages_add_train. */
	if (!last_pending(j)) {
		json_t *json = inv_run_json(run);
		const char *why = json_string_value(json_object_get(json, "error"));

		if (json_is_true(json_object_get(json, INV_RUN_NO_ADAPTER)))
			st = inv_new_text(&none, why ? why : "no adapter helps");
		json_decref(json);
		if (st == INVAR_OK && !j->plans)
			st = inv_broadcast_text(j->ctx, &none);
		INV_TRY_OR(done, st);
	}

	snprintf(name, sizeof name, "eval %s", of);
	announce(j, "measuring", what, says);
	st = make_parents(j, results);
	if (st == INVAR_OK)
		st = inv_settings_options(eval, "eval", &o);
	if (st == INVAR_OK && !inv_settings_find(eval, "seed"))
		st = invar_options_set_number(o, "seed", (double)seed);
	if (st == INVAR_OK)
		st = inv_stages_add_eval(j->stages, name, says, b->path, none ? NULL : run,
		                         a->title, o, results);
	st = take_stage(j, name, st, &done);
	invar_options_free(o);
	if (st != INVAR_OK || !done)
		goto done;

	if (!t->adapters || t->adapter[t->adapters - 1].title != a->title)
		t->adapter[t->adapters++] =
			(inv_compared){.title = a->title, .file = t->file + t->files};
	t->adapter[t->adapters - 1].files++;
	t->file[t->files++] = results;
	if (none) { /* "MaWa, seed 0: no adapter helps here, …" */
		if (json_array_append_new(t->notes, json_sprintf("%s, seed %" PRIu64 ": %s",
		                                                 a->title, seed, none)) != 0)
			st = inv_no_memory();
	} else if (seed == j->study->seed[0]) {
		j->run_bank[j->runs] = b;
		j->run[j->runs++] = run;
	}
done:
	inv_free(none);
	return st;
}

/* ---- Banks ------------------------------------------------------------------------- */

static invar_status run_bank(inv_study_job *j, const inv_study_bank *b)
{
	const inv_study *s = j->study;
	tabling t = {.job = j, .bank = b};
	bool done = true;
	uint32_t d;
	invar_status st = INVAR_OK;

	INV_TRY(make_parents(j, b->folder));
	if (!j->plans && inv_process_rank(j->ctx) == 0)
		INV_TRY(inv_make_folder(b->folder));
	INV_TRY(make_bank(j, b, &d, &done));
	if (!done)
		return INVAR_OK;
	if (s->diagnoses)
		INV_TRY(diagnose_bank(j, b));

	INV_TRY(inv_pool_zeros(&j->pool, &t.adapter, s->adapters));
	INV_TRY(inv_pool_zeros(&j->pool, &t.file, s->adapters * s->seeds + 1));
	INV_TRY(inv_pool_print(&j->pool, &t.path, "%s/table.json", b->folder));
	t.notes = json_array();
	for (size_t i = 0; i < s->adapters * s->seeds; i++)
		INV_TRY_OR(done,
		           fit_adapter(&t, &s->adapter[i / s->seeds], s->seed[i % s->seeds], d));
	if (t.files)
		st = make_bank_table(&t);
done:
	json_decref(t.notes);
	return st;
}

void inv_study_job_clear(inv_study_job *j)
{
	inv_stages_close(j->stages);
	inv_pool_free(&j->pool);
}

invar_status inv_study_run(inv_study_job *j, size_t more)
{
	const inv_study *s = j->study;

	INV_TRY(inv_stages_open(j->ctx, s->folder, &j->stages));
	INV_TRY(inv_pool_zeros(&j->pool, &j->table, s->banks + 1));
	INV_TRY(inv_pool_zeros(&j->pool, &j->table_bank, s->banks));
	INV_TRY(inv_pool_zeros(&j->pool, &j->run, s->banks * s->adapters));
	INV_TRY(inv_pool_zeros(&j->pool, &j->run_bank, s->banks * s->adapters));

	j->total = more;
	for (size_t i = 0; i < s->banks; i++)
		j->total +=
			s->diagnoses + 2 * s->adapters * s->seeds + 1 + (s->bank[i].dataset ? 1 : 0);
	for (size_t i = 0; i < s->banks; i++)
		INV_TRY(run_bank(j, &s->bank[i]));
	return INVAR_OK;
}
