/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - invar_eval: runs each measurement for F and for each adapter.
 *
 * A column has its own id ("F", "1", "2" …), so that adapters may have equal names. If a
 * measurement fails, its reason replaces its values and the others go on. A measurement
 * that the bank has no data for is skipped for all columns. If the split has views, each
 * column is followed by one whose queries are four views ("F.views", "1.views" …), for the
 * measurements that take them.
 *
 * The codes of a unit adapter have norm 1, so its column sees the features as unit(F(x)):
 * distances between both have a meaning, and L2 ranks like cosine. If all adapters are
 * unit, so does the column of F. Features that have norm 1 are taken as they are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/compatibility.h"
#include "bank/bank.h"
#include "bank/class_view.h"
#include "bank/row_norms.h"
#include "base/file.h"
#include "base/rank_compare.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/test_stop.h"
#include "base/text.h"
#include "measure/eval_options.h"
#include "measure/measurement.h"
#include "measure/outcomes.h"
#include "run/results.h"
#include "run/run.h"

enum { TITLE = 64, SENTENCE = 600 };

static invar_status check_eval(const invar_bank *bank, const invar_adapter *const *adapters,
                               const char *const *titles, size_t count,
                               const invar_options *o)
{
	INV_TRY(inv_options_expect(o, "eval"));
	INV_TRY(inv_class_view_check(bank, o));
	INV_TRY(inv_eval_check_metrics(o));
	for (size_t i = 0; i < count; i++)
		INV_TRY(inv_check_width(adapters[i], titles[i], bank));
	for (size_t i = 0; i < count; i++)
		inv_compatibility_warn(adapters[i], bank);
	return INVAR_OK;
}

invar_status inv_check_width(const invar_adapter *e, const char *title,
                             const invar_bank *bank)
{
	if (e->s.d == bank->dim)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s takes features of width %zu, but those of %s have width %" PRIu32,
	                title, e->s.d, bank->path, bank->dim);
}

invar_status inv_results_declare(invar_results *r, const char *measurement,
                                 const char *title, const invar_metric *metrics)
{
	INV_TRY(inv_results_add_measurement(r, measurement, title));
	for (const invar_metric *m = metrics; m->id; m++)
		INV_TRY(inv_results_add_metric(r, m));
	return INVAR_OK;
}

invar_status inv_results_describe_all(invar_results *r, json_t *about)
{
	invar_status st = about ? INVAR_OK : inv_no_memory();
	const char *key;
	json_t *value;

	json_object_foreach (about, key, value)
		INV_TRY_OR(end, inv_results_describe(r, key, json_incref(value)));
end:
	json_decref(about);
	return st;
}

/* ---- What a bank provides ------------------------------------------------ */

/* Whether a requested measurement has all of these needs. */
static bool is_needed(const invar_options *o, unsigned needs)
{
	for (size_t i = 0; inv_measurement_at(i); i++)
		if ((inv_measurement_at(i)->needs & needs) == needs &&
		    inv_eval_wants(o, inv_measurement_at(i)))
			return true;
	return false;
}

const char *inv_measure_lack(const inv_measure_input *in, unsigned needs, char *text,
                             size_t bytes)
{
	bool train = needs & INV_NEEDS_TRAIN, labels = needs & INV_NEEDS_LABELS;

	if (train && !in->train)
		snprintf(text, bytes, "the bank has no split %s",
		         inv_option_text(in->options, "train-split"));
	else if (labels && !in->split->labels)
		snprintf(text, bytes, "%s has no labels.npy", in->split->name);
	else if (labels && train && !in->train->labels)
		snprintf(text, bytes, "%s has no labels.npy", in->train->name);
	else if (labels && !in->labels.rows)
		snprintf(text, bytes, "no row of %s has a label", in->split->name);
	else if (labels && train && !in->train_labels.rows)
		snprintf(text, bytes, "no row of %s has a label", in->train->name);
	else if (needs & INV_NEEDS_COPIES && !in->split->copies)
		snprintf(text, bytes, "%s has no augmented copies", in->split->name);
	else if (needs & INV_NEEDS_SPREAD && in->constant)
		snprintf(text, bytes, "the clean features of all images in %s are equal",
		         in->split->name);
	else
		return NULL;
	return text;
}

