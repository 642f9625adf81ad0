/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced.h - one-dimensional Wasserstein distances along many directions (Eq. 50).
 *
 * The caller projects; here two sets of projected rows are put in order along
 * every direction and compared place by place. Rows of a set may be sums of two
 * projections in any order (kernels.h, inv_side), so that a joint cloud and its shuffled
 * partner need no extra matrix product. Each set is sorted once; the order is part of the
 * keys, and slopes are scattered through it.
 *
 * Directions are columns; arrays have columns, of any finite content, up to the
 * next multiple of INV_SLICES. Nothing depends on the number of threads.
 */
#ifndef INV_SLICED_H
#define INV_SLICED_H

#include <stdbool.h>
#include <string.h>

#include "base/context.h"
#include "math/kernels.h"

/* ---- Keys: a float and its row in one double ------------------------------------ */

#define INV_KEY_ROWS 0x1fffffffu /* the 29 bits that a float leaves free in a double */

static inline double inv_key(float value, uint32_t row)
{
	double key = value;
	uint64_t bits;

	memcpy(&bits, &key, sizeof bits);
	bits |= row;
	memcpy(&key, &bits, sizeof key);
	return key;
}

static inline uint32_t inv_key_row(double key)
{
	uint64_t bits;

	memcpy(&bits, &key, sizeof bits);
	return (uint32_t)bits & INV_KEY_ROWS;
}

static inline double inv_key_value(double key)
{
	uint64_t bits;

	memcpy(&bits, &key, sizeof bits);
	bits &= ~(uint64_t)INV_KEY_ROWS;
	memcpy(&key, &bits, sizeof key);
	return key;
}

/* ---- Distances ------------------------------------------------------------------- */

/*
 * Where slopes go: out[r] = slope of row r of the first set, minus that of row back[r] of
 * the second if back is given. out may be an array that the sets are read from: a column is
 * read before it is written.
 */
typedef struct inv_slopes {
	float *out; /* NULL: not needed */
	size_t stride;
	const uint32_t *back;
} inv_slopes;

typedef struct inv_sliced {
	inv_side first, second;
	size_t repeat; /* each row of `first` counts this many times; 1 with slopes */
	size_t L;      /* directions */
	double p;      /* >= 1 */
	inv_slopes slopes[2];
	double *powers; /* [L]: mean over places of |difference|^p */
	const inv_side
		*others; /* further sets compared with the same second one, with as many rows */
	size_t other_count;
	double *other_powers; /* rows of L */
} inv_sliced;

/* Bytes for sets of M rows. ctx may be NULL, here and below: the calling thread alone. */
size_t inv_sliced_scratch(const invar_context *ctx, size_t M, bool slopes);
/*
 * Slopes are sign(g) |g|^(p - 1) for a difference g: times SW^(1 - p) / (M L)
 * they are the derivative of SW = (mean of powers)^(1 / p).
 */
void inv_sliced_run(const invar_context *ctx, const struct inv_kernels *k,
                    const inv_sliced *job, void *scratch);

/* (mean of powers)^(1 / p) */
double inv_sliced_distance(const double *powers, size_t L, double p);
/* SW^(1 - p) / (M L); 0 if the distance is 0 */
double inv_sliced_slope(double distance, size_t M, size_t L, double p);

/* Plain forms; the first is also used if p is not 2. */
void inv_compare_keys_power(const double *p, const double *q, size_t n, size_t repeat,
                            double power, double sums[INV_SLICES], float *u, float *v);
void inv_kernels_sliced_ref(struct inv_kernels *k);

#endif
