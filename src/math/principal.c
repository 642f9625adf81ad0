/* SPDX-License-Identifier: Apache-2.0 */
/* principal.c - subspace iteration with a Rayleigh-Ritz step in each pass. */
#include "math/principal.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"
#include "math/kernels.h"
#include "math/linalg.h"

enum { WIDTH = 2 * INV_LANES, PARTS = 16, MAX_PASSES = 60 };

static const double at_rest = 1e-7; /* change of a unit direction in a pass */

typedef struct principal_job {
	const invar_context *ctx;
	struct inv_kernels kernels;
	const float *rows;
	size_t n, d, count;
	double *centre;     /* [d] */
	double *directions; /* [d][WIDTH] */
	double *next;       /* [PARTS][d][WIDTH]; their sum is left in the first */
	double *scores;     /* [n, count], or NULL */
} principal_job;

static size_t part_begin(const principal_job *j, size_t part)
{
	return j->n * part / PARTS;
}

static void sum_part(void *user, size_t part, unsigned thread)
{
	const principal_job *j = user;
	double *sum = j->next + part * j->d * WIDTH;

	(void)thread;
	memset(sum, 0, j->d * sizeof *sum);
	for (size_t i = part_begin(j, part); i < part_begin(j, part + 1); i++)
		for (size_t c = 0; c < j->d; c++)
			sum[c] += j->rows[i * j->d + c];
}

static void pass_part(void *user, size_t part, unsigned thread)
{
	const principal_job *j = user;
	double *back = j->scores ? NULL : j->next + part * j->d * WIDTH;
	double y[WIDTH] __attribute__((aligned(INV_ALIGN)));

	(void)thread;
	if (back)
		memset(back, 0, j->d * WIDTH * sizeof *back);
	for (size_t i = part_begin(j, part); i < part_begin(j, part + 1); i++) {
		j->kernels.thin_pass(j->rows + i * j->d, j->centre, j->d, j->directions, y, back);
		for (size_t c = 0; c < j->count && j->scores; c++)
			j->scores[i * j->count + c] = y[c];
	}
}

static double dot_columns(const double *x, size_t a, size_t b, size_t d)
{
	double sum = 0;

	for (size_t i = 0; i < d; i++)
		sum += x[i * WIDTH + a] * x[i * WIDTH + b];
	return sum;
}

/* Gram and Schmidt, twice for accuracy; what has no length left becomes 0. */
static void make_orthonormal(double *x, size_t d)
{
	for (size_t a = 0; a < WIDTH; a++) {
		double before = sqrt(dot_columns(x, a, a, d)), length;

		for (size_t again = 0; again < 2; again++)
			for (size_t b = 0; b < a; b++) {
				double share = dot_columns(x, a, b, d);

				for (size_t i = 0; i < d; i++)
					x[i * WIDTH + a] -= share * x[i * WIDTH + b];
			}
		length = sqrt(dot_columns(x, a, a, d));
		for (size_t i = 0; i < d; i++)
			x[i * WIDTH + a] = length > 1e-12 * before ? x[i * WIDTH + a] / length : 0;
	}
}

/* Turns orthonormal directions so that the first have the largest variance. */
static invar_status sort_directions(principal_job *j)
{
	double small[WIDTH * WIDTH] = {0}, values[WIDTH];

	for (size_t a = 0; a < WIDTH; a++)
		for (size_t b = 0; b <= a; b++)
			for (size_t i = 0; i < j->d; i++)
				small[a * WIDTH + b] +=
					j->directions[i * WIDTH + a] * j->next[i * WIDTH + b];
	INV_TRY(inv_eigen_symmetric(WIDTH, small, values));
	for (size_t i = 0; i < j->d; i++) {
		double turned[WIDTH];

		for (size_t a = 0; a < WIDTH; a++) { /* eigenvalues ascend */
			turned[a] = 0;
			for (size_t b = 0; b < WIDTH; b++)
				turned[a] += small[(WIDTH - 1 - a) * WIDTH + b] * j->next[i * WIDTH + b];
		}
		memcpy(j->next + i * WIDTH, turned, sizeof turned);
	}
	return INVAR_OK;
}

static invar_status find_directions(principal_job *j, uint64_t seed)
{
	inv_stream s = inv_stream_of(seed, "principal", 0);
	float start[WIDTH];
	double change = INFINITY;

	for (size_t i = 0; i < j->d; i++) {
		inv_fill_normal(&s, (uint32_t)i, start, WIDTH);
		for (size_t c = 0; c < WIDTH; c++)
			j->directions[i * WIDTH + c] = start[c];
	}
	make_orthonormal(j->directions, j->d);
	for (size_t pass = 0; pass < MAX_PASSES && change > at_rest; pass++) {
		inv_parallel(j->ctx, PARTS, pass_part, j);
		for (size_t part = 1; part < PARTS; part++)
			for (size_t i = 0; i < j->d * WIDTH; i++)
				j->next[i] += j->next[part * j->d * WIDTH + i];
		INV_TRY(sort_directions(j));
		INV_TRY(inv_progress(j->ctx, "principal components", pass, MAX_PASSES));
		make_orthonormal(j->next, j->d);
		change = 0;
		for (size_t c = 0; c < j->count; c++) {
			double along = 0, length = 0;

			for (size_t i = 0; i < j->d; i++) {
				along += j->next[i * WIDTH + c] * j->directions[i * WIDTH + c];
				length += j->next[i * WIDTH + c] * j->next[i * WIDTH + c];
			}
			change = fmax(change, length > 0 ? sqrt(fmax(2 - 2 * fabs(along), 0)) : 0);
		}
		memcpy(j->directions, j->next, j->d * WIDTH * sizeof *j->next);
	}
	for (size_t c = 0; c < j->count; c++) { /* the largest loading becomes positive */
		double largest = 0;

		for (size_t i = 0; i < j->d; i++)
			if (fabs(j->directions[i * WIDTH + c]) > fabs(largest))
				largest = j->directions[i * WIDTH + c];
		for (size_t i = 0; i < j->d && largest < 0; i++)
			j->directions[i * WIDTH + c] *= -1;
	}
	return INVAR_OK;
}

invar_status inv_principal(const invar_context *ctx, const float *rows, size_t n, size_t d,
                           size_t count, uint64_t seed, double *scores)
{
	principal_job j = {.ctx = ctx, .rows = rows, .n = n, .d = d, .count = count};
	invar_status st;

	inv_kernels_init(&j.kernels, ctx->cpu);
	INV_TRY_OR(done, inv_new_zeros(&j.centre, d));
	INV_TRY_OR(done, inv_new_array(&j.directions, d * WIDTH));
	INV_TRY_OR(done, inv_new_array(&j.next, PARTS * d * WIDTH));
	inv_parallel(ctx, PARTS, sum_part, &j);
	for (size_t part = 0; part < PARTS; part++)
		for (size_t c = 0; c < d; c++)
			j.centre[c] += j.next[part * d * WIDTH + c] / (double)n;
	INV_TRY_OR(done, find_directions(&j, seed));
	j.scores = scores;
	inv_parallel(ctx, PARTS, pass_part, &j);
done:
	inv_free(j.centre);
	inv_free(j.directions);
	inv_free(j.next);
	return st;
}
