/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - graph statistics: golden values, threads, columns, limits. */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "measure/graph.h"
#include "run/results.h"

enum { N = 301, D = 7 };

static void measure(unsigned threads, bool published, const float *x, size_t n, size_t w,
                    inv_graph_side *side)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_graph_side_new(n, side), INVAR_OK);
	if (inv_graph_measure(ctx, published, x, w, side) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_context_free(ctx);
}

/* ---- Golden values --------------------------------------------------------------- */

static void check_number(golden *g, const char *name, char tag, double got)
{
	char full[40];

	snprintf(full, sizeof full, "%s_%c", name, tag);
	golden_check_value(g, full, got);
}

static void check_side(golden *g, const inv_graph_side *side, bool published, size_t size,
                       char tag)
{
	const inv_graph_spectrum *s = &side->spectrum[size];
	char name[40];
	size_t at;

	assert_true(s->components == 1);
	snprintf(name, sizeof name, "eigenvalues_%c", tag);
	golden_check_f64(g, name, s->eigenvalue, INV_GRAPH_PAIRS);
	snprintf(name, sizeof name, "hks_%c", tag);
	golden_check_f64(g, name, side->heat + size * side->n * INV_GRAPH_TIMES,
	                 side->n * INV_GRAPH_TIMES);
	check_number(g, "fiedler", tag, s->eigenvalue[1]);
	check_number(g, "largest_gap", tag, inv_graph_largest_gap(s, &at));
	check_number(g, "trace", tag, inv_graph_trace(side, published, size));
	if (published) {
		check_number(g, "sigma", tag, s->sigma);
	} else {
		check_number(g, "largest_gap_index", tag, (double)at);
		check_number(g, "edges", tag, s->edges);
	}
}

static void check_case(const char *root, const char *name, bool published, size_t size)
{
	golden *g = golden_open(root, name);
	size_t shape[GOLDEN_NDIM];
	const float *x = golden_f32(g, "x", shape), *y = golden_f32(g, "y", NULL);
	inv_graph_side a, b;

	assert_true(golden_value(g, "k") == (double)inv_graph_k[size]);
	measure(2, published, x, shape[0], shape[1], &a);
	measure(2, published, y, shape[0], shape[1], &b);
	check_side(g, &a, published, size, 'x');
	check_side(g, &b, published, size, 'y');
	golden_check_value(g, "spectral_distance",
	                   inv_graph_spectral_distance(&a, &b, published, size));
	golden_check_value(g, "hks_distance", inv_graph_heat_distance(&a, &b, published, size));
	inv_graph_side_free(&a);
	inv_graph_side_free(&b);
	golden_close(g);
}

static void golden_graphs(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "graph_k10", false, 0);
		check_case(*root, "graph_k20", false, 1);
		check_case(*root, "graph_published_k10", true, 0);
		check_case(*root, "graph_published_k20", true, 1);
	}
}

/* ---- Rows of our own ------------------------------------------------------------- */

/* `clouds` clouds far from each other; they differ in shape. */
static float *draw(size_t n, size_t clouds)
{
	const inv_stream s = inv_stream_of(3, "graph", 0);
	float *x = inv_alloc(n * D * sizeof *x);

	inv_fill_normal(&s, 0, x, n * D);
	for (size_t i = 0; i < n; i++)
		x[i * D] += 1000 * (float)(i % clouds);
	return x;
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
	float *x = draw(N, 3);

	(void)state;
	for (int published = 0; published < 2; published++) {
		inv_graph_side one, many;

		measure(1, published, x, N, D, &one);
		for (unsigned threads = 2; threads <= 4; threads += 2) {
			measure(threads, published, x, N, D, &many);
			assert_memory_equal(one.spectrum, many.spectrum,
			                    one.doubles * sizeof *one.heat);
			inv_graph_side_free(&many);
		}
		inv_graph_side_free(&one);
	}
	inv_free(x);
}

