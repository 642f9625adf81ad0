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
#include "base/memory.h"
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

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
}

static invar_status check(const invar_bank *bank, const invar_adapter *const *adapters,
                          const char *const *titles, size_t count, const invar_options *o)
{
	invar_status st = inv_options_expect(o, "eval");

	if (st == INVAR_OK)
		st = inv_class_view_check(bank, o);
	if (st == INVAR_OK)
		st = inv_eval_check_metrics(o);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		if (adapters[i]->s.d != bank->dim)
			st = inv_fail(
				INVAR_E_MISMATCH,
				"%s takes features of width %zu, but those of %s have width %" PRIu32,
				titles[i], adapters[i]->s.d, bank->path, bank->dim);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		inv_compatibility_warn(adapters[i], bank);
	return st;
}

/* How many of the adapters are unit. */
static size_t count_units(const invar_adapter *const *adapters, size_t count)
{
	size_t units = 0;

	for (size_t i = 0; i < count; i++)
		units += adapters[i]->unit;
	return units;
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

static invar_status count_unlabelled(const inv_measure_input *in, const inv_split *s,
                                     const inv_labels *l, json_t *counts)
{
	uint64_t rows = s->rows - l->rows;
	char sentence[SENTENCE];

	if (!rows)
		return INVAR_OK;
	snprintf(sentence, sizeof sentence,
	         "%" PRIu64 " %s of %s %s no label; measurements that need labels ignore %s",
	         rows, inv_noun(rows, "row", "rows"), s->name, inv_noun(rows, "has", "have"),
	         inv_noun(rows, "it", "them"));
	json_object_set_new(counts, s->name, json_integer((json_int_t)rows));
	return inv_results_note(in->results, sentence);
}

/* Probes and kNN never predict a class that train does not have; logged once. */
static void warn_unknown(const inv_measure_input *in)
{
	uint64_t unknown = inv_labels_unknown(&in->labels, &in->train_labels);

	if (unknown)
		inv_log(in->ctx, INVAR_LOG_WARNING,
		        "images of %s whose class is missing in %s count as errors of probes and "
		        "kNN: %" PRIu64 " of %" PRIu64,
		        in->split->name, in->train->name, unknown, in->labels.rows);
}

static invar_status read_labels(inv_measure_input *in, json_t *counts)
{
	bool wanted = is_needed(in->options, INV_USES_LABELS);
	invar_status st = INVAR_OK;

	if (in->split->labels && (wanted || is_needed(in->options, INV_NEEDS_LABELS))) {
		st = inv_labels_read(in->bank, in->split, &in->labels);
		if (st == INVAR_OK)
			st = count_unlabelled(in, in->split, &in->labels, counts);
	}
	if (st == INVAR_OK && in->train && in->train->labels &&
	    (wanted || is_needed(in->options, INV_NEEDS_LABELS | INV_NEEDS_TRAIN))) {
		st = inv_labels_read(in->bank, in->train, &in->train_labels);
		if (st == INVAR_OK)
			st = count_unlabelled(in, in->train, &in->train_labels, counts);
	}
	if (st == INVAR_OK && in->labels.rows && in->train_labels.rows)
		warn_unknown(in);
	return st;
}

/* Labels of the splits, and in the results how many rows have none. */
static invar_status prepare_labels(inv_measure_input *in)
{
	json_t *counts = json_object();
	invar_status st = read_labels(in, counts);

	if (st == INVAR_OK && json_object_size(counts))
		return inv_results_describe(in->results, "unlabelled", counts);
	json_decref(counts);
	return st;
}

/* Ends at the first row that differs, which is the second of any real bank. */
static invar_status compare_features(inv_measure_input *in)
{
	float *row = inv_calloc(2 * (size_t)in->d, sizeof *row);
	invar_status st =
		row ? inv_bank_row(in->bank, in->split, INVAR_CLEAN, 0, row) : no_memory();

	in->constant = st == INVAR_OK && in->split->rows > 1;
	for (uint64_t i = 1; i < in->split->rows && in->constant && st == INVAR_OK; i++) {
		st = inv_bank_row(in->bank, in->split, INVAR_CLEAN, i, row + in->d);
		in->constant = st == INVAR_OK && memcmp(row, row + in->d, in->d * sizeof *row) == 0;
	}
	inv_free(row);
	return st == INVAR_E_NUMERIC ? INVAR_OK : st; /* a NaN is what measurements report */
}

/* ---- What could not be measured -------------------------------------------------- */

/*
 * The first failure, and the first of a measurement that was requested by name. The
 * caller never gets INVAR_E_USE for one: the bank has too little data, the call is right.
 */
typedef struct faults {
	invar_status first, named;
	char first_text[600], named_text[600];
	bool measured; /* anything at all */
} faults;

static void note_fault(const inv_measure_input *in, const inv_measurement *m,
                       invar_status st, const char *text, faults *f)
{
	st = st == INVAR_E_USE ? INVAR_E_MISMATCH : st;
	if (f->first == INVAR_OK) {
		f->first = st;
		snprintf(f->first_text, sizeof f->first_text, "%s", text);
	}
	if (f->named == INVAR_OK && inv_eval_names(in->options, m)) {
		f->named = st;
		snprintf(f->named_text, sizeof f->named_text, "%s", text);
	}
}

static invar_status conclude(const faults *f)
{
	if (f->named != INVAR_OK)
		return inv_fail(f->named, "%s", f->named_text);
	if (!f->measured && f->first != INVAR_OK)
		return inv_fail(f->first, "%s", f->first_text);
	return INVAR_OK;
}

/* Its metrics as the results describe them; the title of a row may depend on options. */
static invar_status add_metrics(const inv_measure_input *in, const inv_measurement *m)
{
	char title[TITLE];
	invar_status st = INVAR_OK;

	if (m->title_row)
		m->title_row(in, title, sizeof title);
	for (const invar_metric *metric = m->metrics; metric->id && st == INVAR_OK; metric++) {
		invar_metric shown = *metric;

		shown.row = m->title_row ? title : metric->row;
		st = inv_results_add_metric(in->results, &shown);
	}
	return st;
}

static invar_status skip_all(const inv_measure_input *in, const inv_measurement *m,
                             const char *why, faults *f)
{
	char sentence[SENTENCE];

	inv_log(in->ctx, INVAR_LOG_DETAIL, "%s is skipped: %s", m->name, why);
	snprintf(sentence, sizeof sentence, "%.300s: %s cannot be measured: %s", in->bank->path,
	         m->name, why);
	note_fault(in, m, INVAR_E_MISMATCH, sentence, f);
	return inv_results_skip(in->results, m->name, NULL, why);
}

/* The requested measurements, in order; those the bank has no data for are skipped. */
static invar_status begin_measurements(const inv_measure_input *in, faults *f)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; inv_measurement_at(i) && st == INVAR_OK; i++) {
		const inv_measurement *m = inv_measurement_at(i);
		char why[200];

		if (!inv_eval_wants(in->options, m))
			continue;
		st = inv_results_add_measurement(in->results, m->name, m->title);
		if (st == INVAR_OK)
			st = inv_results_options(in->results, m->name,
			                         inv_eval_options_of(in->options, m));
		if (st == INVAR_OK)
			st = inv_measure_lack(in, m->needs, why, sizeof why) ? skip_all(in, m, why, f)
			                                                     : add_metrics(in, m);
	}
	return st;
}

