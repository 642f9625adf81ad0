/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preprocessor.c - how images are prepared, from the JSON files that are published beside
 * weights: Hugging Face's preprocessor_config.json and OpenCLIP's open_clip_config.json.
 *
 * What a file leaves open stays as the family has set it in e->input. A value that would
 * give other tensors and is not supported is an error.
 */
#include "encoders/encoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_CONSTANTS = 4, WARPED = 384 };

/* The mean subtracted from pixels and the deviation they are divided by. */
static const double max_constant = 1e6, least_std = 1e-9;

/* Pillow's numbers of its filters. */
enum { PILLOW_BILINEAR = 2, PILLOW_BICUBIC = 3 };

typedef struct reader {
	invar_encoder *e;
	const inv_parameters *p;
	const char *file;
	const json_t *said; /* the object with the values */
} reader;

static invar_status fail_value(const reader *r, const char *name, const char *expected)
{
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: the %s beside it has an invalid %s: %s; fix or remove the file",
	                inv_parameters_path(r->p), r->file, name, expected);
}

/* ---- Normalisation ---------------------------------------------------------------- */

static invar_status read_constants(const reader *r, const char *mean_name,
                                   const char *std_name, size_t channels)
{
	static const char *const before[2] = {"", "/"};
	const json_t *const lists[2] = {json_object_get(r->said, mean_name),
	                                json_object_get(r->said, std_name)};
	char *text = r->e->constants;
	size_t size = sizeof r->e->constants, used = 0;
	bool valid = channels <= MAX_CONSTANTS;

	if (!lists[0] && !lists[1])
		return INVAR_OK;
	for (int k = 0; k < 2; k++) {
		valid = valid && json_array_size(lists[k]) == channels;
		for (size_t i = 0; valid && i < channels; i++) {
			const json_t *one = json_array_get(lists[k], i);
			double x = json_number_value(one);

			valid = json_is_number(one) && x > (k ? least_std : -max_constant) &&
			        x < max_constant;
			/* A number takes at most 16 characters, so all of them fit. */
			used += (size_t)snprintf(text + used, size - used, "%s%.9g",
			                         i ? "," : before[k], x);
		}
	}
	if (!valid)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: the %s beside it has no valid %s and %s: %zu %s each %s expected, the "
			"latter above 0; fix or remove the file",
			inv_parameters_path(r->p), r->file, mean_name, std_name, channels,
			inv_noun(channels, "number", "numbers"), inv_noun(channels, "was", "were"));
	r->e->input.normalisation = text;
	return INVAR_OK;
}

/* ---- Sizes ------------------------------------------------------------------------ */

/* N, {"height": N, "width": N}, [N, N] or {"shortest_edge": N}; 0: absent. */
static invar_status read_side(const reader *r, const char *name, size_t *side, bool *square)
{
	const json_t *given = json_object_get(r->said, name);
	const json_t *edge = json_object_get(given, "shortest_edge");
	const json_t *h =
		json_is_array(given) ? json_array_get(given, 0) : json_object_get(given, "height");
	const json_t *w =
		json_is_array(given) ? json_array_get(given, 1) : json_object_get(given, "width");
	const json_t *one = edge ? edge : h ? h : given;
	json_int_t value = json_integer_value(one);

	*side = 0;
	*square = h && !edge;
	if (!given || json_is_null(given))
		return INVAR_OK;
	if (value < 1 || value > INV_MAX_SIDE || (*square && !json_equal(h, w)))
		return fail_value(r, name, "expected the side of square images, 1 to 8192");
	*side = (size_t)value;
	return INVAR_OK;
}

static bool is_false(const reader *r, const char *name)
{
	return json_is_false(json_object_get(r->said, name));
}

/*
 * Centre of the shorter side, or both sides stretched. A bare number is the shorter side
 * where a centre is cropped, else both sides. The processor of ConvNeXT, which ResNets
 * share, resizes to size / crop_pct and crops, but from 384 on it stretches.
 */
