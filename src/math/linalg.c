/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg.c - double products, SVD, eigenvalues and Cholesky through OpenBLAS.
 *
 * LAPACK is column-major. Where that only changes names, the same memory is passed and the
 * roles are swapped: a row-major A is LAPACK's A^T, so its left singular vectors are our
 * right ones, already transposed. Nothing is transposed.
 */
#include "math/linalg.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/test_stop.h"
#include "base/threads.h"
#include "math/openblas.h"

enum {
	TILE = 128,    /* rows, or columns of a right-hand side, per block of work */
	FACTOR = 2048, /* rows factored by one LAPACK call; larger matrices are cut into such
	                  blocks */
	WIDEST = INV_LINALG_WIDEST /* LAPACK's sizes of work space are 32-bit integers */
};

/* ---- Products ------------------------------------------------------------------- */

void inv_dgemm_ref(const inv_dgemm_spec *s, const double *a, const double *b, double *c)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			double sum = 0;

			for (size_t l = 0; l < s->k; l++)
				sum += (s->transpose_a ? a[l * s->m + i] : a[i * s->k + l]) *
				       (s->transpose_b ? b[j * s->k + l] : b[l * s->n + j]);
			c[i * s->n + j] = s->add ? c[i * s->n + j] + sum : sum;
		}
}

/* Rows `row` to `row + rows` of C, up to the diagonal if C is symmetric. */
static void run_rows(const inv_dgemm_spec *s, size_t row, size_t rows, const double *a,
                     const double *b, double *c)
{
	size_t lda = s->transpose_a ? s->m : s->k, ldb = s->transpose_b ? s->k : s->n;
	size_t cols = s->n;

	if (s->lower && row + rows < cols)
		cols = row + rows;
	if (rows && cols)
		inv_openblas_get()->dgemm(CblasRowMajor, s->transpose_a ? CblasTrans : CblasNoTrans,
		                          s->transpose_b ? CblasTrans : CblasNoTrans, (int)rows,
		                          (int)cols, (int)s->k, 1,
		                          a + row * (s->transpose_a ? 1 : lda), (int)lda, b,
		                          (int)ldb, s->add, c + row * s->n, (int)s->n);
}

void inv_dgemm(const invar_context *ctx, const inv_dgemm_spec *s, const double *a,
               const double *b, double *c)
{
	if (ctx->cpu)
		run_rows(s, 0, s->m, a, b, c);
	else
		inv_dgemm_ref(s, a, b, c);
}

typedef struct product_job {
	const inv_dgemm_spec *s;
	const double *a, *b;
	double *c;
} product_job;

static void run_tile(void *user, size_t tile, unsigned thread)
{
	const product_job *j = user;
	size_t row = tile * TILE, rows = j->s->m - row < TILE ? j->s->m - row : TILE;

	(void)thread;
	run_rows(j->s, row, rows, j->a, j->b, j->c);
}

void inv_dgemm_tiled(const invar_context *ctx, const inv_dgemm_spec *s, const double *a,
                     const double *b, double *c)
{
	product_job j = {s, a, b, c};

	if (!ctx->cpu) {
		inv_dgemm_ref(s, a, b, c);
		return;
	}
	inv_parallel(ctx, inv_blocks(s->m, TILE), run_tile, &j);
}

/* ---- LAPACK ---------------------------------------------------------------------- */

static invar_status check_size(size_t m, size_t n)
{
	if (m <= WIDEST && n <= WIDEST)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "a matrix of %zu x %zu is wider than the %d that LAPACK takes", m, n,
	                WIDEST);
}

static invar_status explain_lapack(const char *what, size_t m, size_t n, int info)
{
	if (info == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC, "the %s of a %zu x %zu matrix %s", what, m, n,
	                info > 0 ? "did not converge" : "met a NaN");
}

/*
 * Column-major: our [m, n] is its [n, m]. By divide and conquer; if that gives up, as on
 * some singular matrices, by QR iteration, which is slower. A size of -1 asks for the
 * best size of `work`.
 */
