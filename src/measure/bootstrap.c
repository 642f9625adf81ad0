/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.c - resampling images, see bootstrap.h. */
#include "measure/bootstrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"

enum { LOW = 25, HIGH = 975 }; /* ranks of the percentiles */

typedef struct resample_job {
	const double *share; /* [n, k] */
	uint64_t n;
	size_t k;
	inv_stream stream;
	double *sum; /* [INV_RESAMPLES, k] */
} resample_job;

static void resample(void *user, size_t number, unsigned thread)
{
	const resample_job *j = user;
	inv_cursor c = inv_cursor_of(&j->stream, (uint32_t)number);
	double *sum = j->sum + number * j->k;

	(void)thread;
	for (uint64_t i = 0; i < j->n; i++) {
		const double *share = j->share + inv_next_below(&c, (uint32_t)j->n) * j->k;

		for (size_t s = 0; s < j->k; s++)
			sum[s] += share[s];
	}
}

/* Sums of k shares over the images of each resample, [INV_RESAMPLES, k]; gives. */
static invar_status resample_all(const invar_context *ctx, const double *share, uint64_t n,
                                 size_t k, uint64_t seed, double **sums)
{
	resample_job j = {share, n, k, inv_stream_of(seed, "bootstrap", 0), NULL};

	*sums = NULL;
	if (!n || n >= UINT32_MAX)
		return inv_fail(INVAR_E_USE,
		                "an interval over %" PRIu64 " images cannot be computed", n);
	*sums = j.sum = inv_calloc(INV_RESAMPLES * k, sizeof *j.sum);
	if (!j.sum)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %d resamples", INV_RESAMPLES);
	inv_parallel(ctx, INV_RESAMPLES, resample, &j);
	return INVAR_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the statistics of all resamples; sorts them. */
static inv_interval interval_of(double value, double *resampled, uint64_t n)
{
	qsort(resampled, INV_RESAMPLES, sizeof *resampled, by_value);
	return (inv_interval){value, resampled[LOW - 1], resampled[HIGH - 1], n};
}

invar_status inv_bootstrap_shares(const invar_context *ctx, const double *share, uint64_t n,
                                  size_t k, uint64_t seed, inv_interval *out)
{
	double *sums, mean[INV_RESAMPLES];
	invar_status st = resample_all(ctx, share, n, k, seed, &sums);

	for (size_t s = 0; s < k && st == INVAR_OK; s++) {
		double sum = 0;

		for (uint64_t i = 0; i < n; i++)
			sum += share[i * k + s];
		for (size_t r = 0; r < INV_RESAMPLES; r++)
			mean[r] = sums[r * k + s] / (double)n;
		out[s] = interval_of(sum / (double)n, mean, n);
	}
	inv_free(sums);
	return st;
}

invar_status inv_bootstrap(const invar_context *ctx, const double *share, uint64_t n,
                           uint64_t seed, inv_interval *out)
{
	return inv_bootstrap_shares(ctx, share, n, 1, seed, out);
}

static void interleave(const double *part, const double *whole, uint64_t n, double *pairs)
{
	for (uint64_t i = 0; i < n; i++) {
		pairs[2 * i] = part[i];
		pairs[2 * i + 1] = whole[i];
	}
}

invar_status inv_bootstrap_ratio(const invar_context *ctx, const double *part,
                                 const double *whole, uint64_t n, uint64_t seed,
                                 inv_interval *out)
{
	double *pairs = inv_calloc(n ? n : 1, 2 * sizeof *pairs), *sums = NULL;
	double ratio[INV_RESAMPLES];
	invar_status st;

	if (!pairs)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " images", n);
	interleave(part, whole, n, pairs);
	if ((st = resample_all(ctx, pairs, n, 2, seed, &sums)) == INVAR_OK) {
		for (size_t r = 0; r < INV_RESAMPLES; r++)
			ratio[r] = sums[2 * r] / sums[2 * r + 1];
		*out =
			interval_of(inv_sum_in_order(part, n) / inv_sum_in_order(whole, n), ratio, n);
	}
	inv_free(pairs);
	inv_free(sums);
	return st;
}

/* ---- Quantiles ----------------------------------------------------------------------- */

typedef struct quantile_job {
	const inv_sample *sorted;
	uint64_t images, copies;
	const double *q;
	size_t k;
	inv_stream stream;
	uint32_t *times;   /* [threads, images]: how often an image was drawn */
	double *quantiles; /* [k, INV_RESAMPLES] */
} quantile_job;

/* The value of rank `at`, from 0, each counted as often as its image was drawn. */
static double value_at(const quantile_job *j, const uint32_t *times, uint64_t at)
{
	uint64_t before = 0, i = 0;

	while ((before += times ? times[j->sorted[i].image] : 1) <= at)
		i++;
	return j->sorted[i].value;
}

static double quantile_of(const quantile_job *j, const uint32_t *times, double q)
{
	double place = q * (double)(j->images * j->copies - 1), whole = floor(place);
	double value = value_at(j, times, (uint64_t)whole);

	if (place == whole)
		return value;
	return value + (place - whole) * (value_at(j, times, (uint64_t)whole + 1) - value);
}

static void resample_quantiles(void *user, size_t number, unsigned thread)
{
	const quantile_job *j = user;
	inv_cursor c = inv_cursor_of(&j->stream, (uint32_t)number);
	uint32_t *times = j->times + thread * j->images;

	memset(times, 0, j->images * sizeof *times);
	for (uint64_t i = 0; i < j->images; i++)
		times[inv_next_below(&c, (uint32_t)j->images)]++;
	for (size_t k = 0; k < j->k; k++)
		j->quantiles[k * INV_RESAMPLES + number] = quantile_of(j, times, j->q[k]);
}

static int by_sample(const void *a, const void *b)
{
	const inv_sample *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->image > y->image) - (x->image < y->image);
}

invar_status inv_bootstrap_quantiles(const invar_context *ctx, inv_sample *all,
                                     uint64_t images, uint64_t copies, const double *q,
                                     size_t k, uint64_t seed, inv_interval *out)
{
	quantile_job j = {.sorted = all,
	                  .images = images,
	                  .copies = copies,
	                  .q = q,
	                  .k = k,
	                  .stream = inv_stream_of(seed, "bootstrap", 0),
	                  .times = inv_calloc(ctx->threads * images, sizeof *j.times),
	                  .quantiles = inv_calloc(k * INV_RESAMPLES, sizeof *j.quantiles)};
	invar_status st =
		j.times && j.quantiles
			? INVAR_OK
			: inv_fail(INVAR_E_NOMEM, "not enough memory for %d resamples", INV_RESAMPLES);

	if (st == INVAR_OK) {
		qsort(all, images * copies, sizeof *all, by_sample);
		inv_parallel(ctx, INV_RESAMPLES, resample_quantiles, &j);
		for (size_t i = 0; i < k; i++)
			out[i] = interval_of(quantile_of(&j, NULL, q[i]),
			                     j.quantiles + i * INV_RESAMPLES, images);
	}
	inv_free(j.times);
	inv_free(j.quantiles);
	return st;
}

/* ---- As a value ---------------------------------------------------------------------- */

invar_value inv_interval_value(const inv_interval *i, char why[INV_INTERVAL_WHY])
{
	invar_value value = {
		.value = i->value, .low = i->low, .high = i->high, .count = i->images};

	if (i->images < INV_INTERVAL_IMAGES) {
		snprintf(why, INV_INTERVAL_WHY, "too few images for an interval (n = %" PRIu64 ")",
		         i->images);
		value.low = value.high = NAN;
		value.no_interval = why;
	}
	return value;
}
