/* SPDX-License-Identifier: Apache-2.0 */
/* test_hsic.c - HSIC: golden values and gradients, its widths, its edges. */
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

extern const inv_loss inv_loss_hsic;

enum { TERM_HSIC, TERM_SIGMA_X, TERM_SIGMA_Z };

/* Widths of 0 are the medians. */
static invar_options *hsic_options(double sigma_x, double sigma_z)
{
	invar_options *o = test_options("loss", "kind", "hsic", NULL);

	if (sigma_x > 0)
		test_set(o, "sigma-x", test_text("%.17g", sigma_x), NULL);
	if (sigma_z > 0)
		test_set(o, "sigma-z", test_text("%.17g", sigma_z), NULL);
	return o;
}

static float *stack(golden *g, size_t shape[GOLDEN_NDIM])
{
	const float *clean = golden_f32(g, "clean", NULL), *aug = golden_f32(g, "aug", shape);
	size_t N = shape[0], s = shape[1], d = shape[2];
	float *rows = inv_calloc((s + 1) * N * d, sizeof *rows);

	memcpy(rows, clean, N * d * sizeof *rows);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((k + 1) * N + i) * d, aug + (i * s + k) * d, d * sizeof *rows);
	return rows;
}

static void golden_values_and_gradients(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "hsic");
		size_t shape[GOLDEN_NDIM];
		float *rows = stack(g, shape);
		double sigma_x = golden_value(g, "sigma_x"), sigma_z = golden_value(g, "sigma_z");
		invar_options *median = hsic_options(0, sigma_z);
		invar_options *given = hsic_options(sigma_x, sigma_z);
		inv_step_spec spec = {.loss = &inv_loss_hsic, .N = shape[0], .s = shape[1]};
		inv_loss_value value;

		spec.options = median;
		value = golden_step(test_ctx, g, spec, rows, "_median");
		golden_check_value(g, "sigma_x_median", value.term[TERM_SIGMA_X]);
		golden_check_value(g, "hsic_median", value.term[TERM_HSIC]);
		spec.options = given;
		value = golden_step(test_ctx, g, spec, rows, "_given");
		assert_true(value.term[TERM_SIGMA_X] == sigma_x);
		assert_true(value.term[TERM_SIGMA_Z] == sigma_z);
		invar_options_free(median);
		invar_options_free(given);
		inv_free(rows);
		golden_close(g);
	}
}

/* Some clean rows and some codes occur several times. */
static void golden_medians(void **state)
{
	golden *g = golden_open(golden_roots()[0], "hsic_median");
	size_t shape[GOLDEN_NDIM];
	invar_options *o = hsic_options(0, 0);
	inv_loss_batch b = {.codes = golden_f32(g, "codes", shape),
	                    .clean = golden_f32(g, "clean", NULL)};
	inv_loss_shape s = {.ctx = test_ctx,
	                    .options = o,
	                    .N = (size_t)golden_value(g, "N"),
	                    .s = (size_t)golden_value(g, "s"),
	                    .d = (size_t)golden_value(g, "d"),
	                    .w = shape[1]};
	float *grad = inv_alloc(shape[0] * shape[1] * sizeof *grad);
	inv_loss_value value = one_loss(&inv_loss_hsic, s, &b, grad);

	(void)state;
	golden_check_value(g, "loss", value.value);
	golden_check_value(g, "hsic", value.term[TERM_HSIC]);
	golden_check_value(g, "sigma_x", value.term[TERM_SIGMA_X]);
	golden_check_value(g, "sigma_z", value.term[TERM_SIGMA_Z]);
	golden_check(g, "grad_codes", grad, shape[0] * shape[1]);
	invar_options_free(o);
	inv_free(grad);
	golden_close(g);
}

/* ---- The definition, in double ------------------------------------------------------ */

enum { N = 9, S = 2, D = 7, W = 5, MOST = (S + 1) * N };

typedef struct cloud {
	size_t M; /* rows of codes */
	float clean[N * D], codes[MOST * W], grad[MOST * W];
	inv_loss_value value;
} cloud;

