/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.c - from run folders to a page.
 *
 * Steps: open the runs and their banks, measure what is missing, put what the runs know
 * side by side, draw pictures, write. A bank that run.json names is only taken if its rows
 * are those that the run was trained on.
 */
#include "cli/report_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bank/bank.h"
#include "base/file.h"
#include "base/words.h"
#include "cli/report_pictures.h"
#include "cli/term.h"
#include "measure/measurement.h"
#include "report/page.h"
#include "run/results.h"
#include "run/run.h"

enum { MAX_DOCUMENTS = 6, WORDS = INV_REPORT_WORDS };

typedef struct opened_run {
	const char *path;
	char *title, *bank_path; /* bank_path NULL: there is none */
	const char *recorded;    /* the bank as run.json names it; NULL if not asked for */
	json_t *json;            /* NULL: an adapter without run.json is still an adapter */
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
	inv_page_gaps gaps;
} reporter;

/*
 * The bank that run.json names, if it has the rows that the run was trained on; else NULL,
 * and whether there is such a folder at all. The path is as `invar train` was given it, so
 * it is looked for from the current folder, then from the run and from every folder above
 * it. Gives.
 */
static char *find_recorded_bank(const reporter *p, const opened_run *run,
                                const char *recorded, bool *exists)
{
	const json_t *inputs = json_object_get(run->json, "inputs");
	const char *split =
		json_string_value(json_object_get(json_object_get(run->json, "options"), "split"));
	char *base = *recorded == '/' ? NULL : realpath(run->path, NULL);
	char *path = inv_strdup(recorded);
	bool same = false;

	while (path) {
		invar_bank *bank = NULL;
		bool there = inv_is_folder(path);

		*exists = *exists || there;
		if (there && inv_bank_open(p->s->ctx, path, &bank) == INVAR_OK &&
		    inv_bank_has_files(bank, split ? split : "train", inputs, &same) != INVAR_OK)
			same = false;
		invar_bank_close(bank);
		if (same)
			break;
		inv_free(path);
		path = base && *base ? inv_join(base, recorded) : NULL;
		if (path)
			*strrchr(base, '/') = '\0';
	}
	free(base);
	return path;
}

static invar_status choose_bank(reporter *p, opened_run *run)
{
	const char *recorded = json_string_value(json_object_get(run->json, "bank"));
	bool exists = false;
	char why[WORDS], line[WORDS + 32];

	if (p->r->bank)
		return inv_new_text(&run->bank_path, p->r->bank);
	run->recorded = recorded;
	if (recorded && (run->bank_path = find_recorded_bank(p, run, recorded, &exists)))
		return INVAR_OK;
	if (!recorded)
		snprintf(why, sizeof why, "run.json of %.100s names no bank; give --bank BANK",
		         run->title);
	else
		snprintf(why, sizeof why, "%.200s, the bank of %.60s, %s; give --bank BANK",
		         recorded, run->title,
		         exists ? "has other rows than the run was trained on"
		                : "was not found from the current folder or from that of the run");
	inv_page_leave_out(&p->gaps, "what metrics.json does not have, and pictures", why);
	snprintf(line, sizeof line, "nothing is measured: %s", why);
	if (!p->r->as_is)
		inv_term_hooks(p->s->term).log(p->s->term, INVAR_LOG_WARNING, line);
	return INVAR_OK;
}

/* The runs that share a bank. */
typedef struct group {
	invar_bank *bank;
	const invar_adapter **adapter; /* [count], as are the others */
	const char **title;
	const char **run;
	size_t count;
} group;

static invar_status make_options(const reporter *p, const char *metrics, double points,
                                 invar_options **out)
{
	INV_TRY(invar_options_new("eval", out));
	INV_TRY(invar_options_set(*out, "metrics", metrics));
	INV_TRY(invar_options_set(*out, "split", p->r->split));
	return invar_options_set_number(*out, "points", points);
}

