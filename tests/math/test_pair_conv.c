/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_conv.c - convolutions in bfloat16 against the plain loop over rounded numbers. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "math/bfloat16.h"
#include "math/pair_conv.h"

static invar_context *one, *many;
static struct inv_kernels plain, fast;

static float rounded(float x)
{
	return inv_from_bfloat16(inv_to_bfloat16(x));
}

static float *normal(size_t count, uint32_t index)
{
	const inv_stream s = inv_stream_of(9, "pair_conv", 0);
	float *x = malloc((count + 1) * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, index, x, count);
	for (size_t i = 0; i < count; i++)
		x[i] = rounded(x[i]);
	return x;
}

/* [n, c, h, w] -> [n, h, w, padded c] */
static uint16_t *to_maps(inv_maps m, const float *x)
{
	size_t wide = inv_pair_channels(m.channels), pixels = m.height * m.width;
	uint16_t *maps = calloc((size_t)inv_pair_maps_cells(m) + 1, sizeof *maps);

	assert_non_null(maps);
	for (size_t n = 0; n < m.images; n++)
		for (size_t c = 0; c < m.channels; c++)
			for (size_t i = 0; i < pixels; i++)
				maps[(n * pixels + i) * wide + c] =
					inv_to_bfloat16(x[(n * m.channels + c) * pixels + i]);
	return maps;
}

static void check_maps(inv_maps m, const float *want, const uint16_t *got, size_t terms)
{
	size_t wide = inv_pair_channels(m.channels), pixels = m.height * m.width;

	for (size_t n = 0; n < m.images; n++)
		for (size_t i = 0; i < pixels; i++)
			for (size_t c = 0; c < wide; c++) {
				double is = inv_from_bfloat16(got[(n * pixels + i) * wide + c]);
				double must =
					c < m.channels ? want[(n * m.channels + c) * pixels + i] : 0;

				/* half a unit of bfloat16, and the rounding of float sums */
				if (!(fabs(is - must) <= fabs(must) / 256 + 1e-6 * (double)terms))
					fail_msg("image %zu, pixel %zu, channel %zu: %g, not %g", n, i, c, is,
					         must);
			}
}

static uint16_t *run(const struct inv_kernels *kernels, const invar_context *ctx,
                     const inv_conv_spec *s, const float *weights, const float *bias,
                     const void *x, const uint16_t *before)
{
	inv_pair_conv *p;
	size_t cells = (size_t)inv_pair_maps_cells(inv_conv_result(s));
	uint16_t *to = malloc(cells * sizeof *to);
	void *scratch;

	assert_non_null(to);
	memcpy(to, before, cells * sizeof *to);
	assert_int_equal(inv_pair_conv_new(kernels, s, weights, bias, &p), INVAR_OK);
	scratch = malloc(inv_pair_conv_scratch(p, s->from, ctx ? ctx->threads : 1));
	assert_non_null(scratch);
	inv_pair_conv_run(p, ctx, s->from, x, s->outputs, 0, to, scratch);
	free(scratch);
	inv_pair_conv_free(p);
	return to;
}

static void check_conv(const inv_conv_spec *s)
{
	const inv_maps m = s->from, r = inv_conv_result(s);
	size_t terms = m.channels * s->window.kernel * s->window.kernel;
	size_t results = r.images * r.channels * r.height * r.width;
	float *x = normal(m.images * m.channels * m.height * m.width, 1);
	float *weights = normal(s->outputs * terms, 2), *bias = normal(s->outputs, 3);
	float *want = normal(results, 4);
	uint16_t *maps = to_maps(m, x), *before = to_maps(r, want), *got, *other;
	const void *from = s->plain ? (const void *)x : maps;
	size_t bytes = (size_t)inv_pair_maps_cells(r) * sizeof *got;

	inv_conv_ref(s, x, weights, bias, want);
	got = run(&fast, NULL, s, weights, bias, from, before);
	check_maps(r, want, got, terms);
	other = run(&plain, NULL, s, weights, bias, from, before);
	assert_memory_equal(got, other, bytes);
	free(other);
	other = run(&fast, many, s, weights, bias, from, before);
	assert_memory_equal(got, other, bytes);
	free(other);
	free(got);
	free(before);
	free(maps);
	free(want);
	free(bias);
	free(weights);
	free(x);
}

static void convolutions_are_right(void **state)
{
	static const inv_window windows[] = {{1, 1, 0, false}, {3, 1, 1, false},
	                                     {3, 2, 1, false}, {1, 2, 0, false},
	                                     {5, 3, 2, false}, {2, 2, 0, false}};
	static const size_t channels[] = {1, 16, 17, 48, 130};

	(void)state;
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
			const inv_conv_spec s = {.from = {1 + (i + j) % 3, channels[j], 9, 8 + i % 2,
			                                  false},
			                         .outputs = 5 + 40 * ((i + j) % 4),
			                         .window = windows[i],
			                         .add = i % 2,
			                         .relu = (i + j) % 2};

			check_conv(&s);
		}
}

static void images_are_read(void **state)
{
	static const inv_window windows[] = {{7, 2, 3, false}, {3, 1, 1, false},
	                                     {4, 4, 0, false}, {3, 2, 0, false}};

	(void)state;
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
		const inv_conv_spec s = {.from = {2, i % 2 ? 3 : 1, 17, 23, false},
		                         .outputs = 33,
		                         .window = windows[i],
		                         .plain = true,
		                         .relu = true};

		check_conv(&s);
	}
}

static void pools_are_right(void **state)
{
	const inv_maps m = {2, 19, 11, 9, false};
	const inv_window windows[] = {{3, 2, 1, false}, {3, 2, 0, true}, {2, 2, 0, false}};
	float *x = normal(2 * 19 * 99, 7), means[2 * 19];
	uint16_t *maps = to_maps(m, x);

	(void)state;
	for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
		size_t rows = inv_window_places(windows[w], 11);
		size_t cols = inv_window_places(windows[w], 9);
		float *want = malloc(2 * 19 * rows * cols * sizeof *want);
		uint16_t *got = malloc(2 * 32 * rows * cols * sizeof *got);

		assert_true(want && got);
		inv_max_pool(NULL, 1, m, windows[w], x, want);
		inv_pair_max_pool(w ? many : NULL, m, windows[w], maps, got);
		check_maps((inv_maps){2, 19, rows, cols, false}, want, got, 0);
		free(want);
		free(got);
	}
	inv_pair_mean_pool(m, maps, means);
	for (size_t i = 0; i < 2 * 19; i++) {
		double sum = 0;

		for (size_t j = 0; j < 99; j++)
			sum += x[i * 99 + j];
		assert_true(fabs(means[i] - sum / 99) <= 1e-6);
	}
	free(maps);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions_are_right),
		cmocka_unit_test(images_are_read),
		cmocka_unit_test(pools_are_right),
	};
	int failed;

	if (invar_context_new(1, NULL, &one) != INVAR_OK ||
	    invar_context_new(3, NULL, &many) != INVAR_OK)
		return 1;
	inv_kernels_init(&plain, 0);
	inv_kernels_init(&fast, one->cpu);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	invar_context_free(one);
	invar_context_free(many);
	return failed;
}
