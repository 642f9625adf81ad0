/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_pass.h - one walk over the images of a split, which fills several arrays.
 *
 * Rows go to their places in the arrays' part files as they come. Once in a while what
 * was put is flushed, and then the blocks of rows that are complete are marked in the
 * map (block_map.h). What is marked already is not encoded again.
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

typedef struct inv_pass {
	inv_encoding *of;
	inv_pipeline *walk;
	const inv_images *images; /* the rows, all of which can be read */
	const inv_npy *known;     /* their fingerprints, which must come out; NULL: any do */
	inv_block_map *map;
	inv_pass_array array[INV_WALK_ARRAYS];
	size_t arrays;
	const char *stage;
	uint64_t done, total; /* images encoded, for the progress over all passes */
	uint64_t encoded;     /* of them by this program */
} inv_pass;

/*
 * Puts every row that is missing, but leaves finishing the arrays to the caller. What
 * was complete when it fails is marked.
 */
invar_status inv_pass_run(inv_pass *p);

#endif