/* What any of the runs on the bank lacks, "" if nothing. */
static invar_status find_missing(reporter *p, const group *g, const char *metrics,
                                 double points, char missing[WORDS])
{
	invar_options *o = NULL;
	char word[INV_WORD];
	invar_status st;

	*missing = '\0';
	if (!*metrics)
		return INVAR_OK;
	INV_TRY_OR(end, make_options(p, metrics, points, &o));
	for (size_t i = 0; i < g->count; i++) {
		char *own = NULL;
		const char *at;

		INV_TRY_OR(end, inv_eval_missing(g->bank, o, g->run[i], &own));
		for (at = own; inv_next_word(&at, ',', word);)
			if (!inv_has_word(missing, ',', word) &&
			    strlen(missing) + strlen(word) + 2 < WORDS)
				sprintf(missing + strlen(missing), "%s%s", *missing ? "," : "", word);
		invar_free(own);
	}
end:
	invar_options_free(o);
	return st;
}

/*
 * Measures and keeps it in each run. A measurement that the bank has nothing for is a gap
 * in the page, not a failure.
 */
static invar_status measure_runs(reporter *p, const group *g, const char *missing,
                                 double points)
{
	invar_options *o = NULL;
	invar_results *results = NULL;
	char id[24];
	invar_status st, kept = INVAR_OK;

	INV_TRY_OR(end, make_options(p, missing, points, &o));
	st = invar_eval(g->bank, g->adapter, g->title, g->count, o, &results);
	if ((st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC) &&
	    (!results || inv_results_is_complete(results))) {
		if (!results)
			inv_page_leave_out(&p->gaps, missing, invar_last_error());
		st = INVAR_OK;
	}
	for (size_t i = 0; results && i < g->count && kept == INVAR_OK; i++) {
		snprintf(id, sizeof id, "%zu", i + 1);
		kept = invar_run_keep_results(p->s->ctx, g->run[i], results, id);
	}
end:
	invar_results_free(results);
	invar_options_free(o);
	return st == INVAR_OK ? kept : st;
}

/*
 * Says what it does, as it may take minutes. Where there are too many rows, it measures
 * some of them and leaves measurements out, which are still shown if metrics.json has them;
 * rows and measurements that an option names are measured in any case.
 */
static invar_status measure_missing(reporter *p, const group *g, const char *bank_path)
{
	const char *asked = p->r->metrics;
	char metrics[WORDS], missing[WORDS], left_out[WORDS], why[WORDS];
	double points = p->r->points;

	if (!inv_bank_has_split(g->bank, p->r->split))
		return inv_fail(INVAR_E_USE, "%s has no split %s; choose one with --split",
		                bank_path, p->r->split);
	snprintf(metrics, sizeof metrics, "%s", asked ? asked : INV_REPORT_METRICS);
	INV_TRY(find_missing(p, g, metrics, points, missing));
	if (*missing && points <= 0) {
		INV_TRY(
			inv_report_bound(g->bank, p->r->split, g->count, metrics, left_out, &points));
		if (asked) {
			snprintf(metrics, sizeof metrics, "%s", asked);
		} else if (*left_out) {
			snprintf(why, sizeof why,
			         "too many rows or classes to measure it in minutes; --metrics %.100s "
			         "measures it all the same",
			         left_out);
			inv_page_leave_out(&p->gaps, left_out, why);
		}
		INV_TRY(find_missing(p, g, metrics, points, missing));
	}
	if (!*missing)
		return INVAR_OK;
	for (size_t i = 0; i < g->count; i++)
		if (access(g->run[i], W_OK) != 0)
			return inv_fail(INVAR_E_IO,
			                "%s is not writable, so what is measured could not be kept; "
			                "copy the run, or give --as-is",
			                g->run[i]);
	inv_term_say(p->s->term, "measuring %s on %s of %s%s", missing, p->r->split, bank_path,
	             points > 0 && p->r->points <= 0 ? ", on part of its rows" : "");
	return measure_runs(p, g, missing, points);
}

