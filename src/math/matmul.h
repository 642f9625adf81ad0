/*
 * matmul.h - C = op(A) op(B), with bias and ReLU fused, on oneDNN.
 *
 * This is the only place that knows oneDNN (2.6 and 3.x). A plan holds one
 * primitive for one shape and is run many times without allocating; a plan
 * belongs to one thread at a time. inv_gemm is the one-shot call, safe from
 * any thread. inv_matmul_ref is the plain triple loop that both are tested
 * against, and what runs under INVAR_CPU=ref.
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
	bool relu;        /* then max(0, .) */
} inv_matmul_spec;

typedef struct inv_matmul inv_matmul;

invar_status inv_matmul_new(const invar_context *ctx, const inv_matmul_spec *spec,
                            inv_matmul **out);
/* bias may be NULL where the spec has none. */
invar_status inv_matmul_run(inv_matmul *p, const float *a, const float *b,
                            const float *bias, float *c);
void inv_matmul_free(inv_matmul *p);

invar_status inv_gemm(const invar_context *ctx, const inv_matmul_spec *spec, const float *a,
                      const float *b, const float *bias, float *c);

void inv_matmul_ref(const inv_matmul_spec *spec, const float *a, const float *b,
                    const float *bias, float *c);

/* "oneDNN 2.6.3", of the library that is linked; for run.json. */
void inv_matmul_version(char *text, size_t bytes);

#endif
