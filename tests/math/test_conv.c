/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c - oneDNN's convolutions against the plain loop, over odd sizes; pooling. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/conv.h"
#include "math/winograd.h"

static const inv_conv_spec specs[] = {
	/* images of one and three channels */
	{{1, 3, 17, 19, false}, 8, {7, 2, 3, false}, .plain = true, .relu = true},
	{{2, 1, 9, 12, false}, 5, {3, 1, 1, false}, .plain = true},
	{{3, 3, 11, 8, false}, 17, {3, 2, 0, false}, .plain = true, .relu = true},
	{{2, 3, 224, 31, false}, 64, {7, 2, 3, false}, .plain = true, .relu = true},
	/* few channels, odd ones, whole blocks */
	{{1, 1, 1, 1, false}, 1, {1, 1, 0, false}, .add = false},
	{{2, 2, 5, 7, false}, 3, {3, 1, 1, false}, .add = true, .relu = true},
	{{1, 4, 16, 16, false}, 16, {1, 1, 0, false}, .add = true, .relu = true},
	{{3, 8, 9, 5, false}, 32, {1, 2, 0, false}, .add = false},
	{{2, 16, 7, 7, false}, 8, {3, 2, 1, false}, .relu = true},
	{{4, 24, 3, 3, false}, 40, {3, 1, 1, false}, .add = true},
	{{1, 72, 13, 6, false}, 13, {1, 1, 0, false}, .relu = true},
	{{2, 64, 14, 14, false}, 128, {3, 2, 1, false}, .relu = true},
	{{2, 256, 6, 6, false}, 64, {1, 1, 0, false}, .add = true, .relu = true},
	{{5, 130, 2, 2, false}, 66, {3, 1, 1, false}, .add = true, .relu = true},
	/* 3x3 in tiles */
	{{2, 32, 24, 24, false}, 40, {3, 1, 1, false}, .add = true, .relu = true},
	{{1, 64, 13, 22, false}, 32, {3, 1, 1, false}, .relu = true},
	{{5, 40, 7, 6, false}, 64, {3, 1, 1, false}, .add = true},
	{{2, 10, 1, 1, false}, 12, {3, 1, 1, false}, .add = false},
	{{2, 10, 2, 3, false}, 12, {5, 2, 2, false}, .add = false},
};

static void check(invar_status st)
{
	if (st != INVAR_OK)
		fail_msg("%s", invar_last_error());
}

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(3, purpose, 0);
	float *x = inv_alloc(count * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

/* Plain maps into blocks, or back; what fills up the last block is 0. */
static void lay(size_t block, inv_maps m, bool back, float *plain, float *laid)
{
	size_t pixels = m.height * m.width;
	size_t blocks = (m.channels + block - 1) / block;

	if (!back)
		memset(laid, 0, inv_maps_floats(block, m) * sizeof *laid);
	for (size_t n = 0; n < m.images; n++)
		for (size_t c = 0; c < m.channels; c++)
			for (size_t i = 0; i < pixels; i++) {
				float *p = &plain[(n * m.channels + c) * pixels + i];
				size_t plane =
					m.together ? c / block * m.images + n : n * blocks + c / block;
				float *l = &laid[(plane * pixels + i) * block + c % block];

				*(back ? p : l) = *(back ? l : p);
			}
}

static float *laid(size_t block, inv_maps m, const float *plain)
{
	float *out = inv_alloc(inv_maps_floats(block, m) * sizeof *out);

	assert_non_null(out);
	lay(block, m, false, (float *)(uintptr_t)plain, out);
	return out;
}

/*
 * Sums of `terms` products of N(0, 1), each rounded to float on the way. In tiles, larger
 * numbers cancel each other.
 */
static double limit_of(size_t terms, bool tiles)
{
	return tiles ? 5e-6 * sqrt((double)terms) : 1e-6 + 1e-7 * (double)terms;
}

static void assert_maps(const float *got, const float *want, size_t count, double limit)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)got[i] - want[i]) <= limit + 2e-6 * fabs((double)want[i])))
			fail_msg("value %zu of %zu is %.9g, not %.9g", i, count, got[i], want[i]);
}

