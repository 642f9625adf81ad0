/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c - invar_eval: each measurement, for F and for each adapter.
 *
 * The document: the bank, its split and width, "columns" in order (F first),
 * "measurements" {name: {column: …}}, and "skipped" {name: why} for what the
 * bank cannot answer. A measurement that fails does so alone: its place in a column
 * is {"skipped": why}. "unlabelled" {split: rows} counts negative labels.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "adapter/compatibility.h"
#include "base/fields.h"
#include "measure/measurement.h"

#define FIELD(member) offsetof(invar_eval_opts, member)

static const invar_field fields[] = {
	{"only", INVAR_FIELD_TEXT, FIELD(only), 0, 0, INVAR_FIELD_OPTIONAL, NULL, "LIST",
     "Measurements",
     "measure only these, separated by commas: lc, nc, ec, kept, knn (all five: probe), "
     "structure, collision"},
	{"split", INVAR_FIELD_TEXT, FIELD(split), 0, 0, 0, NULL, "NAME", "Measurements",
     "the split of the bank that is measured"},
	{"points", INVAR_FIELD_COUNT, FIELD(points), 0, 4e9, 0, NULL, "N", "Measurements",
     "take N rows spread evenly over the split; 0 is all"},
	{"train", INVAR_FIELD_TEXT, FIELD(train), 0, 0, 0, NULL, "NAME", "Measurements",
     "the split that probes, galleries and held-out maps learn from"},
	{"leave-one-out", INVAR_FIELD_FLAG, FIELD(leave_one_out), 0, 1, 0, NULL, NULL,
     "Measurements", "collision: an image's own clean feature does not count"},
	{"k", INVAR_FIELD_COUNT, FIELD(k), 1, 4e9, 0, NULL, "N", "Measurements",
     "knn: how many neighbours vote"},
	{"index", INVAR_FIELD_TEXT, FIELD(index), 0, 0, 0, "adapted|clean", "WORD",
     "Measurements", "knn: search among E(F(train)), or F(train) as it was"},
	{"probe-epochs", INVAR_FIELD_COUNT, FIELD(probe_epochs), 1, 1e6, 0, NULL, "N", "Probes",
     "epochs that lc, nc, ec and kept are trained"},
	{"probe-hidden", INVAR_FIELD_COUNT, FIELD(probe_hidden), 1, 1 << 20, 0, NULL, "N",
     "Probes", "width of the hidden layers of nc and ec"},
	{"seeds", INVAR_FIELD_COUNT, FIELD(seeds), 1, 1000, 0, NULL, "N", "Probes",
     "train every probe N times, with seeds from --seed on, and average"},
	{"seed", INVAR_FIELD_COUNT, FIELD(seed), 0, 0x1p53, 0, NULL, "N", "Common",
     "key of every random draw"},
};

static const inv_fields table = {fields, sizeof fields / sizeof *fields};

void invar_eval_defaults(invar_eval_opts *o)
{
	*o = (invar_eval_opts){.size = sizeof *o,
	                       .split = "test",
	                       .train = "train",
	                       .k = 20,
	                       .index = "adapted",
	                       .probe_epochs = 50,
	                       .probe_hidden = 4096,
	                       .seeds = 1};
}

const invar_field *invar_eval_fields(size_t *count)
{
	*count = table.count;
	return fields;
}

/* ---- Which measurements -------------------------------------------------- */

/* Is the word one of the list "a,b,c"? */
static bool lists(const char *list, const char *word, size_t length)
{
	for (const char *at = list; at;) {
		size_t piece = strcspn(at, ",");

		if (piece == length && memcmp(at, word, length) == 0)
			return true;
		at = at[piece] ? at + piece + 1 : NULL;
	}
	return false;
}

static bool answers_to(const inv_measurement *m, const char *word, size_t length)
{
	return lists(m->name, word, length) || (m->group && lists(m->group, word, length));
}

