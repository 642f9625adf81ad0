/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - Kornia's own outputs, replayed from its parameters, and the
 * worked numbers of a warp and a crop.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/npy.h"
#include "golden_spec.h"
#include "images/augment/augment.h"

static float *load(const char *folder, const char *file, uint64_t repeat, uint64_t shape[4])
{
	char path[600];
	inv_npy *a;
	float *out;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	assert_int_equal(inv_npy_open(path, &a), INVAR_OK);
	assert_int_equal(a->h.ndim, 4);
	memcpy(shape, a->h.shape, 4 * sizeof *shape);
	out = malloc(a->h.cells * repeat * sizeof *out);
	for (uint64_t i = 0; i < repeat; i++)
		assert_int_equal(inv_npy_read(a, 0, a->h.cells, out + i * a->h.cells), INVAR_OK);
	shape[0] *= repeat;
	inv_npy_close(a);
	return out;
}

static void compare(const char *name, const float *got, const float *want, size_t count,
                    double tolerance)
{
	double worst = 0;

	for (size_t i = 0; i < count; i++)
		worst = fmax(worst, fabs((double)got[i] - want[i]));
	if (!(worst <= tolerance))
		fail_msg("%s: the largest difference is %g, %g is allowed", name, worst, tolerance);
	print_message("%s: %.2g\n", name, worst);
}

/* The matrices in the file equal those of our columns. */
static void check_matrices(const invar_augment *a, const json_t *params, const float *rows,
                           const uint64_t shape[4])
{
	inv_extent in = {shape[1], shape[2], shape[3]};

	for (size_t op = 0; op < a->spec.ops; op++) {
		const json_t *data = json_object_get(
			json_object_get(json_array_get(json_object_get(params, "stages"), op),
		                    "transform_matrix"),
			"data");
		const inv_spec_op *o = &a->spec.op[op];

		for (uint64_t i = 0; i < shape[0]; i++) {
			double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
			const float *row = rows + i * a->spec.columns;

			if (inv_spec_acts(&a->spec, row, op))
				o->op->matrix(o->value, inv_augment_input(a, in, op),
				              inv_augment_own(o, row), m);
			for (size_t k = 0; k < 9; k++) {
				const json_t *line = json_array_get(json_array_get(data, i), k / 3);

				assert_true(fabs(m[k] - json_number_value(json_array_get(line, k % 3))) <
				            2e-5);
			}
		}
	}
}

static void replay(const char *folder, const json_t *item)
{
	const char *name = json_string_value(json_object_get(item, "name"));
	uint64_t shape[4], want_shape[4], got_shape[4];
	uint64_t repeat =
		(uint64_t)json_integer_value(json_object_get(item, "input_repeat_batch"));
	float *x =
		load(folder, json_string_value(json_object_get(item, "input")), repeat, shape);
	float *want =
		load(folder, json_string_value(json_object_get(item, "output")), 1, want_shape);
	float *got = malloc(shape[0] * want_shape[1] * want_shape[2] * want_shape[3] * 4);
	float *rows = malloc(shape[0] * 20 * sizeof *rows);
	char path[600], spec[400];
	invar_augment *a;
	json_t *params;

	snprintf(path, sizeof path, "%s/%s", folder,
	         json_string_value(json_object_get(item, "params")));
	assert_int_equal(inv_json_load(path, &params), INVAR_OK);
	golden_spec(params, spec, sizeof spec);
	if (invar_augment_parse(test_ctx, spec, &a) != INVAR_OK ||
	    inv_augment_params_load(a, path, shape, rows) != INVAR_OK ||
	    invar_augment_result(a, shape, got_shape) != INVAR_OK ||
	    invar_augment_apply(a, NULL, x, shape, rows, got) != INVAR_OK)
		fail_msg("%s: %s: %s", name, spec, invar_last_error());
	assert_memory_equal(got_shape, want_shape, sizeof got_shape);
	check_matrices(a, params, rows, shape);
	compare(name, got, want, got_shape[0] * got_shape[1] * got_shape[2] * got_shape[3],
	        json_number_value(json_object_get(item, "tolerance_abs")));
	invar_augment_close(a);
	json_decref(params);
	free(x);
	free(want);
	free(got);
	free(rows);
}

static void kornia_is_replayed(void **state)
{
	const char *manifest = test_need_shared("golden/augment/manifest.json");
	char folder[500];
	json_t *whole, *item;
	size_t i;

	(void)state;
	snprintf(folder, sizeof folder, "%.*s",
	         (int)(strlen(manifest) - strlen("/manifest.json")), manifest);
	assert_int_equal(inv_json_load(manifest, &whole), INVAR_OK);
	json_array_foreach (json_object_get(whole, "cases"), i, item)
		replay(folder, item);
	assert_true(i >= 27);
	json_decref(whole);
}

/* ---- Worked numbers ------------------------------------------------------------------ */

static void run(const char *spec, const float *row, const float *x, size_t h, size_t w,
                float *out)
{
	const uint64_t shape[4] = {1, 1, h, w};
	invar_augment *a;

	assert_int_equal(invar_augment_parse(test_ctx, spec, &a), INVAR_OK);
	assert_int_equal(invar_augment_apply(a, NULL, x, shape, row, out), INVAR_OK);
	invar_augment_close(a);
}

static void assert_close(const float *got, const double *want, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs(got[i] - want[i]) < 2e-6))
			fail_msg("element %zu is %.9g, not %.9g", i, (double)got[i], want[i]);
}

