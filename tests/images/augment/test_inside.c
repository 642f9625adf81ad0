/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_inside.c - inside=1: the centre of a larger picture, warped, and never a pixel from
 * beyond it.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "golden.h"
#include "images/augment/augment.h"
#include "images/augment/inside.h"

static invar_augment *parse(const char *spec)
{
	invar_augment *a;

	if (invar_augment_parse(test_ctx, spec, &a) != INVAR_OK)
		fail_msg("%s: %s", spec, invar_last_error());
	return a;
}

static inv_draw key(uint64_t seed)
{
	return (inv_draw){.seed = seed, .split = "train"};
}

/* ---- Sides ----------------------------------------------------------------------- */

static const char *const specs[] = {
	"rotation:inside=1",
	"rotation:degrees=10,inside=1",
	"affine:inside=1",
	"affine:degrees=10..20,translate=0,scale=2..3,shear=0,inside=1",
	"affine:corners=exact,shear=40,inside=1",
	"rotation:inside=1+affine:inside=1",
	"rotation:inside=1+noise|id|affine:inside=1,p=0.5",
};

static void prepared_and_seen_are_the_reverse_of_each_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		invar_augment *a = parse(specs[i]);

		for (size_t seen = 1; seen < 300; seen++) {
			size_t side = inv_spec_prepared_side(&a->spec, seen);

			assert_true(side >= seen && (side - seen) % 2 == 0);
			assert_int_equal(inv_spec_seen_side(&a->spec, side), seen);
		}
		invar_augment_close(a);
	}
}

static void a_rotation_needs_the_diagonal_whatever_its_degrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		invar_augment *a = parse(specs[i]);

		assert_int_equal(inv_spec_prepared_side(&a->spec, 96), 136);
		assert_int_equal(inv_spec_prepared_side(&a->spec, 224), 318);
		assert_int_equal(inv_spec_prepared_side(&a->spec, 17), 25);
		invar_augment_close(a);
	}
}

/* ---- Nothing from beyond --------------------------------------------------------- */

static void assert_all_one(const char *spec, size_t side, const float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (x[i] != 1)
			fail_msg("%s, %zu pixels: value %zu is %g", spec, side, i, (double)x[i]);
}

/* White pictures stay white, as what lies outside is black. */
static void check_white(invar_augment *a, const char *spec, size_t seen)
{
	enum { IMAGES = 40 };
	size_t side = inv_spec_prepared_side(&a->spec, seen);
	const uint64_t shape[4] = {IMAGES, 1, side, side};
	float *x = malloc(IMAGES * side * side * sizeof *x);
	float *out = malloc(IMAGES * seen * seen * sizeof *out);
	inv_draw d = key(seen);

	for (size_t i = 0; i < IMAGES * side * side; i++)
		x[i] = 1;
	assert_int_equal(inv_augment_apply(a, &d, x, shape, NULL, out), INVAR_OK);
	assert_all_one(spec, seen, out, IMAGES * seen * seen);
	free(x);
	free(out);
}

static void no_draw_looks_outside_the_picture(void **state)
{
	static const char *const all[] = {
		"rotation:inside=1",
		"rotation:align_corners=false,inside=1",
		"rotation:degrees=45..45,inside=1",
		"affine:inside=1",
		"affine:align_corners=true,inside=1",
		"affine:degrees=45..45,translate=0.3..0.3,scale=0.5,shear=30..30,inside=1",
		"affine:degrees=100..130,translate=-0.1,scale=0.7..0.9,shear=-60..-20,inside=1",
		"rotation:inside=1+rotation:inside=1",
		"rotation:inside=1+affine:inside=1|id|flip|rotation:inside=1,p=0.5+crop",
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		invar_augment *a = parse(all[i]);

		for (size_t seen = 1; seen < 40; seen += seen < 12 ? 1 : 5)
			check_white(a, all[i], seen);
		invar_augment_close(a);
	}
}

/* Every integer angle, one per row. */
static void no_angle_shows_a_corner(void **state)
{
	enum { ANGLES = 361 };
	static const size_t sides[] = {1, 2, 3, 8, 17, 32, 33};
	invar_augment *a = parse("rotation:inside=1");
	float angle[ANGLES];

	(void)state;
	for (int i = 0; i < ANGLES; i++)
		angle[i] = (float)(i - 180);
	for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
		size_t seen = sides[i], side = inv_spec_prepared_side(&a->spec, seen);
		const uint64_t shape[4] = {ANGLES, 1, side, side};
		float *x = malloc(ANGLES * side * side * sizeof *x);
		float *out = malloc(ANGLES * seen * seen * sizeof *out);
		inv_draw d = key(0);

		for (size_t j = 0; j < ANGLES * side * side; j++)
			x[j] = 1;
		assert_int_equal(inv_augment_apply(a, &d, x, shape, angle, out), INVAR_OK);
		assert_all_one("rotation:inside=1", seen, out, ANGLES * seen * seen);
		free(x);
		free(out);
	}
	invar_augment_close(a);
}

/* ---- The clean picture ------------------------------------------------------------ */

static float *random_pictures(size_t count)
{
	float *x = malloc(count * sizeof *x);
	inv_stream s = inv_stream_of(5, "test/inside", 0);
	inv_cursor c = inv_cursor_of(&s, 0);

	for (size_t i = 0; i < count; i++)
		x[i] = inv_next_uniform(&c) - 0.5f;
	return x;
}

