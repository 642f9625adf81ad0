/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tiff.c - any bytes as a TIFF file. */
#include "formats/pixels.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_image(data, size, inv_tiff_size, inv_tiff_decode);
	return 0;
}