/* ---- Columns ------------------------------------------------------------------------- */

/* Errors caused by the measured data; others would affect every measurement. */
static bool fails_alone(invar_status st)
{
	return st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC || st == INVAR_E_USE;
}

static invar_status skip_cell(const inv_measure_input *in, const inv_measurement *m,
                              const char *title, invar_status why, faults *f)
{
	char reason[SENTENCE / 2], marked[SENTENCE / 2], sentence[SENTENCE];

	snprintf(reason, sizeof reason, "%s", invar_last_error());
	inv_last_error_spelled(INV_MARKED, marked, sizeof marked);
	inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is skipped: %s", m->name, title, reason);
	snprintf(sentence, sizeof sentence, "%s of %.200s cannot be measured: %s", m->name,
	         title, marked);
	note_fault(in, m, why, sentence, f);
	return inv_results_skip(in->results, m->name, in->column, reason);
}

static invar_status measure_cell(const inv_measure_input *in, const inv_measurement *m,
                                 const char *title, faults *f)
{
	invar_status st = m->measure(in);

	if (fails_alone(st))
		return skip_cell(in, m, title, st, f);
	if (st != INVAR_OK)
		return st == INVAR_E_CANCELLED ? st : inv_context(st, "%s of %s", m->name, title);
	f->measured = true;
	inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is measured", m->name, title);
	inv_test_stop("eval:%s of %s", m->name, title);
	return INVAR_OK;
}

