/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_accuracy.c - how often copies of each class are recognised, in the old index and
 * by a classifier of F.
 *
 * Every class is a metric of its own, for programs; the table has the weakest and the
 * strongest, and a note names the weakest ones. The fraction of an image is over its
 * copies, intervals are over the images of the class.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "measure/outcomes.h"

enum { MAX_CLASSES = 1000, NAMED = 3, NAME = INV_CLASS_TEXT };

typedef struct class_table {
	const inv_measure_input *in;
	const inv_outcomes *outcomes; /* of the column */
	int64_t *label;               /* [n]; -1: none */
	double *fraction;             /* [n]: of the images of one class */
	inv_interval *found;          /* [classes]; 0 images: left out by the option points */
} class_table;

static const char *class_name(const class_table *c, uint32_t k, char text[INV_CLASS_TEXT])
{
	int64_t label = c->in->labels.class_label[k];

	return inv_class_text(inv_bank_class(c->in->bank, label), label, text);
}

static invar_status put_class(const class_table *c, inv_outcome which, uint32_t k)
{
	char name[NAME], id[NAME + 40], row[NAME + INV_OUTCOME_TITLE + 8];
	char title[INV_OUTCOME_TITLE];
	invar_metric metric = INV_SHARE_METRIC("classes", id, row, NULL, 1);

	metric.detail = 1;
	class_name(c, k, name);
	snprintf(id, sizeof id, "class.%s.%s", inv_outcome_id(which), name);
	snprintf(row, sizeof row, "%s, %s", inv_outcome_title(c->in, which, title), name);
	INV_TRY(inv_results_add_metric(c->in->results, &metric));
	return inv_put_interval(c->in->results, id, c->in->column, &c->found[k]);
}

/* The class that follows `after` in the order of accuracy, of equal ones the first. */
static uint32_t next_weakest(const class_table *c, uint32_t after)
{
	uint32_t best = INV_NO_CLASS;

	for (uint32_t k = 0; k < c->in->labels.classes; k++) {
		double v = c->found[k].value;
		bool later = after == INV_NO_CLASS || v > c->found[after].value ||
		             (v == c->found[after].value && k > after);

		if (c->found[k].images && later &&
		    (best == INV_NO_CLASS || v < c->found[best].value))
			best = k;
	}
	return best;
}

static invar_status put_outcome(class_table *c, inv_outcome which)
{
	const inv_measure_input *in = c->in;
	uint32_t classes = in->labels.classes, low, high, k;
	char sentence[800], name[NAME], title[INV_OUTCOME_TITLE], id[64];
	size_t fill;

	for (k = 0; k < classes; k++) {
		const inv_outcomes *o = c->outcomes;
		uint64_t images = 0;

		for (uint64_t i = 0; i < o->n; i++) {
			double sum = 0;

			if (c->label[i] != in->labels.class_label[k])
				continue;
			for (uint32_t copy = 0; copy < o->copies; copy++)
				sum += o->value[which][copy * o->n + i];
			c->fraction[images++] = sum / o->copies;
		}
		c->found[k] = (inv_interval){.images = images};
		if (images)
			INV_TRY(inv_bootstrap(in->ctx, c->fraction, images, 1, in->seed, &c->found[k]));
	}
	low = high = next_weakest(c, INV_NO_CLASS);
	if (low == INV_NO_CLASS)
		return inv_fail(INVAR_E_MISMATCH,
		                "no selected row of %s has a label; raise @points",
		                in->split->name);
	for (k = 0; k < classes; k++)
		if (c->found[k].images) {
			if (c->found[k].value > c->found[high].value)
				high = k;
			INV_TRY(put_class(c, which, k));
		}
	snprintf(id, sizeof id, "classes.%s.weakest", inv_outcome_id(which));
	INV_TRY(inv_put_number(in->results, id, in->column, c->found[low].value,
	                       c->found[low].images));
	snprintf(id, sizeof id, "classes.%s.strongest", inv_outcome_id(which));
	INV_TRY(inv_put_number(in->results, id, in->column, c->found[high].value,
	                       c->found[high].images));

	fill =
		(size_t)snprintf(sentence, sizeof sentence,
	                     "%.100s, %s: classes recognised least often in copies:", in->title,
	                     inv_outcome_title(in, which, title));
	k = low;
	for (int i = 0; i < NAMED && k != INV_NO_CLASS && fill < sizeof sentence; i++) {
		fill +=
			(size_t)snprintf(sentence + fill, sizeof sentence - fill, "%s %s (%.1f %%)",
		                     i ? "," : "", class_name(c, k, name), 100 * c->found[k].value);
		k = next_weakest(c, k);
	}
	return inv_results_note(in->results, sentence);
}

static invar_status measure_classes(const inv_measure_input *in)
{
	class_table c = {.in = in};

	if (in->labels.classes > MAX_CLASSES)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has %" PRIu32 " classes, but at most %d are listed one by one",
		                in->split->name, in->labels.classes, MAX_CLASSES);
	INV_TRY(inv_outcomes_take(in, 1u << INV_KNN | 1u << INV_KEPT, "classes", &c.outcomes));
	if (!c.outcomes->value[INV_KEPT])
		return inv_fail(INVAR_E_MISMATCH, "%s", c.outcomes->why[INV_KEPT]);
	INV_TRY(inv_pool_zeros(in->scratch, &c.label, c.outcomes->n));
	INV_TRY(inv_pool_zeros(in->scratch, &c.fraction, c.outcomes->n));
	INV_TRY(inv_pool_zeros(in->scratch, &c.found, in->labels.classes));
	inv_measure_labels(&c.outcomes->images, &in->labels, c.label);
	INV_TRY(put_outcome(&c, INV_KNN));
	return put_outcome(&c, INV_KEPT);
}

#define ENDS(ID, ROW)                                                         \
	INV_SHARE_METRIC("classes", "classes." ID ".weakest", ROW, "weakest", 1), \
		INV_SHARE_METRIC("classes", "classes." ID ".strongest", ROW, "strongest", 1)

static const invar_metric metrics[] = {
	ENDS("knn", "kNN, old index, weakest | strongest class"),
	ENDS("kept", "LC-kept, weakest | strongest class"),
	{0},
};

const inv_measurement inv_measurement_classes = {
	.name = "classes",
	.title = "accuracy by class",
	.about = "how often copies of each class are recognised",
	.needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN | INV_NEEDS_COPIES | INV_NEEDS_SPREAD,
	.on_request = true,
	.shares = "k|metric|probe-epochs|probe-input|points|train-split|seed",
	.metrics = metrics,
	.measure = measure_classes};
