/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.c - from run folders to a page.
 *
 * Steps: open the runs and their banks, measure what is missing, put what the runs know
 * side by side, draw pictures, write. A bank that run.json names is only taken if its rows
 * are those that the run was trained on.
 */
#include "cli/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/words.h"
#include "cli/command_files.h"
#include "cli/display_text.h"
#include "cli/report_bounds.h"
#include "cli/report_pictures.h"
#include "cli/term.h"
#include "measure/measurement.h"
#include "report/page.h"
#include "run/results.h"
#include "run/run.h"

enum { MAX_DOCUMENTS = 6, MAX_RUN_JSON = 16 << 20, GAPS = 16, WORDS = INV_REPORT_WORDS };

typedef struct opened_run {
	const char *path;
	char *title, *bank_path; /* bank_path NULL: there is none */
	const char *recorded;    /* the bank as run.json names it; NULL if not asked for */
	json_t *json;
	invar_adapter *adapter;
	invar_results *training;
} opened_run;

typedef struct reporter {
	inv_session *s;
	const inv_report *r;
	opened_run *run; /* [runs] */
	invar_results *document[MAX_DOCUMENTS];
	size_t documents;
	inv_page_pictures pictures;
	struct {
		char what[WORDS], why[WORDS];
	} gap[GAPS];
	size_t gaps;
} reporter;

static void leave_out(reporter *p, const char *what, const char *why)
{
	if (p->gaps == GAPS)
		return;
	snprintf(p->gap[p->gaps].what, WORDS, "%s", what);
	snprintf(p->gap[p->gaps].why, WORDS, "%s", why);
	p->gaps++;
}

/* ---- Runs ---------------------------------------------------------------------------- */

/* The last part of a path; gives. */
static char *name_of(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	return strndup(path + start, end - start);
}

/* run.json, or NULL: an adapter without it is still an adapter. */
static json_t *load_json(const char *run)
{
	char *path = inv_path(run, INV_RUN_JSON);
	struct stat info;
	json_t *json = NULL;

	if (path && stat(path, &info) == 0 && info.st_size <= MAX_RUN_JSON)
		json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	free(path);
	return json;
}

/* Document 0 of a run is its training, if it has one. */
static invar_status read_training(reporter *p, opened_run *run)
{
	invar_status st = invar_run_results(p->s->ctx, run->path, 0, &run->training);
	const inv_series *series = run->training ? inv_results_series(run->training, 0) : NULL;

	if (run->training && (!series || strcmp(series->measurement, "train") != 0)) {
		invar_results_free(run->training);
		run->training = NULL;
	}
	return st;
}

static invar_status open_run(reporter *p, opened_run *run, const char *path)
{
	invar_status st;

	run->path = path;
	if (!(run->title = name_of(path)))
		return inv_no_memory();
	if ((st = invar_adapter_open(p->s->ctx, path, &run->adapter)) != INVAR_OK)
		return st;
	run->json = load_json(path);
	return read_training(p, run);
}

/* ---- Banks --------------------------------------------------------------------------- */

/* Where the bank keeps a file that run.json lists by its name alone. */
static char *input_path(const char *bank, const char *split, const char *file)
{
	bool top = strcmp(file, "clean.npy") == 0 || strcmp(file, "aug.npy") == 0;
	char *path;

	return asprintf(&path, "%s/%s/%s%s", bank, split, top ? "" : "aug/", file) < 0 ? NULL
	                                                                               : path;
}

static bool is_same_file(const reporter *p, const char *path, const json_t *input)
{
	const char *expected = json_string_value(json_object_get(input, "sha256"));
	char hex[65];

	return path && expected && access(path, R_OK) == 0 &&
	       inv_file_sha256(p->s->ctx, path, hex) == INVAR_OK && strcmp(hex, expected) == 0;
}

