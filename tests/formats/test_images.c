/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_images.c - JPEG, PNG, TIFF and WebP files against Pillow's pixels.
 *
 * make_images.py made the files. JPEG agrees to the last bit if the decoder
 * has the same defaults (docs/design/FORMATS.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "formats/npy.h"
#include "formats/pixels.h"
#include "support.h"

typedef struct format {
	const char *end;
	invar_status (*decode)(const void *bytes, uint64_t size, const char *name,
	                       inv_image *out);
	invar_status (*measure)(const void *bytes, uint64_t size, const char *name,
	                        uint32_t *width, uint32_t *height);
} format;

static const format *format_of(const char *name)
{
	static const format formats[] = {{".jpg", inv_jpeg_decode, inv_jpeg_size},
	                                 {".png", inv_png_decode, inv_png_size},
	                                 {".tif", inv_tiff_decode, inv_tiff_size},
	                                 {".webp", inv_webp_decode, inv_webp_size}};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strstr(name, formats[i].end))
			return &formats[i];
	fail_msg("%s: no such format", name);
	return NULL;
}

static invar_status decode(const char *name, const void *bytes, size_t size, inv_image *out)
{
	return format_of(name)->decode(bytes, size, name, out);
}

static invar_status measure(const char *name, const void *bytes, size_t size,
                            uint32_t *width, uint32_t *height)
{
	return format_of(name)->measure(bytes, size, name, width, height);
}

static void check_pixels(const char *name, const inv_image *image)
{
	inv_npy *want;

	if (inv_npy_open(test_source("tests/formats/images/%s.npy", name), &want) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	assert_int_equal(want->h.shape[0], image->height);
	assert_int_equal(want->h.shape[1], image->width);
	for (size_t i = 0; i < want->h.cells; i++)
		if (want->data[i] != image->pixels[i])
			fail_msg("%s: value %zu is %d, Pillow has %d", name, i, image->pixels[i],
			         want->data[i]);
	inv_npy_close(want);
}

static void check(const char *name, inv_image *image)
{
	uint32_t width, height;
	size_t size;
	void *bytes = test_read(test_source("tests/formats/images/%s", name), &size);

	if (decode(name, bytes, size, image) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	assert_int_equal(measure(name, bytes, size, &width, &height), INVAR_OK);
	assert_int_equal(width, image->width);
	assert_int_equal(height, image->height);
	check_pixels(name, image);
	free(bytes);
}

static void jpeg_is_what_pillow_sees(void **state)
{
	static const char *const names[] = {
		"444.jpg",         "422.jpg",   "420.jpg",   "grey.jpg",  "cmyk.jpg",
		"progressive.jpg", "exif1.jpg", "exif2.jpg", "exif3.jpg", "exif4.jpg",
		"exif5.jpg",       "exif6.jpg", "exif7.jpg", "exif8.jpg"};
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check(names[i], &image);
	inv_image_clear(&image);
}

static void png_is_what_pillow_sees(void **state)
{
	static const char *const names[] = {
		"rgb.png", "grey.png",  "bits.png",   "palette.png",    "palette4.png", "rgba.png",
		"la.png",  "rgb16.png", "grey16.png", "interlaced.png", "turned.png"};
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check(names[i], &image);
	inv_image_clear(&image);
}

static void tiff_is_what_pillow_sees(void **state)
{
	static const char *const names[] = {
		"raw.tif",     "lzw.tif",           "adobe_deflate.tif", "packbits.tif",
		"jpeg.tif",    "jpeg_grey.tif",     "zstd.tif",          "group4.tif",
		"bits.tif",    "white.tif",         "palette.tif",       "rgba.tif",
		"la.tif",      "cmyk.tif",          "pages.tif",         "turned3.tif",
		"turned6.tif", "rgb16.tif",         "grey16.tif",        "white16.tif",
		"grey4.tif",   "tiles.tif",         "planes.tif",        "plane_tiles.tif",
		"big.tif",     "premultiplied.tif", "ycbcr.tif",         "ycbcr_tiles.tif"};
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check(names[i], &image);
	inv_image_clear(&image);
}

static void webp_is_what_pillow_sees(void **state)
{
	static const char *const names[] = {"lossy.webp", "lossless.webp", "alpha.webp",
	                                    "exact.webp", "turned.webp",   "animation.webp",
	                                    "inset.webp"};
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check(names[i], &image);
	inv_image_clear(&image);
}

static long peak_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* What claims gigabytes is refused before they are allocated. */
static void tiff_claims_are_refused(void **state)
{
	static const char *const files[][2] = {
		{"floats", "its samples are not integers"},
		{"bands", "has 9 samples per pixel, expected 1 to 2"},
		{"lab", "colour space 8"},
		{"lerc", "compression 34887"},
		{"huge", "1048576 x 1048576 pixels"},
		{"tall", "is a truncated or damaged TIFF file"},
		{"tile", "1048576 x 1048576 pixels"},
		{"samples", "strips or tiles of"},
		{"tags", "its tags claim more than its"},
		{"jpeg", "damaged TIFF file: Corrupt JPEG data"},
	};
	long before = peak_kilobytes();
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char name[64];
		size_t size;
		void *bytes;

		snprintf(name, sizeof name, "refused/%s.tif", files[i][0]);
		bytes = test_read(test_source("tests/formats/images/%s", name), &size);
		assert_int_equal(inv_tiff_decode(bytes, size, name, &image), INVAR_E_FORMAT);
		test_assert_error(name);
		test_assert_error(files[i][1]);
		free(bytes);
	}
	inv_image_clear(&image);
	assert_true(peak_kilobytes() - before < 64 << 10);
}

/* Frames that lie outside of the picture, or are not what they claim. */
static void damaged_animations_are_refused(void **state)
{
	static const char *const files[] = {"outside", "below", "other_size", "no_frame"};
	inv_image image = {0};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char name[64];
		size_t size;
		void *bytes;

		snprintf(name, sizeof name, "refused/%s.webp", files[i]);
		bytes = test_read(test_source("tests/formats/images/%s", name), &size);
		assert_int_equal(inv_webp_decode(bytes, size, name, &image), INVAR_E_FORMAT);
		test_assert_error(name);
		test_assert_error("is a damaged WebP file");
		free(bytes);
	}
	inv_image_clear(&image);
}

