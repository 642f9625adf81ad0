/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - the golden trees are what their manifests say, and the
 * comparison of golden.h refuses what it must.
 */
#include "golden.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "support.h"

/* ---- Files ------------------------------------------------------------------ */

static void check_file(const char *root, const json_t *listed)
{
	const char *file = json_string_value(json_object_get(listed, "file"));
	const json_t *shape = json_object_get(listed, "shape");
	char path[4096];
	inv_npy *a;

	snprintf(path, sizeof path, "%s/%s", root, file);
	if (!strstr(file, ".npy"))
		return;
	assert_int_equal(inv_npy_open(path, &a), INVAR_OK);
	assert_int_equal(a->h.ndim, json_array_size(shape));
	for (unsigned i = 0; i < a->h.ndim; i++)
		assert_int_equal(a->h.shape[i], json_integer_value(json_array_get(shape, i)));
	assert_string_equal(inv_dtype_name(a->h.dtype),
	                    json_string_value(json_object_get(listed, "dtype")));
	inv_npy_close(a);
}

static void check_case(const char *root, const json_t *entry)
{
	const char *const kinds[] = {"inputs", "outputs"};
	const json_t *listed;
	size_t i;

	for (unsigned k = 0; k < 2; k++)
		json_array_foreach (json_object_get(entry, kinds[k]), i, listed)
			check_file(root, listed);
	golden_close(golden_open(root, json_string_value(json_object_get(entry, "name"))));
}

static void files_are_as_the_manifest_says(void **state)
{
	const char *root = golden_roots()[0];
	json_t *manifest = json_load_file(test_source("tests/golden/manifest.json"), 0, NULL);
	const json_t *entry;
	size_t i;

	(void)state;
	assert_non_null(manifest);
	assert_true(json_array_size(json_object_get(manifest, "cases")) >= 9);
	json_array_foreach (json_object_get(manifest, "cases"), i, entry)
		check_case(root, entry);
	json_decref(manifest);
}

static void inputs_of_another_case_are_found(void **state)
{
	golden *train = golden_open(golden_roots()[0], "train_mawa");
	golden *mawa = golden_open(golden_roots()[0], "mawa");
	size_t a[GOLDEN_NDIM], b[GOLDEN_NDIM];
	const float *x = golden_f32(train, "clean", a), *y = golden_f32(mawa, "clean", b);

	(void)state;
	assert_memory_equal(a, b, sizeof a);
	assert_int_equal(a[0], (size_t)golden_value(mawa, "N"));
	assert_int_equal(a[2], 1);
	assert_memory_equal(x, y, a[0] * a[1] * sizeof *x);
	golden_close(train);
	golden_close(mawa);
}

/* ---- Comparison ----------------------------------------------------------------- */

static void values_within_the_tolerance_pass(void **state)
{
	golden *g = golden_open(golden_roots()[0], "mawa");
	double loss = golden_value(g, "loss");
	size_t shape[GOLDEN_NDIM];
	const double *want = golden_f64(g, "grad_0_bias", shape);
	float *got = malloc(shape[0] * sizeof *got);

	(void)state;
	assert_non_null(got);
	for (size_t i = 0; i < shape[0]; i++)
		got[i] = (float)want[i];
	golden_check_value(g, "loss", loss * (1 + 1e-5));
	golden_check_f64(g, "grad_0_bias", want, shape[0]);
	golden_check(g, "grad_0_bias", got, shape[0]);
	free(got);
	golden_close(g);
}

/* The rule itself, on both sides of the border. */
static void the_border_is_where_the_manifest_puts_it(void **state)
{
	golden *g = golden_open(golden_roots()[0], "structure");

	(void)state;
	/* b has a tolerance of its own: 2e-5, whatever its size */
	assert_true(golden_allows(g, "b", golden_value(g, "b") + 1.9e-5));
	assert_false(golden_allows(g, "b", golden_value(g, "b") + 2.1e-5));
	assert_true(golden_allows(g, "m", golden_value(g, "m") * (1 + 1.9e-5)));
	assert_false(golden_allows(g, "m", golden_value(g, "m") * (1 + 2.3e-5)));
	assert_false(golden_allows(g, "m", (double)NAN));
	/* counts are equal or wrong */
	assert_true(golden_allows(g, "pairs", golden_value(g, "pairs")));
	assert_false(golden_allows(g, "pairs", golden_value(g, "pairs") + 0.01));
	golden_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_as_the_manifest_says),
		cmocka_unit_test(inputs_of_another_case_are_found),
		cmocka_unit_test(values_within_the_tolerance_pass),
		cmocka_unit_test(the_border_is_where_the_manifest_puts_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
