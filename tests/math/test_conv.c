/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c - convolutions in all precisions against plain loops, over odd sizes; pools.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "math/bfloat16.h"
#include "math/conv.h"
#include "math/winograd.h"

static invar_context *one, *many;
static struct inv_kernels plain, avx2, avx512, fast; /* or fast, on another processor */

/* What gives the same bits; floats in plain C do not. */
static const struct {
	const struct inv_kernels *kernels;
	invar_context *const *ctx;
} ways[] = {{&fast, NULL}, {&fast, &many}, {&avx512, NULL}, {&avx2, NULL}, {&plain, NULL}};

enum { WAYS = sizeof ways / sizeof *ways };

static float rounded(float x)
{
	return inv_from_bfloat16(inv_to_bfloat16(x));
}

static float *normal(inv_precision precision, size_t count, uint32_t index)
{
	const inv_stream s = inv_stream_of(9, "conv", 0);
	float *x = malloc((count + 1) * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, index, x, count);
	for (size_t i = 0; i < count && precision != INV_FLOAT32; i++)
		x[i] = rounded(x[i]);
	return x;
}

/* [n, c, h, w] -> [n, h, w, padded c] */
static void *to_maps(inv_precision precision, inv_maps m, const float *x)
{
	size_t wide = inv_map_channels(m.channels), pixels = m.height * m.width;
	float *floats = calloc((size_t)inv_map_bytes(precision, m) + 1, 1);
	uint16_t *halves = (uint16_t *)(void *)floats;

	assert_non_null(floats);
	for (size_t n = 0; n < m.images; n++)
		for (size_t c = 0; c < m.channels; c++)
			for (size_t i = 0; i < pixels; i++, x++)
				if (precision == INV_FLOAT32)
					floats[(n * pixels + i) * wide + c] = *x;
				else
					halves[(n * pixels + i) * wide + c] = inv_to_bfloat16(*x);
	return floats;
}

static double number(inv_precision precision, const void *maps, size_t i)
{
	return (double)(precision == INV_FLOAT32
	                    ? ((const float *)maps)[i]
	                    : inv_from_bfloat16(((const uint16_t *)maps)[i]));
}

/* Padding must be 0. */
static void check_maps(inv_precision precision, inv_maps m, const float *want,
                       const void *got, double limit)
{
	size_t wide = inv_map_channels(m.channels), pixels = m.height * m.width;
	/* half a unit of bfloat16 */
	const double relative = precision == INV_FLOAT32 ? 2e-6 : 1.0 / 256;

	for (size_t n = 0; n < m.images; n++)
		for (size_t i = 0; i < pixels; i++)
			for (size_t c = 0; c < wide; c++) {
				double is = number(precision, got, (n * pixels + i) * wide + c);
				double must = c < m.channels ? want[(n * m.channels + c) * pixels + i] : 0;

				if (!(fabs(is - must) <= relative * fabs(must) + limit))
					fail_msg("image %zu, pixel %zu, channel %zu: %g, not %g", n, i, c, is,
					         must);
			}
}

/* The first `images` of the maps, on `before`. */
static void *run(size_t way, const inv_conv_spec *s, size_t images, const float *weights,
                 const float *bias, const void *x, const void *before)
{
	invar_context *ctx = ways[way].ctx ? *ways[way].ctx : NULL;
	inv_maps to = inv_conv_result(s);
	size_t bytes;
	void *result, *scratch;
	inv_conv *p;

	to.images = images;
	bytes = (size_t)inv_map_bytes(s->precision, to);
	assert_non_null(result = malloc(bytes));
	memcpy(result, before, bytes);
	assert_int_equal(inv_conv_new(ways[way].kernels, s, weights, bias, &p), INVAR_OK);
	scratch = malloc((size_t)inv_conv_scratch(p, images, ctx ? ctx->threads : 1));
	assert_non_null(scratch);
	inv_conv_run(p, ctx, images, x, s->outputs, 0, result, scratch);
	free(scratch);
	inv_conv_free(p);
	return result;
}

/* Sums of products of N(0, 1); in tiles, larger numbers cancel each other, and in bfloat16
 * they were rounded before. */
static double limit_of(const inv_conv_spec *s, size_t terms)
{
	if (inv_winograd_pays(s))
		return (s->precision == INV_FLOAT32 ? 8e-6 : 0.15) * sqrt((double)terms);
	return 1e-6 + 1e-7 * (double)terms;
}

