/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep.c - KEEP: golden values, its definition in double, vicinal rows, its edges. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/losses/loss.h"
#include "adapter/step.h"
#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "one_loss.h"

extern const inv_loss inv_loss_keep;

static const char *const term_names[] = {"mawa",       "vicinal", "old_l2",
                                         "old_cosine", "new_l2",  "new_cosine"};
enum { TERMS = 6 };

static invar_options *keep_options(void)
{
	return test_options("loss", "kind", "keep", NULL);
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

static void check_folder(const char *folder)
{
	static const char *const blocks[] = {"0_weight", "0_bias", "2_weight", "2_bias"};
	golden *g = golden_open_folder(folder);
	size_t shape[GOLDEN_NDIM], layer[GOLDEN_NDIM];
	const float *aug = golden_f32(g, "aug", shape);
	size_t N = shape[0], s = shape[1], d = shape[2];
	float *rows = stack(golden_f32(g, "clean", NULL), aug, N, s, d);
	invar_options *o = keep_options();
	inv_step_spec spec = {.loss = &inv_loss_keep,
	                      .options = o,
	                      .N = N,
	                      .s = s,
	                      .residual = true,
	                      .update = true,
	                      .frame = {.distance = golden_value(g, "distance"),
	                                .origin = golden_f32(g, "origin", NULL)}};
	inv_loss_value value;
	inv_step *p;

	golden_f32(g, "0_weight", layer);
	spec.shape = (inv_mlp_shape){d, layer[0], d};
	assert_int_equal(inv_step_new(test_ctx, &spec, &p), INVAR_OK);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		memcpy(p->params + p->blocks[i].offset, golden_f32(g, blocks[i], NULL),
		       p->blocks[i].count * sizeof(float));
	p->vicinal = golden_f32(g, "vicinal", NULL);
	assert_int_equal(inv_step_gradients(p, rows, &value), INVAR_OK);
	golden_check_value(g, "value", value.value);
	for (size_t i = 0; i < TERMS; i++) {
		assert_string_equal(p->terms[i], term_names[i]);
		golden_check_value(g, test_text("term_%s", term_names[i]), value.term[i]);
	}
	golden_check(g, "grad_codes", p->d_codes, (s + 2) * N * d);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		golden_check(g, test_text("grad_%s", blocks[i]), p->grads + p->blocks[i].offset,
		             p->blocks[i].count);
	inv_step_free(p);
	invar_options_free(o);
	inv_free(rows);
	golden_close(g);
}

static void golden_values_and_gradients(void **state)
{
	(void)state;
	for (const char *const *folder = golden_keep_folders(); *folder; folder++)
		check_folder(*folder);
}

/* ---- The definition, in double ------------------------------------------------------ */

typedef struct cloud {
	size_t N, s, d, R;
	float *clean, *vicinal, *origin; /* [N, d] twice, [d] */
	float *codes, *grad;             /* [R, d] */
	invar_options *o;
	double distance;
	inv_loss_value value;
} cloud;

/* Codes around rows in units; the mean of the features is `far` spreads away from 0. */
static cloud make_cloud(size_t N, size_t s, size_t d, double far, invar_options *o)
{
	inv_stream stream = inv_stream_of(N, "keep", (uint32_t)d);
	cloud c = {.N = N, .s = s, .d = d, .R = (s + 2) * N, .o = o};

	c.clean = inv_alloc(N * d * sizeof *c.clean);
	c.vicinal = inv_alloc(N * d * sizeof *c.vicinal);
	c.origin = inv_alloc(d * sizeof *c.origin);
	c.codes = inv_alloc(c.R * d * sizeof *c.codes);
	c.grad = inv_alloc(c.R * d * sizeof *c.grad);
	inv_fill_normal(&stream, 0, c.clean, N * d);
	inv_fill_normal(&stream, 1, c.codes, c.R * d);
	inv_fill_normal(&stream, 2, c.vicinal, N * d);
	inv_fill_normal(&stream, 3, c.origin, d);
	for (size_t i = 0; i < c.R * d; i++)
		c.codes[i] =
			0.7f * c.codes[i] + (i < (s + 1) * N * d ? c.clean : c.vicinal)[i % (N * d)];
	for (size_t j = 0; j < d; j++)
		c.origin[j] = (float)far * (1 + 0.5f * c.origin[j]);
	c.distance = 2.1 * (double)d;
	return c;
}

static void free_cloud(cloud *c)
{
	invar_options_free(c->o);
	inv_free(c->clean);
	inv_free(c->vicinal);
	inv_free(c->origin);
	inv_free(c->codes);
	inv_free(c->grad);
}

static inv_loss_shape shape_of(const cloud *c)
{
	return (inv_loss_shape){.ctx = test_ctx,
	                        .options = c->o,
	                        .N = c->N,
	                        .s = c->s,
	                        .d = c->d,
	                        .w = c->d,
	                        .frame = {.distance = c->distance, .origin = c->origin}};
}

static inv_loss_batch batch_of(const cloud *c)
{
	return (inv_loss_batch){.clean = c->clean, .codes = c->codes, .vicinal = c->vicinal};
}

static double evaluate(cloud *c)
{
	inv_loss_batch b = batch_of(c);

	c->value = one_loss(&inv_loss_keep, shape_of(c), &b, c->grad);
	assert_true(c->value.value == one_loss(&inv_loss_keep, shape_of(c), &b, NULL).value);
	return c->value.value;
}

/* Direction of x + m, [d]; a short one is none. Returns 1 / its length, or 0. */
static double direction(const cloud *c, const double *x, double *out)
{
	double sum = 0, by;

	for (size_t j = 0; j < c->d; j++) {
		out[j] = x[j] + c->origin[j];
		sum += out[j] * out[j];
	}
	by = sqrt(sum) < 1e-6 * sqrt((double)c->d) ? 0 : 1 / sqrt(sum);
	for (size_t j = 0; j < c->d; j++)
		out[j] *= by;
	return by;
}

static double dot(const double *a, const double *b, size_t d)
{
	double sum = 0;

	for (size_t j = 0; j < d; j++)
		sum += a[j] * b[j];
	return sum;
}

/*
 * One contrast term of copy r of the codes y [R, d] against keys [N, d], straight from its
 * definition; adds `weight` times its gradient to dy and dkeys unless that is NULL.
 */
static double contrast_of(const cloud *c, bool cosine, const double *y, const double *keys,
                          size_t own, double weight, double *dy, double *dkeys)
{
	size_t N = c->N, d = c->d;
	double scale = cosine ? 1 / 0.05 : 1 / (0.1 * c->distance), largest = -INFINITY;
	double *logit = inv_calloc(N, sizeof *logit), q[300], k[300], sum = 0, entropy;
	double by_q = direction(c, y, q);

	for (size_t i = 0; i < N; i++) {
		const double *key = keys + i * d;

		direction(c, key, k);
		logit[i] = scale * (cosine ? dot(q, k, d) : 2 * dot(y, key, d) - dot(key, key, d));
		largest = fmax(largest, logit[i]);
	}
	for (size_t i = 0; i < N; i++)
		sum += exp(logit[i] - largest);
	entropy = log(sum) + largest - logit[own];
	for (size_t i = 0; i < N && dy; i++) {
		const double *key = keys + i * d;
		double p = weight * scale * (exp(logit[i] - largest) / sum - (i == own));
		double by_k = direction(c, key, k), cos = dot(q, k, d);

		for (size_t j = 0; j < d; j++) {
			dy[j] += cosine ? p * by_q * (k[j] - cos * q[j]) : 2 * p * key[j];
			if (dkeys)
				dkeys[i * d + j] +=
					cosine ? p * by_k * (q[j] - cos * k[j]) : 2 * p * (y[j] - key[j]);
		}
	}
	inv_free(logit);
	return entropy;
}

/* The plain twin of keep.c: loops over rows, keys and features, all in double. */
static double plain(const cloud *c, const double *codes, double *grad)
{
	static const double weights[] = {0.25, 0.2, 0.04, 0.04}; /* old, new; L2, cosine */
	size_t N = c->N, d = c->d, copies = c->s * N, cells = (c->s + 1) * N * d;
	double *u = inv_calloc(N * d, sizeof *u), value = 0;
	double vicinal = inv_option_number(c->o, "vicinal-weight");

	for (size_t i = 0; i < N * d; i++)
		u[i] = c->clean[i];
	for (size_t i = 0; i < c->R * d; i++) {
		bool is_vicinal = i >= cells;
		double gap = codes[i] - (is_vicinal ? c->vicinal : c->clean)[i % (N * d)];
		double weight = is_vicinal ? vicinal / (double)(N * d) : 1 / (double)cells;

		value += weight * gap * gap;
		if (grad)
			grad[i] = 2 * weight * gap;
	}
	for (size_t r = 0; r < copies; r++)
		for (size_t t = 0; t < 4; t++) {
			double weight = weights[t] *
			                inv_option_number(c->o, "contrast") / (double)copies;

			value += weight * contrast_of(c, t % 2, codes + (N + r) * d, t < 2 ? u : codes,
			                              r % N, weight, grad ? grad + (N + r) * d : NULL,
			                              grad && t >= 2 ? grad : NULL);
		}
	inv_free(u);
	return value;
}

static double *widen(const cloud *c)
{
	double *codes = inv_calloc(c->R * c->d, sizeof *codes);

	for (size_t i = 0; i < c->R * c->d; i++)
		codes[i] = c->codes[i];
	return codes;
}

static void assert_plain(cloud *c, double share)
{
	double *grad = inv_calloc(c->R * c->d, sizeof *grad), *codes = widen(c), largest = 0;
	double value = evaluate(c), want = plain(c, codes, grad);

	for (size_t i = 0; i < c->R * c->d; i++)
		largest = fmax(largest, fabs(grad[i]));
	if (!(fabs(value - want) <= share * want))
		fail_msg("N %zu, s %zu, d %zu: %.9g, not %.9g", c->N, c->s, c->d, value, want);
	for (size_t i = 0; i < c->R * c->d; i++)
		if (!(fabs(c->grad[i] - grad[i]) <= share * largest))
			fail_msg("N %zu, s %zu, d %zu, gradient of row %zu: %g, not %g", c->N, c->s,
			         c->d, i / c->d, c->grad[i], grad[i]);
	inv_free(grad);
	inv_free(codes);
}

/*
 * In one dimension cosines are 1 or -1: their gradients are 0, as differences of terms that
 * are divided by the length of a direction, which may be near 0.
 */
static void odd_sizes_follow_the_definition(void **state)
{
	const size_t images[] = {1, 2, 3, 17, 131}, widths[] = {1, 5, 64, 100};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++) {
			cloud c = make_cloud(images[i], i % 3 + 1, widths[j], 0.8, keep_options());

			assert_plain(&c, widths[j] == 1 ? 1e-3 : 2e-5);
			free_cloud(&c);
		}
}