static invar_status measure_column(const inv_measure_input *in, const char *title,
                                   faults *f)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; inv_measurement_at(i) && st == INVAR_OK; i++) {
		const inv_measurement *m = inv_measurement_at(i);
		bool asked = inv_eval_wants(in->options, m) &&
		             !inv_results_skipped(in->results, m->name, NULL);

		if (asked && !(in->adapter && m->needs & INV_ONLY_F) &&
		    (!in->views || m->needs & INV_TAKES_VIEWS))
			st = measure_cell(in, m, title, f);
	}
	return st;
}

/* The same column with queries of four views, where the split has them. */
static invar_status measure_views(inv_measure_input *in, const char *of, const char *title,
                                  faults *f)
{
	const inv_split *s = in->split;
	bool copies = inv_split_copies_have_views(s);
	char id[40], with_views[TITLE];
	invar_status st = INVAR_OK;

	if (!is_needed(in->options, INV_TAKES_VIEWS) || !(s->clean_views || copies))
		return INVAR_OK;
	if (!in->adapter)
		st = inv_results_note(in->results, INV_NOTE_VIEWS);
	if (!in->adapter && st == INVAR_OK && s->copies && !copies)
		st = inv_results_note(in->results,
		                      "not all copies have views, so only clean queries are "
		                      "measured with 4 views; encode adds the missing ones");
	if (st != INVAR_OK)
		return st;
	snprintf(id, sizeof id, "%s.views", of);
	snprintf(with_views, sizeof with_views, "%.*s, %d views", TITLE - 20, title, INV_VIEWS);
	in->views = true;
	in->column = id;
	in->title = with_views;
	st = inv_results_add_column(in->results, id, with_views, NULL);
	if (st == INVAR_OK)
		st = measure_column(in, with_views, f);
	in->views = false;
	return st;
}

/* Adds the column that `in` describes, and measures it. */
static invar_status measure_next(inv_measure_input *in, const char *id, const char *title,
                                 faults *f)
{
	inv_outcomes outcomes = {0};
	invar_status st;

	in->outcomes = &outcomes;
	in->bank = in->adapter && in->adapter->unit ? in->unit_rows : in->rows;
	in->column = id;
	in->title = title;
	in->w = in->adapter ? (uint32_t)in->adapter->s.w : in->d;
	st = inv_results_add_column(in->results, id, title,
	                            in->adapter ? invar_adapter_path(in->adapter) : NULL);
	if (st == INVAR_OK && in->adapter)
		st = inv_codes_new(in->adapter, in->bank, inv_codes_bound(), &in->codes);
	if (st == INVAR_OK)
		st = measure_column(in, title, f);
	if (st == INVAR_OK)
		st = measure_views(in, id, title, f);
	inv_codes_free(in->codes);
	in->codes = NULL;
	inv_outcomes_clear(&outcomes);
	in->outcomes = NULL;
	return st;
}

