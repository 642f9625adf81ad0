/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_feature_ridge.c - regression on random features against plain algebra in double.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "adapter/closed_forms/feature_ridge.h"
#include "base/memory.h"
#include "base/rng.h"

enum { SEED = 11 };

typedef struct problem {
	size_t d, h, rows, copies;
	float *clean, *copy; /* [rows, d], [copies rows, d] */
	inv_clean_statistics scale;
} problem;

/* Clean rows far from the origin; copies moved by a nonlinear map and some noise. */
static problem make(size_t d, size_t h, size_t rows, size_t copies)
{
	inv_stream s = inv_stream_of(3, "rows", 0);
	problem p = {.d = d, .h = h, .rows = rows, .copies = copies};
	double squares = 0;

	p.clean = inv_alloc(rows * d * sizeof *p.clean);
	p.copy = inv_alloc(copies * rows * d * sizeof *p.copy);
	p.scale.mean = inv_calloc(d, sizeof *p.scale.mean);
	inv_fill_normal(&s, 0, p.clean, rows * d);
	inv_fill_normal(&s, 1, p.copy, copies * rows * d);
	for (size_t i = 0; i < rows * d; i++) {
		p.clean[i] = 3 * p.clean[i] + (float)(i % d) + 1;
		p.scale.mean[i % d] += p.clean[i] / (double)rows;
	}
	for (size_t i = 0; i < rows * d; i++)
		squares += pow(p.clean[i] - p.scale.mean[i % d], 2);
	p.scale.sigma = sqrt(squares / (double)(rows * d));
	for (size_t i = 0; i < copies * rows * d; i++) {
		const float *z = p.clean + i / d % rows * d;

		p.copy[i] += z[i % d] + 0.3f * fabsf(z[(i + 1) % d]) - 0.5f * z[i % d];
	}
	return p;
}

static void clear(problem *p)
{
	inv_free(p->clean);
	inv_free(p->copy);
	inv_clean_statistics_clear(&p->scale);
}

/* Rows in calls of `step`. */
static inv_feature_ridge *fit(invar_context *ctx, const problem *p, size_t step)
{
	inv_feature_ridge *f;

	assert_int_equal(inv_feature_ridge_new(ctx, p->d, p->h, &p->scale, SEED, &f), INVAR_OK);
	for (size_t i = 0; i < p->rows; i += step) {
		size_t now = p->rows - i < step ? p->rows - i : step;

		assert_int_equal(inv_feature_ridge_add_clean(f, p->clean + i * p->d, now),
		                 INVAR_OK);
		for (size_t k = 0; k < p->copies; k++)
			assert_int_equal(
				inv_feature_ridge_add_copies(f, p->copy + (k * p->rows + i) * p->d,
			                                 p->clean + i * p->d, now),
				INVAR_OK);
	}
	return f;
}

/* ---- The plain way ---------------------------------------------------------------- */

/* x = [u; relu(W u + b)] of one row. */
static void plain_features(const problem *p, const float *W, const float *b, const float *z,
                           double *x)
{
	for (size_t j = 0; j < p->d; j++)
		x[j] = (z[j] - p->scale.mean[j]) / p->scale.sigma;
	for (size_t i = 0; i < p->h; i++) {
		double sum = b[i];

		for (size_t j = 0; j < p->d; j++)
			sum += (float)(W[i * p->d + j] * (float)(1 / sqrt((double)p->d))) * x[j];
		x[p->d + i] = sum > 0 ? sum : 0;
	}
}

/* Gauss and Jordan with pivots; g [n, n] c [n, r] -> c. */
static void eliminate(double *g, double *c, size_t n, size_t r)
{
	for (size_t k = 0; k < n; k++) {
		size_t pivot = k;

		for (size_t i = k; i < n; i++)
			if (fabs(g[i * n + k]) > fabs(g[pivot * n + k]))
				pivot = i;
		for (size_t j = 0; j < n + r; j++) {
			double *a = j < n ? &g[k * n + j] : &c[k * r + j - n];
			double *b = j < n ? &g[pivot * n + j] : &c[pivot * r + j - n], keep = *a;

			*a = *b;
			*b = keep;
		}
		for (size_t i = 0; i < n; i++) {
			double share = g[i * n + k] / g[k * n + k];

			for (size_t j = 0; j < n && i != k; j++)
				g[i * n + j] -= share * g[k * n + j];
			for (size_t j = 0; j < r && i != k; j++)
				c[i * r + j] -= share * c[k * r + j];
		}
	}
	for (size_t i = 0; i < n * r; i++)
		c[i] /= g[i / r * n + i / r];
}

