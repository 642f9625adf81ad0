/* SPDX-License-Identifier: Apache-2.0 */
/* strides.h - walking a tensor that need not be dense, the last axis fastest. */
#ifndef INV_STRIDES_H
#define INV_STRIDES_H

#include <stdbool.h>
#include <stdint.h>

enum { INV_STRIDES_RANK = 8 };

/* Strides count elements; of an axis of one element they say nothing. */
bool inv_is_dense(unsigned rank, const uint64_t *shape, const int64_t *stride);

typedef struct inv_cell {
	uint64_t at[INV_STRIDES_RANK];
	int64_t offset; /* from the first element, in elements */
} inv_cell;

/* Begin with a cell that is zero. */
void inv_next_cell(unsigned rank, const uint64_t *shape, const int64_t *stride,
                   inv_cell *c);

#endif