static void check_conv(const inv_conv_spec *s)
{
	const inv_precision precision = s->precision;
	const inv_maps m = s->from, r = inv_conv_result(s);
	size_t terms = m.channels * s->window.kernel * s->window.kernel;
	float *x = normal(precision, m.images * m.channels * m.height * m.width, 1);
	float *weights = normal(precision, s->outputs * terms, 2);
	float *bias = normal(precision, s->outputs, 3);
	float *want = normal(precision, r.images * r.channels * r.height * r.width, 4);
	void *maps = to_maps(precision, m, x), *before = to_maps(precision, r, want);
	const void *from = s->plain ? x : maps;
	size_t bytes = (size_t)inv_map_bytes(precision, r);
	void *got = run(0, s, m.images, weights, bias, from, before);

	inv_conv_ref(s, x, weights, bias, want);
	check_maps(precision, r, want, got, limit_of(s, terms));
	for (size_t i = 1; i < WAYS; i++) {
		void *other = run(i, s, m.images, weights, bias, from, before);

		if (precision == INV_FLOAT32 && ways[i].kernels == &plain)
			check_maps(precision, r, want, other, limit_of(s, terms));
		else if (memcmp(got, other, bytes) != 0)
			fail_msg("%zu x %zu x %zu to %zu, kernel %zu: way %zu has other bits",
			         m.channels, m.height, m.width, s->outputs, s->window.kernel, i);
		free(other);
	}
	for (size_t i = 0; i < 2; i++) { /* on one thread and on many, fewer images */
		size_t images = (m.images + 1) / 2;
		void *fewer = run(i, s, images, weights, bias, from, before);

		assert_memory_equal(got, fewer, bytes / m.images * images);
		free(fewer);
	}
	free(got);
	free(before);
	free(maps);
	free(want);
	free(bias);
	free(weights);
	free(x);
}

static const inv_window windows[] = {{1, 1, 0, false}, {3, 1, 1, false}, {3, 2, 1, false},
                                     {1, 2, 0, false}, {5, 3, 2, false}, {2, 2, 0, false}};
static const size_t channels[] = {1, 16, 17, 48, 130};

/* All of these, in turn, with other sizes around them. */
static void check_shapes(inv_precision precision, void (*check)(const inv_conv_spec *s))
{
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
			const inv_conv_spec s = {.from = {1 + (i + j) % 3, channels[j], 9, 8 + i % 2},
			                         .outputs = 5 + 40 * ((i + j) % 4),
			                         .window = windows[i],
			                         .precision = precision,
			                         .add = i % 2,
			                         .relu = (i + j) % 2};

			check(&s);
		}
}

static void convolutions_are_right(void **state)
{
	(void)state;
	check_shapes(INV_FLOAT32, check_conv);
	check_shapes(INV_BFLOAT16, check_conv);
}

static void images_are_read(void **state)
{
	static const inv_window sizes[] = {
		{7, 2, 3, false}, {3, 1, 1, false}, {4, 4, 0, false}, {3, 2, 0, false}};

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		const inv_conv_spec s = {.from = {2, i / 8 ? 3 : 1, 17, 23},
		                         .outputs = 33,
		                         .window = sizes[i % 4],
		                         .precision = i / 4 % 2 ? INV_BFLOAT16 : INV_FLOAT32,
		                         .plain = true,
		                         .relu = true};

		check_conv(&s);
	}
}

/* In int8, products of tiles are of bfloat16. */
static void tiles_are_right(void **state)
{
	static const inv_maps maps[] = {{3, 32, 24, 24}, {2, 64, 13, 22}, {16, 48, 7, 6},
	                                {8, 64, 8, 7},   {1, 48, 40, 35}, {40, 32, 4, 4}};

	(void)state;
	for (size_t i = 0; i < 3 * sizeof maps / sizeof *maps; i++) {
		inv_conv_spec s = {
			.from = maps[i / 3],
			.outputs = i / 3 % 2 ? 80 : 32,
			.window = {3, 1, 1, false},
			.precision = (inv_precision[]){INV_FLOAT32, INV_BFLOAT16, INV_INT8}[i % 3],
			.add = i / 6 % 2,
			.relu = i / 3 % 2};

		assert_true(inv_winograd_pays(&s));
		check_conv(&s);
		s.window.stride = 2;
		assert_false(inv_winograd_pays(&s));
		s.window.stride = 1;
		s.from.channels += 1; /* not a multiple of 16 */
		assert_false(inv_winograd_pays(&s));
	}
}

