/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_resize.c - worked numbers of Pillow and PyTorch, and the fast passes over
 * bytes against the plain ones. tests/parity/augment.py has the comparison with the
 * libraries themselves.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "fence.h"
#include "images/normalise.h"
#include "images/resize.h"

static unsigned cpu;

static void resize_bytes(unsigned flavour, inv_filter filter, const uint8_t *in, size_t h,
                         size_t w, size_t channels, size_t to_h, size_t to_w, uint8_t *out)
{
	inv_resizer *r;

	assert_int_equal(inv_resizer_new(flavour, filter, &r), INVAR_OK);
	assert_int_equal(inv_resizer_run(r, in, h, w, channels, to_h, to_w, out), INVAR_OK);
	inv_resizer_free(r);
}

static void bytes_are_pillows(void **state)
{
	static const uint8_t cubic[3][8] = {{0, 6, 32, 55, 79, 102, 128, 144},
	                                    {149, 173, 186, 110, 88, 117, 144, 160},
	                                    {1, 16, 44, 81, 111, 133, 159, 175}};
	static const uint8_t linear[3][8] = {{0, 16, 39, 62, 86, 109, 132, 148},
	                                     {137, 153, 168, 111, 95, 118, 141, 157},
	                                     {17, 33, 56, 79, 103, 126, 149, 165}};
	static const uint8_t small[2][6] = {{81, 111, 160, 114, 87, 121},
	                                    {77, 113, 166, 119, 84, 116}};
	uint8_t x[20], out[56];

	(void)state;
	for (int i = 0; i < 20; i++)
		x[i] = (uint8_t)((37 * (i % 5) + 91 * (i / 5)) % 256);
	for (int filter = 0; filter < 2; filter++) {
		resize_bytes(cpu, filter, x, 4, 5, 1, 7, 8, out);
		for (size_t row = 0; row < 3; row++)
			assert_memory_equal(out + 24 * row, filter ? cubic[row] : linear[row], 8);
		resize_bytes(cpu, filter, x, 4, 5, 1, 2, 3, out);
		assert_memory_equal(out, small[filter], 6);
	}
}

/* Tight buffers, so that a sanitizer sees a byte too many; one resizer for all. */
static void fast_passes_give_the_same_bytes(void **state)
{
	inv_stream s = inv_stream_of(2, "sizes", 0);
	inv_resizer *plain[2], *fast[2];

	(void)state;
	for (int f = 0; f < 2; f++) {
		assert_int_equal(inv_resizer_new(0, f, &plain[f]), INVAR_OK);
		assert_int_equal(inv_resizer_new(cpu, f, &fast[f]), INVAR_OK);
	}
	for (uint32_t i = 0; i < 400; i++) {
		inv_cursor c = inv_cursor_of(&s, i);
		size_t h = 1 + inv_next_below(&c, 60), w = 1 + inv_next_below(&c, 60);
		size_t th = 1 + inv_next_below(&c, 60), tw = 1 + inv_next_below(&c, 60);
		size_t channels = i % 3 ? 3 : 1 + inv_next_below(&c, 4), f = i % 2;
		uint8_t *x = malloc(h * w * channels), *a = malloc(th * tw * channels);
		uint8_t *b = malloc(th * tw * channels);

		if (i % 7 == 0)
			tw = w;
		if (i % 11 == 0)
			th = h;
		a = realloc(a, th * tw * channels);
		b = realloc(b, th * tw * channels);
		for (size_t k = 0; k < h * w * channels; k++)
			x[k] = (uint8_t)(i % 5 ? inv_next(&c) >> 24 : inv_next(&c) >> 31 ? 255 : 0);
		assert_int_equal(inv_resizer_run(plain[f], x, h, w, channels, th, tw, a), INVAR_OK);
		assert_int_equal(inv_resizer_run(fast[f], x, h, w, channels, th, tw, b), INVAR_OK);
		if (memcmp(a, b, th * tw * channels) != 0)
			fail_msg("draw %u: %zu x %zu x %zu to %zu x %zu differs", i, h, w, channels, th,
			         tw);
		free(x);
		free(a);
		free(b);
	}
	for (int f = 0; f < 2; f++) {
		inv_resizer_free(plain[f]);
		inv_resizer_free(fast[f]);
	}
}

/* Images and results right before or after an inaccessible page. */
static void no_byte_beyond_an_image_is_touched(void **state)
{
	enum { SIDE = 19, CHANNELS = 3, MOST = SIDE * SIDE * CHANNELS };
	static const size_t sides[] = {1, 2, 3, 5, 16, 17, SIDE};
	test_fence from = test_fence_new(MOST), to = test_fence_new(MOST);
	inv_resizer *r;

	(void)state;
	assert_int_equal(inv_resizer_new(cpu, INV_BICUBIC, &r), INVAR_OK);
	for (size_t i = 0; i < 7 * 7 * 7 * 7 * 2; i++) {
		size_t h = sides[i / 2 % 7], w = sides[i / 14 % 7];
		size_t th = sides[i / 98 % 7], tw = sides[i / 686 % 7];
		size_t bytes = th * tw * CHANNELS;
		uint8_t *x = test_fenced(&from, i % 2, h * w * CHANNELS), *y;

		memset(x, 7, h * w * CHANNELS);
		y = test_fenced(&to, i % 2, bytes);
		assert_int_equal(inv_resizer_run(r, x, h, w, CHANNELS, th, tw, y), INVAR_OK);
		for (size_t k = 0; k < bytes; k++)
			assert_int_equal(y[k], 7);
	}
	inv_resizer_free(r);
	test_fence_free(&from);
	test_fence_free(&to);
}

