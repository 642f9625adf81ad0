/* SPDX-License-Identifier: Apache-2.0 */
/* test_evaluate_loss.c - the results of every loss on arrays, and its errors. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/evaluate_loss.h"
#include "base/rng.h"

enum { N = 9, S = 2, D = 6, H = 11, GROUPS = 2, L = 7, M = (S + 1) * N };

static invar_context *ctx;
static float clean[N * D], aug[GROUPS * N * S * D];
static invar_adapter E = {.s = {D, H, D}, .path = (char[]){"E"}};
static invar_adapter back = {.s = {D, 5, D}, .path = (char[]){"D"}};

static int setup(void **state)
{
	inv_stream s = inv_stream_of(21, "loss", 0);

	(void)state;
	inv_fill_normal(&s, 0, clean, N * D);
	inv_fill_normal(&s, 1, aug, GROUPS * N * S * D);
	E.params = inv_calloc(inv_mlp_floats(E.s), sizeof(float));
	back.params = inv_calloc(inv_mlp_floats(back.s), sizeof(float));
	inv_mlp_init(E.s, 1, false, E.params);
	inv_mlp_init(back.s, 2, false, back.params);
	return invar_context_new(2, NULL, &ctx) != INVAR_OK;
}

static int teardown(void **state)
{
	(void)state;
	inv_free(E.params);
	inv_free(back.params);
	invar_context_free(ctx);
	return 0;
}

static inv_loss_input input(uint32_t samples, uint32_t groups)
{
	return (inv_loss_input){.adapter = &E,
	                        .clean = clean,
	                        .aug = aug,
	                        .images = N,
	                        .dim = D,
	                        .samples = samples,
	                        .groups = groups};
}

static invar_options *options(const char *kind)
{
	invar_options *o = test_options("loss", "kind", kind, NULL);

	if (inv_options_uses(o, "kind", kind, "projections"))
		test_set(o, "projections", test_text("%d", L), NULL);
	return o;
}

static const inv_named_array *grad(const inv_loss_result *r, const char *name)
{
	for (size_t i = 0; i < r->grad_count; i++)
		if (strcmp(r->grads[i].name, name) == 0)
			return &r->grads[i];
	fail_msg("there is no gradient %s", name);
	return NULL;
}

static double term(const inv_loss_result *r, const char *name)
{
	for (size_t i = 0; i < r->term_count; i++)
		if (strcmp(r->terms[i].name, name) == 0)
			return r->terms[i].value;
	fail_msg("there is no term %s", name);
	return 0;
}

/* The gradient of the last bias is the sum over all rows of the gradient of the codes. */
static void check_sums(const inv_loss_result *r, size_t groups)
{
	const inv_named_array *bias = grad(r, "2_bias");

	for (size_t j = 0; j < D; j++) {
		double sum = 0;

		for (size_t g = 0; g < groups; g++) {
			char name[16];
			const inv_named_array *codes;

			snprintf(name, sizeof name, groups > 1 ? "codes_%zu" : "codes", g + 1);
			codes = grad(r, name);
			for (size_t row = 0; row < codes->shape[0]; row++)
				sum += codes->data[row * D + j];
		}
		assert_true(fabs(sum - bias->data[j]) < 1e-5 * (1 + fabs(sum)));
	}
}

static void every_kind_with_and_without_a_decoder(void **state)
{
	const inv_loss *loss;

	(void)state;
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		for (int decoder = 0; decoder < 2 - loss->no_decoder; decoder++) {
			inv_loss_input in = input(S, 1);
			invar_options *o = options(loss->name);
			inv_loss_result r, plain;

			assert_int_equal(inv_loss_evaluate(ctx, &in, o, &plain), INVAR_OK);
			in.decoder = decoder ? &back : NULL;
			test_set(o, "alpha", "0.3", "beta", "0.7", NULL);
			assert_int_equal(inv_loss_evaluate(ctx, &in, o, &r), INVAR_OK);
			check_sums(&r, 1);
			assert_int_equal(r.grad_count, decoder ? 9 : 5);
			if (decoder) {
				double want = 0.3 * term(&r, "reconstruction") + 0.7 * plain.value;

				assert_true(fabs(r.value - want) < 1e-9 * (1 + fabs(want)));
				assert_int_equal(grad(&r, "dec_0_weight")->shape[0], 5);
			} else {
				assert_true(r.value == plain.value); /* the weights are the decoder's */
			}
			inv_loss_result_clear(&r);
			inv_loss_result_clear(&plain);
			invar_options_free(o);
		}
}

/* The codes of each augmentation, whose draws follow from the seed and its number. */
static void several_augmentations_add_up(void **state)
{
	for (int no_identity = 0; no_identity < 2; no_identity++) {
		inv_loss_input in = input(S, GROUPS);
		invar_options *o = test_set(options("waco"), "no-identity", no_identity ? "1" : "0",
		                            "seed", "5", NULL);
		inv_loss_result r;

		(void)state;
		assert_int_equal(inv_loss_evaluate(ctx, &in, o, &r), INVAR_OK);
		check_sums(&r, GROUPS);
		assert_int_equal(grad(&r, "codes_2")->shape[0], (S + !no_identity) * N);
		assert_true(fabs(r.value + log(term(&r, "sc_1")) + log(term(&r, "sc_2"))) < 1e-9);
		inv_loss_result_clear(&r);
		invar_options_free(o);
	}
}

