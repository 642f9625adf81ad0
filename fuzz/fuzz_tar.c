/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tar.c - any bytes as a tar file, and as a data set of its images.
 *
 * Members lie within the file, one after the other, and their paths end.
 */
#include "formats/tar.h"

#include "fuzz_dataset.h"

static void walk(const uint8_t *data, size_t size)
{
	uint64_t end = 0;
	bool more = true;
	inv_tar t;

	if (inv_tar_open(data, size, "fuzz.tar", &t) != INVAR_OK)
		return;
	while (inv_tar_next(&t, &more) == INVAR_OK && more) {
		require(t.offset > end && t.offset <= size && t.bytes <= size - t.offset);
		require(memchr(t.path, 0, sizeof t.path));
		require(memchr(t.target, 0, sizeof t.target));
		end = t.offset + t.bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(data, size);
	fuzz_dataset("tar", data, size);
	return 0;
}
