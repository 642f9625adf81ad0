/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - the number types in files, and their conversion to float. */
#ifndef INV_DTYPE_H
#define INV_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum inv_dtype {
	INV_F16,
	INV_BF16,
	INV_F32,
	INV_F64,
	INV_I8,
	INV_I16,
	INV_I32,
	INV_I64,
	INV_U8,
	INV_U16,
	INV_U32,
	INV_U64
} inv_dtype;

size_t inv_dtype_size(inv_dtype t);
const char *inv_dtype_name(inv_dtype t); /* "float16", "int64" */
bool inv_dtype_is_integer(inv_dtype t);

float inv_half_to_float(uint16_t h);
uint16_t inv_float_to_half(float f); /* round to nearest even, as NumPy does */

/*
 * count numbers of type t at `from` (any alignment, `swap` for the other byte
 * order), as float or as int64. To int64 only integer types convert; a uint64
 * above INT64_MAX makes it return false.
 */
void inv_widen(inv_dtype t, bool swap, const void *from, size_t count, float *to);
bool inv_widen_int(inv_dtype t, bool swap, const void *from, size_t count, int64_t *to);

/* ---- Tensors that need not be dense, the last axis fastest ------------------------ */

enum { INV_STRIDES_NDIM = 8 };

/* Strides count elements; of an axis of one element they say nothing. */
bool inv_is_dense(unsigned ndim, const uint64_t *shape, const int64_t *stride);

typedef struct inv_cell {
	uint64_t at[INV_STRIDES_NDIM];
	int64_t offset; /* from the first element, in elements */
} inv_cell;

/* Begin with a cell that is zero. */
void inv_next_cell(unsigned ndim, const uint64_t *shape, const int64_t *stride,
                   inv_cell *c);

#endif
