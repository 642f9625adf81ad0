/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariance.c - how near copies are to their images; needs no labels.
 *
 * For every copy of every image, the distance of its code from the clean feature: for F the
 * displacement that the augmentation causes, for an adapter what is left of it. Mean and
 * quantiles (interpolated as NumPy does), the mean in units of the spread of clean
 * features, the cosine of code and clean feature, the fraction of the squared displacement
 * that is removed, 1 - sum |after|² / sum |before|², and shrinkage: the slope m of the
 * structure fit and the spread of the copies over that of the clean features. If an adapter
 * shrinks, a note says which uses that harms.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/measurement.h"
#include "measure/structure.h"

enum { BLOCK = 1024, QUANTILES = 3 };

static const double quantile[QUANTILES] = {0.1, 0.5, 0.9};

/* Below this ratio, L2 search in the old index gets noticeably worse. */
static const double shrunk = 0.9;

/* Sums for the root mean square distance of rows to their mean. */
typedef struct spread_sums {
	double *sum;   /* [d]: of row - origin */
	double square; /* sum of |row - origin|² */
	uint64_t rows;
} spread_sums;

typedef struct invariance {
	const inv_measure_input *in;
	inv_selection rows;
	uint64_t images;
	uint32_t copies;
	size_t d;
	float *clean, *copy, *code; /* [BLOCK, d] */
	double *mean;               /* [images]: displacement */
	double *before, *after;     /* [images]: squared displacement, summed over copies */
	double *cosine;             /* [images]: with the clean feature, mean over copies */
	inv_sample *all, *cosines;  /* [images, copies] */
	double *origin;             /* [d]: mean of the clean rows */
	spread_sums clean_sums, code_sums;
	double clean_spread, spread_ratio; /* of clean rows; of codes over that */
	double slope;
} invariance;

/* ---- Passing over the rows ------------------------------------------------------- */

static void add_spread(const invariance *v, const float *rows, uint64_t count,
                       spread_sums *s)
{
	for (uint64_t i = 0; i < count; i++)
		for (size_t k = 0; k < v->d; k++) {
			double x = rows[i * v->d + k] - v->origin[k];

			s->sum[k] += x;
			s->square += x * x;
		}
	s->rows += count;
}

static double spread_of(const invariance *v, const spread_sums *s)
{
	double n = (double)s->rows, shift = 0;

	for (size_t k = 0; k < v->d; k++)
		shift += s->sum[k] / n * (s->sum[k] / n);
	return sqrt(fmax(s->square / n - shift, 0));
}

/* Their mean first: sums of squares about it lose no digits. */
static invar_status measure_clean_spread(invariance *v)
{
	spread_sums *s = &v->clean_sums;

	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t first = 0; first < v->images; first += BLOCK) {
			uint64_t now = inv_min(v->images - first, BLOCK);

			INV_TRY(
				inv_measure_rows(v->in, &v->rows, INVAR_CLEAN, true, first, now, v->clean));
			add_spread(v, v->clean, now, s);
		}
		if (pass)
			break;
		for (size_t k = 0; k < v->d; k++)
			v->origin[k] = s->sum[k] / (double)v->images;
		memset(s->sum, 0, v->d * sizeof *s->sum);
		s->square = 0;
		s->rows = 0;
	}
	v->clean_spread = spread_of(v, s);
	return INVAR_OK;
}

static void add_image(invariance *v, uint64_t image, uint32_t copy, size_t at)
{
	const struct inv_kernels *k = &v->in->kernels;
	const float *clean = v->clean + at * v->d, *code = v->code + at * v->d;
	double before = k->squared_distance(v->copy + at * v->d, clean, v->d);
	double after = k->squared_distance(code, clean, v->d);
	double norms = k->dot(code, code, v->d) * k->dot(clean, clean, v->d);
	/* As in a search by cosine, a row of zeros is similar to nothing. */
	double cosine = norms > 0 ? k->dot(code, clean, v->d) / sqrt(norms) : 0;

	v->before[image] += before;
	v->after[image] += after;
	v->mean[image] += sqrt(after) / v->copies;
	v->cosine[image] += cosine / v->copies;
	v->all[copy * v->images + image] = (inv_sample){sqrt(after), (uint32_t)image};
	v->cosines[copy * v->images + image] = (inv_sample){cosine, (uint32_t)image};
}