static bool has_same_rows(const reporter *p, const opened_run *run, const char *bank)
{
	const json_t *inputs = json_object_get(run->json, "inputs"), *input;
	const char *split =
		json_string_value(json_object_get(json_object_get(run->json, "options"), "split"));
	size_t i;

	json_array_foreach (inputs, i, input) {
		const char *file = json_string_value(json_object_get(input, "file"));
		char *path = file && !strchr(file, '/')
		                 ? input_path(bank, split ? split : "train", file)
		                 : NULL;
		bool same = is_same_file(p, path, input);

		free(path);
		if (!same)
			return false;
	}
	return json_array_size(inputs) > 0;
}

/*
 * The bank that run.json names, if it has the same rows; else NULL, and whether there is
 * such a folder at all. The path is as `invar train` was given it, so it is looked for from
 * the current folder, then from the run and from every folder above it. Gives.
 */
static char *find_bank(const reporter *p, const opened_run *run, const char *recorded,
                       bool *exists)
{
	char *base = NULL, *path, *end;

	*exists = inv_path_is_folder(recorded);
	if (*exists && has_same_rows(p, run, recorded))
		return strdup(recorded);
	if (*recorded != '/')
		base = realpath(run->path, NULL);
	while (base && *base) {
		path = inv_path(base, recorded);
		if (path && inv_path_is_folder(path)) {
			*exists = true;
			if (has_same_rows(p, run, path)) {
				free(base);
				return path;
			}
		}
		free(path);
		end = strrchr(base, '/');
		*end = '\0';
	}
	free(base);
	return NULL;
}

static invar_status choose_bank(reporter *p, opened_run *run)
{
	const char *recorded = json_string_value(json_object_get(run->json, "bank"));
	bool exists = false;
	char why[WORDS];

	if (p->r->bank)
		return (run->bank_path = strdup(p->r->bank)) ? INVAR_OK : inv_no_memory();
	run->recorded = recorded;
	if (recorded && (run->bank_path = find_bank(p, run, recorded, &exists)))
		return INVAR_OK;
	if (!recorded)
		snprintf(why, sizeof why, "run.json of %.100s names no bank; give --bank BANK",
		         run->title);
	else
		snprintf(why, sizeof why, "%.200s, the bank of %.60s, %s; give --bank BANK",
		         recorded, run->title,
		         exists ? "has other rows than the run was trained on"
		                : "was not found from the current folder or from that of the run");
	leave_out(p, "what metrics.json does not have, and pictures", why);
	if (!p->r->as_is) {
		char line[WORDS + 32];

		snprintf(line, sizeof line, "nothing is measured: %s", why);
		inv_term_hooks(p->s->term).log(p->s->term, INVAR_LOG_WARNING, line);
	}
	return INVAR_OK;
}

/* ---- Measuring ----------------------------------------------------------------------- */

static invar_status make_options(reporter *p, const char *metrics, double points,
                                 invar_options **out)
{
	invar_status st = invar_options_new("eval", out);

	if (st == INVAR_OK)
		st = invar_options_set(*out, "metrics", metrics);
	if (st == INVAR_OK)
		st = invar_options_set(*out, "split", p->r->split);
	if (st == INVAR_OK)
		st = invar_options_set_number(*out, "points", points);
	return st;
}

/* Runs whose bank is that of run `first`. */
static bool shares_bank(const reporter *p, size_t first, size_t i)
{
	return p->run[i].bank_path && p->run[first].bank_path &&
	       strcmp(p->run[i].bank_path, p->run[first].bank_path) == 0;
}

/* Adds words of `more` that list does not have; list has WORDS bytes. */
static void unite(char *list, const char *more)
{
	char word[INV_WORD];

	while (inv_next_word(&more, ',', word))
		if (!inv_has_word(list, ',', word) && strlen(list) + strlen(word) + 2 < WORDS)
			sprintf(list + strlen(list), "%s%s", *list ? "," : "", word);
}