static void components_are_counted(void **state)
{
	float *x = draw(N, 3);
	inv_graph_side side;

	(void)state;
	for (int published = 0; published < 2; published++) {
		measure(2, published, x, N, D, &side);
		for (size_t size = 0; size < INV_GRAPH_SIZES; size++) {
			const inv_graph_spectrum *s = &side.spectrum[size];

			assert_true(s->components == 3);
			assert_true(s->eigenvalue[2] == 0 && s->eigenvalue[3] > 1e-3);
			assert_true(s->eigenvalue[1] == 0);
		}
		inv_graph_side_free(&side);
	}
	inv_free(x);
}

/* ---- As a measurement ------------------------------------------------------------ */

static invar_results *measure_bank(const char *name, const float *x, size_t n,
                                   const char *graph)
{
	write_split(test_ctx, test_path("%s", name), "test", x, NULL, 0, NULL, n, D);
	return measure_f(test_ctx, test_path("%s", name),
	                 test_options("eval", "metrics", "graph", "graph", graph, NULL));
}

static void assert_refused(const char *name, const float *x, size_t n, const char *words)
{
	invar_options *o = test_options("eval", "metrics", "graph", "graph", "plain", NULL);
	invar_results *r = NULL;
	invar_bank *bank;

	write_split(test_ctx, test_path("%s", name), "test", x, NULL, 0, NULL, n, D);
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &bank), INVAR_OK);
	assert_int_not_equal(invar_eval(bank, NULL, NULL, 0, o, &r), INVAR_OK);
	test_assert_error(words);
	invar_results_free(r);
	invar_bank_close(bank);
	invar_options_free(o);
}

static void f_equals_itself(void **state)
{
	float *x = draw(N, 1);
	invar_results *found = measure_bank("itself", x, N, "published"), *again;
	const inv_curve *curve = inv_results_curve(found, "graph.spectrum.k20", "F");
	char *fresh, *cached;

	(void)state;
	assert_true(number(found, "graph.spectral") == 0 && number(found, "graph.heat") == 0);
	assert_true(number(found, "graph.components.k50") == 1);
	assert_non_null(curve);
	assert_int_equal(curve->count, INV_GRAPH_PAIRS);
	assert_true(curve->y[1] == number(found, "graph.fiedler.k20"));
	/* The cache gives the same bits. */
	assert_true(test_exists(test_path("itself/cache")));
	again = measure_f(test_ctx, test_path("itself"),
	                  test_options("eval", "metrics", "graph", NULL));
	assert_int_equal(invar_results_json(found, &fresh), INVAR_OK);
	assert_int_equal(invar_results_json(again, &cached), INVAR_OK);
	assert_string_equal(cached, fresh);
	invar_free(cached);
	invar_free(fresh);
	invar_results_free(again);
	invar_results_free(found);
	inv_free(x);
}

