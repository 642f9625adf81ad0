/* SPDX-License-Identifier: Apache-2.0 */
/* encoding.c - see encoding.h. */
#include "encode/encoding.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "encoders/encoder.h"
#include "images/augment/augment.h"
#include "images/augment/inside.h"

#define MAX_WIDTH ((uint64_t)1 << 24) /* as in an open bank */

/* ---- What is encoded, and how ----------------------------------------------------- */

/* Of a prepared image, and of its visible part, which is that of copies as well. */
static invar_status find_shapes(inv_encoding *of)
{
	const invar_dataset *d = of->dataset;
	const inv_preparation *p = &of->preparation;
	const inv_spec *s = of->augment ? &of->augment->spec : NULL;
	uint32_t width = 1, height = 1;
	invar_status st = INVAR_OK;

	/* Native: the size of the first image that can be read. */
	for (uint64_t row = 0; !p->side && row < d->splits[0].count; row++) {
		st = inv_images_measure(d, &d->splits[0], row, &width, &height);
		if (st == INVAR_OK || !inv_is_broken(st) || !d->opts.skip_broken)
			break;
	}
	of->shape.c = p->channels;
	if (st != INVAR_OK)
		return inv_refuse_broken(d, st, invar_last_error());
	INV_TRY(inv_prepared_size(p, height, width, d->text, &of->shape.h, &of->shape.w));
	if (s && (st = inv_inside_check(s, of->shape)) != INVAR_OK)
		return inv_context(st, "%s", d->text);
	of->clean = s ? inv_spec_seen(s, of->shape) : of->shape;
	return INVAR_OK;
}

static invar_status find_width(inv_encoding *of)
{
	const invar_encoder *e = of->encoder;
	inv_extent s = of->clean, *a = &of->augmented;

	*a = s;
	INV_TRY(inv_encoder_plan_new(e, s, &of->plan));
	if (of->augment)
		INV_TRY(inv_augment_result(of->augment, of->shape, a));
	if (s.c == a->c && s.h == a->h && s.w == a->w)
		of->copy_plan = of->plan; /* and its working space */
	else
		INV_TRY(inv_encoder_plan_new(e, *a, &of->copy_plan));
	of->width = of->plan->width;
	if (of->copy_plan->width != of->width)
		return inv_fail(INVAR_E_MISMATCH,
		                "@augment %s: turns %zu x %zu pixels into %zu x %zu, so %s would "
		                "compute %" PRIu64 " numbers for a copy and %" PRIu64
		                " for the image itself",
		                of->opts.augment, a->w, a->h, s.w, s.h, invar_encoder_name(e),
		                of->copy_plan->width, of->width);
	if (of->width > MAX_WIDTH)
		return inv_fail(INVAR_E_USE,
		                "%s: features of %" PRIu64
		                " numbers are too wide, at most 2^24 are allowed; use @size N",
		                of->dataset->text, of->width);
	return INVAR_OK;
}

static invar_status open_augment(inv_encoding *of)
{
	const char *spec = of->opts.augment;
	inv_preparation *p = &of->preparation;
	size_t side;
	invar_status st;

	if (!spec)
		return INVAR_OK;
	if ((st = invar_augment_parse(&of->alone, spec, &of->augment)) != INVAR_OK)
		return inv_context(st, "@augment %.100s", spec);
	of->columns = invar_augment_columns(of->augment);
	if (!of->pixel_space)
		inv_augment_pixels(of->augment, &p->normalisation);
	if (!of->augment->spec.inside || !p->side)
		return INVAR_OK;

	/* A margin around the visible part: the same part of the image, in more pixels. */
	side = inv_spec_prepared_side(&of->augment->spec, p->side);
	if (side > INV_MAX_SIDE)
		return inv_fail(INVAR_E_USE,
		                "@augment %.100s: needs %zu x %zu pixels to show %zu x %zu, but at "
		                "most %d x %d can be prepared; narrow its ranges",
		                spec, side, side, p->side, p->side, INV_MAX_SIDE, INV_MAX_SIDE);
	p->resize = p->resize ? (p->resize * side + p->side / 2) / p->side : 0;
	p->side = side;
	return INVAR_OK;
}