/* Reads the labels of a split; rows without one are noted and counted. */
static invar_status read_eval_labels(const inv_measure_input *in, const inv_split *s,
                                     inv_labels *out, json_t *counts)
{
	char sentence[SENTENCE];
	uint64_t rows;

	INV_TRY(inv_labels_read(in->bank, s, out));
	if (!(rows = s->rows - out->rows))
		return INVAR_OK;
	snprintf(sentence, sizeof sentence,
	         "%" PRIu64 " %s of %s %s no label; measurements that need labels ignore %s",
	         rows, inv_noun(rows, "row", "rows"), s->name, inv_noun(rows, "has", "have"),
	         inv_noun(rows, "it", "them"));
	json_object_set_new(counts, s->name, json_integer((json_int_t)rows));
	return inv_results_note(in->results, sentence);
}

/* Labels of the splits, and in the results how many rows have none. */
static invar_status prepare_labels(inv_measure_input *in)
{
	bool wanted = is_needed(in->options, INV_USES_LABELS);
	json_t *counts = json_object();
	uint64_t unknown;
	invar_status st = INVAR_OK;

	if (in->split->labels && (wanted || is_needed(in->options, INV_NEEDS_LABELS)))
		INV_TRY_OR(end, read_eval_labels(in, in->split, &in->labels, counts));
	if (in->train && in->train->labels &&
	    (wanted || is_needed(in->options, INV_NEEDS_LABELS | INV_NEEDS_TRAIN)))
		INV_TRY_OR(end, read_eval_labels(in, in->train, &in->train_labels, counts));

	/* Probes and kNN never predict a class that train does not have; logged once. */
	if (in->labels.rows && in->train_labels.rows &&
	    (unknown = inv_labels_unknown(&in->labels, &in->train_labels)))
		inv_log(in->ctx, INVAR_LOG_WARNING,
		        "images of %s whose class is missing in %s count as errors of probes and "
		        "kNN: %" PRIu64 " of %" PRIu64,
		        in->split->name, in->train->name, unknown, in->labels.rows);
	if (json_object_size(counts))
		return inv_results_describe(in->results, "unlabelled", counts);
end:
	json_decref(counts);
	return st;
}

/* ---- What could not be measured -------------------------------------------------- */

/*
 * The first failure, and the first of a measurement that was requested by name. The
 * caller never gets INVAR_E_USE for one: the bank has too little data, the call is right.
 */
typedef struct faults {
	struct fault {
		invar_status st;
		char text[SENTENCE];
	} first, named;
	bool measured; /* anything at all */
} faults;

static void keep_fault(const inv_measure_input *in, const inv_measurement *m,
                       invar_status st, const char *text, faults *f)
{
	struct fault fault = {.st = st == INVAR_E_USE ? INVAR_E_MISMATCH : st};

	snprintf(fault.text, sizeof fault.text, "%s", text);
	if (f->first.st == INVAR_OK)
		f->first = fault;
	if (f->named.st == INVAR_OK && inv_eval_names(in->options, m))
		f->named = fault;
}

static invar_status conclude_eval(const faults *f)
{
	if (f->named.st != INVAR_OK)
		return inv_fail(f->named.st, "%s", f->named.text);
	if (!f->measured && f->first.st != INVAR_OK)
		return inv_fail(f->first.st, "%s", f->first.text);
	return INVAR_OK;
}