invar_status inv_svd(size_t m, size_t n, double *a, double *u, double *sigma, double *vt)
{
	const inv_openblas *blas = inv_openblas_get();
	int rows = (int)n, cols = (int)m, k = (int)(m < n ? m : n), ask = -1, info, size[2];
	double best[2], *copy = NULL, *work = NULL;
	int *integers = NULL;
	invar_status st;

	INV_TRY(check_size(m, n));
	if (!k)
		return INVAR_OK;
	INV_TRY(inv_openblas_need(1));
	inv_test_stop("svd");
	blas->dgesdd("S", &rows, &cols, a, &rows, sigma, vt, &rows, u, &k, &best[0], &ask, &ask,
	             &info, 1);
	blas->dgesvd("S", "S", &rows, &cols, a, &rows, sigma, vt, &rows, u, &k, &best[1], &ask,
	             &info, 1, 1);
	size[0] = (int)best[0];
	size[1] = (int)best[1];
	INV_TRY_OR(done, inv_new_array(&copy, m * n));
	INV_TRY_OR(done, inv_new_array(&work, (size_t)fmax(best[0], best[1])));
	INV_TRY_OR(done, inv_new_array(&integers, 8 * (size_t)k));
	memcpy(copy, a, m * n * sizeof *a);
	blas->dgesdd("S", &rows, &cols, a, &rows, sigma, vt, &rows, u, &k, work, &size[0],
	             integers, &info, 1);
	if (info > 0)
		blas->dgesvd("S", "S", &rows, &cols, copy, &rows, sigma, vt, &rows, u, &k, work,
		             &size[1], &info, 1, 1);
	st = explain_lapack("SVD", m, n, info);
done:
	inv_free(copy);
	inv_free(work);
	inv_free(integers);
	return st;
}

invar_status inv_eigen_symmetric(size_t n, double *a, double *values)
{
	const inv_openblas *blas = inv_openblas_get();
	int side = (int)n, ask = -1, size, integer_size, info;
	double best, *work = NULL;
	int *integers = NULL;
	invar_status st;

	INV_TRY(check_size(n, n));
	if (!n)
		return INVAR_OK;
	INV_TRY(inv_openblas_need(1));
	inv_test_stop("eigen");
	blas->dsyevd("V", "U", &side, a, &side, values, &best, &ask, &integer_size, &ask, &info,
	             1, 1);
	size = (int)best;
	INV_TRY_OR(done, inv_new_array(&work, (size_t)size));
	INV_TRY_OR(done, inv_new_array(&integers, (size_t)integer_size));
	blas->dsyevd("V", "U", &side, a, &side, values, work, &size, integers, &integer_size,
	             &info, 1, 1);
	st = explain_lapack("eigenvalues", n, n, info);
done:
	inv_free(work);
	inv_free(integers);
	return st;
}

/* ---- Thin sides ------------------------------------------------------------------- */

enum { WORK_COLUMNS = 64 }; /* of LAPACK's blocks */

/*
 * A row-major A [n, d] is LAPACK's A^T = Q T, T [n, n] upper triangular. Hence
 *
 *     A^T B = Q_a (T_a T_b^T) Q_b^T = Q_a (U S V^T) Q_b^T
 *     R     = Q_a [U V^T, 0; 0, I] Q_b^T
 */
invar_status inv_procrustes_thin(const invar_context *ctx, size_t n, size_t d, double *a,
                                 double *b, double *R)
{
	const inv_dgemm_spec core_of = {n, n, n, .transpose_b = true},
						 rotation = {n, n, n, .add = false};
	const inv_openblas *blas = inv_openblas_get();
	/* Columns of LAPACK's blocks, and dormqr's own triangle. */
	int rows = (int)d, cols = (int)n, work_size = rows * WORK_COLUMNS + 65 * 64, info;
	double *sides[2] = {a, b}, *tau[2], *triangle[2]; /* tau [n]: of the reflectors */
	double *core, *u, *vt, *sigma, *work;             /* [n, n], sigma [n] */
	inv_arena arena = {0};
	invar_status st;

	INV_TRY(check_size(n, d));
	INV_TRY(inv_openblas_need(ctx->threads));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++) {
			tau[i] = inv_arena_take(&arena, n, sizeof(double));
			triangle[i] = inv_arena_take(&arena, n * n, sizeof(double));
		}
		core = inv_arena_take(&arena, n * n, sizeof(double));
		u = inv_arena_take(&arena, n * n, sizeof(double));
		vt = inv_arena_take(&arena, n * n, sizeof(double));
		sigma = inv_arena_take(&arena, n, sizeof(double));
		work = inv_arena_take(&arena, (size_t)work_size, sizeof(double));
		if (!round)
			INV_TRY(inv_arena_commit(&arena));
	}

	/* Leaves Q in a and b; T is row-major, with zeros below its diagonal. */
	for (int i = 0; i < 2; i++) {
		blas->dgeqrf(&rows, &cols, sides[i], &rows, tau[i], work, &work_size, &info);
		for (size_t j = 0; j < n; j++)
			for (size_t l = 0; l < n; l++)
				triangle[i][j * n + l] = j <= l ? sides[i][l * d + j] : 0;
	}
	inv_dgemm_tiled(ctx, &core_of, triangle[0], triangle[1], core);
	INV_TRY_OR(done, inv_svd(n, n, core, u, sigma, vt));
	inv_dgemm_tiled(ctx, &rotation, u, vt, core);
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++)
			R[i * d + j] = i < n && j < n ? core[i * n + j] : i == j;
	/* Row-major R is column-major R^T = Q_b [V U^T, 0; 0, I] Q_a^T. */
	blas->dormqr("L", "N", &rows, &rows, &cols, b, &rows, tau[1], R, &rows, work,
	             &work_size, &info, 1, 1);
	blas->dormqr("R", "T", &rows, &rows, &cols, a, &rows, tau[0], R, &rows, work,
	             &work_size, &info, 1, 1);
