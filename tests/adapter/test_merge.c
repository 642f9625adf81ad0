/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c - sums of adapters as one adapter, compared with sums of their codes. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/compose.h"
#include "base/memory.h"
#include "base/rng.h"

enum { D = 7, ROWS = 50, MAX = 3 };

static float z[ROWS * D];

/* Parameters drawn; `linear`: a linear map in 2d units first, as closed forms have it. */
static invar_adapter *make(size_t h, bool residual, bool linear, const char *purpose)
{
	inv_stream s = inv_stream_of(9, purpose, 0);
	size_t all = h + (linear ? 2 * D : 0);
	float *W0 = inv_calloc(all * D, sizeof *W0), *b0 = inv_calloc(all, sizeof *b0);
	float *W2 = inv_calloc(D * all, sizeof *W2), b2[D];
	invar_adapter *e;

	inv_fill_normal(&s, 0, W0, all * D);
	inv_fill_normal(&s, 1, b0, all);
	inv_fill_normal(&s, 2, W2, D * all);
	inv_fill_normal(&s, 3, b2, D);
	for (size_t i = 0; linear && i < 2 * D; i++) {
		b0[i] = 0;
		for (size_t j = 0; j < D; j++) {
			W0[i * D + j] = i == j ? 1 : i == j + D ? -1 : 0;
			if (i >= D)
				W2[j * all + i] = -W2[j * all + i - D];
		}
	}
	assert_int_equal(
		invar_adapter_new(test_ctx, D, (uint32_t)all, D, residual, W0, b0, W2, b2, &e),
		INVAR_OK);
	inv_free(W0);
	inv_free(b0);
	inv_free(W2);
	return e;
}

static int open_group(void **state)
{
	inv_stream s = inv_stream_of(9, "z", 0);

	inv_fill_normal(&s, 0, z, ROWS * D);
	return test_context_open(state);
}

/* z + strength (sum of shares - z), to 1e-6 of the largest value. */
static void check_merged(const invar_adapter *const *e, const double *weights, size_t count,
                         double strength, size_t hidden, bool residual)
{
	static float out[MAX][ROWS * D], got[ROWS * D];
	invar_adapter *merged;
	double all = 0, largest = 0, worst = 0;

	for (size_t k = 0; k < count; k++) {
		all += weights ? weights[k] : 1;
		assert_int_equal(invar_adapter_apply(e[k], z, ROWS, out[k]), INVAR_OK);
	}
	assert_int_equal(invar_adapter_merge(e, weights, count, strength, &merged), INVAR_OK);
	assert_int_equal(invar_adapter_hidden(merged), hidden);
	assert_int_equal(invar_adapter_residual(merged), residual);
	assert_int_equal(invar_adapter_apply(merged, z, ROWS, got), INVAR_OK);
	for (size_t i = 0; i < ROWS * D; i++) {
		double want = (1 - strength) * z[i];

		for (size_t k = 0; k < count; k++)
			want += strength * (weights ? weights[k] : 1) / all * out[k][i];
		largest = fmax(largest, fabs(want));
		worst = fmax(worst, fabs(got[i] - want));
	}
	if (worst > 1e-6 * largest)
		fail_msg("off by %g of %g", worst, largest);
	invar_adapter_close(merged);
}

static void the_mean_is_one_mlp(void **state)
{
	invar_adapter *plain = make(5, false, false, "a"), *other = make(12, false, false, "b");
	invar_adapter *res = make(3, true, false, "c"), *res2 = make(8, true, false, "d");
	const invar_adapter *const two[] = {plain, other}, *const both[] = {res, res2},
							   *const mixed[] = {plain, res, other};
	const double weights[] = {1, 2, 0.5};

	(void)state;
	check_merged(two, NULL, 2, 1, 17, false);
	check_merged(two, weights, 2, 1, 17, false);
	check_merged(both, NULL, 2, 1, 11, true);
	/* A part of the identity remains, in linear units. */
	check_merged(mixed, weights, 3, 1, 20 + 2 * D, true);
	invar_adapter_close(plain);
	invar_adapter_close(other);
	invar_adapter_close(res);
	invar_adapter_close(res2);
}

static void linear_units_are_shared(void **state)
{
	invar_adapter *a = make(4, false, true, "a"), *b = make(6, true, true, "b"),
				  *c = make(5, false, false, "c");
	const invar_adapter *const linear[] = {a, b}, *const all[] = {a, b, c};

	(void)state;
	check_merged(linear, NULL, 2, 1, 10 + 2 * D, false);
	check_merged(all, NULL, 3, 0.5, 15 + 2 * D, true);
	invar_adapter_close(a);
	invar_adapter_close(b);
	invar_adapter_close(c);
}

