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
	const double *share;
	uint64_t n;
	inv_stream stream;
	double *mean; /* [RESAMPLES] */
} resample_job;

static void resample(void *user, size_t number, unsigned thread)
{
	const resample_job *j = user;
	inv_cursor c = inv_cursor_of(&j->stream, (uint32_t)number);
	double sum = 0;

	(void)thread;
	for (uint64_t i = 0; i < j->n; i++)
		sum += j->share[inv_next_below(&c, (uint32_t)j->n)];
	j->mean[number] = sum / (double)j->n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

invar_status inv_bootstrap(const invar_context *ctx, const double *share, uint64_t n,
                           uint64_t seed, inv_interval *out)
{
	resample_job j = {share, n, inv_stream_of(seed, "bootstrap", 0), NULL};

	if (!n || n >= UINT32_MAX)
		return inv_fail(INVAR_E_USE,
		                "an interval over %" PRIu64 " images cannot be computed", n);
	j.mean = inv_calloc(RESAMPLES, sizeof *j.mean);
	if (!j.mean)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %d resamples", RESAMPLES);
	inv_parallel(ctx, RESAMPLES, resample, &j);
	qsort(j.mean, RESAMPLES, sizeof *j.mean, by_value);
	*out = (inv_interval){inv_sum_in_order(share, n) / (double)n, j.mean[LOW - 1],
	                      j.mean[HIGH - 1], n};
	inv_free(j.mean);
	return INVAR_OK;
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