/* Frees the options. */
static double evaluate(cloud *c, invar_options *o)
{
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W};
	inv_loss_batch b = {.clean = c->clean, .codes = c->codes};

	shape.s = c->M / N - inv_loss_keeps_identity(o);
	c->value = one_loss(&inv_loss_hsic, shape, &b, c->grad);
	assert_true(c->value.value == one_loss(&inv_loss_hsic, shape, &b, NULL).value);
	invar_options_free(o);
	return c->value.value;
}

static cloud random_cloud(size_t M)
{
	inv_stream s = inv_stream_of(1, "cloud", 0);
	cloud c = {.M = M};

	inv_fill_normal(&s, 0, c.clean, N * D);
	inv_fill_normal(&s, 1, c.codes, MOST * W);
	return c;
}

static double squared(const double *x, size_t width, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < width; k++)
		sum +=
			(x[i * width + k] - x[j * width + k]) * (x[i * width + k] - x[j * width + k]);
	return sum;
}

/* tr(K H L H) by the definition, without centring a kernel by its means. */
static double plain(const double *x, const double *z, size_t M, double sigma_x,
                    double sigma_z)
{
	static double KH[MOST][MOST], LH[MOST][MOST];
	double trace = 0;

	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < M; j++) {
			KH[i][j] = LH[i][j] = 0;
			for (size_t k = 0; k < M; k++) {
				double h = (j == k) - 1 / (double)M;

				KH[i][j] += exp(-squared(x, D, i, k) / (2 * sigma_x * sigma_x)) * h;
				LH[i][j] += exp(-squared(z, W, i, k) / (2 * sigma_z * sigma_z)) * h;
			}
		}
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < M; j++)
			trace += KH[i][j] * LH[j][i];
	return trace / (double)((M - 1) * (M - 1));
}

static double plain_moved(const cloud *c, size_t at, double by)
{
	static double x[MOST * D], z[MOST * W];

	for (size_t i = 0; i < c->M * D; i++)
		x[i] = c->clean[i % (N * D)];
	for (size_t i = 0; i < c->M * W; i++)
		z[i] = c->codes[i];
	z[at] += by;
	return -plain(x, z, c->M, c->value.term[TERM_SIGMA_X], c->value.term[TERM_SIGMA_Z]);
}

static void assert_definition(const cloud *c)
{
	double largest = 0, value = c->value.value;

	assert_true(fabs(value - plain_moved(c, 0, 0)) <= 1e-5 * fabs(value) + 1e-9);
	for (size_t i = 0; i < c->M * W; i++)
		largest = fmax(largest, fabs((double)c->grad[i]));
	for (size_t i = 0; i < c->M * W; i++) {
		double up = plain_moved(c, i, 1e-5), down = plain_moved(c, i, -1e-5);

		assert_true(fabs(c->grad[i] - (up - down) / 2e-5) < 2e-5 * largest + 1e-9);
	}
}

static void value_and_gradient_are_those_of_the_definition(void **state)
{
	cloud c = random_cloud(MOST), copies = random_cloud(S * N), alone = random_cloud(N);

	(void)state;
	evaluate(&c, hsic_options(2, 1.5));
	assert_definition(&c);
	evaluate(&c, hsic_options(0, 0)); /* the widths are constants to the gradient */
	assert_definition(&c);
	evaluate(&copies, test_set(hsic_options(0, 0), "no-identity", "1", NULL));
	assert_definition(&copies);
	evaluate(&alone, hsic_options(0, 0)); /* s = 0: dimension reduction */
	assert_definition(&alone);
}

/* FACTS, section I. */
static void the_worked_example(void **state)
{
	enum { n = 6 };
	float clean[n * 3], codes[n * 2];
	invar_options *given = hsic_options(1.5, 0.8), *medians = hsic_options(0, 0);
	inv_loss_shape shape = {.ctx = test_ctx, .options = given, .N = n, .d = 3, .w = 2};
	inv_loss_batch b = {.clean = clean, .codes = codes};
	inv_loss_value value;

	(void)state;
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < 3; j++)
			clean[i * 3 + j] = (float)sin(1 + i + 2 * j);
		for (int j = 0; j < 2; j++)
			codes[i * 2 + j] = (float)cos(2 + 3 * i + j);
	}
	value = one_loss(&inv_loss_hsic, shape, &b, NULL);
	assert_true(fabs(value.term[TERM_HSIC] - 0.018120278835) < 1e-8);
	shape.options = medians;
	value = one_loss(&inv_loss_hsic, shape, &b, NULL);
	assert_true(fabs(value.term[TERM_SIGMA_X] - 2.046689379) < 1e-6);
	assert_true(fabs(value.term[TERM_SIGMA_Z] - 1.576787288) < 1e-6);
	invar_options_free(given);
	invar_options_free(medians);
}