invar_status inv_encoding_open(invar_encoder *e, const invar_dataset *d,
                               const inv_encode_settings *o, inv_encoding *of)
{
	const char *sha256;
	inv_extent s;

	*of = (inv_encoding){
		.ctx = e->ctx, .alone = *e->ctx, .encoder = e, .dataset = d, .opts = *o};
	of->alone.threads = 1;
	of->alone.processes = NULL;
	INV_TRY(inv_encoder_sha256(e, &sha256));
	if (e->weights && stat(e->weights, &of->weights) != 0)
		return inv_fail_errno(e->weights, "cannot read the file's status");

	INV_TRY(inv_encode_check_copies(&of->opts, d));
	INV_TRY(inv_encode_check_views(&of->opts, d));
	INV_TRY(inv_encode_preparation(&of->opts, e, d, &of->preparation));
	of->dtype = strcmp(of->opts.dtype, "float16") == 0 ? INV_F16 : INV_F32;
	of->pixel_space = strcmp(of->opts.augment_space, "pixel") == 0;
	INV_TRY(open_augment(of));
	INV_TRY(find_shapes(of));
	if (of->pixel_space) {
		of->pending = of->preparation.normalisation;
		INV_TRY(inv_normalisation_parse("none", &of->preparation.normalisation));
	}
	INV_TRY(find_width(of));

	/* Rotated by 90 degrees, an image that is not square has another shape. */
	for (size_t i = 0; i < d->split_count; i++)
		of->views = of->views || inv_encode_views(&of->opts, d->splits[i].name);
	s = of->clean.h == of->clean.w ? of->augmented : of->clean;
	if (of->views && s.h != s.w)
		return inv_fail(INVAR_E_USE,
		                "@views %.60s: needs square images, but the encoder gets %zu x %zu "
		                "pixels; use @size N",
		                of->opts.views, s.w, s.h);
	return INVAR_OK;
}

void inv_encoding_close(inv_encoding *of)
{
	invar_augment_close(of->augment);
	if (of->copy_plan != of->plan)
		inv_encoder_plan_free(of->copy_plan);
	inv_encoder_plan_free(of->plan);
}

/* A file that was touched, or replaced by a copy of itself, still counts as the same. */
invar_status inv_encoding_check_weights(inv_encoding *of)
{
	const char *path = of->encoder->weights;
	char now[INV_SHA256_HEX];
	struct stat info;

	if (!path)
		return INVAR_OK;
	if (stat(path, &info) != 0)
		return inv_fail_errno(path, "cannot read the status of the weights any more");
	if (info.st_ino == of->weights.st_ino && info.st_size == of->weights.st_size &&
	    info.st_mtim.tv_sec == of->weights.st_mtim.tv_sec &&
	    info.st_mtim.tv_nsec == of->weights.st_mtim.tv_nsec)
		return INVAR_OK;
	INV_TRY(inv_sha256_file(path, now));
	if (strcmp(now, of->encoder->weights_sha256) != 0)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: the weights changed while they were in use: their SHA-256 was %.12s… and "
			"is now %.12s…; restore the old file and run the same command to resume",
			path, of->encoder->weights_sha256, now);
	of->weights = info;
	return INVAR_OK;
}

/* ---- What bank.json says ---------------------------------------------------------- */

/* 0.1307, not 0.130700007: the shortest digits that give the float again. */
static json_t *float_json(float value)
{
	double scale = 1;

	if (!isfinite(value))
		return json_null();
	for (int digits = 0; digits < 12; digits++, scale *= 10) {
		double rounded = rint((double)value * scale) / scale;

		if ((float)rounded == value)
			return json_real(rounded);
	}
	return json_real((double)value);
}

