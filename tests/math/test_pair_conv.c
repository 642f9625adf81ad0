/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_conv.c - convolutions in bfloat16 and bytes against plain loops over rounded
 * numbers. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "math/bfloat16.h"
#include "math/pair_conv.h"

static invar_context *one, *many;
static struct inv_kernels plain, avx2, fast; /* avx2: or fast, on another processor */

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
				double must = c < m.channels ? want[(n * m.channels + c) * pixels + i] : 0;

				/* half a unit of bfloat16, and the rounding of float sums */
				if (!(fabs(is - must) <= fabs(must) / 256 + 1e-6 * (double)terms))
					fail_msg("image %zu, pixel %zu, channel %zu: %g, not %g", n, i, c, is,
					         must);
			}
}

static uint16_t *run(const struct inv_kernels *kernels, const invar_context *ctx,
                     const inv_conv_spec *s, bool bytes, const float *weights,
                     const float *bias, const void *x, const uint16_t *before)
{
	inv_pair_conv *p;
	size_t cells = (size_t)inv_pair_maps_cells(inv_conv_result(s));
	uint16_t *to = malloc(cells * sizeof *to);
	void *scratch;

	assert_non_null(to);
	memcpy(to, before, cells * sizeof *to);
	assert_int_equal(inv_pair_conv_new(kernels, s, bytes, weights, bias, &p), INVAR_OK);
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
	got = run(&fast, NULL, s, false, weights, bias, from, before);
	check_maps(r, want, got, terms);
	other = run(&plain, NULL, s, false, weights, bias, from, before);
	assert_memory_equal(got, other, bytes);
	free(other);
	other = run(&fast, many, s, false, weights, bias, from, before);
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
			const inv_conv_spec s = {
				.from = {1 + (i + j) % 3, channels[j], 9, 8 + i % 2, false},
				.outputs = 5 + 40 * ((i + j) % 4),
				.window = windows[i],
				.add = i % 2,
				.relu = (i + j) % 2};

			check_conv(&s);
		}
}

/* The numbers of a filter as bytes, each with what rounding took from the one before. */
static float weights_to_bytes(const float *x, size_t count, int *out)
{
	float most = 0, left = 0;

	for (size_t i = 0; i < count; i++)
		most = fmaxf(most, fabsf(x[i]));
	for (size_t i = 0; i < count; i++) {
		float exact = x[i] / most * 127 + left;

		out[i] = (int)lrintf(fminf(fmaxf(exact, -127), 127));
		left = exact - (float)out[i];
	}
	return most / 127;
}

static float map_to_bytes(const float *x, size_t count, int *out)
{
	float most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmaxf(most, x[i]);
	for (size_t i = 0; i < count; i++)
		out[i] = (int)lrintf(x[i] * (255 / most));
	return most / 255;
}

static int sum_window(const inv_conv_spec *s, const int *x, const int *weights, size_t row,
                      size_t col)
{
	const inv_window w = s->window;
	int sum = 0;

	for (size_t c = 0; c < s->from.channels; c++)
		for (size_t i = 0; i < w.kernel * w.kernel; i++) {
			size_t y = row * w.stride + i / w.kernel - w.padding;
			size_t at = col * w.stride + i % w.kernel - w.padding;

			if (y < s->from.height && at < s->from.width)
				sum += weights[c * w.kernel * w.kernel + i] *
				       x[(c * s->from.height + y) * s->from.width + at];
		}
	return sum;
}

/* By its definition, [n, c, h, w]. */
static void byte_conv(const inv_conv_spec *s, const float *x, const float *weights,
                      const float *bias, float *to)
{
	const inv_maps r = inv_conv_result(s);
	size_t cells = s->from.channels * s->from.height * s->from.width;
	size_t terms = s->from.channels * s->window.kernel * s->window.kernel;
	int *map = malloc(cells * sizeof *map), *filter = malloc(terms * sizeof *filter);

	assert_true(map && filter);
	for (size_t n = 0; n < r.images; n++) {
		float scale = map_to_bytes(x + n * cells, cells, map);

		for (size_t o = 0; o < s->outputs; o++) {
			float filter_scale = weights_to_bytes(weights + o * terms, terms, filter);

			for (size_t i = 0; i < r.height * r.width; i++, to++) {
				float v = (float)sum_window(s, map, filter, i / r.width, i % r.width) *
				          filter_scale * scale;

				v += bias[o];
				v += s->add ? *to : 0;
				*to = s->relu && v < 0 ? 0 : v;
			}
		}
	}
	free(map);
	free(filter);
}

static void check_byte_conv(const inv_conv_spec *s)
{
	const inv_maps m = s->from, r = inv_conv_result(s);
	size_t cells = m.images * m.channels * m.height * m.width;
	size_t terms = m.channels * s->window.kernel * s->window.kernel;
	float *x = normal(cells, 1), *weights = normal(s->outputs * terms, 2);
	float *bias = normal(s->outputs, 3);
	float *to = normal(r.images * r.channels * r.height * r.width, 4);
	uint16_t *before = to_maps(r, to), *maps, *want;
	const struct {
		const struct inv_kernels *kernels;
		const invar_context *ctx;
	} ways[] = {{&plain, NULL}, {&avx2, NULL}, {&fast, NULL}, {&fast, many}};

	for (size_t i = 0; i < cells; i++)
		x[i] = fmaxf(x[i], 0);
	maps = to_maps(m, x);
	byte_conv(s, x, weights, bias, to);
	want = to_maps(r, to);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		uint16_t *got =
			run(ways[i].kernels, ways[i].ctx, s, true, weights, bias, maps, before);

		assert_memory_equal(got, want, (size_t)inv_pair_maps_cells(r) * sizeof *got);
		free(got);
	}
	free(want);
	free(maps);
	free(before);
	free(to);
	free(bias);
	free(weights);
	free(x);
}

