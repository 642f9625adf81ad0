/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss_object.c - invar_loss: arrays one by one, results, wrong uses. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "adapter/evaluate_loss.h"
#include "base/rng.h"

enum { N = 9, S = 2, D = 6, H = 11, GROUPS = 2, L = 7, M = (S + 1) * N };

static float clean[N * D], aug[GROUPS * N * S * D];
static invar_adapter E = {.s = {D, H, D}, .path = (char[]){"E"}};
static invar_adapter back = {.s = {D, 5, D}, .path = (char[]){"D"}};

static int setup(void **state)
{
	inv_stream s = inv_stream_of(21, "loss", 0);

	if (test_context_open(state))
		return 1;
	inv_fill_normal(&s, 0, clean, N * D);
	inv_fill_normal(&s, 1, aug, GROUPS * N * S * D);
	E.ctx = back.ctx = test_ctx;
	E.params = inv_calloc(inv_mlp_floats(E.s), sizeof(float));
	back.params = inv_calloc(inv_mlp_floats(back.s), sizeof(float));
	inv_mlp_init(E.s, 1, false, E.params);
	inv_mlp_init(back.s, 2, false, back.params);
	return 0;
}

static int teardown(void **state)
{
	inv_free(E.params);
	inv_free(back.params);
	return test_context_close(state);
}

static invar_options *options(const char *kind)
{
	invar_options *o = test_options("loss", "kind", kind, NULL);

	if (inv_options_uses(o, "kind", kind, "projections"))
		test_set(o, "projections", test_text("%d", L), NULL);
	return o;
}

/* A loss without arrays; frees the options, as it has a copy of them. */
static invar_loss *bare(invar_options *o)
{
	invar_loss *l;

	assert_int_equal(invar_loss_new(&E, o, &l), INVAR_OK);
	invar_options_free(o);
	return l;
}

static void set_clean(invar_loss *l, uint64_t images)
{
	assert_int_equal(invar_loss_set(l, "clean", clean, 2, (uint64_t[]){images, D}),
	                 INVAR_OK);
}

static invar_status set_copies(invar_loss *l, uint64_t groups, uint64_t images)
{
	const uint64_t shape[] = {groups, images, S, D};

	return groups == 1 ? invar_loss_set(l, "copies", aug, 3, shape + 1)
	                   : invar_loss_set(l, "copies", aug, 4, shape);
}

/* With clean features and copies. */
static invar_loss *filled(invar_options *o, uint32_t groups)
{
	invar_loss *l = bare(o);

	set_clean(l, N);
	assert_int_equal(set_copies(l, groups, N), INVAR_OK);
	return l;
}

