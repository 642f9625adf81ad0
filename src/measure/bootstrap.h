/*
 * bootstrap.h - a share with its 95 % interval.
 *
 * The copies of one image are not independent, so images are drawn, not
 * copies: each of 1000 resamples draws n images with replacement and averages
 * their shares; the interval is the 2.5th to the 97.5th percentile.
 */
#ifndef INV_BOOTSTRAP_H
#define INV_BOOTSTRAP_H

#include "base/context.h"
#include "base/json.h"

typedef struct inv_interval {
	double value, low, high;
} inv_interval;

/* share[i]: of image i, the mean over its copies (and seeds) of hit or miss. */
invar_status inv_bootstrap(const invar_context *ctx, const double *share, uint64_t n,
                           uint64_t seed, inv_interval *out);

/* {"value": …, "low": …, "high": …} */
json_t *inv_interval_json(const inv_interval *i);

#endif
