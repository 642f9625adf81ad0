/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bounds.c - no loop over pixels reads or writes beyond its image, whatever its size.
 *
 * Images are placed beside an inaccessible page, with NaN on their other side: a read
 * outside ends the test or shows in the result, which is compared with the definition.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "fence.h"
#include "images/augment/augment.h"
#include "images/augment/warp.h"

enum { PLANES = 2, SIDE = 17, FILLS = 4, CELLS = PLANES * SIDE * SIDE };

static struct inv_augment_kernels ref, fast;
static test_fence from, to;
static float picture[CELLS];

/* ---- The definition ------------------------------------------------------------------ */

static double turn_back(double at, size_t side, bool centres)
{
	double low = centres ? 0 : -0.5, length = (double)side - (centres ? 1 : 0), rest;

	if (length <= 0)
		return 0;
	rest = fmod(fabs(at - low), 2 * length);
	return low + (rest <= length ? rest : 2 * length - rest);
}

static double held(const inv_warp *w, double at, size_t side)
{
	if (w->fill == INV_FILL_REFLECT)
		at = turn_back(at, side, w->align_corners);
	if (w->fill == INV_FILL_REFLECT || w->fill == INV_FILL_EDGE)
		at = fmin(fmax(at, 0), (double)side - 1);
	return at;
}

static double pixel(const float *plane, inv_extent s, double x, double y, double beyond)
{
	if (x < 0 || y < 0 || x >= (double)s.w || y >= (double)s.h)
		return beyond;
	return (double)plane[(size_t)y * s.w + (size_t)x];
}

static double mean_of(const float *plane, inv_extent s)
{
	double sum = 0;

	for (size_t i = 0; i < s.h * s.w; i++)
		sum += (double)plane[i];
	return sum / (double)(s.h * s.w);
}

static double sample(const inv_warp *w, const float *plane, inv_extent s, double x,
                     double y)
{
	double beyond = w->fill == INV_FILL_MEAN ? mean_of(plane, s) : 0;
	double px = held(w, x, s.w), py = held(w, y, s.h);
	double left = floor(px), top = floor(py), fx = px - left, fy = py - top;

	return (1 - fy) * ((1 - fx) * pixel(plane, s, left, top, beyond) +
	                   fx * pixel(plane, s, left + 1, top, beyond)) +
	       fy * ((1 - fx) * pixel(plane, s, left, top + 1, beyond) +
	             fx * pixel(plane, s, left + 1, top + 1, beyond));
}

/* Positions of the kernels are exact to 2e-6 pixels, or 1e-7 of a step. */
static void assert_defined(const inv_warp *w, inv_extent in, inv_extent out,
                           const float *got)
{
	const inv_pixel_map at = inv_warp_pixel_map(w, in, out);
	double slack = 1e-5 + 1e-6 * (fabs(at.xx) + fabs(at.yx));

	for (size_t c = 0; c < in.c; c++)
		for (size_t v = 0; v < out.h; v++)
			for (size_t u = 0; u < out.w; u++) {
				double x = at.xx * (double)u + at.xy * (double)v + at.x0;
				double y = at.yx * (double)u + at.yy * (double)v + at.y0;
				double want = sample(w, picture + c * in.h * in.w, in, x, y);
				float value = got[(c * out.h + v) * out.w + u];

				if (!(fabs((double)value - want) <= 8 * slack))
					fail_msg("%zu x %zu to %zu x %zu, fill %d, pixel (%zu, %zu) of "
					         "plane %zu is %g, not %g",
					         in.h, in.w, out.h, out.w, w->fill, u, v, c, value, want);
			}
}

/* Both flavours, with the inaccessible page before and after the image. */
static void check_warp(const inv_warp *w, inv_extent in, inv_extent out)
{
	size_t bytes = inv_extent_cells(in) * sizeof(float);
	size_t out_bytes = inv_extent_cells(out) * sizeof(float);
	float first[CELLS];

	for (int i = 0; i < 4; i++) {
		const float *x = test_fenced_copy(&from, i % 2, picture, bytes);
		float *y = test_fenced(&to, i % 2, out_bytes);

		inv_warp_apply(i < 2 ? &ref : &fast, w, x, in, out, y);
		if (!i) {
			memcpy(first, y, out_bytes);
			assert_defined(w, in, out, y);
		}
		assert_memory_equal(first, y, out_bytes);
	}
}

