/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_webp.c - any bytes as a WebP file. */
#include "formats/pixels.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_image(data, size, inv_webp_size, inv_webp_decode);
	return 0;
}