static void strength_goes_part_of_the_way(void **state)
{
	invar_adapter *plain = make(5, false, false, "a"), *res = make(3, true, false, "c");
	const invar_adapter *e = plain, *r = res;

	(void)state;
	check_merged(&e, NULL, 1, 1, 5, false);
	check_merged(&e, NULL, 1, 0.25, 5 + 2 * D, true);
	check_merged(&e, NULL, 1, 2, 5 + 2 * D, false);
	check_merged(&r, NULL, 1, 0.25, 3, true);
	check_merged(&r, NULL, 1, 1.5, 3, true);
	check_merged(&r, NULL, 1, 0, 3, true);
	invar_adapter_close(plain);
	invar_adapter_close(res);
}

/* Strengths and weights that a program may give; those of the command line are bounded. */
static void results_that_are_not_finite_are_refused(void **state)
{
	static const double strengths[] = {1e300, 1e40, 1e308};
	invar_adapter *plain = make(5, false, false, "a"), *res = make(3, true, false, "c");
	const invar_adapter *const both[] = {plain, res};
	const double large[] = {1e308, 1e308};
	invar_adapter *merged;

	(void)state;
	for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++)
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(invar_adapter_merge(both + k, NULL, 1, strengths[i], &merged),
			                 INVAR_E_NUMERIC);
			assert_null(merged);
			test_assert_error("smaller strength");
		}
	assert_int_equal(invar_adapter_merge(both, large, 2, 1, &merged), INVAR_E_USE);
	test_assert_error("the sum of the weights is too large");
	invar_adapter_close(plain);
	invar_adapter_close(res);
}

static void a_map_after_e_folds_into_the_second_layer(void **state)
{
	static double M[D * D], t[D];
	const inv_map_affine map = {D, M, t};
	inv_stream s = inv_stream_of(1, "map", 0);
	static float draw[D * D + D], codes[ROWS * D], got[ROWS * D];

	(void)state;
	inv_fill_normal(&s, 0, draw, D * D + D);
	for (size_t i = 0; i < D * D + D; i++)
		*(i < D * D ? &M[i] : &t[i - D * D]) = draw[i];
	for (int residual = 0; residual < 2; residual++) {
		invar_adapter *e = make(6, residual, false, "a");
		const inv_mlp_form from = {e->s, e->residual, e->params};
		inv_mlp_form form;
		inv_composition *c;
		double worst = 0, largest = 0;

		assert_int_equal(inv_composition_new(test_ctx, D, D, 6, &c), INVAR_OK);
		inv_composition_add(c, &from, 1);
		assert_int_equal(inv_composition_map(c, &map), INVAR_OK);
		assert_int_equal(inv_composition_finish(c, &form), INVAR_OK);
		inv_composition_free(c);
		assert_int_equal(form.s.h, residual ? 6 + 2 * D : 6);
		assert_int_equal(invar_adapter_apply(e, z, ROWS, codes), INVAR_OK);
		assert_int_equal(
			inv_mlp_apply(test_ctx, form.s, form.params, form.residual, z, ROWS, got),
			INVAR_OK);
		for (size_t i = 0; i < ROWS * D; i++) {
			double want = t[i % D];

			for (size_t l = 0; l < D; l++)
				want += codes[i / D * D + l] * M[l * D + i % D];
			largest = fmax(largest, fabs(want));
			worst = fmax(worst, fabs(got[i] - want));
		}
		assert_true(worst <= 1e-6 * largest);
		inv_free(form.params);
		invar_adapter_close(e);
	}
}

/* No hidden unit remains, but an adapter has at least one. */
static void the_identity_alone_is_an_mlp(void **state)
{
	inv_mlp_form form;
	inv_composition *c;
	float got[ROWS * D];

	(void)state;
	assert_int_equal(inv_composition_new(test_ctx, D, D, 0, &c), INVAR_OK);
	inv_composition_add_identity(c, 1);
	assert_int_equal(inv_composition_finish(c, &form), INVAR_OK);
	assert_int_equal(
		inv_mlp_apply(test_ctx, form.s, form.params, form.residual, z, ROWS, got),
		INVAR_OK);
	assert_memory_equal(got, z, sizeof got);
	inv_composition_free(c);
	inv_free(form.params);
}

/* ---- Files ------------------------------------------------------------------------ */

