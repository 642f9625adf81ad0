/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_rows.c - held-out images, and the rows that candidates are compared on.
 *
 * Images are held out in runs of RUN neighbours in the order of the split. Neighbours are
 * often alike: tiles of one photograph, frames of one video. An image whose neighbours were
 * fitted is easier than one of another place, which test images are: on UC Merced, whose
 * classes are such series, single images held out are classified 4 points better than test
 * images and prefer too little regularisation. In a shuffled split runs change nothing.
 *
 * Memory and time are bounded whatever the bank: at most 4,000 queries and a gallery of
 * 10,000 rows, the held-out images and others spread evenly. A smaller gallery raises every
 * recall, of all candidates alike.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "measure/labels.h"
#include "recipe/choose.h"

enum {
	MIN_HELD = 100,
	MAX_HELD = 2000,
	MAX_QUERIES = 4000,
	MAX_GALLERY = 10000,
	MAX_FOLDS = 5,
	RUN = 20,
	MIN_RUNS = 5, /* per fold */
	MIN_IMAGES = 20
};

/* A fifth, within bounds; with few images, half. */
static uint32_t count_held(uint64_t images)
{
	uint64_t held = images / 5;

	if (held < MIN_HELD)
		held = MIN_HELD < images / 2 ? MIN_HELD : images / 2;
	return (uint32_t)(held < MAX_HELD ? held : MAX_HELD);
}

/*
 * Runs in random order, one after another: fold k holds out the images from k * held on. A
 * run that is cut leaves its rest to the next fold. Both parts keep the order of the split.
 */
static void part_images(inv_choice_rows *r, const uint32_t *order, uint32_t runs,
                        uint32_t run, bool *out)
{
	uint32_t n = (uint32_t)r->source->rows, at = 0, kept = 0, last = r->fitted;

	for (uint32_t i = 0; i < runs; i++)
		for (uint32_t j = order[i] * run; j < (order[i] + 1) * run && j < n; j++, at++)
			out[j] = at / r->held == r->fold;
	for (uint32_t i = 0; i < n; i++)
		r->images[out[i] ? last++ : kept++] = i;
}

static invar_status draw_held(inv_choice_rows *r, uint64_t seed)
{
	uint32_t n = (uint32_t)r->source->rows, run, runs, *order;
	inv_stream stream = inv_stream_of(seed, "choice/images", 0);
	bool *out = inv_calloc(n, sizeof *out);

	r->held = count_held(n);
	r->fitted = n - r->held;
	r->folds = n / r->held < MAX_FOLDS ? n / r->held : MAX_FOLDS;
	run = r->held / MIN_RUNS < RUN ? r->held / MIN_RUNS : RUN;
	runs = (n + run - 1) / run;
	order = inv_calloc(runs, sizeof *order);
	r->images = inv_calloc(n, sizeof *r->images);
	if (out && order && r->images) {
		inv_permutation(&stream, 0, order, runs);
		part_images(r, order, runs, run, out);
	}
	inv_free(order);
	inv_free(out);
	return out && order && r->images
	           ? INVAR_OK
	           : inv_fail(INVAR_E_NOMEM,
	                      "not enough memory for a list of %" PRIu32 " images", n);
}

/* The image of a row of the gallery: held-out ones, then others spread evenly. */
static uint32_t gallery_image(const inv_choice_rows *r, uint64_t row)
{
	uint64_t others = r->gallery - r->held;

	if (row < r->held)
		return r->images[r->fitted + row];
	return r->images[(row - r->held) * r->fitted / others];
}

static invar_status read_rows(inv_choice_rows *r)
{
	const inv_split *s = r->source->stored;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < r->gallery && st == INVAR_OK; i++)
		st =
			inv_bank_row(r->bank, s, INVAR_CLEAN, gallery_image(r, i), r->clean + i * r->d);
	for (uint64_t i = 0; i < r->queries && st == INVAR_OK; i++) {
		r->own[i] = (uint32_t)(i % r->held);
		st = inv_bank_row(r->bank, s, (int32_t)(i / r->held),
		                  r->images[r->fitted + r->own[i]], r->query + i * r->d);
	}
	return st;
}