static double compute(invar_loss *l)
{
	if (invar_loss_compute(l) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return invar_loss_value(l, NULL);
}

/* ---- What comes out ---------------------------------------------------------------- */

static void assert_terms(const invar_loss *l, const inv_loss_result *want)
{
	for (size_t i = 0; i < want->term_count; i++)
		assert_true(invar_loss_value(l, want->terms[i].name) == want->terms[i].value);
	assert_true(isnan(invar_loss_value(l, "no such term")));
}

static void assert_gradients(const invar_loss *l, const inv_loss_result *want)
{
	size_t i = 0;

	for (; i < want->grad_count; i++) {
		const inv_named_array *g = &want->grads[i];
		const uint64_t *shape;
		const char *name;
		unsigned ndim;
		const float *data = invar_loss_gradient(l, i, &name, &ndim, &shape);

		assert_non_null(data);
		assert_string_equal(name, g->name);
		assert_int_equal(ndim, g->ndim);
		assert_memory_equal(shape, g->shape, ndim * sizeof *shape);
		assert_memory_equal(data, g->data,
		                    shape[0] * (ndim > 1 ? shape[1] : 1) * sizeof *data);
	}
	assert_null(invar_loss_gradient(l, i, NULL, NULL, NULL));
}

/* Every kind, one augmentation and several, with a decoder and without. */
static void it_gives_what_the_evaluation_gives(void **state)
{
	const inv_loss *loss;

	(void)state;
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		for (uint32_t groups = 1; groups <= (loss->several ? GROUPS : 1); groups++)
			for (int decoder = 0; decoder < 2 - loss->no_decoder; decoder++) {
				inv_loss_input in = {.adapter = &E,
				                     .clean = clean,
				                     .aug = aug,
				                     .images = N,
				                     .dim = D,
				                     .samples = S,
				                     .groups = groups,
				                     .decoder = decoder ? &back : NULL};
				invar_options *o = test_set(options(loss->name), "seed", "3", "alpha",
				                            "0.3", "beta", "0.7", NULL);
				inv_loss_result want;
				invar_loss *l;

				assert_int_equal(inv_loss_evaluate(test_ctx, &in, o, &want), INVAR_OK);
				l = filled(o, groups);
				if (decoder)
					assert_int_equal(invar_loss_set_decoder(l, &back), INVAR_OK);
				assert_true(compute(l) == want.value);
				assert_terms(l, &want);
				assert_gradients(l, &want);
				inv_loss_result_clear(&want);
				invar_loss_free(l);
			}
}

static void two_views_are_two_copies(void **state)
{
	float views[2 * N * D];
	invar_loss *copies, *l;

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 2; k++)
			memcpy(views + (k * N + i) * D, aug + (i * S + k) * D, D * sizeof *views);
	copies = filled(options("simclr"), 1);
	l = bare(options("simclr"));
	assert_int_equal(invar_loss_set(l, "views", views, 2, (uint64_t[]){2 * N, D}),
	                 INVAR_OK);
	assert_true(compute(l) == compute(copies));
	invar_loss_free(copies);
	invar_loss_free(l);
}

static void it_can_be_computed_again_on_other_arrays(void **state)
{
	invar_loss *l = filled(options("mawa"), 1), *small = bare(options("mawa"));
	double value = compute(l);

	(void)state;
	assert_true(compute(l) == value);
	set_clean(small, N - 2);
	assert_int_equal(set_copies(small, 1, N - 2), INVAR_OK);
	set_clean(l, N - 2); /* fewer images */
	assert_true(compute(l) != value);
	assert_true(invar_loss_value(l, NULL) == compute(small));
	set_clean(l, N);
	assert_true(compute(l) == value);
	invar_loss_free(small);
	invar_loss_free(l);
}

/* ---- Draws ------------------------------------------------------------------------- */

typedef struct draws {
	float directions[3][L * 2 * D];
	uint32_t permutations[3][2][M];
	inv_loss_draws views;
} draws;

static void fill_draws(draws *d, uint64_t seed)
{
	inv_stream s = inv_stream_of(seed, "draws", 0);

	for (uint32_t i = 0; i < 3; i++) {
		inv_fill_normal(&s, i, d->directions[i], L * 2 * D);
		d->views.directions[i] = d->directions[i];
		for (uint32_t half = 0; half < 2; half++) {
			inv_permutation(&s, 10 + 2 * i + half, d->permutations[i][half], M);
			d->views.permutations[i][half] = d->permutations[i][half];
		}
	}
}

static void draws_may_be_given(void **state)
{
	draws d[GROUPS];
	inv_loss_draws views[GROUPS];
	inv_loss_input in = {.adapter = &E,
	                     .clean = clean,
	                     .aug = aug,
	                     .images = N,
	                     .dim = D,
	                     .samples = S,
	                     .groups = GROUPS,
	                     .draws = views};
	invar_options *o = options("waco");
	inv_loss_result want;
	invar_loss *drawn = filled(options("waco"), GROUPS);

	(void)state;
	for (uint32_t g = 0; g < GROUPS; g++) {
		fill_draws(&d[g], g);
		views[g] = d[g].views;
	}
	assert_int_equal(inv_loss_evaluate(test_ctx, &in, o, &want), INVAR_OK);
	assert_true(want.value != compute(drawn));
	views[0].directions[0] = NULL;
	inv_loss_result_clear(&want);
	assert_int_equal(inv_loss_evaluate(test_ctx, &in, o, &want), INVAR_E_USE);
	test_assert_error("xz: the directions of augmentation 1 are missing");
	invar_options_free(o);
	invar_loss_free(drawn);
}