static void convolutions_of_bytes_have_the_bits_of_the_definition(void **state)
{
	static const inv_window windows[] = {{1, 1, 0, false}, {3, 1, 1, false},
	                                     {3, 2, 1, false}, {1, 2, 0, false},
	                                     {5, 3, 2, false}, {2, 2, 0, false}};
	static const size_t channels[] = {1, 16, 17, 48, 130};

	(void)state;
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
			const inv_conv_spec s = {
				.from = {1 + (i + j) % 3, channels[j], 9, 8 + i % 2, false},
				.outputs = 5 + 40 * ((i + j) % 4),
				.window = windows[i],
				.add = i % 2,
				.relu = (i + j) % 2};

			check_byte_conv(&s);
		}
}

/* The longest sum that cannot overflow is exact; a longer one is refused. */
static void long_sums_of_bytes(void **state)
{
	enum { LONGEST = 66304 }; /* of whole blocks of channels */
	inv_conv_spec s = {
		.from = {1, LONGEST, 1, 1, false}, .outputs = 1, .window = {1, 1, 0, false}};
	float *weights = malloc(LONGEST * sizeof *weights), bias = 0;
	uint16_t *maps = malloc(LONGEST * sizeof *maps), before[16] = {0}, *got;
	inv_pair_conv *p;

	(void)state;
	assert_true(weights && maps);
	for (size_t i = 0; i < LONGEST; i++) {
		weights[i] = -1;
		maps[i] = inv_to_bfloat16(3);
	}
	for (int i = 0; i < 3; i++) {
		got = run(i == 0   ? &plain
		          : i == 1 ? &avx2
		                   : &fast,
		          NULL, &s, true, weights, &bias, maps, before);
		assert_true(inv_from_bfloat16(*got) == rounded(-3.0f * LONGEST));
		free(got);
	}
	s.from.channels++;
	assert_int_equal(inv_pair_conv_new(&fast, &s, true, weights, &bias, &p), INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "may exceed 32 bits"));
	free(weights);
	free(maps);
}

/* What is not finite becomes NaN, in its own image or output alone; zeros stay zeros. */
static void bytes_and_numbers_that_are_not_finite(void **state)
{
	static const float bad[] = {NAN, INFINITY};
	const inv_conv_spec s = {
		.from = {3, 16, 1, 1, false}, .outputs = 16, .window = {1, 1, 0, false}};
	float bias[16] = {0}, *weights = normal(16 * 16, 2);
	uint16_t maps[3 * 16], before[3 * 16] = {0};

	(void)state;
	for (size_t i = 0; i < 16; i++)
		weights[7 * 16 + i] = 0;
	for (size_t b = 0; b < 2; b++)
		for (int set = 0; set < 3; set++) {
			uint16_t *got;

			for (size_t i = 0; i < 3 * 16; i++)
				maps[i] = inv_to_bfloat16(i < 16 ? 0 : 1);
			maps[2 * 16 + 5] = inv_to_bfloat16(bad[b]);
			weights[3 * 16 + 4] = bad[b];
			got = run(set == 0   ? &plain
			          : set == 1 ? &avx2
			                     : &fast,
			          NULL, &s, true, weights, bias, maps, before);
			for (size_t i = 0; i < 3 * 16; i++) {
				float is = inv_from_bfloat16(got[i]);

				assert_int_equal(isnan(is) != 0, i >= 2 * 16 || i % 16 == 3);
				assert_true(isnan(is) || (is == 0) == (i < 16 || i % 16 == 7));
			}
			free(got);
		}
	free(weights);
}

static void images_are_read(void **state)
{
	static const inv_window windows[] = {
		{7, 2, 3, false}, {3, 1, 1, false}, {4, 4, 0, false}, {3, 2, 0, false}};

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
		cmocka_unit_test(convolutions_of_bytes_have_the_bits_of_the_definition),
		cmocka_unit_test(long_sums_of_bytes),
		cmocka_unit_test(bytes_and_numbers_that_are_not_finite),
		cmocka_unit_test(images_are_read),
		cmocka_unit_test(pools_are_right),
	};
	int failed;

	if (invar_context_new(1, NULL, &one) != INVAR_OK ||
	    invar_context_new(3, NULL, &many) != INVAR_OK)
		return 1;
	inv_kernels_init(&plain, 0);
	inv_kernels_init(&avx2, one->cpu & ~(unsigned)(INV_CPU_AVX512 | INV_CPU_BFLOAT16));
	inv_kernels_init(&fast, one->cpu);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	invar_context_free(one);
	invar_context_free(many);
	return failed;
}
