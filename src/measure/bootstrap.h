/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bootstrap.h - a fraction with its 95 % interval.
 *
 * The copies of one image are not independent, so images are drawn, not
 * copies: each of 1000 resamples draws n images with replacement and averages
 * their fractions; the interval is the 2.5th to the 97.5th percentile.
 */
#ifndef INV_BOOTSTRAP_H
#define INV_BOOTSTRAP_H

#include "base/context.h"
#include "run/results.h"

/*
 * Fewer images give no interval: resamples repeat the same few fractions, and if all n are
 * equal, as two or three often are, the interval has width 0. A measured fraction of 0
 * still allows a true one of 1 - 0.05^(1/n): 63 % with 3 images and 26 % with 10.
 */
enum { INV_INTERVAL_IMAGES = 10, INV_RESAMPLES = 1000 };

typedef struct inv_interval {
	double value, low, high;
	uint64_t images;
} inv_interval;

/*
 * fraction [n, k] -> out [k]: k figures of each image, the mean of hit (1) or miss (0) over
 * its copies (and seeds). All k have the same resamples.
 */
invar_status inv_bootstrap(const invar_context *ctx, const double *fraction, uint64_t n,
                           size_t k, uint64_t seed, inv_interval *out);
/*
 * Sum of a over sum of b, [n] each: resampled together. The sum of any n values of b must
 * not be 0.
 */
invar_status inv_bootstrap_ratio(const invar_context *ctx, const double *a, const double *b,
                                 uint64_t n, uint64_t seed, inv_interval *out);

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

/* Puts it into the results; or a number without interval, of `count` rows. */
invar_status inv_put_interval(invar_results *r, const char *metric, const char *column,
                              const inv_interval *i);
invar_status inv_put_number(invar_results *r, const char *metric, const char *column,
                            double number, uint64_t count);

#endif