/* What any of the runs on the bank lacks, "" if nothing. */
static invar_status find_missing(reporter *p, size_t first, const invar_bank *bank,
                                 const char *metrics, double points, char missing[WORDS])
{
	invar_options *o = NULL;
	invar_status st = make_options(p, metrics, points, &o);

	*missing = '\0';
	for (size_t i = 0; i < p->r->runs && *metrics && st == INVAR_OK; i++) {
		char *own = NULL;

		if (!shares_bank(p, first, i))
			continue;
		st = inv_eval_missing(bank, o, p->run[i].path, &own);
		if (st == INVAR_OK)
			unite(missing, own);
		invar_free(own);
	}
	invar_options_free(o);
	return st;
}

/* The adapters and titles of the runs that share a bank. */
typedef struct group {
	const invar_adapter **adapter;
	const char **title;
	size_t *run;
	size_t count;
} group;

static bool gather_group(const reporter *p, size_t first, group *g)
{
	*g = (group){.adapter = calloc(p->r->runs, sizeof *g->adapter),
	             .title = calloc(p->r->runs, sizeof *g->title),
	             .run = calloc(p->r->runs, sizeof *g->run)};
	if (!g->adapter || !g->title || !g->run)
		return false;
	for (size_t i = 0; i < p->r->runs; i++)
		if (shares_bank(p, first, i)) {
			g->adapter[g->count] = p->run[i].adapter;
			g->title[g->count] = p->run[i].title;
			g->run[g->count++] = i;
		}
	return true;
}

static void free_group(group *g)
{
	free(g->adapter);
	free(g->title);
	free(g->run);
}

static invar_status keep_results(reporter *p, const group *g, const invar_results *results)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < g->count && st == INVAR_OK; i++) {
		char id[24];

		snprintf(id, sizeof id, "%zu", i + 1);
		st = invar_run_keep_results(p->s->ctx, p->run[g->run[i]].path, results, id);
	}
	return st;
}

/* A measurement that the bank has nothing for is a gap in the page, not a failure. */
static bool is_partial(invar_status st, const invar_results *results)
{
	return (st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC) &&
	       (!results || inv_results_is_complete(results));
}

static invar_status measure_group(reporter *p, const group *g, const invar_bank *bank,
                                  const char *missing, double points)
{
	invar_options *o = NULL;
	invar_results *results = NULL;
	invar_status st = make_options(p, missing, points, &o), kept;

	if (st == INVAR_OK)
		st = invar_eval(bank, g->adapter, g->title, g->count, o, &results);
	if (is_partial(st, results)) {
		if (!results)
			leave_out(p, missing, invar_last_error());
		st = INVAR_OK;
	}
	kept = results ? keep_results(p, g, results) : INVAR_OK;
	invar_results_free(results);
	invar_options_free(o);
	return st == INVAR_OK ? kept : st;
}

static invar_status check_writable(reporter *p, const group *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (access(p->run[g->run[i]].path, W_OK) != 0)
			return inv_fail(INVAR_E_IO,
			                "%s is not writable, so what is measured could not be kept; "
			                "copy the run, or give --as-is",
			                p->run[g->run[i]].path);
	return INVAR_OK;
}

/*
 * Where there are too many rows: on how many, and without what. Rows and measurements that
 * an option names are measured in any case. The measurements that are left out are still
 * shown if metrics.json has them.
 */
static invar_status thin_out(reporter *p, const group *g, const invar_bank *bank,
                             char metrics[WORDS], double *points)
{
	char left_out[WORDS], why[WORDS];

	INV_TRY(inv_report_bound(bank, p->r->split, g->count, metrics, left_out, points));
	if (!*left_out)
		return INVAR_OK;
	if (p->r->metrics) { /* asked for */
		snprintf(metrics, WORDS, "%s", p->r->metrics);
		return INVAR_OK;
	}
	snprintf(why, sizeof why,
	         "too many rows or classes to measure it in minutes; --metrics %.100s measures "
	         "it all the same",
	         left_out);
	leave_out(p, left_out, why);
	return INVAR_OK;
}

