/* SPDX-License-Identifier: Apache-2.0 */
/* structure.h - how close E is to an isometry (Eq. 34 to 39). */
#ifndef INV_STRUCTURE_H
#define INV_STRUCTURE_H

#include "base/context.h"

typedef struct inv_structure {
	uint64_t pairs; /* counted, without the zero ones */
	uint64_t zero_pairs;
	double l1, l2;   /* min and max of e/d */
	double m, b, r2; /* least squares line e = m d + b */
	double rmsd, nrmsd, cvrmsd;
} inv_structure;

/* x is [n, d], e is [n, w]: the same points before and after E. */
invar_status inv_structure_measure(const invar_context *ctx, const float *x, uint32_t d,
                                   const float *e, uint32_t w, uint64_t n,
                                   inv_structure *out);

/* The same, but all figures are NaN if the rows have no structure, as equal ones. */
invar_status inv_structure_try(const invar_context *ctx, const float *x, uint32_t d,
                               const float *e, uint32_t w, uint64_t n, inv_structure *out);

enum { INV_STRUCTURE_SHOWN = 2500 }; /* pairs in a picture, which looks as that of all */
/*
 * The paper's picture of structure: distances after E over distances before it, of pairs
 * spread evenly over all, with the line of s and y = x.
 */
invar_status inv_structure_show(invar_results *r, const char *column, const float *x,
                                uint32_t d, const float *e, uint32_t w, uint64_t n,
                                const inv_structure *s);

#endif
