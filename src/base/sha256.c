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
	return inv_sha256_pair(data, bytes, NULL, 0, hex);
}

invar_status inv_sha256_pair(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
                             char hex[INV_SHA256_HEX])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	bool done = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) &&
	            EVP_DigestUpdate(hash, a, a_bytes) && EVP_DigestUpdate(hash, b, b_bytes) &&
	            EVP_DigestFinal_ex(hash, digest, &length) && length == INV_SHA256_BYTES;

	EVP_MD_CTX_free(hash);
	if (!done)
		return inv_fail(INVAR_E_NOMEM, "libcrypto failed to compute a SHA-256");
	for (unsigned i = 0; i < INV_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return INVAR_OK;
}

invar_status inv_sha256_file(const char *path, char hex[INV_SHA256_HEX])
{
	inv_map map;
	invar_status st;

	INV_TRY(inv_map_open(path, &map));
	st = inv_sha256(map.data ? map.data : (const void *)"", map.size, hex);
	inv_map_close(&map);
	return st;
}

invar_status inv_file_sha256(invar_context *ctx, const char *path, char hex[65])
{
	(void)ctx;
	return inv_sha256_file(path, hex);
}
