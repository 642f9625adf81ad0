/*
 * encode.c - from a data set to a bank.
 *
 * What a bank says of itself is put together first and held against the bank that is
 * there; then each split gets the arrays it misses: clean rows, labels, copies. Images
 * that cannot be read are found before anything is written, so that all arrays of a
 * split have the same rows; which were left out stands in bank.json.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/encode_options.h"
#include "bank/encode_pass.h"
#include "base/clock.h"
#include "base/memory.h"
#include "images/ahead.h"

#define MOST_WIDTH ((uint64_t)1 << 24) /* as in an open bank */

typedef struct encoding {
	inv_encoding of;
	invar_encode_opts opts;
	invar_context alone; /* the same context on one thread, for augmenting in blocks */
	const char *path;
	inv_bank_writer *bank;
} encoding;

static invar_status no_memory(const encoding *k)
{
	return inv_fail(INVAR_E_NOMEM, "%s: no memory to write the bank", k->path);
}

/* ---- What is encoded, and how ----------------------------------------------------------
 */

/* Native: that of the first image which can be read. */
static invar_status find_shape(encoding *k)
{
	const invar_dataset *d = k->of.dataset;
	const inv_preparation *p = &k->of.preparation;
	uint32_t width = 1, height = 1;
	invar_status st = INVAR_OK;

	for (uint64_t row = 0; !p->side && row < d->splits[0].count; row++) {
		st = inv_images_measure(d, &d->splits[0], row, &width, &height);
		if (st == INVAR_OK || !inv_is_broken(st) || !d->opts.skip_broken)
			break;
	}
	k->of.shape.c = p->channels;
	if (st == INVAR_OK)
		st = inv_prepared_size(p, height, width, d->text, &k->of.shape.h, &k->of.shape.w);
	return st;
}

static invar_status find_width(encoding *k)
{
	const invar_encoder *e = k->of.encoder;
	inv_extent s = k->of.shape;
	invar_status st = inv_encoder_plan_new(e, s, &k->of.plan);

	k->of.augmented = s;
	if (st == INVAR_OK && k->of.augment)
		st = inv_augment_result(k->of.augment, s, &k->of.augmented);
	if (st == INVAR_OK)
		st = inv_encoder_plan_new(e, k->of.augmented, &k->of.copy_plan);
	if (st != INVAR_OK)
		return st;
	k->of.width = k->of.plan->width;
	if (k->of.copy_plan->width != k->of.width)
		return inv_fail(
			INVAR_E_MISMATCH,
			"--augment %s: makes %zu x %zu pixels of %zu x %zu, so %s would give "
			"%" PRIu64 " numbers for a copy and %" PRIu64 " for the image itself",
			k->opts.augment, k->of.augmented.w, k->of.augmented.h, s.w, s.h,
			invar_encoder_name(e), k->of.copy_plan->width, k->of.width);
	if (k->of.width > MOST_WIDTH)
		return inv_fail(INVAR_E_USE,
		                "%s: features of %" PRIu64
		                " numbers are too wide, at most 2^24 are "
		                "allowed; give --size N",
		                k->of.dataset->text, k->of.width);
	return INVAR_OK;
}

static invar_status open_augment(encoding *k)
{
	const char *spec = k->opts.augment;
	invar_status st =
		spec ? invar_augment_parse(&k->alone, spec, &k->of.augment) : INVAR_OK;

	if (st != INVAR_OK)
		return inv_context(st, "--augment %.100s", spec);
	if (!spec)
		return INVAR_OK;
	k->of.columns = invar_augment_columns(k->of.augment);
	if (!k->of.pixel_space)
		inv_augment_pixels(k->of.augment, &k->of.preparation.normalisation);
	return INVAR_OK;
}

static invar_status plan(encoding *k, const invar_encode_opts *o)
{
	invar_status st = inv_encode_take(o, &k->opts);

	if (st != INVAR_OK ||
	    (st = inv_encode_check_copies(&k->opts, k->of.dataset)) != INVAR_OK ||
	    (st = inv_encode_preparation(&k->opts, k->of.encoder, k->of.dataset,
	                                 &k->of.preparation)) != INVAR_OK)
		return st;
	k->of.seed = k->opts.seed;
	k->of.dtype = strcmp(k->opts.dtype, "float16") == 0 ? INV_F16 : INV_F32;
	k->of.pixel_space = strcmp(k->opts.augment_space, "pixel") == 0;
	if ((st = open_augment(k)) != INVAR_OK || (st = find_shape(k)) != INVAR_OK)
		return st;
	if (k->of.pixel_space) {
		k->of.pending = k->of.preparation.normalisation;
		st = inv_normalisation_parse("none", &k->of.preparation.normalisation);
	}
	return st == INVAR_OK ? find_width(k) : st;
}

