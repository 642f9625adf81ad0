/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openblas.h - OpenBLAS, loaded on first use.
 *
 * It is not linked: a linked OpenBLAS starts a thread per core before main, and if its
 * memory cannot be mapped it retries forever, in a process that may never multiply a
 * matrix. Here it is loaded by the first call that needs it, without its own threads, and
 * its memory is reserved at once, so that a lack of memory is reported instead.
 *
 * A library is shared by the whole process, and so is its number of threads, which is kept
 * at 1: the threads are ours. invar.h says so. LAPACK is the one inside OpenBLAS.
 *
 * A wheel brings its own copy under a name that nobody else uses (-Dbundled=true), so that
 * NumPy's OpenBLAS keeps its threads. dlopen finds it by the library's own search path.
 */
#ifndef INV_OPENBLAS_H
#define INV_OPENBLAS_H

#include <cblas.h>

#include "base/context.h"

/* LAPACK, called as in Fortran: every argument is an address. */
typedef void inv_dgesdd_fn(const char *job, const int *m, const int *n, double *a,
                           const int *lda, double *s, double *u, const int *ldu, double *vt,
                           const int *ldvt, double *work, const int *lwork, int *iwork,
                           int *info, size_t job_length);
typedef void inv_dgesvd_fn(const char *job_u, const char *job_vt, const int *m,
                           const int *n, double *a, const int *lda, double *s, double *u,
                           const int *ldu, double *vt, const int *ldvt, double *work,
                           const int *lwork, int *info, size_t job_u_length,
                           size_t job_vt_length);
typedef void inv_dgeqrf_fn(const int *m, const int *n, double *a, const int *lda,
                           double *tau, double *work, const int *lwork, int *info);
typedef void inv_dormqr_fn(const char *side, const char *transpose, const int *m,
                           const int *n, const int *k, const double *a, const int *lda,
                           const double *tau, double *c, const int *ldc, double *work,
                           const int *lwork, int *info, size_t side_length,
                           size_t transpose_length);
typedef void inv_dpotrf_fn(const char *triangle, const int *n, double *a, const int *lda,
                           int *info, size_t triangle_length);
typedef void inv_dsyevd_fn(const char *job, const char *triangle, const int *n, double *a,
                           const int *lda, double *values, double *work, const int *lwork,
                           int *iwork, const int *liwork, int *info, size_t job_length,
                           size_t triangle_length);
typedef void inv_sgeqrf_fn(const int *m, const int *n, float *a, const int *lda, float *tau,
                           float *work, const int *lwork, int *info);
typedef void inv_sorgqr_fn(const int *m, const int *n, const int *k, float *a,
                           const int *lda, const float *tau, float *work, const int *lwork,
                           int *info);

typedef struct inv_openblas {
	__typeof__(cblas_sgemm) *sgemm;
	__typeof__(cblas_dgemm) *dgemm;
	__typeof__(cblas_dtrsm) *dtrsm;
	inv_dgesdd_fn *dgesdd;
	inv_dgesvd_fn *dgesvd;
	inv_dgeqrf_fn *dgeqrf;
	inv_dormqr_fn *dormqr;
	inv_dpotrf_fn *dpotrf;
	inv_dsyevd_fn *dsyevd;
	inv_sgeqrf_fn *sgeqrf;
	inv_sorgqr_fn *sorgqr;
	__typeof__(openblas_get_config) *config;
	__typeof__(openblas_get_num_threads) *get_threads;
	__typeof__(openblas_set_num_threads) *set_threads;
	/* Its internal buffers; NULL if a version does not export these functions. */
	void *(*take_buffer)(int);
	void (*give_buffer)(void *);
} inv_openblas;

/*
 * Call before any use, on any thread: reserves memory for `threads` threads at once, or
 * limits loops to fewer threads from then on (inv_threads_limit). INVAR_E_NOMEM if there
 * is not enough for one. Cheap once it has succeeded.
 */
invar_status inv_openblas_need(unsigned threads);

/* For products, which INVAR_CPU=ref computes without it. */
invar_status inv_openblas_need_for(const invar_context *ctx);

/* After inv_openblas_need has succeeded. */
const inv_openblas *inv_openblas_get(void);

/* Loads another library that calls BLAS, without starting threads; NULL: see dlerror. */
void *inv_openblas_load(const char *name);

#endif
