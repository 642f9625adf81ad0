/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare.c - from bytes to tensors: resized as the resizer does it, centre, channels.
 */
#include <stdlib.h>

#include "images/prepare.h"
#include "support.h"

enum { H = 9, W = 14, RGB = 3 };

static uint8_t pixels[H * W * RGB];
static const inv_image picture = {
	.pixels = pixels, .width = W, .height = H, .channels = RGB};

static void draw(void)
{
	for (size_t i = 0; i < sizeof pixels; i++)
		pixels[i] = (uint8_t)(i * 37 % 256);
}

static void prepare(const inv_preparation *p, float *out)
{
	inv_preparer *r;

	assert_int_equal(inv_preparer_new(0, p, &r), INVAR_OK);
	for (int again = 0; again < 2; again++) /* memory is kept from image to image */
		assert_int_equal(inv_prepare(r, &picture, "it", out), INVAR_OK);
	inv_preparer_free(r);
	inv_preparer_free(NULL);
}

static void a_native_image_is_normalised_as_it_is(void **state)
{
	inv_preparation p = {.channels = RGB,
	                     .normalisation = {3, {0.1f, 0.2f, 0.3f}, {1, 2, 4}}};
	float out[H * W * RGB];
	size_t h, w;

	(void)state;
	draw();
	assert_int_equal(inv_prepared_size(&p, H, W, "it", &h, &w), INVAR_OK);
	assert_true(h == H && w == W);
	prepare(&p, out);
	for (size_t i = 0; i < H * W; i++)
		for (size_t c = 0; c < RGB; c++)
			assert_true(out[c * H * W + i] ==
			            ((float)pixels[RGB * i + c] / 255 - p.normalisation.mean[c]) /
			                p.normalisation.std[c]);
}

/* 9 x 14 becomes 6 x 9, of which columns 2 to 7 stay (1.5 goes to even). */
static void the_centre_of_the_resized_image_is_taken(void **state)
{
	inv_preparation p = {.side = 6, .channels = RGB, .normalisation = {1, {0}, {1}}};
	uint8_t resized[6 * 9 * RGB];
	float out[6 * 6 * RGB];
	inv_resizer *r;
	size_t h, w;

	(void)state;
	draw();
	assert_int_equal(inv_prepared_size(&p, H, W, "it", &h, &w), INVAR_OK);
	assert_true(h == 6 && w == 6);
	prepare(&p, out);
	assert_int_equal(inv_resizer_new(0, INV_BILINEAR, &r), INVAR_OK);
	assert_int_equal(inv_resizer_run(r, pixels, H, W, RGB, 6, 9, resized), INVAR_OK);
	inv_resizer_free(r);
	for (size_t v = 0; v < 6; v++)
		for (size_t u = 0; u < 6; u++)
			for (size_t c = 0; c < RGB; c++)
				assert_true(out[(c * 6 + v) * 6 + u] ==
				            (float)resized[(v * 9 + u + 2) * RGB + c] / 255);
}

static void one_channel_is_one_of_three_equal_ones(void **state)
{
	inv_preparation three = {.side = 5, .channels = RGB, .normalisation = {1, {0.5f}, {2}}};
	inv_preparation one = three;
	float colour[5 * 5 * RGB], grey[5 * 5];

	(void)state;
	for (size_t i = 0; i < sizeof pixels; i++)
		pixels[i] = (uint8_t)(i / RGB * 11 % 256);
	one.channels = 1;
	prepare(&three, colour);
	prepare(&one, grey);
	for (size_t c = 0; c < RGB; c++)
		assert_memory_equal(grey, colour + c * 5 * 5, sizeof grey);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const char *const wrong[] = {"", "0", "-3", "12x", "8193", "natives"};
	inv_preparation p = {.side = 512, .channels = RGB};
	size_t side, h, w;

	(void)state;
	assert_int_equal(inv_side_parse("native", &side), INVAR_OK);
	assert_int_equal(side, 0);
	assert_int_equal(inv_side_parse("224", &side), INVAR_OK);
	assert_int_equal(side, 224);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(inv_side_parse(wrong[i], &side), INVAR_E_USE);
	assert_int_equal(inv_prepared_size(&p, 1, 200, "it", &h, &w), INVAR_OK);
	assert_int_equal(inv_prepared_size(&p, 1, 65535, "it", &h, &w), INVAR_E_FORMAT);
	test_assert_error("too narrow");
	assert_int_equal(inv_prepared_size(&p, 0, 5, "it", &h, &w), INVAR_E_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_native_image_is_normalised_as_it_is),
		cmocka_unit_test(the_centre_of_the_resized_image_is_taken),
		cmocka_unit_test(one_channel_is_one_of_three_equal_ones),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
