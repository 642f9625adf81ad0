/* SPDX-License-Identifier: Apache-2.0 */
/* test_anco.c - anchored contrast: golden values, the definition in double, its edges. */
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

extern const inv_loss inv_loss_anco;

static invar_options *anco_options(const char *similarity)
{
	return test_options("loss", "kind", "anco", "similarity", similarity, NULL);
}

/* ---- Golden values ---------------------------------------------------------------- */

/* [N, d] and [N, s, d] to rows k N + i. */
static float *stack(const float *clean, const float *aug, size_t N, size_t s, size_t d)
{
	float *rows = inv_calloc((s + 1) * N * d, sizeof *rows);

	memcpy(rows, clean, N * d * sizeof *rows);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((k + 1) * N + i) * d, aug + (i * s + k) * d, d * sizeof *rows);
	return rows;
}

static void check_case(golden *g, const char *similarity)
{
	size_t shape[GOLDEN_RANK];
	const float *aug = golden_f32(g, "aug", shape);
	size_t N = shape[0], s = shape[1], d = shape[2];
	float *rows = stack(golden_f32(g, "clean", NULL), aug, N, s, d);
	invar_options *o = anco_options(similarity);
	inv_step_spec spec = {.loss = &inv_loss_anco,
	                      .options = o,
	                      .N = N,
	                      .s = s,
	                      .residual = true,
	                      .frame = {.sigma = golden_value(g, "sigma"),
	                                .distance = golden_value(g, "distance")}};
	inv_loss_value value =
		golden_step(test_ctx, g, spec, rows, test_text("_%s", similarity));

	golden_check_value(g, test_text("mawa_%s", similarity), value.term[0]);
	golden_check_value(g, test_text("contrast_%s", similarity), value.term[1]);
	invar_options_free(o);
	inv_free(rows);
}

/* The defaults are the golden ones: alpha 0.3, tau 0.1 or 0.05. */
static void golden_values_and_gradients(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "anco");

		check_case(g, "l2");
		check_case(g, "cosine");
		golden_close(g);
	}
}

/* ---- The definition, in double ------------------------------------------------------ */

typedef struct cloud {
	size_t N, s, d, R;
	float *clean, *codes, *grad; /* [N, d], [R, d] twice */
	float *origin;               /* [d]; NULL: none */
	invar_options *o;
	inv_loss_frame frame;
	inv_loss_value value;
} cloud;

/* Codes around clean features that lie away from 0, as those of an encoder do. */
static cloud make_cloud(size_t N, size_t s, size_t d, invar_options *o)
{
	inv_stream stream = inv_stream_of(N, "anco", (uint32_t)d);
	bool identity = !inv_option_flag(o, "no-identity");
	cloud c = {.N = N, .s = s, .d = d, .R = (s + identity) * N, .o = o};

	c.clean = inv_alloc(N * d * sizeof *c.clean);
	c.codes = inv_alloc(c.R * d * sizeof *c.codes);
	c.grad = inv_alloc(c.R * d * sizeof *c.grad);
	inv_fill_normal(&stream, 0, c.clean, N * d);
	inv_fill_normal(&stream, 1, c.codes, c.R * d);
	for (size_t i = 0; i < N * d; i++)
		c.clean[i] += 2;
	for (size_t i = 0; i < c.R * d; i++)
		c.codes[i] = c.clean[i % (N * d)] + 0.7f * c.codes[i];
	c.frame = (inv_loss_frame){.sigma = 0.9, .distance = 2.1 * (double)d};
	return c;
}

static void free_cloud(cloud *c)
{
	invar_options_free(c->o);
	inv_free(c->clean);
	inv_free(c->codes);
	inv_free(c->grad);
	inv_free(c->origin);
}

static inv_loss_shape shape_of(const cloud *c)
{
	inv_loss_frame frame = c->frame;

	frame.origin = c->origin;
	return (inv_loss_shape){.ctx = test_ctx,
	                        .options = c->o,
	                        .N = c->N,
	                        .s = c->s,
	                        .d = c->d,
	                        .w = c->d,
	                        .frame = frame};
}

