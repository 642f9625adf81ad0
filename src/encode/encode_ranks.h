/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode_ranks.h - several processes encode the images of one bank.
 *
 * Rank 0 owns the bank: it alone creates, finishes and removes files. For a pass over a
 * split it prepares the part files and saves the map of blocks; then every rank encodes a
 * share of the missing blocks, writes its rows to their places in the same part files,
 * flushes them, and marks them in the map (block_map.h). Features depend on an image and
 * its index alone, so the bank has the same bytes for any number of ranks.
 *
 * Whatever kills a rank, and whenever: rows without a mark are encoded again, rows with a
 * mark are on the disk, and a file gets its final name only after all ranks have finished.
 */
#ifndef INV_ENCODE_RANKS_H
#define INV_ENCODE_RANKS_H

#include "encode/encode_pass.h"

/*
 * The other ranks open the same images and weights. *ranks is 1 if there are none, or if
 * the encoder is a function of the calling program. Call end if *ranks is above 1.
 */
invar_status inv_encode_ranks_begin(const inv_encoding *of, const char *bank,
                                    unsigned *ranks);
void inv_encode_ranks_end(const inv_encoding *of);

/* inv_pass_run by all ranks. `left_out`: the indices of images that have no row. */
invar_status inv_encode_ranks_run(inv_pass *p, unsigned ranks, const char *bank,
                                  const char *split, const json_t *left_out);

extern const inv_service inv_encode_service;

#endif
