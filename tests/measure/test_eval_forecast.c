/* SPDX-License-Identifier: Apache-2.0 */
/* test_eval_forecast.c - every measurement estimates its work, from sizes alone. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "measure/measurement.h"

static const inv_eval_sizes sizes = {.size = sizeof sizes,
                                     .rows = 1000,
                                     .copies = 3,
                                     .train = 2000,
                                     .train_copies = 4,
                                     .all_rows = 3000,
                                     .classes = 10,
                                     .dim = 256,
                                     .adapters = 1,
                                     .width = 256,
                                     .hidden = 512,
                                     .speed = 1e11};

static double forecast(const inv_eval_sizes *z, const char *metrics, const char *figure)
{
	invar_options *o = test_options("eval", "metrics", metrics, NULL);
	invar_context *ctx;
	invar_figures *f;
	double value;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_eval_forecast(ctx, z, o, &f), INVAR_OK);
	value = invar_figure(f, figure);
	invar_figures_free(f);
	invar_context_free(ctx);
	invar_options_free(o);
	assert_true(isfinite(value) && value >= 0);
	return value;
}

/* What an evaluation takes beside its measurements: one that measures nothing here. */
static double seconds_of(const inv_eval_sizes *z, const char *metrics)
{
	inv_eval_sizes bare = *z;

	bare.classes = 0;
	return forecast(z, metrics, "seconds") - forecast(&bare, "lc", "seconds");
}

static void every_measurement_has_an_estimate(void **state)
{
	(void)state;
	for (size_t i = 0; inv_measurement_at(i); i++) {
		const inv_measurement *m = inv_measurement_at(i);
		inv_eval_sizes larger = sizes;

		if (!m->work)
			fail_msg("%s has no estimate", m->name);
		if (!(seconds_of(&sizes, m->name) > 0))
			fail_msg("%s takes no time", m->name);
		if (!(forecast(&sizes, m->name, "bytes") > 4000))
			fail_msg("%s has no results", m->name);
		larger.rows *= 2;
		larger.train *= 2;
		larger.all_rows *= 2;
		if (!(seconds_of(&larger, m->name) > 1.05 * seconds_of(&sizes, m->name)))
			fail_msg("%s: twice the images take no longer", m->name);
	}
}

static void what_cannot_be_measured_takes_no_time(void **state)
{
	inv_eval_sizes z = sizes;

	(void)state;
	z.copies = 0;
	assert_true(seconds_of(&z, "tsne") == 0);
	z = sizes;
	z.train = 0;
	assert_true(seconds_of(&z, "knn") == 0);
	z = sizes;
	z.classes = 0;
	assert_true(seconds_of(&z, "lc,collision") == 0);
}

/* A linear classifier of features, the outcomes of copies, what the cache of a bank has. */
static void shared_work_counts_once(void **state)
{
	inv_eval_sizes cached = sizes, two = sizes;

	(void)state;
	assert_true(seconds_of(&sizes, "lc,kept") <
	            seconds_of(&sizes, "lc") + 0.7 * seconds_of(&sizes, "kept"));
	assert_true(seconds_of(&sizes, "curves,worst") < 1.05 * seconds_of(&sizes, "curves"));
	cached.cached = 1;
	assert_true(seconds_of(&cached, "ec") < 0.1 * seconds_of(&sizes, "ec"));
	two.adapters = 2;
	assert_true(seconds_of(&two, "structure") > 1.5 * seconds_of(&sizes, "structure"));
}

/* A pair of rows and an example of a class take time beside their products. */
static void few_columns_do_not_make_it_free(void **state)
{
	inv_eval_sizes narrow = sizes, many = sizes;

	(void)state;
	narrow.dim = narrow.width = 8;
	assert_true(seconds_of(&narrow, "same-class") > 0.2 * seconds_of(&sizes, "same-class"));
	assert_true(seconds_of(&narrow, "knn") > 0.1 * seconds_of(&sizes, "knn"));
	many = narrow;
	many.classes = 10000;
	assert_true(seconds_of(&many, "lc") > 50 * seconds_of(&narrow, "lc"));
}

static void queries_of_four_views_take_four_times_as_long(void **state)
{
	invar_options *o = test_options("eval", "metrics", "nothing", NULL);
	inv_eval_sizes more = sizes;
	invar_context *ctx;
	invar_figures *f;

	(void)state;
	more.views = 1;
	assert_true(seconds_of(&more, "same-class") > 4 * seconds_of(&sizes, "same-class"));
	assert_true(seconds_of(&more, "structure") == seconds_of(&sizes, "structure"));
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_eval_forecast(ctx, &sizes, o, &f), INVAR_E_USE);
	assert_null(f);
	invar_options_free(o);
	invar_context_free(ctx);
}

static void a_speed_that_is_not_given_is_measured(void **state)
{
	inv_eval_sizes z = sizes;

	(void)state;
	z.speed = 0;
	assert_true(forecast(&z, "structure", "seconds") > 0);
	z.size = offsetof(inv_eval_sizes, speed); /* of a program that knows no speed */
	z.speed = 1e-9;
	assert_true(forecast(&z, "structure", "seconds") < 1e3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_measurement_has_an_estimate),
		cmocka_unit_test(what_cannot_be_measured_takes_no_time),
		cmocka_unit_test(shared_work_counts_once),
		cmocka_unit_test(few_columns_do_not_make_it_free),
		cmocka_unit_test(queries_of_four_views_take_four_times_as_long),
		cmocka_unit_test(a_speed_that_is_not_given_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
