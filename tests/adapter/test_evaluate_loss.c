/* test_loss.c - invar_loss: what it gives for every kind, and what it refuses. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/losses/loss.h"
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

static invar_loss_input input(uint32_t samples, uint32_t groups)
{
	return (invar_loss_input){.size = sizeof(invar_loss_input),
	                          .adapter = &E,
	                          .clean = clean,
	                          .aug = aug,
	                          .images = N,
	                          .dim = D,
	                          .samples = samples,
	                          .groups = groups};
}

static invar_loss_opts options(const char *kind)
{
	invar_loss_opts o;

	invar_loss_defaults(&o);
	o.kind = kind;
	o.projections = L;
	return o;
}

static const invar_named_array *grad(const invar_loss_result *r, const char *name)
{
	for (size_t i = 0; i < r->grad_count; i++)
		if (strcmp(r->grads[i].name, name) == 0)
			return &r->grads[i];
	fail_msg("there is no gradient %s", name);
	return NULL;
}

static double term(const invar_loss_result *r, const char *name)
{
	for (size_t i = 0; i < r->term_count; i++)
		if (strcmp(r->terms[i].name, name) == 0)
			return r->terms[i].value;
	fail_msg("there is no term %s", name);
	return 0;
}

/* The gradient of the last bias is the sum over all rows of the gradient of the codes. */
static void check_sums(const invar_loss_result *r, size_t groups)
{
	const invar_named_array *bias = grad(r, "2_bias");

	for (size_t j = 0; j < D; j++) {
		double sum = 0;

		for (size_t g = 0; g < groups; g++) {
			char name[16];
			const invar_named_array *codes;

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
		for (int decoder = 0; decoder < 2; decoder++) {
			invar_loss_input in = input(S, 1);
			invar_loss_opts o = options(loss->name);
			invar_loss_result r, plain;

			assert_int_equal(invar_loss(ctx, &in, &o, &plain), INVAR_OK);
			in.decoder = decoder ? &back : NULL;
			o.alpha = 0.3;
			o.beta = 0.7;
			assert_int_equal(invar_loss(ctx, &in, &o, &r), INVAR_OK);
			check_sums(&r, 1);
			assert_int_equal(r.grad_count, decoder ? 9 : 5);
			if (decoder) {
				double want = 0.3 * term(&r, "reconstruction") + 0.7 * plain.value;

				assert_true(fabs(r.value - want) < 1e-9 * (1 + fabs(want)));
				assert_int_equal(grad(&r, "dec_0_weight")->shape[0], 5);
			} else {
				assert_true(r.value == plain.value); /* the weights are the decoder's */
			}
			invar_loss_result_clear(&r);
			invar_loss_result_clear(&plain);
		}
}

/* The codes of each augmentation, whose draws follow from the seed and its place. */
static void several_augmentations_add_up(void **state)
{
	for (int no_identity = 0; no_identity < 2; no_identity++) {
		invar_loss_input in = input(S, GROUPS);
		invar_loss_opts o = options("waco");
		invar_loss_result r;

		(void)state;
		o.no_identity = no_identity;
		o.seed = 5;
		assert_int_equal(invar_loss(ctx, &in, &o, &r), INVAR_OK);
		check_sums(&r, GROUPS);
		assert_int_equal(grad(&r, "codes_2")->shape[0], (S + !no_identity) * N);
		assert_true(fabs(r.value + log(term(&r, "sc_1")) + log(term(&r, "sc_2"))) < 1e-9);
		invar_loss_result_clear(&r);
	}
}

static void two_views_are_two_samples(void **state)
{
	invar_loss_input in = input(2, 1);
	invar_loss_opts o = options("simclr");
	invar_loss_result a, b;
	float views[2 * N * D];

	(void)state;
	if (!inv_loss_find("simclr"))
		skip();
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 2; k++)
			memcpy(views + (k * N + i) * D, aug + (i * S + k) * D, D * sizeof *views);
	assert_int_equal(invar_loss(ctx, &in, &o, &a), INVAR_OK);
	in.clean = in.aug = NULL;
	in.samples = 0;
	in.views = views;
	assert_int_equal(invar_loss(ctx, &in, &o, &b), INVAR_OK);
	assert_true(a.value == b.value);
	invar_loss_result_clear(&a);
	invar_loss_result_clear(&b);
	in.decoder = &back;
	assert_int_equal(invar_loss(ctx, &in, &o, &b), INVAR_E_USE);
	test_assert_error("the clean features are missing");
}

/* A program compiled before the structs grew. */
static void older_structs_are_understood(void **state)
{
	invar_loss_input in = input(S, 1);
	invar_loss_opts o = options("mawa");
	invar_loss_result a, b;

	(void)state;
	assert_int_equal(invar_loss(ctx, &in, &o, &a), INVAR_OK);
	memset((char *)&in + offsetof(invar_loss_input, groups), 0x5a,
	       sizeof in - offsetof(invar_loss_input, groups));
	memset((char *)&o + offsetof(invar_loss_opts, projections), 0x5a,
	       sizeof o - offsetof(invar_loss_opts, projections));
	in.size = offsetof(invar_loss_input, groups);
	o.size = offsetof(invar_loss_opts, projections);
	assert_int_equal(invar_loss(ctx, &in, &o, &b), INVAR_OK);
	assert_true(a.value == b.value);
	invar_loss_result_clear(&a);
	invar_loss_result_clear(&b);
}

static void refuse(const invar_loss_input *in, const invar_loss_opts *o, const char *word)
{
	invar_loss_result r;

	assert_int_not_equal(invar_loss(ctx, in, o, &r), INVAR_OK);
	test_assert_error(word);
	assert_int_equal(r.grad_count, 0);
}

static void what_does_not_fit_is_refused(void **state)
{
	static float directions[3][L * 2 * D];
	static uint32_t sigma[M];
	invar_loss_draws draws = {{directions[0], directions[1], directions[2]},
	                          {{sigma, sigma}, {sigma, sigma}, {sigma, sigma}}};
	invar_loss_input in = input(S, 1);
	invar_loss_opts o = options("waco");
	invar_adapter other = back;

	(void)state;
	in.draws = &draws;
	refuse(&in, &o, "--perm-xz: a permutation of augmentation 1 holds 0 twice");
	for (uint32_t i = 0; i < M; i++)
		sigma[i] = i;
	sigma[4] = M;
	refuse(&in, &o, "holds 27, but each of 0 to 26 must be in it once");
	o = options("mawa");
	refuse(&in, &o, "mawa has no directions and permutations to be given");
	in = input(S, GROUPS);
	refuse(&in, &o, "mawa takes one augmentation, there are 2");
	in = input(S, 9);
	o = options("waco");
	refuse(&in, &o, "there are 9 augmentations, at most 8 go");
	in = input(S, 1);
	in.views = aug;
	refuse(&in, &o, "waco does not look at pairs of views");
	in = input(S, 1);
	other.s.d = D + 1;
	in.decoder = &other;
	refuse(&in, &o, "D: maps 7 to 6, but a decoder of E maps 6 to 6");
	other = back;
	other.residual = true;
	refuse(&in, &o, "D: is residual, which a decoder is not");
	in = input(S, 1);
	o.sigma_x = "0";
	refuse(&in, &o, "--sigma-x is '0' but must be median or a number above 0");
	o = options("nothing");
	refuse(&in, &o, "there is no loss 'nothing'");
	in = input(0, 1);
	o = options("waco");
	o.no_identity = 1;
	refuse(&in, &o, "waco needs augmented rows here, and there are none: --aug A.npy");
	in = input(S, 1);
	in.aug = NULL;
	refuse(&in, &o, "waco needs augmented rows here, and there are none: --aug A.npy");
	in = input(S, 1);
	in.draws = &draws;
	o = options("waco");
	for (uint32_t i = 0; i < M; i++)
		sigma[i] = i;
	draws.permutations[2][1] = NULL;
	refuse(&in, &o, "--perm-zz: a permutation of augmentation 1 is missing");
	draws.directions[1] = NULL;
	refuse(&in, &o, "--directions-xx: those of augmentation 1 are missing");
}

static void gradients_that_overflow_are_no_result(void **state)
{
	invar_loss_input in = input(2, 1);
	invar_loss_opts o = options("simclr");

	(void)state;
	o.temperature = 1e-200;
	refuse(&in, &o,
	       "simclr on these rows under E: the gradient of codes has values too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_with_and_without_a_decoder),
		cmocka_unit_test(several_augmentations_add_up),
		cmocka_unit_test(two_views_are_two_samples),
		cmocka_unit_test(older_structs_are_understood),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(gradients_that_overflow_are_no_result),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