/* ---- What bank.json says ----------------------------------------------------------------
 */

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

static json_t *preparation_json(const encoding *k)
{
	const inv_preparation *p = &k->of.preparation;
	const inv_normalisation *n = k->of.pixel_space ? &k->of.pending : &p->normalisation;
	const char *filter = p->filter == INV_BICUBIC ? "bicubic" : "bilinear";

	return json_pack(
		"{s:i, s:[I, I], s:o, s:o, s:o}", "channels", (int)p->channels, "size",
		(json_int_t)k->of.shape.h, (json_int_t)k->of.shape.w, "resize",
		p->side ? json_sprintf("shorter side, %s, centre", filter) : json_null(), "mean",
		floats_json(n->mean, p->channels), "std", floats_json(n->std, p->channels));
}

static json_t *columns_json(const invar_augment *a)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < invar_augment_columns(a); i++)
		if (json_array_append_new(list, json_string(invar_augment_column(a, i))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *classes_json(const invar_dataset *d)
{
	json_t *list = d->classes.count ? json_array() : json_null();

	for (size_t i = 0; list && i < d->classes.count; i++)
		if (json_array_append_new(list, inv_json_path(inv_names_at(&d->classes, i))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* No times, no paths: the same call elsewhere gives the same bytes. */
static json_t *about_json(const encoding *k)
{
	const inv_encoding *of = &k->of;
	const invar_augment *a = of->augment;

	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "encoder",
	                 invar_encoder_name(of->encoder), "weights_sha256",
	                 of->encoder->weights_sha256 ? json_string(of->encoder->weights_sha256)
	                                             : json_null(),
	                 "preprocess", preparation_json(k), "dtype", k->opts.dtype, "augment",
	                 a ? json_string(invar_augment_spec(a)) : json_null(), "augment_space",
	                 a ? json_string(k->opts.augment_space) : json_null(), "augment_params",
	                 a ? columns_json(a) : json_null(), "seed",
	                 a ? json_integer((json_int_t)k->opts.seed) : json_null(), "classes",
	                 classes_json(of->dataset), "source", of->dataset->kind->name);
}

/* ---- The rows of a split
 * ------------------------------------------------------------------
 */

typedef struct part {
	const inv_images *split; /* as the data set has it */
	inv_images images;       /* without those that are left out; borrows the rest */
	uint32_t *index;         /* of its own, NULL where nothing is left out */
	json_t *left_out;        /* indices */
	inv_finished there;
	uint64_t copies; /* wanted */
} part;

/* Only its size is looked at; what cannot be prepared is broken as well. */
static invar_status look_at(void *user, inv_image *image, const inv_ahead_item *item,
                            unsigned worker)
{
	const encoding *k = user;
	size_t h, w;

	(void)item;
	(void)worker;
	return inv_prepared_size(&k->of.preparation, image->height, image->width,
	                         k->of.dataset->text, &h, &w);
}

static invar_status find_readable(encoding *k, part *p)
{
	const inv_images *s = p->split;
	const inv_ahead_item *item;
	inv_ahead *ahead;
	uint64_t next = 0;
	invar_status st =
		inv_ahead_new(k->of.ctx, k->of.dataset, s, 0, s->count, look_at, k, 1, &ahead);
	char stage[80];

	snprintf(stage, sizeof stage, "check %.60s", s->name);
	while (st == INVAR_OK && next < s->count) {
		st = inv_ahead_next(ahead, &item);
		for (uint64_t end = item ? item->row : s->count; st == INVAR_OK && next < end;
		     next++)
			if (json_array_append_new(
					p->left_out, json_integer((json_int_t)inv_images_index(s, next))) != 0)
				st = no_memory(k);
		next++;
		if (st == INVAR_OK && next % 256 == 0)
			st =
				inv_progress(k->of.ctx, stage, next < s->count ? next : s->count, s->count);
	}
	inv_ahead_free(ahead);
	return st;
}

/* The rows that stay, in order; the list of those left out is in order too. */
static invar_status leave_out(encoding *k, part *p)
{
	size_t out = 0, most = json_array_size(p->left_out);
	const inv_images *s = p->split;
	uint64_t kept = 0;

	p->images = *s;
	if (!most)
		return INVAR_OK;
	if (!(p->index = inv_alloc(s->count * sizeof *p->index)))
		return no_memory(k);
	for (uint64_t row = 0; row < s->count; row++) {
		uint64_t index = inv_images_index(s, row);

		if (out < most &&
		    (uint64_t)json_integer_value(json_array_get(p->left_out, out)) == index)
			out++;
		else
			p->index[kept++] = (uint32_t)index;
	}
	p->images.index = p->index;
	p->images.count = kept;
	if (!kept)
		return inv_fail(INVAR_E_FORMAT, "%s: no image of its split %s can be read",
		                k->of.dataset->text, s->name);
	return INVAR_OK;
}

static invar_status choose_rows(encoding *k, part *p)
{
	const json_t *entry = inv_bank_writer_entry(k->bank, p->split->name);
	json_t *known = json_object_get(entry, "left_out");
	invar_status st = INVAR_OK;

	if (p->there.clean && json_is_array(known))
		p->left_out = json_incref(known);
	else if (!(p->left_out = json_array()))
		return no_memory(k);
	else if (!p->there.clean && k->of.dataset->opts.skip_broken)
		st = find_readable(k, p);
	return st == INVAR_OK ? leave_out(k, p) : st;
}

/* ---- What is there must fit
 * ----------------------------------------------------------------
 */

static invar_status read_labels(const encoding *k, const part *p, int64_t **out)
{
	uint64_t rows = p->images.count, missing = 0;

	*out = NULL;
	if (!p->split->labels)
		return INVAR_OK;
	if (!(*out = inv_alloc(rows * sizeof **out)))
		return no_memory(k);
	for (uint64_t i = 0; i < rows; i++) {
		(*out)[i] = inv_images_label(k->of.dataset, &p->images, i);
		missing += (*out)[i] < 0;
	}
	if (!missing)
		return INVAR_OK;
	inv_log(k->of.ctx, INVAR_LOG_WARNING,
	        "%s: %" PRIu64 " images of %s have no label, so none are written",
	        k->of.dataset->text, missing, p->split->name);
	inv_free(*out);
	*out = NULL;
	return INVAR_OK;
}

static invar_status check_labels(const encoding *k, const part *p, const int64_t *labels)
{
	char *path = inv_bank_writer_path(k->bank, p->split->name, "labels.npy");
	inv_npy *there = NULL;
	invar_status st = path ? INVAR_OK : no_memory(k);

	if (st == INVAR_OK && labels && inv_exists(path))
		st = inv_npy_open(path, &there);
	for (uint64_t i = 0; there && st == INVAR_OK && i < p->images.count; i++) {
		int64_t label = -1;

		if (i < there->h.cells)
			st = inv_npy_read_int(there, i, 1, &label);
		if (st == INVAR_OK && label != labels[i])
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s: label %" PRIu64 " is %" PRId64
			              " but that of the images now is "
			              "%" PRId64 "; copies can only be added with the same images",
			              path, i, label, labels[i]);
	}
	inv_npy_close(there);
	inv_free(path);
	return st;
}

static invar_status check_part(const encoding *k, const part *p, const int64_t *labels)
{
	if (p->there.rows != p->images.count)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its split %s has %" PRIu64 " rows but %" PRIu64
		                " images were chosen; choose the same ones, or make another bank",
		                k->path, p->split->name, p->there.rows, p->images.count);
	if (p->there.width != k->of.width)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its split %s has rows of %" PRIu64
		                " numbers but the encoder gives %" PRIu64,
		                k->path, p->split->name, p->there.width, k->of.width);
	return check_labels(k, p, labels);
}

/* ---- One split
 * ----------------------------------------------------------------------------
 */

static invar_status open_arrays(encoding *k, const part *p, inv_pass *pass)
{
	char name[INV_ARRAY_NAME];
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < pass->arrays && st == INVAR_OK; i++) {
		inv_pass_array *a = &pass->array[i];

		st = inv_rows_create(k->bank, p->split->name, inv_array_name(a->copy, false, name),
		                     k->of.dtype, p->images.count, k->of.width, &a->rows);
		if (st == INVAR_OK && a->copy != INVAR_CLEAN && k->of.columns)
			st = inv_rows_create(k->bank, p->split->name,
			                     inv_array_name(a->copy, true, name), INV_F32,
			                     p->images.count, k->of.columns, &a->params);
	}
	return st;
}