static void check_spec(invar_context *ctx, const inv_conv_spec *s)
{
	const inv_maps to = inv_conv_result(s);
	size_t filter = s->from.channels * s->window.kernel * s->window.kernel;
	size_t block = inv_maps_block(ctx), count = inv_maps_floats(1, to);
	float *x = draw("x", inv_maps_floats(1, s->from)), *w = draw("w", s->outputs * filter);
	float *bias = draw("b", s->outputs), *want = draw("y", count), *got = draw("y", count);
	float *in = laid(s->plain ? 1 : block, s->from, x), *out = laid(block, to, got);
	void *scratch;
	inv_conv *p;

	inv_conv_ref(s, x, w, bias, want);
	check(inv_conv_new(ctx, s, w, bias, NULL, &p));
	scratch = inv_alloc(inv_conv_scratch(p) + 1);
	check(inv_conv_run(p, in, out, scratch, 0));
	lay(block, to, true, got, out);
	assert_maps(got, want, count, limit_of(filter, inv_winograd_pays(ctx, s)));
	/* What fills up the last block has stayed 0. */
	for (size_t c = to.channels; c % block && to.images == 1; c++)
		assert_true(out[(to.channels / block * to.height * to.width) * block + c % block] ==
		            0);
	inv_conv_free(p);
	inv_free(x);
	inv_free(w);
	inv_free(bias);
	inv_free(want);
	inv_free(got);
	inv_free(in);
	inv_free(out);
	inv_free(scratch);
}

static void convolutions_equal_the_loop(void **state)
{
	invar_context *ctx;

	(void)state;
	check(invar_context_new(1, NULL, &ctx));
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		inv_conv_spec s = specs[i];

		check_spec(ctx, &s);
		if (s.plain || inv_maps_block(ctx) == 1)
			continue;
		s.together = true; /* into maps that are stored together, and from such maps */
		check_spec(ctx, &s);
		s.from.together = true;
		check_spec(ctx, &s);
	}
	invar_context_free(ctx);
}

/* Equal images give equal bits, wherever they lie in their group. */
static void an_images_place_changes_no_bit(void **state)
{
	const inv_window three = {3, 1, 1, false}, point = {1, 1, 0, false};
	const inv_conv_spec all[] = {{{7, 64, 6, 6, false}, 72, three, .relu = true},
	                             {{7, 64, 6, 6, true}, 72, three, .together = true},
	                             {{7, 24, 3, 3, true}, 40, three, .together = true},
	                             {{7, 72, 3, 3, true}, 48, point, .together = true},
	                             {{7, 72, 5, 3, false}, 48, point, .relu = true}};
	invar_context *ctx;

	(void)state;
	check(invar_context_new(1, NULL, &ctx));
	for (size_t i = 0; i < sizeof all / sizeof *all && inv_maps_block(ctx) > 1; i++) {
		const inv_conv_spec *s = &all[i];
		const inv_maps to = inv_conv_result(s);
		size_t area = s->window.kernel * s->window.kernel, block = inv_maps_block(ctx);
		size_t in = inv_maps_floats(1, s->from) / s->from.images;
		size_t count = inv_maps_floats(1, to), each = count / to.images;
		float *x = draw("x", s->from.images * in), *out = draw("y", count);
		float *w = draw("w", s->outputs * s->from.channels * area);
		float *bias = draw("b", s->outputs), *laid_x, *laid_out = laid(block, to, out);
		void *scratch;
		inv_conv *p;

		for (size_t n = 1; n < s->from.images; n++)
			memcpy(x + n * in, x, in * sizeof *x);
		laid_x = laid(block, s->from, x);
		check(inv_conv_new(ctx, s, w, bias, NULL, &p));
		scratch = inv_alloc(inv_conv_scratch(p) + 1);
		check(inv_conv_run(p, laid_x, laid_out, scratch, 0));
		lay(block, to, true, out, laid_out);
		for (size_t n = 1; n < to.images; n++)
			assert_memory_equal(out, out + n * each, each * sizeof *out);
		inv_conv_free(p);
		inv_free(x);
		inv_free(out);
		inv_free(w);
		inv_free(bias);
		inv_free(laid_x);
		inv_free(laid_out);
		inv_free(scratch);
	}
	invar_context_free(ctx);
}

/* ---- One image, many images, one thread, many threads ----------------------------- */

/* A layer of a network: of a group of images on one thread, which the rest must equal. */
typedef struct layer_case {
	inv_conv_spec s;
	size_t block, filter, in, out; /* floats of a filter, of an image before and after */
	float *x, *w, *bias, *before, *want;
} layer_case;

