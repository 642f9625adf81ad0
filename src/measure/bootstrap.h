/* SPDX-License-Identifier: Apache-2.0 */
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
#include "run/results.h"

/*
 * Fewer images give no interval: a resample of n images repeats the same few shares, and
 * where all n are alike, as two or three often are, it would claim to be certain. A share
 * of 0 may be as high as 1 - 0.05^(1/n), which is 63 % of 3 images and still 26 % of 10.
 */
enum { INV_INTERVAL_IMAGES = 10 };

typedef struct inv_interval {
	double value, low, high;
	uint64_t images;
} inv_interval;

/* share[i]: of image i, the mean over its copies (and seeds) of hit or miss. */
invar_status inv_bootstrap(const invar_context *ctx, const double *share, uint64_t n,
                           uint64_t seed, inv_interval *out);

/* The same for k shares of each image at once, share [n, k] -> out [k]; the same draws. */
invar_status inv_bootstrap_shares(const invar_context *ctx, const double *share, uint64_t n,
                                  size_t k, uint64_t seed, inv_interval *out);
/*
 * Sum of part over sum of whole, [n] each: resampled in pairs. The sum of any n wholes
 * must not be 0.
 */
invar_status inv_bootstrap_ratio(const invar_context *ctx, const double *part,
                                 const double *whole, uint64_t n, uint64_t seed,
                                 inv_interval *out);

/*
 * Quantiles q [k] of the values of all copies, which it sorts: all [images * copies].
 * Between two values they are interpolated, as NumPy does.
 */
typedef struct inv_sample {
	double value;
	uint32_t image;
} inv_sample;

invar_status inv_bootstrap_quantiles(const invar_context *ctx, inv_sample *all,
                                     uint64_t images, uint64_t copies, const double *q,
                                     size_t k, uint64_t seed, inv_interval *out);

/* As a value of the results; too few images have no interval, and `why` says so. */
enum { INV_INTERVAL_WHY = 64 };
invar_value inv_interval_value(const inv_interval *i, char why[INV_INTERVAL_WHY]);

#endif
