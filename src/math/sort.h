/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.h - sorting many equally long rows of projections.
 *
 * Short rows are sorted INV_SLICES at a time by a bitonic network (kernels
 * join_keys, sort_keys), value and row together in one double. Long rows of
 * values alone are sorted one at a time by radix.
 */
#ifndef INV_SORT_H
#define INV_SORT_H

#include <stddef.h>
#include <stdint.h>

/* From this many values on radix sort is faster than the network. */
enum { INV_SORT_LONG = 32768 };

/* The rows that sort_keys needs space for: the next power of two, at least 8. */
static inline size_t inv_sort_room(size_t n)
{
	size_t padded = 8;

	while (padded < n)
		padded *= 2;
	return padded;
}

/* Ascending; NaNs end up at either end. scratch has space for n. */
void inv_sort_floats(float *x, size_t n, float *scratch);

#endif