/* The results of the first n images, in plain order. */
static void run_layer(const layer_case *c, unsigned threads, size_t n, bool split,
                      const inv_conv *like, inv_conv **made, float *got)
{
	inv_conv_spec s = c->s;
	invar_context *ctx;
	float *in, *out;
	void *scratch;
	inv_conv *p;

	check(invar_context_new(threads, NULL, &ctx));
	s.from.images = n;
	s.split = split;
	in = laid(s.plain ? 1 : c->block, s.from, c->x);
	out = laid(c->block, inv_conv_result(&s), c->before);
	check(inv_conv_new(ctx, &s, c->w, c->bias, like, &p));
	assert_non_null(scratch = inv_alloc(inv_conv_scratch(p) + 1));
	check(inv_conv_run(p, in, out, scratch, 0));
	lay(c->block, inv_conv_result(&s), true, got, out);
	if (made)
		*made = p;
	else
		inv_conv_free(p);
	inv_free(in);
	inv_free(out);
	inv_free(scratch);
	invar_context_free(ctx);
}

static void check_layer(inv_conv_spec s, size_t block)
{
	const inv_maps to = inv_conv_result(&s);
	layer_case c = {.s = s, .block = block};
	inv_conv *whole;
	float *got;

	c.s.group = s.from.images;
	c.filter = s.from.channels * s.window.kernel * s.window.kernel;
	c.in = inv_maps_floats(1, s.from) / s.from.images;
	c.out = inv_maps_floats(1, to) / to.images;
	c.x = draw("x", c.in * s.from.images);
	c.w = draw("w", s.outputs * c.filter);
	c.bias = draw("b", s.outputs);
	c.before = draw("y", c.out * to.images);
	c.want = draw("z", c.out * to.images);
	got = draw("g", c.out * to.images);
	run_layer(&c, 3, s.from.images, false, NULL, &whole, c.want);
	for (size_t n = 1; n <= s.from.images; n = n < 3 ? n + 1 : 2 * n)
		for (unsigned threads = 1; threads <= 3; threads++)
			for (int split = 0; split < 2; split++) {
				/* The weights are those of `whole`, or another copy. */
				run_layer(&c, threads, n, split, threads == 3 ? whole : NULL, NULL, got);
				if (memcmp(got, c.want, n * c.out * sizeof *got) != 0)
					fail_msg("%zu of %zu images of %zu x %zu x %zu to %zu, kernel %zu: "
					         "bits differ on %u threads, split %d",
					         n, s.from.images, s.from.channels, s.from.height, s.from.width,
					         s.outputs, s.window.kernel, threads, split);
			}
	inv_conv_free(whole);
	inv_free(c.x);
	inv_free(c.w);
	inv_free(c.bias);
	inv_free(c.before);
	inv_free(c.want);
	inv_free(got);
}

/* Stages 1 to 4 of ResNet-50 on images of this side: each shape once. */
static void check_resnet(size_t side, size_t images, size_t block)
{
	const inv_window point = {1, 1, 0, false}, skip_one = {1, 2, 0, false};
	const inv_window three = {3, 1, 1, false}, halving = {3, 2, 1, false};
	size_t in = 64, h = side / 4;

	for (size_t i = 0; i < 4; i++) {
		size_t planes = (size_t)64 << i, half = i ? h / 2 : h;
		bool small = block > 1 && half * half <= 64, before = block > 1 && h * h <= 64;
		const inv_maps from = {images, in, h, h, before},
					   mid = {images, planes, h, h, before};
		const inv_maps after = {images, planes, half, half, small};
		const inv_maps wide = {images, 4 * planes, half, half, small};

		check_layer(
			(inv_conv_spec){from, 4 * planes, i ? skip_one : point, .together = small},
			block);
		check_layer((inv_conv_spec){from, planes, point, .together = before, .relu = true},
		            block);
		check_layer((inv_conv_spec){mid, planes, i ? halving : three, .together = small,
		                            .relu = true},
		            block);
		check_layer((inv_conv_spec){after, planes, three, .together = small, .add = true,
		                            .relu = true},
		            block);
		check_layer((inv_conv_spec){after, 4 * planes, point, .together = small,
		                            .add = true, .relu = true},
		            block);
		check_layer((inv_conv_spec){wide, planes, point, .together = small, .relu = true},
		            block);
		in = 4 * planes;
		h = half;
	}
}

