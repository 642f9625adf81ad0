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
 * M is rank-deficient, R is one of several that are equally good. If there are at most half
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

/* Scratch memory: the first pair, then the waiting rows. */
static double *origin_a(const inv_pairs *p)
{
	return p->block;
}

static double *origin_b(const inv_pairs *p)
{
	return p->block + p->d;
}

static double *waiting_a(const inv_pairs *p)
{
	return p->block + 2 * p->d;
}

static double *waiting_b(const inv_pairs *p)
{
	return waiting_a(p) + BLOCK_ROWS * p->d;
}

/* Rows kept for a rotation from their thin side: a's, then b's. */
static size_t max_kept(const inv_pairs *p)
{
	return p->d / 2;
}

static float *kept_a(const inv_pairs *p)
{
	return p->kept;
}

static float *kept_b(const inv_pairs *p)
{
	return p->kept + max_kept(p) * p->d;
}

/* Where the parts of sums are. */
static double *sum_a(double *sums)
{
	return sums;
}

static double *sum_b(const inv_pairs *p, double *sums)
{
	return sums + p->d;
}

static double *sum_ab(const inv_pairs *p, double *sums)
{
	return sums + 2 * p->d;
}

static double *sum_aa(const inv_pairs *p, double *sums)
{
	return sum_ab(p, sums) + p->d * p->d;
}

/* ---- Sums ------------------------------------------------------------------------- */

static size_t pair_doubles(const inv_pairs *p)
{
	return 2 * p->d + (p->ridge ? 2 : 1) * p->d * p->d;
}

invar_status inv_pairs_new(const invar_context *ctx, size_t d, bool ridge, inv_pairs **out)
{
	invar_status st = inv_openblas_need_for(ctx);
	inv_pairs *p;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(p = inv_calloc(1, sizeof *p)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the sums of %zu features", d);
	p->ctx = ctx;
	p->d = d;
	p->ridge = ridge;
	p->chunk = inv_calloc(pair_doubles(p), sizeof(double));
	p->block = inv_calloc(2 * d * (BLOCK_ROWS + 1), sizeof(double));
	p->kept = inv_alloc((2 * max_kept(p) * d + 1) * sizeof *p->kept);
	st = inv_block_sums_new(ctx, pair_doubles(p), &p->sums);
	if (st != INVAR_OK || !p->chunk || !p->block || !p->kept) {
		inv_pairs_free(p);
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for the sums of %zu x %zu features", d, d);
	}
	*out = p;
	return INVAR_OK;
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

/* Adds the first `rows` waiting rows to a sum: to += A^T right. */
static void add_waiting(const inv_pairs *p, size_t rows, const double *right, bool lower,
                        double *to)
{
	inv_dgemm_spec s = {p->d, p->d, rows, .transpose_a = true, .add = true, .lower = lower};

	if (rows)
		inv_dgemm_tiled(p->ctx, &s, waiting_a(p), right, to);
}

static void add_waiting_to_chunk(inv_pairs *p, size_t rows)
{
	add_waiting(p, rows, waiting_b(p), false, sum_ab(p, p->chunk));
	if (p->ridge)
		add_waiting(p, rows, waiting_a(p), true, sum_aa(p, p->chunk));
}

static void shift_row(const float *row, const double *origin, size_t d, double *sum,
                      double *out)
{
	for (size_t j = 0; j < d; j++) {
		out[j] = (double)row[j] - origin[j];
		sum[j] += out[j];
	}
}

static void put_pair(inv_pairs *p, const float *a, const float *b)
{
	size_t d = p->d, at = p->in_chunk % BLOCK_ROWS * d;

	shift_row(a, origin_a(p), d, sum_a(p->chunk), waiting_a(p) + at);
	shift_row(b, origin_b(p), d, sum_b(p, p->chunk), waiting_b(p) + at);
	if ((p->in_chunk + 1) % BLOCK_ROWS == 0)
		add_waiting_to_chunk(p, BLOCK_ROWS);
}

/* Adds the sums of the chunk to those before; the next one starts. */
static void end_chunk(inv_pairs *p)
{
	size_t count = pair_doubles(p);
	double *to = inv_block_sums_next(p->sums);

	if (to) {
		add_waiting_to_chunk(p, p->in_chunk % BLOCK_ROWS);
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
		origin_a(p)[j] = a[j];
		origin_b(p)[j] = b[j];
	}
	for (uint64_t i = 0; i < rows; i++) {
		if (p->n < max_kept(p)) {
			memcpy(kept_a(p) + p->n * d, a + i * d, d * sizeof *a);
			memcpy(kept_b(p) + p->n * d, b + i * d, d * sizeof *b);
		}
		if (inv_block_sums_own(p->sums))
			put_pair(p, a + i * d, b + i * d);
		p->n++;
		if (++p->in_chunk == INV_PAIR_CHUNK)
			end_chunk(p);
	}
}

/* Before a fit: the totals of all rows. */
static invar_status settle(inv_pairs *p)
{
	if (p->in_chunk)
		end_chunk(p);
	INV_TRY(p->status);
	return inv_block_sums_total(p->sums, &p->total);
}

/* ---- Fits -------------------------------------------------------------------------- */

/* out = sums - n mean mean^T: A^T A or A^T B of the centred rows. */
static void centre(const inv_pairs *p, bool gram, double *out)
{
	size_t d = p->d;
	const double *total = gram ? sum_aa(p, p->total) : sum_ab(p, p->total);

	for (size_t i = 0; i < d; i++) {
		double mean = sum_a(p->total)[i] / (double)p->n;

		for (size_t j = 0; j < d; j++)
			out[i * d + j] = total[i * d + j] -
			                 mean * (gram ? sum_a(p->total)[j] : sum_b(p, p->total)[j]);
	}
}

/* t = mean(b) - mean(a) M */
static void translation(const inv_pairs *p, const double *M, double *t)
{
	size_t d = p->d;
	double n = (double)p->n;

	for (size_t j = 0; j < d; j++)
		t[j] = origin_b(p)[j] + sum_b(p, p->total)[j] / n;
	for (size_t i = 0; i < d; i++) {
		double mean = origin_a(p)[i] + sum_a(p->total)[i] / n;

		for (size_t j = 0; j < d; j++)
			t[j] -= mean * M[i * d + j];
	}
}

static invar_status new_map(inv_pairs *p, inv_map_affine *out)
{
	*out = (inv_map_affine){.d = p->d};
	if (!p->n)
		return inv_fail(INVAR_E_USE, "a map cannot be fitted without rows");
	INV_TRY(settle(p));
	out->M = inv_alloc(p->d * p->d * sizeof(double));
	out->t = inv_alloc(p->d * sizeof(double));
	if (out->M && out->t)
		return INVAR_OK;
	inv_map_clear(out);
	return inv_fail(INVAR_E_NOMEM, "not enough memory for a map of %zu features", p->d);
}

void inv_map_clear(inv_map_affine *m)
{
	inv_free(m->M);
	inv_free(m->t);
	*m = (inv_map_affine){0};
}

/* R = U V^T of the cross-covariance; scratch holds it, U and V^T, then sigma. */
static invar_status nearest_rotation(const inv_pairs *p, double *scratch, double *R)
{
	size_t d = p->d;
	double *cross = scratch, *u = cross + d * d, *vt = u + d * d, *sigma = vt + d * d;
	inv_dgemm_spec product = {d, d, d, .add = false};
	invar_status st;

	centre(p, false, cross);
	st = inv_svd(d, d, cross, u, sigma, vt);
	if (st == INVAR_OK)
		inv_dgemm_tiled(p->ctx, &product, u, vt, R);
	return st;
}

/* Rows of a or b as they were given, minus their mean. */
static void centre_rows(const inv_pairs *p, const float *rows, const double *origin,
                        bool of_a, double *out)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->d; j++)
			out[i * p->d + j] =
				(double)rows[i * p->d + j] - origin[j] -
				(of_a ? sum_a(p->total)[j] : sum_b(p, p->total)[j]) / (double)p->n;
}

