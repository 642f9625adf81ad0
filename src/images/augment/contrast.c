/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrast.c - pixels away from or towards the mean grey, as torchvision's
 * adjust_contrast: pixel * factor + (1 - factor) * mean of 0.2989 R + 0.587 G +
 * 0.114 B; with other than three channels, of all values.
 */
#include "images/augment/op.h"

static const inv_key keys[] = {
	{"factor", INV_KEY_RANGE, 0.6, 1.4, 0, 100, NULL,
     "factor for differences from the mean"},
};

static const char *const columns[] = {"factor"};

static double mean_grey(const inv_op_call *call)
{
	static const double luma[3] = {0.2989, 0.587, 0.114};
	size_t plane = call->shape.h * call->shape.w;
	double grey = 0;

	for (size_t c = 0; c < call->shape.c; c++) {
		inv_pixel_scale s = inv_pixels_of(call->tools, c);
		double sum = 0;

		for (size_t i = 0; i < plane; i++)
			sum += call->in[c * plane + i];
		sum = sum / (double)plane * s.std + s.mean;
		grey += call->shape.c == 3 ? luma[c] * sum : sum / (double)call->shape.c;
	}
	return grey;
}

static invar_status apply_contrast(const inv_op_call *call, float *out)
{
	float factor = call->row[0];

	inv_pixels_scale(call, factor, (float)((1 - (double)factor) * mean_grey(call)), out);
	return INVAR_OK;
}

const inv_op inv_op_contrast = {
	.name = "contrast",
	.class_name = "contrast",
	.help = "moves pixels away from or towards the mean grey value",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.draw = inv_draw_first,
	.apply = apply_contrast,
};
