/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_plan.c - what a study would do now: which stages, how long, how much disk space.
 *
 * The stages are added to a list as in study_run.c, but asked instead of run. What is
 * missing (weights, images) is no error here: the plan says so, and what depends on it is
 * unknown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bank/bank.h"
#include "base/options.h"
#include "base/status.h"
#include "images/dataset.h"
#include "study/stage.h"
#include "study/study_cost.h"
#include "study/study_run.h"

typedef struct planning {
	const inv_study *study;
	invar_context *ctx;
	inv_stages *stages; /* NULL: there is no folder yet */
	inv_plan *plan;
	double speed; /* of matrix products */
} planning;

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the plan");
}

/* Takes stage and unknown. */
static invar_status add_planned(const planning *p, char *stage, bool pending, inv_cost cost,
                                char *unknown)
{
	inv_planned *grown =
		stage ? realloc(p->plan->list, (p->plan->count + 1) * sizeof *grown) : NULL;

	if (!grown) {
		free(stage);
		free(unknown);
		return no_memory();
	}
	p->plan->list = grown;
	p->plan->list[p->plan->count++] =
		(inv_planned){stage, pending, cost.seconds, cost.bytes, unknown};
	return INVAR_OK;
}

/* Is a stage that was added with this status to be run? If unsure, it is. */
static bool is_pending(const planning *p, const char *name, invar_status added)
{
	int pending = 1;

	if (!p->stages || added != INVAR_OK)
		return true;
	if (inv_stages_pending(p->stages, name, &pending) != INVAR_OK)
		return true;
	return pending;
}

/* ---- Encoding
 * ------------------------------------------------------------------------------- */

typedef struct prepared {
	invar_options *options;
	invar_dataset *dataset;
	invar_encoder *encoder;
} prepared;

static invar_status open_prepared(const planning *p, const inv_study_bank *b, prepared *e)
{
	invar_status st = inv_settings_options(&b->encode, "encode", &e->options);

	if (st == INVAR_OK)
		st = invar_dataset_open(p->ctx, b->dataset, e->options, &e->dataset);
	return st == INVAR_OK ? invar_encoder_open(p->ctx, NULL, e->options, &e->encoder) : st;
}

static void close_prepared(prepared *e)
{
	invar_options_free(e->options);
	invar_dataset_close(e->dataset);
	invar_encoder_close(e->encoder);
}

/* Of a split: "10" or "train=4,test=3"; without it 5 for test and 10 for others. */
static uint64_t copies_of(const invar_options *o, const char *split)
{
	const char *text = inv_options_text(o, "copies", 0), *at = text;
	size_t length = strlen(split);

	if (!inv_options_text(o, "augment", 0))
		return 0;
	if (!text)
		return strcmp(split, "test") == 0 ? 5 : 10;
	if (!strchr(text, '='))
		return strtoull(text, NULL, 10);
	for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, split, length) == 0 && at[length] == '=')
			return strtoull(at + length + 1, NULL, 10);
	return 0;
}

/* The split that is measured. */
static const char *measured_split(const inv_study *s)
{
	const char *split = inv_settings_find(&s->eval, "split");

	return split ? split : "test";
}

static void count_images(const planning *p, const prepared *e, inv_cost_rows *rows)
{
	rows->train = inv_dataset_count(e->dataset, "train");
	rows->test = inv_dataset_count(e->dataset, measured_split(p->study));
	rows->all = rows->train;
	if (strcmp(measured_split(p->study), "train") != 0)
		rows->all += rows->test;
	rows->classes = inv_dataset_classes(e->dataset);
	rows->copies = copies_of(e->options, "train");
	rows->test_copies = copies_of(e->options, measured_split(p->study));
	rows->views = inv_options_text(e->options, "views", 0);
}

static invar_status forecast(const inv_study_bank *b, const prepared *e,
                             inv_cost_rows *rows, inv_cost *cost)
{
	invar_figures *f;
	invar_status st =
		invar_encode_forecast(e->encoder, e->dataset, e->options, b->path, &f);

	if (st != INVAR_OK)
		return st;
	*cost = (inv_cost){invar_figure(f, "seconds"), invar_figure(f, "bytes")};
	rows->d = (uint32_t)invar_figure(f, "width");
	invar_figures_free(f);
	return INVAR_OK;
}