static double evaluate(cloud *c)
{
	inv_loss_batch b = {.clean = c->clean, .codes = c->codes};

	c->value = one_loss(&inv_loss_anco, shape_of(c), &b, c->grad);
	assert_true(c->value.value == one_loss(&inv_loss_anco, shape_of(c), &b, NULL).value);
	return c->value.value;
}

static double length_of(const cloud *c, const double *x)
{
	double sum = 0;

	for (size_t j = 0; j < c->d; j++)
		sum += x[j] * x[j];
	return sqrt(sum);
}

/* sim(z, F_i), and its gradient with respect to z. */
static double similarity(const cloud *c, const double *z, size_t i, double *grad)
{
	double f[300], y[300], dot = 0, own, other;

	for (size_t j = 0; j < c->d; j++) {
		f[j] = c->clean[i * c->d + j];
		y[j] = z[j];
	}
	if (!inv_option_is(c->o, "similarity", "cosine")) {
		for (size_t j = 0; j < c->d; j++) {
			dot -= (y[j] - f[j]) * (y[j] - f[j]) / c->frame.distance;
			grad[j] = -2 * (y[j] - f[j]) / c->frame.distance;
		}
		return dot;
	}
	for (size_t j = 0; j < c->d && c->origin; j++) {
		f[j] += c->origin[j];
		y[j] += c->origin[j];
	}
	own = length_of(c, y);
	other = length_of(c, f);
	for (size_t j = 0; j < c->d; j++)
		dot += y[j] * f[j] / (own * other);
	for (size_t j = 0; j < c->d; j++)
		grad[j] = (f[j] / other - dot * y[j] / own) / own;
	return dot;
}

/* The plain twin of anco.c: loops over rows, anchors and features, all in double. */
static double plain_row(const cloud *c, const double *z, size_t r, double *grad)
{
	double alpha = inv_option_number(c->o, "alpha"), tau = inv_option_number(c->o, "tau");
	double anchor = inv_option_number(c->o, "anchor");
	bool is_clean = !inv_option_flag(c->o, "no-identity") && r < c->N;
	double scale =
		(is_clean ? anchor : 1) / (c->frame.sigma * c->frame.sigma * (double)c->d);
	double largest = -INFINITY, sum = 0, mawa = 0, own = 0, of_one[300];
	double *sim = inv_calloc(c->N, sizeof *sim);

	for (size_t i = 0; i < c->N; i++) {
		sim[i] = similarity(c, z, i, of_one) / tau;
		largest = fmax(largest, sim[i]);
	}
	for (size_t i = 0; i < c->N; i++)
		sum += exp(sim[i] - largest);
	for (size_t j = 0; j < c->d; j++) {
		double gap = z[j] - c->clean[r % c->N * c->d + j];

		mawa += scale * gap * gap;
		grad[j] = 2 * scale * gap;
	}
	for (size_t i = 0; i < c->N; i++) {
		double share = exp(sim[i] - largest) / sum - (i == r % c->N);

		similarity(c, z, i, of_one);
		for (size_t j = 0; j < c->d; j++)
			grad[j] += alpha / tau * share * of_one[j];
	}
	own = sim[r % c->N];
	inv_free(sim);
	return mawa + alpha * (log(sum) + largest - own);
}

static double plain(const cloud *c, double *grad)
{
	double loss = 0, z[300];

	for (size_t r = 0; r < c->R; r++) {
		for (size_t j = 0; j < c->d; j++)
			z[j] = c->codes[r * c->d + j];
		loss += plain_row(c, z, r, grad + r * c->d);
	}
	for (size_t i = 0; i < c->R * c->d; i++)
		grad[i] /= (double)c->R;
	return loss / (double)c->R;
}

static void assert_plain(cloud *c, double share)
{
	double *grad = inv_calloc(c->R * c->d, sizeof *grad), largest = 0;
	double value = evaluate(c), want = plain(c, grad);

	for (size_t i = 0; i < c->R * c->d; i++)
		largest = fmax(largest, fabs(grad[i]));
	if (!(fabs(value - want) <= share * want))
		fail_msg("N %zu, d %zu: %.9g, not %.9g", c->N, c->d, value, want);
	for (size_t i = 0; i < c->R * c->d; i++)
		if (!(fabs(c->grad[i] - grad[i]) <= share * largest))
			fail_msg("N %zu, d %zu, gradient %zu: %g, not %g", c->N, c->d, i, c->grad[i],
			         grad[i]);
	inv_free(grad);
}