static json_t *floats_json(const float *values, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, float_json(values[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/*
 * "shorter side 256, bicubic, centre"; null if images keep their size. Clean rows with and
 * without inside=1, which uses only the centre of larger images, differ: so does this.
 */
static json_t *resize_json(const inv_encoding *of)
{
	const inv_preparation *p = &of->preparation;
	const char *filter = p->filter == INV_BICUBIC ? "bicubic" : "bilinear";
	bool crops = p->resize && p->resize != p->side;
	char inside[64] = "", to[32] = "";

	if (of->augment && of->augment->spec.inside)
		snprintf(inside, sizeof inside, ", inside %zu x %zu", of->shape.w, of->shape.h);
	if (!p->side)
		return *inside ? json_sprintf("native%s", inside) : json_null();
	if (crops)
		snprintf(to, sizeof to, " %zu", p->resize);
	return json_sprintf("%s%s, %s%s%s", p->stretch ? "both sides" : "shorter side", to,
	                    filter, p->stretch && !crops ? "" : ", centre", inside);
}

static json_t *columns_json(const invar_augment *a)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < invar_augment_columns(a); i++)
		if (json_array_append_new(list, json_string(inv_augment_column(a, i))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *class_names_json(const invar_dataset *d)
{
	json_t *list = d->classes.count ? json_array() : json_null();

	for (size_t i = 0; list && i < d->classes.count; i++)
		if (json_array_append_new(list, inv_json_path(inv_names_at(&d->classes, i))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/*
 * Values that features depend on but weights do not determine; 0 and null: the family's
 * default.
 */
static json_t *encoder_options_json(const invar_encoder *e)
{
	json_t *options;
	const char *key;
	json_t *value;
	void *next;

	if (e->version && e->kind->by_caller)
		return json_pack("{s:o}", "version", inv_json_path(e->version));
	if (!e->weights)
		return json_null();
	options = inv_encoder_options_json(e);
	json_object_del(options, "encoder");
	if (e->version && json_object_set_new(options, "version", inv_json_path(e->version))) {
		json_decref(options);
		return NULL;
	}
	json_object_foreach_safe (options, next, key, value)
		if (json_is_number(value) && !(json_number_value(value) > 0))
			json_object_set_new(options, key, json_null());
	return options;
}

json_t *inv_encoding_json(const inv_encoding *of)
{
	const invar_augment *a = of->augment;
	const inv_preparation *p = &of->preparation;
	const inv_normalisation *n = of->pixel_space ? &of->pending : &p->normalisation;
	json_t *options = inv_encode_json(&of->opts, INVAR_OPTION_RESULT);
	json_t *preprocess = json_pack(
		"{s:i, s:[I, I], s:o, s:o, s:o}", "channels", (int)p->channels, "size",
		(json_int_t)of->clean.h, (json_int_t)of->clean.w, "resize", resize_json(of), "mean",
		floats_json(n->mean, p->channels), "std", floats_json(n->std, p->channels));
	json_t *all = json_pack(
		"{s:o, s:s?, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "encoder",
		inv_json_path(invar_encoder_name(of->encoder)), "weights_sha256",
		of->encoder->weights_sha256, "encoder_options", encoder_options_json(of->encoder),
		"preprocess", preprocess, "dtype", of->opts.dtype, "augment",
		a ? json_string(inv_augment_spec(a)) : json_null(), "augment_space",
		a ? json_string(of->opts.augment_space) : json_null(), "augment_params",
		a ? columns_json(a) : json_null(), "seed",
		a ? json_integer((json_int_t)of->opts.seed) : json_null(), "classes",
		class_names_json(of->dataset), "source", of->dataset->kind->name);

	if (!all || json_object_update(all, options) != 0) {
		json_decref(all);
		all = NULL;
	}
	json_decref(options);
	return all;
}

/* ---- The images of a split -------------------------------------------------------- */

/* The list is sorted, like the images. */
invar_status inv_images_without(const inv_images *s, const json_t *left_out,
                                uint32_t **index, uint64_t *kept)
{
	size_t out = 0, max = json_array_size(left_out);

	*kept = 0;
	INV_TRY(inv_new_array(index, s->count + 1));
	for (uint64_t row = 0; row < s->count; row++) {
		uint64_t i = inv_images_index(s, row);

		if (out < max && (uint64_t)json_integer_value(json_array_get(left_out, out)) == i)
			out++;
		else
			(*index)[(*kept)++] = (uint32_t)i;
	}
	return INVAR_OK;
}