/* On the heap, a sanitizer also catches reads between an image and its page. */
static void check_on_heap(const inv_warp *w, inv_extent in, inv_extent out)
{
	size_t bytes = inv_extent_cells(in) * sizeof(float);
	float *x = malloc(bytes), *y = malloc(inv_extent_cells(out) * sizeof *y);

	assert_true(x && y);
	memcpy(x, picture, bytes);
	inv_warp_apply(&fast, w, x, in, out, y);
	assert_defined(w, in, out, y);
	free(x);
	free(y);
}

/* ---- Rotations ----------------------------------------------------------------------- */

static void set_rotation(inv_warp *w, inv_extent in, double degrees)
{
	double angle = degrees * (M_PI / 180), c = cos(angle), s = sin(angle);
	double cx = (double)(in.w - 1) / 2, cy = (double)(in.h - 1) / 2;
	const double m[9] = {c, s, (1 - c) * cx - s * cy, -s, c, s * cx + (1 - c) * cy, 0,
	                     0, 1};

	memcpy(w->m, m, sizeof m);
}

static void check_size(inv_extent in, bool heap)
{
	static const double angles[] = {0, 0.03, 30, 90, 180, -135};

	for (int fill = 0; fill < FILLS; fill++)
		for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
			inv_warp w = {.fill = fill, .align_corners = i % 2 == 0, .exact = i % 3 == 0};

			set_rotation(&w, in, angles[i]);
			if (heap)
				check_on_heap(&w, in, in);
			else
				check_warp(&w, in, in);
		}
}

static void every_small_image_is_rotated_within_its_bounds(void **state)
{
	(void)state;
	for (size_t h = 1; h <= SIDE; h++)
		for (size_t w = 1; w <= SIDE; w++)
			check_size((inv_extent){PLANES, h, w}, false);
}

static void every_small_image_is_rotated_on_the_heap(void **state)
{
	(void)state;
	for (size_t h = 1; h <= SIDE; h++)
		for (size_t w = 1; w <= SIDE; w++)
			check_size((inv_extent){PLANES, h, w}, true);
}

/* ---- Any map ------------------------------------------------------------------------- */

/* Sides to other sides, sheared and scaled by 1e-3 to 1e3. */
static void any_map_stays_within_its_bounds(void **state)
{
	inv_stream s = inv_stream_of(5, "maps", 0);

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		inv_cursor c = inv_cursor_of(&s, i);
		inv_extent in = {PLANES, 1 + inv_next_below(&c, SIDE),
		                 1 + inv_next_below(&c, SIDE)};
		inv_extent out = {PLANES, 1 + inv_next_below(&c, SIDE),
		                  1 + inv_next_below(&c, SIDE)};
		inv_warp w = {.fill = (int)(i % FILLS),
		              .align_corners = inv_next_below(&c, 2),
		              .exact = inv_next_below(&c, 2)};
		double scale = pow(10, 6 * (double)inv_next_uniform(&c) - 3);

		for (int k = 0; k < 6; k++)
			w.m[k] = scale * (2 * (double)inv_next_uniform(&c) - 1);
		w.m[2] = (double)inv_next_uniform(&c) * (double)out.w;
		w.m[5] = (double)inv_next_uniform(&c) * (double)out.h;
		w.m[8] = 1;
		check_warp(&w, in, out);
	}
}

/*
 * A step of many thousand pixels: in float, a position eight steps on is off by more than
 * a pixel, and only one pixel of a block lies inside.
 */
static void steps_beyond_a_floats_reach_stay_within_their_bounds(void **state)
{
	inv_stream s = inv_stream_of(6, "steps", 0);

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		inv_cursor c = inv_cursor_of(&s, i);
		inv_extent in = {PLANES, 2 + inv_next_below(&c, 3), 2 + inv_next_below(&c, 3)};
		inv_extent out = {PLANES, 1, SIDE};
		inv_warp w = {.exact = true, .fill = (int)(i % FILLS)};
		double step = 1e3 + 1e6 * (double)inv_next_uniform(&c);
		double u = (double)inv_next_below(&c, SIDE);
		double x = (double)inv_next_uniform(&c) * (double)(in.w - 1);

		/* x = step (u' - u) + x inverted, y the row in the middle */
		w.m[0] = 1 / step;
		w.m[2] = u - x / step;
		w.m[4] = 1;
		w.m[5] = -0.5;
		w.m[8] = 1;
		if (i % 2) {
			w.m[3] = w.m[0];
			w.m[0] = 0;
			w.m[1] = w.m[4];
			w.m[4] = 0;
			w.m[5] = w.m[2];
			w.m[2] = -0.5;
		}
		for (int flavour = 0; flavour < 2; flavour++) {
			size_t bytes = inv_extent_cells(in) * sizeof(float);
			const float *p = test_fenced_copy(&from, flavour, picture, bytes);
			float *y = test_fenced(&to, flavour, inv_extent_cells(out) * sizeof *y);

			inv_warp_apply(flavour ? &fast : &ref, &w, p, in, out, y);
			for (size_t k = 0; k < inv_extent_cells(out); k++)
				assert_true(isfinite(y[k]));
		}
	}
}