/* Every truncation is rejected, or (after the last pixel) gives the same picture. */
static void cuts_are_refused(const char *name)
{
	size_t size;
	uint8_t *bytes = test_read(test_source("tests/formats/images/%s", name), &size);
	inv_image image = {0};
	size_t accepted = 0;

	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *part = malloc(cut ? cut : 1); /* so that the sanitizer guards its end */

		memcpy(part, bytes, cut);
		if (decode(name, part, cut, &image) == INVAR_OK) {
			check_pixels(name, &image);
			accepted++;
		} else {
			test_assert_error(name);
		}
		free(part);
	}
	if (accepted > 16) /* IEND, the end marker, or a tag that means nothing */
		fail_msg("%s: %zu truncations were accepted", name, accepted);
	inv_image_clear(&image);
	free(bytes);
}

static void a_cut_image_is_refused(void **state)
{
	(void)state;
	cuts_are_refused("420.jpg");
	cuts_are_refused("progressive.jpg");
	cuts_are_refused("exif6.jpg");
	cuts_are_refused("palette.png");
	cuts_are_refused("rgb16.png");
	cuts_are_refused("raw.tif");
	cuts_are_refused("jpeg.tif");
	cuts_are_refused("tiles.tif");
	cuts_are_refused("big.tif");
	cuts_are_refused("alpha.webp");
	cuts_are_refused("lossless.webp");
	cuts_are_refused("turned.webp");
	cuts_are_refused("animation.webp");
}

static void flipped_bits_do_no_harm(void **state)
{
	static const char *const names[] = {
		"420.jpg",    "exif6.jpg",  "palette4.png", "turned.png",  "lzw.tif",
		"jpeg.tif",   "tiles.tif",  "grey4.tif",    "palette.tif", "turned.webp",
		"alpha.webp", "exact.webp", "inset.webp"};
	inv_image image = {0};

	(void)state;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		size_t size;
		uint8_t *bytes = test_read(test_source("tests/formats/images/%s", names[k]), &size);

		for (size_t i = 0; i < size; i++) {
			uint8_t flip = (uint8_t)(1u << i % 8);

			bytes[i] ^= flip;
			if (decode(names[k], bytes, size, &image) != INVAR_OK)
				test_assert_error(names[k]);
			bytes[i] ^= flip;
		}
		free(bytes);
	}
	inv_image_clear(&image);
}

/* A header alone must not take memory: 65,535 x 65,535 pixels would be 12 GB. */
static void a_huge_header_is_refused(void **state)
{
	size_t size;
	uint8_t *jpeg = test_read(test_source("tests/formats/images/444.jpg"), &size);
	uint8_t *frame = memmem(jpeg, size, "\xff\xc0", 2);
	inv_image image = {0};

	(void)state;
	assert_non_null(frame);
	memset(frame + 5, 0xff, 4);
	assert_int_equal(inv_jpeg_decode(jpeg, size, "huge.jpg", &image), INVAR_E_FORMAT);
	test_assert_error("65535 x 65535 pixels, more than 64 per byte");
	memcpy(frame + 5, "\x10\0\x10\0", 4); /* 4096 x 4096 from some hundred bytes */
	assert_int_equal(inv_jpeg_decode(jpeg, size, "huge.jpg", &image), INVAR_E_FORMAT);
	test_assert_error("more than 2048 per byte");
	assert_null(image.pixels);
	free(jpeg);
}

