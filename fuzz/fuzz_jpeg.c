/*
 * fuzz_jpeg.c - any bytes as a JPEG file: its size by the header, then its pixels.
 *
 * The header may promise what the data do not keep, but never the reverse.
 */
#include "formats/jpeg.h"
#include "fuzz.h"

enum { MOST_PIXELS = 1 << 20 }; /* larger pictures only take time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_image image = {0};
	uint32_t width = 0, height = 0;
	bool sized = inv_jpeg_size(data, size, "fuzz.jpeg", &width, &height) == INVAR_OK;
	unsigned sum = 0;

	if (sized && (uint64_t)width * height > MOST_PIXELS)
		return 0;
	if (inv_jpeg_decode(data, size, "fuzz.jpeg", &image) == INVAR_OK) {
		require(sized && image.width == width && image.height == height);
		for (size_t i = 0; i < (size_t)width * height * INV_RGB; i++)
			sum += image.pixels[i];
		require(sum <= 255u * INV_RGB * MOST_PIXELS);
	}
	inv_image_clear(&image);
	return 0;
}
