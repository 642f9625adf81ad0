/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - closed forms and losses with every allocation failing in turn. */
#include "adapter/adapter.h"
#include "adapter/closed_forms/closed_form.h"
#include "adapter/evaluate_loss.h"
#include "adapter/losses/loss.h"
#include "bank/bank.h"
#include "failing.h"
#include "run/run.h"
#include "support.h"

extern const inv_loss inv_loss_hsic;

extern const inv_loss inv_loss_simclr, inv_loss_keep;

enum { ROWS = 12, D = 4 };

static invar_context *ctx;
static invar_bank *bank;
static invar_options *closed_options; /* made before memory fails */

static invar_status fit(void *kind)
{
	static const uint32_t images[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	const inv_closed_form_spec s = {.options = closed_options,
	                                .bank = bank,
	                                .split = inv_bank_split(bank, "train"),
	                                .copies = 2,
	                                .images = images,
	                                .image_count = ROWS};
	inv_closed_form c;
	invar_status st = inv_closed_form_fit(inv_closed_form_find(kind), &s, &c);

	if (st == INVAR_OK)
		inv_closed_form_clear(&c);
	return st;
}

static void fitting_survives(void **state)
{
	const invar_options *o;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	o = test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "4", "dim",
	              test_text("%d", D), "copies", "2", NULL);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("bank")), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("bank"), &bank), INVAR_OK);
	closed_options = test_options("train", NULL);
	assert_true(test_each_allocation_fails(fit, "identity") > 2);
	assert_true(test_each_allocation_fails(fit, "rigid") > 8);
	assert_true(test_each_allocation_fails(fit, "ridge") > 20);
	invar_options_free(closed_options);
	invar_bank_close(bank);
	invar_context_free(ctx);
}

static invar_options *options; /* made before the memory fails */

static invar_status prepare(void *loss)
{
	const inv_loss *l = loss;
	struct inv_kernels kernels;
	const inv_loss_shape shape = {ctx,    &kernels, options,
	                              .N = 5, .s = 2,   .groups = 1,
	                              .d = D, .w = D,   .frame = {.distance = 2 * D}};
	inv_loss_work work = {0};
	invar_status st;

	inv_kernels_init(&kernels, ctx->cpu);
	st = l->prepare(&shape, &work);
	if (st == INVAR_OK)
		l->release(work.state);
	return st;
}

static void preparing_a_loss_survives(void **state)
{
	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	options = test_options("loss", NULL);
	assert_true(test_each_allocation_fails(prepare, (void *)&inv_loss_simclr) >= 3);
	assert_true(test_each_allocation_fails(prepare, (void *)&inv_loss_hsic) >= 8);
	assert_true(test_each_allocation_fails(prepare, (void *)&inv_loss_keep) >= 4);
	invar_options_free(options);
	invar_context_free(ctx);
}

/* ---- A step with all that may be in it, and its results ---------------------------- */

enum { N = 5, S = 1, GROUPS = 2 };

static invar_adapter E = {.s = {D, 6, D}, .path = (char[]){"E"}};

static float clean[N * D], aug[GROUPS * N * S * D];

static invar_status evaluate(void *user)
{
	const inv_loss_input in = {.adapter = &E,
	                           .clean = clean,
	                           .aug = aug,
	                           .images = N,
	                           .dim = D,
	                           .samples = S,
	                           .groups = GROUPS,
	                           .decoder = &E};
	inv_loss_result r;
	invar_status st;

	(void)user;
	st = inv_loss_evaluate(ctx, &in, options, &r);
	if (st == INVAR_OK)
		inv_loss_result_clear(&r);
	return st;
}