static void a_small_picture_is_warped(void **state)
{
	static const double turned[] = {0.061371, 0.396178, 0.744615, 0.601786, 0.372724,
	                                0.202276, 0.572604, 0.303470, 0.308013, 0.369143,
	                                0.658494, 0.791987, 0.796530, 0.527396, 0.402989,
	                                0.197020, 0.498214, 0.355385, 0.374880, 0.159687};
	static const double moved[] = {0.218317, 0.741905, 0.796105, 0.472372, 0.759389,
	                               0.381296, 0.530012, 0.697554, 0.373162, 0.544561,
	                               0.725161, 0.318118, 0.690613, 0.400262, 0.335602,
	                               0.028094, 0.137531, 0.427287, 0.690736, 0.195834};
	float x[20], out[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		x[i] = (float)((3 * (i % 5) + 7 * (i / 5)) % 11) / 10;
	run("rotation", (const float[]){30}, x, 4, 5, out);
	assert_close(out, turned, 20);
	run("affine", (const float[]){20, 1.1f, 0.5f, -0.25f, 10, 0}, x, 4, 5, out);
	assert_close(out, moved, 20);
}

static void a_small_picture_is_cropped(void **state)
{
	static const double rows[4][6] = {{1.1, 0.62, 0.4, 0.7, 0.48, 0},
	                                  {0.7, 0.532, 0.52, 0.82, 0.6, 0.12},
	                                  {0.16, 0.46, 0.708, 0.852, 0.684, 0.36},
	                                  {0.4, 0.7, 0.74, 0.26, 0.3, 0.6}};
	static const int place[4] = {0, 1, 3, 5};
	float x[36], out[36];

	(void)state;
	for (int i = 0; i < 36; i++)
		x[i] = (float)((5 * (i % 6) + 3 * (i / 6)) % 13) / 10;
	for (int mode = 0; mode < 2; mode++) {
		run(mode ? "crop:mode=resample" : "crop", (const float[]){1, 2, 4, 3}, x, 6, 6,
		    out);
		for (int i = 0; i < 4; i++)
			assert_close(out + 6 * place[i], rows[i], 6);
	}
}

enum { SIDE = 9 };

/* A white picture rotated by 45 degrees: its corners show what lies outside. */
static void corners_are_filled_as_asked(void **state)
{
	static const struct {
		const char *spec;
		float corner, middle;
	} cases[] = {{"rotation", 0, 1},
	             {"rotation:fill=edge", 1, 1},
	             {"rotation:fill=reflect", 1, 1},
	             {"rotation:fill=mean", 1, 1}};
	float x[SIDE * SIDE], out[SIDE * SIDE];

	(void)state;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		x[i] = 1;
	for (size_t i = 0; i < 4; i++) {
		run(cases[i].spec, (const float[]){45}, x, SIDE, SIDE, out);
		assert_true(fabsf(out[0] - cases[i].corner) < 1e-6f);
		assert_true(fabsf(out[SIDE * SIDE / 2] - cases[i].middle) < 1e-6f);
	}
}

/* What lies outside, seen in a column of 0 on the left and 1 elsewhere, moved right by 3.
 */
static void fills_differ_where_the_picture_does(void **state)
{
	static const struct {
		const char *spec;
		double left;
	} cases[] = {{"affine:corners=exact", 0},
	             {"affine:corners=exact,fill=edge", 0.25},
	             {"affine:corners=exact,fill=mean", (0.25 + (SIDE - 1)) / SIDE}};
	float x[SIDE * SIDE], out[SIDE * SIDE];

	(void)state;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		x[i] = i % SIDE ? 1 : 0.25f;
	for (size_t i = 0; i < 3; i++) {
		run(cases[i].spec, (const float[]){0, 1, 3, 0, 0, 0}, x, SIDE, SIDE, out);
		assert_true(fabs(out[SIDE * 4] - cases[i].left) < 1e-6);
		assert_true(fabsf(out[SIDE * 4 + 3] - 0.25f) < 1e-6f); /* the column itself */
		assert_true(fabsf(out[SIDE * 4 + 4] - 1) < 1e-6f);
	}
	/* align_corners=false stretches a shift by W / (W - 1): the column is between pixels.
	 */
	run("affine", (const float[]){0, 1, 3, 0, 0, 0}, x, SIDE, SIDE, out);
	assert_true(fabsf(out[SIDE * 4 + 3] - 0.25f) > 0.05f);
}

static void a_circle_leaves_what_lies_within(void **state)
{
	float x[SIDE * SIDE], out[SIDE * SIDE];

	(void)state;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		x[i] = 1;
	run("rotation:circle=1", (const float[]){0}, x, SIDE, SIDE, out);
	for (int i = 0; i < SIDE * SIDE; i++) {
		double dx = i % SIDE - (SIDE - 1) / 2.0, dy = i / SIDE - (SIDE - 1) / 2.0;
		bool within = dx * dx + dy * dy <= SIDE * SIDE / 4.0;

		assert_true(fabsf(out[i] - (within ? 1.0f : 0.0f)) < 1e-6f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kornia_is_replayed),
		cmocka_unit_test(a_small_picture_is_warped),
		cmocka_unit_test(a_small_picture_is_cropped),
		cmocka_unit_test(corners_are_filled_as_asked),
		cmocka_unit_test(fills_differ_where_the_picture_does),
		cmocka_unit_test(a_circle_leaves_what_lies_within),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
