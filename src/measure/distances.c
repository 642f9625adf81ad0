/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distances.c - see distances.h.
 *
 * 1 - cos(a, b) is half the squared distance of the unit vectors, so both metrics use
 * the kernel that sums squared differences in double. A row of zeros has no unit vector
 * and stays zero.
 */
#include "measure/distances.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"

enum { ROWS = 16 }; /* queries per block */

/* The rows that are compared: as given, or as unit vectors. */
typedef struct side {
	const float *query, *gallery;
	size_t width;
	float *units; /* ours; NULL: as given */
} side;

typedef struct job {
	const inv_distance_pairs *p;
	struct inv_kernels kernels;
	bool cosine;
	side before, after;
	double *error, *whole;
} job;

static void normalise(const float *rows, uint64_t count, size_t width, float *out)
{
	for (uint64_t i = 0; i < count; i++) {
		const float *row = rows + i * width;
		double sum = 0;

		for (size_t l = 0; l < width; l++)
			sum += (double)row[l] * row[l];
		for (size_t l = 0; l < width; l++)
			out[i * width + l] = sum > 0 ? (float)(row[l] / sqrt(sum)) : 0;
	}
}

static invar_status open_side(const job *j, const float *query, const float *gallery,
                              size_t width, side *out)
{
	uint64_t n = j->p->n, m = j->p->m;

	*out = (side){query, gallery, width, NULL};
	if (!j->cosine)
		return INVAR_OK;
	if (!(out->units = inv_calloc((n + m) * width, sizeof *out->units)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " unit vectors",
		                n + m);
	normalise(query, n, width, out->units);
	normalise(gallery, m, width, out->units + n * width);
	out->query = out->units;
	out->gallery = out->units + n * width;
	return INVAR_OK;
}

static bool is_zero(const float *row, size_t width)
{
	for (size_t l = 0; l < width; l++)
		if (row[l] != 0)
			return false;
	return true;
}

static double distance_of(const job *t, const side *s, uint64_t i, uint64_t j)
{
	const float *a = s->query + i * s->width, *b = s->gallery + j * s->width;
	double square = t->kernels.squared_distance(a, b, s->width);

	if (!t->cosine)
		return sqrt(square);
	/* Unit vectors have a squared distance of 1 to zeros, and zeros 0 to themselves. */
	if (square <= 1.0001 && (is_zero(a, s->width) || is_zero(b, s->width)))
		return 1;
	return square / 2;
}

static void add_queries(void *user, size_t block, unsigned thread)
{
	const job *t = user;
	const inv_distance_pairs *p = t->p;
	uint64_t end = (block + 1) * ROWS < p->n ? (block + 1) * ROWS : p->n;

	(void)thread;
	for (uint64_t i = block * ROWS; i < end; i++)
		for (uint64_t j = 0; j < p->m; j++) {
			double d, gap;

			if (j == p->own[i])
				continue;
			d = distance_of(t, &t->before, i, j);
			gap = distance_of(t, &t->after, i, j) - d;
			t->error[i] += gap * gap;
			t->whole[i] += d * d;
		}
}

invar_status inv_distance_errors(const invar_context *ctx, inv_distance distance,
                                 const inv_distance_pairs *p, double *error, double *whole)
{
	job j = {.p = p, .cosine = distance == INV_COSINE, .error = error, .whole = whole};
	invar_status st = open_side(&j, p->query, p->gallery, p->d, &j.before);

	if (st == INVAR_OK)
		st = open_side(&j, p->after, p->indexed, p->w, &j.after);
	inv_kernels_init(&j.kernels, ctx->cpu);
	if (st == INVAR_OK)
		inv_parallel(ctx, inv_blocks(p->n, ROWS), add_queries, &j);
	inv_free(j.before.units);
	inv_free(j.after.units);
	return st;
}

/* ---- Plain loops ----------------------------------------------------------------- */

static double plain_distance(inv_distance distance, const float *a, const float *b,
                             size_t width)
{
	double aa = 0, bb = 0, ab = 0, square = 0;

	for (size_t l = 0; l < width; l++) {
		aa += (double)a[l] * a[l];
		bb += (double)b[l] * b[l];
		ab += (double)a[l] * b[l];
		square += ((double)a[l] - b[l]) * ((double)a[l] - b[l]);
	}
	if (distance == INV_L2)
		return sqrt(square);
	return aa > 0 && bb > 0 ? 1 - ab / sqrt(aa * bb) : 1;
}

void inv_distance_errors_ref(inv_distance distance, const inv_distance_pairs *p,
                             double *error, double *whole)
{
	for (uint64_t i = 0; i < p->n; i++)
		for (uint64_t j = 0; j < p->m; j++) {
			double d, after;

			if (j == p->own[i])
				continue;
			d = plain_distance(distance, p->query + i * p->d, p->gallery + j * p->d, p->d);
			after =
				plain_distance(distance, p->after + i * p->w, p->indexed + j * p->w, p->w);
			error[i] += (after - d) * (after - d);
			whole[i] += d * d;
		}
}