static void odd_sizes_follow_the_definition(void **state)
{
	const size_t images[] = {1, 2, 3, 17, 257}, widths[] = {1, 5, 64, 100};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++)
			for (size_t cosine = 0; cosine < 2; cosine++) {
				cloud c = make_cloud(images[i], i % 3 + (i == 0), widths[j],
				                     anco_options(cosine ? "cosine" : "l2"));

				assert_plain(&c, 2e-5);
				free_cloud(&c);
			}
}

static void options_and_origin_follow_the_definition(void **state)
{
	(void)state;
	for (size_t cosine = 0; cosine < 2; cosine++) {
		cloud c = make_cloud(17, 2, 11,
		                     test_set(anco_options(cosine ? "cosine" : "l2"), "alpha", "2",
		                              "tau", "0.02", "anchor", "3", NULL));
		cloud bare = make_cloud(
			17, 2, 11,
			test_set(anco_options(cosine ? "cosine" : "l2"), "no-identity", "true", NULL));

		assert_plain(&c, 5e-5);
		c.origin = inv_alloc(11 * sizeof *c.origin);
		for (size_t j = 0; j < 11; j++)
			c.origin[j] = (float)j - 3;
		assert_plain(&c, 5e-5);
		assert_plain(&bare, 2e-5);
		free_cloud(&c);
		free_cloud(&bare);
	}
}

/* The plain gradient is itself compared with differences of the plain value. */
static void the_gradient_is_that_of_differences(void **state)
{
	const double step = 1e-6;
	double grad[11], unused[11], z[11];

	(void)state;
	for (size_t cosine = 0; cosine < 2; cosine++) {
		cloud c = make_cloud(9, 2, 11, anco_options(cosine ? "cosine" : "l2"));

		for (size_t r = 0; r < c.R; r++)
			for (size_t j = 0; j < c.d; j++) {
				double up, down;

				for (size_t l = 0; l < c.d; l++)
					z[l] = c.codes[r * c.d + l];
				plain_row(&c, z, r, grad);
				z[j] += step;
				up = plain_row(&c, z, r, unused);
				z[j] -= 2 * step;
				down = plain_row(&c, z, r, unused);
				assert_true(fabs(grad[j] - (up - down) / (2 * step)) < 1e-7);
			}
		free_cloud(&c);
	}
}

/* ---- Invariances and edges ----------------------------------------------------------- */

/* In units of sigma about the mean it is the same loss: how a training may compute it. */
static void units_about_the_mean_change_nothing(void **state)
{
	const float mu = 2, sigma = 0.5f; /* exact in floats */

	(void)state;
	for (size_t cosine = 0; cosine < 2; cosine++) {
		cloud c = make_cloud(17, 2, 11, anco_options(cosine ? "cosine" : "l2"));
		double value;

		c.frame = (inv_loss_frame){.sigma = (double)sigma,
		                           .distance = 22 * (double)(sigma * sigma)};
		value = evaluate(&c);
		c.origin = inv_alloc(c.d * sizeof *c.origin);
		for (size_t j = 0; j < c.d; j++)
			c.origin[j] = mu / sigma;
		for (size_t i = 0; i < c.N * c.d; i++)
			c.clean[i] = (c.clean[i] - mu) / sigma;
		for (size_t i = 0; i < c.R * c.d; i++)
			c.codes[i] = (c.codes[i] - mu) / sigma;
		c.frame = (inv_loss_frame){.sigma = 1, .distance = 22};
		assert_true(fabs(evaluate(&c) - value) < 1e-5 * value);
		free_cloud(&c);
	}
}

static void assert_all_finite(cloud *c)
{
	assert_true(isfinite(evaluate(c)));
	for (size_t i = 0; i < c->R * c->d; i++)
		assert_true(isfinite(c->grad[i]));
}

