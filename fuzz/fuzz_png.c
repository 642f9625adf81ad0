/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_png.c - any bytes as a PNG file. */
#include "formats/pixels.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_image(data, size, inv_png_size, inv_png_decode);
	return 0;
}
