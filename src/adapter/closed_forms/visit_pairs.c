/* SPDX-License-Identifier: Apache-2.0 */
/* visit_pairs.c - reading the rows of a bank in blocks of images. */
#include "adapter/closed_forms/visit_pairs.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/rng.h"

enum { BLOCK = 1024 /* images */, HELD_OUT = 10 /* one image in so many */ };

invar_status inv_pair_visitor_open(const inv_closed_form_spec *s, bool with_clean,
                                   inv_pair_visitor *out)
{
	size_t d = s->bank->dim;

	*out = (inv_pair_visitor){
		.s = s, .d = d, .with_clean = with_clean, .total = s->image_count};
	INV_TRY(inv_new_array(&out->clean, 3 * BLOCK * d));
	out->copy = out->clean + BLOCK * d;
	out->mapped = out->copy + BLOCK * d;
	return INVAR_OK;
}

void inv_pair_visitor_close(inv_pair_visitor *v)
{
	inv_free(v->clean);
	*v = (inv_pair_visitor){0};
}

/* The rows of some images, clean or of one copy. */
static invar_status read_images(const inv_pair_visitor *v, int32_t copy,
                                const uint32_t *images, uint32_t count, float *out)
{
	for (uint32_t i = 0; i < count; i++)
		INV_TRY(inv_bank_row(v->s->bank, v->s->split, copy, images[i], out + i * v->d));
	return INVAR_OK;
}

invar_status inv_visit_pairs(inv_pair_visitor *v, const uint32_t *images, uint32_t count,
                             inv_pair_fn *fn, void *user)
{
	int32_t copies = (int32_t)v->s->copies;

	for (uint32_t now; count; images += now, count -= now) {
		now = count < BLOCK ? count : BLOCK;
		INV_TRY(read_images(v, INVAR_CLEAN, images, now, v->clean));
		if (v->with_clean)
			INV_TRY(fn(user, v->clean, v->clean, now));
		for (int32_t k = 0; k < copies; k++) {
			INV_TRY(read_images(v, k, images, now, v->copy));
			INV_TRY(fn(user, v->copy, v->clean, now));
		}
		for (int32_t k = INVAR_CLEAN; k < copies; k++)
			inv_bank_wont_need(v->s->bank, v->s->split, k, images[0], images[now - 1]);
		v->done += now;
		INV_TRY(inv_progress(v->s->bank->ctx, "fit", v->done, v->total));
	}
	return INVAR_OK;
}

invar_status inv_hold_out(const inv_closed_form_spec *s, uint32_t **order, uint32_t *kept)
{
	uint32_t n = s->image_count, held = (n + HELD_OUT - 1) / HELD_OUT, last = n - held;
	inv_stream stream = inv_stream_of(s->seed, "closed/images", 0);
	uint32_t *shuffled;
	invar_status st;

	*order = NULL;
	if (n < 2)
		return inv_fail(INVAR_E_USE,
		                "@init %s cannot choose a strength on %" PRIu32
		                " image; set @ridge",
		                inv_option_text(s->options, "init"), n);
	INV_TRY(inv_new_array(&shuffled, n));
	INV_TRY_OR(done, inv_new_array(order, n));
	inv_permutation(&stream, 0, shuffled, n);
	*kept = 0;
	for (uint32_t i = 0; i < n; i++)
		(*order)[shuffled[i] < held ? last++ : (*kept)++] = s->images[i];
done:
	inv_free(shuffled);
	return st;
}

invar_status inv_add_pairs(void *user, const float *a, const float *b, uint64_t rows)
{
	inv_pairs_add(user, a, b, rows);
	return INVAR_OK;
}