static bool is_wanted(const invar_eval_opts *o, const inv_measurement *m)
{
	for (const char *at = o->only; at && *at;) {
		size_t length = strcspn(at, ",");

		if (answers_to(m, at, length))
			return true;
		at += length + (at[length] == ',');
	}
	return !o->only;
}

static invar_status refuse_word(const char *word, size_t length)
{
	char have[300] = "";
	size_t at = 0;

	for (size_t i = 0; inv_measurements[i] && at < sizeof have; i++)
		at += (size_t)snprintf(have + at, sizeof have - at, "%s%s", i ? ", " : "",
		                       inv_measurements[i]->name);
	return inv_fail(INVAR_E_USE, "--only: there is no measurement '%.*s', only %s",
	                (int)length, word, have);
}

static invar_status check_only(const char *only)
{
	for (const char *at = only; at && *at;) {
		size_t length = strcspn(at, ",");
		bool known = false;

		for (size_t i = 0; inv_measurements[i]; i++)
			known = known || answers_to(inv_measurements[i], at, length);
		if (!known)
			return refuse_word(at, length);
		at += length + (at[length] == ',');
	}
	return INVAR_OK;
}

static invar_status check(const invar_bank *bank, const invar_adapter *const *adapters,
                          const char *const *names, size_t count, const invar_eval_opts *o)
{
	invar_status st = inv_fields_check(table, o);

	if (st == INVAR_OK)
		st = check_only(o->only);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		if (adapters[i]->s.d != bank->dim)
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s takes features %zu wide, those of %s are %" PRIu32, names[i],
			              adapters[i]->s.d, bank->path, bank->dim);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		inv_compatibility_warn(adapters[i], bank);
	return st;
}

/* ---- What a bank can answer ---------------------------------------------- */

/* Whether a measurement that is wanted has all of these needs. */
static bool is_needed(const invar_eval_opts *o, unsigned needs)
{
	for (size_t i = 0; inv_measurements[i]; i++)
		if ((inv_measurements[i]->needs & needs) == needs &&
		    is_wanted(o, inv_measurements[i]))
			return true;
	return false;
}

/* The sentence that says why not, or NULL. */
static const char *lack(const inv_measure_input *in, const inv_measurement *m, char *text,
                        size_t bytes)
{
	bool train = m->needs & INV_NEEDS_TRAIN, labels = m->needs & INV_NEEDS_LABELS;

	if (train && !in->train)
		snprintf(text, bytes, "the bank has no split %s", in->opts->train);
	else if (labels && !in->split->labels)
		snprintf(text, bytes, "%s has no labels.npy", in->split->name);
	else if (labels && train && !in->train->labels)
		snprintf(text, bytes, "%s has no labels.npy", in->train->name);
	else if (labels && !in->labels.rows)
		snprintf(text, bytes, "no row of %s has a label", in->split->name);
	else if (labels && train && !in->train_labels.rows)
		snprintf(text, bytes, "no row of %s has a label", in->train->name);
	else if (m->needs & INV_NEEDS_COPIES && !in->split->copies)
		snprintf(text, bytes, "%s has no augmented copies", in->split->name);
	else
		return NULL;
	return text;
}

static void count_unlabelled(const inv_split *s, const inv_labels *l, json_t *counts)
{
	if (l->rows < s->rows)
		json_object_set_new(counts, s->name, json_integer((json_int_t)(s->rows - l->rows)));
}

/* Probes and kNN never answer a class that train does not have; said once for all. */
static void warn_unknown(const inv_measure_input *in)
{
	uint64_t unknown = inv_labels_unknown(&in->labels, &in->train_labels);

	if (unknown)
		inv_log(in->ctx, INVAR_LOG_WARNING,
		        "images of %s whose class %s does not have count as wrong for probes and "
		        "kNN: %" PRIu64 " of %" PRIu64,
		        in->split->name, in->train->name, unknown, in->labels.rows);
}

