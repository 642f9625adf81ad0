/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c - see spread.h.
 *
 * Rows are summed relative to the clean mean, so that a mean far from the origin loses no
 * digits: sums in double, products in float over blocks (math/gram_sum.h).
 */
#include "adapter/spread.h"

#include <math.h>
#include <string.h>

#include "adapter/closed_forms/visit_pairs.h"
#include "bank/clean_statistics.h"
#include "base/memory.h"
#include "math/gram_sum.h"
#include "math/transport.h"

enum { MAX_IMAGES = 10000 };

/*
 * Copies that `scale` is measured on: one number needs fewer than a covariance. All images
 * and some copies of each, as images differ more than copies of an image: of 1300 images of
 * SqueezeNet, 4 of 6 copies give 1.4200 instead of 1.4202.
 */
enum { SCALE_ROWS = 4096 };

static const double share = 0.3; /* of the mean variance, added to both covariances */

static const invar_option own[] = {
	{.name = "spread",
     .type = INVAR_OPTION_TEXT,
     .initial = "none",
     .flags = INVAR_OPTION_RESULT,
     .choices = "none|scale|transport",
     .meta = "WORD",
     .group = "Method",
     .help =
         "undo the shrinking of adapted rows, for an index that stays: scale stretches E "
         "about the clean mean, so that copies have the spread of clean features; "
         "transport maps the Gaussian of adapted rows, clean ones included, onto that of "
         "clean features, with both covariances regularised"},
	{0},
};

invar_status inv_spread_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, own);

	return st == INVAR_OK ? inv_options_idle(o, "spread", "none", "spread") : st;
}

/* Sums of rows relative to the clean mean. */
typedef struct cloud {
	uint64_t n;
	double *sum;    /* [d] */
	double *gram;   /* [d, d], lower triangle; NULL if only the spread is needed */
	double squares; /* of all values */
} cloud;

typedef struct measurement {
	const invar_context *ctx;
	const inv_mlp_form *e;
	size_t d;
	bool transport;
	inv_clean_statistics scale;
	inv_gram_sum *add;
	float *codes; /* [block, d], grown to the rows of a call */
	size_t capacity;
	cloud clean, copies, adapted; /* adapted: codes of clean rows and of copies */
} measurement;

/* ---- Sums ------------------------------------------------------------------------- */

static bool allocate_cloud(const measurement *m, bool gram, cloud *c)
{
	c->sum = inv_calloc(m->d, sizeof *c->sum);
	c->gram = gram ? inv_calloc(m->d * m->d, sizeof *c->gram) : NULL;
	return c->sum && (c->gram || !gram);
}

static void free_cloud(cloud *c)
{
	inv_free(c->sum);
	inv_free(c->gram);
}

/* The rows are relative to the clean mean. */
static void add_cloud(const measurement *m, const float *rows, size_t count, cloud *c)
{
	const inv_gram_part part = {rows, m->d};

	inv_column_sums_add(rows, count, m->d, c->sum);
	for (size_t i = 0; i < count; i++) {
		double sum = 0; /* summed row by row to keep precision */

		for (size_t j = i * m->d; j < (i + 1) * m->d; j++)
			sum += (double)rows[j] * rows[j];
		c->squares += sum;
	}
	if (c->gram)
		inv_gram_sum_add(m->add, &part, 1, count, c->gram);
	c->n += count;
}

static void centre(const measurement *m, const float *rows, size_t count, float *out)
{
	for (size_t i = 0; i < count * m->d; i++)
		out[i] = (float)(rows[i] - m->scale.mean[i % m->d]);
}

static invar_status make_room(measurement *m, uint64_t rows)
{
	if (rows <= m->capacity)
		return INVAR_OK;
	inv_free(m->codes);
	m->codes = inv_alloc((size_t)rows * m->d * sizeof *m->codes);
	m->capacity = m->codes ? (size_t)rows : 0;
	return m->codes ? INVAR_OK
	                : inv_fail(INVAR_E_NOMEM, "not enough memory for a block of codes");
}

