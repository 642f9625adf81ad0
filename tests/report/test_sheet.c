/* SPDX-License-Identifier: Apache-2.0 */
/* test_sheet.c - contact sheets as SVG and PNG, whatever the captions hold. */
#include "report/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "formats/pixels.h"
#include "support.h"

enum { SIDE = 8 };

static invar_status write_sheet(const char *path, const inv_sheet *sheet)
{
	invar_context *ctx;
	invar_status st;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	st = inv_sheet_write(ctx, path, sheet);
	invar_context_free(ctx);
	return st;
}

/* A square that is red on the left and blue on the right. */
static const uint8_t *two_colours(void)
{
	static uint8_t rgb[SIDE * SIDE * 3];

	for (size_t i = 0; i < SIDE * SIDE; i++)
		rgb[3 * i + (i % SIDE < SIDE / 2 ? 0 : 2)] = 250;
	return rgb;
}

static size_t count_in(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text++)
		count++;
	return count;
}

static void an_svg_holds_every_picture_and_text(void **state)
{
	const inv_sheet_cell cells[] = {
		{two_colours(), SIDE, SIDE, "one & <two>", "0.5"},
		{two_colours(), SIDE, 4, "a\nb\xff\"", NULL},
		{NULL, 0, 0, "\xc3\xa9t\xc3\xa9 of a name that is far too long for its cell", NULL},
	};
	const inv_sheet sheet = {"Title", "below it", cells, 3, 2};
	char *text;

	(void)state;
	assert_int_equal(write_sheet(test_path("s.svg"), &sheet), INVAR_OK);
	text = test_read(test_path("s.svg"), NULL);
	assert_int_equal(count_in(text, "<image"), 2);
	assert_non_null(strstr(text, ">one &amp; &lt;two&gt;<"));
	assert_non_null(strstr(text, ">a?b?&quot;<"));
	assert_non_null(strstr(text, ">\xc3\xa9t\xc3\xa9 of a"));
	assert_non_null(strstr(text, "…<"));
	assert_non_null(strstr(text, ">Title<"));
	free(text);
}

static size_t count_colour(const inv_image *image, uint8_t r, uint8_t g, uint8_t b)
{
	size_t count = 0;

	for (size_t i = 0; i < (size_t)image->width * image->height; i++)
		count += image->pixels[3 * i] == r && image->pixels[3 * i + 1] == g &&
		         image->pixels[3 * i + 2] == b;
	return count;
}

/* 8 x 8 pixels grow 17 times to 136, and the PNG has two pixels for each of these. */
static void a_png_shows_pixels_as_squares(void **state)
{
	const inv_sheet_cell cell = {two_colours(), SIDE, SIDE, NULL, NULL};
	const inv_sheet sheet = {NULL, NULL, &cell, 1, 0};
	inv_image image = {0};
	size_t size;
	void *bytes;

	(void)state;
	assert_int_equal(write_sheet(test_path("s.png"), &sheet), INVAR_OK);
	bytes = test_read(test_path("s.png"), &size);
	assert_int_equal(inv_png_decode(bytes, size, "s.png", &image), INVAR_OK);
	assert_int_equal(image.width, 2 * (136 + 64));
	assert_int_equal(image.height, 2 * (136 + 64));
	assert_int_equal(count_colour(&image, 250, 0, 0), 272 * 136);
	assert_int_equal(count_colour(&image, 0, 0, 250), 272 * 136);
	free(bytes);
	inv_image_clear(&image);
}

static void large_pictures_are_embedded_small(void **state)
{
	enum { WIDTH = 3000, HEIGHT = 1000 };
	uint8_t *rgb = calloc(WIDTH * HEIGHT, 3);
	const inv_sheet_cell cell = {rgb, WIDTH, HEIGHT, "large", NULL};
	const inv_sheet sheet = {NULL, NULL, &cell, 1, 1};
	size_t size;

	(void)state;
	for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 3; i++)
		rgb[i] = (uint8_t)(i * i >> 7);
	assert_int_equal(write_sheet(test_path("l.svg"), &sheet), INVAR_OK);
	free(test_read(test_path("l.svg"), &size));
	assert_true(size < 300 * 1000);
	free(rgb);
}

static void an_endless_sheet_is_refused(void **state)
{
	static inv_sheet_cell cells[4000];
	const inv_sheet sheet = {"long", NULL, cells, 4000, 1};

	(void)state;
	assert_int_equal(write_sheet(test_path("e.svg"), &sheet), INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "too large"));
	assert_false(test_exists(test_path("e.svg")));
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
	const inv_sheet_cell cell = {two_colours(), SIDE, SIDE, NULL, NULL};
	const inv_sheet sheet = {NULL, NULL, &cell, 1, 0};

	(void)state;
	assert_int_equal(write_sheet(test_path("no/such.png"), &sheet), INVAR_E_IO);
	test_assert_error("no/such.png");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_svg_holds_every_picture_and_text),
		cmocka_unit_test(a_png_shows_pixels_as_squares),
		cmocka_unit_test(large_pictures_are_embedded_small),
		cmocka_unit_test(an_endless_sheet_is_refused),
		cmocka_unit_test(a_place_that_cannot_be_written_is_named),
	};

	return cmocka_run_group_tests_name("sheet", tests, NULL, NULL);
}