static invar_status measure_columns(inv_measure_input *in,
                                    const invar_adapter *const *adapters,
                                    const char *const *titles, size_t count, faults *f)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i <= count && st == INVAR_OK; i++) {
		char id[24] = "F";

		if ((st = inv_progress(in->ctx, "eval", i, count + 1)) != INVAR_OK)
			break;
		if (i)
			snprintf(id, sizeof id, "%zu", i);
		in->adapter = i ? adapters[i - 1] : NULL;
		st = measure_next(in, id, i ? titles[i - 1] : "F", f);
	}
	return st;
}

/* ---- The results --------------------------------------------------------------------- */

/* Hashes of what was measured, including labels, as figures depend on them. */
static invar_status add_split(const invar_bank *bank, const inv_split *s, json_t *all)
{
	char labels[INV_SHA256_HEX] = "";
	json_t *files;
	invar_status st = inv_bank_fingerprint(bank, s, &files);

	if (st == INVAR_OK && s->labels)
		st = inv_npy_sha256(s->labels, 0, inv_npy_bytes(s->labels), labels);
	if (st != INVAR_OK) {
		json_decref(files);
		return st;
	}
	return json_array_append_new(
			   all, json_pack("{s:o, s:s}", "files", files, "labels", labels)) == 0
	           ? INVAR_OK
	           : no_memory();
}

static invar_status hash_json(const json_t *json, char hex[INV_SHA256_HEX])
{
	char *text = inv_json_text(json, 0);
	invar_status st = text ? inv_sha256(text, strlen(text), hex) : no_memory();

	inv_free(text);
	return st;
}

/* One hash of the measured rows and of the rows of train. */
static invar_status fingerprint(const inv_measure_input *in, char hex[INV_SHA256_HEX])
{
	json_t *all = json_array();
	invar_status st = add_split(in->bank, in->split, all);

	if (st == INVAR_OK && in->train)
		st = add_split(in->bank, in->train, all);
	if (st == INVAR_OK)
		st = hash_json(all, hex);
	json_decref(all);
	return st;
}

/*
 * One hash of what the fingerprint leaves out, the other splits and views; *any: is there
 * anything?
 */
static invar_status hash_others(const inv_measure_input *in, bool *any,
                                char hex[INV_SHA256_HEX])
{
	json_t *all = json_array();
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < in->bank->split_count && st == INVAR_OK; i++) {
		const inv_split *s = &in->bank->splits[i];

		if (s != in->split && s != in->train)
			st = add_split(in->bank, s, all);
	}
	if (st == INVAR_OK)
		st = inv_bank_fingerprint_views(in->split, all);
	*any = json_array_size(all) > 0;
	if (st == INVAR_OK && *any)
		st = hash_json(all, hex);
	json_decref(all);
	return st;
}

/* { measurement: hash } for those that also read what the fingerprint does not cover. */
static invar_status describe_galleries(const inv_measure_input *in)
{
	json_t *galleries;
	char hex[INV_SHA256_HEX];
	bool any;
	invar_status st;

	if (!is_needed(in->options, INV_READS_ALL_SPLITS))
		return INVAR_OK;
	if ((st = hash_others(in, &any, hex)) != INVAR_OK || !any)
		return st;
	if (!(galleries = json_object()))
		return no_memory();
	for (size_t i = 0; inv_measurement_at(i); i++) {
		const inv_measurement *m = inv_measurement_at(i);

		if (m->needs & INV_READS_ALL_SPLITS && inv_eval_wants(in->options, m))
			json_object_set_new(galleries, m->name, json_string(hex));
	}
	return inv_results_describe(in->results, "galleries", galleries);
}

