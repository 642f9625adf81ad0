/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_step_ranks.c - steps of every loss by several ranks: the weights, moments and
 * losses of one process, bit for bit.
 *
 * Sizes are such that shares of rows and hidden units differ, and that our own kernels
 * compute the products of every share (matmul.h).
 */
#include <stdlib.h>
#include <string.h>

#include "adapter/step.h"
#include "base/processes.h"
#include "base/rng.h"
#include "ranks.h"
#include "support.h"

enum { N = 61, S = 2, D = 63, H = 154, STEPS = 16 };

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
	{.loss = "waco", .option = "slices", .value = "orthogonal"},
};

static const training *trained; /* by all ranks */

static inv_step *open_step(const invar_context *ctx, const invar_options *options)
{
	inv_step_spec spec = {.shape = {D, H, D},
	                      .loss = inv_loss_find(trained->loss),
	                      .options = options,
	                      .N = N,
	                      .s = S,
	                      .frame = {.distance = 2 * D, .origin = origin},
	                      .residual = trained->residual,
	                      .update = true,
	                      .weight_decay = 1e-4,
	                      .seed = 5};
	inv_step *p;

	assert_int_equal(inv_step_new(ctx, &spec, &p), INVAR_OK);
	inv_mlp_init(spec.shape, 3, false, p->params);
	assert_true(inv_mlp_steps_are_dealt(p->mlp) == (inv_process_count(ctx) > 1));
	return p;
}

static double *train(inv_processes *processes, unsigned threads, float *weights)
{
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
		assert_int_equal(inv_step_run(p, batch, 1e-3, &value), INVAR_OK);
		losses[t] = value.value;
	}
	assert_int_equal(inv_step_collect(p), INVAR_OK);
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

static invar_status train_as_another_rank(inv_processes *p)
{
	float *weights = malloc(weight_bytes());

	assert_non_null(weights);
	free(train(p, 1, weights));
	free(weights);
	return INVAR_OK;
}

static void compare_with_ranks(unsigned ranks, const float *weights, const double *losses)
{
	inv_processes *p = test_ranks_open(ranks, train_as_another_rank);
	float *got = malloc(weight_bytes());
	double *values;

	assert_non_null(got);
	values = train(p, 1, got);
	assert_int_equal(test_ranks_close(p, INVAR_OK), INVAR_OK);
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
