/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_rows.c - held-out images, and the rows that F and E are measured on.
 *
 * Images are held out in runs of RUN neighbours in the order of the split. Neighbours are
 * often alike: tiles of one photograph, frames of one video. An image whose neighbours were
 * fitted is easier than one of another place, which test images are: on UC Merced, whose
 * classes are such series, single images held out are classified 4 points better than test
 * images. In a shuffled split runs change nothing.
 *
 * A fifth is held out. Where that is fewer than ENOUGH images, other fifths are held out in
 * turn until there are as many, or all images were: intervals over a few dozen images would
 * hide most gains, and a fit to so few images is quick.
 *
 * Memory and time are bounded whatever the bank: at most 4,000 queries and a gallery of
 * 10,000 rows, the held-out images and others spread evenly. A smaller gallery raises every
 * recall, of F and E alike.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bank/bank.h"
#include "base/rng.h"
#include "measure/labels.h"
#include "measure/trial.h"

enum {
	ONE_IN = 5, /* one image in so many is held out */
	ENOUGH = 250,
	MAX_HELD = 2000,
	MAX_QUERIES = 4000,
	MAX_GALLERY = 10000,
	RUN = 20,
	MIN_RUNS = 5 /* per fold */
};

static uint32_t limit_count(uint64_t n, uint32_t most)
{
	return n < most ? (uint32_t)n : most;
}

/*
 * Runs in random order, one after another: fold k holds out the images from k * held on. A
 * run that is cut leaves its rest to the next fold. Both lists keep the order of the split.
 */
static invar_status draw_held(inv_trial_rows *r)
{
	uint32_t run = limit_count(r->held / MIN_RUNS, RUN), runs = (r->images + run - 1) / run;
	inv_stream stream = inv_stream_of(r->seed, "trial/images", 0);
	uint32_t *order, *place, at = 0; /* place: of an image in that order */

	INV_TRY(inv_pool_zeros(&r->scratch, &order, runs));
	INV_TRY(inv_pool_zeros(&r->scratch, &place, r->images));
	inv_permutation(&stream, 0, order, runs);
	for (uint32_t i = 0; i < runs; i++)
		for (uint32_t j = order[i] * run; j < (order[i] + 1) * run && j < r->images; j++)
			place[j] = at++;
	for (uint32_t k = 0; k < r->folds; k++) {
		uint32_t fitted = 0, held = r->fitted;

		INV_TRY(inv_pool_zeros(&r->scratch, &r->fold[k].images, r->images));
		for (uint32_t i = 0; i < r->images; i++)
			r->fold[k].images[place[i] / r->held == k ? held++ : fitted++] = i;
	}
	return INVAR_OK;
}

/* The image of a row of the gallery: held-out ones, then others spread evenly. */
static uint32_t gallery_image(const inv_trial_rows *r, const inv_trial_fold *f,
                              uint64_t row)
{
	uint64_t others = r->gallery - r->held;

	if (row < r->held)
		return f->images[r->fitted + row];
	return f->images[(row - r->held) * r->fitted / others];
}

static invar_status number_trial_classes(inv_trial_rows *r, const inv_labels *l)
{
	uint32_t *of_image, *count, largest = 0;

	INV_TRY(inv_pool_zeros(&r->scratch, &of_image, r->images));
	INV_TRY(inv_pool_zeros(&r->scratch, &count, l->classes));
	for (uint64_t i = 0; i < r->images; i++)
		of_image[i] = INV_PLACES_NO_CLASS;
	for (uint64_t i = 0; i < l->rows; i++) {
		uint32_t class = inv_labels_class(l, l->label[i]);

		of_image[l->row ? l->row[i] : i] = class;
		if (++count[class] > largest)
			largest = count[class];
	}
	r->majority = (double)largest / (double)l->rows;
	for (uint32_t k = 0; k < r->folds; k++) {
		inv_trial_fold *f = &r->fold[k];

		INV_TRY(inv_pool_zeros(&r->scratch, &f->class, r->gallery));
		INV_TRY(inv_pool_zeros(&r->scratch, &f->query_class, r->queries));
		for (uint64_t i = 0; i < r->gallery; i++)
			f->class[i] = of_image[gallery_image(r, f, i)];
		for (uint64_t i = 0; i < r->queries; i++)
			f->query_class[i] = f->class[f->own[i]];
	}
	r->labelled = true;
	return INVAR_OK;
}

/* If there are no classes to compare, r->no_labels says why. */
static invar_status read_classes(inv_trial_rows *r)
{
	const char *split = r->source->split;
	inv_labels l = {0};
	invar_status st = INVAR_OK;

	if (!r->source->stored->labels) {
		snprintf(r->no_labels, sizeof r->no_labels, "%s has no labels.npy", split);
		return INVAR_OK;
	}
	INV_TRY(inv_labels_read(r->bank, r->source->stored, &l));
	if (!l.rows)
		snprintf(r->no_labels, sizeof r->no_labels, "no row of %s has a label", split);
	else if (l.classes < 2)
		snprintf(r->no_labels, sizeof r->no_labels,
		         "all rows of %s have class %" PRId64
		         ", but at least two classes are needed",
		         split, l.class_label[0]);
	else
		st = number_trial_classes(r, &l);
	inv_labels_clear(&l);
	return st;
}

invar_status inv_trial_rows_open(inv_source *source, const invar_options *o,
                                 inv_trial_rows *out)
{
	uint32_t n = (uint32_t)source->rows, held = limit_count(n / ONE_IN, MAX_HELD);
	uint32_t folds = limit_count((ENOUGH + held - 1) / held, INV_TRIAL_MAX_FOLDS);

	*out = (inv_trial_rows){.ctx = source->ctx,
	                        .bank = source->bank,
	                        .source = source,
	                        .seed = inv_option_count(o, "seed"),
	                        .d = source->dim,
	                        .images = n,
	                        .held = held,
	                        .fitted = n - held,
	                        .folds = folds,
	                        .copies =
	                            limit_count(source->copies, MAX_QUERIES / (folds * held)),
	                        .gallery = limit_count(n, MAX_GALLERY)};
	out->queries = (uint64_t)out->copies * held;
	if (!source->bank->in_memory)
		INV_TRY(inv_bank_agree(source->ctx, source->stored, source->copies));
	INV_TRY(draw_held(out));
	for (uint32_t k = 0; k < folds; k++) {
		inv_trial_fold *f = &out->fold[k];

		INV_TRY(inv_pool_zeros(&out->scratch, &f->clean, out->gallery * out->d));
		INV_TRY(inv_pool_zeros(&out->scratch, &f->query, out->queries * out->d));
		INV_TRY(inv_pool_zeros(&out->scratch, &f->own, out->queries));
		for (uint64_t i = 0; i < out->gallery; i++)
			INV_TRY(inv_bank_row(out->bank, source->stored, INVAR_CLEAN,
			                     gallery_image(out, f, i), f->clean + i * out->d));
		for (uint64_t i = 0; i < out->queries; i++) {
			f->own[i] = (uint32_t)(i % out->held);
			INV_TRY(inv_bank_row(out->bank, source->stored, (int32_t)(i / out->held),
			                     f->images[out->fitted + f->own[i]],
			                     f->query + i * out->d));
		}
	}
	return read_classes(out);
}

void inv_trial_rows_clear(inv_trial_rows *r)
{
	for (uint32_t k = 0; k < r->folds; k++) {
		inv_free(r->fold[k].code_clean);
		inv_free(r->fold[k].code_query);
	}
	inv_pool_free(&r->scratch);
	inv_source_close(r->source);
	*r = (inv_trial_rows){0};
}