/*
 * All rows of the regression at once, with an intercept as a separate feature that is not
 * penalised. B [p + 1, d], the intercept last. Units from number `units` on are left out by
 * a penalty of 1e12, those before have their share of it.
 */
static double *plain_solution(const problem *p, const float *W, const float *b,
                              double lambda, double anchor, size_t units)
{
	size_t n = p->d + p->h + 1, rows = (p->copies + 1) * p->rows;
	double *x = inv_calloc(rows * n, sizeof *x), *g = inv_calloc(n * n, sizeof *g);
	double *c = inv_calloc(n * p->d, sizeof *c), *mean = inv_calloc(n, sizeof *mean);
	double weight = 0, diagonal = 0;

	for (size_t i = 0; i < rows; i++) {
		const float *z = i < p->rows ? p->clean + i * p->d : p->copy + (i - p->rows) * p->d;
		const float *want = p->clean + i % p->rows * p->d;
		double w = i < p->rows ? anchor : 1;

		plain_features(p, W, b, z, x + i * n);
		x[i * n + n - 1] = 1;
		weight += w;
		for (size_t k = 0; k < n; k++) {
			mean[k] += w * x[i * n + k];
			for (size_t l = 0; l < n; l++)
				g[k * n + l] += w * x[i * n + k] * x[i * n + l];
			for (size_t j = 0; j < p->d; j++)
				c[k * p->d + j] += w * x[i * n + k] * (want[j] - z[j]) / p->scale.sigma;
		}
	}
	for (size_t k = 0; k + 1 < n; k++)
		diagonal += (g[k * n + k] - mean[k] * mean[k] / weight) / (double)(n - 1);
	for (size_t k = 0; k + 1 < n; k++)
		g[k * n + k] += lambda * diagonal *
		                (k < p->d           ? 1
		                 : k < p->d + units ? (double)units / (double)p->h
		                                    : 1e12);
	eliminate(g, c, n, p->d);
	inv_free(x);
	inv_free(g);
	inv_free(mean);
	return c;
}

/* E(z) - z of a closed form, in double. */
static double moved_by(const inv_closed_form *c, const float *z, size_t j)
{
	const inv_hidden_units *u = &c->units;
	size_t d = c->map.d;
	double sum = c->map.t[j] - z[j];

	for (size_t i = 0; i < d; i++)
		sum += z[i] * c->map.M[i * d + j];
	for (size_t i = 0; i < u->count; i++) {
		double unit = u->b[i];

		for (size_t l = 0; l < d; l++)
			unit += (double)u->W[i * d + l] * z[l];
		sum += unit > 0 ? unit * u->V[i * d + j] : 0;
	}
	return sum;
}

/* Products are float, so E equals the plain one to about 1e-5 of the displacement. */
static void check_problem(const problem *p, double lambda, double anchor)
{
	inv_stream ws = inv_stream_of(SEED, "features/weight", 0);
	inv_stream bs = inv_stream_of(SEED, "features/bias", 0);
	float *W = inv_alloc(p->h * p->d * sizeof *W), *b = inv_alloc(p->h * sizeof *b);
	double *x = inv_alloc((p->d + p->h) * sizeof *x), *B, largest = 0, worst = 0;
	inv_feature_ridge *f = fit(test_ctx, p, 7);
	inv_closed_form c = {0};

	for (size_t i = 0; i < p->h; i++)
		inv_fill_normal(&ws, (uint32_t)i, W + i * p->d, p->d);
	inv_fill_uniform(&bs, 0, -1, 1, b, p->h);
	B = plain_solution(p, W, b, lambda, anchor, p->h);
	assert_int_equal(inv_feature_ridge_solve(f, lambda, anchor, &c), INVAR_OK);
	for (size_t i = 0; i < p->copies * p->rows; i++) {
		const float *z = p->copy + i * p->d;

		plain_features(p, W, b, z, x);
		for (size_t j = 0; j < p->d; j++) {
			double want = B[(p->d + p->h) * p->d + j];

			for (size_t k = 0; k < p->d + p->h; k++)
				want += x[k] * B[k * p->d + j];
			want *= p->scale.sigma;
			largest = fmax(largest, fabs(want));
			worst = fmax(worst, fabs(want - moved_by(&c, z, j)));
		}
	}
	if (!(worst <= 2e-5 * largest) || !(largest > 0))
		fail_msg("d %zu, h %zu, lambda %g, anchor %g: off by %g of %g", p->d, p->h, lambda,
		         anchor, worst, largest);
	inv_closed_form_clear(&c);
	inv_feature_ridge_free(f);
	inv_free(W);
	inv_free(b);
	inv_free(x);
	inv_free(B);
}