/* 1 for F; NaN if clean rows have no structure to fit. */
static invar_status measure_slope(invariance *v)
{
	const inv_measure_input *in = v->in;
	uint64_t n = v->images;
	inv_structure s;
	float *x, *e;

	v->slope = 1;
	if (!in->adapter)
		return INVAR_OK;
	INV_TRY(inv_pool_zeros(in->scratch, &x, n * v->d));
	INV_TRY(inv_pool_zeros(in->scratch, &e, n * v->d));
	INV_TRY(inv_measure_rows(in, &v->rows, INVAR_CLEAN, true, 0, n, x));
	INV_TRY(inv_measure_rows(in, &v->rows, INVAR_CLEAN, false, 0, n, e));
	INV_TRY(inv_structure_try(in->ctx, x, in->d, e, in->w, n, &s));
	v->slope = s.m;
	return INVAR_OK;
}

/* ---- Values ---------------------------------------------------------------------- */

static invar_status put_invariance_value(const invariance *v, const char *name,
                                         const inv_interval *i)
{
	char id[64];

	snprintf(id, sizeof id, "invariance.%s", name);
	return inv_put_interval(v->in->results, id, v->in->column, i);
}

/* Mean and quantiles of displacements or cosines; sorts all. */
static invar_status put_distribution(const invariance *v, const char *name,
                                     const double *mean, inv_sample *all, inv_interval *i)
{
	const inv_measure_input *in = v->in;
	inv_interval q[QUANTILES];
	char id[48];

	INV_TRY(inv_bootstrap(in->ctx, mean, v->images, 1, in->seed, i));
	snprintf(id, sizeof id, "%s.mean", name);
	INV_TRY(put_invariance_value(v, id, i));
	INV_TRY(inv_bootstrap_quantiles(in->ctx, all, v->images, v->copies, quantile, QUANTILES,
	                                in->seed, q));
	for (int k = 0; k < QUANTILES; k++) {
		snprintf(id, sizeof id, "%s.q%.0f", name, 100 * quantile[k]);
		INV_TRY(put_invariance_value(v, id, &q[k]));
	}
	return INVAR_OK;
}

static invar_status put_gone(const invariance *v)
{
	const inv_measure_input *in = v->in;
	inv_interval i;
	uint64_t moved = 0;

	if (!in->adapter)
		return inv_put_number(in->results, "invariance.gone", in->column, 0, v->images);
	while (moved < v->images && !(v->before[moved] > 0))
		moved++;
	if (moved == v->images) /* no copy was displaced */
		return INVAR_OK;
	INV_TRY(inv_bootstrap_ratio(in->ctx, v->after, v->before, v->images, in->seed, &i));
	i = (inv_interval){1 - i.value, 1 - i.high, 1 - i.low, i.images};
	return put_invariance_value(v, "gone", &i);
}

/* The mean displacement also in units of the spread of clean features. */
static invar_status put_invariance(const invariance *v)
{
	const inv_measure_input *in = v->in;
	double spread = v->clean_spread;
	inv_interval i;
	char sentence[400], slope[32] = "";

	INV_TRY(put_distribution(v, "displacement", v->mean, v->all, &i));
	i = (inv_interval){i.value / spread, i.low / spread, i.high / spread, i.images};
	if (spread > 0)
		INV_TRY(put_invariance_value(v, "displacement.relative", &i));
	INV_TRY(put_distribution(v, "cosine", v->cosine, v->cosines, &i));
	INV_TRY(put_gone(v));
	if (!isnan(v->slope))
		INV_TRY(inv_put_number(in->results, "invariance.slope", in->column, v->slope,
		                       v->images));
	if (!isnan(v->spread_ratio))
		INV_TRY(inv_put_number(in->results, "invariance.spread", in->column,
		                       v->spread_ratio, v->images));
	if (!v->in->adapter || !(v->spread_ratio < shrunk))
		return INVAR_OK;
	if (isfinite(v->slope)) /* two images have no slope */
		snprintf(slope, sizeof slope, " (m %.2f)", v->slope);
	snprintf(sentence, sizeof sentence,
	         "%.100s shrinks: its copies have %.2f times the spread of clean features"
	         "%s, which harms a search by L2 in the old index; train with the option "
	         "spread, make a new index, or search by cosine",
	         v->in->title, v->spread_ratio, slope);
	inv_log(v->in->ctx, INVAR_LOG_DETAIL, "%s", sentence);
	return inv_results_note(v->in->results, sentence);
}