invar_status inv_measure_describe(const inv_measure_input *in)
{
	const char *encoder = invar_bank_field(in->bank, "encoder");
	const char *augment = invar_bank_field(in->bank, "augment");
	uint64_t points = inv_choose_points(in, inv_choose_all(in->split)).points;
	char hex[INV_SHA256_HEX];
	const char *key;
	json_t *about, *value;
	invar_status st = fingerprint(in, hex);

	if (st == INVAR_OK)
		st = inv_ranks_same(in->ctx, hex, in->bank->path);
	if (st != INVAR_OK)
		return st;
	about = json_pack("{s:o, s:s, s:s*, s:s*, s:s, s:I, s:I, s:I, s:O*, s:o*}", "bank",
	                  inv_json_path(in->bank->path), "fingerprint", hex, "encoder", encoder,
	                  "augment", augment, "split", in->split->name, "points",
	                  (json_int_t)points, "copies", (json_int_t)in->split->copies, "dim",
	                  (json_int_t)in->d, "classes", inv_bank_view_classes(in->bank), "unit",
	                  in->bank->unit ? json_true() : NULL);
	if (!about)
		return no_memory();
	json_object_foreach (about, key, value)
		if (st == INVAR_OK)
			st = inv_results_describe(in->results, key, json_incref(value));
	json_decref(about);
	return st;
}

static invar_status measure_all(inv_measure_input *in, const invar_adapter *const *adapters,
                                const char *const *titles, size_t count, faults *f)
{
	invar_status st = inv_measure_describe(in);

	if (st == INVAR_OK)
		st = describe_galleries(in);
	if (st == INVAR_OK)
		st = prepare_labels(in);
	if (st == INVAR_OK)
		st = compare_features(in);
	if (st == INVAR_OK)
		st = begin_measurements(in, f);
	if (st == INVAR_OK)
		st = measure_columns(in, adapters, titles, count, f);
	inv_labels_clear(&in->labels);
	inv_labels_clear(&in->train_labels);
	return st;
}

/* What the features of a column are, if they are not those of the bank. */
static invar_status note_units(const inv_measure_input *in,
                               const invar_adapter *const *adapters,
                               const char *const *titles, size_t count)
{
	char sentence[SENTENCE];
	size_t first = 0;

	if (in->unit_rows == in->rows && !in->rows->unit)
		return INVAR_OK;
	if (in->rows->unit)
		return inv_results_note(in->results,
		                        "features are divided by their norms, as the adapter does: "
		                        "distances are those of an index of unit vectors");
	while (first < count && !adapters[first]->unit)
		first++;
	snprintf(sentence, sizeof sentence,
	         "%.200s divides features by their norms: its column is compared with features "
	         "of norm 1, the others with features as they are",
	         titles[first]);
	return inv_results_note(in->results, sentence);
}

/* Results are given even if eval ended early, unless there are none. */
static invar_status give_results(invar_results *r, const faults *f, invar_status st,
                                 invar_results **out)
{
	if (!f->measured && (st != INVAR_OK || f->first != INVAR_OK)) {
		invar_results_free(r);
		return st == INVAR_OK ? conclude(f) : st;
	}
	*out = r;
	if (st == INVAR_OK)
		return conclude(f);
	inv_results_describe(r, "incomplete", json_true());
	return st;
}

/*
 * Everything but a column. `some`: there are unit adapters, whose columns see `view`, which
 * it fills; `all`: there are no others. Both are false if the features have norm 1.
 */
