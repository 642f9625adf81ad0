/* SPDX-License-Identifier: Apache-2.0 */
/* test_classifier.c - classifiers against PyTorch, differences, and themselves. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "golden.h"
#include "math/softmax.h"
#include "nn/classifier.h"

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(6, purpose, 0);
	float *x = inv_calloc(count, sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

/* ---- Cross-entropy ------------------------------------------------------------- */

static void fast_cross_entropy_equals_the_definition(void **state)
{
	static const size_t classes[] = {1, 2, 3, 10, 17, 200, 1000};
	enum { ROWS = 70 };
	invar_context *ctx = context(2);

	(void)state;
	for (size_t n = 0; n < sizeof classes / sizeof *classes; n++) {
		size_t k = classes[n];
		float *logits = draw("logits", ROWS * k);
		float *fast = inv_calloc(ROWS * k, sizeof *fast), *ref = draw("ref", ROWS * k);
		double row_loss[ROWS], want_loss[ROWS], got, want;
		uint32_t labels[ROWS];

		for (size_t i = 0; i < ROWS; i++) {
			labels[i] = (uint32_t)(i * 7 % k);
			for (size_t j = 0; j < k; j++) /* up to +-400: exp must not overflow */
				logits[i * k + j] *= (float)(i + 1);
		}
		got = inv_cross_entropy(ctx, logits, labels, ROWS, k, fast, row_loss);
		want = inv_cross_entropy_ref(logits, labels, ROWS, k, ref, want_loss);
		assert_true(fabs(got - want) <= 1e-6 * (1 + want));
		for (size_t i = 0; i < ROWS * k; i++)
			assert_true(fabsf(fast[i] - ref[i]) < 1e-6f / ROWS);
		inv_free(logits);
		inv_free(fast);
		inv_free(ref);
	}
	invar_context_free(ctx);
}

static void nan_in_a_logit_reaches_the_loss(void **state)
{
	float logits[3] = {1, NAN, 2}, grad[3];
	uint32_t label = 0;
	double row_loss;
	invar_context *ctx = context(1);

	(void)state;
	assert_true(isnan(inv_cross_entropy(ctx, logits, &label, 1, 3, grad, &row_loss)));
	invar_context_free(ctx);
}

/* ---- Golden -------------------------------------------------------------------- */

/* "weight" if there is one layer, "2_weight" for the second of several. */
static void block_name(const inv_layers_shape *s, size_t layer, const char *prefix,
                       const char *block, char name[40])
{
	if (s->count == 1)
		snprintf(name, 40, "%s%s", prefix, block);
	else
		snprintf(name, 40, "%s%zu_%s", prefix, 2 * layer, block);
}

static void load_params(golden *g, const inv_layers_shape *s, float *params)
{
	char name[40];

	for (size_t l = 0; l < s->count; l++) {
		inv_layer_place at = inv_layers_place(s, l);

		block_name(s, l, "", "weight", name);
		memcpy(params + at.weight, golden_f32(g, name, NULL),
		       s->width[l] * s->width[l + 1] * sizeof *params);
		block_name(s, l, "", "bias", name);
		memcpy(params + at.bias, golden_f32(g, name, NULL),
		       s->width[l + 1] * sizeof *params);
	}
}

static void check_gradients(golden *g, const inv_layers_shape *s, const float *grads)
{
	char name[40];

	for (size_t l = 0; l < s->count; l++) {
		inv_layer_place at = inv_layers_place(s, l);

		block_name(s, l, "grad_", "weight", name);
		golden_check(g, name, grads + at.weight, s->width[l] * s->width[l + 1]);
		block_name(s, l, "grad_", "bias", name);
		golden_check(g, name, grads + at.bias, s->width[l + 1]);
	}
}

static void check_predictions(golden *g, const invar_context *ctx,
                              const inv_classifier_spec *spec, const float *params,
                              const float *x, const uint32_t *labels, size_t n)
{
	const int64_t *want = golden_int(g, "predictions", NULL);
	uint32_t got[64];
	unsigned correct = 0;

	assert_true(n <= 64);
	assert_int_equal(inv_classifier_predict(ctx, spec, params, x, n, got), INVAR_OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(got[i], want[i]);
		correct += got[i] == labels[i];
	}
	golden_check_value(g, "correct", correct);
}