static invar_status measure_invariance(const inv_measure_input *in)
{
	invariance v = {.in = in,
	                .rows = inv_select_points(in, inv_select_all(in->split)),
	                .copies = in->split->copies,
	                .d = in->d};
	inv_pool *s = in->scratch;

	v.images = v.rows.points;
	INV_TRY(inv_measure_same_width(in, "displacement compares codes with features"));
	INV_TRY(inv_pool_zeros(s, &v.clean, BLOCK * v.d));
	INV_TRY(inv_pool_zeros(s, &v.copy, BLOCK * v.d));
	INV_TRY(inv_pool_zeros(s, &v.code, BLOCK * v.d));
	INV_TRY(inv_pool_zeros(s, &v.mean, v.images));
	INV_TRY(inv_pool_zeros(s, &v.before, v.images));
	INV_TRY(inv_pool_zeros(s, &v.after, v.images));
	INV_TRY(inv_pool_zeros(s, &v.cosine, v.images));
	INV_TRY(inv_pool_zeros(s, &v.all, v.images * v.copies));
	INV_TRY(inv_pool_zeros(s, &v.cosines, v.images * v.copies));
	INV_TRY(inv_pool_zeros(s, &v.origin, v.d));
	INV_TRY(inv_pool_zeros(s, &v.clean_sums.sum, v.d));
	INV_TRY(inv_pool_zeros(s, &v.code_sums.sum, v.d));

	INV_TRY(measure_clean_spread(&v));
	for (uint32_t copy = 0; copy < v.copies; copy++)
		for (uint64_t first = 0; first < v.images; first += BLOCK) {
			uint64_t now = inv_min(v.images - first, BLOCK);

			INV_TRY(inv_progress(in->ctx, "invariance", copy * v.images + first,
			                     v.copies * v.images));
			INV_TRY(inv_measure_rows(in, &v.rows, INVAR_CLEAN, true, first, now, v.clean));
			INV_TRY(inv_measure_rows(in, &v.rows, (int32_t)copy, true, first, now, v.copy));
			INV_TRY(
				inv_measure_rows(in, &v.rows, (int32_t)copy, false, first, now, v.code));
			for (uint64_t i = 0; i < now; i++)
				add_image(&v, first + i, copy, (size_t)i);
			add_spread(&v, v.code, now, &v.code_sums);
		}
	v.spread_ratio =
		v.clean_spread > 0 ? spread_of(&v, &v.code_sums) / v.clean_spread : NAN;
	INV_TRY(measure_slope(&v));
	return put_invariance(&v);
}

#define DISPLACEMENT(NAME, ROW, PART)                                                  \
	{                                                                                  \
		.id = "invariance.displacement." NAME, .measurement = "invariance",            \
		.row = "displacement of copies, " ROW, .part = PART, .better = -1, .digits = 2 \
	}

#define COSINE(NAME, ROW, PART, DETAIL)                                                    \
	{                                                                                      \
		.id = "invariance.cosine." NAME, .measurement = "invariance",                      \
		.row = "cosine of copies and clean, " ROW, .part = PART, .better = 1, .digits = 3, \
		.detail = DETAIL                                                                   \
	}

static const invar_metric metrics[] = {
	DISPLACEMENT("mean", "mean | median", "mean"),
	DISPLACEMENT("q50", "mean | median", "median"),
	DISPLACEMENT("q10", "10 % | 90 %", "10 %"),
	DISPLACEMENT("q90", "10 % | 90 %", "90 %"),
	DISPLACEMENT("relative", "mean / spread of clean", NULL),
	COSINE("mean", "mean | median", "mean", 0),
	COSINE("q50", "mean | median", "median", 0),
	COSINE("q10", "10 % | 90 %", "10 %", 1),
	COSINE("q90", "10 % | 90 %", "90 %", 1),
	INV_SHARE_METRIC("invariance", "invariance.gone", "squared displacement gone", NULL, 1),
	INV_NUMBER_METRIC("invariance", "invariance.slope", "m | spread of copies / clean", "m",
                      0, 3),
	INV_NUMBER_METRIC("invariance", "invariance.spread", "m | spread of copies / clean",
                      "spread of copies / clean", 0, 3),
	{0},
};

const inv_measurement inv_measurement_invariance = {
	.name = "invariance",
	.title = "invariance",
	.about = "how far copies lie from their images, without labels",
	.needs = INV_NEEDS_COPIES | INV_NEEDS_SPREAD,
	.shares = "points|seed",
	.metrics = metrics,
	.measure = measure_invariance};
