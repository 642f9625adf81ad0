/* SPDX-License-Identifier: Apache-2.0 */
/* augment_table.c - the augmentations that meson.build lists, and what they share. */
#include "images/augment/op.h"

#include "images/augment/augment_kernels.h"
#include "images/augment/augment_list.h"

const inv_op *inv_op_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}

const char *inv_op_names(void)
{
	return part_names;
}

static const inv_key common[] = {
	[INV_KEY_P] = {"p", INV_KEY_NUMBER, 1, 1, 0, 1, NULL,
                   "probability that it is applied to an image"},
	[INV_KEY_SAME] = {"same_on_batch", INV_KEY_WORD, 0, 0, 0, 0, "0|1",
                      "share one draw among 256 consecutive images"},
};

const inv_key *inv_op_key(const inv_op *op, size_t k)
{
	if (k < INV_OWN_KEY)
		return &common[k];
	return k - INV_OWN_KEY < op->key_count ? &op->keys[k - INV_OWN_KEY] : NULL;
}

float inv_draw_range(inv_cursor *c, inv_value range)
{
	return (float)(range.low + (double)inv_next_uniform(c) * (range.high - range.low));
}

void inv_draw_first(const inv_value *v, inv_extent in, inv_cursor *c, float *row)
{
	(void)in;
	row[0] = inv_draw_range(c, v[INV_OWN_KEY]);
}

inv_pixel_scale inv_pixels_of(const inv_tools *t, size_t channel)
{
	size_t c = channel < t->channels ? channel : 0; /* one pair serves all channels */

	return t->channels ? (inv_pixel_scale){t->mean[c], t->std[c]} : (inv_pixel_scale){0, 1};
}

void inv_pixels_scale(const inv_op_call *call, float factor, float offset, float *out)
{
	size_t plane = call->shape.h * call->shape.w;

	for (size_t c = 0; c < call->shape.c; c++) {
		inv_pixel_scale s = inv_pixels_of(call->tools, c);
		float shift = (s.mean * factor + offset - s.mean) / s.std;

		call->tools->image->scale(call->in + c * plane, factor, shift, -s.mean / s.std,
		                          (1 - s.mean) / s.std, plane, out + c * plane);
	}
}
