/* SPDX-License-Identifier: Apache-2.0 */
/* test_simclr.c - NT-Xent: golden values and gradients, its invariances, its edges. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "golden_step.h"
#include "one_loss.h"

extern const inv_loss inv_loss_simclr;

static invar_options *simclr_options(double temperature)
{
	return test_options("loss", "kind", "simclr", "temperature",
	                    test_text("%.15g", temperature), NULL);
}

static void check_case(const char *root, const char *tag, double temperature)
{
	golden *g = golden_open(root, "simclr");
	size_t shape[GOLDEN_NDIM];
	const float *views = golden_f32(g, "views", shape);
	size_t N = shape[0] / 2, d = shape[1];
	float *rows = inv_calloc(3 * N * d, sizeof *rows);
	invar_options *o = simclr_options(temperature);
	inv_step_spec spec = {.loss = &inv_loss_simclr, .options = o, .N = N, .s = 2};

	memcpy(rows + N * d, views, 2 * N * d * sizeof *rows);
	golden_step(test_ctx, g, spec, rows, tag);
	invar_options_free(o);
	inv_free(rows);
	golden_close(g);
}

static void golden_values_and_gradients(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "_t05", 0.5);
		check_case(*root, "_t01", 0.1);
	}
}

/* ---- The definition, in double ------------------------------------------------------ */

enum { N = 9, W = 11, ROWS = 2 * N };

typedef struct cloud {
	float codes[ROWS * W], grad[ROWS * W];
	double cosine;
} cloud;

static double evaluate(cloud *c, double temperature)
{
	invar_options *o = simclr_options(temperature);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = 2, .d = W, .w = W};
	inv_loss_batch b = {.codes = c->codes};
	inv_loss_value value = one_loss(&inv_loss_simclr, shape, &b, c->grad);

	assert_true(value.value == one_loss(&inv_loss_simclr, shape, &b, NULL).value);
	c->cosine = value.term[0];
	invar_options_free(o);
	return value.value;
}

static cloud random_cloud(void)
{
	inv_stream s = inv_stream_of(1, "cloud", 0);
	cloud c;

	inv_fill_normal(&s, 0, c.codes, ROWS * W);
	return c;
}

static double norm(const double *z, size_t w)
{
	double sum = 0;

	for (size_t k = 0; k < w; k++)
		sum += z[k] * z[k];
	return fmax(sqrt(sum), 1e-12);
}

static double cosine(const double *z, size_t w, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < w; k++)
		sum += z[i * w + k] * z[j * w + k];
	return sum / norm(z + i * w, w) / norm(z + j * w, w);
}

static double plain(const double *z, size_t n, size_t w, double temperature)
{
	double loss = 0;

	for (size_t i = 0; i < 2 * n; i++) {
		double largest = -1, sum = 0;

		for (size_t j = 0; j < 2 * n; j++)
			if (j != i)
				largest = fmax(largest, cosine(z, w, i, j));
		for (size_t j = 0; j < 2 * n; j++)
			if (j != i)
				sum += exp((cosine(z, w, i, j) - largest) / temperature);
		loss += log(sum) + (largest - cosine(z, w, i, (i + n) % (2 * n))) / temperature;
	}
	return loss / (double)(2 * n);
}

static double plain_moved(const cloud *c, double temperature, size_t at, double by)
{
	double z[ROWS * W];

	for (size_t i = 0; i < ROWS * W; i++)
		z[i] = c->codes[i];
	z[at] += by;
	return plain(z, N, W, temperature);
}

static void assert_differences(const cloud *c, double temperature, size_t first,
                               double step, double rel)
{
	double largest = 0;

	for (size_t i = 0; i < ROWS * W; i++)
		largest = fmax(largest, fabs((double)c->grad[i]));
	for (size_t i = first; i < first + W; i++) {
		double up = plain_moved(c, temperature, i, step);
		double down = plain_moved(c, temperature, i, -step);

		assert_true(fabs(c->grad[i] - (up - down) / (2 * step)) < rel * largest);
	}
}

