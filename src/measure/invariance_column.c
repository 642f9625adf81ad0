/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariance_column.c - how near copies are to their images; needs no labels.
 *
 * For every copy of every image, the distance of its code from the clean feature: for F the
 * displacement that the augmentation causes, for an adapter what is left of it. Mean and
 * quantiles (interpolated as NumPy does), the mean in units of the spread of clean
 * features, the cosine of code and clean feature, the share of the squared displacement
 * that is removed, and shrinkage: the slope m of the structure fit and the spread of the
 * copies over that of the clean features. If an adapter shrinks, a note says which uses
 * that harms.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "measure/bootstrap.h"
#include "measure/invariance.h"
#include "measure/measurement.h"
#include "measure/structure.h"

enum { BLOCK = 1024, QUANTILES = 3 };

static const double quantile[QUANTILES] = {0.1, 0.5, 0.9};
static const char *const quantile_id[QUANTILES] = {"invariance.displacement.q10",
                                                   "invariance.displacement.q50",
                                                   "invariance.displacement.q90"};
static const char *const cosine_id[QUANTILES] = {
	"invariance.cosine.q10", "invariance.cosine.q50", "invariance.cosine.q90"};

/* Below this ratio, L2 search in an index of old features gets noticeably worse. */
static const double shrunk = 0.9;

typedef struct job {
	const inv_measure_input *in;
	inv_choice rows;
	uint64_t images;
	uint32_t copies;
	size_t d;
	inv_arena arena;
	float *clean, *copy, *code; /* [BLOCK, d] */
	double *mean;               /* [images]: displacement */
	double *before, *after;     /* [images]: squared displacement, summed over copies */
	double *cosine;             /* [images]: with the clean feature, mean over copies */
	inv_sample *all, *cosines;  /* [images, copies] */
	double *origin;             /* [d]: mean of the clean rows */
	inv_spread clean_spread, spread;
	double slope;
} job;

/* ---- Passing over the rows ------------------------------------------------------- */

static invar_status add_clean(job *j, inv_spread *s)
{
	for (uint64_t first = 0; first < j->images; first += BLOCK) {
		uint64_t now = j->images - first < BLOCK ? j->images - first : BLOCK;
		invar_status st =
			inv_measure_rows(j->in, &j->rows, INVAR_CLEAN, true, first, now, j->clean);

		if (st != INVAR_OK)
			return st;
		inv_spread_add(s, j->clean, now);
	}
	return INVAR_OK;
}

/* Their mean first: sums of squares about it lose no digits. */
static invar_status measure_clean(job *j)
{
	invar_status st = add_clean(j, &j->clean_spread);

	for (size_t k = 0; k < j->d; k++)
		j->origin[k] = j->clean_spread.sum[k] / (double)j->images;
	memset(j->clean_spread.sum, 0, j->d * sizeof *j->clean_spread.sum);
	j->clean_spread.square = 0;
	j->clean_spread.rows = 0;
	return st == INVAR_OK ? add_clean(j, &j->clean_spread) : st;
}

static invar_status read_block(job *j, int32_t copy, uint64_t first, uint64_t now)
{
	const inv_measure_input *in = j->in;
	invar_status st =
		inv_measure_rows(in, &j->rows, INVAR_CLEAN, true, first, now, j->clean);

	if (st == INVAR_OK)
		st = inv_measure_rows(in, &j->rows, copy, true, first, now, j->copy);
	return st == INVAR_OK ? inv_measure_rows(in, &j->rows, copy, false, first, now, j->code)
	                      : st;
}

/* As in a search by cosine, a row of zeros is similar to nothing. */
static double cosine_of(const job *j, size_t at)
{
	const struct inv_kernels *k = &j->in->kernels;
	const float *a = j->code + at * j->d, *b = j->clean + at * j->d;
	double norms = k->dot(a, a, j->d) * k->dot(b, b, j->d);

	return norms > 0 ? k->dot(a, b, j->d) / sqrt(norms) : 0;
}

static void add_image(job *j, uint64_t image, uint32_t copy, size_t at)
{
	const struct inv_kernels *k = &j->in->kernels;
	const float *clean = j->clean + at * j->d;
	double before = k->squared_distance(j->copy + at * j->d, clean, j->d);
	double after = k->squared_distance(j->code + at * j->d, clean, j->d);
	double cosine = cosine_of(j, at);

	j->before[image] += before;
	j->after[image] += after;
	j->mean[image] += sqrt(after) / j->copies;
	j->cosine[image] += cosine / j->copies;
	j->all[copy * j->images + image] = (inv_sample){sqrt(after), (uint32_t)image};
	j->cosines[copy * j->images + image] = (inv_sample){cosine, (uint32_t)image};
}