/*
 * A table of positions, 28 to 12 by the factor 12.1 / 28, as DINO does it. The numbers
 * are in double; positions in float, as in PyTorch and here, are off by 1e-6.
 */
static void positions_resize_by_their_own_scale(void **state)
{
	static const double first[] = {-0.057965 + 0.383248, 0.785759, -0.111042};
	static const double last[] = {-0.066047, 0.973728, 0.100614 - 0.008294};
	static const double middle[] = {-0.101780, 0.898455, 0.233260, -0.029935};
	inv_taps t = {0};

	(void)state;
	assert_int_equal(inv_taps_make(28, 12, 28 / 12.1, INV_BICUBIC, INV_TAPS_PLAIN, &t),
	                 INVAR_OK);
	assert_int_equal(t.first[0], 0);
	assert_int_equal(t.first[5], 11);
	assert_int_equal(t.first[11], 25);
	assert_int_equal(t.count[0], 3);
	assert_int_equal(t.count[5], 4);
	assert_int_equal(t.count[11], 3);
	for (size_t j = 0; j < 3; j++) {
		assert_true(fabs(t.weight[j] - first[j]) < 5e-6);
		assert_true(fabs(t.weight[11 * t.max + j] - last[j]) < 5e-6);
	}
	for (size_t j = 0; j < 4; j++)
		assert_true(fabs(t.weight[5 * t.max + j] - middle[j]) < 5e-6);
	inv_taps_clear(&t);
}

/* sin(0.3 u + 0.7 v) with antialias, 28 to 12: what timm's resize gives. */
static void floats_are_pytorchs(void **state)
{
	static const double want[] = {0.639491, -0.253409, 0.099281, 0.770151, 0.817162};
	static const size_t at[][2] = {{0, 0}, {0, 11}, {5, 7}, {11, 0}, {11, 11}};
	float x[28 * 28], out[12 * 12];

	(void)state;
	for (int i = 0; i < 28 * 28; i++)
		x[i] = sinf(0.3f * (float)(i / 28) + 0.7f * (float)(i % 28));
	assert_int_equal(inv_resize(x, 1, 28, 28, INV_BICUBIC, true, 12, 12, out), INVAR_OK);
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(out[12 * at[i][0] + at[i][1]] - want[i]) < 2e-6);
}

static void sizes_are_torchvisions(void **state)
{
	size_t h, w;

	(void)state;
	inv_shorter_side(375, 500, 256, &h, &w);
	assert_true(h == 256 && w == 341);
	inv_shorter_side(500, 333, 256, &h, &w);
	assert_true(h == 384 && w == 256);
	inv_shorter_side(7, 7, 224, &h, &w);
	assert_true(h == 224 && w == 224);
	assert_int_equal(inv_centre_offset(341, 224), 58); /* 58.5 */
	assert_int_equal(inv_centre_offset(343, 224), 60); /* 59.5 */
	assert_int_equal(inv_centre_offset(256, 224), 16);
	assert_int_equal(inv_centre_offset(224, 224), 0);
	assert_int_equal(inv_centre_offset(225, 224), 0); /* 0.5 */
}

static void pixels_are_normalised(void **state)
{
	static const uint8_t x[2 * 3 * 3] = {0, 255, 10, 3, 4, 5, 9, 9, 9,
	                                     1, 2,   3,  6, 7, 8, 9, 9, 9};
	inv_normalisation n;
	float out[12];

	(void)state;
	assert_int_equal(inv_normalisation_parse("imagenet", &n), INVAR_OK);
	inv_normalise_bytes(&n, x, 2, 2, 3, 3, out); /* the third column is left out */
	assert_true(out[0] == (0 - 0.485f) / 0.229f);
	assert_true(out[1] == (3.0f / 255 - 0.485f) / 0.229f);
	assert_true(out[4] == (1 - 0.456f) / 0.224f);
	assert_true(out[11] == (8.0f / 255 - 0.406f) / 0.225f);
	assert_int_equal(inv_normalisation_parse("0.1,0.2,0.3/0.5", &n), INVAR_OK);
	assert_true(n.channels == 3 && n.mean[2] == 0.3f && n.std[2] == 0.5f);
	assert_int_equal(inv_normalisation_parse("0.1/1,2", &n), INVAR_OK);
	assert_true(n.channels == 2 && n.mean[1] == 0.1f && n.std[1] == 2);
	for (const char *const *bad =
	         (const char *const[]){"imagnet", "1,2/3,4,5", "1/0", "1/-1", "nan/1", "1/inf",
	                               "1", "/", "1,/1", "0x1/1", "1,1,1,1,1/1", NULL};
	     *bad; bad++)
		assert_int_equal(inv_normalisation_parse(*bad, &n), INVAR_E_USE);
	inv_normalisation_parse("imagnet", &n);
	test_assert_error("did you mean imagenet?");
}

static int find_cpu(void **state)
{
	invar_context *ctx;

	(void)state;
	if (invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	cpu = ctx->cpu;
	invar_context_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_pillows),
		cmocka_unit_test(fast_passes_give_the_same_bytes),
		cmocka_unit_test(no_byte_beyond_an_image_is_touched),
		cmocka_unit_test(positions_resize_by_their_own_scale),
		cmocka_unit_test(floats_are_pytorchs),
		cmocka_unit_test(sizes_are_torchvisions),
		cmocka_unit_test(pixels_are_normalised),
	};

	return cmocka_run_group_tests(tests, find_cpu, NULL);
}
