/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h - one tile of a product as a oneDNN primitive, for matmul.c only. */
#ifndef INV_ONEDNN_H
#define INV_ONEDNN_H

#include "math/matmul.h"

typedef struct inv_onednn inv_onednn;

/* False for a oneDNN whose threads are not OpenMP's. If it cannot be loaded, which the
 * calls below report, true. */
bool inv_onednn_usable(void);

/* A tile [s->m, s->n, s->k] of matrices whose rows are lda, ldb, ldc floats apart. */
invar_status inv_onednn_new(const inv_matmul_spec *s, size_t lda, size_t ldb, size_t ldc,
                            inv_onednn **out);
/* On the calling thread, inside a parallel loop or not. Does not allocate. */
invar_status inv_onednn_run(inv_onednn *p, const float *a, const float *b,
                            const float *bias, float *c);
void inv_onednn_free(inv_onednn *p);

invar_status inv_onednn_version(int *major, int *minor, int *patch);

#endif
