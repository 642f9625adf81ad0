/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_map.h - which blocks of the arrays of a split are finished, across interruptions.
 *
 * A split is encoded in blocks of 256 rows. SPLIT/done.part says for every array which of
 * its blocks are in its .part file; it exists while the split is unfinished. It is
 * text: a line that names the number of blocks, then a line for every array, clean rows
 * first and then the copies: what its rows belong to, by its SHA-256, and a 1 for every
 * finished block, a 0 for the others.
 *
 * Invariants:
 *   1. A 1 is written after the rows of its block were flushed to disk. So
 *      whatever ends the program, a block with a 1 is complete, and a partial one has a 0.
 *   2. Blocks count for rows that belong to the same: encoder, weights, preparation,
 *      SPEC, seed, images, labels. Anything else is an error, never mixed.
 *   3. One process at a time holds the map, and with it the split (flock).
 *   4. Other ranks than the holder (base/processes.h) join it: each writes the
 *      bytes of its own blocks and no others, so that no mark is taken back. The holder
 *      saves the whole map before they join and loads it after they have left. Meanwhile
 *      all of them share the lock: a process that outlives the holder keeps others from
 *      starting the split again, until it has ended as well.
 */
#ifndef INV_BLOCK_MAP_H
#define INV_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

enum { INV_BLOCK_ROWS = 256 };

typedef struct inv_block_map inv_block_map;

/* Takes up the map of a split, or makes one, for `arrays` arrays of `rows` rows. */
invar_status inv_block_map_open(const char *path, uint64_t rows, size_t arrays,
                                inv_block_map **out);
/* Sets what array i belongs to; fails if its finished blocks belong to something else. */
invar_status inv_block_map_expect(inv_block_map *d, size_t i,
                                  const char belongs[INV_SHA256_HEX]);
/* Its part file is gone, and so are its blocks. */
void inv_block_map_forget(inv_block_map *d, size_t i);

uint64_t inv_block_map_blocks(const inv_block_map *d);
size_t inv_block_map_arrays(const inv_block_map *d); /* including those of an earlier run */
bool inv_block_map_has(const inv_block_map *d, size_t i, uint64_t block);
bool inv_block_map_any(const inv_block_map *d, size_t i);
void inv_block_map_mark(inv_block_map *d, size_t i, uint64_t block); /* in memory */
invar_status inv_block_map_save(inv_block_map *d);                   /* on disk */
/* The holder lets others join, or is alone again. */
invar_status inv_block_map_share(inv_block_map *d, bool shared);
/* For another rank than the holder of the map; it never removes the map. */
invar_status inv_block_map_join(const char *path, uint64_t rows, size_t arrays,
                                inv_block_map **out);
/* The byte of a marked block and nothing else; sync puts all of them on disk. */
invar_status inv_block_map_save_one(inv_block_map *d, size_t i, uint64_t block);
invar_status inv_block_map_sync(inv_block_map *d);
/* What is on disk: also what others have marked since. */
invar_status inv_block_map_load(inv_block_map *d);
/* Frees d; accepts NULL. A map without a finished block is removed in any case. */
void inv_block_map_close(inv_block_map *d, bool remove);

/* Whether the file is a map with a finished block, or a map that cannot be read. */
bool inv_block_map_is_begun(const char *path);

#endif
