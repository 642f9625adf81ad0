/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap.c - resampling images, see bootstrap.h. */
#include "measure/bootstrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"

enum { RESAMPLES = 1000, LOW = 25, HIGH = 975 }; /* ranks of the percentiles */

typedef struct resample_job {
	const double *share; /* [n, k] */
	uint64_t n;
	size_t k;
	inv_stream stream;
	double *sum; /* [RESAMPLES, k] */
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

/* Sums of k shares over the images of each resample, [RESAMPLES, k]; gives. */
static invar_status resample_all(const invar_context *ctx, const double *share, uint64_t n,
                                 size_t k, uint64_t seed, double **sums)
{
	resample_job j = {share, n, k, inv_stream_of(seed, "bootstrap", 0), NULL};

	*sums = NULL;
	if (!n || n >= UINT32_MAX)
		return inv_fail(INVAR_E_USE, "an interval over %" PRIu64 " images cannot be had",
		                n);
	*sums = j.sum = inv_calloc(RESAMPLES * k, sizeof *j.sum);
	if (!j.sum)
		return inv_fail(INVAR_E_NOMEM, "no memory for %d resamples", RESAMPLES);
	inv_parallel(ctx, RESAMPLES, resample, &j);
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
	qsort(resampled, RESAMPLES, sizeof *resampled, by_value);
	return (inv_interval){value, resampled[LOW - 1], resampled[HIGH - 1], n};
}

invar_status inv_bootstrap_shares(const invar_context *ctx, const double *share, uint64_t n,
                                  size_t k, uint64_t seed, inv_interval *out)
{
	double *sums, mean[RESAMPLES];
	invar_status st = resample_all(ctx, share, n, k, seed, &sums);

	for (size_t s = 0; s < k && st == INVAR_OK; s++) {
		double sum = 0;

		for (uint64_t i = 0; i < n; i++)
			sum += share[i * k + s];
		for (size_t r = 0; r < RESAMPLES; r++)
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
	double ratio[RESAMPLES];
	invar_status st;

	if (!pairs)
		return inv_fail(INVAR_E_NOMEM, "no memory for %" PRIu64 " images", n);
	interleave(part, whole, n, pairs);
	if ((st = resample_all(ctx, pairs, n, 2, seed, &sums)) == INVAR_OK) {
		for (size_t r = 0; r < RESAMPLES; r++)
			ratio[r] = sums[2 * r] / sums[2 * r + 1];
		*out =
			interval_of(inv_sum_in_order(part, n) / inv_sum_in_order(whole, n), ratio, n);
	}
	inv_free(pairs);
	inv_free(sums);
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