static void two_views_are_two_samples(void **state)
{
	inv_loss_input in = input(2, 1);
	invar_options *o;
	inv_loss_result a, b;
	float views[2 * N * D];

	(void)state;
	if (!inv_loss_find("simclr"))
		skip();
	o = options("simclr");
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 2; k++)
			memcpy(views + (k * N + i) * D, aug + (i * S + k) * D, D * sizeof *views);
	assert_int_equal(inv_loss_evaluate(ctx, &in, o, &a), INVAR_OK);
	in.clean = in.aug = NULL;
	in.samples = 0;
	in.views = views;
	assert_int_equal(inv_loss_evaluate(ctx, &in, o, &b), INVAR_OK);
	assert_true(a.value == b.value);
	inv_loss_result_clear(&a);
	inv_loss_result_clear(&b);
	in.decoder = &back;
	assert_int_equal(inv_loss_evaluate(ctx, &in, o, &b), INVAR_E_USE);
	test_assert_error("the clean features are missing");
	invar_options_free(o);
}

/* Frees the options. */
static void refuse(const inv_loss_input *in, invar_options *o, const char *word)
{
	inv_loss_result r;

	assert_int_not_equal(inv_loss_evaluate(ctx, in, o, &r), INVAR_OK);
	test_assert_error(word);
	assert_int_equal(r.grad_count, 0);
	invar_options_free(o);
}

static void draws_that_do_not_fit_are_refused(void **state)
{
	static float directions[3][L * 2 * D];
	static uint32_t sigma[M];
	inv_loss_draws draws = {{directions[0], directions[1], directions[2]},
	                        {{sigma, sigma}, {sigma, sigma}, {sigma, sigma}}};
	inv_loss_input in = input(S, 1);

	(void)state;
	in.draws = &draws;
	refuse(&in, options("waco"), "xz: a permutation of augmentation 1 contains 0 twice");
	for (uint32_t i = 0; i < M; i++)
		sigma[i] = i;
	sigma[4] = M;
	refuse(&in, options("waco"), "contains 27, but must contain each of 0 to 26 once");
	refuse(&in, options("mawa"), "mawa uses no directions or permutations");
	sigma[4] = 4;
	draws.permutations[2][1] = NULL;
	refuse(&in, options("waco"), "zz: a permutation of augmentation 1 is missing");
	draws.directions[1] = NULL;
	refuse(&in, options("waco"), "xx: the directions of augmentation 1 are missing");
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
	inv_loss_input in = input(S, GROUPS);
	invar_adapter other = back;

	(void)state;
	refuse(&in, options("mawa"), "mawa takes one augmentation, but there are 2");
	in = input(S, 9);
	refuse(&in, options("waco"), "there are 9 augmentations, but at most 8 are supported");
	in = input(S, 1);
	in.views = aug;
	refuse(&in, options("waco"), "waco does not use pairs of views");
	in = input(S, 1);
	other.s.d = D + 1;
	in.decoder = &other;
	refuse(&in, options("waco"), "D: maps 7 to 6, but a decoder of E maps 6 to 6");
	other = back;
	other.residual = true;
	refuse(&in, options("waco"), "D: is residual, but a decoder cannot be");
	in = input(0, 1);
	refuse(&in, test_set(options("waco"), "no-identity", "1", NULL),
	       "waco needs copies here, but there are none");
	in = input(S, 1);
	in.aug = NULL;
	refuse(&in, options("waco"), "waco needs copies here, but there are none");
}

static void options_that_do_not_fit_are_refused(void **state)
{
	inv_loss_input in = input(S, 1);
	invar_options *o = options("mawa");

	(void)state;
	refuse(&in, test_set(options("hsic"), "sigma-x", "0", NULL),
	       "sigma-x must be median or a number above 0, not '0'");
	refuse(&in, test_set(options("waco"), "sigma-x", "1", NULL),
	       "sigma-x needs kind hsic, but kind is waco");
	assert_int_equal(invar_options_set(o, "kind", "nothing"), INVAR_E_USE);
	test_assert_error("kind must be mawa, waco, simclr, hsic or keep, not 'nothing'");
	invar_options_free(o);
}

static void gradients_that_overflow_are_no_result(void **state)
{
	inv_loss_input in = input(2, 1);

	(void)state;
	refuse(&in, test_set(options("simclr"), "temperature", "1e-200", NULL),
	       "simclr on these rows with E: the gradient of codes has values too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_with_and_without_a_decoder),
		cmocka_unit_test(several_augmentations_add_up),
		cmocka_unit_test(two_views_are_two_samples),
		cmocka_unit_test(draws_that_do_not_fit_are_refused),
		cmocka_unit_test(arrays_that_do_not_fit_are_refused),
		cmocka_unit_test(options_that_do_not_fit_are_refused),
		cmocka_unit_test(gradients_that_overflow_are_no_result),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
