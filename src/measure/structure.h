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

enum {
	INV_STRUCTURE_SHOWN = 2500
}; /* pairs: a density of these and one of all look the same */

/* Adds a scatter of distances before and after E, with the line of s. */
invar_status inv_structure_show(invar_results *r, const char *column, const float *x,
                                uint32_t d, const float *e, uint32_t w, uint64_t n,
                                const inv_structure *s);

/* Plain loops in double; what the fast path is tested against. */
void inv_structure_ref(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                       inv_structure *out);

#endif
