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

static size_t lda_of(const inv_dgemm_spec *s)
{
	return s->transpose_a ? s->m : s->k;
}

static size_t ldb_of(const inv_dgemm_spec *s)
{
	return s->transpose_b ? s->k : s->n;
}

void inv_dgemm_ref(const inv_dgemm_spec *s, const double *a, const double *b, double *c)
{
	size_t lda = lda_of(s), ldb = ldb_of(s);

	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			double sum = 0;

			for (size_t l = 0; l < s->k; l++)
				sum += (s->transpose_a ? a[l * lda + i] : a[i * lda + l]) *
				       (s->transpose_b ? b[j * ldb + l] : b[l * ldb + j]);
			c[i * s->n + j] = s->add ? c[i * s->n + j] + sum : sum;
		}
}

/* Rows `row` to `row + rows` of C, up to the diagonal if C is symmetric. */
static void run_rows(const inv_dgemm_spec *s, size_t row, size_t rows, const double *a,
                     const double *b, double *c)
{
	size_t lda = lda_of(s), cols = s->n;

	if (s->lower && row + rows < cols)
		cols = row + rows;
	if (rows && cols)
		inv_openblas_get()->dgemm(CblasRowMajor, s->transpose_a ? CblasTrans : CblasNoTrans,
		                          s->transpose_b ? CblasTrans : CblasNoTrans, (int)rows,
		                          (int)cols, (int)s->k, 1,
		                          a + row * (s->transpose_a ? 1 : lda), (int)lda, b,
		                          (int)ldb_of(s), s->add, c + row * s->n, (int)s->n);
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

enum { NO_MEMORY = -1000 }; /* beside LAPACK's own values of info */

/* Column-major: our [n, m] is its [m, n]. With a size of -1 it returns the work size. */
static int divide_and_conquer(int m, int n, double *a, double *u, double *sigma, double *vt)
{
	int k = m < n ? m : n, ask = -1, size, info;
	inv_dgesdd_fn *dgesdd = inv_openblas_get()->dgesdd;
	int *integers = inv_alloc(8 * (size_t)k * sizeof *integers);
	double best, *work;

	dgesdd("S", &m, &n, a, &m, sigma, u, &m, vt, &k, &best, &ask, integers, &info, 1);
	size = (int)best;
	work = inv_alloc((size_t)size * sizeof *work);
	info = NO_MEMORY;
	if (work && integers)
		dgesdd("S", &m, &n, a, &m, sigma, u, &m, vt, &k, work, &size, integers, &info, 1);
	inv_free(work);
	inv_free(integers);
	return info;
}

/* Slower, but converges where the other does not. */
static int iterate_qr(int m, int n, double *a, double *u, double *sigma, double *vt)
{
	int k = m < n ? m : n, ask = -1, size, info;
	inv_dgesvd_fn *dgesvd = inv_openblas_get()->dgesvd;
	double best, *work;

	dgesvd("S", "S", &m, &n, a, &m, sigma, u, &m, vt, &k, &best, &ask, &info, 1, 1);
	size = (int)best;
	work = inv_alloc((size_t)size * sizeof *work);
	info = NO_MEMORY;
	if (work)
		dgesvd("S", "S", &m, &n, a, &m, sigma, u, &m, vt, &k, work, &size, &info, 1, 1);
	inv_free(work);
	return info;
}

static int run_svd(int m, int n, double *a, double *u, double *sigma, double *vt)
{
	size_t bytes = (size_t)m * (size_t)n * sizeof *a;
	double *copy = inv_alloc(bytes);
	int info = NO_MEMORY;

	if (copy) {
		memcpy(copy, a, bytes);
		info = divide_and_conquer(m, n, a, u, sigma, vt);
	}
	if (info > 0) /* dgesdd gave up, as on some matrices of low rank */
		info = iterate_qr(m, n, copy, u, sigma, vt);
	inv_free(copy);
	return info;
}

invar_status inv_svd(size_t m, size_t n, double *a, double *u, double *sigma, double *vt)
{
	size_t k = m < n ? m : n;
	invar_status st = check_size(m, n);
	int info;

	if (st != INVAR_OK || !k || (st = inv_openblas_need(1)) != INVAR_OK)
		return st;
	inv_test_stop("svd");
	info = run_svd((int)n, (int)m, a, vt, sigma, u);
	if (info == 0)
		return INVAR_OK;
	if (info == NO_MEMORY)
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for the SVD of a %zu x %zu matrix", m, n);
	return inv_fail(INVAR_E_NUMERIC, "the SVD of a %zu x %zu matrix %s", m, n,
	                info > 0 ? "did not converge" : "met a NaN");
}

/* ---- Symmetric matrices ---------------------------------------------------------- */

/* With sizes of -1, LAPACK returns the best work size. */
static int run_eigen(int n, double *a, double *values)
{
	int ask = -1, size, integer_size, info;
	inv_dsyevd_fn *dsyevd = inv_openblas_get()->dsyevd;
	double best, *work;
	int *integers;

	dsyevd("V", "U", &n, a, &n, values, &best, &ask, &integer_size, &ask, &info, 1, 1);
	size = (int)best;
	work = inv_alloc((size_t)size * sizeof *work);
	integers = inv_alloc((size_t)integer_size * sizeof *integers);
	info = NO_MEMORY;
	if (work && integers)
		dsyevd("V", "U", &n, a, &n, values, work, &size, integers, &integer_size, &info, 1,
		       1);
	inv_free(work);
	inv_free(integers);
	return info;
}

invar_status inv_eigen_symmetric(size_t n, double *a, double *values)
{
	invar_status st = check_size(n, n);
	int info;

	if (st != INVAR_OK || !n || (st = inv_openblas_need(1)) != INVAR_OK)
		return st;
	inv_test_stop("eigen");
	info = run_eigen((int)n, a, values);
	if (info == 0)
		return INVAR_OK;
	if (info == NO_MEMORY)
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for the eigenvalues of a %zu x %zu matrix", n,
		                n);
	return inv_fail(INVAR_E_NUMERIC, "the eigenvalues of a %zu x %zu matrix %s", n, n,
	                info > 0 ? "did not converge" : "met a NaN");
}

