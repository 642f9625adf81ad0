/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worst_images.c - the images whose copies end farthest from them, and those whose copies
 * LC-kept recognises least often.
 *
 * Both lists have row numbers, and file names and classes if the bank has them; they are
 * details, a note names the first few. Displacement is the mean over the copies of an
 * image. Of images that are misclassified equally often, the one displaced more comes
 * first; then the earlier row.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "base/memory.h"
#include "measure/outcomes.h"

enum { LISTED = 20, NAMED = 3 };

typedef struct image {
	uint64_t row;
	double displacement;
	double wrong; /* share of the copies; NaN: no label, or not measured */
} image;

typedef struct job {
	const inv_measure_input *in;
	const inv_outcomes *outcomes; /* of the column */
	image *image;                 /* [n] */
	int64_t *label;               /* [rows of the split]; NULL: it has none */
	char **name;                  /* [rows of the split]; NULL: the bank has none */
} job;

static int by_row(const image *x, const image *y)
{
	return (x->row > y->row) - (x->row < y->row);
}

static int by_displacement(const void *a, const void *b)
{
	const image *x = a, *y = b;

	if (x->displacement != y->displacement)
		return x->displacement > y->displacement ? -1 : 1;
	return by_row(x, y);
}

static int by_wrong(const void *a, const void *b)
{
	const image *x = a, *y = b;
	double p = isnan(x->wrong) ? -1 : x->wrong, q = isnan(y->wrong) ? -1 : y->wrong;

	if (p != q)
		return p > q ? -1 : 1;
	return by_displacement(a, b);
}

static void average(job *j)
{
	const inv_outcomes *o = j->outcomes;

	for (uint64_t i = 0; i < o->n; i++) {
		double displacement = 0, right = 0;

		for (uint32_t copy = 0; copy < o->copies; copy++) {
			uint64_t at = copy * o->n + i;

			displacement += o->value[INV_DISPLACEMENT][at];
			right += o->value[INV_KEPT] ? o->value[INV_KEPT][at] : NAN;
		}
		j->image[i] = (image){inv_choice_row(&o->images, i), displacement / o->copies,
		                      1 - right / o->copies};
	}
}

/* Names and labels are there for people: without them, rows have numbers. */
static invar_status read_names(job *j)
{
	const inv_split *s = j->in->split;

	if (s->labels) {
		if (!(j->label = inv_calloc(s->rows, sizeof *j->label)))
			return inv_bank_no_memory(j->in->bank->path);
		if (invar_bank_labels(j->in->bank, s->name, j->label) != INVAR_OK)
			return INVAR_E_MISMATCH;
	}
	if (inv_bank_has_names(j->in->bank, s->name))
		return invar_bank_names(j->in->bank, s->name, &j->name);
	return INVAR_OK;
}

/* ---- Results ------------------------------------------------------------------------- */

static json_t *describe(const job *j, const image *x)
{
	json_t *entry = json_pack("{s:I}", "row", (json_int_t)x->row);
	char text[INV_CLASS_TEXT];
	const char *class = j->label ? inv_bank_class(j->in->bank, j->label[x->row]) : NULL;

	if (j->name)
		json_object_set_new(entry, "name", inv_json_path(j->name[x->row]));
	if (class)
		json_object_set_new(entry, "class",
		                    json_string(inv_class_text(class, j->label[x->row], text)));
	else if (j->label && j->label[x->row] >= 0)
		json_object_set_new(entry, "class", json_integer(j->label[x->row]));
	json_object_set_new(entry, "displacement", inv_json_number(x->displacement));
	if (!isnan(x->wrong))
		json_object_set_new(entry, "misclassified", inv_json_number(x->wrong));
	return entry;
}

static json_t *list_images(const job *j)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < j->outcomes->n && i < LISTED; i++)
		json_array_append_new(list, describe(j, &j->image[i]));
	return list;
}

static invar_status note_first(const job *j, const char *what)
{
	char sentence[1200], row[INV_ROW_TEXT];
	size_t fill = (size_t)snprintf(sentence, sizeof sentence,
	                               "%.100s: images whose copies are %s most: row",
	                               j->in->title, what);

	for (uint64_t i = 0; i < j->outcomes->n && i < NAMED && fill < sizeof sentence; i++)
		fill +=
			(size_t)snprintf(sentence + fill, sizeof sentence - fill, "%s %s", i ? "," : "",
		                     inv_row_text(j->in->bank, j->in->split, j->image[i].row, row));
	return inv_results_note(j->in->results, sentence);
}

static invar_status put_displaced(job *j, json_t *details)
{
	invar_value v = {.low = NAN, .high = NAN, .count = j->outcomes->n};
	invar_status st;

	qsort(j->image, j->outcomes->n, sizeof *j->image, by_displacement);
	v.value = j->image[0].displacement;
	json_object_set_new(details, "displaced", list_images(j));
	st = inv_results_put(j->in->results, "worst.displacement", j->in->column, &v);
	return st == INVAR_OK ? note_first(j, "displaced") : st;
}

static invar_status put_misclassified(job *j, json_t *details)
{
	invar_value v = {.low = NAN, .high = NAN};
	uint64_t all_wrong = 0;
	invar_status st;

	qsort(j->image, j->outcomes->n, sizeof *j->image, by_wrong);
	for (uint64_t i = 0; i < j->outcomes->n; i++) {
		v.count += !isnan(j->image[i].wrong);
		all_wrong += j->image[i].wrong == 1;
	}
	v.value = (double)all_wrong / (double)v.count;
	json_object_set_new(details, "misclassified", list_images(j));
	st = inv_results_put(j->in->results, "worst.never", j->in->column, &v);
	return st == INVAR_OK ? note_first(j, "misclassified") : st;
}

static invar_status put_results(job *j)
{
	json_t *details = json_object();
	invar_status st = put_displaced(j, details);

	if (st == INVAR_OK && j->outcomes->value[INV_KEPT])
		st = put_misclassified(j, details);
	if (st == INVAR_OK)
		return inv_results_detail(j->in->results, "worst", j->in->column, details);
	json_decref(details);
	return st;
}

static invar_status measure_worst(const inv_measure_input *in)
{
	job j = {.in = in};
	invar_status st = inv_outcomes_take(in, 1u << INV_DISPLACEMENT | 1u << INV_KEPT,
	                                    "worst images", &j.outcomes);

	if (st == INVAR_OK)
		st = read_names(&j);
	if (st == INVAR_OK && !(j.image = inv_calloc(j.outcomes->n, sizeof *j.image)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a list of images");
	if (st == INVAR_OK) {
		average(&j);
		st = put_results(&j);
	}
	inv_free(j.image);
	inv_free(j.label);
	inv_free(j.name);
	return st;
}

static const invar_metric metrics[] = {
	{.id = "worst.displacement",
     .measurement = "worst",
     .row = "displacement of the worst image",
     .better = -1,
     .digits = 2},
	{.id = "worst.never",
     .measurement = "worst",
     .row = "images LC-kept never recognises in copies",
     .unit = INVAR_UNIT_SHARE,
     .better = -1,
     .digits = 1},
	{0},
};

const inv_measurement inv_measurement_worst = {
	.name = "worst",
	.title = "worst images",
	.about = "images whose copies are displaced or misclassified most, by name",
	.needs = INV_NEEDS_COPIES | INV_USES_LABELS | INV_NEEDS_SPREAD,
	.on_request = true,
	.shares = "probe-epochs|probe-input|points|train-split|seed",
	.metrics = metrics,
	.measure = measure_worst};
