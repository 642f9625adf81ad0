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
#include "measure/outcomes.h"

enum { LISTED = 20, NAMED = 3 };

typedef struct image {
	uint64_t row;
	double displacement;
	double wrong; /* fraction of the copies; NaN: no label, or not measured */
} image;

typedef struct worst_list {
	const inv_measure_input *in;
	const inv_outcomes *outcomes; /* of the column */
	image *image;                 /* [n] */
	int64_t *label;               /* [rows of the split]; NULL: it has none */
	char **name;                  /* [rows of the split]; NULL: the bank has none */
} worst_list;

static int by_displacement(const void *a, const void *b)
{
	const image *x = a, *y = b;

	if (x->displacement != y->displacement)
		return x->displacement > y->displacement ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int by_wrong(const void *a, const void *b)
{
	const image *x = a, *y = b;
	double p = isnan(x->wrong) ? -1 : x->wrong, q = isnan(y->wrong) ? -1 : y->wrong;

	if (p != q)
		return p > q ? -1 : 1;
	return by_displacement(a, b);
}

static json_t *describe_image(const worst_list *w, const image *x)
{
	json_t *entry = json_pack("{s:I}", "row", (json_int_t)x->row);
	char text[INV_CLASS_TEXT];
	const char *class = w->label ? inv_bank_class(w->in->bank, w->label[x->row]) : NULL;

	if (w->name)
		json_object_set_new(entry, "name", inv_json_path(w->name[x->row]));
	if (class)
		json_object_set_new(entry, "class",
		                    json_string(inv_class_text(class, w->label[x->row], text)));
	else if (w->label && w->label[x->row] >= 0)
		json_object_set_new(entry, "class", json_integer(w->label[x->row]));
	json_object_set_new(entry, "displacement", inv_json_number(x->displacement));
	if (!isnan(x->wrong))
		json_object_set_new(entry, "misclassified", inv_json_number(x->wrong));
	return entry;
}

static json_t *list_images(const worst_list *w)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < w->outcomes->n && i < LISTED; i++)
		json_array_append_new(list, describe_image(w, &w->image[i]));
	return list;
}

static invar_status note_first(const worst_list *w, const char *what)
{
	char sentence[1200], row[INV_ROW_TEXT];
	size_t fill = (size_t)snprintf(sentence, sizeof sentence,
	                               "%.100s: images whose copies are %s most: row",
	                               w->in->title, what);

	for (uint64_t i = 0; i < w->outcomes->n && i < NAMED && fill < sizeof sentence; i++)
		fill +=
			(size_t)snprintf(sentence + fill, sizeof sentence - fill, "%s %s", i ? "," : "",
		                     inv_row_text(w->in->bank, w->in->split, w->image[i].row, row));
	return inv_results_note(w->in->results, sentence);
}

static invar_status put_worst_lists(worst_list *w, json_t *details)
{
	const inv_measure_input *in = w->in;
	uint64_t n = w->outcomes->n, labelled = 0, all_wrong = 0;

	qsort(w->image, n, sizeof *w->image, by_displacement);
	json_object_set_new(details, "displaced", list_images(w));
	INV_TRY(inv_put_number(in->results, "worst.displacement", in->column,
	                       w->image[0].displacement, n));
	INV_TRY(note_first(w, "displaced"));
	if (!w->outcomes->value[INV_KEPT])
		return INVAR_OK;
	qsort(w->image, n, sizeof *w->image, by_wrong);
	for (uint64_t i = 0; i < n; i++) {
		labelled += !isnan(w->image[i].wrong);
		all_wrong += w->image[i].wrong == 1;
	}
	json_object_set_new(details, "misclassified", list_images(w));
	INV_TRY(inv_put_number(in->results, "worst.never", in->column,
	                       (double)all_wrong / (double)labelled, labelled));
	return note_first(w, "misclassified");
}

static invar_status measure_worst(const inv_measure_input *in)
{
	const inv_split *s = in->split;
	const inv_outcomes *o;
	worst_list w = {.in = in};
	json_t *details;
	invar_status st;

	INV_TRY(inv_outcomes_take(in, 1u << INV_DISPLACEMENT | 1u << INV_KEPT, "worst images",
	                          &w.outcomes));
	o = w.outcomes;
	INV_TRY(inv_pool_zeros(in->scratch, &w.image, o->n));
	if (s->labels) {
		INV_TRY(inv_pool_zeros(in->scratch, &w.label, s->rows));
		if (invar_bank_labels(in->bank, s->name, w.label) != INVAR_OK)
			return INVAR_E_MISMATCH;
	}
	if (inv_bank_has_names(in->bank, s->name))
		INV_TRY(invar_bank_names(in->bank, s->name, &w.name));
	for (uint64_t i = 0; i < o->n; i++) {
		double displacement = 0, right = 0;

		for (uint32_t copy = 0; copy < o->copies; copy++) {
			uint64_t at = copy * o->n + i;

			displacement += o->value[INV_DISPLACEMENT][at];
			right += o->value[INV_KEPT] ? o->value[INV_KEPT][at] : NAN;
		}
		w.image[i] = (image){inv_selected_row(&o->images, i), displacement / o->copies,
		                     1 - right / o->copies};
	}
	details = json_object();
	INV_TRY_OR(end, put_worst_lists(&w, details));
	st = inv_results_detail(in->results, "worst", in->column, json_incref(details));
end:
	json_decref(details);
	inv_free(w.name);
	return st;
}

static const invar_metric metrics[] = {
	INV_NUMBER_METRIC("worst", "worst.displacement", "displacement of the worst image",
                      NULL, -1, 2),
	INV_SHARE_METRIC("worst", "worst.never", "images LC-kept never recognises in copies",
                     NULL, -1),
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
