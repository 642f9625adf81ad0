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

#include "bank/bank_ranks.h"
#include "base/memory.h"
#include "base/rng.h"
#include "measure/labels.h"
#include "measure/trial.h"

enum {
	SHARE = 5, /* one image in so many is held out */
	ENOUGH = 250,
	MAX_HELD = 2000,
	MAX_QUERIES = 4000,
	MAX_GALLERY = 10000,
	RUN = 20,
	MIN_RUNS = 5 /* per fold */
};

static uint32_t at_most(uint64_t n, uint32_t most)
{
	return n < most ? (uint32_t)n : most;
}

/*
 * Runs in random order, one after another: fold k holds out the images from k * held on. A
 * run that is cut leaves its rest to the next fold. Both lists keep the order of the split.
 */
static invar_status draw_held(inv_trial_rows *r)
{
	uint32_t run = at_most(r->held / MIN_RUNS, RUN), runs = (r->images + run - 1) / run;
	inv_stream stream = inv_stream_of(r->seed, "trial/images", 0);
	uint32_t *order = inv_calloc(runs, sizeof *order);
	uint32_t *place = inv_calloc(r->images, sizeof *place); /* of an image in that order */
	invar_status st = INVAR_OK;

	for (uint32_t k = 0; k < r->folds; k++)
		if (!(r->fold[k].images = inv_calloc(r->images, sizeof *r->fold[k].images)))
			st = INVAR_E_NOMEM;
	if (!order || !place || st != INVAR_OK) {
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a list of %" PRIu32 " images",
		              r->images);
	} else {
		uint32_t at = 0;

		inv_permutation(&stream, 0, order, runs);
		for (uint32_t i = 0; i < runs; i++)
			for (uint32_t j = order[i] * run; j < (order[i] + 1) * run && j < r->images;
			     j++)
				place[j] = at++;
		for (uint32_t k = 0; k < r->folds; k++) {
			uint32_t fitted = 0, held = r->fitted;

			for (uint32_t i = 0; i < r->images; i++)
				r->fold[k].images[place[i] / r->held == k ? held++ : fitted++] = i;
		}
	}
	inv_free(order);
	inv_free(place);
	return st;
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

static invar_status read_fold(const inv_trial_rows *r, inv_trial_fold *f)
{
	const inv_split *s = r->source->stored;
	invar_status st = INVAR_OK;

	f->clean = inv_alloc(r->gallery * r->d * sizeof *f->clean);
	f->query = inv_alloc(r->queries * r->d * sizeof *f->query);
	f->own = inv_calloc(r->queries, sizeof *f->own);
	if (!f->clean || !f->query || !f->own)
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for the %" PRIu64 " rows of a trial",
		                r->queries + r->gallery);
	for (uint64_t i = 0; i < r->gallery && st == INVAR_OK; i++)
		st = inv_bank_row(r->bank, s, INVAR_CLEAN, gallery_image(r, f, i),
		                  f->clean + i * r->d);
	for (uint64_t i = 0; i < r->queries && st == INVAR_OK; i++) {
		f->own[i] = (uint32_t)(i % r->held);
		st = inv_bank_row(r->bank, s, (int32_t)(i / r->held),
		                  f->images[r->fitted + f->own[i]], f->query + i * r->d);
	}
	return st;
}

/* Are there classes to tell apart? If not, r->no_labels says why. */
static bool has_classes(inv_trial_rows *r, const inv_labels *l)
{
	const char *split = r->source->split;

	if (!l->rows)
		snprintf(r->no_labels, sizeof r->no_labels, "no row of %s has a label", split);
	else if (l->classes < 2)
		snprintf(r->no_labels, sizeof r->no_labels,
		         "all rows of %s have class %" PRId64
		         ", but at least two classes are needed",
		         split, l->class_label[0]);
	return l->rows && l->classes > 1;
}

static invar_status number_classes(inv_trial_rows *r, const inv_labels *l)
{
	uint32_t *of_image = inv_calloc(r->images, sizeof *of_image);
	uint32_t *count = inv_calloc(l->classes, sizeof *count), largest = 0;
	bool enough = of_image && count;

	for (uint64_t i = 0; i < r->images && enough; i++)
		of_image[i] = INV_RANKS_NO_CLASS;
	for (uint64_t i = 0; i < l->rows && enough; i++) {
		uint32_t class = inv_labels_class(l, l->label[i]);

		of_image[l->row ? l->row[i] : i] = class;
		if (++count[class] > largest)
			largest = count[class];
	}
	r->majority = (double)largest / (double)l->rows;
	for (uint32_t k = 0; k < r->folds && enough; k++) {
		inv_trial_fold *f = &r->fold[k];

		f->class = inv_calloc(r->gallery, sizeof *f->class);
		f->query_class = inv_calloc(r->queries, sizeof *f->query_class);
		enough = f->class && f->query_class;
		for (uint64_t i = 0; i < r->gallery && enough; i++)
			f->class[i] = of_image[gallery_image(r, f, i)];
		for (uint64_t i = 0; i < r->queries && enough; i++)
			f->query_class[i] = f->class[f->own[i]];
	}
	r->labelled = enough;
	inv_free(of_image);
	inv_free(count);
	return enough ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for labels");
}

static invar_status read_classes(inv_trial_rows *r)
{
	inv_labels l = {0};
	invar_status st;

	if (!r->source->stored->labels) {
		snprintf(r->no_labels, sizeof r->no_labels, "%s has no labels.npy",
		         r->source->split);
		return INVAR_OK;
	}
	if ((st = inv_labels_read(r->bank, r->source->stored, &l)) == INVAR_OK &&
	    has_classes(r, &l))
		st = number_classes(r, &l);
	inv_labels_clear(&l);
	return st;
}

invar_status inv_trial_rows_open(inv_source *source, const invar_options *o,
                                 inv_trial_rows *out)
{
	uint32_t n = (uint32_t)source->rows, held = at_most(n / SHARE, MAX_HELD);
	uint32_t folds = at_most((ENOUGH + held - 1) / held, INV_TRIAL_MAX_FOLDS);
	invar_status st;

	*out = (inv_trial_rows){.ctx = source->ctx,
	                        .bank = source->bank,
	                        .source = source,
	                        .seed = inv_option_count(o, "seed"),
	                        .d = source->dim,
	                        .images = n,
	                        .held = held,
	                        .fitted = n - held,
	                        .folds = folds,
	                        .copies = at_most(source->copies, MAX_QUERIES / (folds * held)),
	                        .gallery = at_most(n, MAX_GALLERY)};
	out->queries = (uint64_t)out->copies * held;
	st = source->bank->in_memory
	         ? INVAR_OK
	         : inv_bank_agree(source->ctx, source->stored, source->copies);
	if (st == INVAR_OK)
		st = draw_held(out);
	for (uint32_t k = 0; k < folds && st == INVAR_OK; k++)
		st = read_fold(out, &out->fold[k]);
	return st == INVAR_OK ? read_classes(out) : st;
}

void inv_trial_rows_clear(inv_trial_rows *r)
{
	for (uint32_t k = 0; k < r->folds; k++) {
		inv_trial_fold *f = &r->fold[k];

		inv_free(f->images);
		inv_free(f->clean);
		inv_free(f->query);
		inv_free(f->code_clean);
		inv_free(f->code_query);
		inv_free(f->own);
		inv_free(f->class);
		inv_free(f->query_class);
	}
	inv_source_close(r->source);
	*r = (inv_trial_rows){0};
}