/* The requested measurements, in order; NULL past the last. *i is the next one's place. */
static const inv_measurement *next_wanted(const invar_options *o, size_t *i)
{
	const inv_measurement *m;

	while ((m = inv_measurement_at(*i))) {
		++*i;
		if (inv_eval_wants(o, m))
			return m;
	}
	return NULL;
}

/* Adds a measurement and the options that matter for it. */
static invar_status declare_measurement(const inv_measure_input *in,
                                        const inv_measurement *m)
{
	INV_TRY(inv_results_add_measurement(in->results, m->name, m->title));
	return inv_results_options(in->results, m->name, inv_eval_options_of(in->options, m));
}

/* Those that the bank has no data for are skipped, the others add their metrics. */
static invar_status begin_measurements(const inv_measure_input *in, faults *f)
{
	const inv_measurement *m;

	for (size_t i = 0; (m = next_wanted(in->options, &i));) {
		char why[200], title[TITLE], sentence[SENTENCE];

		INV_TRY(declare_measurement(in, m));
		if (inv_measure_lack(in, m->needs, why, sizeof why)) {
			inv_log(in->ctx, INVAR_LOG_DETAIL, "%s is skipped: %s", m->name, why);
			snprintf(sentence, sizeof sentence, "%.300s: %s cannot be measured: %s",
			         in->bank->path, m->name, why);
			keep_fault(in, m, INVAR_E_MISMATCH, sentence, f);
			INV_TRY(inv_results_skip(in->results, m->name, NULL, why));
			continue;
		}
		if (m->title_row)
			m->title_row(in, title, sizeof title);
		for (const invar_metric *metric = m->metrics; metric->id; metric++) {
			invar_metric shown = *metric;

			shown.row = m->title_row ? title : metric->row;
			INV_TRY(inv_results_add_metric(in->results, &shown));
		}
	}
	return INVAR_OK;
}

/* ---- Columns ------------------------------------------------------------------------- */

/* The wanted measurements of a column. A reason replaces what cannot be measured. */
static invar_status measure_cells(const inv_measure_input *in, faults *f)
{
	char reason[SENTENCE / 2], marked[SENTENCE / 2], sentence[SENTENCE];
	const inv_measurement *m;
	invar_status st;

	for (size_t i = 0; (m = next_wanted(in->options, &i));) {
		if (inv_results_skipped(in->results, m->name, NULL) ||
		    (in->adapter && m->needs & INV_ONLY_F) ||
		    (in->views && !(m->needs & INV_TAKES_VIEWS)))
			continue;
		st = m->measure(in);
		inv_pool_free(in->scratch);
		if (st == INVAR_OK) {
			f->measured = true;
			inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is measured", m->name, in->title);
			inv_test_stop("eval:%s of %s", m->name, in->title);
			continue;
		}
		if (!inv_is_unmeasurable(st))
			return st == INVAR_E_CANCELLED
			           ? st
			           : inv_context(st, "%s of %s", m->name, in->title);
		snprintf(reason, sizeof reason, "%s", invar_last_error());
		inv_last_error_spelled(INV_MARKED, marked, sizeof marked);
		inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is skipped: %s", m->name, in->title,
		        reason);
		snprintf(sentence, sizeof sentence, "%s of %.200s cannot be measured: %s", m->name,
		         in->title, marked);
		keep_fault(in, m, st, sentence, f);
		INV_TRY(inv_results_skip(in->results, m->name, in->column, reason));
	}
	return INVAR_OK;
}