/* Parameters before their copy, so that a copy which is there has them. */
static invar_status close_arrays(inv_pass *pass, invar_status st)
{
	for (size_t i = 0; i < pass->arrays; i++) {
		inv_pass_array *a = &pass->array[i];

		if (st == INVAR_OK && a->params) {
			st = inv_rows_finish(a->params);
			a->params = NULL;
		}
		if (st == INVAR_OK) {
			st = inv_rows_finish(a->rows);
			a->rows = NULL;
		}
		inv_rows_abandon(a->params);
		inv_rows_abandon(a->rows);
	}
	return st;
}

static invar_status run_passes(encoding *k, const part *p, inv_pass *pass)
{
	int64_t copy = p->there.clean ? (int64_t)p->there.copies : INVAR_CLEAN;
	invar_status st = INVAR_OK;

	pass->total = ((uint64_t)((int64_t)p->copies - copy)) * p->images.count;
	while (st == INVAR_OK && copy < (int64_t)p->copies) {
		for (pass->arrays = 0; pass->arrays < INV_PASS_ARRAYS && copy < (int64_t)p->copies;
		     copy++)
			pass->array[pass->arrays++] = (inv_pass_array){.copy = (int32_t)copy};
		st = open_arrays(k, p, pass);
		if (st == INVAR_OK)
			st = inv_pass_run(pass);
		st = close_arrays(pass, st);
		pass->known = NULL; /* it is looked at once */
	}
	return st;
}

