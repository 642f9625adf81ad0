/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.h - C = op(A) op(B), with bias and ReLU fused.
 *
 * A plan cuts the product into tiles, each computed on one thread. With AVX2 or NEON our
 * own kernels compute a tile (packed.h), which sum every number of C in the same order
 * however it is cut. Elsewhere, and for products too small to be worth packing, OpenBLAS
 * does; its order depends on the shape of a tile, so the cut depends on the machine's cores
 * and not on the number of running threads. Either way the bits of a result do not depend
 * on the number of threads.
 *
 * A plan is made once and run many times without allocating; it belongs to one
 * thread at a time. inv_gemm is the one-shot call on the calling thread only.
 * inv_matmul_ref is the plain triple loop that both are tested against, and
 * what runs under INVAR_CPU=ref.
 */
#ifndef INV_MATMUL_H
#define INV_MATMUL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

/* All matrices are dense and row-major: C [m, n], op(A) [m, k], op(B) [k, n]. */
typedef struct inv_matmul_spec {
	size_t m, n, k;
	bool transpose_a; /* A is stored [k, m] */
	bool transpose_b; /* B is stored [n, k], as a Linear layer's weight is */
	bool bias;        /* adds bias[n] to every row */
	bool relu;        /* then max(0, .); a plan may turn NaN into 0 */
	bool add;         /* to what C was before, before ReLU */
} inv_matmul_spec;

typedef struct inv_matmul inv_matmul;

/*
 * Do our own kernels compute it? Then some of its rows or columns have the same bits as in
 * the whole product, if our own kernels compute those as well.
 */
bool inv_matmul_is_packed(const invar_context *ctx, const inv_matmul_spec *spec);

invar_status inv_matmul_new(const invar_context *ctx, const inv_matmul_spec *spec,
                            inv_matmul **out);
/* bias may be NULL if the spec has none. */
invar_status inv_matmul_run(inv_matmul *p, const float *a, const float *b,
                            const float *bias, float *c);

/*
 * C = 0 where mask [m, n] is not above 0, for the gradient of a ReLU; then sums[n] += its
 * rows, in order.
 */
invar_status inv_matmul_run_masked(inv_matmul *p, const float *a, const float *b,
                                   const float *mask, float *c, float *sums);

/* Gets a part of C, whose rows are `stride` floats apart and which is not kept. */
typedef void inv_part_fn(void *user, const float *part, size_t stride, size_t row,
                         size_t rows, size_t col, size_t cols);

/* Of a product without bias and ReLU; c [m, n] may be used as scratch. */
invar_status inv_matmul_run_parts(inv_matmul *p, const float *a, const float *b, float *c,
                                  inv_part_fn *take, void *user);

/* Bytes of scratch memory. */
size_t inv_matmul_memory(const inv_matmul *p);
/*
 * Plans that are never run at the same time share the scratch memory of the one that has
 * most; NULLs among them are left out. Free all of them together.
 */
void inv_matmul_share(inv_matmul *const *plans, size_t count);
void inv_matmul_free(inv_matmul *p);

/*
 * On the calling thread only; safe from as many threads at once as the context has. Call
 * inv_openblas_need_for(ctx) first, as a product reports no failures.
 */
void inv_gemm(const invar_context *ctx, const inv_matmul_spec *spec, const float *a,
              const float *b, const float *bias, float *c);

void inv_matmul_ref(const inv_matmul_spec *spec, const float *a, const float *b,
                    const float *bias, float *c);

/* "own panels, OpenBLAS 0.3.21", as loaded; for run.json. */
void inv_matmul_version(char *text, size_t bytes);

#endif
