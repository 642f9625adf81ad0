/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_pass.h - one pass over the images of a split, which fills several arrays.
 *
 * Rows are written to their places in the arrays' part files as they come. Now and then
 * they are flushed, and then the complete blocks of rows are marked in the map
 * (block_map.h). Marked blocks are not encoded again.
 */
#ifndef INV_ENCODE_PASS_H
#define INV_ENCODE_PASS_H

#include "bank/block_map.h"
#include "bank/fingerprints.h"
#include "bank/write.h"
#include "encode/pipeline.h"

/* An array that the pass fills; in the map its number is copy + 1. */
typedef struct inv_pass_array {
	int32_t copy; /* or INVAR_CLEAN */
	inv_rows *rows;
	inv_rows *beside; /* parameters of a copy, fingerprints of clean rows; NULL: none */
} inv_pass_array;

/*
 * Images that cannot be read have no row, so the rows after them move up. `keep` saves
 * which ones those are; blocks after them are marked only then.
 */
typedef struct inv_lost {
	uint64_t *row; /* owned; places among the images of the pass, in order */
	size_t count, capacity, kept;
	invar_status (*keep)(void *user, const struct inv_lost *lost);
	void *user;
} inv_lost;

typedef struct inv_pass {
	inv_encoding *of;
	inv_pipeline *walk;
	const inv_images *images; /* the rows, all of which can be read unless ... */
	inv_lost *lost;           /* ... some are lost; NULL: that is an error */
	const inv_npy *known;     /* their fingerprints, which must match; NULL: not checked */
	inv_block_map *map;
	inv_pass_array array[INV_WALK_ARRAYS];
	size_t arrays;
	bool views; /* the arrays are views: [INV_ROTATED, width] per row, nothing beside */
	const char *stage;
	uint64_t done, total; /* images encoded, for the progress over all passes */
	uint64_t encoded;     /* of them by this program */
	/* If other ranks fill the same arrays, this one has a share of the missing blocks. */
	unsigned rank, ranks; /* 0 ranks: this program alone */
} inv_pass;

/*
 * Writes every missing row, but leaves finishing the arrays to the caller. Blocks that were
 * complete when it failed are marked.
 */
invar_status inv_pass_run(inv_pass *p);

/* The blocks of some rows. */
uint64_t inv_pass_blocks(uint64_t rows);

/* The shapes of the arrays of a pass, and of the array beside one of them. */
inv_rows_shape inv_pass_shape(const inv_pass *p, uint64_t rows);
inv_rows_shape inv_pass_shape_beside(const inv_encoding *of, int32_t copy, uint64_t rows);

#endif