/* Means of features may be many spreads away from 0, or at 0. */
static void options_and_origins_follow_the_definition(void **state)
{
	static const double far[] = {0, 3, 30};
	cloud c = make_cloud(17, 2, 11, 1,
	                     test_set(keep_options(), "contrast", "20", "vicinal-weight", "0.3",
	                              NULL));

	(void)state;
	assert_plain(&c, 5e-5);
	free_cloud(&c);
	for (size_t i = 0; i < 3; i++) {
		c = make_cloud(17, 2, 11, far[i], keep_options());
		assert_plain(&c, 5e-5);
		free_cloud(&c);
	}
}

/* The plain gradient is itself compared with differences of the plain value. */
static void the_gradient_is_that_of_differences(void **state)
{
	const double step = 1e-6;
	cloud c = make_cloud(7, 2, 5, 1, keep_options());
	double *grad = inv_calloc(c.R * c.d, sizeof *grad), *codes = widen(&c);

	(void)state;
	plain(&c, codes, grad);
	for (size_t i = 0; i < c.R * c.d; i++) {
		double kept = codes[i], up, down;

		codes[i] = kept + step;
		up = plain(&c, codes, NULL);
		codes[i] = kept - step;
		down = plain(&c, codes, NULL);
		codes[i] = kept;
		assert_true(fabs(grad[i] - (up - down) / (2 * step)) < 1e-8);
	}
	inv_free(grad);
	inv_free(codes);
	free_cloud(&c);
}