/* An operation without effect gives the picture's centre, bit for bit. */
static void check_still(const char *spec, size_t seen)
{
	enum { IMAGES = 3 };
	invar_augment *a = parse(spec);
	size_t side = inv_spec_prepared_side(&a->spec, seen);
	const uint64_t shape[4] = {IMAGES, 2, side, side};
	size_t cells = IMAGES * 2 * seen * seen;
	float *x = random_pictures(IMAGES * 2 * side * side);
	float *out = malloc(cells * sizeof *out), *clean = malloc(cells * sizeof *clean);
	uint64_t size[4];
	inv_draw d = key(1);

	assert_int_equal(inv_augment_apply(a, &d, x, shape, NULL, out), INVAR_OK);
	assert_int_equal(inv_augment_clean(a, x, shape, size, clean), INVAR_OK);
	assert_true(size[0] == IMAGES && size[1] == 2 && size[2] == seen && size[3] == seen);
	if (memcmp(out, clean, cells * sizeof *out) != 0)
		fail_msg("%s: %zu pixels are not the clean ones", spec, seen);
	for (size_t y = 0; y < seen; y++)
		for (size_t u = 0; u < seen; u++)
			assert_true(clean[y * seen + u] ==
			            x[(y + (side - seen) / 2) * side + u + (side - seen) / 2]);
	free(x);
	free(out);
	free(clean);
	invar_augment_close(a);
}

static void what_leaves_it_alone_gives_the_clean_picture(void **state)
{
	static const char *const still[] = {
		"rotation:degrees=0,inside=1",
		"rotation:inside=1,p=0",
		"affine:degrees=0,translate=0,scale=1,shear=0,inside=1",
		"affine:inside=1,p=0",
		"id|rotation:degrees=0,inside=1",
		"affine:inside=1,p=0+rotation:degrees=0,inside=1+id",
	};

	(void)state;
	for (size_t i = 0; i < sizeof still / sizeof *still; i++)
		for (size_t seen = 1; seen < 50; seen += 4 + seen % 3)
			check_still(still[i], seen);
}

/* ---- Values ------------------------------------------------------------------------ */

static float *load(const char *kind, const char *name, uint64_t *shape)
{
	char path[2048];
	invar_array *array;
	float *x;

	snprintf(path, sizeof path, "%s/tests/golden/augment/inside/%s_%s.npy", golden_source(),
	         kind, name);
	if (invar_array_open(test_ctx, path, &array) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	memcpy(shape, array->h.shape, array->h.ndim * sizeof *shape);
	x = malloc(array->h.cells * sizeof *x);
	assert_int_equal(invar_array_read(array, 0, array->h.cells, x), INVAR_OK);
	invar_array_close(array);
	return x;
}

static void check_golden(const char *spec, const char *name)
{
	uint64_t shape[4], rows[4], want_shape[4], got[4];
	float *x = load("x", name, shape), *row = load("row", name, rows);
	float *want = load("exp", name, want_shape), *out;
	invar_augment *a = parse(spec);
	inv_draw d = key(0);
	size_t cells;

	assert_int_equal(invar_augment_result(a, shape, got), INVAR_OK);
	assert_memory_equal(got, want_shape, sizeof got);
	assert_int_equal(rows[1], invar_augment_columns(a));
	cells = (size_t)(got[0] * got[1] * got[2] * got[3]);
	out = malloc(cells * sizeof *out);
	assert_int_equal(inv_augment_apply(a, &d, x, shape, row, out), INVAR_OK);
	for (size_t i = 0; i < cells; i++)
		if (!(fabsf(out[i] - want[i]) <= 2e-5f)) /* values of 4, places of 2e-6 */
			fail_msg("%s: value %zu is %g, not %g", name, i, (double)out[i],
			         (double)want[i]);
	invar_augment_close(a);
	free(x);
	free(row);
	free(want);
	free(out);
}

static void centres_equal_those_of_whole_warped_pictures(void **state)
{
	(void)state;
	check_golden("rotation:inside=1", "rotation_odd");
	check_golden("rotation:inside=1", "rotation_even");
	check_golden("affine:inside=1", "affine_odd");
}

/* ---- Refusals ---------------------------------------------------------------------- */

static void pictures_and_rows_that_do_not_fit_are_refused(void **state)
{
	invar_augment *a = parse("affine:inside=1"), *b;
	const uint64_t oblong[4] = {1, 1, 45, 47}, small[4] = {1, 1, 2, 2},
				   shape[4] = {1, 1, 45, 45};
	float row[6] = {30, 0.5f, 3, 3, 15, 0}, x[45 * 45] = {0}, out[45 * 45];
	uint64_t got[4];
	inv_draw d = key(0);

	(void)state;
	assert_int_equal(invar_augment_result(a, oblong, got), INVAR_E_USE);
	test_assert_error("square");
	assert_int_equal(inv_augment_prepared(a, oblong, got), INVAR_E_USE);
	assert_int_equal(inv_augment_clean(a, x, oblong, got, NULL), INVAR_E_USE);
	assert_int_equal(invar_augment_result(a, small, got), INVAR_E_USE);
	test_assert_error("at least 6 x 6");
	assert_int_equal(inv_augment_apply(a, &d, x, shape, row, out), INVAR_E_USE);
	test_assert_error("inside=1 does not allow");
	invar_augment_close(a);
	assert_int_equal(invar_augment_parse(test_ctx, "crop:size=9+rotation:inside=1", &b),
	                 INVAR_E_USE);
	test_assert_error("put it after");
	invar_augment_close(parse("crop+rotation:inside=1+crop:size=9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prepared_and_seen_are_the_reverse_of_each_other),
		cmocka_unit_test(a_rotation_needs_the_diagonal_whatever_its_degrees),
		cmocka_unit_test(no_draw_looks_outside_the_picture),
		cmocka_unit_test(no_angle_shows_a_corner),
		cmocka_unit_test(what_leaves_it_alone_gives_the_clean_picture),
		cmocka_unit_test(centres_equal_those_of_whole_warped_pictures),
		cmocka_unit_test(pictures_and_rows_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