/* ---- Claims ----------------------------------------------------------------------- */

static void it_is_the_regression(void **state)
{
	const size_t sizes[][4] = {
		{1, 1, 9, 1},    {3, 5, 40, 2},   {9, 20, 61, 3},
		{17, 33, 30, 1}, {17, 33, 5, 4}, /* half as many rows as features */
		{17, 33, 13, 1}, {40, 160, 20, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		problem p = make(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);

		check_problem(&p, 0.3, 1);
		check_problem(&p, 0.01, 4);
		clear(&p);
	}
}

/* Other rows weigh more, so clean ones stay nearer to where they were. */
static void an_anchor_holds_clean_rows(void **state)
{
	problem p = make(9, 20, 61, 3);
	inv_feature_ridge *f = fit(test_ctx, &p, 61);
	double moved[2] = {0};

	(void)state;
	for (int k = 0; k < 2; k++) {
		inv_closed_form c = {0};

		assert_int_equal(inv_feature_ridge_solve(f, 0.1, k ? 10 : 1, &c), INVAR_OK);
		for (size_t i = 0; i < p.rows * p.d; i++)
			moved[k] += pow(moved_by(&c, p.clean + i / p.d * p.d, i % p.d), 2);
		inv_closed_form_clear(&c);
	}
	assert_true(moved[1] < 0.5 * moved[0]);
	inv_feature_ridge_free(f);
	clear(&p);
}

static void assert_same(const inv_closed_form *a, const inv_closed_form *b)
{
	size_t d = a->map.d, h = a->units.count;

	assert_memory_equal(a->map.M, b->map.M, d * d * sizeof(double));
	assert_memory_equal(a->map.t, b->map.t, d * sizeof(double));
	assert_memory_equal(a->units.V, b->units.V, h * d * sizeof(double));
	assert_memory_equal(a->units.W, b->units.W, h * d * sizeof(float));
}

/* More rows than a block holds, more features than a tile. */
static void neither_calls_nor_threads_change_a_bit(void **state)
{
	problem p = make(30, 270, 700, 2);
	inv_closed_form want = {0};

	(void)state;
	for (unsigned t = 1; t <= 2; t++)
		for (size_t step = 700; step; step /= 9) {
			invar_context *ctx;
			inv_feature_ridge *f;
			inv_closed_form got = {0};

			assert_int_equal(invar_context_new(t, NULL, &ctx), INVAR_OK);
			/* Copies of an image stay together, so a single copy shows the split into
			 * calls. */
			p.copies = 1;
			f = fit(ctx, &p, step);
			assert_int_equal(inv_feature_ridge_solve(f, 0.3, 2, &got), INVAR_OK);
			if (want.map.M)
				assert_same(&got, &want);
			else
				want = got;
			if (want.map.M != got.map.M)
				inv_closed_form_clear(&got);
			inv_feature_ridge_free(f);
			invar_context_free(ctx);
		}
	inv_closed_form_clear(&want);
	clear(&p);
}

/* Few rows: their products. */
static void few_rows_have_the_same_bits_too(void **state)
{
	problem p = make(30, 270, 40, 2);
	inv_closed_form got[3];

	(void)state;
	p.copies = 1;
	for (unsigned k = 0; k < 3; k++) {
		invar_context *ctx;
		inv_feature_ridge *f;

		assert_int_equal(invar_context_new(k == 1 ? 2 : 1, NULL, &ctx), INVAR_OK);
		f = fit(ctx, &p, k == 2 ? 7 : 40);
		memset(&got[k], 0, sizeof got[k]);
		assert_int_equal(inv_feature_ridge_solve(f, 0.3, 2, &got[k]), INVAR_OK);
		assert_same(&got[k], &got[0]);
		inv_feature_ridge_free(f);
		invar_context_free(ctx);
	}
	for (unsigned k = 0; k < 3; k++)
		inv_closed_form_clear(&got[k]);
	clear(&p);
}

/* A solution of few rows, then the rows that make them many. */
static void rows_may_become_many_after_a_solution(void **state)
{
	problem p = make(9, 20, 61, 1);
	inv_feature_ridge *all = fit(test_ctx, &p, 61), *f;
	inv_closed_form want = {0}, got = {0};

	(void)state;
	p.rows = 7;
	f = fit(test_ctx, &p, 7);
	assert_int_equal(inv_feature_ridge_solve(f, 0.3, 2, &got), INVAR_OK);
	inv_closed_form_clear(&got);
	assert_int_equal(inv_feature_ridge_add_clean(f, p.clean + 7 * 9, 54), INVAR_OK);
	assert_int_equal(inv_feature_ridge_add_copies(f, p.copy + 7 * 9, p.clean + 7 * 9, 54),
	                 INVAR_OK);
	assert_int_equal(inv_feature_ridge_solve(f, 0.3, 2, &got), INVAR_OK);
	assert_int_equal(inv_feature_ridge_solve(all, 0.3, 2, &want), INVAR_OK);
	assert_same(&got, &want);
	inv_closed_form_clear(&got);
	inv_closed_form_clear(&want);
	inv_feature_ridge_free(f);
	inv_feature_ridge_free(all);
	clear(&p);
}

/* Twenty choices read no row again, and repeating the first gives the same result. */
static void choices_do_not_disturb_each_other(void **state)
{
	problem p = make(9, 20, 61, 3);
	inv_feature_ridge *f = fit(test_ctx, &p, 61);
	inv_closed_form first = {0}, again = {0};

	(void)state;
	assert_int_equal(inv_feature_ridge_solve(f, 0.3, 1, &first), INVAR_OK);
	for (int i = 0; i < 20; i++) {
		inv_closed_form c = {0};

		assert_int_equal(inv_feature_ridge_solve(f, pow(2, i - 10), 1 + i % 4, &c),
		                 INVAR_OK);
		inv_closed_form_clear(&c);
	}
	assert_int_equal(inv_feature_ridge_solve(f, 0.3, 1, &again), INVAR_OK);
	assert_same(&first, &again);
	inv_closed_form_clear(&first);
	inv_closed_form_clear(&again);
	inv_feature_ridge_free(f);
	clear(&p);
}

/* Fewer features than a trial takes: all of them, so the errors are those of the solution;
 * more: those of some. */
static void a_trial_has_the_errors_of_the_solution(void **state)
{
	const size_t widths[] = {9, 2 * INV_FEATURE_TRIAL + 3};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		problem p = make(widths[k], 20, 20, 1);
		inv_feature_ridge *f = fit(test_ctx, &p, 30);
		inv_feature_trial t;
		inv_closed_form c = {0};
		double got = 0, want = 0;

		assert_int_equal(inv_feature_ridge_try(f, 0.3, 2, p.h, &t), INVAR_OK);
		assert_int_equal(t.step, k ? 3 : 1);
		assert_int_equal(inv_feature_ridge_solve(f, 0.3, 2, &c), INVAR_OK);
		assert_int_equal(inv_feature_ridge_add_error(f, &t, p.copy, p.clean, p.rows, &got),
		                 INVAR_OK);
		for (size_t i = 0; i < p.rows; i++)
			for (size_t j = 0; j < p.d; j += t.step)
				want += pow(p.copy[i * p.d + j] + moved_by(&c, p.copy + i * p.d, j) -
				                p.clean[i * p.d + j],
				            2);
		if (!(fabs(got - want) <= 1e-4 * want))
			fail_msg("%zu features: %g, not %g", p.d, got, want);
		inv_feature_trial_clear(&t);
		inv_closed_form_clear(&c);
		inv_feature_ridge_free(f);
		clear(&p);
	}
}