/* ---- Rows ------------------------------------------------------------------------ */

static test_fence row_fence[4];

static void check_rows(size_t n, bool before)
{
	size_t bytes = n * sizeof(float);
	const float *x = test_fenced_copy(&row_fence[0], before, picture, bytes);
	const float *share = test_fenced_copy(&row_fence[1], before, picture, bytes);
	float *out = test_fenced_copy(&row_fence[2], before, picture + 100, bytes);
	int32_t *at = test_fenced(&row_fence[3], before, n * sizeof *at);

	for (size_t i = 0; i < n; i++)
		at[i] = n > 1 ? (int32_t)(i * 7 % (n - 1)) : 0;
	fast.mix_rows(x, share, 0.3f, n, out);
	fast.add_scaled(x, 0.3f, n, out);
	fast.add_field(x, 0.3f, 2, n, out);
	fast.scale(x, 0.3f, 2, -1, 1, n, out);
	if (n > 1)
		fast.stretch_row(x, at, share, n, out);
	for (size_t i = 0; i < n; i++)
		assert_true(isfinite(out[i]));
}

static void rows_of_every_length_stay_within_their_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++)
		row_fence[i] = test_fence_new(CELLS * sizeof(float));
	for (size_t n = 0; n <= 70; n++) {
		check_rows(n, false);
		check_rows(n, true);
	}
	for (size_t i = 0; i < 4; i++)
		test_fence_free(&row_fence[i]);
}

/* ---- Every operation ----------------------------------------------------------------- */

static void apply_all(const char *spec, const uint64_t shape[4])
{
	size_t cells = (size_t)(shape[0] * shape[1] * shape[2] * shape[3]);
	const float *x = test_fenced_copy(&from, shape[3] % 2, picture, cells * sizeof *x);
	uint64_t result[4] = {0};
	invar_augment *a;
	float *out;

	assert_int_equal(invar_augment_parse(test_ctx, spec, &a), INVAR_OK);
	if (invar_augment_result(a, shape, result) == INVAR_OK) {
		assert_true(result[0] * result[1] * result[2] * result[3] <= CELLS);
		out = test_fenced(&to, shape[3] % 2,
		                  (size_t)(result[0] * result[1] * result[2] * result[3]) *
		                      sizeof *out);
		if (invar_augment_apply(a, NULL, x, shape, NULL, out) != INVAR_OK)
			fail_msg("%s: %s", spec, invar_last_error());
		for (size_t i = 0; i < result[0] * result[1] * result[2] * result[3]; i++)
			assert_true(isfinite(out[i]));
	}
	invar_augment_close(a);
}

static void every_operation_takes_small_images(void **state)
{
	static const size_t sides[] = {1, 2, 3, 5, 8, 11};
	char names[300], *rest = names;

	(void)state;
	snprintf(names, sizeof names, "%s", inv_augment_names());
	for (const char *name; (name = strsep(&rest, "|"));)
		for (size_t i = 0; i < 36; i++)
			for (uint64_t n = 1; n <= 3; n += 2) {
				const uint64_t shape[4] = {n, 1, sides[i / 6], sides[i % 6]};

				apply_all(name, shape);
			}
}

/* ------------------------------------------------------------------------------------- */

static int prepare(void **state)
{
	inv_stream s = inv_stream_of(11, "picture", 0);

	if (test_context_open(state) != 0)
		return 1;
	inv_augment_kernels_init(&ref, 0);
	inv_augment_kernels_init(&fast, test_ctx->cpu);
	inv_fill_uniform(&s, 0, 0, 1, picture, CELLS);
	from = test_fence_new(sizeof picture);
	to = test_fence_new(sizeof picture);
	return 0;
}

static int finish(void **state)
{
	test_fence_free(&from);
	test_fence_free(&to);
	return test_context_close(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_image_is_rotated_within_its_bounds),
		cmocka_unit_test(every_small_image_is_rotated_on_the_heap),
		cmocka_unit_test(any_map_stays_within_its_bounds),
		cmocka_unit_test(steps_beyond_a_floats_reach_stay_within_their_bounds),
		cmocka_unit_test(rows_of_every_length_stay_within_their_bounds),
		cmocka_unit_test(every_operation_takes_small_images),
	};

	return cmocka_run_group_tests(tests, prepare, finish);
}