static invar_status read_labels(inv_measure_input *in, json_t *doc)
{
	json_t *counts = json_object();
	invar_status st = INVAR_OK;

	if (in->split->labels && is_needed(in->opts, INV_NEEDS_LABELS)) {
		st = inv_labels_read(in->bank, in->split, &in->labels);
		if (st == INVAR_OK)
			count_unlabelled(in->split, &in->labels, counts);
	}
	if (st == INVAR_OK && in->train && in->train->labels &&
	    is_needed(in->opts, INV_NEEDS_LABELS | INV_NEEDS_TRAIN)) {
		st = inv_labels_read(in->bank, in->train, &in->train_labels);
		if (st == INVAR_OK)
			count_unlabelled(in->train, &in->train_labels, counts);
	}
	if (in->labels.rows && in->train_labels.rows)
		warn_unknown(in);
	if (json_object_size(counts))
		json_object_set(doc, "unlabelled", counts);
	json_decref(counts);
	return st;
}

/* ---- What could not be measured -------------------------------------------------------
 */

/*
 * The first fault of all, and the first of a measurement that --only names. To a caller
 * none of them is a wrong use: the bank has too little of something.
 */
typedef struct faults {
	invar_status first, named;
	char first_text[600], named_text[600];
	bool measured; /* anything at all */
} faults;

static void note_fault(const inv_measure_input *in, const inv_measurement *m,
                       invar_status st, const char *text, faults *f)
{
	const char *only = in->opts->only;

	st = st == INVAR_E_USE ? INVAR_E_MISMATCH : st;
	if (f->first == INVAR_OK) {
		f->first = st;
		snprintf(f->first_text, sizeof f->first_text, "%s", text);
	}
	if (f->named == INVAR_OK && only && lists(only, m->name, strlen(m->name))) {
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

static void note_lacks(const inv_measure_input *in, json_t *results, json_t *skipped,
                       faults *f)
{
	for (size_t i = 0; inv_measurements[i]; i++) {
		const inv_measurement *m = inv_measurements[i];
		char text[200], sentence[600];

		if (!is_wanted(in->opts, m))
			continue;
		if (!lack(in, m, text, sizeof text)) {
			json_object_set_new(results, m->name, json_object());
			continue;
		}
		json_object_set_new(skipped, m->name, json_string(text));
		inv_log(in->ctx, INVAR_LOG_DETAIL, "%s is skipped: %s", m->name, text);
		snprintf(sentence, sizeof sentence, "%.300s: %s cannot be measured: %s",
		         in->bank->path, m->name, text);
		note_fault(in, m, INVAR_E_MISMATCH, sentence, f);
	}
}

/* ---- The document -------------------------------------------------------------------- */

/* Faults that lie in what is measured; others would meet every measurement. */
static bool fails_alone(invar_status st)
{
	return st == INVAR_E_MISMATCH || st == INVAR_E_NUMERIC || st == INVAR_E_USE;
}

static invar_status measure_cell(const inv_measure_input *in, const inv_measurement *m,
                                 const char *name, json_t *row, faults *f)
{
	json_t *value = NULL;
	invar_status st = m->measure(in, &value);
	char sentence[600];

	if (!fails_alone(st) && st != INVAR_OK)
		return st == INVAR_E_CANCELLED ? st : inv_context(st, "%s of %s", m->name, name);
	if (st == INVAR_OK) {
		f->measured = true;
		inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is measured", m->name, name);
	} else {
		value = json_pack("{s:s}", "skipped", invar_last_error());
		inv_log(in->ctx, INVAR_LOG_DETAIL, "%s of %s is skipped: %s", m->name, name,
		        invar_last_error());
		snprintf(sentence, sizeof sentence, "%s of %s cannot be measured: %s", m->name,
		         name, invar_last_error());
		note_fault(in, m, st, sentence, f);
	}
	return json_object_set_new(row, name, value) == 0
	           ? INVAR_OK
	           : inv_fail(INVAR_E_NOMEM, "no memory for the results");
}

static invar_status measure_column(const inv_measure_input *in, const char *name,
                                   json_t *results, faults *f)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; inv_measurements[i] && st == INVAR_OK; i++) {
		const inv_measurement *m = inv_measurements[i];
		json_t *row = json_object_get(results, m->name);

		if (row && !(in->adapter && m->needs & INV_ONLY_F))
			st = measure_cell(in, m, name, row, f);
	}
	return st;
}

