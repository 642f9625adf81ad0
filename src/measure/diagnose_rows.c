/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose_rows.c - the images of a diagnosis: which are fitted and which held out, their
 * clean features, their classes, and the classifier trained on the fitted ones.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "math/ranks.h"
#include "measure/diagnose.h"
#include "measure/labels.h"

/* One image in five is held out; ten of these give an interval (bootstrap.h). */
enum { HELD_OUT = 5, MIN_IMAGES = HELD_OUT * INV_INTERVAL_IMAGES };

/* Of LC-kept, as eval's default; of few images more, so that it learns at all. */
enum { EPOCHS = 50, MIN_STEPS = INV_CLASSIFIER_FEW_STEPS };

static invar_status no_memory(const inv_diagnosis_rows *r)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu32 " images of %s", r->n,
	                r->bank->path);
}

/* ---- Images ---------------------------------------------------------------------- */

static invar_status check_split(const invar_bank *bank, const inv_split *s, uint64_t images)
{
	if (!s->copies)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has no augmented copies (aug/000.npy …), which a diagnosis "
		                "needs; encode it again with @augment to add them",
		                bank->path, s->name);
	if (images < MIN_IMAGES)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: %" PRIu64 " %s of %s: a diagnosis needs at least %d, to fit maps "
			"to four fifths of them and measure on the rest",
			bank->path, images, inv_noun(images, "image", "images"), s->name, MIN_IMAGES);
	return INVAR_OK;
}

/* Both parts keep the order of the split. */
static invar_status choose_images(inv_diagnosis_rows *r)
{
	inv_stream stream = inv_stream_of(r->seed, "diagnose/images", 0);
	uint32_t *shuffled = inv_calloc(r->n, sizeof *shuffled);
	uint32_t kept = 0, last = r->fitted;

	r->images = inv_calloc(r->n, sizeof *r->images);
	if (!shuffled || !r->images) {
		inv_free(shuffled);
		return no_memory(r);
	}
	inv_permutation(&stream, 0, shuffled, r->n);
	for (uint32_t i = 0; i < r->n; i++)
		r->images[shuffled[i] < r->held ? last++ : kept++] =
			(uint32_t)(i * r->split->rows / r->n);
	inv_free(shuffled);
	return INVAR_OK;
}

static void find_mean(inv_diagnosis_rows *r)
{
	const float *held = r->clean + (size_t)r->fitted * r->d;

	for (uint32_t i = 0; i < r->held; i++)
		for (size_t l = 0; l < r->d; l++)
			r->mean[l] += held[i * r->d + l];
	for (size_t l = 0; l < r->d; l++)
		r->mean[l] /= r->held;
	for (uint32_t i = 0; i < r->held; i++)
		for (size_t l = 0; l < r->d; l++) {
			double gap = held[i * r->d + l] - r->mean[l];

			r->variance[i] += gap * gap;
		}
}

static invar_status read_clean(inv_diagnosis_rows *r)
{
	double variance = 0;
	invar_status st = INVAR_OK;

	r->clean = inv_calloc((size_t)r->n * r->d, sizeof *r->clean);
	r->mean = inv_calloc(r->d, sizeof *r->mean);
	r->variance = inv_calloc(r->held, sizeof *r->variance);
	if (!r->clean || !r->mean || !r->variance)
		return no_memory(r);
	for (uint32_t i = 0; i < r->n && st == INVAR_OK; i++)
		st = inv_bank_row(r->bank, r->split, INVAR_CLEAN, r->images[i],
		                  r->clean + (size_t)i * r->d);
	if (st != INVAR_OK)
		return st;
	find_mean(r);
	for (uint32_t i = 0; i < r->held; i++)
		variance += r->variance[i];
	return variance > 0 ? INVAR_OK
	                    : inv_fail(INVAR_E_NUMERIC,
	                               "%s: the clean features of the %" PRIu32
	                               " held-out images of %s are all equal, so there is "
	                               "nothing to diagnose",
	                               r->bank->path, r->held, r->split->name);
}

invar_status inv_diagnosis_read(const invar_bank *bank, const inv_split *split,
                                uint64_t points, uint64_t seed, inv_diagnosis_rows *out)
{
	uint64_t n = points && points < split->rows ? points : split->rows;
	invar_status st = check_split(bank, split, n);

	*out = (inv_diagnosis_rows){
		.bank = bank, .split = split, .seed = seed, .d = bank->dim, .n = (uint32_t)n};
	if (st != INVAR_OK)
		return st;
	out->held = (out->n + HELD_OUT - 1) / HELD_OUT;
	out->fitted = out->n - out->held;
	if ((st = choose_images(out)) != INVAR_OK)
		return st;
	return read_clean(out);
}