/* ---- Vicinal rows ------------------------------------------------------------------- */

enum { N = 37, D = 3 };

static void draw(uint64_t seed, uint64_t step, const float *clean, float *out)
{
	invar_options *o = keep_options();
	struct inv_kernels kernels;
	const inv_loss_shape shape = {.ctx = test_ctx,
	                              .kernels = &kernels,
	                              .options = o,
	                              .N = N,
	                              .s = 1,
	                              .groups = 1,
	                              .d = D,
	                              .w = D,
	                              .frame = {.distance = 2 * D}};
	const inv_loss_batch b = {.clean = clean, .seed = seed, .step = step};
	inv_loss_work work;

	inv_kernels_init(&kernels, test_ctx->cpu);
	assert_int_equal(inv_loss_keep.prepare(&shape, &work), INVAR_OK);
	inv_loss_keep.draw_vicinal(&shape, work.state, &b, out);
	inv_loss_keep.release(work.state);
	invar_options_free(o);
}

/* Rows (i, i², 1): v_i - u_i = rho (u_a - u_b) tells a and b. */
static void vicinal_rows_are_drawn_between_images(void **state)
{
	float clean[N * D], v[N * D], again[N * D], next[N * D];
	double sum = 0, moved = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		clean[i * D] = (float)i;
		clean[i * D + 1] = (float)(i * i);
		clean[i * D + 2] = 1;
	}
	draw(3, 5, clean, v);
	draw(3, 5, clean, again);
	draw(3, 6, clean, next);
	assert_memory_equal(v, again, sizeof v);
	assert_memory_not_equal(v, next, sizeof v);
	draw(4, 5, clean, next);
	assert_memory_not_equal(v, next, sizeof v);
	for (size_t i = 0; i < N; i++) {
		double x = (double)v[i * D] - clean[i * D];
		double y = (double)v[i * D + 1] - clean[i * D + 1];

		assert_true(v[i * D + 2] == 1);  /* what all have in common stays */
		assert_true(fabs(x) <= 0.5 * N); /* |rho| <= 1/2 */
		if (x != 0) {                    /* (a² - b²) / (a - b) = a + b, whole */
			double whole = y / x;

			assert_true(fabs(whole - round(whole)) < 1e-2);
			assert_true(whole >= 1 && whole <= 2 * N - 3);
		}
		sum += x;
		moved += x != 0;
	}
	assert_true(moved > N / 2);
	assert_true(fabs(sum) < 0.2 * N * N); /* both signs */
}