/* An inv_pair_fn. */
static invar_status add_rows(void *user, const float *a, const float *b, uint64_t rows)
{
	measurement *m = user;
	bool is_clean = a == b;
	invar_status st = make_room(m, rows);

	if (st != INVAR_OK)
		return st;
	if (is_clean) {
		centre(m, a, rows, m->codes);
		add_cloud(m, m->codes, rows, &m->clean);
		if (!m->transport)
			return INVAR_OK;
	}
	st = inv_mlp_apply(m->ctx, m->e->s, m->e->params, m->e->residual, a, rows, m->codes);
	if (st != INVAR_OK)
		return st;
	centre(m, m->codes, rows, m->codes);
	add_cloud(m, m->codes, rows, m->transport ? &m->adapted : &m->copies);
	return INVAR_OK;
}

/* ---- The maps --------------------------------------------------------------------- */

/* Mean squared distance from the mean, per feature. */
static double variance(const measurement *m, const cloud *c)
{
	double n = (double)c->n, mean = 0;

	for (size_t j = 0; j < m->d; j++)
		mean += c->sum[j] / n * (c->sum[j] / n);
	return (c->squares / n - mean) / (double)m->d;
}

static invar_status new_map(const measurement *m, inv_map_affine *out)
{
	*out = (inv_map_affine){.d = m->d,
	                        .M = inv_calloc(m->d * m->d, sizeof(double)),
	                        .t = inv_calloc(m->d, sizeof(double))};
	if (out->M && out->t)
		return INVAR_OK;
	inv_map_clear(out);
	return inv_fail(INVAR_E_NOMEM, "not enough memory for a map of %zu features", m->d);
}

static invar_status fit_scale(const measurement *m, inv_map_affine *out, json_t **about)
{
	double ratio = sqrt(variance(m, &m->clean) / variance(m, &m->copies));
	invar_status st;

	if (!isfinite(ratio))
		return inv_fail(INVAR_E_NUMERIC,
		                "@spread scale: the adapter maps all copies to one point");
	if ((st = new_map(m, out)) != INVAR_OK)
		return st;
	for (size_t j = 0; j < m->d; j++) {
		out->M[j * m->d + j] = ratio;
		out->t[j] = (1 - ratio) * m->scale.mean[j];
	}
	*about = json_pack("{s:s, s:f}", "kind", "scale", "factor", ratio);
	return INVAR_OK;
}

/* Replaces the sums by the covariance; `ridge` is added to its diagonal. */
static void finish_covariance(const measurement *m, double ridge, cloud *c)
{
	double n = (double)c->n;

	for (size_t i = 0; i < m->d; i++)
		for (size_t j = 0; j <= i; j++)
			c->gram[i * m->d + j] = c->gram[i * m->d + j] / n -
			                        c->sum[i] / n * (c->sum[j] / n) + (i == j ? ridge : 0);
}

static invar_status fit_transport(measurement *m, inv_map_affine *out, json_t **about)
{
	double ridge = share * variance(m, &m->clean);
	double n = (double)m->adapted.n;
	invar_status st = new_map(m, out);

	if (st != INVAR_OK)
		return st;
	finish_covariance(m, ridge, &m->clean);
	finish_covariance(m, ridge, &m->adapted);
	st = inv_gaussian_transport(m->ctx, m->d, m->adapted.gram, m->clean.gram, out->M);
	if (st != INVAR_OK) {
		inv_map_clear(out);
		return st;
	}
	/* mu - m T, m = mu + sum / n */
	for (size_t j = 0; j < m->d; j++)
		out->t[j] = m->scale.mean[j];
	for (size_t i = 0; i < m->d; i++)
		for (size_t j = 0; j < m->d; j++)
			out->t[j] -= (m->scale.mean[i] + m->adapted.sum[i] / n) * out->M[i * m->d + j];
	*about = json_pack("{s:s, s:f}", "kind", "transport", "share", share);
	return INVAR_OK;
}

/* ---- The whole -------------------------------------------------------------------- */

bool inv_spread_wanted(const invar_options *o)
{
	return !inv_option_is(o, "spread", "none");
}