done:
	inv_arena_free(&arena);
	return st;
}

/* ---- Solving ----------------------------------------------------------------------- */

/*
 * A large G is factored block by block: the block on the diagonal by LAPACK on one
 * thread, the rows below it and their update of the rest of G in tiles. So most of the work
 * is products on all threads, and its bits depend on the size alone.
 */
typedef struct factor_job {
	size_t n, from, rows; /* the block on the diagonal: rows from … from + rows */
	double *g;
} factor_job;

/* The first row of a tile below the block, and its rows. */
static size_t tile_below(const factor_job *j, size_t tile, size_t *rows)
{
	size_t first = j->from + j->rows + tile * TILE;

	*rows = j->n - first < TILE ? j->n - first : TILE;
	return first;
}

/* L_ik = G_ik L_kk^-T */
static void divide_rows(void *user, size_t tile, unsigned thread)
{
	const factor_job *j = user;
	size_t rows, first = tile_below(j, tile, &rows);

	(void)thread;
	inv_openblas_get()->dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans,
	                          CblasNonUnit, (int)rows, (int)j->rows, 1,
	                          j->g + j->from * j->n + j->from, (int)j->n,
	                          j->g + first * j->n + j->from, (int)j->n);
}

/* G_ij -= L_ik L_jk^T for all tiles j up to the diagonal. */
static void take_from_rows(void *user, size_t tile, unsigned thread)
{
	const factor_job *j = user;
	size_t rows, first = tile_below(j, tile, &rows), begin = j->from + j->rows;

	(void)thread;
	inv_openblas_get()->dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows,
	                          (int)(first + rows - begin), (int)j->rows, -1,
	                          j->g + first * j->n + j->from, (int)j->n,
	                          j->g + begin * j->n + j->from, (int)j->n, 1,
	                          j->g + first * j->n + begin, (int)j->n);
}

typedef struct solve_job {
	size_t n, r;
	const double *factor;
	double *c;
} solve_job;

/* L (L^T X) = C for some columns of C. */
static void solve_columns(void *user, size_t tile, unsigned thread)
{
	const solve_job *j = user;
	size_t col = tile * TILE, cols = j->r - col < TILE ? j->r - col : TILE;
	const inv_openblas *blas = inv_openblas_get();

	(void)thread;
	blas->dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)j->n,
	            (int)cols, 1, j->factor, (int)j->n, j->c + col, (int)j->r);
	blas->dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)j->n,
	            (int)cols, 1, j->factor, (int)j->n, j->c + col, (int)j->r);
}

invar_status inv_cholesky_solve(const invar_context *ctx, size_t n, size_t r, double *g,
                                double *c)
{
	solve_job solve = {n, r, g, c};
	int side = (int)n, info = 0;

	INV_TRY(check_size(n, r));
	if (!n)
		return INVAR_OK;
	INV_TRY(inv_openblas_need(ctx->threads));
	/* L, to the lower triangle of g: LAPACK's upper one, as that is column-major. */
	for (size_t from = 0; from < n && info == 0; from += FACTOR) {
		factor_job j = {n, from, n - from < FACTOR ? n - from : FACTOR, g};
		size_t tiles = inv_blocks(n - from - j.rows, TILE);
		int rows = (int)j.rows;

		inv_openblas_get()->dpotrf("U", &rows, g + from * n + from, &side, &info, 1);
		inv_parallel(ctx, tiles, divide_rows, &j);
		inv_parallel(ctx, tiles, take_from_rows, &j);
	}
	/* OpenBLAS would propagate a NaN and report success. */
	for (size_t i = 0; i < n && info == 0; i++)
		for (size_t j = 0; j <= i; j++)
			info |= isnan(g[i * n + j]) != 0;
	if (info != 0)
		return inv_fail(INVAR_E_NUMERIC, "a %zu x %zu matrix is not positive definite", n,
		                n);
	inv_parallel(ctx, inv_blocks(r, TILE), solve_columns, &solve);
	return INVAR_OK;
}
