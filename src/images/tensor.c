/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - pictures to the input tensors of encoders, and back for viewing. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "images/image.h"
#include "images/prepare.h"

static const invar_option tensor_rows[] = {
	{"size", INVAR_OPTION_TEXT, "224", .meta = "native|N", .group = "Pictures",
     .help = "resize the shorter side to N and crop the centre N x N; native keeps "
             "it"},
	{"normalize", INVAR_OPTION_TEXT, "imagenet", .meta = "NAME|MEANS/STDS",
     .group = "Pictures",
     .help = "none, half, imagenet, clip, keras, caffe, mnist, fashion-mnist, stl10, "
             "cifar10, or numbers such as 0.5/0.5"},
	{0},
};

invar_status inv_tensor_declare(invar_options *o)
{
	return inv_options_add_rows(o, tensor_rows);
}

invar_status invar_image_read(invar_context *ctx, const char *path, uint8_t **rgb,
                              uint32_t *width, uint32_t *height)
{
	inv_image image = {0};
	invar_status st = inv_image_load(path, &image);

	(void)ctx;
	*rgb = NULL;
	if (st != INVAR_OK) {
		inv_image_clear(&image);
		return st;
	}
	*rgb = image.pixels;
	*width = image.width;
	*height = image.height;
	return INVAR_OK;
}

/* ---- To a tensor ------------------------------------------------------------------- */

invar_status invar_image_to_tensor(invar_context *ctx, const uint8_t *rgb, uint32_t width,
                                   uint32_t height, const invar_options *o, float **tensor,
                                   uint64_t shape[4])
{
	inv_image image = {.pixels = (uint8_t *)(uintptr_t)rgb, /* only read */
	                   .width = width,
	                   .height = height,
	                   .channels = INV_RGB};
	inv_preparation p = {.filter = INV_BILINEAR, .channels = INV_RGB};
	inv_preparer *r = NULL;
	invar_options *mine;
	size_t h, w;
	invar_status st;

	*tensor = NULL;
	if (!width || !height)
		return inv_fail(INVAR_E_USE, "an image must have pixels");
	INV_TRY(inv_options_pick(o, inv_tensor_declare, &mine));
	INV_TRY_OR(end, inv_side_parse(inv_option_text(mine, "size"), &p.side));
	INV_TRY_OR(
		end, inv_normalisation_parse(inv_option_text(mine, "normalize"), &p.normalisation));
	INV_TRY_OR(end, inv_prepared_size(&p, height, width, "the picture", &h, &w));
	memcpy(shape, (uint64_t[4]){1, INV_RGB, h, w}, 4 * sizeof *shape);
	INV_TRY_OR(end, inv_preparer_new(ctx->cpu, &p, &r));
	INV_TRY_OR(end, inv_new_zeros(tensor, inv_array_bytes(INV_RGB * h, w)));
	INV_TRY_OR(end, inv_prepare(r, &image, "the picture", *tensor));
end:
	if (st != INVAR_OK) {
		inv_free(*tensor);
		*tensor = NULL;
	}
	inv_preparer_free(r);
	invar_options_free(mine);
	return st;
}

/* ---- And back ---------------------------------------------------------------------- */

invar_status inv_tensor_to_image(invar_context *ctx, const float *tensor,
                                 const uint64_t shape[4], const char *normalize,
                                 uint8_t **rgb)
{
	size_t plane = (size_t)(shape[2] * shape[3]), channels = (size_t)shape[1];
	inv_normalisation n;

	(void)ctx;
	*rgb = NULL;
	if ((channels != 1 && channels != 3) || !plane || plane > SIZE_MAX / 3)
		return inv_fail(INVAR_E_USE, "a tensor of %zu channels cannot be shown as RGB",
		                channels);
	INV_TRY(inv_normalisation_parse(normalize, &n));
	INV_TRY(inv_new_array(rgb, 3 * plane));
	for (size_t c = 0; c < 3; c++) {
		const float *in = tensor + (channels == 3 ? c * plane : 0);
		size_t from = c < n.channels ? c : 0;

		for (size_t i = 0; i < plane; i++) {
			float level = (in[i] * n.std[from] + n.mean[from]) * 255 + 0.5f;

			(*rgb)[3 * i + c] = (uint8_t)(!(level > 0) ? 0 : level > 255 ? 255 : level);
		}
	}
	return INVAR_OK;
}