static void check_case(const char *root, const char *name, size_t hidden_layers)
{
	golden *g = golden_open(root, name);
	size_t shape[GOLDEN_NDIM], wide[GOLDEN_NDIM] = {0}, out[GOLDEN_NDIM];
	const float *x = golden_f32(g, "x", shape);
	const int64_t *classes = golden_int(g, "labels", NULL);
	inv_classifier_spec spec = {.inputs = shape[1], .hidden_layers = hidden_layers};
	uint32_t labels[64] = {0};
	invar_context *ctx = context(2);
	inv_layers_shape s;
	inv_fit *fit;
	float *params;
	double loss;

	golden_f64(g, "logits", out);
	if (hidden_layers)
		golden_f32(g, "0_bias", wide);
	spec.classes = out[1];
	spec.hidden = wide[0];
	s = inv_classifier_shape(&spec);
	params = inv_calloc(inv_classifier_floats(&spec), sizeof *params);
	load_params(g, &s, params);
	for (size_t i = 0; i < shape[0]; i++)
		labels[i] = (uint32_t)classes[i];
	assert_int_equal(inv_fit_new(ctx, &spec, shape[0], &fit), INVAR_OK);
	assert_int_equal(inv_fit_gradients(fit, params, x, labels, &loss), INVAR_OK);
	golden_check_value(g, "loss", loss);
	golden_check(g, "logits", fit->logits, shape[0] * spec.classes);
	check_gradients(g, &s, fit->grads);
	check_predictions(g, ctx, &spec, params, x, labels, shape[0]);
	inv_fit_free(fit);
	inv_free(params);
	invar_context_free(ctx);
	golden_close(g);
}

static void golden_classifiers(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "softmax_regression", 0);
		check_case(*root, "mlp_classifier", 1);
	}
	check_case(golden_roots()[0], "mlp_classifier_deep", 2);
}

/* ---- Differences ---------------------------------------------------------------- */

enum { N = 9, MOST = 32 };

static const inv_classifier_spec deep = {
	.inputs = 5, .hidden = 19, .classes = 4, .hidden_layers = 2, .stage = "test"};

/* The loss of one batch by plain loops in double. */
static double plain_loss(const inv_layers_shape *s, const double *params, const float *x,
                         const uint32_t *labels)
{
	double total = 0;

	for (size_t i = 0; i < N; i++) {
		double in[MOST], out[MOST], max = -INFINITY, sum = 0;

		for (size_t k = 0; k < s->width[0]; k++)
			in[k] = x[i * s->width[0] + k];
		for (size_t l = 0; l < s->count; l++) {
			inv_layer_place at = inv_layers_place(s, l);

			for (size_t j = 0; j < s->width[l + 1]; j++) {
				out[j] = params[at.bias + j];
				for (size_t k = 0; k < s->width[l]; k++)
					out[j] += params[at.weight + j * s->width[l] + k] * in[k];
				if (l + 1 < s->count && out[j] < 0)
					out[j] = 0;
			}
			memcpy(in, out, sizeof in);
		}
		for (size_t j = 0; j < s->width[s->count]; j++)
			max = fmax(max, out[j]);
		for (size_t j = 0; j < s->width[s->count]; j++)
			sum += exp(out[j] - max);
		total += log(sum) + max - out[labels[i]];
	}
	return total / N;
}

static void every_block_of_two_hidden_layers_equals_differences(void **state)
{
	const double step = 1e-6; /* small enough to stay on one side of every ReLU */
	inv_layers_shape s = inv_classifier_shape(&deep);
	size_t floats = inv_layers_floats(&s);
	inv_stream stream = inv_stream_of(8, "probe/init", 0);
	float *params = inv_calloc(floats, sizeof *params), *x = draw("x", N * 5);
	double *wide = inv_calloc(floats, sizeof *wide), loss;
	uint32_t labels[N] = {0, 1, 2, 3, 0, 1, 2, 3, 3};
	invar_context *ctx = context(2);
	inv_fit *fit;

	(void)state;
	inv_layers_init(&s, &stream, params);
	for (size_t i = 0; i < floats; i++)
		wide[i] = params[i];
	assert_int_equal(inv_fit_new(ctx, &deep, N, &fit), INVAR_OK);
	assert_int_equal(inv_fit_gradients(fit, params, x, labels, &loss), INVAR_OK);
	assert_true(fabs(loss - plain_loss(&s, wide, x, labels)) < 1e-6);
	for (size_t i = 0; i < floats; i++) { /* padding too: its gradient stays 0 */
		double keep = wide[i], up, down, want;

		wide[i] = keep + step;
		up = plain_loss(&s, wide, x, labels);
		wide[i] = keep - step;
		down = plain_loss(&s, wide, x, labels);
		wide[i] = keep;
		want = (up - down) / (2 * step);
		if (!(fabs(fit->grads[i] - want) < 1e-6 + 1e-5 * fabs(want)))
			fail_msg("parameter %zu: %g, differences say %g", i, (double)fit->grads[i],
			         want);
	}
	inv_fit_free(fit);
	inv_free(params);
	inv_free(wide);
	inv_free(x);
	invar_context_free(ctx);
}

/* ---- Training --------------------------------------------------------------------- */

enum { ROWS = 600, WIDTH = 12, CLASSES = 3 };

/* Classes far apart along their own coordinate; free both. */
static float *separable(uint32_t *labels)
{
	float *x = draw("separable", ROWS * WIDTH);

	for (size_t i = 0; i < ROWS; i++) {
		labels[i] = (uint32_t)(i % CLASSES);
		x[i * WIDTH + labels[i]] += 12;
	}
	return x;
}

