/* test_mawa.c - MaWa: golden values and gradients, its options, its invariances. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/mawa.h"
#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "one_loss.h"

/* Through the public call, as `invar loss` does it. */
static void check_case(const char *root, const char *name, int residual)
{
	golden *g = golden_open(root, name);
	size_t shape[GOLDEN_RANK];
	invar_loss_input in = {.size = sizeof in};
	invar_loss_opts o;
	invar_loss_result r;
	invar_adapter *e;

	assert_int_equal(
		invar_adapter_open(test_ctx, golden_path(g, "adapter.safetensors"), &e), INVAR_OK);
	in.adapter = e;
	in.clean = golden_f32(g, "clean", NULL);
	in.aug = golden_f32(g, "aug", shape);
	in.images = shape[0];
	in.samples = (uint32_t)shape[1];
	in.dim = (uint32_t)shape[2];
	invar_loss_defaults(&o);
	o.residual = residual;
	assert_int_equal(invar_loss(test_ctx, &in, &o, &r), INVAR_OK);
	golden_check_value(g, "loss", r.value);
	assert_int_equal(r.grad_count, 5);
	for (size_t i = 1; i < r.grad_count; i++) {
		uint64_t count =
			r.grads[i].shape[0] * (r.grads[i].rank > 1 ? r.grads[i].shape[1] : 1);
		char file[64];

		snprintf(file, sizeof file, "grad_%s", r.grads[i].name);
		golden_check(g, file, r.grads[i].data, count);
	}
	assert_true(fabs(r.terms[0].value + r.terms[1].value - r.value) < 1e-12 * r.value);
	invar_loss_result_clear(&r);
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
	inv_loss_opts o = {.anchor = anchor, .no_identity = no_identity};
	inv_loss_shape shape = {.ctx = test_ctx, .opts = &o, .N = N, .s = S, .d = D, .w = D};
	inv_loss_batch b = {.clean = c->clean,
	                    .codes = no_identity ? c->codes + N * D : c->codes};

	return one_loss(&inv_loss_mawa, shape, &b, c->grad).value;
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
	inv_loss_opts o = {.anchor = 1};
	inv_loss_shape shape = {.ctx = test_ctx, .opts = &o, .N = n, .s = 1, .d = d, .w = d};
	inv_loss_batch b = {.clean = clean, .codes = codes};

	(void)state;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < d; j++) {
			clean[i * d + j] = codes[i * d + j] = (float)sin(1 + i + 2 * j);
			codes[(n + i) * d + j] = (float)cos(2 + 3 * i + j);
		}
	assert_true(fabs(one_loss(&inv_loss_mawa, shape, &b, grad).value - 1.589431609788) <
	            1e-6);
}

static void the_table_and_the_names_agree(void **state)
{
	char names[] = INV_LOSS_KINDS;

	(void)state;
	for (char *word = strtok(names, "|"); word; word = strtok(NULL, "|")) {
		assert_non_null(inv_loss_find(word));
		assert_string_equal(inv_loss_find(word)->name, word);
	}
	assert_null(inv_loss_find("nothing"));
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