/* F, or an adapter; then the same with views, if the split has them. */
static invar_status measure_column(inv_measure_input *in, const invar_adapter *e,
                                   const char *id, const char *title, faults *f)
{
	const inv_split *s = in->split;
	bool copies = inv_split_copies_have_views(s);
	char id_views[40], title_views[TITLE];
	inv_outcomes outcomes = {0};
	invar_status st;

	in->adapter = e;
	in->outcomes = &outcomes;
	in->bank = e && e->unit ? in->unit_rows : in->rows;
	in->column = id;
	in->title = title;
	in->w = e ? (uint32_t)e->s.w : in->d;
	INV_TRY(
		inv_results_add_column(in->results, id, title, e ? invar_adapter_path(e) : NULL));
	if (e)
		INV_TRY(inv_codes_new(e, in->bank, inv_codes_bound(), &in->codes));
	INV_TRY_OR(end, measure_cells(in, f));
	if (!is_needed(in->options, INV_TAKES_VIEWS) || !(s->clean_views || copies))
		goto end;

	/* The column again with queries of four views. */
	if (!e)
		INV_TRY_OR(end, inv_results_note(in->results, INV_NOTE_VIEWS));
	if (!e && s->copies && !copies)
		INV_TRY_OR(end, inv_results_note(
							in->results,
							"not all copies have views, so only clean queries are measured "
							"with 4 views; encode adds the missing ones"));
	snprintf(id_views, sizeof id_views, "%s.views", id);
	snprintf(title_views, sizeof title_views, "%.*s, %d views", TITLE - 20, title,
	         INV_VIEWS);
	in->views = true;
	in->column = id_views;
	in->title = title_views;
	INV_TRY_OR(end, inv_results_add_column(in->results, id_views, title_views, NULL));
	st = measure_cells(in, f);
end:
	in->views = false;

	inv_codes_free(in->codes);
	in->codes = NULL;
	inv_outcomes_clear(&outcomes);
	in->outcomes = NULL;
	return st;
}

/* ---- The results --------------------------------------------------------------------- */

/* Hashes of what was measured, including labels, as figures depend on them. */
static invar_status add_split(const invar_bank *bank, const inv_split *s, json_t *all)
{
	char labels[INV_SHA256_HEX] = "";
	json_t *files;

	if (s->labels)
		INV_TRY(inv_npy_sha256(s->labels, 0, inv_npy_bytes(s->labels), labels));
	INV_TRY(inv_bank_fingerprint(bank, s, &files));
	return json_array_append_new(
			   all, json_pack("{s:o, s:s}", "files", files, "labels", labels)) == 0
	           ? INVAR_OK
	           : inv_no_memory();
}

/* Records in the results which bank, split and rows they describe. */
static invar_status describe_bank(const inv_measure_input *in)
{
	const invar_bank *b = in->bank;
	uint64_t points = inv_select_points(in, inv_select_all(in->split)).points;
	json_t *hashes = json_array(); /* of the measured rows and of the rows of train */
	json_t *others = json_array(), *galleries;
	const inv_measurement *m;
	char hex[INV_SHA256_HEX];
	invar_status st;

	INV_TRY_OR(end, add_split(b, in->split, hashes));
	if (in->train)
		INV_TRY_OR(end, add_split(b, in->train, hashes));
	INV_TRY_OR(end, inv_json_sha256(hashes, hex));
	INV_TRY_OR(end, inv_ranks_same(in->ctx, hex, b->path));
	INV_TRY_OR(end, inv_results_describe_all(
						in->results,
						json_pack("{s:o, s:s, s:s*, s:s*, s:s, s:I, s:I, s:I, s:O*, s:o*}",
	                              "bank", inv_json_path(b->path), "fingerprint", hex,
	                              "encoder", invar_bank_field(b, "encoder"), "augment",
	                              invar_bank_field(b, "augment"), "split", in->split->name,
	                              "points", (json_int_t)points, "copies",
	                              (json_int_t)in->split->copies, "dim", (json_int_t)in->d,
	                              "classes", inv_bank_view_classes(b), "unit",
	                              b->unit ? json_true() : NULL)));
	if (!is_needed(in->options, INV_READS_ALL_SPLITS))
		goto end;

	/*
	 * { measurement: hash } for those that also read what the fingerprint does not cover:
	 * the other splits and views, if there are any.
	 */
	for (size_t i = 0; i < b->split_count; i++)
		if (&b->splits[i] != in->split && &b->splits[i] != in->train)
			INV_TRY_OR(end, add_split(b, &b->splits[i], others));
	INV_TRY_OR(end, inv_bank_fingerprint_views(in->split, others));
	if (!json_array_size(others))
		goto end;
	INV_TRY_OR(end, inv_json_sha256(others, hex));
	galleries = json_object();
	for (size_t i = 0; (m = next_wanted(in->options, &i));)
		if (m->needs & INV_READS_ALL_SPLITS)
			json_object_set_new(galleries, m->name, json_string(hex));
	st = inv_results_describe(in->results, "galleries", galleries);
end:
	json_decref(others);
	json_decref(hashes);
	return st;
}

