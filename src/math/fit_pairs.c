/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_pairs.c - streaming sums of pairs, and the rigid and ridge maps from them.
 *
 * Sums are of a - a_0 and b - b_0, the first pair being the origin: centring afterwards
 * then subtracts little, and constant features come out as exactly zero instead of as
 * rounding errors.
 *
 * Rows wait in a block of BLOCK_ROWS, counted from the first of a chunk, and are added when
 * it is full. The sums are thus the same bits for any number of threads and any split of
 * the rows into calls between two fits; a fit ends the chunk under way. Of several ranks,
 * each makes the sums of its own chunks.
 *
 * Rigid (orthogonal Procrustes): with both sides centred, M = A^T B = U S V^T and
 * R = U V^T is the orthogonal map with the least squared residual, reflections included. If
 * M is singular, R is one of several that are equally good. If there are at most half
 * as many rows as features, the rows are kept as well, and the rotation is computed from
 * them: an SVD of n by n instead of d by d. Ridge: (A^T A + lambda m I) M = A^T B, m the
 * mean diagonal of A^T A.
 */
#include "math/fit_pairs.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/linalg.h"
#include "math/openblas.h"

enum { BLOCK_ROWS = 256, MAP_ROWS = 128 };

/* ---- Sums ------------------------------------------------------------------------- */

static size_t max_kept(const inv_pairs *p)
{
	return p->d / 2;
}

static size_t pair_doubles(const inv_pairs *p)
{
	return 2 * p->d + (p->ridge ? 2 : 1) * p->d * p->d;
}

invar_status inv_pairs_new(const invar_context *ctx, size_t d, bool ridge, inv_pairs **out)
{
	invar_status st;
	inv_pairs *p;

	*out = NULL;
	INV_TRY(inv_openblas_need_for(ctx));
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->d = d;
	p->ridge = ridge;
	INV_TRY_OR(fail, inv_new_zeros(&p->chunk, pair_doubles(p)));
	INV_TRY_OR(fail, inv_new_zeros(&p->block, 2 * d * (BLOCK_ROWS + 1)));
	p->origin_a = p->block;
	p->origin_b = p->origin_a + d;
	p->waiting_a = p->origin_b + d;
	p->waiting_b = p->waiting_a + BLOCK_ROWS * d;
	INV_TRY_OR(fail, inv_new_array(&p->kept, 2 * max_kept(p) * d + 1));
	INV_TRY_OR(fail, inv_block_sums_new(ctx, pair_doubles(p), &p->sums));
	*out = p;
	return INVAR_OK;
fail:
	inv_pairs_free(p);
	return st;
}

void inv_pairs_free(inv_pairs *p)
{
	if (!p)
		return;
	inv_block_sums_free(p->sums);
	inv_free(p->chunk);
	inv_free(p->block);
	inv_free(p->kept);
	inv_free(p);
}

/* Adds the products of the first `rows` waiting rows to the chunk. */
static void add_waiting(inv_pairs *p, size_t rows)
{
	inv_dgemm_spec s = {p->d, p->d, rows, .transpose_a = true, .add = true};
	double *ab = p->chunk + 2 * p->d, *aa = ab + p->d * p->d;

	if (!rows)
		return;
	inv_dgemm_tiled(p->ctx, &s, p->waiting_a, p->waiting_b, ab);
	s.lower = true;
	if (p->ridge)
		inv_dgemm_tiled(p->ctx, &s, p->waiting_a, p->waiting_a, aa);
}

static void shift_row(const float *row, const double *origin, size_t d, double *sum,
                      double *out)
{
	for (size_t j = 0; j < d; j++) {
		out[j] = (double)row[j] - origin[j];
		sum[j] += out[j];
	}
}