/* ---- Edges -------------------------------------------------------------------------- */

static void assert_all_finite(cloud *c)
{
	assert_true(isfinite(evaluate(c)));
	for (size_t i = 0; i < c->R * c->d; i++)
		assert_true(isfinite(c->grad[i]));
}

static void rows_of_zero_stay_finite(void **state)
{
	cloud c = make_cloud(17, 2, 11, 0, keep_options());

	(void)state;
	memset(c.codes + 5 * 11, 0, 11 * sizeof *c.codes);
	memset(c.clean + 3 * 11, 0, 11 * sizeof *c.clean);
	assert_all_finite(&c);
	memset(c.codes, 0, c.R * c.d * sizeof *c.codes);
	assert_all_finite(&c);
	memset(c.clean, 0, c.N * c.d * sizeof *c.clean);
	assert_all_finite(&c); /* all keys are equal */
	for (size_t t = 2; t < TERMS; t++)
		assert_true(fabs(c.value.term[t] - log(17)) < 1e-5);
	free_cloud(&c);
}

/* A copy without a direction is not pulled by cosines, and neither is such a key. */
static void a_code_without_a_direction_feels_no_cosine(void **state)
{
	cloud c = make_cloud(17, 2, 11, 2, keep_options());

	(void)state;
	for (size_t j = 0; j < 11; j++) {
		c.codes[(17 + 5) * 11 + j] = -c.origin[j] + 1e-8f;
		c.codes[3 * 11 + j] = -c.origin[j];
	}
	assert_plain(&c, 2e-5); /* where such directions are none */
	free_cloud(&c);
}