/*
 * Everything but a column. `some`: there are unit adapters, whose columns see `view`, which
 * it fills; `all`: there are no others. Both are false if the features have norm 1.
 */
static invar_status begin_input(const invar_bank *bank, bool some, bool all,
                                const invar_options *o, inv_pool *scratch, invar_bank *view,
                                inv_measure_input *in)
{
	bool are_unit = false;
	invar_status st;

	*view = inv_unit_view(bank);
	*in = (inv_measure_input){
		.ctx = bank->ctx, .options = o, .d = bank->dim, .scratch = scratch};
	if (!(in->split = inv_bank_split(bank, inv_option_text(o, "split"))))
		return INVAR_E_MISMATCH;
	if (some && (st = inv_bank_has_unit_rows(bank, in->split, &are_unit)) != INVAR_OK &&
	    st != INVAR_E_NUMERIC) /* a NaN is what measurements report */
		return st;
	in->unit_rows = some && !are_unit ? view : bank;
	in->rows = in->bank = all ? in->unit_rows : bank;
	if (inv_bank_has_split(bank, inv_option_text(o, "train-split")))
		in->train = inv_bank_split(bank, inv_option_text(o, "train-split"));
	in->seed = inv_option_count(o, "seed");
	inv_kernels_init(&in->kernels, bank->ctx->cpu);
	return inv_results_new(&in->results);
}

static invar_status measure_columns(inv_measure_input *in, const invar_bank *bank,
                                    const invar_adapter *const *adapters,
                                    const char *const *titles, size_t count, faults *f)
{
	char sentence[SENTENCE];
	size_t first = 0;
	float *row;
	invar_status st;

	for (size_t i = 0; i < count; i++) {
		char hex[INV_SHA256_HEX];

		INV_TRY(inv_compatibility_warn_split(adapters[i], bank, in->split));
		INV_TRY(inv_adapter_fingerprint(adapters[i], hex));
		INV_TRY(inv_ranks_same(in->ctx, hex, adapters[i]->path));
	}
	/* What the features of a column are, if they are not those of the bank. */
	if (in->rows->unit) {
		INV_TRY(inv_results_note(
			in->results, "features are divided by their norms, as the adapter does: "
						 "distances are those of an index of unit vectors"));
	} else if (in->unit_rows != in->rows) {
		while (!adapters[first]->unit)
			first++;
		snprintf(sentence, sizeof sentence,
		         "%.200s divides features by their norms: its column is compared with "
		         "features of norm 1, the others with features as they are",
		         titles[first]);
		INV_TRY(inv_results_note(in->results, sentence));
	}

	INV_TRY(describe_bank(in));
	INV_TRY(prepare_labels(in));

	/* Are all rows equal? Of any real bank, the second one differs from the first. */
	INV_TRY(inv_pool_zeros(in->scratch, &row, 2 * (size_t)in->d));
	st = inv_bank_row(in->bank, in->split, INVAR_CLEAN, 0, row);
	in->constant = st == INVAR_OK && in->split->rows > 1;
	for (uint64_t i = 1; i < in->split->rows && in->constant; i++) {
		st = inv_bank_row(in->bank, in->split, INVAR_CLEAN, i, row + in->d);
		in->constant = st == INVAR_OK && memcmp(row, row + in->d, in->d * sizeof *row) == 0;
	}
	if (st != INVAR_E_NUMERIC) /* a NaN is what measurements report */
		INV_TRY(st);
	INV_TRY(begin_measurements(in, f));
	for (size_t i = 0; i <= count; i++) {
		char id[24] = "F";

		INV_TRY(inv_progress(in->ctx, "eval", i, count + 1));
		if (i)
			snprintf(id, sizeof id, "%zu", i);
		INV_TRY(
			measure_column(in, i ? adapters[i - 1] : NULL, id, i ? titles[i - 1] : "F", f));
	}
	return INVAR_OK;
}

