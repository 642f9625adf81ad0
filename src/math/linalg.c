/*
 * linalg.c - double products, SVD and Cholesky through CBLAS and LAPACKE.
 *
 * LAPACK counts columns first. Where that is only a matter of names, the same
 * memory is handed over and the roles are swapped: a row-major A is LAPACK's
 * A^T, so its left singular vectors are our right ones, already transposed.
 * Nothing is copied into the other order.
 */
#include "math/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <string.h>

#include "base/threads.h"
#include "math/matmul.h"

enum {
	TILE = 128,    /* rows, or columns of a right-hand side, per block of work */
	WIDEST = 16384 /* LAPACK's sizes of work space are 32-bit integers */
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

/* Rows `row` to `row + rows` of C, up to the diagonal where C is symmetric. */
static void run_rows(const inv_dgemm_spec *s, size_t row, size_t rows, const double *a,
                     const double *b, double *c)
{
	size_t lda = lda_of(s), cols = s->n;

	if (s->lower && row + rows < cols)
		cols = row + rows;
	if (rows && cols)
		cblas_dgemm(CblasRowMajor, s->transpose_a ? CblasTrans : CblasNoTrans,
		            s->transpose_b ? CblasTrans : CblasNoTrans, (int)rows, (int)cols,
		            (int)s->k, 1, a + row * (s->transpose_a ? 1 : lda), (int)lda, b,
		            (int)ldb_of(s), s->add, c + row * s->n, (int)s->n);
}

void inv_dgemm(const invar_context *ctx, const inv_dgemm_spec *s, const double *a,
               const double *b, double *c)
{
	inv_openblas_on_one_thread();
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
	inv_openblas_on_one_thread();
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

static bool is_no_memory(lapack_int info)
{
	return info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR;
}

invar_status inv_svd(size_t m, size_t n, double *a, double *u, double *sigma, double *vt)
{
	size_t k = m < n ? m : n;
	invar_status st = check_size(m, n);
	lapack_int info;

	if (st != INVAR_OK || !k)
		return st;
	inv_openblas_on_one_thread();
	info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', (lapack_int)n, (lapack_int)m, a,
	                      (lapack_int)n, sigma, vt, (lapack_int)n, u, (lapack_int)k);
	if (info == 0)
		return INVAR_OK;
	if (is_no_memory(info))
		return inv_fail(INVAR_E_NOMEM, "no memory for the SVD of a %zu x %zu matrix", m, n);
	return inv_fail(INVAR_E_NUMERIC, "the SVD of a %zu x %zu matrix %s", m, n,
	                info > 0 ? "did not converge" : "met a NaN");
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

	(void)thread;
	cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)j->n,
	            (int)cols, 1, j->factor, (int)j->n, j->c + col, (int)j->r);
	cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)j->n,
	            (int)cols, 1, j->factor, (int)j->n, j->c + col, (int)j->r);
}

invar_status inv_cholesky_solve(const invar_context *ctx, size_t n, size_t r, double *g,
                                double *c)
{
	solve_job j = {n, r, g, c};
	invar_status st = check_size(n, r);
	lapack_int info;

	if (st != INVAR_OK || !n)
		return st;
	inv_openblas_on_one_thread();
	/* LAPACK's upper triangle, columns first, is our lower one. */
	info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', (lapack_int)n, g, (lapack_int)n);
	if (info != 0)
		return inv_fail(INVAR_E_NUMERIC, "a %zu x %zu matrix is not positive definite", n,
		                n);
	inv_parallel(ctx, inv_blocks(r, TILE), solve_columns, &j);
	return INVAR_OK;
}
