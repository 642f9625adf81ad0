/* SPDX-License-Identifier: Apache-2.0 */
/* structure.h - how close E is to an isometry (Eq. 34 to 39). */
#ifndef INV_STRUCTURE_H
#define INV_STRUCTURE_H

#include "base/context.h"

/* Plain loops in double; what the fast path is tested against. */
void inv_structure_ref(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                       invar_structure_result *out);

#endif