void inv_diagnosis_rows_clear(inv_diagnosis_rows *r)
{
	inv_free(r->images);
	inv_free(r->clean);
	inv_free(r->mean);
	inv_free(r->variance);
	inv_free(r->classes);
	inv_free(r->classifier);
	*r = (inv_diagnosis_rows){0};
}

/* ---- Classes --------------------------------------------------------------------- */

static invar_status check_labels(const inv_diagnosis_rows *r, const inv_labels *l)
{
	if (!l->rows)
		return inv_fail(INVAR_E_MISMATCH, "no row of %s has a label", r->split->name);
	if (l->classes < 2)
		return inv_fail(INVAR_E_MISMATCH,
		                "all rows of %s have class %" PRId64
		                ", but at least two classes are needed",
		                r->split->name, l->class_label[0]);
	return INVAR_OK;
}

static invar_status number_classes(inv_diagnosis_rows *r, const inv_labels *l)
{
	uint32_t *of_row = inv_calloc(r->split->rows, sizeof *of_row);

	r->classes = inv_calloc(r->n, sizeof *r->classes);
	if (!of_row || !r->classes) {
		inv_free(of_row);
		return no_memory(r);
	}
	for (uint64_t row = 0; row < r->split->rows; row++)
		of_row[row] = INV_RANKS_NO_CLASS;
	for (uint64_t i = 0; i < l->rows; i++)
		of_row[l->row ? l->row[i] : i] = inv_labels_class(l, l->label[i]);
	for (uint32_t i = 0; i < r->n; i++)
		r->classes[i] = of_row[r->images[i]];
	inv_free(of_row);
	return INVAR_OK;
}

static uint32_t count_labelled(const inv_diagnosis_rows *r, uint32_t first, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++)
		count += r->classes[i] != INV_RANKS_NO_CLASS;
	return count;
}

/* The fitted rows that have a label, side by side. */
static void gather_labelled(const inv_diagnosis_rows *r, float *x, uint32_t *classes)
{
	for (uint32_t i = 0; i < r->fitted; i++)
		if (r->classes[i] != INV_RANKS_NO_CLASS) {
			memcpy(x, r->clean + (size_t)i * r->d, r->d * sizeof *x);
			x += r->d;
			*classes++ = r->classes[i];
		}
}

static invar_status train_classifier(inv_diagnosis_rows *r, uint32_t rows)
{
	float *x = inv_calloc((size_t)rows * r->d, sizeof *x);
	uint32_t *classes = inv_calloc(rows, sizeof *classes);
	invar_status st = INVAR_OK;

	r->classifier = inv_calloc(inv_classifier_floats(&r->spec), sizeof *r->classifier);
	if (!x || !classes || !r->classifier)
		st = no_memory(r);
	if (st == INVAR_OK) {
		gather_labelled(r, x, classes);
		st = inv_classifier_train(r->bank->ctx, &r->spec, x, classes, rows, r->classifier);
	}
	inv_free(x);
	inv_free(classes);
	return st;
}

/* As many steps as for all images: those held out belong to what eval trains on. */
static uint64_t count_epochs(const inv_diagnosis_rows *r, uint32_t fitted)
{
	uint64_t steps = EPOCHS * inv_classifier_steps(count_labelled(r, 0, r->n));

	return (steps < MIN_STEPS ? MIN_STEPS : steps) / inv_classifier_steps(fitted);
}

static invar_status add_classes(inv_diagnosis_rows *r, const inv_labels *l)
{
	uint32_t rows;
	invar_status st = check_labels(r, l);

	if (st == INVAR_OK)
		st = number_classes(r, l);
	if (st != INVAR_OK)
		return st;
	rows = count_labelled(r, 0, r->fitted);
	if (!rows || !count_labelled(r, r->fitted, r->n))
		return inv_fail(INVAR_E_MISMATCH, "too few rows of %s have a label",
		                r->split->name);
	r->spec = (inv_classifier_spec){.inputs = r->d,
	                                .classes = l->classes,
	                                .epochs = count_epochs(r, rows),
	                                .seed = r->seed,
	                                .stage = "probe kept",
	                                .standardise = true};
	return train_classifier(r, rows);
}

static void drop_classes(inv_diagnosis_rows *r)
{
	inv_free(r->classes);
	inv_free(r->classifier);
	r->classes = NULL;
	r->classifier = NULL;
}

invar_status inv_diagnosis_label(inv_diagnosis_rows *r)
{
	inv_labels labels = {0};
	invar_status st;

	if (!r->split->labels)
		return inv_fail(INVAR_E_MISMATCH, "%s has no labels.npy", r->split->name);
	if ((st = inv_labels_read(r->bank, r->split, &labels)) == INVAR_OK)
		st = add_classes(r, &labels);
	inv_labels_clear(&labels);
	if (st != INVAR_OK)
		drop_classes(r);
	return st;
}