/* Spread evenly over the training images; gives. */
static invar_status choose_images(const inv_spread_spec *s, bool transport, uint32_t **out,
                                  uint32_t *count)
{
	uint32_t most = transport ? MAX_IMAGES : SCALE_ROWS;

	*count = s->image_count < most ? s->image_count : most;
	if (!(*out = inv_calloc(*count, sizeof **out)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of images");
	for (uint32_t i = 0; i < *count; i++)
		(*out)[i] = s->images[(uint64_t)i * s->image_count / *count];
	return INVAR_OK;
}

static uint32_t count_copies(const inv_source *from, bool transport, uint32_t images)
{
	uint32_t enough = (SCALE_ROWS + images - 1) / images;

	return transport || from->copies < enough ? from->copies : enough;
}

static invar_status visit_source(const inv_spread_spec *s, uint32_t g,
                                 const uint32_t *images, uint32_t count, measurement *m)
{
	const inv_closed_form_spec from = {.options = s->options,
	                                   .bank = s->source[g]->bank,
	                                   .split = s->source[g]->stored,
	                                   .copies =
	                                       count_copies(s->source[g], m->transport, count),
	                                   .images = images,
	                                   .image_count = count};
	inv_pair_visitor v = {0};
	invar_status st = inv_pair_visitor_open(&from, g == 0, &v);

	if (st == INVAR_OK)
		st = inv_visit_pairs(&v, images, count, add_rows, m);
	inv_pair_visitor_close(&v);
	return st;
}

static invar_status measure_spread(const inv_spread_spec *s, measurement *m)
{
	uint32_t *images, count;
	invar_status st = choose_images(s, m->transport, &images, &count);

	if (st == INVAR_OK)
		st = inv_clean_statistics_of(s->source[0]->bank, s->source[0]->stored, images,
		                             count, &m->scale);
	if (st == INVAR_OK)
		st = inv_gram_sum_new(m->ctx, &m->add);
	if (st == INVAR_OK && (!allocate_cloud(m, m->transport, &m->clean) ||
	                       !allocate_cloud(m, false, &m->copies) ||
	                       !allocate_cloud(m, m->transport, &m->adapted)))
		st = inv_fail(INVAR_E_NOMEM,
		              "not enough memory for the covariances of %zu features", m->d);
	for (uint32_t g = 0; g < s->sources && st == INVAR_OK; g++)
		st = visit_source(s, g, images, count, m);
	inv_free(images);
	return st;
}

/* E and then the map, as one MLP. */
static invar_status fold(const invar_context *ctx, const inv_mlp_form *e,
                         const inv_map_affine *map, inv_mlp_form *out)
{
	inv_composition *c;
	invar_status st = inv_composition_new(ctx, e->s.d, e->s.w, e->s.h, &c);

	if (st != INVAR_OK)
		return st;
	inv_composition_add(c, e, 1);
	st = inv_composition_map(c, map);
	if (st == INVAR_OK)
		st = inv_composition_finish(c, out);
	inv_composition_free(c);
	return st;
}

invar_status inv_spread_fit(const inv_spread_spec *s, const inv_mlp_form *e, bool transport,
                            inv_map_affine *map, json_t **about)
{
	measurement m = {.ctx = s->source[0]->ctx, .e = e, .d = e->s.d, .transport = transport};
	invar_status st = measure_spread(s, &m);

	*about = NULL;
	*map = (inv_map_affine){0};
	if (st == INVAR_OK)
		st = transport ? fit_transport(&m, map, about) : fit_scale(&m, map, about);
	inv_clean_statistics_clear(&m.scale);
	inv_gram_sum_free(m.add);
	inv_free(m.codes);
	free_cloud(&m.clean);
	free_cloud(&m.copies);
	free_cloud(&m.adapted);
	return st;
}

invar_status inv_spread_apply(const inv_spread_spec *s, const inv_mlp_form *e,
                              inv_mlp_form *out, json_t **about)
{
	inv_map_affine map;
	invar_status st =
		inv_spread_fit(s, e, inv_option_is(s->options, "spread", "transport"), &map, about);

	if (st == INVAR_OK)
		st = fold(s->source[0]->ctx, e, &map, out);
	inv_map_clear(&map);
	return st;
}