static invar_status begin_input(const invar_bank *bank, bool some, bool all,
                                const invar_options *o, invar_bank *view,
                                inv_measure_input *in)
{
	bool are_unit = false;
	invar_status st;

	*view = inv_unit_view(bank);
	*in = (inv_measure_input){.ctx = bank->ctx, .options = o, .d = bank->dim};
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

invar_status invar_eval(const invar_bank *bank, const invar_adapter *const *adapters,
                        const char *const *titles, size_t count, const invar_options *o,
                        invar_results **out)
{
	inv_measure_input in;
	invar_bank view;
	faults f = {0};
	size_t units;
	invar_status st;

	*out = NULL;
	if ((st = check(bank, adapters, titles, count, o)) != INVAR_OK)
		return st;
	units = count_units(adapters, count);
	if ((st = begin_input(bank, units > 0, units && units == count, o, &view, &in)) !=
	    INVAR_OK)
		return st;
	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		char hex[INV_SHA256_HEX];

		st = inv_compatibility_warn_split(adapters[i], bank, in.split);
		if (st == INVAR_OK && (st = inv_adapter_fingerprint(adapters[i], hex)) == INVAR_OK)
			st = inv_ranks_same(in.ctx, hex, adapters[i]->path);
	}
	if (st == INVAR_OK)
		st = note_units(&in, adapters, titles, count);
	if (st == INVAR_OK)
		st = measure_all(&in, adapters, titles, count, &f);
	if (inv_processes_check(in.ctx->processes) != INVAR_OK) { /* some results are none */
		invar_results_free(in.results);
		return inv_processes_check(in.ctx->processes);
	}
	return give_results(in.results, &f, st, out);
}

/* ---- What a run lacks ------------------------------------------------------------------
 */

/* What would be measured, as results without values. */
static invar_status plan_measurements(const inv_measure_input *in)
{
	invar_status st = inv_measure_describe(in);

	if (st == INVAR_OK)
		st = describe_galleries(in);
	for (size_t i = 0; inv_measurement_at(i) && st == INVAR_OK; i++) {
		const inv_measurement *m = inv_measurement_at(i);

		if (!inv_eval_wants(in->options, m))
			continue;
		st = inv_results_add_measurement(in->results, m->name, m->title);
		if (st == INVAR_OK)
			st = inv_results_options(in->results, m->name,
			                         inv_eval_options_of(in->options, m));
	}
	return st;
}

static invar_status load_metrics(const char *run, json_t **out)
{
	char *path = inv_join(run, INV_RUN_METRICS);
	invar_status st = path ? INVAR_OK : no_memory();

	*out = NULL;
	if (st == INVAR_OK && inv_exists(path))
		st = inv_json_load(path, out);
	if (st == INVAR_OK && *out)
		st = inv_results_check_metrics(*out, path);
	inv_free(path);
	return st;
}

/* Does the adapter of a run normalise? One without a file yet does not. */
static invar_status is_unit_run(const char *run, bool *out)
{
	char *path = inv_join(run, INV_RUN_ADAPTER);
	inv_safetensors *f = NULL;
	const char *text;
	invar_status st = path ? INVAR_OK : no_memory();

	*out = false;
	if (st == INVAR_OK && inv_exists(path) &&
	    (st = inv_safetensors_open(path, &f)) == INVAR_OK) {
		text = inv_safetensors_metadata(f, "invar.unit");
		*out = text && strcmp(text, "1") == 0;
	}
	inv_safetensors_close(f);
	inv_free(path);
	return st;
}

invar_status inv_eval_missing(const invar_bank *bank, const invar_options *o,
                              const char *run, char **metrics)
{
	inv_measure_input in;
	invar_bank view;
	json_t *there = NULL;
	bool unit;
	invar_status st;

	*metrics = NULL;
	if ((st = check(bank, NULL, NULL, 0, o)) != INVAR_OK ||
	    (st = is_unit_run(run, &unit)) != INVAR_OK ||
	    (st = begin_input(bank, unit, unit, o, &view, &in)) != INVAR_OK)
		return st;
	if ((st = plan_measurements(&in)) == INVAR_OK &&
	    (st = load_metrics(run, &there)) == INVAR_OK)
		st = inv_results_missing(in.results, there, metrics);
	json_decref(there);
	invar_results_free(in.results);
	return st;
}