/* Says what it does, as it may take minutes. */
static invar_status measure_group_missing(reporter *p, const group *g, size_t first,
                                          const invar_bank *bank)
{
	char metrics[WORDS], missing[WORDS];
	double points = p->r->points;
	invar_status st;

	snprintf(metrics, sizeof metrics, "%s",
	         p->r->metrics ? p->r->metrics : INV_REPORT_METRICS);
	if ((st = find_missing(p, first, bank, metrics, points, missing)) != INVAR_OK)
		return st;
	if (*missing && points <= 0) {
		if ((st = thin_out(p, g, bank, metrics, &points)) != INVAR_OK)
			return st;
		if ((st = find_missing(p, first, bank, metrics, points, missing)) != INVAR_OK)
			return st;
	}
	if (!*missing)
		return INVAR_OK;
	if ((st = check_writable(p, g)) != INVAR_OK)
		return st;
	inv_term_say(p->s->term, "measuring %s on %s of %s%s", missing, p->r->split,
	             p->run[first].bank_path,
	             points > 0 && p->r->points <= 0 ? ", on part of its rows" : "");
	return measure_group(p, g, bank, missing, points);
}

static invar_status measure_missing(reporter *p, size_t first, const invar_bank *bank)
{
	group g = {0};
	invar_status st = gather_group(p, first, &g) ? measure_group_missing(p, &g, first, bank)
	                                             : inv_no_memory();

	free_group(&g);
	return st;
}

static bool is_first_of_bank(const reporter *p, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (shares_bank(p, before, i))
			return false;
	return p->run[i].bank_path;
}

static invar_status measure_banks(reporter *p)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < p->r->runs && st == INVAR_OK; i++) {
		invar_bank *bank = NULL;

		if (!is_first_of_bank(p, i))
			continue;
		st = inv_bank_open(p->s->ctx, p->run[i].bank_path, &bank);
		if (st == INVAR_OK && !inv_bank_has_split(bank, p->r->split))
			st = inv_fail(INVAR_E_USE, "%s has no split %s; choose one with --from",
			              p->run[i].bank_path, p->r->split);
		if (st == INVAR_OK)
			st = measure_missing(p, i, bank);
		invar_bank_close(bank);
	}
	return st;
}

/* ---- Documents ----------------------------------------------------------------------- */

/* How many values it has: the one that says most comes first. */
static size_t count_values(const invar_results *r)
{
	size_t count = 0;

	for (size_t m = 0; m < invar_results_metrics(r); m++)
		for (size_t c = 0; c < invar_results_columns(r); c++) {
			const invar_value *v = invar_results_value(r, invar_results_metric(r, m)->id,
			                                           invar_results_column(r, c)->id);

			count += v && !v->reason;
		}
	return count;
}

static bool is_wanted(const reporter *p, const invar_results *r)
{
	const char *split = invar_results_about(r, "split"),
			   *bank = invar_results_about(r, "bank"), *own = p->run[0].bank_path,
			   *recorded = p->run[0].recorded;

	return split && strcmp(split, p->r->split) == 0 &&
	       (!own || (bank && (strcmp(bank, own) == 0 ||
	                          (recorded && strcmp(bank, recorded) == 0))));
}

static void put_best_first(reporter *p)
{
	size_t best = 0;

	for (size_t i = 1; i < p->documents; i++) {
		bool now = is_wanted(p, p->document[i]), then = is_wanted(p, p->document[best]);

		if (now > then ||
		    (now == then && count_values(p->document[i]) > count_values(p->document[best])))
			best = i;
	}
	if (best) {
		invar_results *first = p->document[best];

		memmove(p->document + 1, p->document, best * sizeof *p->document);
		p->document[0] = first;
	}
}

static invar_status read_documents(reporter *p)
{
	for (size_t i = 0; i < MAX_DOCUMENTS; i++) {
		invar_status st =
			inv_runs_results(p->s->ctx, p->r->run, p->r->runs, i, &p->document[i]);

		if (st != INVAR_OK)
			return st;
		if (!p->document[i])
			break;
		p->documents++;
	}
	if (p->documents)
		put_best_first(p);
	else
		leave_out(p, "all measurements",
		          "metrics.json has none; 'invar eval' measures a run, and so does 'invar "
		          "report' without --as-is");
	return INVAR_OK;
}

