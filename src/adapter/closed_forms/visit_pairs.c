/* SPDX-License-Identifier: Apache-2.0 */
/* visit_pairs.c - reading the rows of a bank in blocks of images. */
#include "adapter/closed_forms/visit_pairs.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/rng.h"

enum { BLOCK = INV_PAIR_BLOCK, HELD_OUT = 10 /* one image in so many */ };

invar_status inv_pair_visitor_open(const inv_closed_form_spec *s, bool with_clean,
                                   inv_pair_visitor *out)
{
	size_t d = s->bank->dim;

	*out = (inv_pair_visitor){
		.s = s, .d = d, .with_clean = with_clean, .total = s->image_count};
	if (!(out->clean = inv_alloc(3 * BLOCK * d * sizeof *out->clean)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a block of rows");
	out->copy = out->clean + BLOCK * d;
	out->mapped = out->copy + BLOCK * d;
	return INVAR_OK;
}

void inv_pair_visitor_close(inv_pair_visitor *v)
{
	inv_free(v->clean);
	*v = (inv_pair_visitor){0};
}

invar_status inv_pair_read(const inv_pair_visitor *v, int32_t copy, const uint32_t *images,
                           uint32_t count, float *out)
{
	invar_status st = INVAR_OK;

	for (uint32_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_bank_row(v->s->bank, v->s->split, copy, images[i], out + i * v->d);
	return st;
}

static invar_status visit_block(inv_pair_visitor *v, const uint32_t *images, uint32_t count,
                                inv_pair_fn *fn, void *user)
{
	invar_status st = inv_pair_read(v, INVAR_CLEAN, images, count, v->clean);

	if (st == INVAR_OK && v->with_clean)
		st = fn(user, v->clean, v->clean, count);
	for (uint32_t k = 0; k < v->s->copies && st == INVAR_OK; k++) {
		st = inv_pair_read(v, (int32_t)k, images, count, v->copy);
		if (st == INVAR_OK)
			st = fn(user, v->copy, v->clean, count);
	}
	for (int32_t k = INVAR_CLEAN; k < (int32_t)v->s->copies; k++)
		inv_bank_wont_need(v->s->bank, v->s->split, k, images[0], images[count - 1]);
	return st;
}

invar_status inv_visit_pairs(inv_pair_visitor *v, const uint32_t *images, uint32_t count,
                             inv_pair_fn *fn, void *user)
{
	invar_status st = INVAR_OK;

	for (uint32_t at = 0; at < count && st == INVAR_OK; at += BLOCK) {
		uint32_t now = count - at < BLOCK ? count - at : BLOCK;

		st = visit_block(v, images + at, now, fn, user);
		v->done += now;
		if (st == INVAR_OK)
			st = inv_progress(v->s->bank->ctx, "fit", v->done, v->total);
	}
	return st;
}

/* `order` gets the images kept, then those held out; returns how many are kept. */
static uint32_t split_images(const inv_closed_form_spec *s, const uint32_t *shuffled,
                             uint32_t *order)
{
	uint32_t n = s->image_count, held = (n + HELD_OUT - 1) / HELD_OUT;
	uint32_t kept = 0, last = n - held;

	for (uint32_t i = 0; i < n; i++)
		order[shuffled[i] < held ? last++ : kept++] = s->images[i];
	return kept;
}

invar_status inv_hold_out(const inv_closed_form_spec *s, uint32_t **order, uint32_t *kept)
{
	uint32_t n = s->image_count, *shuffled;
	inv_stream stream = inv_stream_of(s->seed, "closed/images", 0);

	*order = NULL;
	if (n < 2)
		return inv_fail(INVAR_E_USE,
		                "@init %s cannot choose a strength on %" PRIu32
		                " image; set @ridge",
		                inv_option_text(s->options, "init"), n);
	*order = inv_calloc(n, sizeof **order);
	shuffled = inv_calloc(n, sizeof *shuffled);
	if (!*order || !shuffled) {
		inv_free(shuffled);
		inv_free(*order);
		*order = NULL;
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of %" PRIu32 " images",
		                n);
	}
	inv_permutation(&stream, 0, shuffled, n);
	*kept = split_images(s, shuffled, *order);
	inv_free(shuffled);
	return INVAR_OK;
}

invar_status inv_add_pairs(void *user, const float *a, const float *b, uint64_t rows)
{
	inv_pairs_add(user, a, b, rows);
	return INVAR_OK;
}
