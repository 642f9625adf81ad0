/* SPDX-License-Identifier: Apache-2.0 */
/* flip.c - mirror images; flip:p=0.5 mirrors one in two. */
#include <string.h>

#include "images/augment/op.h"

enum { AXIS = INV_OWN_KEY };
enum { HORIZONTAL, VERTICAL };

static const inv_key keys[] = {
	{"axis", INV_KEY_WORD, HORIZONTAL, HORIZONTAL, 0, 0, "horizontal|vertical",
     "swap left and right, or top and bottom"},
};

static void flip_matrix(const inv_value *v, inv_extent in, const float *row, double m[9])
{
	bool sideways = inv_value_is(v[AXIS], HORIZONTAL);
	const double whole[9] = {sideways ? -1 : 1,
	                         0,
	                         sideways ? (double)in.w - 1 : 0,
	                         0,
	                         sideways ? 1 : -1,
	                         sideways ? 0 : (double)in.h - 1,
	                         0,
	                         0,
	                         1};

	(void)row;
	memcpy(m, whole, sizeof whole);
}

static invar_status apply_flip(const inv_op_call *call, float *out)
{
	inv_extent s = call->shape;
	bool sideways = inv_value_is(call->v[AXIS], HORIZONTAL);

	for (size_t c = 0; c < s.c; c++)
		for (size_t y = 0; y < s.h; y++) {
			const float *in = call->in + (c * s.h + y) * s.w;
			float *row = out + (c * s.h + y) * s.w;

			for (size_t u = 0; u < s.w && sideways; u++)
				row[u] = in[s.w - 1 - u];
			if (!sideways)
				memcpy(row, call->in + (c * s.h + s.h - 1 - y) * s.w, s.w * sizeof *row);
		}
	return INVAR_OK;
}

const inv_op inv_op_flip = {
	.name = "flip",
	.class_name = "flip",
	.help = "mirrors the image",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.matrix = flip_matrix,
	.apply = apply_flip,
};
