/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - SHA-256 by libcrypto. */
#include "base/sha256.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

invar_status inv_sha256_digest(const void *data, size_t bytes,
                               unsigned char digest[INV_SHA256_BYTES])
{
	unsigned char size[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	if (!EVP_Digest(data, bytes, size, &length, EVP_sha256(), NULL) ||
	    length != INV_SHA256_BYTES)
		return inv_fail(INVAR_E_NOMEM, "libcrypto failed to compute a SHA-256");
	memcpy(digest, size, INV_SHA256_BYTES);
	return INVAR_OK;
}

invar_status inv_sha256(const void *data, size_t bytes, char hex[INV_SHA256_HEX])
{
	unsigned char digest[INV_SHA256_BYTES];
	invar_status st = inv_sha256_digest(data, bytes, digest);

	for (unsigned i = 0; st == INVAR_OK && i < INV_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return st;
}

invar_status inv_sha256_file(const char *path, char hex[INV_SHA256_HEX])
{
	inv_map map;
	invar_status st = inv_map_open(path, &map);

	if (st != INVAR_OK)
		return st;
	st = inv_sha256(map.data ? map.data : (const void *)"", map.size, hex);
	inv_map_close(&map);
	return st;
}

invar_status inv_file_sha256(invar_context *ctx, const char *path, char hex[65])
{
	(void)ctx;
	return inv_sha256_file(path, hex);
}