/* ---- Pictures ------------------------------------------------------------------------ */

/* Can codes be looked up in an index of features? */
static bool is_searchable(const opened_run *run)
{
	return invar_adapter_input(run->adapter) == invar_adapter_output(run->adapter);
}

/* The run that the headline is about; if its codes cannot be looked up, the first other. */
static const opened_run *find_searchable(const reporter *p)
{
	const invar_column *best = inv_page_best(p->document[0]);
	size_t column = best ? strtoul(best->id, NULL, 10) : 0; /* "1" is the first run */

	if (column >= 1 && column <= p->r->runs && is_searchable(&p->run[column - 1]))
		return &p->run[column - 1];
	for (size_t i = 0; i < p->r->runs; i++)
		if (is_searchable(&p->run[i]))
			return &p->run[i];
	return NULL;
}

static invar_status draw_from(reporter *p, const invar_bank *bank)
{
	const opened_run *run = find_searchable(p);
	inv_picture_request q = {.bank_path = p->run[0].bank_path,
	                         .bank = bank,
	                         .split = p->r->split,
	                         .adapter = run ? run->adapter : NULL,
	                         .title = run ? run->title : "",
	                         .results = p->document[0]};
	invar_dataset *images = NULL;
	invar_status st = invar_dataset_open(p->s->ctx, p->r->images, p->r->data, &images);

	q.images = images;
	if (st == INVAR_OK) {
		inv_term_say(p->s->term, "drawing pictures of %s", p->r->images);
		st = inv_report_pictures(p->s, &q, &p->pictures);
	}
	if (st == INVAR_OK && !p->pictures.sheet_count)
		leave_out(p, "a contact sheet of the augmentation",
		          "the bank does not say how its copies were made");
	invar_dataset_close(images);
	return st;
}

static invar_status draw_pictures(reporter *p)
{
	invar_bank *bank = NULL;
	invar_status st;

	if (!p->r->images)
		leave_out(p, "pictures (the augmentation, what a search finds, the worst images)",
		          "no images were given; --images DATASET shows them");
	if (!p->r->images || !p->documents || !p->run[0].bank_path)
		return INVAR_OK;
	if ((st = inv_bank_open(p->s->ctx, p->run[0].bank_path, &bank)) == INVAR_OK)
		st = draw_from(p, bank);
	invar_bank_close(bank);
	return st;
}

/* ---- The page ------------------------------------------------------------------------ */

static char *make_text(const reporter *p, const inv_page_run *run, size_t *size)
{
	inv_page_gap gap[GAPS];
	const inv_page page = {.title = p->r->name,
	                       .document = (const invar_results *const *)p->document,
	                       .document_count = p->documents,
	                       .run = run,
	                       .run_count = p->r->runs,
	                       .pictures = &p->pictures,
	                       .gap = gap,
	                       .gap_count = p->gaps};

	for (size_t i = 0; i < p->gaps; i++)
		gap[i] = (inv_page_gap){p->gap[i].what, p->gap[i].why};
	return inv_page_text(&page, size);
}

/* Without its thumbnails where they would make it too large. */
static char *make_page(reporter *p, const inv_page_run *run, size_t *size)
{
	char *text = make_text(p, run, size);

	if (!text || *size <= INV_PAGE_MAX || !p->pictures.atlas.bytes)
		return text;
	free(text);
	invar_free(p->pictures.atlas.bytes);
	p->pictures.atlas.bytes = NULL;
	leave_out(p, "images of points under the mouse",
	          "they would make the page larger than 3 MB");
	return make_text(p, run, size);
}

