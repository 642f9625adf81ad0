/* SPDX-License-Identifier: Apache-2.0 */
/* test_affinity.c - perplexities, P, the divergence and its gradient. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "math/affinity.h"
#include "math/kernels.h"
#include "math/neighbours.h"
#include "math/repulsion.h"

typedef struct cloud {
	size_t n, k;
	uint32_t *index;
	double *squared, *betas;
	float *p;
	bool *reached;
	inv_affinity joint;
} cloud;

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

static cloud make(const invar_context *ctx, const float *x, size_t n, size_t d, size_t k,
                  double perplexity)
{
	cloud c = {.n = n, .k = k};
	inv_neighbours *near;

	c.index = inv_alloc(n * k * sizeof *c.index);
	c.squared = inv_alloc(n * k * sizeof *c.squared);
	c.betas = inv_alloc(n * sizeof *c.betas);
	c.p = inv_alloc(n * k * sizeof *c.p);
	c.reached = inv_alloc(n * sizeof *c.reached);
	assert_int_equal(inv_neighbours_new(ctx, x, n, d, NULL, k, &near), INVAR_OK);
	inv_nearest_others(near, 0, n, c.index, c.squared);
	inv_neighbours_free(near);
	inv_conditional(ctx, c.squared, n, k, perplexity, c.p, c.betas, c.reached);
	return c;
}

static void join(cloud *c)
{
	assert_int_equal(inv_affinity_join(c->n, c->k, c->index, c->p, &c->joint), INVAR_OK);
}

static void clear(cloud *c)
{
	inv_free(c->index);
	inv_free(c->squared);
	inv_free(c->betas);
	inv_free(c->p);
	inv_free(c->reached);
	inv_affinity_clear(&c->joint);
}

static void check_gradient(golden *g, const invar_context *ctx, const cloud *c)
{
	const float *y = golden_f32(g, "y", NULL);
	float *pull = inv_alloc(2 * c->n * sizeof *pull);
	double *push = inv_alloc(2 * c->n * sizeof *push), z, kl;
	inv_repulsion *r;

	assert_int_equal(inv_repulsion_new(ctx, c->n, &r), INVAR_OK);
	assert_int_equal(inv_repulsion_find(r, y, push, &z), INVAR_OK);
	inv_affinity_attract(ctx, &c->joint, y, pull);
	for (size_t i = 0; i < 2 * c->n; i++)
		push[i] = 4 * (pull[i] - push[i] / z);
	golden_check_f64(g, "gradient", push, 2 * c->n);
	assert_int_equal(inv_affinity_divergence(ctx, &c->joint, y, z, &kl), INVAR_OK);
	golden_check_value(g, "kl", kl);
	inv_repulsion_free(r);
	inv_free(pull);
	inv_free(push);
}

/* All other points are neighbours here, as in the exact t-SNE of the reference. */
static void golden_cases(void **state)
{
	invar_context *ctx = context(2);

	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "tsne");
		size_t shape[GOLDEN_NDIM];
		const float *x = golden_f32(g, "x", shape);
		size_t n = shape[0];
		cloud c = make(ctx, x, n, shape[1], n - 1, golden_value(g, "perplexity"));
		double *full = inv_calloc(n * n, sizeof *full);

		golden_check_f64(g, "betas", c.betas, n);
		for (size_t i = 0; i < 20; i++)
			for (size_t j = 0; j < c.k; j++)
				full[i * n + c.index[i * c.k + j]] = c.p[i * c.k + j];
		golden_check_f64(g, "conditional_first_rows", full, 20 * n);
		memset(full, 0, n * n * sizeof *full);
		join(&c);
		for (size_t i = 0; i < n; i++)
			for (size_t e = c.joint.row[i]; e < c.joint.row[i + 1]; e++)
				full[i * n + c.joint.index[e]] += c.joint.weight[e];
		golden_check_f64(g, "joint", full, n * n);
		check_gradient(g, ctx, &c);
		inv_free(full);
		clear(&c);
		golden_close(g);
	}
	invar_context_free(ctx);
}

/* The definition, pair by pair, from the lists of neighbours. */
static void check_joint(const cloud *c, const uint32_t *index, const float *p)
{
	size_t n = c->n;
	double *full = inv_calloc(n * n, sizeof *full), total = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < c->k; j++) {
			full[i * n + index[i * c->k + j]] += (double)p[i * c->k + j] / (2 * (double)n);
			full[index[i * c->k + j] * n + i] += (double)p[i * c->k + j] / (2 * (double)n);
		}
	for (size_t i = 0; i < n; i++) {
		assert_int_equal((c->joint.row[i + 1] - c->joint.row[i]) % INV_EDGES, 0);
		for (size_t e = c->joint.row[i]; e < c->joint.row[i + 1]; e++) {
			total += c->joint.weight[e];
			full[i * n + c->joint.index[e]] -= c->joint.weight[e];
		}
	}
	for (size_t i = 0; i < n * n; i++)
		assert_true(fabs(full[i]) < 1e-7 / (double)n);
	assert_true(fabs(total - 1) < 1e-6);
	inv_free(full);
}

static void p_is_the_mean_of_both_directions(void **state)
{
	static const size_t sizes[] = {3, 10, 57, 300};
	invar_context *ctx = context(3);
	static float x[300 * 5];

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		size_t n = sizes[s], k = n / 4 + 2 < n ? n / 4 + 2 : n - 1;
		inv_stream stream = inv_stream_of(n, "cloud", 0);
		cloud c;
		uint32_t *index = inv_alloc(n * k * sizeof *index);
		float *p = inv_alloc(n * k * sizeof *p);

		inv_fill_normal(&stream, 0, x, n * 5);
		c = make(ctx, x, n, 5, k, 1.5);
		memcpy(index, c.index, n * k * sizeof *index);
		memcpy(p, c.p, n * k * sizeof *p);
		join(&c);
		check_joint(&c, index, p);
		inv_free(index);
		inv_free(p);
		clear(&c);
	}
	invar_context_free(ctx);
}

/* Twenty equal rows: any beta leaves them an entropy above log 5. */
static void duplicates_share_alike(void **state)
{
	invar_context *ctx = context(1);
	static float x[60 * 3];
	inv_stream stream = inv_stream_of(1, "cloud", 0);
	cloud c;

	(void)state;
	inv_fill_normal(&stream, 0, x, 60 * 3);
	x[0] = 50; /* far from the others, whose neighbours they must not be */
	for (size_t i = 1; i < 20; i++)
		memcpy(x + i * 3, x, 3 * sizeof *x);
	c = make(ctx, x, 60, 3, 30, 5);
	for (size_t i = 0; i < 60; i++)
		assert_int_equal(c.reached[i], i >= 20);
	for (size_t j = 0; j < 19; j++)
		assert_true(fabsf(c.p[j] - 1.0f / 19) < 1e-4f);
	clear(&c);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_cases),
		cmocka_unit_test(p_is_the_mean_of_both_directions),
		cmocka_unit_test(duplicates_share_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