static void rows_of_zero_stay_finite(void **state)
{
	(void)state;
	for (size_t cosine = 0; cosine < 2; cosine++) {
		cloud c = make_cloud(17, 2, 11, anco_options(cosine ? "cosine" : "l2"));

		memset(c.codes + 5 * 11, 0, 11 * sizeof *c.codes);
		memset(c.clean + 3 * 11, 0, 11 * sizeof *c.clean);
		assert_all_finite(&c);
		memset(c.codes, 0, c.R * c.d * sizeof *c.codes);
		assert_all_finite(&c);
		memset(c.clean, 0, c.N * c.d * sizeof *c.clean);
		assert_all_finite(&c); /* all anchors are equal */
		assert_true(fabs(c.value.term[1] - log(17)) < 1e-5);
		free_cloud(&c);
	}
}

/* It has no direction, so only MaWa pulls it. */
static void a_code_of_zero_feels_no_cosine(void **state)
{
	cloud c = make_cloud(17, 2, 11, anco_options("cosine"));
	double scale = 2 / (c.frame.sigma * c.frame.sigma * 11 * (double)c.R);

	(void)state;
	for (size_t j = 0; j < 11; j++)
		c.codes[5 * 11 + j] = 1e-9f;
	assert_all_finite(&c);
	for (size_t j = 0; j < 11; j++)
		assert_true(fabs(c.grad[5 * 11 + j] + scale * c.clean[5 * 11 + j]) < 1e-6 * scale);
	free_cloud(&c);
}

/* The own entry of the softmax is near 1, what is left of it tiny: its digits count. */
static void a_contrast_that_is_nearly_won_keeps_its_gradient(void **state)
{
	cloud c = make_cloud(17, 1, 64,
	                     test_set(anco_options("l2"), "anchor", "0", "tau", "0.03", NULL));

	(void)state;
	c.frame.sigma = 1e6; /* leaves only the contrast */
	for (size_t i = 0; i < c.R * c.d; i++)
		c.codes[i] = c.clean[i % (c.N * c.d)];
	assert_plain(&c, 1e-4);
	assert_true(c.value.term[1] > 0 && c.value.term[1] < 1e-6);
	free_cloud(&c);
}

static void extreme_temperatures_are_safe(void **state)
{
	const char *const taus[] = {"1e-3", "1e-30", "1e6"};

	(void)state;
	for (size_t t = 0; t < 6; t++) {
		cloud c = make_cloud(
			17, 2, 11,
			test_set(anco_options(t % 2 ? "cosine" : "l2"), "tau", taus[t / 2], NULL));

		if (t / 2 == 1)
			assert_true(isfinite(evaluate(&c))); /* the gradient may overflow */
		else
			assert_all_finite(&c);
		free_cloud(&c);
	}
}

static void threads_change_no_bit_and_flavours_little(void **state)
{
	(void)state;
	for (size_t cosine = 0; cosine < 2; cosine++) {
		cloud c = make_cloud(211, 3, 70, anco_options(cosine ? "cosine" : "l2"));
		inv_loss_batch b = {.clean = c.clean, .codes = c.codes};

		assert_alike_on_threads_and_flavours(&inv_loss_anco, shape_of(&c), &b, c.R * c.d,
		                                     1e-5);
		free_cloud(&c);
	}
}

static void what_is_no_number_is_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		cloud c = make_cloud(9, 2, 11, anco_options(i % 2 ? "cosine" : "l2"));
		inv_loss_batch b = {.clean = c.clean, .codes = c.codes};

		(i < 2 ? c.codes : c.clean)[5 * 11 + 3] = NAN;
		assert_true(isnan(one_loss(&inv_loss_anco, shape_of(&c), &b, c.grad).value));
		free_cloud(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_values_and_gradients),
		cmocka_unit_test(odd_sizes_follow_the_definition),
		cmocka_unit_test(options_and_origin_follow_the_definition),
		cmocka_unit_test(the_gradient_is_that_of_differences),
		cmocka_unit_test(units_about_the_mean_change_nothing),
		cmocka_unit_test(rows_of_zero_stay_finite),
		cmocka_unit_test(a_code_of_zero_feels_no_cosine),
		cmocka_unit_test(a_contrast_that_is_nearly_won_keeps_its_gradient),
		cmocka_unit_test(extreme_temperatures_are_safe),
		cmocka_unit_test(threads_change_no_bit_and_flavours_little),
		cmocka_unit_test(what_is_no_number_is_seen),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