static float *trained(unsigned threads, size_t hidden_layers, size_t hidden, uint64_t seed,
                      uint64_t epochs, const float *x, const uint32_t *labels)
{
	const inv_classifier_spec spec = {WIDTH,  hidden, CLASSES, hidden_layers,
	                                  epochs, seed,   "test",  false};
	invar_context *ctx = context(threads);
	float *params = inv_calloc(inv_classifier_floats(&spec), sizeof *params);

	assert_int_equal(inv_classifier_train(ctx, &spec, x, labels, ROWS, params), INVAR_OK);
	invar_context_free(ctx);
	return params;
}

static void a_separable_problem_is_learnt(void **state)
{
	enum { EPOCHS = 500 }; /* of two steps; Adam moves a weight by at most 1e-3 per step */
	uint32_t labels[ROWS], got[ROWS];
	float *x = separable(labels);
	invar_context *ctx = context(2);

	(void)state;
	for (size_t layers = 0; layers <= 2; layers++) {
		const inv_classifier_spec spec = {WIDTH,  64, CLASSES, layers,
		                                  EPOCHS, 0,  "test",  false};
		float *params = trained(2, layers, 64, 0, EPOCHS, x, labels);

		assert_int_equal(inv_classifier_predict(ctx, &spec, params, x, ROWS, got),
		                 INVAR_OK);
		assert_memory_equal(got, labels, sizeof got);
		inv_free(params);
	}
	inv_free(x);
	invar_context_free(ctx);
}

/* Wide enough that products of 256 rows are cut into tiles. */
static void one_to_four_threads_give_the_same_bits(void **state)
{
	static const size_t hidden[] = {0, 4096, 900};
	uint32_t labels[ROWS];
	float *x = separable(labels);

	(void)state;
	for (size_t layers = 0; layers <= 2; layers++) {
		const inv_classifier_spec spec = {WIDTH, hidden[layers], CLASSES, layers, 2, 0,
		                                  "",    false};
		size_t bytes = inv_classifier_floats(&spec) * sizeof(float);
		float *one = trained(1, layers, hidden[layers], 0, 2, x, labels);

		for (unsigned threads = 2; threads <= 4; threads++) {
			float *many = trained(threads, layers, hidden[layers], 0, 2, x, labels);

			assert_memory_equal(one, many, bytes);
			inv_free(many);
		}
		inv_free(one);
	}
	inv_free(x);
}

static void seeds_differ_and_repeat(void **state)
{
	const inv_classifier_spec spec = {WIDTH, 16, CLASSES, 1, 3, 0, "", false};
	size_t bytes = inv_classifier_floats(&spec) * sizeof(float);
	uint32_t labels[ROWS];
	float *x = separable(labels);
	float *a = trained(2, 1, 16, 5, 3, x, labels), *b = trained(2, 1, 16, 5, 3, x, labels);
	float *c = trained(2, 1, 16, 6, 3, x, labels);

	(void)state;
	assert_memory_equal(a, b, bytes);
	assert_memory_not_equal(a, c, bytes);
	inv_free(x);
	inv_free(a);
	inv_free(b);
	inv_free(c);
}

static void equal_logits_go_to_the_lower_class(void **state)
{
	const inv_classifier_spec spec = {.inputs = 1, .classes = 3};
	float params[32] = {0}, x[2] = {1, -1};
	uint32_t got[2];
	invar_context *ctx = context(1);

	(void)state;
	params[1] = params[2] = 1; /* logits (0, x, x) */
	assert_int_equal(inv_classifier_predict(ctx, &spec, params, x, 2, got), INVAR_OK);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[1], 0);
	invar_context_free(ctx);
}

static int stop_at_once(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	assert_string_equal(stage, "test");
	assert_true(done == 1 && total == 2 * 100);
	return 1;
}

static void training_can_be_stopped(void **state)
{
	const inv_classifier_spec spec = {WIDTH, 8, CLASSES, 1, 100, 0, "test", false};
	invar_hooks hooks = {.size = sizeof hooks, .progress = stop_at_once};
	uint32_t labels[ROWS];
	float *x = separable(labels);
	float *params = inv_calloc(inv_classifier_floats(&spec), sizeof *params);
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(inv_classifier_train(ctx, &spec, x, labels, ROWS, params),
	                 INVAR_E_CANCELLED);
	inv_free(x);
	inv_free(params);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_cross_entropy_equals_the_definition),
		cmocka_unit_test(nan_in_a_logit_reaches_the_loss),
		cmocka_unit_test(golden_classifiers),
		cmocka_unit_test(every_block_of_two_hidden_layers_equals_differences),
		cmocka_unit_test(a_separable_problem_is_learnt),
		cmocka_unit_test(one_to_four_threads_give_the_same_bits),
		cmocka_unit_test(seeds_differ_and_repeat),
		cmocka_unit_test(equal_logits_go_to_the_lower_class),
		cmocka_unit_test(training_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