static uint64_t count_rows(const invar_bank *bank)
{
	const char *split;
	uint64_t rows = 0;

	for (size_t i = 0; i < invar_bank_splits(bank) && (split = invar_bank_split(bank, i));
	     i++)
		rows += invar_bank_rows(bank, split);
	return rows;
}

/* One more than the greatest label of a split; 0: it has none. */
static uint64_t count_classes(const invar_bank *bank, const char *split)
{
	uint64_t rows = invar_bank_rows(bank, split), classes = 0;
	int64_t *label =
		rows && invar_bank_has_labels(bank, split) ? calloc(rows, sizeof *label) : NULL;

	if (label && invar_bank_labels(bank, split, label) == INVAR_OK)
		for (uint64_t i = 0; i < rows; i++)
			if (label[i] >= 0 && (uint64_t)label[i] >= classes)
				classes = (uint64_t)label[i] + 1;
	free(label);
	return classes;
}

static void read_bank(const planning *p, const inv_study_bank *b, inv_cost_rows *rows)
{
	invar_bank *bank;

	if (inv_bank_open(p->ctx, b->path, &bank) != INVAR_OK)
		return;
	rows->d = invar_bank_dim(bank);
	if (!rows->train) {
		rows->train = invar_bank_rows(bank, "train");
		rows->test = invar_bank_rows(bank, measured_split(p->study));
		rows->copies = invar_bank_copies(bank, "train");
		rows->test_copies = invar_bank_copies(bank, measured_split(p->study));
		rows->views = invar_bank_has_views(bank, measured_split(p->study), INVAR_CLEAN);
		rows->all = count_rows(bank);
		rows->classes = count_classes(bank, measured_split(p->study));
	}
	invar_bank_close(bank);
}

/* Why something is unknown; gives. */
static char *take_reason(void)
{
	char sentence[INV_MESSAGE];

	return strdup(inv_last_error_spelled("", sentence, sizeof sentence));
}

static invar_status plan_encode(const planning *p, const inv_study_bank *b,
                                inv_cost_rows *rows)
{
	char *name = inv_printed("encode %s", inv_study_below(p->study, b->folder)),
		 *why = NULL;
	inv_cost cost = {0, 0};
	prepared e = {0};
	invar_status st = name ? open_prepared(p, b, &e) : no_memory();
	const invar_dataset *const sets[] = {e.dataset};
	bool pending = true;

	if (st == INVAR_OK) {
		count_images(p, &e, rows);
		if (p->stages)
			st = inv_stages_add_encode(p->stages, name, NULL, e.encoder, sets, 1, e.options,
			                           b->path);
		pending = is_pending(p, name, st);
		if (pending)
			st = forecast(b, &e, rows, &cost);
	}
	if (!pending)
		read_bank(p, b, rows);
	close_prepared(&e);
	if (st == INVAR_E_CANCELLED || st == INVAR_E_NOMEM) {
		free(name);
		return st;
	}
	if (st != INVAR_OK) {
		cost = (inv_cost){NAN, NAN};
		why = take_reason();
	}
	return add_planned(p, name, pending, cost, why);
}

/* ---- The other stages
 * --------------------------------------------------------------------------- */

static const inv_cost nothing = {0, 0}, unknown = {NAN, NAN};

static inv_cost if_pending(bool pending, inv_cost cost)
{
	return pending ? cost : nothing;
}

static invar_status plan_diagnose(const planning *p, const inv_study_bank *b,
                                  const inv_cost_rows *rows, double speed)
{
	char *name = inv_printed("diagnose %s", inv_study_below(p->study, b->folder));
	char *path = inv_printed("%s/diagnose.json", b->folder);
	invar_options *o = NULL;
	invar_status st = name && path
	                      ? inv_settings_options(&p->study->diagnose, "diagnose", &o)
	                      : no_memory();
	bool pending = true;

	if (st == INVAR_OK && p->stages)
		pending = is_pending(
			p, name, inv_stages_add_diagnose(p->stages, name, NULL, b->path, o, path));
	if (st == INVAR_OK)
		st = add_planned(p, name, pending,
		                 if_pending(pending, inv_cost_diagnose(p->ctx, rows, speed, o)),
		                 NULL);
	else
		free(name);
	invar_options_free(o);
	free(path);
	return st;
}