static invar_status read_sizes(const reader *r)
{
	inv_input *in = &r->e->input;
	const json_t *crop_pct = json_object_get(r->said, "crop_pct");
	double fraction = crop_pct ? json_number_value(crop_pct) : 1;
	bool crops = json_is_true(json_object_get(r->said, "do_center_crop"));
	bool square, crop_square;
	size_t side, crop;

	if (is_false(r, "do_resize")) {
		in->resize = in->side = 0;
		in->stretch = false;
		return INVAR_OK;
	}
	INV_TRY(read_side(r, "size", &side, &square));
	INV_TRY(read_side(r, "crop_size", &crop, &crop_square));
	if (crop_pct && !json_is_null(crop_pct) && !(fraction > 0.1 && fraction <= 1))
		return fail_value(r, "crop_pct", "expected a number above 0.1 and up to 1");
	if (!side)
		return INVAR_OK;
	in->resize = in->side = side;
	in->stretch = square;
	if (crop_pct && !json_is_null(crop_pct) && !square) {
		in->stretch = side >= WARPED;
		in->resize = in->stretch ? side : (size_t)((double)side / fraction);
	} else if (crops && crop) {
		in->side = crop;
	} else if (!crops && json_is_integer(json_object_get(r->said, "size"))) {
		in->stretch = true;
	}
	if (in->side > in->resize)
		return fail_value(r, "crop_size", "expected at most the size that images have");
	return INVAR_OK;
}

invar_status inv_preprocessor_read(invar_encoder *e, const inv_parameters *p,
                                   size_t channels)
{
	reader r = {.e = e, .p = p, .file = "preprocessor_config.json"};
	const json_t *filter, *factor;
	json_t *said;
	invar_status st;

	INV_TRY(inv_parameters_beside(p, r.file, &said));
	if (!said)
		return INVAR_OK;
	r.said = said;
	INV_TRY_OR(done, read_sizes(&r));
	filter = json_object_get(said, "resample");
	if (filter && !json_is_null(filter)) {
		json_int_t number = json_integer_value(filter);

		if (number != PILLOW_BILINEAR && number != PILLOW_BICUBIC)
			INV_TRY_OR(done, fail_value(&r, "resample",
			                            "expected 2 (bilinear) or 3 "
			                            "(bicubic); others are not "
			                            "supported"));
		e->input.filter = number == PILLOW_BICUBIC ? INV_BICUBIC : INV_BILINEAR;
	}
	factor = json_object_get(said, "rescale_factor");
	if (is_false(&r, "do_rescale") ||
	    (factor && !(fabs(json_number_value(factor) * 255 - 1) < 1e-6)))
		INV_TRY_OR(done, fail_value(&r, "rescale_factor",
		                            "pixels must be divided by 255; others are not "
		                            "supported"));
	if (is_false(&r, "do_normalize"))
		e->input.normalisation = "none";
	else
		INV_TRY_OR(done, read_constants(&r, "image_mean", "image_std", channels));
done:
	json_decref(said);
	return st;
}

invar_status inv_preprocessor_open_clip(invar_encoder *e, const inv_parameters *p,
                                        const json_t *config, size_t channels)
{
	const reader r = {.e = e,
	                  .p = p,
	                  .file = "open_clip_config.json",
	                  .said = json_object_get(config, "preprocess_cfg")};
	const char *filter = json_string_value(json_object_get(r.said, "interpolation"));
	const char *mode = json_string_value(json_object_get(r.said, "resize_mode"));
	bool square;
	size_t side;

	INV_TRY(read_side(&r, "size", &side, &square));
	if (side)
		e->input.resize = e->input.side = side;
	if (filter && strcmp(filter, "bicubic") != 0 && strcmp(filter, "bilinear") != 0)
		return fail_value(&r, "interpolation",
		                  "expected bicubic or bilinear; others are not supported");
	if (filter)
		e->input.filter = strcmp(filter, "bicubic") == 0 ? INV_BICUBIC : INV_BILINEAR;
	if (mode && strcmp(mode, "shortest") != 0 && strcmp(mode, "squash") != 0)
		return fail_value(&r, "resize_mode",
		                  "expected shortest or squash; others are not supported");
	e->input.stretch = mode && strcmp(mode, "squash") == 0;
	return read_constants(&r, "mean", "std", channels);
}
