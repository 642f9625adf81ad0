/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - see spread.h.
 *
 * Rows are summed relative to the clean mean, in double, so that a mean far from the origin
 * loses no digits.
 */
#include "adapter/spread.h"

#include <math.h>

#include "adapter/closed_forms/visit_pairs.h"
#include "bank/clean_statistics.h"
#include "base/memory.h"
#include "base/options.h"
#include "math/gram_sum.h"

/*
 * Copies that the scale is measured on, as one number needs few. All images and some copies
 * of each, as images differ more than copies of an image: of 1300 images of SqueezeNet, 4
 * of 6 copies give 1.4200 instead of 1.4202.
 */
enum { SCALE_ROWS = 4096 };

static const invar_option spread_rows[] = {
	{"spread", INVAR_OPTION_TEXT, "none",
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_EXPERT, .choices = "none|scale",
     .meta = "WORD", .group = "Method",
     .help =
         "undo the shrinking of adapted rows, for an index that stays: scale stretches E "
         "about the clean mean, so that copies have the spread of clean features"},
	{0},
};

invar_status inv_spread_declare(invar_options *o)
{
	INV_TRY(inv_options_add_rows(o, spread_rows));
	return inv_options_idle(o, "spread", "none", "spread");
}

/* Sums of rows relative to the clean mean. */
typedef struct cloud {
	uint64_t n;
	double *sum;    /* [d] */
	double squares; /* of all values */
} cloud;

typedef struct spread_job {
	const invar_context *ctx;
	const inv_mlp_form *e;
	size_t d;
	inv_clean_statistics scale;
	float *codes; /* [block, d], grown to the rows of a call */
	size_t capacity;
	cloud clean, copies; /* copies: their codes */
} spread_job;

/* An inv_pair_fn: clean rows as they are, copies after E. */
static invar_status add_to_cloud(void *user, const float *a, const float *b, uint64_t rows)
{
	spread_job *j = user;
	bool is_clean = a == b;
	cloud *c = is_clean ? &j->clean : &j->copies;

	if (rows > j->capacity) {
		inv_free(j->codes);
		j->capacity = 0;
		INV_TRY(inv_new_array(&j->codes, rows * j->d));
		j->capacity = (size_t)rows;
	}
	if (!is_clean)
		INV_TRY(inv_mlp_apply(j->ctx, j->e->s, j->e->params, j->e->residual, a, rows,
		                      j->codes));
	for (size_t i = 0; i < rows * j->d; i++)
		j->codes[i] = (float)((is_clean ? a : j->codes)[i] - j->scale.mean[i % j->d]);
	inv_column_sums_add(j->codes, rows, j->d, c->sum);
	for (size_t i = 0; i < rows; i++) {
		double sum = 0; /* summed row by row to keep precision */

		for (size_t l = i * j->d; l < (i + 1) * j->d; l++)
			sum += (double)j->codes[l] * j->codes[l];
		c->squares += sum;
	}
	c->n += rows;
	return INVAR_OK;
}

/* Mean squared distance from the mean, per feature. */
static double variance(const spread_job *j, const cloud *c)
{
	double n = (double)c->n, mean = 0;

	for (size_t l = 0; l < j->d; l++)
		mean += c->sum[l] / n * (c->sum[l] / n);
	return (c->squares / n - mean) / (double)j->d;
}

bool inv_spread_wanted(const invar_options *o)
{
	return !inv_option_is(o, "spread", "none");
}

/* Images are spread evenly over those that train. */
static invar_status measure_clouds(const inv_spread_spec *s, spread_job *j)
{
	uint32_t count = s->image_count < SCALE_ROWS ? s->image_count : SCALE_ROWS;
	uint32_t enough = (SCALE_ROWS + count - 1) / count, *images;
	inv_pair_visitor v = {0};
	invar_status st;

	INV_TRY(inv_new_zeros(&j->clean.sum, j->d));
	INV_TRY(inv_new_zeros(&j->copies.sum, j->d));
	INV_TRY(inv_new_array(&images, count));
	for (uint32_t i = 0; i < count; i++)
		images[i] = s->images[(uint64_t)i * s->image_count / count];
	INV_TRY_OR(done, inv_clean_statistics_of(s->source[0]->bank, s->source[0]->stored,
	                                         images, count, &j->scale));
	for (uint32_t g = 0; g < s->sources; g++) {
		const inv_source *from = s->source[g];
		const inv_closed_form_spec rows = {
			.options = s->options,
			.bank = from->bank,
			.split = from->stored,
			.copies = from->copies < enough ? from->copies : enough,
			.images = images,
			.image_count = count,
		};

		inv_pair_visitor_close(&v);
		INV_TRY_OR(done, inv_pair_visitor_open(&rows, g == 0, &v));
		INV_TRY_OR(done, inv_visit_pairs(&v, images, count, add_to_cloud, j));
	}
done:
	inv_pair_visitor_close(&v);
	inv_free(images);
	return st;
}

/* E'(z) = mu + ratio (E(z) - mu), as one MLP. */
static invar_status stretch(const spread_job *j, double ratio, inv_mlp_form *out)
{
	inv_map_affine map = {.d = j->d};
	inv_composition *c = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_zeros(&map.M, j->d * j->d));
	INV_TRY_OR(done, inv_new_zeros(&map.t, j->d));
	for (size_t l = 0; l < j->d; l++) {
		map.M[l * j->d + l] = ratio;
		map.t[l] = (1 - ratio) * j->scale.mean[l];
	}
	INV_TRY_OR(done, inv_composition_new(j->ctx, j->e->s.d, j->e->s.w, j->e->s.h, &c));
	inv_composition_add(c, j->e, 1);
	INV_TRY_OR(done, inv_composition_map(c, &map));
	st = inv_composition_finish(c, out);
done:
	inv_composition_free(c);
	inv_map_clear(&map);
	return st;
}

invar_status inv_spread_apply(const inv_spread_spec *s, const inv_mlp_form *e,
                              inv_mlp_form *out, json_t **about)
{
	spread_job j = {.ctx = s->source[0]->ctx, .e = e, .d = e->s.d};
	double ratio;
	invar_status st;

	*about = NULL;
	INV_TRY_OR(done, measure_clouds(s, &j));
	ratio = sqrt(variance(&j, &j.clean) / variance(&j, &j.copies));
	if (!isfinite(ratio))
		INV_TRY_OR(done, inv_fail(INVAR_E_NUMERIC,
		                          "@spread scale: the adapter maps all copies to one point"));
	if (!(*about = json_pack("{s:s, s:f}", "kind", "scale", "factor", ratio)))
		INV_TRY_OR(done, inv_no_memory());
	st = stretch(&j, ratio, out);
done:
	inv_clean_statistics_clear(&j.scale);
	inv_free(j.codes);
	inv_free(j.clean.sum);
	inv_free(j.copies.sum);
	return st;
}
