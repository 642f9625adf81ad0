/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jpeg.c - any bytes as a JPEG file. */
#include "formats/pixels.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_image(data, size, inv_jpeg_size, inv_jpeg_decode);
	return 0;
}