static void value_and_gradient_are_those_of_the_definition(void **state)
{
	const double temperatures[] = {0.5, 0.1, 0.02};

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		cloud c = random_cloud();
		double value = evaluate(&c, temperatures[t]);

		assert_true(fabs(value - plain_moved(&c, temperatures[t], 0, 0)) < 1e-5 * value);
		for (size_t row = 0; row < ROWS; row++)
			assert_differences(&c, temperatures[t], row * W, 1e-6, 2e-5);
	}
}

/* FACTS, section I. */
static void the_worked_example(void **state)
{
	const float codes[] = {1, 2, 0, 0, 1, 1, 2, 0, 1, 1, 1, 0, 0, 2, 1, 1, 0, 1};
	invar_options *o = simclr_options(0.5);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = 3, .s = 2, .d = 3, .w = 3};
	inv_loss_batch b = {.codes = codes};

	(void)state;
	assert_true(fabs(one_loss(&inv_loss_simclr, shape, &b, NULL).value - 0.972945388355) <
	            1e-6);
	invar_options_free(o);
}

/* ---- Invariances and edges ----------------------------------------------------------- */

static void the_scale_of_a_code_does_not_matter(void **state)
{
	cloud c = random_cloud(), scaled = c;
	double value = evaluate(&c, 0.5);

	(void)state;
	for (size_t i = 0; i < ROWS * W; i++)
		scaled.codes[i] *= ldexpf(1, (int)(i / W % 40) - 20); /* exact */
	assert_true(evaluate(&scaled, 0.5) == value);
	for (size_t i = 0; i < ROWS * W; i++)
		assert_true(scaled.grad[i] == ldexpf(c.grad[i], 20 - (int)(i / W % 40)));
}

/* Codes minus an origin, which the frame adds again, have the same directions. */
static void codes_about_a_mean_are_seen_from_the_origin(void **state)
{
	cloud c = random_cloud(), moved = c;
	float origin[W];
	invar_options *o = simclr_options(0.1);
	inv_loss_shape shape = {.ctx = test_ctx,
	                        .options = o,
	                        .N = N,
	                        .s = 2,
	                        .d = W,
	                        .w = W,
	                        .frame = {.origin = origin}};
	inv_loss_batch b = {.codes = moved.codes};
	double value = evaluate(&c, 0.1);

	(void)state;
	for (size_t j = 0; j < W; j++)
		origin[j] = (float)j / 4 - 1;
	for (size_t i = 0; i < ROWS * W; i++)
		moved.codes[i] -= origin[i % W];
	assert_true(fabs(one_loss(&inv_loss_simclr, shape, &b, moved.grad).value - value) <
	            1e-5 * value);
	for (size_t i = 0; i < ROWS * W; i++)
		assert_true(fabs((double)moved.grad[i] - c.grad[i]) < 1e-5);
	invar_options_free(o);
}

static void a_gradient_is_at_right_angles_to_its_code(void **state)
{
	cloud c = random_cloud();

	(void)state;
	evaluate(&c, 0.1);
	for (size_t row = 0; row < ROWS; row++) {
		double along = 0;

		for (size_t j = 0; j < W; j++)
			along += (double)c.codes[row * W + j] * c.grad[row * W + j];
		assert_true(fabs(along) < 1e-6);
	}
}

static void assert_all_finite(const cloud *c, double value)
{
	assert_true(isfinite(value));
	for (size_t i = 0; i < ROWS * W; i++)
		assert_true(isfinite(c->grad[i]));
}

/* Its norm counts as 1e-12, so a step of 1e-16 moves its unit vector by 1e-4. */
static void a_code_of_zero_has_the_gradient_of_its_guard(void **state)
{
	cloud c = random_cloud();
	double value;

	(void)state;
	memset(c.codes + 4 * W, 0, W * sizeof(float));
	value = evaluate(&c, 0.5);
	assert_all_finite(&c, value);
	assert_true(fabs(value - plain_moved(&c, 0.5, 0, 0)) < 1e-5 * value);
	assert_differences(&c, 0.5, 4 * W, 1e-16, 1e-3);
}

