/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_step_ranks.c - steps of every loss by several ranks: the weights, moments and
 * losses of one process, bit for bit.
 *
 * Sizes are such that shares differ: of images, rows, hidden units and directions; and that
 * our own kernels compute all products (matmul.h). With six ranks some have no copies, or
 * no clean rows.
 */
#include <stdlib.h>
#include <string.h>

#include "adapter/step_ranks.h"
#include "base/processes.h"
#include "base/rng.h"
#include "ranks.h"
#include "support.h"

enum { N = 29, S = 2, D = 63, H = 154, STEPS = 16 };

static float batch[(S + 1) * N * D], origin[D];

typedef struct training {
	const char *loss, *option, *value; /* an option of its own; NULL: none */
	bool residual;
} training;

static const training trainings[] = {
	{.loss = "mawa"},
	{.loss = "mawa", .option = "no-identity", .value = "true"},
	{.loss = "mawa", .residual = true},
	{.loss = "keep", .residual = true},
	{.loss = "keep", .option = "contrast", .value = "3"},
	{.loss = "simclr"},
	{.loss = "hsic"},
	{.loss = "hsic", .option = "sigma-z", .value = "3"},
	{.loss = "waco", .option = "projections", .value = "72"},
	{.loss = "waco", .option = "projections", .value = "20"},   /* fewer lines than ranks */
	{.loss = "waco", .option = "projections", .value = "1100"}, /* two blocks */
	{.loss = "waco", .option = "slices", .value = "orthogonal"},
};

static const training *trained; /* by all ranks */

static inv_step *open_step(const invar_context *ctx, const invar_options *options)
{
	unsigned ranks = inv_process_count(ctx);
	inv_shares images = inv_shares_of(ctx, N, 1);
	inv_step_spec spec = {.shape = {D, H, D},
	                      .loss = inv_loss_find(trained->loss),
	                      .options = options,
	                      .N = inv_own_count(&images),
	                      .share_first = inv_own_first(&images),
	                      .N_all = ranks > 1 ? N : 0,
	                      .s = S,
	                      .frame = {.distance = 2 * D, .origin = origin},
	                      .residual = trained->residual,
	                      .update = true,
	                      .weight_decay = 1e-4,
	                      .seed = 5};
	inv_step *p;

	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	inv_mlp_init(spec.shape, 3, false, p->params);
	if (p->ranks)
		inv_step_ranks_take(p);
	return p;
}

/* The rows that this rank would have read. */
static const float *own_rows(const invar_context *ctx, float *rows)
{
	inv_shares images = inv_shares_of(ctx, N, 1);
	size_t first = inv_own_first(&images), count = inv_own_count(&images);

	for (size_t k = 0; k <= S; k++)
		memcpy(rows + k * count * D, batch + (k * N + first) * D, count * D * sizeof *rows);
	return rows;
}

static double *train(inv_processes *processes, unsigned threads, float *weights)
{
	static float rows[(S + 1) * N * D];
	invar_options *options = test_options("loss", NULL);
	double *losses = calloc(STEPS, sizeof *losses);
	inv_loss_value value;
	invar_context *ctx;
	inv_step *p;

	assert_non_null(losses);
	if (trained->option)
		assert_int_equal(invar_options_set(options, trained->option, trained->value),
		                 INVAR_OK);
	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	inv_context_share(ctx, processes);
	p = open_step(ctx, options);
	for (size_t t = 0; t < STEPS; t++) {
		assert_int_equal(inv_step_run(p, own_rows(ctx, rows), 1e-3, &value), INVAR_OK);
		losses[t] = value.value;
	}
	if (p->ranks)
		assert_int_equal(inv_step_ranks_collect(p), INVAR_OK);
	memcpy(weights, p->params, p->floats * sizeof *weights);
	memcpy(weights + p->floats, p->m, p->floats * sizeof *weights);
	memcpy(weights + 2 * p->floats, p->v, p->floats * sizeof *weights);
	inv_step_free(p);
	invar_context_free(ctx);
	invar_options_free(options);
	return losses;
}

static size_t weight_bytes(void)
{
	return 3 * inv_mlp_floats((inv_mlp_shape){D, H, D}) * sizeof(float);
}

static void train_as_another_rank(inv_processes *p)
{
	float *weights = malloc(weight_bytes());

	assert_non_null(weights);
	free(train(p, 1, weights));
	free(weights);
}

static void compare_with_ranks(unsigned ranks, const float *weights, const double *losses)
{
	inv_processes *p = test_ranks_open_with(ranks, train_as_another_rank);
	float *got = malloc(weight_bytes());
	double *values;

	assert_non_null(got);
	values = train(p, 1, got);
	test_ranks_close(p, 0);
	if (memcmp(values, losses, STEPS * sizeof *losses) != 0 ||
	    memcmp(got, weights, weight_bytes()) != 0)
		fail_msg("%s %s %s: %u ranks differ from one", trained->loss,
		         trained->option ? trained->option : "",
		         trained->value ? trained->value : "", ranks);
	free(values);
	free(got);
}

static void steps_of_every_loss_have_the_bits_of_one_process(void **state)
{
	inv_stream stream = inv_stream_of(1, "rows", 0);

	(void)state;
	inv_fill_normal(&stream, 0, batch, (S + 1) * N * D);
	inv_fill_normal(&stream, 1, origin, D);
	for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
		float *weights = malloc(weight_bytes());
		double *losses;

		assert_non_null(weights);
		trained = &trainings[i];
		losses = train(NULL, 1, weights);
		for (unsigned ranks = 2; ranks <= 6; ranks++)
			compare_with_ranks(ranks, weights, losses);
		free(losses);
		free(weights);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_every_loss_have_the_bits_of_one_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
