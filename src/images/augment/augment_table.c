/* SPDX-License-Identifier: Apache-2.0 */
/* augment_table.c - the augmentations that meson.build lists. */
#include "images/augment/op.h"

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