/* Run `first` and those after it that have its bank; nothing if one before it has. */
static invar_status measure_bank_of(reporter *p, size_t first)
{
	const char *path = p->run[first].bank_path;
	group g = {0};
	invar_status st;

	for (size_t i = 0; path && i < first; i++)
		if (p->run[i].bank_path && strcmp(p->run[i].bank_path, path) == 0)
			path = NULL;
	if (!path)
		return INVAR_OK;
	INV_TRY_OR(end, inv_new_zeros(&g.adapter, p->r->runs));
	INV_TRY_OR(end, inv_new_zeros(&g.title, p->r->runs));
	INV_TRY_OR(end, inv_new_zeros(&g.run, p->r->runs));
	for (size_t i = first; i < p->r->runs; i++)
		if (p->run[i].bank_path && strcmp(p->run[i].bank_path, path) == 0) {
			g.adapter[g.count] = p->run[i].adapter;
			g.title[g.count] = p->run[i].title;
			g.run[g.count++] = p->run[i].path;
		}
	INV_TRY_OR(end, inv_bank_open(p->s->ctx, path, &g.bank));
	st = measure_missing(p, &g, path);
end:
	invar_bank_close(g.bank);
	inv_free((void *)(uintptr_t)g.adapter);
	inv_free((void *)(uintptr_t)g.title);
	inv_free((void *)(uintptr_t)g.run);
	return st;
}

static size_t count_values(const invar_results *r)
{
	size_t count = 0;

	for (size_t m = 0; m < invar_results_metrics(r); m++)
		for (size_t c = 0; c < invar_results_columns(r); c++)
			count += inv_results_at(r, m, c) != NULL;
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

/* The one that says most about the bank of the first run comes first. */
static invar_status read_report_documents(reporter *p)
{
	size_t best = 0;

	for (; p->documents < MAX_DOCUMENTS; p->documents++) {
		invar_results **next = &p->document[p->documents];

		INV_TRY(inv_runs_results(p->s->ctx, p->r->run, p->r->runs, p->documents, next));
		if (!*next)
			break;
	}
	if (!p->documents)
		inv_page_leave_out(
			&p->gaps, "all measurements",
			"metrics.json has none; 'invar eval' measures a run, and so does 'invar "
			"report' without --as-is");
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
	return INVAR_OK;
}

/* Can codes be looked up in an index of features? */
static bool is_searchable(const invar_adapter *adapter)
{
	return invar_adapter_input(adapter) == invar_adapter_output(adapter);
}

/* Pictures of a bank and its images; q has the rest. */
static invar_status draw_from(inv_session *s, const inv_report *r, const char *bank_path,
                              inv_picture_request *q, inv_page_pictures *out)
{
	invar_bank *bank = NULL;
	invar_dataset *images = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_bank_open(s->ctx, bank_path, &bank));
	INV_TRY_OR(end, invar_dataset_open(s->ctx, r->images, r->data, &images));
	q->bank = bank;
	q->images = images;
	q->split = r->split;
	if (!q->search_only)
		inv_term_say(s->term, "drawing pictures of %s", r->images);
	st = inv_report_pictures(s, q, out);
end:
	invar_dataset_close(images);
	invar_bank_close(bank);
	return st;
}

/*
 * Searches are with the run that the headline is about; if its codes cannot be looked up,
 * with the first other.
 */
static invar_status draw_pictures(reporter *p)
{
	inv_picture_request q = {.title = ""};
	const invar_column *best;
	const opened_run *run = NULL;
	size_t column;
	bool unit = true;

	if (!p->r->images)
		inv_page_leave_out(
			&p->gaps, "pictures (the augmentation, what a search finds, the worst images)",
			"no images were given; --data DATASET shows them");
	if (!p->r->images || !p->documents || !p->run[0].bank_path)
		return INVAR_OK;
	for (size_t i = 0; i < p->r->runs; i++)
		unit = unit && invar_adapter_unit(p->run[i].adapter);
	best = inv_page_best(p->document[0], p->r->recommended, unit);
	column = best ? strtoul(best->id, NULL, 10) : 0; /* "1" is the first run */
	if (column >= 1 && column <= p->r->runs && is_searchable(p->run[column - 1].adapter))
		run = &p->run[column - 1];
	for (size_t i = 0; !run && i < p->r->runs; i++)
		run = is_searchable(p->run[i].adapter) ? &p->run[i] : NULL;
	q.results = p->document[0];
	if (run) {
		q.adapter = run->adapter;
		q.title = run->title;
	}
	INV_TRY(draw_from(p->s, p->r, p->run[0].bank_path, &q, &p->pictures));
	if (!p->pictures.sheet_count)
		inv_page_leave_out(&p->gaps, "a contact sheet of the augmentation",
		                   "the bank does not say how its copies were made");
	return INVAR_OK;
}