/* ---- Wrong uses -------------------------------------------------------------------- */

static void assert_empty(const invar_loss *l)
{
	assert_true(invar_loss_value(l, NULL) == 0);
	assert_true(isnan(invar_loss_value(l, "clean")));
	assert_null(invar_loss_gradient(l, 0, NULL, NULL, NULL));
}

static void without_a_result_there_is_nothing_to_read(void **state)
{
	invar_loss *l = bare(options("mawa"));

	(void)state;
	assert_empty(l);
	assert_int_equal(invar_loss_compute(l), INVAR_E_USE);
	test_assert_error("there are no rows to compute a loss on");
	set_clean(l, N);
	compute(l); /* the clean rows alone */
	assert_int_equal(set_copies(l, GROUPS, N), INVAR_OK);
	assert_int_equal(invar_loss_compute(l), INVAR_E_USE);
	test_assert_error("mawa takes one augmentation, but there are 2");
	assert_empty(l); /* the previous result is gone */
	invar_loss_free(l);
	invar_loss_free(NULL);
}

static void options_are_a_copy(void **state)
{
	invar_options *o = options("mawa");
	invar_loss *a, *b;

	(void)state;
	assert_int_equal(invar_loss_new(&E, o, &a), INVAR_OK);
	test_set(o, "anchor", "5", NULL);
	b = filled(o, 1); /* frees them */
	set_clean(a, N);
	assert_int_equal(set_copies(a, 1, N), INVAR_OK);
	assert_true(compute(a) < compute(b));
	invar_loss_free(a);
	invar_loss_free(b);
}

static void options_of_another_command_are_refused(void **state)
{
	invar_options *o = test_options("train", NULL);
	invar_loss *l = (invar_loss *)&E;

	(void)state;
	assert_int_equal(invar_loss_new(&E, o, &l), INVAR_E_USE);
	test_assert_error("these options were made for train, not for loss");
	assert_null(l);
	invar_options_free(o);
}

/* What was set before stays. */
static void arrays_that_contradict_each_other_are_refused(void **state)
{
	invar_loss *l = filled(options("simclr"), 1);
	double value = compute(l);

	(void)state;
	assert_int_equal(invar_loss_set(l, "views", aug, 2, (uint64_t[]){2 * N - 2, D}),
	                 INVAR_E_MISMATCH);
	test_assert_error("must be of the same images, but there are 9 and 8");
	assert_int_equal(set_copies(l, 0, N), INVAR_E_USE);
	test_assert_error("a loss takes 1 to 8 augmentations, not 0");
	assert_int_equal(set_copies(l, 9, N), INVAR_E_USE);
	test_assert_error("a loss takes 1 to 8 augmentations, not 9");
	assert_int_equal(set_copies(l, 1, N - 1), INVAR_E_MISMATCH);
	test_assert_error("copies of 8 images");
	assert_int_equal(invar_loss_set(l, "clear", clean, 2, (uint64_t[]){N, D}), INVAR_E_USE);
	test_assert_error("did you mean clean?");
	assert_int_equal(invar_loss_set(l, "clean", clean, 2, (uint64_t[]){N, D + 1}),
	                 INVAR_E_MISMATCH);
	assert_int_equal(invar_loss_set(l, "vicinal", clean, 2, (uint64_t[]){N - 1, D}),
	                 INVAR_E_MISMATCH);
	assert_int_equal(invar_loss_set(l, "origin", clean, 2, (uint64_t[]){1, D}),
	                 INVAR_E_MISMATCH);
	assert_true(compute(l) == value);
	invar_loss_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_gives_what_the_evaluation_gives),
		cmocka_unit_test(two_views_are_two_copies),
		cmocka_unit_test(it_can_be_computed_again_on_other_arrays),
		cmocka_unit_test(draws_may_be_given),
		cmocka_unit_test(without_a_result_there_is_nothing_to_read),
		cmocka_unit_test(options_are_a_copy),
		cmocka_unit_test(options_of_another_command_are_refused),
		cmocka_unit_test(arrays_that_contradict_each_other_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