static void stray_bytes_between_segments_are_harmless(void **state)
{
	size_t size;
	uint8_t *jpeg = test_read(test_source("tests/formats/images/444.jpg"), &size);
	uint8_t *longer = malloc(size + 8);
	inv_image image = {0};

	(void)state;
	memcpy(longer, jpeg, size - 2);
	memset(longer + size - 2, 7, 8);
	memcpy(longer + size + 6, jpeg + size - 2, 2);
	if (inv_jpeg_decode(longer, size + 8, "stray.jpg", &image) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	check_pixels("444.jpg", &image);
	assert_int_equal(inv_jpeg_decode(longer, size + 6, "stray.jpg", &image),
	                 INVAR_E_FORMAT);
	inv_image_clear(&image);
	free(longer);
	free(jpeg);
}

static void damaged_exif_means_upright(void **state)
{
	static const uint8_t sound[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
	                                3,   0,   0, 0,  1, 0, 8, 0, 0, 0, 0,    0,    0};
	uint8_t *part;

	(void)state;
	assert_int_equal(inv_exif_orientation(sound, sizeof sound), 8);
	for (size_t cut = 0; cut < 22; cut++) {
		part = malloc(cut ? cut : 1);
		memcpy(part, sound, cut);
		assert_int_equal(inv_exif_orientation(part, cut), 1);
		free(part);
	}
	part = malloc(sizeof sound);
	memcpy(part, sound, sizeof sound);
	memset(part + 4, 0xff, 4); /* a directory beyond the end */
	assert_int_equal(inv_exif_orientation(part, sizeof sound), 1);
	free(part);
}

static void what_is_written_is_read_again(void **state)
{
	enum { WIDTH = 37, HEIGHT = 5 };
	uint8_t rgb[WIDTH * HEIGHT * 3];
	inv_image image = {0};
	void *bytes;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof rgb; i++)
		rgb[i] = (uint8_t)(i * 31 + i / 7);
	assert_int_equal(inv_png_encode(rgb, WIDTH, HEIGHT, &bytes, &size), INVAR_OK);
	assert_int_equal(inv_png_decode(bytes, size, "a.png", &image), INVAR_OK);
	assert_int_equal(image.width, WIDTH);
	assert_int_equal(image.height, HEIGHT);
	assert_memory_equal(image.pixels, rgb, sizeof rgb);
	invar_free(bytes);
	inv_image_clear(&image);
	assert_int_equal(inv_png_encode(rgb, 0, HEIGHT, &bytes, &size), INVAR_E_USE);
	test_assert_error("0 x 5 pixels");
}

/* Flat colours survive; a size of 0 does not. */
static void a_written_jpeg_is_read_again(void **state)
{
	enum { SIDE = 24 };
	uint8_t rgb[SIDE * SIDE * 3];
	inv_image image = {0};
	void *bytes;
	size_t size;

	(void)state;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		memcpy(rgb + 3 * i, (uint8_t[]){200, 100, 50}, 3);
	assert_int_equal(inv_jpeg_encode(rgb, SIDE, SIDE, 90, &bytes, &size), INVAR_OK);
	assert_int_equal(inv_jpeg_decode(bytes, size, "a.jpg", &image), INVAR_OK);
	assert_int_equal(image.width, SIDE);
	assert_int_equal(image.height, SIDE);
	for (size_t i = 0; i < sizeof rgb; i++)
		assert_in_range(image.pixels[i], rgb[i] - 4, rgb[i] + 4);
	invar_free(bytes);
	inv_image_clear(&image);
	assert_int_equal(inv_jpeg_encode(rgb, 0, SIDE, 90, &bytes, &size), INVAR_E_USE);
	test_assert_error("0 x 24 pixels");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jpeg_is_what_pillow_sees),
		cmocka_unit_test(png_is_what_pillow_sees),
		cmocka_unit_test(tiff_is_what_pillow_sees),
		cmocka_unit_test(webp_is_what_pillow_sees),
		cmocka_unit_test(tiff_claims_are_refused),
		cmocka_unit_test(damaged_animations_are_refused),
		cmocka_unit_test(a_cut_image_is_refused),
		cmocka_unit_test(flipped_bits_do_no_harm),
		cmocka_unit_test(a_huge_header_is_refused),
		cmocka_unit_test(stray_bytes_between_segments_are_harmless),
		cmocka_unit_test(damaged_exif_means_upright),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(a_written_jpeg_is_read_again),
	};

	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