/* Of 30 runs under an emulator, where oneDNN has plain loops only. */
static bool takes_minutes(const inv_conv_spec *s)
{
	const inv_maps to = inv_conv_result(s);
	size_t filter = s->from.channels * s->window.kernel * s->window.kernel;

	return test_is_emulated() && inv_maps_floats(1, to) * filter > 8000000;
}

static void no_bit_depends_on_images_or_threads(void **state)
{
	invar_context *ctx;
	size_t block;

	(void)state;
	check(invar_context_new(1, NULL, &ctx));
	block = inv_maps_block(ctx);
	invar_context_free(ctx);
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		if (takes_minutes(&specs[i]))
			continue;
		check_layer(specs[i], block);
		if (!specs[i].plain && block > 1) {
			inv_conv_spec s = specs[i];

			s.together = true;
			check_layer(s, block);
			s.from.together = true;
			check_layer(s, block);
		}
	}
}

static void layers_of_a_resnet_have_the_same_bits_for_one_image(void **state)
{
	invar_context *ctx;
	size_t block;

	(void)state;
	check(invar_context_new(1, NULL, &ctx));
	block = inv_maps_block(ctx);
	invar_context_free(ctx);
	if (block == 1 || test_is_emulated())
		skip(); /* plain loops would take minutes */
	check_layer(
		(inv_conv_spec){
			{2, 3, 224, 224, false}, 64, {7, 2, 3, false}, .plain = true, .relu = true},
		block);
	check_resnet(224, 2, block);
	check_resnet(96, 8, block);
}

/* The cases above that are meant to use tiles do use them. */
static void only_large_maps_are_cut_into_tiles(void **state)
{
	const inv_window three = {3, 1, 1, false}, halving = {3, 2, 1, false};
	inv_conv_spec s = {{2, 64, 24, 24, false}, 64, three, .relu = true};
	invar_context *ctx;

	(void)state;
	check(invar_context_new(1, NULL, &ctx));
	if (!(ctx->cpu & INV_CPU_AVX2) || inv_maps_block(ctx) != INV_WINOGRAD_BLOCK) {
		invar_context_free(ctx);
		skip();
	}
	assert_true(inv_winograd_pays(ctx, &s));
	s.window = halving;
	assert_false(inv_winograd_pays(ctx, &s));
	s.window = three;
	s.from.channels = 60; /* not a multiple of a block */
	assert_false(inv_winograd_pays(ctx, &s));
	s.from = (inv_maps){2, 64, 5, 5, false}; /* tiles mostly empty */
	assert_false(inv_winograd_pays(ctx, &s));
	invar_context_free(ctx);
}

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

static void pools_are_the_largest_and_the_mean(void **state)
{
	const inv_maps m = {1, 2, 3, 4, false};
	const float x[24] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,
	                     -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12};
	const float padded[8] = {6, 8, 10, 12, -1, -2, -5, -6};
	const float ceiled[4] = {11, 12, -1, -3};
	static const size_t blocks[] = {1, 8, 16};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		float *in = laid(blocks[i], m, x), out[2 * 2 * 16], plain[8], mean[2];

		inv_max_pool(NULL, blocks[i], m, (inv_window){3, 2, 1, false}, in, out);
		lay(blocks[i], (inv_maps){1, 2, 2, 2, false}, true, plain, out);
		assert_memory_equal(plain, padded, sizeof padded);
		inv_max_pool(NULL, blocks[i], m, (inv_window){3, 2, 0, true}, in, out);
		lay(blocks[i], (inv_maps){1, 2, 1, 2, false}, true, plain, out);
		assert_memory_equal(plain, ceiled, sizeof ceiled);
		inv_mean_pool(blocks[i], m, 1, in, mean);
		assert_true(mean[0] == 6.5f && mean[1] == -6.5f);
		inv_free(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions_equal_the_loop),
		cmocka_unit_test(an_images_place_changes_no_bit),
		cmocka_unit_test(no_bit_depends_on_images_or_threads),
		cmocka_unit_test(layers_of_a_resnet_have_the_same_bits_for_one_image),
		cmocka_unit_test(only_large_maps_are_cut_into_tiles),
		cmocka_unit_test(windows_are_counted_as_pytorch_counts),
		cmocka_unit_test(pools_are_the_largest_and_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