static invar_status fill(encoding *k, part *p)
{
	char stage[80], *clean = inv_bank_writer_path(k->bank, p->split->name, "clean.npy");
	inv_pass pass = {.of = &k->of, .images = &p->images, .stage = stage};
	double began = inv_wall_seconds(), seconds;
	inv_npy *known = NULL;
	invar_status st = clean ? INVAR_OK : no_memory(k);

	snprintf(stage, sizeof stage, "encode %.60s", p->split->name);
	if (st == INVAR_OK && p->there.clean)
		st = inv_npy_open(clean, &known);
	pass.known = known;
	if (st == INVAR_OK)
		st = run_passes(k, p, &pass);
	seconds = inv_wall_seconds() - began;
	if (st == INVAR_OK)
		inv_log(k->of.ctx, INVAR_LOG_INFO,
		        "%s: %" PRIu64 " images, %" PRIu64 " copies; %" PRIu64
		        " encoded, %.0f a second",
		        p->split->name, p->images.count, p->copies, pass.done,
		        (double)pass.done / (seconds > 0 ? seconds : 1));
	inv_npy_close(known);
	inv_free(clean);
	return st;
}

static invar_status begin(encoding *k, const part *p, const int64_t *labels)
{
	json_t *entry = json_pack("{s:I, s:I, s:O}", "images", (json_int_t)p->split->total,
	                          "rows", (json_int_t)p->images.count, "left_out", p->left_out);
	invar_status st =
		entry ? inv_bank_writer_begin(k->bank, p->split->name, entry, p->copies > 0)
			  : no_memory(k);

	json_decref(entry);
	if (st == INVAR_OK && labels && !p->there.clean)
		st = inv_bank_writer_labels(k->bank, p->split->name, labels, p->images.count);
	return st;
}

static invar_status encode_part(encoding *k, part *p)
{
	int64_t *labels = NULL;
	invar_status st = inv_bank_writer_find(k->bank, p->split->name, &p->there);

	if (st == INVAR_OK)
		st = choose_rows(k, p);
	if (st == INVAR_OK)
		st = read_labels(k, p, &labels);
	if (st == INVAR_OK && p->there.clean)
		st = check_part(k, p, labels);
	if (st == INVAR_OK && p->there.clean && p->there.copies >= p->copies) {
		inv_log(k->of.ctx, INVAR_LOG_INFO,
		        "%s: is there already, with %" PRIu64 " copies; nothing to do",
		        p->split->name, p->there.copies);
	} else if (st == INVAR_OK && (st = begin(k, p, labels)) == INVAR_OK) {
		st = fill(k, p);
	}
	inv_free(labels);
	return st;
}

static invar_status encode_splits(encoding *k)
{
	const invar_dataset *d = k->of.dataset;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < d->split_count && st == INVAR_OK; i++) {
		part p = {.split = &d->splits[i],
		          .copies = inv_encode_copies(&k->opts, d->splits[i].name)};

		st = encode_part(k, &p);
		json_decref(p.left_out);
		inv_free(p.index);
	}
	return st;
}

invar_status invar_encode(invar_encoder *e, const invar_dataset *d,
                          const invar_encode_opts *o, const char *bank)
{
	encoding k = {
		.of = {.ctx = e->ctx, .encoder = e, .dataset = d}, .alone = *e->ctx, .path = bank};
	const char *sha256;
	json_t *about = NULL;
	invar_status st = invar_encoder_sha256(e, &sha256);

	k.alone.threads = 1;
	if (st == INVAR_OK)
		st = plan(&k, o);
	if (st == INVAR_OK && !(about = about_json(&k)))
		st = no_memory(&k);
	if (st == INVAR_OK)
		st = inv_bank_writer_open(bank, about, &k.bank);
	if (st == INVAR_OK)
		st = encode_splits(&k);
	json_decref(about);
	inv_bank_writer_close(k.bank);
	invar_augment_close(k.of.augment);
	inv_encoder_plan_free(k.of.plan);
	inv_encoder_plan_free(k.of.copy_plan);
	return st;
}
