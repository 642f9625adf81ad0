/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blur.c - Gaussian blur, rows first, then columns.
 *
 * Weights exp(-j^2 / (2 sigma^2)) over 2r + 1 pixels, r = ceil(3 sigma), divided by
 * their sum. At the border the picture is reflected without repeating its edge, as
 * torchvision and Kornia do; r is cut to the shorter side - 1 for that.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "images/augment/augment_kernels.h"
#include "images/augment/op.h"

static const inv_key keys[] = {
	{"sigma", INV_KEY_RANGE, 0.1, 2, 0.01, 50, NULL, "width of the Gaussian, in pixels"},
};

static const char *const columns[] = {"sigma"};

static const char *refuse_blur_row(const inv_value *v, inv_extent in, const float *row)
{
	(void)v;
	(void)in;
	return row[0] >= 0.01f && row[0] <= 50 ? NULL : "sigma must lie between 0.01 and 50";
}

static size_t reflect_pixel(ptrdiff_t at, size_t side)
{
	if (at < 0)
		return (size_t)-at;
	return (size_t)at < side ? (size_t)at : 2 * (side - 1) - (size_t)at;
}

typedef struct blurring {
	const struct inv_augment_kernels *k;
	size_t h, w, radius;
	float *weight; /* [2 radius + 1] */
	float *padded; /* [w + 2 radius] */
	float *plane;  /* [h, w], rows blurred */
} blurring;

static void blur_plane(const blurring *b, const float *in, float *out)
{
	memset(out, 0, b->h * b->w * sizeof *out);
	memset(b->plane, 0, b->h * b->w * sizeof *b->plane);
	for (size_t y = 0; y < b->h; y++, in += b->w) {
		for (size_t i = 0; i < b->w + 2 * b->radius; i++)
			b->padded[i] = in[reflect_pixel((ptrdiff_t)i - (ptrdiff_t)b->radius, b->w)];
		for (size_t j = 0; j <= 2 * b->radius; j++)
			b->k->add_scaled(b->padded + j, b->weight[j], b->w, b->plane + y * b->w);
	}
	for (size_t y = 0; y < b->h; y++)
		for (size_t j = 0; j <= 2 * b->radius; j++) {
			size_t from = reflect_pixel((ptrdiff_t)(y + j) - (ptrdiff_t)b->radius, b->h);

			b->k->add_scaled(b->plane + from * b->w, b->weight[j], b->w, out + y * b->w);
		}
}

static invar_status apply_blur(const inv_op_call *call, float *out)
{
	inv_extent s = call->shape;
	double sigma = call->row[0], sum = 0;
	size_t side = s.h < s.w ? s.h : s.w, radius = (size_t)ceil(3 * sigma);
	blurring b = {.k = call->tools->image,
	              .h = s.h,
	              .w = s.w,
	              .radius = radius < side ? radius : side - 1};
	size_t taps = 2 * b.radius + 1;
	float *memory;

	INV_TRY(inv_new_array(&memory, taps + s.w + taps + s.h * s.w));
	b.weight = memory;
	b.padded = memory + taps;
	b.plane = memory + taps + s.w + taps;
	for (size_t j = 0; j < taps; j++) {
		double x = (double)j - (double)b.radius;

		sum += exp(-x * x / (2 * sigma * sigma));
	}
	for (size_t j = 0; j < taps; j++) {
		double x = (double)j - (double)b.radius;

		b.weight[j] = (float)(exp(-x * x / (2 * sigma * sigma)) / sum);
	}
	for (size_t c = 0; c < s.c; c++)
		blur_plane(&b, call->in + c * s.h * s.w, out + c * s.h * s.w);
	inv_free(memory);
	return INVAR_OK;
}

const inv_op inv_op_blur = {
	.name = "blur",
	.class_name = "blur",
	.help = "blurs with a Gaussian",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.draw = inv_draw_first,
	.refuse_row = refuse_blur_row,
	.apply = apply_blur,
};