static invar_status measure_columns(inv_measure_input *in,
                                    const invar_adapter *const *adapters,
                                    const char *const *names, size_t count, json_t *doc,
                                    faults *f)
{
	json_t *columns = json_array(), *results = json_object(), *skipped = json_object();
	invar_status st = INVAR_OK;

	json_object_set_new(doc, "columns", columns);
	json_object_set_new(doc, "measurements", results);
	json_object_set_new(doc, "skipped", skipped);
	note_lacks(in, results, skipped, f);
	for (size_t i = 0; i <= count && st == INVAR_OK; i++) {
		const char *name = i ? names[i - 1] : "F";

		if ((st = inv_progress(in->ctx, "eval", i, count + 1)) != INVAR_OK)
			break;
		json_array_append_new(columns, json_string(name));
		in->adapter = i ? adapters[i - 1] : NULL;
		in->w = in->adapter ? (uint32_t)in->adapter->s.w : in->d;
		st = measure_column(in, name, results, f);
	}
	return st;
}

static json_t *describe(const inv_measure_input *in)
{
	const char *encoder = invar_bank_field(in->bank, "encoder");
	const char *augment = invar_bank_field(in->bank, "augment");

	return json_pack("{s:o, s:s*, s:s*, s:s, s:I, s:I, s:I}", "bank",
	                 inv_json_path(in->bank->path), "encoder", encoder, "augment", augment,
	                 "split", in->split->name, "points",
	                 (json_int_t)inv_choose_points(in, inv_choose_all(in->split)).points,
	                 "copies", (json_int_t)in->split->copies, "dim", (json_int_t)in->d);
}

/* The text of what was measured, also where the measuring ended early. */
static invar_status to_text(json_t *doc, const faults *f, invar_status st, char **json)
{
	if (!f->measured && (st != INVAR_OK || f->first != INVAR_OK))
		return st;
	if (st != INVAR_OK)
		json_object_set_new(doc, "incomplete", json_true());
	*json = inv_json_text(doc, 1);
	return *json ? st : inv_fail(INVAR_E_NOMEM, "no memory for the results");
}

static invar_status measure_all(inv_measure_input *in, const invar_adapter *const *adapters,
                                const char *const *names, size_t count, char **json)
{
	faults f = {0};
	json_t *doc = describe(in);
	invar_status st;

	if (!doc)
		return inv_fail(INVAR_E_NOMEM, "no memory for the results");
	if ((st = read_labels(in, doc)) == INVAR_OK)
		st = measure_columns(in, adapters, names, count, doc, &f);
	st = to_text(doc, &f, st, json);
	json_decref(doc);
	return st == INVAR_OK ? conclude(&f) : st;
}

invar_status invar_eval(const invar_bank *bank, const invar_adapter *const *adapters,
                        const char *const *names, size_t count, const invar_eval_opts *o,
                        char **json)
{
	invar_eval_opts all;
	inv_measure_input in = {.ctx = bank->ctx, .bank = bank, .opts = &all, .d = bank->dim};
	invar_status st;

	*json = NULL;
	invar_eval_defaults(&all); /* for members that a caller's older header lacks */
	memcpy(&all, o, o->size < sizeof all ? o->size : sizeof all);
	if ((st = check(bank, adapters, names, count, &all)) != INVAR_OK)
		return st;
	if (!(in.split = inv_bank_split(bank, all.split)))
		return INVAR_E_MISMATCH;
	if (invar_bank_has_split(bank, all.train))
		in.train = inv_bank_split(bank, all.train);
	inv_kernels_init(&in.kernels, bank->ctx->cpu);
	st = measure_all(&in, adapters, names, count, json);
	inv_labels_clear(&in.labels);
	inv_labels_clear(&in.train_labels);
	return st;
}