/* Some units, each with more weight: against the plain algebra. */
static void a_trial_of_some_units_is_their_regression(void **state)
{
	enum { UNITS = 8 };
	problem p = make(9, 20, 61, 3);
	inv_stream ws = inv_stream_of(SEED, "features/weight", 0);
	inv_stream bs = inv_stream_of(SEED, "features/bias", 0);
	float W[20 * 9], b[20];
	inv_feature_ridge *f = fit(test_ctx, &p, 61);
	inv_feature_trial t;
	double *B, x[29], got = 0, want = 0;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		inv_fill_normal(&ws, i, W + i * 9, 9);
	inv_fill_uniform(&bs, 0, -1, 1, b, 20);
	B = plain_solution(&p, W, b, 0.3, 2, UNITS);
	assert_int_equal(inv_feature_ridge_try(f, 0.3, 2, UNITS, &t), INVAR_OK);
	assert_int_equal(inv_feature_ridge_add_error(f, &t, p.copy, p.clean, p.rows, &got),
	                 INVAR_OK);
	for (size_t i = 0; i < p.rows; i++) {
		plain_features(&p, W, b, p.copy + i * 9, x);
		for (size_t j = 0; j < 9; j++) {
			double moved = B[29 * 9 + j];

			for (size_t k = 0; k < 9 + UNITS; k++)
				moved += x[k] * B[k * 9 + j];
			want += pow(p.copy[i * 9 + j] + p.scale.sigma * moved - p.clean[i * 9 + j], 2);
		}
	}
	if (!(fabs(got - want) <= 1e-5 * want))
		fail_msg("%g, not %g", got, want);
	inv_feature_trial_clear(&t);
	inv_feature_ridge_free(f);
	inv_free(B);
	clear(&p);
}