/* ---- Invariances and edges ----------------------------------------------------------- */

static void moving_all_codes_changes_nothing(void **state)
{
	cloud c = random_cloud(MOST), moved;
	double value, sums[W] = {0};

	(void)state;
	for (size_t i = 0; i < MOST * W; i++)
		c.codes[i] = rintf(c.codes[i] * 1024) / 1024; /* so that adding 100 is exact */
	moved = c;
	for (size_t i = 0; i < MOST * W; i++)
		moved.codes[i] += 100;
	value = evaluate(&c, hsic_options(0, 0));
	assert_true(fabs(evaluate(&moved, hsic_options(0, 0)) - value) < 1e-6 * fabs(value));
	for (size_t i = 0; i < MOST * W; i++) {
		assert_true(fabsf(c.grad[i] - moved.grad[i]) < 1e-8f);
		sums[i % W] += c.grad[i];
	}
	for (size_t j = 0; j < W; j++)
		assert_true(fabs(sums[j]) < 1e-8);
}

static void the_scale_of_the_codes_does_not_matter_to_medians(void **state)
{
	cloud c = random_cloud(MOST), scaled = c;
	double value = evaluate(&c, hsic_options(0, 0));

	(void)state;
	for (size_t i = 0; i < MOST * W; i++)
		scaled.codes[i] *= 64;
	assert_true(fabs(evaluate(&scaled, hsic_options(0, 0)) - value) < 1e-6 * fabs(value));
	assert_true(scaled.value.term[TERM_SIGMA_Z] == 64 * c.value.term[TERM_SIGMA_Z]);
}

static void assert_all_finite(const cloud *c)
{
	assert_true(isfinite(c->value.value));
	for (size_t i = 0; i < c->M * W; i++)
		assert_true(isfinite(c->grad[i]));
}

static void a_median_of_zero_counts_as_one(void **state)
{
	cloud c = random_cloud(MOST);

	(void)state;
	for (size_t i = 0; i < N * D; i++)
		c.clean[i] = c.clean[i % D]; /* one distinct row: no pairs */
	for (size_t i = W; i < (MOST - 2) * W; i++)
		c.codes[i] = c.codes[i % W]; /* all but two: more than half of the pairs */
	evaluate(&c, hsic_options(0, 0));
	assert_all_finite(&c);
	assert_true(c.value.term[TERM_SIGMA_X] == 1);
	assert_true(c.value.term[TERM_SIGMA_Z] == 1);
	assert_true(fabs(c.value.value) < 1e-9); /* X is constant */
}

/* From products alone, distances of equal codes would be up to 0.1. */
static void equal_codes_far_from_the_others_are_at_zero(void **state)
{
	cloud c = random_cloud(MOST);

	(void)state;
	for (size_t i = W; i < (MOST - 2) * W; i++)
		c.codes[i] = c.codes[i % W] + (i / W == 3 ? 1e-5f : 0);
	for (size_t i = (MOST - 2) * W; i < MOST * W; i++)
		c.codes[i] += 1000;
	evaluate(&c, hsic_options(0, 0));
	assert_true(c.value.term[TERM_SIGMA_Z] == 1);
	assert_all_finite(&c);
	assert_true(fabs(c.value.value - plain_moved(&c, 0, 0)) < 1e-5 * fabs(c.value.value));
}

static void clouds_without_shape_stay_finite(void **state)
{
	const double widths[] = {0, 1e-30, 1e-3, 1e3, 1e30};
	const float scales[] = {0, 1e-15f, 1, 1e15f};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 4; k++) {
			cloud c = random_cloud(MOST);

			for (size_t j = 0; j < MOST * W; j++)
				c.codes[j] *= scales[k];
			for (size_t j = 0; j < N * D; j++)
				c.clean[j] *= scales[k];
			evaluate(&c, hsic_options(widths[i], widths[i]));
			assert_all_finite(&c);
			for (size_t j = 0; j < MOST * W; j++)
				c.codes[j] = scales[k];
			evaluate(&c, hsic_options(widths[i], widths[i]));
			assert_all_finite(&c);
		}
}