/* ---- Thin sides ------------------------------------------------------------------- */

/*
 * A row-major A [n, d] is LAPACK's A^T = Q T, T [n, n] upper triangular. Hence
 *
 *     A^T B = Q_a (T_a T_b^T) Q_b^T = Q_a (U S V^T) Q_b^T
 *     R     = Q_a [U V^T, 0; 0, I] Q_b^T
 */
typedef struct thin {
	const invar_context *ctx;
	int n, d, work_size;
	double *a, *b;                             /* become Q and T */
	double *tau_a, *tau_b;                     /* [n]: factors of the reflectors */
	double *t_a, *t_b, *core, *u, *vt, *sigma; /* [n, n], sigma [n] */
	double *work;                              /* [work_size] */
} thin;

enum { WORK_COLUMNS = 64 }; /* of LAPACK's blocks */

static void plan_thin(thin *t, inv_arena *arena)
{
	size_t n = (size_t)t->n, square = n * n;

	t->work_size = t->d * WORK_COLUMNS + 65 * 64; /* and dormqr's own triangle */
	t->tau_a = inv_arena_take(arena, n, sizeof(double));
	t->tau_b = inv_arena_take(arena, n, sizeof(double));
	t->t_a = inv_arena_take(arena, square, sizeof(double));
	t->t_b = inv_arena_take(arena, square, sizeof(double));
	t->core = inv_arena_take(arena, square, sizeof(double));
	t->u = inv_arena_take(arena, square, sizeof(double));
	t->vt = inv_arena_take(arena, square, sizeof(double));
	t->sigma = inv_arena_take(arena, n, sizeof(double));
	t->work = inv_arena_take(arena, (size_t)t->work_size, sizeof(double));
}

/* Leaves Q in a; T, row-major and with zeros below its diagonal, in `triangle`. */
static void factor(const thin *t, double *a, double *tau, double *triangle)
{
	size_t n = (size_t)t->n, d = (size_t)t->d;
	int info;

	inv_openblas_get()->dgeqrf(&t->d, &t->n, a, &t->d, tau, t->work, &t->work_size, &info);
	for (size_t i = 0; i < n; i++)
		for (size_t l = 0; l < n; l++)
			triangle[i * n + l] = i <= l ? a[l * d + i] : 0;
}

/* x becomes op(Q) x or x op(Q), column-major. */
static void reflect(const thin *t, const char *side, const char *transpose, const double *q,
                    const double *tau, double *x)
{
	int info;

	inv_openblas_get()->dormqr(side, transpose, &t->d, &t->d, &t->n, q, &t->d, tau, x,
	                           &t->d, t->work, &t->work_size, &info, 1, 1);
}