invar_status invar_eval(const invar_bank *bank, const invar_adapter *const *adapters,
                        const char *const *titles, size_t count, const invar_options *o,
                        invar_results **out)
{
	inv_measure_input in;
	inv_pool scratch = {0};
	invar_bank view;
	faults f = {.measured = false};
	size_t units = 0;
	invar_status st;

	*out = NULL;
	INV_TRY(check_eval(bank, adapters, titles, count, o));
	for (size_t i = 0; i < count; i++)
		units += adapters[i]->unit;
	INV_TRY(begin_input(bank, units > 0, units && units == count, o, &scratch, &view, &in));
	st = measure_columns(&in, bank, adapters, titles, count, &f);
	inv_labels_clear(&in.labels);
	inv_labels_clear(&in.train_labels);
	inv_pool_free(&scratch);
	if (inv_processes_check(in.ctx->processes) != INVAR_OK) { /* some results are none */
		invar_results_free(in.results);
		return inv_processes_check(in.ctx->processes);
	}

	/* Results are given even if eval ended early, unless there are none. */
	if (!f.measured && (st != INVAR_OK || f.first.st != INVAR_OK)) {
		invar_results_free(in.results);
		return st == INVAR_OK ? conclude_eval(&f) : st;
	}
	*out = in.results;
	if (st == INVAR_OK)
		return conclude_eval(&f);
	inv_results_describe(in.results, "incomplete", json_true());
	return st;
}

/* ---- What a run lacks ---------------------------------------------------------------- */

/* Does the adapter of a run normalise? One without a file yet does not. */
static invar_status is_unit_run(const char *run, bool *out)
{
	char *path = inv_join(run, INV_RUN_ADAPTER);
	inv_safetensors *f = NULL;
	const char *text;
	invar_status st = path ? INVAR_OK : inv_no_memory();

	*out = false;
	if (!path || !inv_exists(path))
		goto end;
	INV_TRY_OR(end, inv_safetensors_open(path, &f));
	text = inv_safetensors_metadata(f, "invar.unit");
	*out = text && strcmp(text, "1") == 0;
	inv_safetensors_close(f);
end:
	inv_free(path);
	return st;
}

/* What would be measured, as results without values, is compared with metrics.json. */
invar_status inv_eval_missing(const invar_bank *bank, const invar_options *o,
                              const char *run, char **metrics)
{
	inv_measure_input in;
	inv_pool scratch = {0};
	const inv_measurement *m;
	invar_bank view;
	json_t *found = NULL;
	bool unit;
	invar_status st;

	*metrics = NULL;
	INV_TRY(check_eval(bank, NULL, NULL, 0, o));
	INV_TRY(is_unit_run(run, &unit));
	INV_TRY(begin_input(bank, unit, unit, o, &scratch, &view, &in));
	INV_TRY_OR(end, describe_bank(&in));
	for (size_t i = 0; (m = next_wanted(o, &i));)
		INV_TRY_OR(end, declare_measurement(&in, m));
	INV_TRY_OR(end, inv_run_load_metrics(run, &found));
	st = inv_results_missing(in.results, found, metrics);
end:
	json_decref(found);
	invar_results_free(in.results);
	return st;
}
