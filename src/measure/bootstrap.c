/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.c - resampling images, see bootstrap.h. */
#include "measure/bootstrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/rng.h"
#include "base/threads.h"

enum { LOW = 25, HIGH = 975 }; /* places of the percentiles among the sorted resamples */

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the statistics of all resamples; sorts them. */
static inv_interval interval_of(double value, double *resampled, uint64_t n)
{
	qsort(resampled, INV_RESAMPLES, sizeof *resampled, by_double);
	return (inv_interval){value, resampled[LOW - 1], resampled[HIGH - 1], n};
}

typedef struct resampling {
	const double *fraction; /* [n, k] */
	uint64_t n;
	size_t k;
	inv_stream stream;
	double *sum; /* [INV_RESAMPLES, k] */
} resampling;

static void draw_resample(void *user, size_t number, unsigned thread)
{
	const resampling *r = user;
	inv_cursor c = inv_cursor_of(&r->stream, (uint32_t)number);
	double *sum = r->sum + number * r->k;

	(void)thread;
	for (uint64_t i = 0; i < r->n; i++) {
		const double *fraction = r->fraction + inv_next_below(&c, (uint32_t)r->n) * r->k;

		for (size_t s = 0; s < r->k; s++)
			sum[s] += fraction[s];
	}
}

/* Sums of k values over the images of each resample, [INV_RESAMPLES, k]; gives. */
static invar_status resample_all(const invar_context *ctx, const double *fraction,
                                 uint64_t n, size_t k, uint64_t seed, double **sums)
{
	resampling r = {fraction, n, k, inv_stream_of(seed, "bootstrap", 0), NULL};

	*sums = NULL;
	if (!n || n >= UINT32_MAX)
		return inv_fail(INVAR_E_USE,
		                "an interval over %" PRIu64 " images cannot be computed", n);
	INV_TRY(inv_new_zeros(&r.sum, INV_RESAMPLES * k));
	*sums = r.sum;
	inv_parallel(ctx, INV_RESAMPLES, draw_resample, &r);
	return INVAR_OK;
}

invar_status inv_bootstrap(const invar_context *ctx, const double *fraction, uint64_t n,
                           size_t k, uint64_t seed, inv_interval *out)
{
	double *sums, mean[INV_RESAMPLES];

	INV_TRY(resample_all(ctx, fraction, n, k, seed, &sums));
	for (size_t s = 0; s < k; s++) {
		double sum = 0;

		for (uint64_t i = 0; i < n; i++)
			sum += fraction[i * k + s];
		for (size_t r = 0; r < INV_RESAMPLES; r++)
			mean[r] = sums[r * k + s] / (double)n;
		out[s] = interval_of(sum / (double)n, mean, n);
	}
	inv_free(sums);
	return INVAR_OK;
}

invar_status inv_bootstrap_ratio(const invar_context *ctx, const double *a, const double *b,
                                 uint64_t n, uint64_t seed, inv_interval *out)
{
	double *pairs, *sums = NULL, ratio[INV_RESAMPLES];
	invar_status st;

	INV_TRY(inv_new_array(&pairs, 2 * n + 1));
	for (uint64_t i = 0; i < n; i++) {
		pairs[2 * i] = a[i];
		pairs[2 * i + 1] = b[i];
	}
	INV_TRY_OR(end, resample_all(ctx, pairs, n, 2, seed, &sums));
	for (size_t r = 0; r < INV_RESAMPLES; r++)
		ratio[r] = sums[2 * r] / sums[2 * r + 1];
	*out = interval_of(inv_sum_in_order(a, n) / inv_sum_in_order(b, n), ratio, n);
end:
	inv_free(pairs);
	inv_free(sums);
	return st;
}

typedef struct quantile_resampling {
	const inv_sample *sorted;
	uint64_t images, copies;
	const double *q;
	size_t k;
	inv_stream stream;
	uint32_t *times;   /* [threads, images]: how often an image was drawn */
	double *quantiles; /* [k, INV_RESAMPLES] */
} quantile_resampling;

/* The value at place `at`, from 0, each counted as often as its image was drawn. */
static double resampled_value(const quantile_resampling *r, const uint32_t *times,
                              uint64_t at)
{
	uint64_t before = 0, i = 0;

	while ((before += times ? times[r->sorted[i].image] : 1) <= at)
		i++;
	return r->sorted[i].value;
}

static double quantile_of(const quantile_resampling *r, const uint32_t *times, double q)
{
	double place = q * (double)(r->images * r->copies - 1), whole = floor(place);
	double value = resampled_value(r, times, (uint64_t)whole);

	if (place == whole)
		return value;
	return value +
	       (place - whole) * (resampled_value(r, times, (uint64_t)whole + 1) - value);
}

static void resample_quantiles(void *user, size_t number, unsigned thread)
{
	const quantile_resampling *r = user;
	inv_cursor c = inv_cursor_of(&r->stream, (uint32_t)number);
	uint32_t *times = r->times + thread * r->images;

	memset(times, 0, r->images * sizeof *times);
	for (uint64_t i = 0; i < r->images; i++)
		times[inv_next_below(&c, (uint32_t)r->images)]++;
	for (size_t k = 0; k < r->k; k++)
		r->quantiles[k * INV_RESAMPLES + number] = quantile_of(r, times, r->q[k]);
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
	quantile_resampling r = {.sorted = all,
	                         .images = images,
	                         .copies = copies,
	                         .q = q,
	                         .k = k,
	                         .stream = inv_stream_of(seed, "bootstrap", 0)};
	inv_pool scratch = {0};
	invar_status st;

	INV_TRY_OR(end, inv_pool_zeros(&scratch, &r.times, ctx->threads * images));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &r.quantiles, k * INV_RESAMPLES));
	qsort(all, images * copies, sizeof *all, by_sample);
	inv_parallel(ctx, INV_RESAMPLES, resample_quantiles, &r);
	for (size_t i = 0; i < k; i++)
		out[i] = interval_of(quantile_of(&r, NULL, q[i]), r.quantiles + i * INV_RESAMPLES,
		                     images);
end:
	inv_pool_free(&scratch);
	return st;
}

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

invar_status inv_put_interval(invar_results *r, const char *metric, const char *column,
                              const inv_interval *i)
{
	char why[INV_INTERVAL_WHY];
	const invar_value value = inv_interval_value(i, why);

	return inv_results_put(r, metric, column, &value);
}

invar_status inv_put_number(invar_results *r, const char *metric, const char *column,
                            double number, uint64_t count)
{
	const invar_value value = {.value = number, .low = NAN, .high = NAN, .count = count};

	return inv_results_put(r, metric, column, &value);
}