/* Constant features, equal features, and fewer rows than features. */
static void degenerate_features_are_fine(void **state)
{
	problem p = make(12, 40, 5, 2);
	inv_feature_ridge *f;
	inv_closed_form c = {0};

	(void)state;
	for (size_t i = 0; i < p.copies * p.rows; i++) {
		p.copy[i * p.d] = 4;
		p.copy[i * p.d + 1] = p.copy[i * p.d + 2];
		p.clean[i % p.rows * p.d] = 4;
	}
	f = fit(test_ctx, &p, 5);
	for (double lambda = 1e-3; lambda < 100; lambda *= 10) {
		assert_int_equal(inv_feature_ridge_solve(f, lambda, 1, &c), INVAR_OK);
		for (size_t i = 0; i < p.copies * p.rows * p.d; i++)
			assert_true(isfinite(moved_by(&c, p.copy + i / p.d * p.d, i % p.d)));
		assert_true(fabs(moved_by(&c, p.copy, 0)) < 1e-3);
		inv_closed_form_clear(&c);
	}
	assert_int_equal(inv_feature_ridge_solve(f, 1e-300, 1, &c), INVAR_E_NUMERIC);
	test_assert_error("too small for features that depend on each other");
	inv_closed_form_clear(&c);
	inv_feature_ridge_free(f);
	clear(&p);
}

/* As an MLP, within 1e-6 of the largest code. */
static void the_mlp_equals_the_closed_form(void **state)
{
	problem p = make(9, 20, 61, 3);
	const inv_mlp_shape s = {9, 2 * 9 + 20, 9};
	inv_feature_ridge *f = fit(test_ctx, &p, 61);
	size_t rows = p.copies * p.rows;
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);
	float *y = inv_alloc(rows * p.d * sizeof *y);
	inv_closed_form c = {0};

	(void)state;
	assert_int_equal(inv_feature_ridge_solve(f, 0.1, 1, &c), INVAR_OK);
	for (int residual = 0; residual < 2; residual++) {
		double largest = 0, worst = 0;

		inv_closed_form_export(&c, s, residual, params);
		assert_int_equal(inv_mlp_apply(test_ctx, s, params, residual, p.copy, rows, y),
		                 INVAR_OK);
		for (size_t i = 0; i < rows * p.d; i++) {
			double want = p.copy[i] + moved_by(&c, p.copy + i / p.d * p.d, i % p.d);

			largest = fmax(largest, fabs(want));
			worst = fmax(worst, fabs(y[i] - want));
		}
		if (worst > 1e-6 * largest)
			fail_msg("residual %d: off by %g of %g", residual, worst, largest);
	}
	inv_closed_form_clear(&c);
	inv_feature_ridge_free(f);
	inv_free(params);
	inv_free(y);
	clear(&p);
}

/* Independent of the rows: 2,048 features and 4,096 units, with two MLPs, in 2 GB. */
static void memory_is_bounded(void **state)
{
	const inv_mlp_shape s = {2048, 2 * 2048 + 4096, 2048};
	size_t mlp = inv_mlp_floats(s) * sizeof(float);

	(void)state;
	assert_true(inv_feature_ridge_memory(2048, 4096) + 2 * mlp < 1500u << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_regression),
		cmocka_unit_test(an_anchor_holds_clean_rows),
		cmocka_unit_test(neither_calls_nor_threads_change_a_bit),
		cmocka_unit_test(few_rows_have_the_same_bits_too),
		cmocka_unit_test(rows_may_become_many_after_a_solution),
		cmocka_unit_test(choices_do_not_disturb_each_other),
		cmocka_unit_test(a_trial_has_the_errors_of_the_solution),
		cmocka_unit_test(a_trial_of_some_units_is_their_regression),
		cmocka_unit_test(degenerate_features_are_fine),
		cmocka_unit_test(the_mlp_equals_the_closed_form),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
