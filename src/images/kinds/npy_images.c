/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_images.c - npy:IMAGES[,LABELS], images in a NumPy array.
 *
 * [n, h, w] is grey; [n, h, w, c] and [n, c, h, w] with c = 1 or 3, channels
 * last if both are possible. uint8 is used as it is. Floats go from 0 (black) to 1
 * (white) and become round(255 v); a value outside is an error that names its position,
 * as it would be a normalised tensor and not a picture. Labels are integers [n], -1
 * for none; classes are named by their numbers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/npy.h"
#include "images/dataset.h"

enum { MAX_SIDE = 1 << 16, MAX_CLASSES = 1 << 20 };

typedef struct array {
	inv_npy *images;
	uint64_t count;
	uint32_t width, height, channels;
	bool channels_first;
} array;

/* ---- Opening ----------------------------------------------------------------------- */

static invar_status open_npy_images(array *a, const char *path)
{
	char text[INV_SHAPE_TEXT];
	const inv_npy_header *h;
	const uint64_t *shape, *size;
	bool fits;

	INV_TRY(inv_npy_open(path, &a->images));
	h = &a->images->h;
	shape = h->shape;
	size = shape + 1;
	a->channels = 1;
	fits = h->ndim == 3 || h->ndim == 4;
	if (h->ndim == 4 && (shape[3] == 1 || shape[3] == INV_RGB)) {
		a->channels = (uint32_t)shape[3];
	} else if (h->ndim == 4) {
		fits = shape[1] == 1 || shape[1] == INV_RGB;
		a->channels = (uint32_t)shape[1];
		a->channels_first = true;
		size = shape + 2;
	}
	if (!fits || !size[0] || !size[1] || size[0] > MAX_SIDE || size[1] > MAX_SIDE)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its shape is %s but images are (n, h, w), (n, h, w, 3) or (n, "
		                "3, h, w)",
		                path, inv_shape_text(h->ndim, shape, text));
	a->count = shape[0];
	a->height = (uint32_t)size[0];
	a->width = (uint32_t)size[1];
	if (h->dtype != INV_U8 && inv_dtype_is_integer(h->dtype))
		return inv_fail(INVAR_E_FORMAT, "%s: images must be uint8 or float, not %s", path,
		                inv_dtype_name(h->dtype));
	return INVAR_OK;
}

static invar_status open_npy_labels(invar_dataset *d, const char *path, int32_t **out)
{
	const array *a = d->own;
	inv_npy *labels;
	int64_t label, greatest = -1;
	char text[INV_SHAPE_TEXT];
	invar_status st;

	INV_TRY(inv_npy_open(path, &labels));
	if (labels->h.ndim != 1 || labels->h.shape[0] != a->count)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_MISMATCH,
		                    "%s: its shape is %s but (%" PRIu64 ",) was expected, as in %s",
		                    labels->path,
		                    inv_shape_text(labels->h.ndim, labels->h.shape, text), a->count,
		                    a->images->path));
	INV_TRY_OR(end, inv_new_array(out, labels->h.cells + 1));
	for (uint64_t i = 0; i < labels->h.cells; i++) {
		INV_TRY_OR(end, inv_npy_read_int(labels, i, 1, &label));
		if (label < INV_NO_LABEL || label >= MAX_CLASSES)
			INV_TRY_OR(end,
			           inv_fail(INVAR_E_FORMAT,
			                    "%s: label %" PRIu64 " is %" PRId64 ", expected -1 to %d",
			                    labels->path, i, label, MAX_CLASSES - 1));
		(*out)[i] = (int32_t)label;
		greatest = label > greatest ? label : greatest;
	}
	for (int64_t k = 0; k <= greatest; k++) {
		snprintf(text, sizeof text, "%" PRId64, k);
		INV_TRY_OR(end, inv_dataset_add_class(d, text));
	}
end:
	inv_npy_close(labels);
	return st;
}

static invar_status open_npy(invar_dataset *d)
{
	char *comma = strrchr(d->place, ',');
	int32_t *labels = NULL;
	array *a;
	invar_status st;

	INV_TRY(inv_new(&a));
	d->own = a;
	if (comma && inv_exists(d->place))
		comma = NULL; /* the name of a file with a comma */
	if (comma)
		*comma = '\0';
	INV_TRY(open_npy_images(a, d->place));
	d->grey = a->channels == 1;
	if (comma && (st = open_npy_labels(d, comma + 1, &labels)) != INVAR_OK) {
		inv_free(labels);
		return st;
	}
	return inv_dataset_add_whole(d, a->count, labels, a);
}

/* ---- Reading ------------------------------------------------------------------------- */

static void spread_npy_pixels(const array *a, const uint8_t *from, inv_image *out)
{
	size_t pixels = (size_t)a->width * a->height;
	size_t step = a->channels_first ? 1 : a->channels; /* between pixels */
	size_t next = a->channels == 1 ? 0 : a->channels_first ? pixels : 1; /* channels */

	for (size_t i = 0; i < pixels; i++)
		for (size_t c = 0; c < INV_RGB; c++)
			out->pixels[i * INV_RGB + c] = from[i * step + c * next];
}

static invar_status read_npy(const invar_dataset *d, const inv_images *s, uint64_t source,
                             inv_image *out)
{
	const array *a = s->store;
	const inv_npy_header *h = &a->images->h;
	size_t count = (size_t)a->width * a->height * a->channels;
	float *numbers, white = h->dtype == INV_U8 ? 255 : 1;
	uint8_t *bytes = NULL;
	invar_status st;

	(void)d;
	INV_TRY(inv_image_shape(out, a->width, a->height, a->images->path));
	if (h->dtype == INV_U8 && !h->fortran) {
		spread_npy_pixels(a, a->images->data + source * count, out);
		return INVAR_OK;
	}
	/* Floats, or uint8 in Fortran order: through a buffer. */
	INV_TRY(inv_new_array(&numbers, count));
	INV_TRY_OR(end, inv_new_array(&bytes, count));
	INV_TRY_OR(end, inv_npy_read(a->images, source * count, count, numbers));
	for (size_t i = 0; i < count; i++) {
		if (!(numbers[i] >= 0 && numbers[i] <= white))
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
			                         "%s: image %" PRIu64
			                         " has the value %g, but pixels stored as floats must "
			                         "be from 0 to 1",
			                         a->images->path, source, (double)numbers[i]));
		bytes[i] = (uint8_t)lrintf(numbers[i] / white * 255);
	}
	spread_npy_pixels(a, bytes, out);
end:
	inv_free(numbers);
	inv_free(bytes);
	return st;
}

static void measure_npy(const inv_images *s, uint32_t *width, uint32_t *height)
{
	const array *a = s->store;

	*width = a->width;
	*height = a->height;
}

static bool npy_file_id(const inv_images *s, uint64_t source, inv_file_id *out)
{
	const array *a = s->store;

	(void)source;
	*out = a->images->map.id;
	return true;
}

static void close_npy(invar_dataset *d)
{
	array *a = d->own;

	if (a)
		inv_npy_close(a->images);
	inv_free(a);
}

const inv_dataset_kind inv_dataset_npy = {
	.name = "npy",
	.place = "IMAGES[,LABELS]",
	.about = "NumPy arrays",
	.open = open_npy,
	.read = read_npy,
	.measure = measure_npy,
	.file_id = npy_file_id,
	.close = close_npy,
};