static invar_status measure_copy(job *j, uint32_t copy)
{
	for (uint64_t first = 0; first < j->images; first += BLOCK) {
		uint64_t now = j->images - first < BLOCK ? j->images - first : BLOCK;
		invar_status st = inv_progress(j->in->ctx, "invariance", copy * j->images + first,
		                               j->copies * j->images);

		if (st == INVAR_OK)
			st = read_block(j, (int32_t)copy, first, now);
		if (st != INVAR_OK)
			return st;
		for (uint64_t i = 0; i < now; i++)
			add_image(j, first + i, copy, (size_t)i);
		inv_spread_add(&j->spread, j->code, now);
	}
	return INVAR_OK;
}

/* 1 for F; NaN if clean rows have no structure to fit. */
static invar_status measure_slope(job *j)
{
	size_t cells = j->images * j->d;
	float *x = NULL;
	inv_structure s;
	invar_status st;

	j->slope = j->in->adapter ? NAN : 1;
	if (!j->in->adapter)
		return INVAR_OK;
	if (!(x = inv_calloc(2 * cells, sizeof *x)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " rows", j->images);
	st = inv_measure_rows(j->in, &j->rows, INVAR_CLEAN, true, 0, j->images, x);
	if (st == INVAR_OK)
		st = inv_measure_rows(j->in, &j->rows, INVAR_CLEAN, false, 0, j->images, x + cells);
	if (st == INVAR_OK) {
		st = inv_structure_measure(j->in->ctx, x, j->in->d, x + cells, j->in->w, j->images,
		                           &s);
		if (st == INVAR_OK)
			j->slope = s.m;
		else if (st == INVAR_E_NUMERIC || st == INVAR_E_MISMATCH || st == INVAR_E_USE)
			st = INVAR_OK;
	}
	inv_free(x);
	return st;
}

/* ---- Values ---------------------------------------------------------------------- */

static invar_status put_interval(const job *j, const char *id, const inv_interval *i)
{
	char why[INV_INTERVAL_WHY];
	invar_value value = inv_interval_value(i, why);

	return inv_results_put(j->in->results, id, j->in->column, &value);
}

static invar_status put_number(const job *j, const char *id, double number)
{
	const invar_value value = {
		.value = number, .low = NAN, .high = NAN, .count = j->images};

	return isnan(number) ? INVAR_OK
	                     : inv_results_put(j->in->results, id, j->in->column, &value);
}

/* Mean and quantiles; sorts all. */
static invar_status put_distribution(const job *j, const double *mean, inv_sample *all,
                                     const char *mean_id, const char *const *id,
                                     inv_interval *i)
{
	const invar_context *ctx = j->in->ctx;
	inv_interval q[QUANTILES];
	invar_status st = inv_bootstrap(ctx, mean, j->images, j->in->seed, i);

	if (st == INVAR_OK)
		st = put_interval(j, mean_id, i);
	if (st == INVAR_OK)
		st = inv_bootstrap_quantiles(ctx, all, j->images, j->copies, quantile, QUANTILES,
		                             j->in->seed, q);
	for (int k = 0; k < QUANTILES && st == INVAR_OK; k++)
		st = put_interval(j, id[k], &q[k]);
	return st;
}

/* The mean also in units of the spread of clean features. */
static invar_status put_displacement(const job *j)
{
	double spread = inv_spread_value(&j->clean_spread);
	inv_interval i;
	invar_status st = put_distribution(j, j->mean, j->all, "invariance.displacement.mean",
	                                   quantile_id, &i);

	if (st != INVAR_OK || !(spread > 0))
		return st;
	i = (inv_interval){i.value / spread, i.low / spread, i.high / spread, i.images};
	return put_interval(j, "invariance.displacement.relative", &i);
}

static invar_status put_cosine(const job *j)
{
	inv_interval i;

	return put_distribution(j, j->cosine, j->cosines, "invariance.cosine.mean", cosine_id,
	                        &i);
}

static invar_status put_gone(const job *j)
{
	inv_interval left;
	invar_status st;

	if (!j->in->adapter)
		return put_number(j, "invariance.gone", 0);
	for (uint64_t i = 0; i < j->images; i++)
		if (j->before[i] > 0) {
			st = inv_bootstrap_ratio(j->in->ctx, j->after, j->before, j->images,
			                         j->in->seed, &left);
			left = (inv_interval){1 - left.value, 1 - left.high, 1 - left.low, left.images};
			return st == INVAR_OK ? put_interval(j, "invariance.gone", &left) : st;
		}
	return INVAR_OK; /* no copy was displaced */
}

static double spread_ratio(const job *j)
{
	double clean = inv_spread_value(&j->clean_spread);

	return clean > 0 ? inv_spread_value(&j->spread) / clean : NAN;
}

static invar_status note_shrinkage(const job *j)
{
	char sentence[400], slope[32] = "";

	if (!j->in->adapter || !(spread_ratio(j) < shrunk))
		return INVAR_OK;
	if (isfinite(j->slope)) /* two images have no slope */
		snprintf(slope, sizeof slope, " (m %.2f)", j->slope);
	snprintf(sentence, sizeof sentence,
	         "%.100s shrinks: its copies have %.2f times the spread of clean features"
	         "%s, which harms a search by L2 in an index of old features; train "
	         "with the option spread, re-index, or search by cosine",
	         j->in->title, spread_ratio(j), slope);
	inv_log(j->in->ctx, INVAR_LOG_DETAIL, "%s", sentence);
	return inv_results_note(j->in->results, sentence);
}

static invar_status put_results(const job *j)
{
	invar_status st = put_displacement(j);

	if (st == INVAR_OK)
		st = put_cosine(j);
	if (st == INVAR_OK)
		st = put_gone(j);
	if (st == INVAR_OK)
		st = put_number(j, "invariance.slope", j->slope);
	if (st == INVAR_OK)
		st = put_number(j, "invariance.spread", spread_ratio(j));
	return st == INVAR_OK ? note_shrinkage(j) : st;
}

/* ---- The column ------------------------------------------------------------------ */

static invar_status allocate_invariance(job *j)
{
	inv_arena *a = &j->arena;
	double *clean_sum, *sum;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->clean = inv_arena_take(a, BLOCK * j->d, sizeof *j->clean);
		j->copy = inv_arena_take(a, BLOCK * j->d, sizeof *j->copy);
		j->code = inv_arena_take(a, BLOCK * j->d, sizeof *j->code);
		j->mean = inv_arena_take(a, j->images, sizeof *j->mean);
		j->before = inv_arena_take(a, j->images, sizeof *j->before);
		j->after = inv_arena_take(a, j->images, sizeof *j->after);
		j->cosine = inv_arena_take(a, j->images, sizeof *j->cosine);
		j->all = inv_arena_take(a, j->images * j->copies, sizeof *j->all);
		j->cosines = inv_arena_take(a, j->images * j->copies, sizeof *j->cosines);
		j->origin = inv_arena_take(a, j->d, sizeof *j->origin);
		clean_sum = inv_arena_take(a, j->d, sizeof *clean_sum);
		sum = inv_arena_take(a, j->d, sizeof *sum);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	memset(j->mean, 0, j->images * sizeof *j->mean);
	memset(j->cosine, 0, j->images * sizeof *j->cosine);
	memset(j->before, 0, j->images * sizeof *j->before);
	memset(j->after, 0, j->images * sizeof *j->after);
	memset(j->origin, 0, j->d * sizeof *j->origin);
	memset(clean_sum, 0, j->d * sizeof *clean_sum);
	memset(sum, 0, j->d * sizeof *sum);
	j->clean_spread = (inv_spread){.w = j->d, .origin = j->origin, .sum = clean_sum};
	j->spread = (inv_spread){.w = j->d, .origin = j->origin, .sum = sum};
	return INVAR_OK;
}

static invar_status measure_invariance(const inv_measure_input *in)
{
	job j = {.in = in,
	         .rows = inv_choose_points(in, inv_choose_all(in->split)),
	         .copies = in->split->copies,
	         .d = in->d};
	invar_status st;

	j.images = j.rows.points;
	if (in->w != in->d)
		return inv_fail(INVAR_E_MISMATCH,
		                "displacement compares codes with features, but codes are %" PRIu32
		                " wide and features %" PRIu32,
		                in->w, in->d);
	st = allocate_invariance(&j);
	if (st == INVAR_OK)
		st = measure_clean(&j);
	for (uint32_t copy = 0; copy < j.copies && st == INVAR_OK; copy++)
		st = measure_copy(&j, copy);
	if (st == INVAR_OK)
		st = measure_slope(&j);
	if (st == INVAR_OK)
		st = put_results(&j);
	inv_arena_free(&j.arena);
	return st;
}

/* ---- What it declares ------------------------------------------------------------ */

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
	{.id = "invariance.gone",
     .measurement = "invariance",
     .row = "squared displacement gone",
     .unit = INVAR_UNIT_SHARE,
     .better = 1,
     .digits = 1},
	{.id = "invariance.slope",
     .measurement = "invariance",
     .row = "m | spread of copies / clean",
     .part = "m",
     .digits = 3},
	{.id = "invariance.spread",
     .measurement = "invariance",
     .row = "m | spread of copies / clean",
     .part = "spread of copies / clean",
     .digits = 3},
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