static invar_status plan_train(const planning *p, const inv_study_bank *b,
                               const inv_study_adapter *a, uint64_t seed,
                               const inv_cost_rows *rows, inv_cost cost)
{
	char *name = inv_printed("train %s/%s/%" PRIu64, inv_study_below(p->study, b->folder),
	                         a->folder, seed);
	char *run = inv_study_run_path(b, a, seed);
	invar_options *o = NULL;
	invar_status st =
		name && run ? inv_study_train_options(a, rows->d, seed, &o) : no_memory();
	bool pending = true;

	if (st == INVAR_OK && p->stages)
		pending = is_pending(p, name,
		                     inv_stages_add_train(p->stages, name, NULL, b->path, o, run));
	if (st == INVAR_OK)
		st = add_planned(p, name, pending, if_pending(pending, cost), NULL);
	else
		free(name);
	invar_options_free(o);
	free(run);
	return st;
}

static invar_status plan_eval(const planning *p, const inv_study_bank *b,
                              const inv_study_adapter *a, uint64_t seed, inv_cost cost)
{
	char *name = inv_printed("eval %s/%s/%" PRIu64, inv_study_below(p->study, b->folder),
	                         a->folder, seed);
	char *run = inv_study_run_path(b, a, seed), *path = inv_study_eval_path(b, a, seed);
	const char *const runs[] = {run}, *const titles[] = {a->title};
	invar_options *o = NULL;
	invar_status st =
		name && run && path ? inv_study_eval_options(p->study, seed, &o) : no_memory();
	bool pending = true;

	if (st == INVAR_OK && p->stages)
		pending = is_pending(
			p, name,
			inv_stages_add_eval(p->stages, name, NULL, b->path, runs, titles, 1, o, path));
	if (st == INVAR_OK)
		st = add_planned(p, name, pending, if_pending(pending, cost), NULL);
	else
		free(name);
	invar_options_free(o);
	free(run);
	free(path);
	return st;
}

typedef struct adapter_costs {
	inv_cost train, eval;
} adapter_costs;

/* A step is measured once per adapter and bank; seeds do not change it. */
static adapter_costs cost_of(const planning *p, const inv_study_adapter *a,
                             const inv_cost_rows *rows, double speed)
{
	adapter_costs cost = {unknown, unknown};
	invar_options *train = NULL, *eval = NULL;

	if (rows->d && inv_study_train_options(a, rows->d, 0, &train) == INVAR_OK &&
	    inv_study_eval_options(p->study, 0, &eval) == INVAR_OK) {
		cost.train = inv_cost_train(p->ctx, rows, speed, train);
		cost.eval = inv_cost_eval(p->ctx, rows, speed, eval, train, a != p->study->adapter);
	}
	invar_options_free(train);
	invar_options_free(eval);
	return cost;
}

static invar_status plan_adapter(const planning *p, const inv_study_bank *b,
                                 const inv_study_adapter *a, const inv_cost_rows *rows,
                                 double speed)
{
	adapter_costs cost = cost_of(p, a, rows, speed);
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < p->study->seeds && st == INVAR_OK; i++) {
		st = plan_train(p, b, a, p->study->seed[i], rows, cost.train);
		if (st == INVAR_OK)
			st = plan_eval(p, b, a, p->study->seed[i], cost.eval);
	}
	return st;
}

static invar_status plan_existing(const planning *p, const inv_study_bank *b,
                                  inv_cost_rows *rows)
{
	invar_bank *bank;

	if (inv_bank_open(p->ctx, b->path, &bank) != INVAR_OK)
		return add_planned(p, inv_printed("bank %s", b->path), true, unknown,
		                   take_reason());
	invar_bank_close(bank);
	read_bank(p, b, rows);
	return INVAR_OK;
}

/*
 * Tables and pages are made from what stages before them have measured; they have every
 * column once, while results have F with every adapter and are merged into runs as well.
 * An overview of several banks has few of these numbers.
 */
