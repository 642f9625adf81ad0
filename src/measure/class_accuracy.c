/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_accuracy.c - how often copies of each class are recognised, with an index and a
 * classifier of old features.
 *
 * Every class is a metric of its own, for programs; the table has the weakest and the
 * strongest, and a note names the weakest ones. The share of an image is over its copies,
 * intervals are over the images of the class.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "base/memory.h"
#include "measure/bootstrap.h"
#include "measure/outcomes.h"

enum { MAX_CLASSES = 1000, NAMED = 3, NAME = INV_CLASS_TEXT };

typedef struct job {
	const inv_measure_input *in;
	const inv_outcomes *outcomes; /* of the column */
	int64_t *label;               /* [n]; -1: none */
	double *share;                /* [n]: of the images of one class */
	inv_interval *found;          /* [classes] */
} job;

static const char *class_name(const job *j, uint32_t k, char text[INV_CLASS_TEXT])
{
	int64_t label = j->in->labels.class_label[k];

	return inv_class_text(inv_bank_class(j->in->bank, label), label, text);
}

static uint64_t gather(job *j, inv_outcome which, int64_t label)
{
	const inv_outcomes *o = j->outcomes;
	uint64_t images = 0;

	for (uint64_t i = 0; i < o->n; i++) {
		double sum = 0;

		if (j->label[i] != label)
			continue;
		for (uint32_t copy = 0; copy < o->copies; copy++)
			sum += o->value[which][copy * o->n + i];
		j->share[images++] = sum / o->copies;
	}
	return images;
}

/* ---- Results ------------------------------------------------------------------------- */

static invar_status put_class(const job *j, inv_outcome which, uint32_t k)
{
	char name[NAME], id[NAME + 40], row[NAME + INV_OUTCOME_TITLE + 8];
	char title[INV_OUTCOME_TITLE], why[INV_INTERVAL_WHY];
	const invar_metric metric = {.id = id,
	                             .measurement = "classes",
	                             .row = row,
	                             .unit = INVAR_UNIT_SHARE,
	                             .better = 1,
	                             .digits = 1,
	                             .detail = 1};
	invar_value value = inv_interval_value(&j->found[k], why);
	invar_status st;

	class_name(j, k, name);
	snprintf(id, sizeof id, "class.%s.%s", inv_outcome_id(which), name);
	snprintf(row, sizeof row, "%s, %s", inv_outcome_title(j->in, which, title), name);
	st = inv_results_add_metric(j->in->results, &metric);
	return st == INVAR_OK ? inv_results_put(j->in->results, id, j->in->column, &value) : st;
}

static invar_status put_extreme(const job *j, inv_outcome which, const char *end,
                                uint32_t k)
{
	const invar_value v = {
		.value = j->found[k].value, .low = NAN, .high = NAN, .count = j->found[k].images};
	char id[64];

	snprintf(id, sizeof id, "classes.%s.%s", inv_outcome_id(which), end);
	return inv_results_put(j->in->results, id, j->in->column, &v);
}

/* The class with the lowest accuracy above `k` in order, of equal ones the first. */
static uint32_t next_weakest(const job *j, uint32_t after)
{
	uint32_t best = INV_NO_CLASS;

	for (uint32_t k = 0; k < j->in->labels.classes; k++) {
		double v = j->found[k].value;
		bool later = after == INV_NO_CLASS || v > j->found[after].value ||
		             (v == j->found[after].value && k > after);

		if (j->found[k].images && later &&
		    (best == INV_NO_CLASS || v < j->found[best].value))
			best = k;
	}
	return best;
}

static invar_status note_weakest(const job *j, inv_outcome which)
{
	char sentence[800], name[NAME], title[INV_OUTCOME_TITLE];
	size_t fill = (size_t)snprintf(sentence, sizeof sentence,
	                               "%.100s, %s: classes recognised least often in copies:",
	                               j->in->title, inv_outcome_title(j->in, which, title));
	uint32_t k = INV_NO_CLASS;

	for (int i = 0; i < NAMED && fill < sizeof sentence; i++) {
		k = next_weakest(j, k);
		if (k == INV_NO_CLASS)
			break;
		fill +=
			(size_t)snprintf(sentence + fill, sizeof sentence - fill, "%s %s (%.1f %%)",
		                     i ? "," : "", class_name(j, k, name), 100 * j->found[k].value);
	}
	return inv_results_note(j->in->results, sentence);
}

