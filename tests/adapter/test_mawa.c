/* SPDX-License-Identifier: Apache-2.0 */
/* test_mawa.c - MaWa: golden values and gradients, its options, its invariances. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "golden.h"
#include "one_loss.h"

extern const inv_loss inv_loss_mawa;

/* The codes come first; the blocks of the adapter follow. */
static void check_gradients(golden *g, const invar_loss *l)
{
	const uint64_t *shape;
	const char *name;
	const float *data;
	unsigned ndim;
	size_t i = 0;

	for (; (data = invar_loss_gradient(l, i, &name, &ndim, &shape)); i++)
		if (i)
			golden_check(g, test_text("grad_%s", name), data,
			             shape[0] * (ndim > 1 ? shape[1] : 1));
	assert_int_equal(i, 5);
}

/* Through the public calls, as `invar loss` does it. */
static void check_case(const char *root, const char *name, int residual)
{
	golden *g = golden_open(root, name);
	size_t shape[GOLDEN_NDIM];
	const float *aug = golden_f32(g, "aug", shape);
	invar_options *o = test_options("loss", "residual", residual ? "1" : "0", NULL);
	invar_adapter *e;
	invar_loss *l;
	double value;

	assert_int_equal(
		invar_adapter_open(test_ctx, golden_path(g, "adapter.safetensors"), &e), INVAR_OK);
	assert_int_equal(invar_adapter_input(e), shape[2]);
	assert_int_equal(invar_loss_new(e, o, &l), INVAR_OK);
	assert_int_equal(invar_loss_set(l, "clean", golden_f32(g, "clean", NULL), 2,
	                                (uint64_t[]){shape[0], shape[2]}),
	                 INVAR_OK);
	assert_int_equal(
		invar_loss_set(l, "copies", aug, 3, (uint64_t[]){shape[0], shape[1], shape[2]}),
		INVAR_OK);
	assert_int_equal(invar_loss_compute(l), INVAR_OK);
	value = invar_loss_value(l, NULL);
	golden_check_value(g, "loss", value);
	check_gradients(g, l);
	assert_true(fabs(invar_loss_value(l, "clean") + invar_loss_value(l, "augmented") -
	                 value) < 1e-12 * value);
	invar_loss_free(l);
	invar_options_free(o);
	invar_adapter_close(e);
	golden_close(g);
}

static void golden_values_and_gradients(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "mawa", 0);
		check_case(*root, "mawa_residual", 1);
	}
}

enum { N = 5, S = 2, D = 7, ROWS = (S + 1) * N };

typedef struct cloud {
	float clean[N * D], codes[ROWS * D], grad[ROWS * D];
} cloud;

static double evaluate(cloud *c, double anchor, bool no_identity)
{
	invar_options *o = test_options("loss", "anchor", test_text("%g", anchor),
	                                "no-identity", no_identity ? "1" : "0", NULL);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = D};
	inv_loss_batch b = {.clean = c->clean,
	                    .codes = no_identity ? c->codes + N * D : c->codes};
	double value = one_loss(&inv_loss_mawa, shape, &b, c->grad).value;

	invar_options_free(o);
	return value;
}

static cloud random_cloud(void)
{
	inv_stream s = inv_stream_of(1, "cloud", 0);
	cloud c;

	inv_fill_normal(&s, 0, c.clean, N * D);
	inv_fill_normal(&s, 1, c.codes, ROWS * D);
	return c;
}

static double plain(const cloud *c, double anchor, bool no_identity)
{
	double sum = 0;

	for (size_t row = no_identity ? N : 0; row < ROWS; row++)
		for (size_t j = 0; j < D; j++) {
			double gap = (double)c->codes[row * D + j] - c->clean[row % N * D + j];

			sum += (row < N ? anchor : 1) * gap * gap;
		}
	return sum / (no_identity ? S * N : ROWS);
}

static void anchor_and_no_identity_do_what_they_say(void **state)
{
	cloud c = random_cloud();

	(void)state;
	assert_true(fabs(evaluate(&c, 1, false) - plain(&c, 1, false)) < 1e-5);
	assert_true(fabs(evaluate(&c, 3.5, false) - plain(&c, 3.5, false)) < 1e-5);
	assert_true(fabs(evaluate(&c, 0, false) - plain(&c, 0, false)) < 1e-5);
	assert_true(fabs(evaluate(&c, 1, true) - plain(&c, 1, true)) < 1e-5);
}

static void the_gradient_of_the_codes_equals_differences(void **state)
{
	(void)state;
	for (int no_identity = 0; no_identity < 2; no_identity++) {
		cloud c = random_cloud(), moved = c;
		size_t first = no_identity ? N * D : 0;

		evaluate(&c, 2, no_identity);
		for (size_t i = first; i < ROWS * D; i++) {
			double up, down;

			moved = c;
			moved.codes[i] = c.codes[i] + 0.01f;
			up = plain(&moved, 2, no_identity);
			moved.codes[i] = c.codes[i] - 0.01f;
			down = plain(&moved, 2, no_identity);
			assert_true(fabs(c.grad[i - first] - (up - down) / 0.02) < 1e-4);
		}
	}
}

static void codes_on_their_features_cost_nothing(void **state)
{
	cloud c = random_cloud();

	(void)state;
	for (size_t row = 0; row < ROWS; row++)
		memcpy(c.codes + row * D, c.clean + row % N * D, D * sizeof(float));
	assert_true(evaluate(&c, 1, false) == 0);
	for (size_t i = 0; i < ROWS * D; i++)
		assert_true(c.grad[i] == 0);
}

/* FACTS section I: anchors X, E(clean) = X, E(augmented)(i, j) = cos(2 + 3i + j). */
static void the_worked_example(void **state)
{
	enum { n = 6, d = 3 };
	float clean[n * d], codes[2 * n * d], grad[2 * n * d];
	invar_options *o = test_options("loss", NULL);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = n, .s = 1, .d = d, .w = d};
	inv_loss_batch b = {.clean = clean, .codes = codes};

	(void)state;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < d; j++) {
			clean[i * d + j] = codes[i * d + j] = (float)sin(1 + i + 2 * j);
			codes[(n + i) * d + j] = (float)cos(2 + 3 * i + j);
		}
	assert_true(fabs(one_loss(&inv_loss_mawa, shape, &b, grad).value - 1.589431609788) <
	            1e-6);
	invar_options_free(o);
}

static void the_table_and_the_names_agree(void **state)
{
	invar_options *train = test_options("train", NULL), *loss = test_options("loss", NULL);
	char names[256] = "";
	const char *word;

	(void)state;
	for (size_t i = 0; (word = inv_loss_name_at(i)); i++) {
		assert_non_null(inv_loss_find(word));
		assert_string_equal(inv_loss_find(word)->name, word);
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "|" : "",
		         word);
	}
	assert_null(inv_loss_find("nothing"));
	assert_string_equal(inv_options_find(loss, "kind")->choices, names);
	assert_string_equal(inv_options_find(train, "loss")->choices,
	                    test_text("%s|none", names));
	invar_options_free(train);
	invar_options_free(loss);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_values_and_gradients),
		cmocka_unit_test(anchor_and_no_identity_do_what_they_say),
		cmocka_unit_test(the_gradient_of_the_codes_equals_differences),
		cmocka_unit_test(codes_on_their_features_cost_nothing),
		cmocka_unit_test(the_worked_example),
		cmocka_unit_test(the_table_and_the_names_agree),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