static invar_status solve_thin(thin *t, double *R)
{
	size_t n = (size_t)t->n, d = (size_t)t->d;
	inv_dgemm_spec core = {n, n, n, .transpose_b = true},
				   rotation = {n, n, n, .add = false};
	invar_status st;

	factor(t, t->a, t->tau_a, t->t_a);
	factor(t, t->b, t->tau_b, t->t_b);
	inv_dgemm_tiled(t->ctx, &core, t->t_a, t->t_b, t->core);
	if ((st = inv_svd(n, n, t->core, t->u, t->sigma, t->vt)) != INVAR_OK)
		return st;
	inv_dgemm_tiled(t->ctx, &rotation, t->u, t->vt, t->core);
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++)
			R[i * d + j] = i < n && j < n ? t->core[i * n + j] : i == j;
	/* Row-major R is column-major R^T = Q_b [V U^T, 0; 0, I] Q_a^T. */
	reflect(t, "L", "N", t->b, t->tau_b, R);
	reflect(t, "R", "T", t->a, t->tau_a, R);
	return INVAR_OK;
}

invar_status inv_procrustes_thin(const invar_context *ctx, size_t n, size_t d, double *a,
                                 double *b, double *R)
{
	thin t = {.ctx = ctx, .n = (int)n, .d = (int)d, .a = a, .b = b};
	inv_arena arena = {0};
	invar_status st = check_size(n, d);

	if (st == INVAR_OK)
		st = inv_openblas_need(ctx->threads);
	if (st != INVAR_OK)
		return st;
	plan_thin(&t, &arena);
	if ((st = inv_arena_commit(&arena)) != INVAR_OK)
		return st;
	plan_thin(&t, &arena);
	st = solve_thin(&t, R);
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

/* Tiles of rows below the block. */
static size_t first_below(const factor_job *j, size_t tile)
{
	return j->from + j->rows + tile * TILE;
}

static size_t rows_below(const factor_job *j, size_t tile)
{
	size_t first = first_below(j, tile);

	return j->n - first < TILE ? j->n - first : TILE;
}

/* L_ik = G_ik L_kk^-T */
static void divide_rows(void *user, size_t tile, unsigned thread)
{
	const factor_job *j = user;

	(void)thread;
	inv_openblas_get()->dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans,
	                          CblasNonUnit, (int)rows_below(j, tile), (int)j->rows, 1,
	                          j->g + j->from * j->n + j->from, (int)j->n,
	                          j->g + first_below(j, tile) * j->n + j->from, (int)j->n);
}

/* G_ij -= L_ik L_jk^T for all tiles j up to the diagonal. */
static void take_from_rows(void *user, size_t tile, unsigned thread)
{
	const factor_job *j = user;
	size_t first = first_below(j, tile), rows = rows_below(j, tile);
	size_t begin = first_below(j, 0);

	(void)thread;
	inv_openblas_get()->dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows,
	                          (int)(first + rows - begin), (int)j->rows, -1,
	                          j->g + first * j->n + j->from, (int)j->n,
	                          j->g + begin * j->n + j->from, (int)j->n, 1,
	                          j->g + first * j->n + begin, (int)j->n);
}

/* Leaves L in the lower triangle of g; false if g is not positive definite. */
static bool factor_cholesky(const invar_context *ctx, size_t n, double *g)
{
	int side = (int)n, info = 0;

	for (size_t from = 0; from < n && info == 0; from += FACTOR) {
		factor_job j = {n, from, n - from < FACTOR ? n - from : FACTOR, g};
		size_t tiles = inv_blocks(n - from - j.rows, TILE);
		int rows = (int)j.rows;

		/* LAPACK's upper triangle, column-major, is our lower one. */
		inv_openblas_get()->dpotrf("U", &rows, g + from * n + from, &side, &info, 1);
		inv_parallel(ctx, tiles, divide_rows, &j);
		inv_parallel(ctx, tiles, take_from_rows, &j);
	}
	return info == 0;
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

/* OpenBLAS would propagate a NaN and report success. */
static bool lower_has_nan(const double *g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			if (isnan(g[i * n + j]))
				return true;
	return false;
}

invar_status inv_cholesky_solve(const invar_context *ctx, size_t n, size_t r, double *g,
                                double *c)
{
	solve_job j = {n, r, g, c};
	invar_status st = check_size(n, r);

	if (st != INVAR_OK || !n || (st = inv_openblas_need(ctx->threads)) != INVAR_OK)
		return st;
	if (!factor_cholesky(ctx, n, g) || lower_has_nan(g, n))
		return inv_fail(INVAR_E_NUMERIC, "a %zu x %zu matrix is not positive definite", n,
		                n);
	inv_parallel(ctx, inv_blocks(r, TILE), solve_columns, &j);
	return INVAR_OK;
}
