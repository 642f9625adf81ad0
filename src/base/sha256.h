/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - what a file or a buffer is, by its SHA-256. */
#ifndef INV_SHA256_H
#define INV_SHA256_H

#include <stddef.h>

#include "base/status.h"

enum { INV_SHA256_BYTES = 32, INV_SHA256_HEX = 65 }; /* 64 digits and a NUL */

invar_status inv_sha256(const void *data, size_t bytes, char hex[INV_SHA256_HEX]);
/* The same of two pieces, one after the other. */
invar_status inv_sha256_pair(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
                             char hex[INV_SHA256_HEX]);
invar_status inv_sha256_digest(const void *data, size_t bytes,
                               unsigned char digest[INV_SHA256_BYTES]);
invar_status inv_sha256_file(const char *path, char hex[INV_SHA256_HEX]);

/* SHA-256 of a file as 64 hexadecimal digits. */
invar_status inv_file_sha256(invar_context *ctx, const char *path, char hex[65]);

#endif