/* The same by the public calls, options included. */
static invar_status compute(void *user)
{
	invar_options *o;
	invar_loss *l = NULL;
	invar_status st = invar_options_new("loss", &o);

	(void)user;
	if (st == INVAR_OK)
		st = invar_options_set(o, "kind", "waco");
	if (st == INVAR_OK)
		st = invar_options_set(o, "projections", "3");
	if (st == INVAR_OK)
		st = invar_loss_new(&E, o, &l);
	if (st == INVAR_OK)
		st = invar_loss_set(l, "clean", clean, 2, (uint64_t[]){N, D});
	if (st == INVAR_OK)
		st = invar_loss_set(l, "copies", aug, 4, (uint64_t[]){GROUPS, N, S, D});
	if (st == INVAR_OK)
		st = invar_loss_set_decoder(l, &E);
	if (st == INVAR_OK)
		st = invar_loss_compute(l);
	invar_loss_free(l);
	invar_options_free(o);
	return st;
}

static void a_loss_on_arrays_survives(void **state)
{
	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	E.ctx = ctx;
	E.params = inv_calloc(inv_mlp_floats(E.s), sizeof(float));
	options = test_options("loss", "kind", "waco", "projections", "3", NULL);
	assert_true(test_each_allocation_fails(evaluate, NULL) > 30);
	assert_true(test_each_allocation_fails(compute, NULL) > 40);
	invar_options_free(options);
	inv_free(E.params);
	invar_context_free(ctx);
}

/* ---- Arrays to an adapter --------------------------------------------------------------
 */

static invar_status fit_arrays(void *user)
{
	static float rows[ROWS * D], copies[ROWS * 2 * D];
	invar_adapter *e;
	invar_status st;

	for (size_t i = 0; i < ROWS * 2 * D; i++)
		copies[i] = rows[i % (ROWS * D)] = (float)(i * i % 23);
	st = invar_fit(ctx, rows, copies, ROWS, 2, D, user, &e);
	invar_adapter_close(e);
	return st;
}

static void fitting_arrays_survives(void **state)
{
	invar_options *o = test_options("train", "loss", "mawa", "epochs", "1", "hidden", "4",
	                                "batch-size", "4", NULL);

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_true(test_each_allocation_fails(fit_arrays, o) > 40);
	test_set(o, "preset", "instant", "loss", NULL, "epochs", NULL, "hidden", NULL,
	         "batch-size", NULL, NULL);
	assert_true(test_each_allocation_fails(fit_arrays, o) > 40);
	invar_options_free(o);
	invar_context_free(ctx);
}

/* ---- A run that replaces another ---------------------------------------------------- */

static void make_run(void)
{
	inv_run *r;

	assert_int_equal(inv_run_open(test_path("run"), INV_RUN_FRESH, &r), INVAR_OK);
	json_object_set_new(r->json, "options", json_object());
	assert_int_equal(inv_run_save(r), INVAR_OK);
	test_write(r->checkpoint_path, "old", 3);
	inv_run_close(r);
}

static invar_status replace_run(void *user)
{
	inv_run *r;
	invar_status st = inv_run_open(test_path("run"), INV_RUN_REPLACE, &r);

	(void)user;
	if (st == INVAR_OK)
		st = inv_run_clear(r, NULL);
	if (st == INVAR_OK)
		st = inv_run_save(r);
	if (st == INVAR_OK)
		st = inv_run_publish(r);
	inv_run_close(r);
	return st;
}

/* Wherever memory runs out, files that are not part of a run remain. */
static void replacing_a_run_survives(void **state)
{
	(void)state;
	make_run();
	assert_true(test_each_allocation_fails(replace_run, NULL) > 30);
	assert_true(test_exists(test_path("run/run.json")));
	assert_false(test_exists(test_path("run.part")));
	assert_false(test_exists(test_path("run/checkpoint.safetensors")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fitting_survives),
		cmocka_unit_test(preparing_a_loss_survives),
		cmocka_unit_test(a_loss_on_arrays_survives),
		cmocka_unit_test(fitting_arrays_survives),
		cmocka_unit_test(replacing_a_run_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