/* Adds the sums of the chunk to those before; the next one starts. */
static void end_chunk(inv_pairs *p)
{
	size_t count = pair_doubles(p);
	double *to = inv_block_sums_next(p->sums);

	if (to) {
		add_waiting(p, p->in_chunk % BLOCK_ROWS);
		for (size_t i = 0; i < count; i++)
			to[i] += p->chunk[i];
		memset(p->chunk, 0, count * sizeof *p->chunk);
	}
	p->in_chunk = 0;
	if (p->status == INVAR_OK)
		p->status = inv_block_sums_end(p->sums);
}

void inv_pairs_add(inv_pairs *p, const float *a, const float *b, uint64_t rows)
{
	size_t d = p->d;

	for (size_t j = 0; j < d && rows && !p->n; j++) {
		p->origin_a[j] = a[j];
		p->origin_b[j] = b[j];
	}
	for (uint64_t i = 0; i < rows; i++, a += d, b += d) {
		size_t at = p->in_chunk % BLOCK_ROWS * d;

		if (p->n < max_kept(p)) {
			memcpy(p->kept + p->n * d, a, d * sizeof *a);
			memcpy(p->kept + (max_kept(p) + p->n) * d, b, d * sizeof *b);
		}
		if (inv_block_sums_own(p->sums)) {
			shift_row(a, p->origin_a, d, p->chunk, p->waiting_a + at);
			shift_row(b, p->origin_b, d, p->chunk + d, p->waiting_b + at);
			if ((p->in_chunk + 1) % BLOCK_ROWS == 0)
				add_waiting(p, BLOCK_ROWS);
		}
		p->n++;
		if (++p->in_chunk == INV_PAIR_CHUNK)
			end_chunk(p);
	}
}

/* ---- Fits -------------------------------------------------------------------------- */

/* out = sums - n mean mean^T: A^T A or A^T B of the centred rows. */
static void centre(const inv_pairs *p, bool gram, double *out)
{
	size_t d = p->d;
	const double *total = p->total + 2 * d + (gram ? d * d : 0);
	const double *right = gram ? p->total : p->total + d;

	for (size_t i = 0; i < d; i++) {
		double mean = p->total[i] / (double)p->n;

		for (size_t j = 0; j < d; j++)
			out[i * d + j] = total[i * d + j] - mean * right[j];
	}
}

/* A map, of which M and t are to be filled, and the totals of all rows. */
static invar_status begin_map(inv_pairs *p, inv_map_affine *out)
{
	invar_status st;

	*out = (inv_map_affine){.d = p->d};
	if (!p->n)
		return inv_fail(INVAR_E_USE, "a map cannot be fitted without rows");
	if (p->in_chunk)
		end_chunk(p);
	INV_TRY(p->status);
	INV_TRY(inv_block_sums_total(p->sums, &p->total));
	INV_TRY_OR(fail, inv_new_array(&out->M, p->d * p->d));
	INV_TRY_OR(fail, inv_new_array(&out->t, p->d));
	return INVAR_OK;
fail:
	inv_map_clear(out);
	return st;
}

/* t = mean(b) - mean(a) M; or after a failure, no map. */
static invar_status end_map(const inv_pairs *p, invar_status st, inv_map_affine *out)
{
	size_t d = p->d;
	double n = (double)p->n, *t = out->t;

	if (st != INVAR_OK) {
		inv_map_clear(out);
		return st;
	}
	for (size_t j = 0; j < d; j++)
		t[j] = p->origin_b[j] + p->total[d + j] / n;
	for (size_t i = 0; i < d; i++) {
		double mean = p->origin_a[i] + p->total[i] / n;

		for (size_t j = 0; j < d; j++)
			t[j] -= mean * out->M[i * d + j];
	}
	return INVAR_OK;
}

void inv_map_clear(inv_map_affine *m)
{
	inv_free(m->M);
	inv_free(m->t);
	*m = (inv_map_affine){0};
}

/* Kept rows of a or b minus their mean. */
static void centre_rows(const inv_pairs *p, const float *rows, const double *origin,
                        const double *total, double *out)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->d; j++)
			out[i * p->d + j] =
				(double)rows[i * p->d + j] - origin[j] - total[j] / (double)p->n;
}