static void one_image_depends_on_nothing(void **state)
{
	const float clean[] = {1, 2}, codes[] = {3, 4, 5, 6, 7, 8};
	float grad[6];
	invar_options *o = hsic_options(0, 0);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = 1, .d = 2, .w = 2};
	inv_loss_batch b = {.clean = clean, .codes = codes};

	(void)state;
	for (shape.s = 0; shape.s < 3; shape.s++) {
		assert_true(one_loss(&inv_loss_hsic, shape, &b, grad).value == 0);
		for (size_t i = 0; i < 2 * (shape.s + 1); i++)
			assert_true(grad[i] == 0);
	}
	invar_options_free(o);
}

/* 720 rows: several tiles of each kind. The plain kernels agree as far as floats do. */
static void threads_change_no_bit_and_flavours_little(void **state)
{
	enum { n = 240, w = 33, count = 3 * n * w };
	float *codes = inv_alloc(count * sizeof *codes);
	inv_stream s = inv_stream_of(1, "many", 0);
	invar_options *o = hsic_options(0, 0);
	inv_loss_batch b = {.clean = codes, .codes = codes};
	inv_loss_shape shape = {.options = o, .N = n, .s = 2, .d = w, .w = w};

	(void)state;
	inv_fill_normal(&s, 0, codes, count);
	assert_alike_on_threads_and_flavours(&inv_loss_hsic, shape, &b, count, 1e-5);
	inv_free(codes);
	invar_options_free(o);
}

static void what_is_no_number_is_seen(void **state)
{
	cloud c = random_cloud(MOST);
	invar_options *o = hsic_options(0, 0);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W};
	inv_loss_batch b = {.clean = c.clean, .codes = c.codes};

	(void)state;
	c.codes[5 * W + 3] = NAN;
	assert_true(isnan(one_loss(&inv_loss_hsic, shape, &b, c.grad).value));
	invar_options_free(o);
}

static void the_narrowest_kernels_stay_finite(void **state)
{
	cloud c = random_cloud(MOST);
	invar_options *o = hsic_options(1e-200, 1e-200);
	inv_loss_shape shape = {.ctx = test_ctx, .options = o, .N = N, .s = S, .d = D, .w = W};
	inv_loss_batch b = {.clean = c.clean, .codes = c.codes};

	(void)state;
	assert_true(isfinite(one_loss(&inv_loss_hsic, shape, &b, c.grad).value));
	invar_options_free(o);
	assert_all_finite(&c);
}

/* Their pairs do not fit the counter; an error before memory is allocated. */
static void too_many_rows_are_refused(void **state)
{
	invar_options *o = hsic_options(0, 0);
	inv_loss_shape shape = {
		.ctx = test_ctx, .options = o, .N = 92682, .s = 0, .groups = 1, .d = D, .w = W};
	inv_loss_work work = {0};

	(void)state;
	assert_int_equal(inv_loss_hsic.prepare(&shape, &work), INVAR_E_USE);
	test_assert_error("use a batch-size below 92682");
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_values_and_gradients),
		cmocka_unit_test(golden_medians),
		cmocka_unit_test(value_and_gradient_are_those_of_the_definition),
		cmocka_unit_test(the_worked_example),
		cmocka_unit_test(moving_all_codes_changes_nothing),
		cmocka_unit_test(the_scale_of_the_codes_does_not_matter_to_medians),
		cmocka_unit_test(a_median_of_zero_counts_as_one),
		cmocka_unit_test(equal_codes_far_from_the_others_are_at_zero),
		cmocka_unit_test(clouds_without_shape_stay_finite),
		cmocka_unit_test(one_image_depends_on_nothing),
		cmocka_unit_test(threads_change_no_bit_and_flavours_little),
		cmocka_unit_test(what_is_no_number_is_seen),
		cmocka_unit_test(the_narrowest_kernels_stay_finite),
		cmocka_unit_test(too_many_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