static invar_status put_outcome(job *j, inv_outcome which)
{
	uint32_t classes = j->in->labels.classes, low = INV_NO_CLASS, high = INV_NO_CLASS;
	invar_status st = INVAR_OK;

	for (uint32_t k = 0; k < classes && st == INVAR_OK; k++) {
		uint64_t images = gather(j, which, j->in->labels.class_label[k]);

		j->found[k] = (inv_interval){.images = images};
		if (!images) /* left out by the option points */
			continue;
		st = inv_bootstrap(j->in->ctx, j->share, images, j->in->seed, &j->found[k]);
		if (low == INV_NO_CLASS || j->found[k].value < j->found[low].value)
			low = k;
		if (high == INV_NO_CLASS || j->found[k].value > j->found[high].value)
			high = k;
	}
	for (uint32_t k = 0; k < classes && st == INVAR_OK; k++)
		if (j->found[k].images)
			st = put_class(j, which, k);
	if (st == INVAR_OK)
		st = put_extreme(j, which, "weakest", low);
	if (st == INVAR_OK)
		st = put_extreme(j, which, "strongest", high);
	return st == INVAR_OK ? note_weakest(j, which) : st;
}

/* ---- The column ---------------------------------------------------------------------- */

static invar_status check_classes(const inv_measure_input *in)
{
	if (in->labels.classes <= MAX_CLASSES)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s has %" PRIu32 " classes, but at most %d are listed one by one",
	                in->split->name, in->labels.classes, MAX_CLASSES);
}

static invar_status allocate_classes(job *j)
{
	j->label = inv_calloc(j->outcomes->n, sizeof *j->label);
	j->share = inv_calloc(j->outcomes->n, sizeof *j->share);
	j->found = inv_calloc(j->in->labels.classes, sizeof *j->found);
	return j->label && j->share && j->found
	           ? INVAR_OK
	           : inv_fail(INVAR_E_NOMEM, "not enough memory for accuracies by class");
}

static invar_status measure_classes(const inv_measure_input *in)
{
	job j = {.in = in};
	invar_status st = check_classes(in);

	if (st == INVAR_OK)
		st = inv_outcomes_take(in, 1u << INV_KNN | 1u << INV_KEPT, "classes", &j.outcomes);
	if (st == INVAR_OK && !j.outcomes->value[INV_KEPT])
		st = inv_fail(INVAR_E_MISMATCH, "%s", j.outcomes->why[INV_KEPT]);
	if (st == INVAR_OK)
		st = allocate_classes(&j);
	if (st == INVAR_OK) {
		inv_measure_labels(&j.outcomes->images, &in->labels, j.label);
		st = put_outcome(&j, INV_KNN);
	}
	if (st == INVAR_OK)
		st = put_outcome(&j, INV_KEPT);
	inv_free(j.label);
	inv_free(j.share);
	inv_free(j.found);
	return st;
}

#define ENDS(ID, ROW)                                                           \
	{.id = "classes." ID ".weakest",                                            \
	 .measurement = "classes",                                                  \
	 .row = ROW,                                                                \
	 .part = "weakest",                                                         \
	 .unit = INVAR_UNIT_SHARE,                                                  \
	 .better = 1,                                                               \
	 .digits = 1},                                                              \
	{                                                                           \
		.id = "classes." ID ".strongest", .measurement = "classes", .row = ROW, \
		.part = "strongest", .unit = INVAR_UNIT_SHARE, .better = 1, .digits = 1 \
	}

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
	.shares = "k|probe-epochs|probe-input|points|train-split|seed",
	.metrics = metrics,
	.measure = measure_classes};