static void clouds_without_shape_stay_finite(void **state)
{
	const double temperatures[] = {1e-3, 0.5, 100};
	cloud c;

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		memset(c.codes, 0, sizeof c.codes);
		assert_all_finite(&c, evaluate(&c, temperatures[t]));
		for (size_t i = 0; i < ROWS * W; i++)
			c.codes[i] = 3;
		assert_all_finite(&c, evaluate(&c, temperatures[t])); /* all equal: log(2N - 1) */
		assert_true(fabs(evaluate(&c, temperatures[t]) - log(ROWS - 1)) < 1e-3);
		assert_true(fabs(c.cosine - 1) < 1e-6);
		for (size_t i = 0; i < ROWS * W; i++)
			c.codes[i] = i / W % 2 ? -1e18f : 1e-18f;
		assert_all_finite(&c, evaluate(&c, temperatures[t]));
	}
}

/* Cosines have an error of about 1e-7, which the temperature makes 1e-4. */
static void the_least_temperature_is_safe(void **state)
{
	cloud c = random_cloud();
	double value = evaluate(&c, 1e-3);

	(void)state;
	assert_all_finite(&c, value);
	assert_true(fabs(value - plain_moved(&c, 1e-3, 0, 0)) < 1e-3 * value);
}

static void one_image_costs_nothing(void **state)
{
	const float codes[] = {1, 2, -3, 4};
	float grad[4];
	invar_options *o = simclr_options(0.5);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = 1, .s = 2, .d = 2, .w = 2};
	inv_loss_batch b = {.codes = codes};

	(void)state;
	assert_true(one_loss(&inv_loss_simclr, shape, &b, grad).value == 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(fabsf(grad[i]) < 1e-6f);
	invar_options_free(o);
}

/* 700 rows: several tiles of each kind. The plain kernels agree as far as floats do. */
static void threads_change_no_bit_and_flavours_little(void **state)
{
	enum { n = 350, w = 40, count = 2 * n * w };
	float *codes = inv_alloc(count * sizeof *codes);
	inv_stream s = inv_stream_of(1, "many", 0);
	invar_options *o = simclr_options(0.1);
	inv_loss_batch b = {.codes = codes};
	inv_loss_shape shape = {.options = o, .N = n, .s = 2, .d = w, .w = w};

	(void)state;
	inv_fill_normal(&s, 0, codes, count);
	assert_alike_on_threads_and_flavours(&inv_loss_simclr, shape, &b, count, 1e-5);
	inv_free(codes);
	invar_options_free(o);
}

static void what_is_no_number_is_seen(void **state)
{
	cloud c = random_cloud();
	invar_options *o = simclr_options(0.5);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = 2, .d = W, .w = W};
	inv_loss_batch b = {.codes = c.codes};

	(void)state;
	c.codes[5 * W + 3] = NAN;
	assert_true(isnan(one_loss(&inv_loss_simclr, shape, &b, c.grad).value));
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_values_and_gradients),
		cmocka_unit_test(value_and_gradient_are_those_of_the_definition),
		cmocka_unit_test(the_worked_example),
		cmocka_unit_test(the_scale_of_a_code_does_not_matter),
		cmocka_unit_test(codes_about_a_mean_are_seen_from_the_origin),
		cmocka_unit_test(a_gradient_is_at_right_angles_to_its_code),
		cmocka_unit_test(a_code_of_zero_has_the_gradient_of_its_guard),
		cmocka_unit_test(clouds_without_shape_stay_finite),
		cmocka_unit_test(the_least_temperature_is_safe),
		cmocka_unit_test(one_image_costs_nothing),
		cmocka_unit_test(threads_change_no_bit_and_flavours_little),
		cmocka_unit_test(what_is_no_number_is_seen),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
