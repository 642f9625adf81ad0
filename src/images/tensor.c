/*
 * tensor.c - pictures to the tensors that encoders see, and back for looking at.
 *
 * As torchvision does it on Pillow images: the shorter side to N (bilinear, 8 bits),
 * the centre N x N, byte / 255, minus mean, by std.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "images/image.h"
#include "images/normalise.h"
#include "images/resize.h"

enum { MOST_SIDE = 8192 };

void invar_tensor_defaults(invar_tensor_opts *o)
{
	*o = (invar_tensor_opts){.size = sizeof *o, .side = "224", .normalize = "imagenet"};
}

static const invar_field fields[] = {
	{"size", INVAR_FIELD_TEXT, offsetof(invar_tensor_opts, side), 0, 0, INVAR_FIELD_RESULT,
     NULL, "native|N", "Pictures",
     "the shorter side becomes N, of that the centre N x N is taken; native keeps it"},
	{"normalize", INVAR_FIELD_TEXT, offsetof(invar_tensor_opts, normalize), 0, 0,
     INVAR_FIELD_RESULT, NULL, "NAME|MEANS/STDS", "Pictures",
     "none, half, imagenet, clip, mnist, fashion-mnist, stl10, cifar10, or numbers such as "
     "0.5/0.5"},
};

const invar_field *invar_tensor_fields(size_t *count)
{
	*count = sizeof fields / sizeof *fields;
	return fields;
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

/* 0 is native. */
static invar_status read_side(const char *text, size_t *side)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*side = 0;
	if (strcmp(text, "native") == 0)
		return INVAR_OK;
	if (*text < '0' || *text > '9' || *end || value < 1 || value > MOST_SIDE)
		return inv_fail(INVAR_E_USE, "the size '%.40s' must be native or 1 to %d", text,
		                MOST_SIDE);
	*side = value;
	return INVAR_OK;
}

/* A picture of bytes, perhaps one that was made on the way. */
typedef struct picture {
	const uint8_t *rgb;
	size_t h, w;
	uint8_t *own;
} picture;

static invar_status shrink(const invar_context *ctx, size_t side, picture *p)
{
	inv_resizer *r = NULL;
	size_t h, w;
	invar_status st;

	inv_shorter_side(p->h, p->w, side, &h, &w);
	if (h == p->h && w == p->w)
		return INVAR_OK;
	if (h > SIZE_MAX / w / 3 || !(p->own = inv_alloc(h * w * 3)))
		return inv_fail(INVAR_E_NOMEM, "no memory for a picture of %zu x %zu pixels", w, h);
	if ((st = inv_resizer_new(ctx->cpu, INV_BILINEAR, &r)) == INVAR_OK)
		st = inv_resizer_run(r, p->rgb, p->h, p->w, 3, h, w, p->own);
	inv_resizer_free(r);
	p->rgb = p->own;
	p->h = h;
	p->w = w;
	return st;
}

static invar_status cut_out(const inv_normalisation *n, const picture *p, size_t side,
                            float **tensor, uint64_t shape[4])
{
	size_t h = side ? side : p->h, w = side ? side : p->w;
	size_t at = inv_centre_offset(p->h, h) * p->w + inv_centre_offset(p->w, w);

	if (!(*tensor = inv_calloc(3 * h, w * sizeof **tensor)))
		return inv_fail(INVAR_E_NOMEM, "no memory for a tensor of %zu x %zu", h, w);
	inv_normalise_bytes(n, p->rgb + 3 * at, h, w, p->w, 3, *tensor);
	shape[0] = 1;
	shape[1] = 3;
	shape[2] = h;
	shape[3] = w;
	return INVAR_OK;
}

invar_status invar_image_to_tensor(invar_context *ctx, const uint8_t *rgb, uint32_t width,
                                   uint32_t height, const invar_tensor_opts *o,
                                   float **tensor, uint64_t shape[4])
{
	picture p = {.rgb = rgb, .h = height, .w = width};
	inv_normalisation n;
	invar_status st;
	size_t side;

	*tensor = NULL;
	if (!width || !height)
		return inv_fail(INVAR_E_USE, "a picture must have pixels");
	if ((st = read_side(o->side, &side)) != INVAR_OK ||
	    (st = inv_normalisation_parse(o->normalize, &n)) != INVAR_OK)
		return st;
	if (side)
		st = shrink(ctx, side, &p);
	if (st == INVAR_OK)
		st = cut_out(&n, &p, side, tensor, shape);
	inv_free(p.own);
	return st;
}

/* ---- And back ---------------------------------------------------------------------- */

invar_status invar_tensor_to_image(invar_context *ctx, const float *tensor,
                                   const uint64_t shape[4], const char *normalize,
                                   uint8_t **rgb)
{
	size_t plane = (size_t)(shape[2] * shape[3]), channels = (size_t)shape[1];
	inv_normalisation n;
	invar_status st;

	(void)ctx;
	*rgb = NULL;
	if ((channels != 1 && channels != 3) || !plane || plane > SIZE_MAX / 3)
		return inv_fail(INVAR_E_USE, "a tensor of %zu channels cannot be shown as RGB",
		                channels);
	if ((st = inv_normalisation_parse(normalize, &n)) != INVAR_OK)
		return st;
	if (!(*rgb = inv_alloc(3 * plane)))
		return inv_fail(INVAR_E_NOMEM, "no memory for a picture of %zu pixels", plane);
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