/* The same for few rows; scratch holds both sides. */
static invar_status thin_rotation(const inv_pairs *p, double *scratch, double *R)
{
	double *a = scratch, *b = a + p->n * p->d;

	centre_rows(p, kept_a(p), origin_a(p), true, a);
	centre_rows(p, kept_b(p), origin_b(p), false, b);
	return inv_procrustes_thin(p->ctx, p->n, p->d, a, b, R);
}

invar_status inv_fit_rigid(inv_pairs *p, inv_map_affine *out)
{
	invar_status st;
	double *scratch;

	INV_TRY(new_map(p, out));
	scratch = inv_alloc((3 * p->d + 1) * p->d * sizeof *scratch);
	if (!scratch)
		st = inv_fail(INVAR_E_NOMEM, "not enough memory to fit a rigid map of %zu features",
		              p->d);
	else
		st = p->n <= max_kept(p) ? thin_rotation(p, scratch, out->M)
		                         : nearest_rotation(p, scratch, out->M);
	inv_free(scratch);
	if (st == INVAR_OK)
		translation(p, out->M, out->t);
	else
		inv_map_clear(out);
	return st;
}

static double mean_diagonal(const double *g, size_t d)
{
	double sum = 0;

	for (size_t i = 0; i < d; i++)
		sum += g[i * d + i];
	return sum / (double)d;
}

/* Constant sources carry no information: the map is then the mean of b. */
static invar_status solve_ridge(const inv_pairs *p, double lambda, double *gram, double *M)
{
	size_t d = p->d;
	double mean;
	invar_status st;

	centre(p, true, gram);
	mean = mean_diagonal(gram, d);
	if (!(mean > 0)) {
		memset(M, 0, d * d * sizeof *M);
		return INVAR_OK;
	}
	for (size_t i = 0; i < d; i++)
		gram[i * d + i] += lambda * mean;
	centre(p, false, M);
	st = inv_cholesky_solve(p->ctx, d, d, gram, M);
	if (st == INVAR_E_NUMERIC)
		st = inv_fail(st,
		              "@ridge: %g of the mean diagonal is too small for linearly dependent "
		              "features; try 1e-8 or more",
		              lambda);
	return st;
}

invar_status inv_fit_ridge(inv_pairs *p, double lambda, inv_map_affine *out)
{
	invar_status st;
	double *gram;

	INV_TRY(new_map(p, out));
	gram = inv_alloc(p->d * p->d * sizeof *gram);
	st = gram ? solve_ridge(p, lambda, gram, out->M)
	          : inv_fail(INVAR_E_NOMEM, "not enough memory to fit a ridge of %zu features",
	                     p->d);
	inv_free(gram);
	if (st == INVAR_OK)
		translation(p, out->M, out->t);
	else
		inv_map_clear(out);
	return st;
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
	invar_status st = inv_openblas_need_for(ctx);

	if (st != INVAR_OK)
		return st;
	j.scratch = inv_alloc((size_t)ctx->threads * 2 * MAP_ROWS * m->d * sizeof(double));
	if (!j.scratch)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to map rows of %zu features",
		                m->d);
	inv_parallel(ctx, inv_blocks(rows, MAP_ROWS), map_block, &j);
	inv_free(j.scratch);
	return INVAR_OK;
}