/* The same numbers by their names, of a column. */
static void results_name_the_numbers(void **state)
{
	enum { HIDDEN = 5, FLOATS = HIDDEN * (2 * D + 1) + D };
	static float params[FLOATS], codes[N * D];
	const inv_stream s = inv_stream_of(5, "graph", 0);
	const char *const title = "E";
	float *x = draw(N, 2);
	inv_graph_side a, b;
	invar_adapter *e;
	invar_results *r;
	invar_bank *bank;

	(void)state;
	inv_fill_normal(&s, 0, params, FLOATS);
	assert_int_equal(invar_adapter_new(test_ctx, D, HIDDEN, D, true, params,
	                                   params + HIDDEN * D, params + HIDDEN * (D + 1),
	                                   params + HIDDEN * (2 * D + 1), &e),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, N, codes), INVAR_OK);
	write_split(test_ctx, test_path("named"), "test", x, NULL, 0, NULL, N, D);
	assert_int_equal(inv_bank_open(test_ctx, test_path("named"), &bank), INVAR_OK);
	for (int plain = 0; plain < 2; plain++) {
		invar_options *o = test_options("eval", "metrics", "graph", "graph",
		                                plain ? "plain" : "published", NULL);

		measure(2, !plain, x, N, D, &a);
		measure(2, !plain, codes, N, D, &b);
		/* The second time, what is about F comes from the cache. */
		for (int again = 0; again < 2; again++) {
			assert_int_equal(
				invar_eval(bank, (const invar_adapter *const *)&e, &title, 1, o, &r),
				INVAR_OK);
			assert_true(number_of(r, "graph.spectral.k20", "1") ==
			            inv_graph_spectral_distance(&a, &b, !plain, 1));
			assert_true(number_of(r, "graph.heat.k50", "1") ==
			            inv_graph_heat_distance(&a, &b, !plain, 2));
			assert_true(number_of(r, "graph.fiedler.k10", "1") ==
			            b.spectrum[0].eigenvalue[1]);
			assert_true(number(r, "graph.components.k10") == 2);
			assert_true(number(r, "graph.heat") == 0);
			invar_results_free(r);
		}
		invar_options_free(o);
		inv_graph_side_free(&a);
		inv_graph_side_free(&b);
	}
	invar_bank_close(bank);
	invar_adapter_close(e);
	inv_free(x);
}

static void more_components_than_pairs_have_no_heat(void **state)
{
	const inv_stream s = inv_stream_of(4, "graph", 0);
	enum { CLOUDS = 51, EACH = 11 };
	float *x = inv_alloc(CLOUDS * EACH * D * sizeof *x);
	invar_results *found;

	(void)state;
	inv_fill_normal(&s, 0, x, CLOUDS * EACH * D);
	for (size_t i = 0; i < CLOUDS * EACH; i++)
		x[i * D] += 1000 * (float)(i / EACH);
	found = measure_bank("clouds", x, CLOUDS * EACH, "plain");
	assert_true(number(found, "graph.components.k10") == CLOUDS);
	assert_true(number(found, "graph.spectral.k10") == 0);
	assert_non_null(invar_results_value(found, "graph.heat.k10", "F")->reason);
	assert_null(invar_results_value(found, "graph.heat.k20", "F")->reason);
	invar_results_free(found);
	inv_free(x);
}

static void what_has_no_graph_is_reported(void **state)
{
	float *x = draw(N, 1);
	invar_context *ctx;
	inv_graph_side side;

	(void)state;
	assert_refused("few", x, 50, "need at least 51 rows, not 50");
	for (size_t i = 0; i < N * D; i++)
		x[i] = 1;
	assert_refused("constant", x, N, "each row equals its 10 nearest rows");
	x[17 * D] = NAN;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_graph_side_new(N, &side), INVAR_OK);
	assert_int_equal(inv_graph_measure(ctx, true, x, D, &side), INVAR_E_NUMERIC);
	test_assert_error("row 17 is not finite");
	inv_graph_side_free(&side);
	invar_context_free(ctx);
	inv_free(x);
}

static void equal_rows_are_noted(void **state)
{
	float *x = draw(N, 1);
	invar_results *found;
	char *text;

	(void)state;
	memcpy(x + 40 * D, x + 7 * D, D * sizeof *x);
	found = measure_bank("equal", x, N, "published");
	assert_int_equal(invar_results_json(found, &text), INVAR_OK);
	assert_non_null(strstr(text, "2 of 301 rows equal another row"));
	invar_free(text);
	invar_results_free(found);
	inv_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_graphs),
		cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
		cmocka_unit_test(components_are_counted),
		cmocka_unit_test(f_equals_itself),
		cmocka_unit_test(results_name_the_numbers),
		cmocka_unit_test(more_components_than_pairs_have_no_heat),
		cmocka_unit_test(what_has_no_graph_is_reported),
		cmocka_unit_test(equal_rows_are_noted),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