/* A sum of tiles in bfloat16 has the error of three roundings instead of one. */
static void tiles_in_bfloat16_are_off_by_little(void **state)
{
	const inv_conv_spec s = {.from = {2, 64, 16, 16},
	                         .outputs = 64,
	                         .window = {3, 1, 1, false},
	                         .precision = INV_BFLOAT16};
	enum { CELLS = 2 * 64 * 256 };
	float *x = normal(s.precision, CELLS, 1), *bias = calloc(64, sizeof *bias);
	float *weights = normal(s.precision, 64 * 64 * 9, 2),
		  *want = calloc(CELLS, sizeof *want);
	void *maps = to_maps(s.precision, s.from, x), *got;
	double error = 0, size = 0;

	(void)state;
	assert_true(bias && want && inv_winograd_pays(&s));
	got = run(0, &s, 2, weights, bias, maps, maps);
	inv_conv_ref(&s, x, weights, bias, want);
	for (size_t i = 0; i < CELLS; i++) {
		size_t map = i / 256, pixel = i % 256;
		double is = number(s.precision, got, (map / 64 * 256 + pixel) * 64 + map % 64);

		error += (is - (double)want[i]) * (is - (double)want[i]);
		size += (double)want[i] * (double)want[i];
	}
	assert_in_range((int)(1e4 * sqrt(error / size)), 105, 130); /* in units of 0.01 % */
	free(got);
	free(maps);
	free(want);
	free(weights);
	free(bias);
	free(x);
}

/* Layers that are concatenated write their channels and no others. */
static void results_go_to_some_channels(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		const inv_conv_spec s = {.from = {2, 32, 8, 8},
		                         .outputs = 32,
		                         .window = {i ? 3 : 1, 1, i ? 1 : 0, false},
		                         .precision = i == 2 ? INV_BFLOAT16 : INV_FLOAT32};
		const inv_maps wide = {2, 80, 8, 8};
		float *x = normal(s.precision, 2 * 32 * 64, 1), bias[32] = {0};
		float *weights = normal(s.precision, 32 * 32 * 9, 2);
		size_t each = inv_map_number(s.precision), row = 80 * each;
		void *maps = to_maps(s.precision, s.from, x), *before = calloc(2 * 32 * 64, each);
		char *alone = run(0, &s, 2, weights, bias, maps, before);
		char *to = malloc((size_t)inv_map_bytes(s.precision, wide));
		void *scratch;
		inv_conv *p;

		assert_true(before && to);
		memset(to, 0x7f, 128 * row);
		assert_int_equal(inv_conv_new(&fast, &s, weights, bias, &p), INVAR_OK);
		assert_non_null(scratch = malloc((size_t)inv_conv_scratch(p, 2, 1)));
		inv_conv_run(p, NULL, 2, maps, 80, 16, to, scratch);
		for (size_t pixel = 0; pixel < 128; pixel++)
			for (size_t j = 0; j < row; j++)
				assert_int_equal(to[pixel * row + j],
				                 j / each < 16 || j / each >= 48
				                     ? 0x7f
				                     : alone[pixel * 32 * each + j - 16 * each]);
		inv_conv_free(p);
		free(scratch);
		free(to);
		free(alone);
		free(before);
		free(maps);
		free(weights);
		free(x);
	}
}

/* Each weight takes over the rounding error of the one before: their sum stays right. */
static void sums_of_weights_survive_bfloat16(void **state)
{
	enum { TERMS = 256, OUTPUTS = 16 };
	const inv_conv_spec s = {.from = {1, TERMS, 1, 1},
	                         .outputs = OUTPUTS,
	                         .window = {1, 1, 0, false},
	                         .precision = INV_BFLOAT16};
	float *weights = normal(INV_FLOAT32, OUTPUTS * TERMS, 5), bias[OUTPUTS];
	_Alignas(float) uint16_t ones[TERMS], before[OUTPUTS] = {0};
	uint16_t *got;

	(void)state;
	for (size_t i = 0; i < TERMS; i++)
		ones[i] = inv_to_bfloat16(1);
	for (size_t o = 0; o < OUTPUTS; o++) {
		double sum = 0;

		for (size_t i = 0; i < TERMS; i++)
			sum += (double)weights[o * TERMS + i];
		bias[o] = (float)-sum;
	}
	got = run(0, &s, 1, weights, bias, ones, before);
	for (size_t o = 0; o < OUTPUTS; o++) /* half a unit of the last weight, below 4 */
		assert_true(fabsf(inv_from_bfloat16(got[o])) <= 1.0f / 128);
	free(got);
	free(weights);
}