static double file_bytes(const planning *p, const char *folder, const char *file)
{
	const char *below = inv_study_below(p->study, folder), *end = strrchr(file, '.');
	bool whole = strcmp(folder, p->study->folder) == 0;
	double bytes = 0;

	if (!end || (strcmp(end, ".json") != 0 && strcmp(end, ".html") != 0))
		return 0;
	for (size_t i = 0; i < p->plan->count; i++) {
		const inv_planned *one = &p->plan->list[i];

		if (strncmp(one->stage, "eval ", 5) == 0 && !isnan(one->bytes) &&
		    (whole || strncmp(one->stage + 5, below, strlen(below)) == 0))
			bytes += one->bytes / 3;
	}
	return whole && p->study->banks > 1 && strcmp(end, ".html") == 0 ? bytes / 10 : bytes;
}

/* A file of a folder, made after stage `first` and those behind it. Takes name. */
static invar_status plan_file(const planning *p, size_t first, char *name,
                              const char *folder, const char *file)
{
	char *path = inv_printed("%s/%s", folder, file);
	struct stat info;
	bool pending = !path || stat(path, &info) != 0;

	free(path);
	for (size_t i = first; i < p->plan->count; i++)
		pending = pending || p->plan->list[i].pending;
	return add_planned(p, name, pending,
	                   if_pending(pending, (inv_cost){0, file_bytes(p, folder, file)}),
	                   NULL);
}

static invar_status plan_table(const planning *p, const inv_study_bank *b, size_t first)
{
	return plan_file(p, first,
	                 inv_printed("table %s", inv_study_below(p->study, b->folder)),
	                 b->folder, "table.json");
}

invar_status inv_plan_add_file(const inv_study *s, const char *folder, const char *file,
                               inv_plan *out)
{
	const planning p = {.study = s, .plan = out};
	char *path = inv_printed("%s/%s", folder, file);
	invar_status st =
		plan_file(&p, 0, path ? strdup(inv_study_below(s, path)) : NULL, folder, file);

	free(path);
	return st;
}

static invar_status plan_bank(const planning *p, const inv_study_bank *b)
{
	size_t first = p->plan->count;
	inv_cost_rows rows = {0};
	invar_status st = b->dataset ? plan_encode(p, b, &rows) : plan_existing(p, b, &rows);
	double speed = p->speed;

	if (st == INVAR_OK && p->study->diagnoses)
		st = plan_diagnose(p, b, &rows, speed);
	for (size_t i = 0; i < p->study->adapters && st == INVAR_OK; i++)
		st = plan_adapter(p, b, &p->study->adapter[i], &rows, speed);
	return st == INVAR_OK ? plan_table(p, b, first) : st;
}

/* A file that is missing or wrong would stop the study at its beginning. */
static invar_status check_published(const planning *p)
{
	inv_published *published = NULL;

	if (!p->study->published)
		return INVAR_OK;
	published = inv_published_open(p->study->published);
	inv_published_close(published);
	return published ? INVAR_OK : INVAR_E_FORMAT;
}

/* ---- The whole
 * ------------------------------------------------------------------------------------- */

/* On the disk of the folder, or of the nearest one above it that exists. */
static double free_bytes(const char *folder)
{
	char *path = strdup(folder), *slash;
	struct statvfs disk;
	double bytes = NAN;

	while (path && statvfs(path, &disk) != 0 && (slash = strrchr(path, '/')))
		*slash = '\0';
	if (path && (statvfs(path, &disk) == 0 || statvfs(".", &disk) == 0))
		bytes = (double)disk.f_bavail * (double)disk.f_frsize;
	free(path);
	return bytes;
}

void inv_plan_clear(inv_plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->list[i].stage);
		free(p->list[i].unknown);
	}
	free(p->list);
	*p = (inv_plan){0};
}

invar_status inv_study_plan(const inv_study *s, invar_context *ctx, inv_plan *out)
{
	planning p = {.study = s, .ctx = ctx, .plan = out};
	struct stat info;
	invar_status st = check_published(&p);

	*out = (inv_plan){.free_bytes = free_bytes(s->folder)};
	p.speed = inv_cost_speed(ctx);
	if (st == INVAR_OK && stat(s->folder, &info) == 0)
		st = inv_stages_open(ctx, s->folder, &p.stages);
	for (size_t i = 0; i < s->banks && st == INVAR_OK; i++)
		st = plan_bank(&p, &s->bank[i]);
	inv_stages_close(p.stages);
	return st;
}