invar_status inv_fit_rigid(inv_pairs *p, inv_map_affine *out)
{
	const inv_dgemm_spec product = {p->d, p->d, p->d, .add = false};
	size_t d = p->d;
	invar_status st;
	double *scratch;

	INV_TRY(begin_map(p, out));
	INV_TRY_OR(done, inv_new_array(&scratch, (3 * d + 1) * d));
	if (p->n <= max_kept(p)) { /* from the rows */
		double *a = scratch, *b = a + p->n * d;

		centre_rows(p, p->kept, p->origin_a, p->total, a);
		centre_rows(p, p->kept + max_kept(p) * d, p->origin_b, p->total + d, b);
		st = inv_procrustes_thin(p->ctx, p->n, d, a, b, out->M);
	} else { /* R = U V^T of the cross-covariance */
		double *cross = scratch, *u = cross + d * d, *vt = u + d * d, *sigma = vt + d * d;

		centre(p, false, cross);
		st = inv_svd(d, d, cross, u, sigma, vt);
		if (st == INVAR_OK)
			inv_dgemm_tiled(p->ctx, &product, u, vt, out->M);
	}
	inv_free(scratch);
done:
	return end_map(p, st, out);
}

/* Constant sources carry no information: the map is then the mean of b. */
invar_status inv_fit_ridge(inv_pairs *p, double lambda, inv_map_affine *out)
{
	size_t d = p->d;
	double *gram, mean = 0;
	invar_status st;

	INV_TRY(begin_map(p, out));
	INV_TRY_OR(done, inv_new_array(&gram, d * d));
	centre(p, true, gram);
	for (size_t i = 0; i < d; i++)
		mean += gram[i * d + i];
	mean /= (double)d;
	if (mean > 0) {
		for (size_t i = 0; i < d; i++)
			gram[i * d + i] += lambda * mean;
		centre(p, false, out->M);
		st = inv_cholesky_solve(p->ctx, d, d, gram, out->M);
	} else {
		memset(out->M, 0, d * d * sizeof *out->M);
	}
	if (st == INVAR_E_NUMERIC)
		st = inv_fail(st,
		              "@ridge: %g of the mean diagonal is too small for linearly dependent "
		              "features; try 1e-8 or more",
		              lambda);
	inv_free(gram);
done:
	return end_map(p, st, out);
}

/* ---- Applying ----------------------------------------------------------------------- */

typedef struct map_job {
	const invar_context *ctx;
	const inv_map_affine *m;
	const float *z;
	float *out;
	uint64_t rows;
	double *scratch; /* [threads, 2, MAP_ROWS, d] */
} map_job;

static void map_block(void *user, size_t block, unsigned thread)
{
	const map_job *j = user;
	size_t d = j->m->d;
	uint64_t from = block * MAP_ROWS;
	size_t rows = j->rows - from < MAP_ROWS ? j->rows - from : MAP_ROWS;
	double *x = j->scratch + (size_t)thread * 2 * MAP_ROWS * d, *y = x + MAP_ROWS * d;
	inv_dgemm_spec s = {rows, d, d, .add = true};

	for (size_t i = 0; i < rows * d; i++) {
		x[i] = j->z[from * d + i];
		y[i] = j->m->t[i % d];
	}
	inv_dgemm(j->ctx, &s, x, j->m->M, y);
	for (size_t i = 0; i < rows * d; i++)
		j->out[from * d + i] = (float)y[i];
}

invar_status inv_map_rows(const invar_context *ctx, const inv_map_affine *m, const float *z,
                          uint64_t rows, float *out)
{
	map_job j = {.ctx = ctx, .m = m, .z = z, .out = out, .rows = rows};

	INV_TRY(inv_openblas_need_for(ctx));
	INV_TRY(inv_new_array(&j.scratch, (size_t)ctx->threads * 2 * MAP_ROWS * m->d));
	inv_parallel(ctx, inv_blocks(rows, MAP_ROWS), map_block, &j);
	inv_free(j.scratch);
	return INVAR_OK;
}