static invar_status write_page(reporter *p)
{
	inv_page_run *run = calloc(p->r->runs, sizeof *run);
	char *text = NULL;
	size_t size = 0;
	invar_status st = INVAR_OK;

	for (size_t i = 0; run && i < p->r->runs; i++)
		run[i] = (inv_page_run){.path = p->run[i].path,
		                        .title = p->run[i].title,
		                        .json = p->run[i].json,
		                        .training = p->run[i].training,
		                        .d = invar_adapter_input(p->run[i].adapter),
		                        .hidden = invar_adapter_hidden(p->run[i].adapter),
		                        .w = invar_adapter_output(p->run[i].adapter),
		                        .residual = invar_adapter_residual(p->run[i].adapter),
		                        .unit = invar_adapter_unit(p->run[i].adapter)};
	if (!run || !(text = make_page(p, run, &size)))
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(p->s->ctx, p->r->output, text, size);
	if (st == INVAR_OK)
		inv_term_say(p->s->term, "%s: %.1f MB", p->r->output, (double)size / 1e6);
	free(text);
	free(run);
	return st;
}

static void close_reporter(reporter *p)
{
	for (size_t i = 0; p->run && i < p->r->runs; i++) {
		free(p->run[i].title);
		free(p->run[i].bank_path);
		json_decref(p->run[i].json);
		invar_adapter_close(p->run[i].adapter);
		invar_results_free(p->run[i].training);
	}
	free(p->run);
	for (size_t i = 0; i < p->documents; i++)
		invar_results_free(p->document[i]);
	inv_page_pictures_clear(&p->pictures);
	free(p);
}

invar_status inv_report_write(inv_session *s, const inv_report *r)
{
	reporter *p = calloc(1, sizeof *p);
	invar_status st = p ? INVAR_OK : inv_no_memory();

	if (!p)
		return st;
	p->s = s;
	p->r = r;
	if (!(p->run = calloc(r->runs, sizeof *p->run)))
		st = inv_no_memory();
	for (size_t i = 0; i < r->runs && st == INVAR_OK; i++)
		st = open_run(p, &p->run[i], r->run[i]);
	for (size_t i = 0; i < r->runs && st == INVAR_OK; i++)
		st = choose_bank(p, &p->run[i]);
	if (st == INVAR_OK && !r->as_is)
		st = measure_banks(p);
	if (st == INVAR_OK)
		st = read_documents(p);
	if (st == INVAR_OK)
		st = draw_pictures(p);
	if (st == INVAR_OK)
		st = write_page(p);
	close_reporter(p);
	return st;
}

invar_status inv_overview_pictures(inv_session *s, const inv_report *r, const char *title,
                                   inv_page_pictures *out)
{
	invar_adapter *adapter = NULL;
	invar_bank *bank = NULL;
	invar_dataset *images = NULL;
	invar_status st = invar_adapter_open(s->ctx, r->run[0], &adapter);

	if (st == INVAR_OK)
		st = inv_bank_open(s->ctx, r->bank, &bank);
	if (st == INVAR_OK)
		st = invar_dataset_open(s->ctx, r->images, r->data, &images);
	if (st == INVAR_OK && invar_adapter_input(adapter) == invar_adapter_output(adapter))
		st = inv_report_pictures(s,
		                         &(inv_picture_request){.bank_path = r->bank,
		                                                .bank = bank,
		                                                .images = images,
		                                                .split = r->split,
		                                                .adapter = adapter,
		                                                .title = title,
		                                                .search_only = true},
		                         out);
	invar_dataset_close(images);
	invar_bank_close(bank);
	invar_adapter_close(adapter);
	return st;
}

invar_status inv_overview_write(inv_session *s, const char *title,
                                const invar_results *const *document,
                                const inv_page_part *part, size_t count, const char *output)
{
	const inv_page page = {
		.title = title, .part = part, .document = document, .document_count = count};
	size_t size = 0;
	char *text = inv_page_text(&page, &size);
	invar_status st = text ? inv_file_write(s->ctx, output, text, size) : inv_no_memory();

	free(text);
	return st;
}