/* ---- Bytes ------------------------------------------------------------------------ */

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
	float *x = normal(INV_INT8, cells, 1),
		  *weights = normal(INV_INT8, s->outputs * terms, 2);
	float *bias = normal(INV_INT8, s->outputs, 3);
	float *to = normal(INV_INT8, r.images * r.channels * r.height * r.width, 4);
	void *before = to_maps(INV_INT8, r, to), *maps, *want;

	for (size_t i = 0; i < cells; i++)
		x[i] = fmaxf(x[i], 0);
	maps = to_maps(INV_INT8, m, x);
	byte_conv(s, x, weights, bias, to);
	want = to_maps(INV_INT8, r, to);
	for (size_t i = 0; i < WAYS; i++) {
		void *got = run(i, s, m.images, weights, bias, maps, before);

		assert_memory_equal(got, want, (size_t)inv_map_bytes(INV_INT8, r));
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
	(void)state;
	check_shapes(INV_INT8, check_byte_conv);
}

/* The longest sum that cannot overflow is exact; a longer one is refused. */
static void long_sums_of_bytes(void **state)
{
	enum { LONGEST = 66304 }; /* of whole blocks of channels */
	inv_conv_spec s = {.from = {1, LONGEST, 1, 1},
	                   .outputs = 1,
	                   .window = {1, 1, 0, false},
	                   .precision = INV_INT8};
	float *weights = malloc(LONGEST * sizeof *weights), bias = 0;
	uint16_t *maps = malloc(LONGEST * sizeof *maps), before[16] = {0}, *got;
	inv_conv *p;

	(void)state;
	assert_true(weights && maps);
	for (size_t i = 0; i < LONGEST; i++) {
		weights[i] = -1;
		maps[i] = inv_to_bfloat16(3);
	}
	for (size_t i = 0; i < WAYS; i++) {
		got = run(i, &s, 1, weights, &bias, maps, before);
		assert_true(inv_from_bfloat16(*got) == rounded(-3.0f * LONGEST));
		free(got);
	}
	s.from.channels++;
	assert_int_equal(inv_conv_new(&fast, &s, weights, &bias, &p), INVAR_E_USE);
	assert_non_null(strstr(invar_last_error(), "may exceed 32 bits"));
	free(weights);
	free(maps);
}

/* What is not finite becomes NaN, in its own image or output alone; zeros stay zeros. */
static void bytes_and_numbers_that_are_not_finite(void **state)
{
	static const float bad[] = {NAN, INFINITY};
	const inv_conv_spec s = {.from = {3, 16, 1, 1},
	                         .outputs = 16,
	                         .window = {1, 1, 0, false},
	                         .precision = INV_INT8};
	float bias[16] = {0}, *weights = normal(INV_INT8, 16 * 16, 2);
	uint16_t maps[3 * 16], before[3 * 16] = {0};

	(void)state;
	for (size_t i = 0; i < 16; i++)
		weights[7 * 16 + i] = 0;
	for (size_t way = 0; way < 2 * WAYS; way++) {
		uint16_t *got;

		for (size_t i = 0; i < 3 * 16; i++)
			maps[i] = inv_to_bfloat16(i < 16 ? 0 : 1);
		maps[2 * 16 + 5] = inv_to_bfloat16(bad[way % 2]);
		weights[3 * 16 + 4] = bad[way % 2];
		got = run(way / 2, &s, 3, weights, bias, maps, before);
		for (size_t i = 0; i < 3 * 16; i++) {
			float is = inv_from_bfloat16(got[i]);

			assert_int_equal(isnan(is) != 0, i >= 2 * 16 || i % 16 == 3);
			assert_true(isnan(is) || (is == 0) == (i < 16 || i % 16 == 7));
		}
		free(got);
	}
	free(weights);
}

