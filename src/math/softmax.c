/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c - cross-entropy, plain and fast.
 *
 * Both subtract the row's maximum first, so no exponential overflows. The fast one computes
 * exp by a polynomial without branches, which the compiler vectorises for the baseline
 * instruction set; with 1000 classes the library's exp would cost as much as the linear
 * layer before it.
 */
#include "math/softmax.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"

enum { BLOCK = 64 }; /* rows */

static float row_max(const float *row, size_t classes)
{
	float max = row[0];

	for (size_t j = 1; j < classes; j++)
		max = row[j] > max ? row[j] : max;
	return max;
}

/* ---- The definition ------------------------------------------------------------- */

double inv_cross_entropy_ref(const float *logits, const uint32_t *labels, size_t rows,
                             size_t classes, float *grad, double *row_loss)
{
	for (size_t i = 0; i < rows; i++) {
		const float *row = logits + i * classes;
		double max = row_max(row, classes), sum = 0, scale = 1 / (double)rows;

		for (size_t j = 0; j < classes; j++)
			sum += exp(row[j] - max);
		for (size_t j = 0; j < classes; j++)
			grad[i * classes + j] =
				(float)(scale * (exp(row[j] - max) / sum - (j == labels[i])));
		row_loss[i] = log(sum) - (row[labels[i]] - max);
	}
	return inv_sum_in_order(row_loss, rows) / (double)rows;
}

/* ---- Fast --------------------------------------------------------------------------- */

/*
 * exp(x) for x <= 0, within 2e-7 of it; below -87 it stays at exp(-87), 1e-38. x is split
 * into n log 2 + r; adding 1.5 * 2^23 leaves n in the low bits. The clamp is written so
 * that a NaN stays a NaN.
 */
static inline float exp_of_negative(float x)
{
	const float round = 12582912.0f;
	float n, r, y;
	uint32_t bits;

	x = x < -87.0f ? -87.0f : x;
	n = x * 1.44269504f + round;
	memcpy(&bits, &n, sizeof bits);
	n -= round;
	r = x - n * 0.693359375f;
	r = r + n * 2.12194440e-4f;
	y = 1.9875691500e-4f;
	y = y * r + 1.3981999507e-3f;
	y = y * r + 8.3334519073e-3f;
	y = y * r + 4.1665795894e-2f;
	y = y * r + 1.6666665459e-1f;
	y = y * r + 5.0000001201e-1f;
	y = y * r * r + r + 1.0f;
	bits = (bits + 127) << 23;
	memcpy(&n, &bits, sizeof n);
	return y * n;
}

static double row_fast(const float *row, uint32_t label, size_t classes, double scale,
                       float *grad)
{
	float max = row_max(row, classes), by;
	double sum = 0;

	for (size_t j = 0; j < classes; j++)
		grad[j] = exp_of_negative(row[j] - max);
	for (size_t j = 0; j < classes; j++)
		sum += grad[j];
	by = (float)(scale / sum);
	for (size_t j = 0; j < classes; j++)
		grad[j] *= by;
	grad[label] -= (float)scale;
	return log(sum) - ((double)row[label] - max);
}

typedef struct entropy_job {
	const float *logits;
	const uint32_t *labels;
	size_t rows, classes;
	float *grad;
	double *row_loss;
} entropy_job;

static void entropy_block(void *user, size_t block, unsigned thread)
{
	const entropy_job *j = user;
	size_t from = block * BLOCK, end = from + BLOCK < j->rows ? from + BLOCK : j->rows;

	(void)thread;
	for (size_t i = from; i < end; i++)
		j->row_loss[i] = row_fast(j->logits + i * j->classes, j->labels[i], j->classes,
		                          1 / (double)j->rows, j->grad + i * j->classes);
}

double inv_cross_entropy(const invar_context *ctx, const float *logits,
                         const uint32_t *labels, size_t rows, size_t classes, float *grad,
                         double *row_loss)
{
	enum {
		WORTH_THREADS = 1 << 15
	}; /* exponentials; fewer take less time than waking threads */
	entropy_job j = {logits, labels, rows, classes, grad, row_loss};

	if (!ctx->cpu)
		return inv_cross_entropy_ref(logits, labels, rows, classes, grad, row_loss);
	if (rows * classes >= WORTH_THREADS)
		inv_parallel(ctx, inv_blocks(rows, BLOCK), entropy_block, &j);
	else
		for (size_t block = 0; block < inv_blocks(rows, BLOCK); block++)
			entropy_block(&j, block, 0);
	return inv_sum_in_order(row_loss, rows) / (double)rows;
}
