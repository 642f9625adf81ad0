/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprints.h - SPLIT/fingerprints.npy: which image each row of a split was made from.
 *
 * Invariants of fingerprints.npy:
 *   1. It is uint8 [rows, 16]: for each row the fingerprint of its image, the first 16
 *      bytes of the SHA-256 of the image's file, or of its pixels if images are not
 *      separate files (images/image.h).
 *   2. It is filled together with the clean rows and from the bytes that were decoded for
 *      them, and appears before them: clean.npy without it is of a bank that has none.
 *   3. No row is added for an image whose fingerprint differs. A bank without the file, of
 *      NumPy or an older version, is extended if its first rows are reproduced; it gets
 *      no fingerprints then, as the other rows were not compared.
 */
#ifndef INV_FINGERPRINTS_H
#define INV_FINGERPRINTS_H

#include "formats/npy.h"
#include "images/dataset.h"

/* *out is NULL if there is no such file; else inv_npy_close. */
invar_status inv_fingerprints_open(const char *path, uint64_t rows, inv_npy **out);
/* The same from memory, which must outlive the array. */
invar_status inv_fingerprints_view(const unsigned char *bytes, uint64_t size,
                                   const char *name, uint64_t rows, inv_npy **out);

/* Fails if image `image` of s is not the one from which row `row` of the bank was made. */
invar_status inv_fingerprints_compare(const inv_npy *known, uint64_t row,
                                      const invar_dataset *d, const inv_images *s,
                                      uint64_t image, const inv_fingerprint *now);
/* The same for `count` rows from `first` on; files are read but not decoded. */
invar_status inv_fingerprints_check(const invar_context *ctx, const inv_npy *known,
                                    const invar_dataset *d, const inv_images *s,
                                    uint64_t first, uint64_t count);

#endif