/* ---- Windows and pools ------------------------------------------------------------- */

static void windows_are_counted_as_pytorch_counts(void **state)
{
	(void)state;
	assert_int_equal(inv_window_places((inv_window){3, 2, 1, false}, 112), 56);
	assert_int_equal(inv_window_places((inv_window){7, 2, 3, false}, 224), 112);
	assert_int_equal(inv_window_places((inv_window){3, 2, 0, true}, 47), 23);
	assert_int_equal(inv_window_places((inv_window){3, 2, 0, true}, 48), 24);
	assert_int_equal(inv_window_places((inv_window){3, 2, 0, false}, 48), 23);
	assert_int_equal(inv_window_places((inv_window){2, 2, 1, true}, 3), 2);
	assert_int_equal(inv_window_places((inv_window){3, 2, 0, true}, 3), 1);
	assert_int_equal(inv_window_places((inv_window){3, 2, 0, true}, 2), 0);
}

static float largest(inv_maps m, inv_window w, const float *plane, size_t row, size_t col)
{
	float most = -INFINITY;

	for (size_t i = 0; i < w.kernel * w.kernel; i++) {
		size_t y = row * w.stride + i / w.kernel - w.padding;
		size_t x = col * w.stride + i % w.kernel - w.padding;

		if (y < m.height && x < m.width && plane[y * m.width + x] > most)
			most = plane[y * m.width + x];
	}
	return most;
}

static void pools_are_right(void **state)
{
	static const inv_window sizes[] = {{3, 2, 1, false}, {3, 2, 0, true}, {2, 2, 0, false}};
	const inv_maps m = {2, 19, 11, 9};

	(void)state;
	for (size_t i = 0; i < 6 * WAYS; i++) {
		const inv_precision precision = i / 3 % 2 ? INV_BFLOAT16 : INV_FLOAT32;
		const inv_window w = sizes[i % 3];
		const inv_maps to = {2, 19, inv_window_places(w, 11), inv_window_places(w, 9)};
		size_t places = to.height * to.width;
		float *x = normal(precision, 2 * 19 * 99, 7), means[2 * 19];
		float *want = malloc(2 * 19 * places * sizeof *want);
		void *maps = to_maps(precision, m, x);
		void *got = malloc((size_t)inv_map_bytes(precision, to));

		assert_true(want && got);
		for (size_t j = 0; j < 2 * 19 * places; j++)
			want[j] =
				largest(m, w, x + j / places * 99, j % places / to.width, j % to.width);
		inv_max_pool(ways[i / 6].kernels, i % 2 ? many : NULL, precision, m, w, maps, got);
		check_maps(precision, to, want, got, 0);
		inv_mean_pool(precision, m, maps, means);
		for (size_t j = 0; j < 2 * 19; j++) {
			double sum = 0;

			for (size_t k = 0; k < 99; k++)
				sum += (double)x[j * 99 + k];
			assert_true(fabs(means[j] - sum / 99) <= 1e-6);
		}
		free(got);
		free(maps);
		free(want);
		free(x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions_are_right),
		cmocka_unit_test(images_are_read),
		cmocka_unit_test(sums_of_weights_survive_bfloat16),
		cmocka_unit_test(tiles_are_right),
		cmocka_unit_test(tiles_in_bfloat16_are_off_by_little),
		cmocka_unit_test(results_go_to_some_channels),
		cmocka_unit_test(convolutions_of_bytes_have_the_bits_of_the_definition),
		cmocka_unit_test(long_sums_of_bytes),
		cmocka_unit_test(bytes_and_numbers_that_are_not_finite),
		cmocka_unit_test(windows_are_counted_as_pytorch_counts),
		cmocka_unit_test(pools_are_right),
	};
	int failed;

	if (invar_context_new(1, NULL, &one) != INVAR_OK ||
	    invar_context_new(3, NULL, &many) != INVAR_OK)
		return 1;
	inv_kernels_init(&plain, 0);
	inv_kernels_init(&avx2, one->cpu & ~(unsigned)(INV_CPU_AVX512 | INV_CPU_BFLOAT16));
	inv_kernels_init(&avx512, one->cpu & ~(unsigned)INV_CPU_BFLOAT16);
	inv_kernels_init(&fast, one->cpu);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	invar_context_free(one);
	invar_context_free(many);
	return failed;
}
