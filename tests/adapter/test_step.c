/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c - twenty steps compared with PyTorch, and between numbers of threads. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/step.h"
#include "base/rng.h"
#include "golden.h"

static invar_options *options; /* MaWa with its defaults */

static int make_options(void **state)
{
	(void)state;
	options = test_options("loss", NULL);
	return 0;
}

static int free_options(void **state)
{
	(void)state;
	invar_options_free(options);
	return 0;
}

static void stack(float *rows, const float *clean, const float *aug, size_t N, size_t s,
                  size_t d)
{
	memcpy(rows, clean, N * d * sizeof *rows);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((k + 1) * N + i) * d, aug + (i * s + k) * d, d * sizeof *rows);
}

static void load_start(golden *g, inv_step *p)
{
	static const char *const files[] = {"0_weight", "0_bias", "2_weight", "2_bias"};

	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		memcpy(p->params + p->blocks[i].offset, golden_f32(g, files[i], NULL),
		       p->blocks[i].count * sizeof(float));
}

static void check_trace(const char *root)
{
	static const char *const finals[] = {"final_0_weight", "final_0_bias", "final_2_weight",
	                                     "final_2_bias"};
	golden *g = golden_open(root, "train_mawa");
	size_t shape[GOLDEN_NDIM], layer[GOLDEN_NDIM], steps = (size_t)golden_value(g, "steps");
	const float *clean = golden_f32(g, "clean", NULL), *aug = golden_f32(g, "aug", shape);
	size_t N = shape[0], s = shape[1], d = shape[2];
	inv_step_spec spec = {.loss = inv_loss_find("mawa"),
	                      .options = options,
	                      .N = N,
	                      .s = s,
	                      .update = true,
	                      .weight_decay = golden_value(g, "weight_decay")};
	float *rows = inv_calloc((s + 1) * N * d, sizeof *rows);
	double losses[64];
	inv_loss_value value;
	invar_context *ctx;
	inv_step *p;

	golden_f32(g, "0_weight", layer);
	spec.shape = (inv_mlp_shape){d, layer[0], d};
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	load_start(g, p);
	stack(rows, clean, aug, N, s, d);
	for (size_t t = 0; t < steps; t++) {
		assert_int_equal(inv_step_run(p, rows, golden_value(g, "lr"), &value), INVAR_OK);
		losses[t] = value.value;
	}
	assert_int_equal(inv_step_measure(p, p->params, rows, 0, &value), INVAR_OK);
	losses[steps] = value.value;
	golden_check_f64(g, "losses", losses, steps + 1);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		golden_check(g, finals[i], p->params + p->blocks[i].offset, p->blocks[i].count);
	inv_step_free(p);
	inv_free(rows);
	invar_context_free(ctx);
	golden_close(g);
}

static void the_golden_trace_is_followed(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++)
		check_trace(*root);
}

/* Large enough that every product is cut into tiles. */
static void fifty_steps_are_the_same_on_any_number_of_threads(void **state)
{
	enum { N = 64, S = 3, D = 96, H = 2304, STEPS = 50 };
	inv_step_spec spec = {.shape = {D, H, D},
	                      .loss = inv_loss_find("mawa"),
	                      .options = options,
	                      .N = N,
	                      .s = S,
	                      .update = true,
	                      .weight_decay = 1e-4};
	float *rows = inv_calloc((S + 1) * N * D, sizeof *rows), *first = NULL;
	inv_stream stream = inv_stream_of(1, "rows", 0);

	(void)state;
	inv_fill_normal(&stream, 0, rows, (S + 1) * N * D);
	for (unsigned threads = 1; threads <= 4; threads++) {
		inv_loss_value value;
		invar_context *ctx;
		inv_step *p;

		assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
		inv_mlp_init(spec.shape, 3, false, p->params);
		for (int t = 0; t < (test_is_emulated() ? STEPS / 10 : STEPS); t++)
			assert_int_equal(inv_step_run(p, rows, 1e-3, &value), INVAR_OK);
		if (!first) {
			first = inv_alloc(p->floats * sizeof *first);
			memcpy(first, p->params, p->floats * sizeof *first);
		}
		assert_memory_equal(first, p->params, p->floats * sizeof *first);
		inv_step_free(p);
		invar_context_free(ctx);
	}
	inv_free(first);
	inv_free(rows);
}

static void a_loss_that_is_not_finite_stops_the_step(void **state)
{
	inv_step_spec spec = {.shape = {2, 4, 2},
	                      .loss = inv_loss_find("mawa"),
	                      .options = options,
	                      .N = 2,
	                      .s = 1,
	                      .update = true};
	float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	inv_loss_value value;
	invar_context *ctx;
	inv_step *p;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	inv_mlp_init(spec.shape, 3, false, p->params);
	p->params[p->blocks[3].offset] = INFINITY;
	assert_int_equal(inv_step_run(p, rows, 1e-3, &value), INVAR_E_NUMERIC);
	test_assert_error("the loss is infinite");
	assert_int_equal(p->t, 0);
	inv_step_free(p);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_golden_trace_is_followed),
		cmocka_unit_test(fifty_steps_are_the_same_on_any_number_of_threads),
		cmocka_unit_test(a_loss_that_is_not_finite_stops_the_step),
	};

	return cmocka_run_group_tests(tests, make_options, free_options);
}