static invar_status read_classes(inv_choice_rows *r)
{
	uint32_t *of_image = inv_calloc(r->source->rows, sizeof *of_image);
	inv_labels l = {0};
	invar_status st = of_image ? inv_labels_read(r->bank, r->source->stored, &l)
	                           : inv_fail(INVAR_E_NOMEM, "not enough memory for labels");

	for (uint64_t i = 0; i < r->source->rows && st == INVAR_OK; i++)
		of_image[i] = INV_RANKS_NO_CLASS;
	for (uint64_t i = 0; i < l.rows && st == INVAR_OK; i++)
		of_image[l.row ? l.row[i] : i] = inv_labels_class(&l, l.label[i]);
	for (uint64_t i = 0; i < r->gallery && st == INVAR_OK; i++)
		r->class[i] = of_image[gallery_image(r, i)];
	for (uint64_t i = 0; i < r->queries && st == INVAR_OK; i++)
		r->own_class[i] = r->class[r->own[i]];
	inv_labels_clear(&l);
	inv_free(of_image);
	return st;
}

static invar_status check_bank(const inv_choice_rows *r, const inv_goal *g)
{
	const inv_source *from = r->source;

	if (!from->copies)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has no augmented copies (aug/000.npy …), on which a choice "
		                "is made; encode it again with @augment to add them",
		                from->name, from->split);
	if (from->rows < MIN_IMAGES)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has %" PRIu64
		                " %s, too few to hold some out and choose on them: at least %d; "
		                "without @goal and @keep-structure nothing is held out",
		                from->name, from->split, from->rows,
		                inv_noun(from->rows, "image", "images"), MIN_IMAGES);
	if (g->kind == INV_GOAL_CLASSIFY && !from->stored->labels)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has no labels.npy, which @goal classify is measured with; "
		                "@goal same-image needs none",
		                from->name, from->split);
	return INVAR_OK;
}

static bool allocate_rows(inv_choice_rows *r, bool classes)
{
	r->clean = inv_alloc(r->gallery * r->d * sizeof *r->clean);
	r->query = inv_alloc(r->queries * r->d * sizeof *r->query);
	r->own = inv_calloc(r->queries, sizeof *r->own);
	r->class = classes ? inv_calloc(r->gallery, sizeof *r->class) : NULL;
	r->own_class = classes ? inv_calloc(r->queries, sizeof *r->own_class) : NULL;
	return r->clean && r->query && r->own && (!classes || (r->class && r->own_class));
}

static invar_status fill_rows(inv_choice_rows *r, const inv_goal *g)
{
	bool classes = g->kind == INV_GOAL_CLASSIFY;
	uint32_t fit = MAX_QUERIES / r->held;
	invar_status st;

	r->copies = r->source->copies < fit ? r->source->copies : fit;
	r->queries = (uint64_t)r->copies * r->held;
	r->gallery = r->source->rows < MAX_GALLERY ? r->source->rows : MAX_GALLERY;
	if (!allocate_rows(r, classes))
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for %" PRIu64 " rows to choose on",
		                r->queries + r->gallery);
	if ((st = read_rows(r)) != INVAR_OK)
		return st;
	return classes ? read_classes(r) : INVAR_OK;
}

invar_status inv_choice_rows_open(const invar_bank *bank, const invar_options *o,
                                  const inv_goal *g, uint32_t fold, inv_choice_rows *out)
{
	invar_status st;

	*out = (inv_choice_rows){.ctx = bank->ctx, .bank = bank, .d = bank->dim, .fold = fold};
	if ((st = inv_bank_source_open(bank, &out->source)) == INVAR_OK)
		st = inv_source_select(out->source, inv_option_text(o, "split"),
		                       inv_option_count(o, "copies"));
	if (st == INVAR_OK)
		st = check_bank(out, g);
	if (st == INVAR_OK)
		st = draw_held(out, inv_option_count(o, "seed"));
	return st == INVAR_OK ? fill_rows(out, g) : st;
}

void inv_choice_rows_clear(inv_choice_rows *r)
{
	inv_source_close(r->source);
	inv_free(r->images);
	inv_free(r->clean);
	inv_free(r->query);
	inv_free(r->class);
	inv_free(r->own);
	inv_free(r->own_class);
	*r = (inv_choice_rows){0};
}
