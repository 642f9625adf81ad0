/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idx.h - the idx files of MNIST, plain or compressed by gzip.
 *
 * Invariants of what is accepted:
 *   1. Two zero bytes, type 8 (uint8; the message names other types), 1 to 3
 *      dimensions, each a big-endian uint32 above 0.
 *   2. Their product neither overflows nor differs from the bytes that follow.
 *   3. A gzip stream has one member with a correct checksum and nothing after it; before
 *      memory is allocated, the size in its header is checked against the maximum that
 *      deflate can produce from its bytes.
 */
#ifndef INV_IDX_H
#define INV_IDX_H

#include "base/file.h"

enum { INV_IDX_NDIM = 3 };

typedef struct inv_idx {
	char *path;
	unsigned ndim;
	uint64_t shape[INV_IDX_NDIM]; /* 1 beyond ndim */
	uint64_t cells;
	const uint8_t *data; /* row-major; views the map or `owned` */
	inv_map map;
	uint8_t *owned; /* what was unpacked */
} inv_idx;

invar_status inv_idx_open(const char *path, inv_idx **out);
/* The same from memory, which must outlive it. */
invar_status inv_idx_view(const uint8_t *bytes, uint64_t size, const char *name,
                          inv_idx **out);
void inv_idx_close(inv_idx *x); /* accepts NULL */

#endif