static void save_made_for(const char *encoder, const char *hash, const char *augment,
                          const char *path)
{
	invar_adapter *e = make(5, false, false, augment);

	e->metadata = json_pack("{s:s, s:s, s:s, s:s, s:s}", "format", "pt", "invar.encoder",
	                        encoder, "invar.encoder_sha256", hash, "invar.augment", augment,
	                        "invar.options", "{\"epochs\": 3}");
	assert_int_equal(invar_adapter_save(e, path), INVAR_OK);
	invar_adapter_close(e);
}

static void metadata_tell_what_was_merged(void **state)
{
	invar_adapter *e[2], *merged, *again;
	const double weights[] = {3, 1};
	json_t *told, *parts;

	(void)state;
	save_made_for("vit", "", "rotation", test_path("a"));
	save_made_for("vit", "", "crop", test_path("b"));
	assert_int_equal(invar_adapter_open(test_ctx, test_path("a"), &e[0]), INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, test_path("b"), &e[1]), INVAR_OK);
	assert_int_equal(
		invar_adapter_merge((const invar_adapter *const *)e, weights, 2, 1, &merged),
		INVAR_OK);
	assert_int_equal(invar_adapter_save(merged, test_path("m")), INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, test_path("m"), &again), INVAR_OK);
	assert_string_equal(invar_adapter_metadata(again, "invar.encoder"), "vit");
	assert_string_equal(invar_adapter_metadata(again, "invar.augment"), "rotation & crop");
	told = json_loads(invar_adapter_metadata(again, "invar.merged"), 0, NULL);
	parts = json_object_get(told, "adapters");
	assert_int_equal(json_array_size(parts), 2);
	assert_true(json_number_value(json_object_get(json_array_get(parts, 0), "weight")) ==
	            0.75);
	assert_true(json_integer_value(json_object_get(
					json_object_get(json_array_get(parts, 1), "options"), "epochs")) == 3);
	json_decref(told);
	for (int i = 0; i < 2; i++)
		invar_adapter_close(e[i]);
	invar_adapter_close(merged);
	invar_adapter_close(again);
}

static void refuse_pair(const char *a, const char *b, const double *weights,
                        double strength, const char *word)
{
	invar_adapter *e[2], *merged;

	assert_int_equal(invar_adapter_open(test_ctx, test_path("%s", a), &e[0]), INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, test_path("%s", b), &e[1]), INVAR_OK);
	assert_int_not_equal(
		invar_adapter_merge((const invar_adapter *const *)e, weights, 2, strength, &merged),
		INVAR_OK);
	assert_null(merged);
	test_assert_error(word);
	invar_adapter_close(e[0]);
	invar_adapter_close(e[1]);
}

static void what_does_not_match_is_refused(void **state)
{
	const float one[4] = {1, 1, 1, 1};
	const double weights[] = {1, 0};
	invar_adapter *narrow, *merged;

	(void)state;
	save_made_for("vit", "", "rotation", test_path("vit"));
	save_made_for("resnet50", "", "rotation", test_path("resnet"));
	save_made_for("vit", "0123456789abcdef", "rotation", test_path("one"));
	save_made_for("vit", "fedcba9876543210", "rotation", test_path("two"));
	assert_int_equal(invar_adapter_new(test_ctx, 2, 2, 1, 0, one, one, one, one, &narrow),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_save(narrow, test_path("narrow")), INVAR_OK);
	refuse_pair("vit", "resnet", NULL, 1, "was made for features of vit but");
	refuse_pair("one", "two", NULL, 1, "weights 0123456789ab… but");
	refuse_pair("vit", "narrow", NULL, 1, "maps 2 features to 1 but");
	refuse_pair("vit", "one", weights, 1, "a weight must be above 0, not 0");
	refuse_pair("vit", "one", NULL, -1, "strength must be 0 or more, not -1");
	assert_int_equal(
		invar_adapter_merge((const invar_adapter *const *)&narrow, NULL, 1, 0.5, &merged),
		INVAR_E_MISMATCH);
	test_assert_error("a strength of 0.5 needs codes as wide as the features");
	invar_adapter_close(narrow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mean_is_one_mlp),
		cmocka_unit_test(linear_units_are_shared),
		cmocka_unit_test(strength_goes_part_of_the_way),
		cmocka_unit_test(results_that_are_not_finite_are_refused),
		cmocka_unit_test(a_map_after_e_folds_into_the_second_layer),
		cmocka_unit_test(the_identity_alone_is_an_mlp),
		cmocka_unit_test(metadata_tell_what_was_merged),
		cmocka_unit_test(what_does_not_match_is_refused),
	};

	return cmocka_run_group_tests(tests, open_group, test_context_close);
}