/* The softmax of the same image is near 1, what is left of it tiny: its digits count. */
static void a_contrast_that_is_nearly_won_keeps_its_gradient(void **state)
{
	cloud c = make_cloud(17, 1, 64, 0.1, test_set(keep_options(), "vicinal-weight", "0", NULL));

	(void)state;
	c.distance *= 0.3;
	for (size_t i = 0; i < c.R * c.d; i++)
		c.codes[i] = c.clean[i % (c.N * c.d)]; /* no squared error is left */
	assert_plain(&c, 2e-4);
	assert_true(c.value.term[2] > 0 && c.value.term[2] < 1e-6);
	free_cloud(&c);
}

/* A distance that does not fit the rows makes logits as steep, or as flat, as can be. */
static void extreme_distances_are_safe(void **state)
{
	const double factor[] = {1e-2, 1e-29, 1e7};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		cloud c = make_cloud(17, 2, 11, 1, keep_options());

		c.distance *= factor[i];
		if (i == 1)
			assert_true(isfinite(evaluate(&c))); /* the gradient may overflow */
		else
			assert_all_finite(&c);
		free_cloud(&c);
	}
}

static void threads_change_no_bit_and_flavours_little(void **state)
{
	cloud c = make_cloud(211, 3, 70, 1, keep_options());
	inv_loss_batch b = batch_of(&c);

	(void)state;
	assert_alike_on_threads_and_flavours(&inv_loss_keep, shape_of(&c), &b, c.R * c.d, 1e-5);
	free_cloud(&c);
}

static void what_is_no_number_is_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5; i++) {
		cloud c = make_cloud(9, 2, 11, 1, keep_options());
		inv_loss_batch b = batch_of(&c);

		if (i < 3)
			c.codes[(i == 0 ? 5 : i == 1 ? 14 : 30) * 11 + 3] = NAN;
		else
			(i == 3 ? c.clean : c.vicinal)[5 * 11 + 3] = NAN;
		assert_true(isnan(one_loss(&inv_loss_keep, shape_of(&c), &b, c.grad).value));
		free_cloud(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_values_and_gradients),
		cmocka_unit_test(odd_sizes_follow_the_definition),
		cmocka_unit_test(options_and_origins_follow_the_definition),
		cmocka_unit_test(the_gradient_is_that_of_differences),
		cmocka_unit_test(vicinal_rows_are_drawn_between_images),
		cmocka_unit_test(rows_of_zero_stay_finite),
		cmocka_unit_test(a_code_without_a_direction_feels_no_cosine),
		cmocka_unit_test(a_contrast_that_is_nearly_won_keeps_its_gradient),
		cmocka_unit_test(extreme_distances_are_safe),
		cmocka_unit_test(threads_change_no_bit_and_flavours_little),
		cmocka_unit_test(what_is_no_number_is_seen),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