static invar_status write_page(reporter *p)
{
	inv_page_run *run;
	inv_page page = {.title = p->r->name,
	                 .document = (const invar_results *const *)p->document,
	                 .document_count = p->documents,
	                 .run_count = p->r->runs,
	                 .pictures = &p->pictures,
	                 .gaps = &p->gaps,
	                 .recommended = p->r->recommended};
	char *text;
	size_t size = 0;
	invar_status st;

	INV_TRY(inv_new_zeros(&run, p->r->runs));
	page.run = run;
	for (size_t i = 0; i < p->r->runs; i++) {
		const opened_run *from = &p->run[i];

		run[i] = (inv_page_run){.path = from->path,
		                        .title = from->title,
		                        .json = from->json,
		                        .training = from->training,
		                        .d = invar_adapter_input(from->adapter),
		                        .hidden = invar_adapter_hidden(from->adapter),
		                        .w = invar_adapter_output(from->adapter),
		                        .residual = invar_adapter_residual(from->adapter),
		                        .unit = invar_adapter_unit(from->adapter)};
	}
	text = inv_page_text(&page, &size);
	if (text && size > INV_PAGE_MAX && p->pictures.atlas.bytes) {
		free(text);
		invar_free(p->pictures.atlas.bytes);
		p->pictures.atlas.bytes = NULL;
		inv_page_leave_out(&p->gaps, "images of points under the mouse",
		                   "they would make the page larger than 3 MB");
		text = inv_page_text(&page, &size);
	}
	st = text ? inv_file_write(p->s->ctx, p->r->output, text, size) : inv_no_memory();
	if (st == INVAR_OK)
		inv_term_say(p->s->term, "%s: %.1f MB", p->r->output, (double)size / 1e6);
	free(text);
	inv_free(run);
	return st;
}

invar_status inv_report_write(inv_session *s, const inv_report *r)
{
	reporter *p; /* too large for a stack */
	invar_status st;

	INV_TRY(inv_new(&p));
	p->s = s;
	p->r = r;
	INV_TRY_OR(end, inv_new_zeros(&p->run, r->runs));
	for (size_t i = 0; i < r->runs; i++) {
		opened_run *run = &p->run[i];
		const inv_series *series;

		run->path = r->run[i];
		if (!(run->title = inv_run_title(run->path))) {
			st = inv_no_memory();
			goto end;
		}
		INV_TRY_OR(end, invar_adapter_open(s->ctx, run->path, &run->adapter));
		run->json = inv_run_json(run->path);
		/* Document 0 of a run is its training, if it has one. */
		INV_TRY_OR(end, invar_run_results(s->ctx, run->path, 0, &run->training));
		series = run->training ? inv_results_series(run->training, 0) : NULL;
		if (!series || strcmp(series->measurement, "train") != 0) {
			invar_results_free(run->training);
			run->training = NULL;
		}
	}
	for (size_t i = 0; i < r->runs; i++)
		INV_TRY_OR(end, choose_bank(p, &p->run[i]));
	for (size_t i = 0; i < r->runs && !r->as_is; i++)
		INV_TRY_OR(end, measure_bank_of(p, i));
	INV_TRY_OR(end, read_report_documents(p));
	INV_TRY_OR(end, draw_pictures(p));
	st = write_page(p);
end:
	for (size_t i = 0; p->run && i < r->runs; i++) {
		inv_free(p->run[i].title);
		inv_free(p->run[i].bank_path);
		json_decref(p->run[i].json);
		invar_adapter_close(p->run[i].adapter);
		invar_results_free(p->run[i].training);
	}
	for (size_t i = 0; i < p->documents; i++)
		invar_results_free(p->document[i]);
	inv_page_pictures_clear(&p->pictures);
	inv_free(p->run);
	inv_free(p);
	return st;
}

invar_status inv_overview_pictures(inv_session *s, const inv_report *r, const char *title,
                                   inv_page_pictures *out)
{
	invar_adapter *adapter = NULL;
	inv_picture_request q = {.title = title, .search_only = true};
	invar_status st = invar_adapter_open(s->ctx, r->run[0], &adapter);

	q.adapter = adapter;
	if (st == INVAR_OK && is_searchable(adapter))
		st = draw_from(s, r, r->bank, &q, out);
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
