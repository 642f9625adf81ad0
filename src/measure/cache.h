/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - numbers that depend only on a bank, stored in BANK/cache/.
 *
 * Invariants of BANK/cache/NAME-KEY.safetensors:
 *   1. KEY is the SHA-256 of everything the numbers depend on: the bytes of the
 *      arrays, the options, invar's version and what computed the products.
 *   2. It holds one tensor "values" and in its metadata the SHA-256 of its bytes.
 *   3. If a file is missing, damaged or of a different size, the numbers are computed
 *      again and the file is replaced.
 *   4. If the bank is in memory or cannot be written, nothing is stored and no error is
 *      raised.
 */
#ifndef INV_CACHE_H
#define INV_CACHE_H

#include "bank/bank.h"
#include "base/sha256.h"

/*
 * Finishes a key: adds version and machine to `options`, which it takes, and the
 * arrays' hashes (NULL entries are skipped).
 */
invar_status inv_cache_key(const invar_context *ctx, json_t *options,
                           const inv_npy *const *arrays, size_t count,
                           char key[INV_SHA256_HEX]);
bool inv_cache_find(const invar_bank *bank, const char *name, const char *key,
                    float *values, size_t count);
void inv_cache_keep(const invar_bank *bank, const char *name, const char *key,
                    const float *values, size_t count);

#endif
