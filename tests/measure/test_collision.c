/* SPDX-License-Identifier: Apache-2.0 */
/* test_collision.c - collisions: golden points, alignment held out, threads, limits. */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "math/fit_pairs.h"
#include "math/neighbours.h"

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

static invar_options *options(bool leave_one_out)
{
	return test_options("eval", "metrics", "collision", "leave-one-out",
	                    leave_one_out ? "true" : "false", NULL);
}

/* ---- Golden points ------------------------------------------------------------------- */

static void check_hits(golden *g, const char *name, invar_context *ctx, const float *clean,
                       const float *moved, const int64_t *labels, size_t n, size_t w,
                       bool leave_one_out)
{
	uint32_t class[200], leave[200];
	double own[200], other[200];
	const int64_t *hits = golden_int(g, name, NULL);
	inv_neighbours *p;

	assert_true(n <= 200);
	for (uint32_t i = 0; i < n; i++) {
		class[i] = (uint32_t)labels[i];
		leave[i] = i;
	}
	assert_int_equal(inv_neighbours_new(ctx, clean, n, w, class, 1, &p), INVAR_OK);
	inv_nearest_by_class(p, moved, class, leave_one_out ? leave : NULL, n, own, other);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(other[i] < own[i], hits[i]);
	inv_neighbours_free(p);
}

static float *align(invar_context *ctx, const float *aug, const float *clean, size_t n,
                    size_t w)
{
	float *moved = inv_alloc(n * w * sizeof *moved);
	inv_map_affine map;
	inv_pairs *pairs;

	assert_int_equal(inv_pairs_new(ctx, w, false, &pairs), INVAR_OK);
	inv_pairs_add(pairs, aug, clean, n);
	assert_int_equal(inv_fit_rigid(pairs, &map), INVAR_OK);
	inv_map_rows(ctx, &map, aug, n, moved);
	inv_map_clear(&map);
	inv_pairs_free(pairs);
	return moved;
}

static void check_rates(golden *g, invar_context *ctx, const char *bank, bool aligned,
                        bool leave_one_out)
{
	invar_results *found = measure_f(ctx, bank, options(leave_one_out));
	const char *tag = leave_one_out ? "loo" : "all";
	char name[40];

	snprintf(name, sizeof name, "rate_raw_%s", tag);
	golden_check_value(g, name, number(found, "collision.raw"));
	snprintf(name, sizeof name, "rate_aligned_%s", tag);
	if (aligned)
		golden_check_value(g, name, number(found, "collision.aligned"));
	invar_results_free(found);
}

static void check_case(const char *root, const char *name, bool aligned)
{
	static int number_of_bank;
	golden *g = golden_open(root, name);
	invar_context *ctx = context(2);
	size_t shape[GOLDEN_NDIM];
	const float *clean = golden_f32(g, "clean", shape), *aug = golden_f32(g, "aug", NULL);
	const int64_t *labels = golden_int(g, "labels", NULL);
	float *moved = align(ctx, aug, clean, shape[0], shape[1]);
	char bank[500];

	snprintf(bank, sizeof bank, "%s", test_path("golden%d", number_of_bank++));
	write_split(ctx, bank, "test", clean, aug, 1, labels, shape[0], shape[1]);
	for (int loo = 0; loo < 2; loo++) {
		check_hits(g, loo ? "hits_raw_loo" : "hits_raw_all", ctx, clean, aug, labels,
		           shape[0], shape[1], loo);
		if (aligned)
			check_hits(g, loo ? "hits_aligned_loo" : "hits_aligned_all", ctx, clean, moved,
			           labels, shape[0], shape[1], loo);
		check_rates(g, ctx, bank, aligned, loo);
	}
	inv_free(moved);
	invar_context_free(ctx);
	golden_close(g);
}

static void golden_points(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "collision", true);
		check_case(*root, "collision_ties", false);
	}
}

/* ---- Made-up banks ------------------------------------------------------- */

enum { N = 150, D = 100, COPIES = 2 };

typedef struct made {
	float clean[N * D], aug[COPIES * N * D];
	int64_t labels[N];
} made;

/* Independent clean and augmented points. */
static void draw(made *m, uint64_t seed)
{
	inv_stream s = inv_stream_of(seed, "made", 0);

	inv_fill_normal(&s, 0, m->clean, N * D);
	inv_fill_normal(&s, 1, m->aug, COPIES * N * D);
	for (size_t i = 0; i < N; i++)
		m->labels[i] = (int64_t)(i % 3);
}

/* With D near N a rigid map fits anything on its own points, and nothing on others. */
static void the_held_out_map_does_not_see_its_points(void **state)
{
	static made test, train;
	invar_context *ctx = context(2);
	const char *fitted[] = {"halves", "train"};

	(void)state;
	draw(&test, 1);
	draw(&train, 2);
	write_split(ctx, test_path("held"), "test", test.clean, test.aug, COPIES, test.labels,
	            N, D);
	for (int round = 0; round < 2; round++) {
		invar_results *found;
		json_t *held;

		if (round)
			write_split(ctx, test_path("held"), "train", train.clean, train.aug, COPIES,
			            NULL, N, D);
		found = measure_f(ctx, test_path("held"), options(false));
		held = details(found, "collision");
		assert_string_equal(json_string_value(json_object_get(held, "held_out_fitted_on")),
		                    fitted[round]);
		assert_true(number(found, "collision.aligned") < 0.15);
		assert_true(number(found, "collision.held_out") > 0.5);
		assert_true(number(found, "collision.raw") > 0.5);
		assert_int_equal(json_array_size(json_object_get(held, "held_out")), COPIES);
		json_decref(held);
		invar_results_free(found);
	}
	invar_context_free(ctx);
}

/* Halves by hand: even points mapped by the fit of the odd ones, and vice versa. */
static double held_out_by_hand(invar_context *ctx, const made *m)
{
	static float from[N * D], to[N * D], moved[N * D];
	uint32_t class[N];
	double own[N], other[N], hits = 0;

	for (uint32_t i = 0; i < N; i++)
		class[i] = (uint32_t)m->labels[i];
	for (size_t half = 0; half < 2; half++) {
		inv_map_affine map;
		inv_pairs *pairs;
		size_t kept = 0;

		for (size_t i = 1 - half; i < N; i += 2, kept++) {
			memcpy(from + kept * D, m->aug + i * D, D * sizeof *from);
			memcpy(to + kept * D, m->clean + i * D, D * sizeof *to);
		}
		assert_int_equal(inv_pairs_new(ctx, D, false, &pairs), INVAR_OK);
		inv_pairs_add(pairs, from, to, kept);
		assert_int_equal(inv_fit_rigid(pairs, &map), INVAR_OK);
		inv_map_rows(ctx, &map, m->aug, N, moved);
		inv_nearest_by_class_ref(m->clean, class, N, D, moved, class, NULL, N, own, other);
		for (size_t i = half; i < N; i += 2)
			hits += other[i] < own[i];
		inv_map_clear(&map);
		inv_pairs_free(pairs);
	}
	return hits / N;
}

static void halves_are_what_they_say(void **state)
{
	static made m;
	invar_context *ctx = context(2);
	invar_results *found;
	json_t *held;

	(void)state;
	draw(&m, 3);
	for (size_t i = 0; i < N * D; i++) /* a copy that can be aligned, more or less */
		m.aug[i] = 0.8f - m.clean[i] + m.aug[i];
	write_split(ctx, test_path("halves"), "test", m.clean, m.aug, COPIES, m.labels, N, D);
	found = measure_f(ctx, test_path("halves"), options(false));
	held = details(found, "collision");
	assert_true(fabs(json_real_value(json_array_get(json_object_get(held, "held_out"), 0)) -
	                 held_out_by_hand(ctx, &m)) < 1e-12);
	json_decref(held);
	invar_results_free(found);
	invar_context_free(ctx);
}

static void threads_and_points_do_what_they_should(void **state)
{
	static made m;
	char *first = NULL;

	(void)state;
	draw(&m, 4);
	for (size_t i = 0; i < COPIES * N * D; i++)
		m.aug[i] = m.clean[i % (N * D)] + 0.9f * m.aug[i];
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *ctx = context(threads);
		invar_results *found;
		char *text;

		if (threads == 1)
			write_split(ctx, test_path("threads"), "test", m.clean, m.aug, COPIES, m.labels,
			            N, D);
		found = measure_f(ctx, test_path("threads"),
		                  test_set(options(true), "points", "101", NULL));
		assert_int_equal(invar_results_value(found, "collision.raw", "F")->count, 101);
		assert_int_equal(invar_results_json(found, &text), INVAR_OK);
		if (!first)
			first = text;
		else
			assert_string_equal(first, text);
		if (text != first)
			inv_free(text);
		invar_results_free(found);
		invar_context_free(ctx);
	}
	inv_free(first);
}

/* ---- What cannot be measured ----------------------------------------------------- */

static int stop_at_collision(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)done;
	(void)total;
	return strcmp(stage, "collision") == 0;
}

static void expect(const char *path, const invar_hooks *hooks, invar_status status,
                   const char *word)
{
	invar_context *ctx;
	invar_options *o = options(false);
	invar_bank *bank;
	invar_results *r;

	assert_int_equal(invar_context_new(2, hooks, &ctx), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, path, &bank), INVAR_OK);
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, o, &r), status);
	assert_null(r);
	if (word)
		test_assert_error(word);
	invar_options_free(o);
	invar_bank_close(bank);
	invar_context_free(ctx);
}

static void what_cannot_be_measured_is_said(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .progress = stop_at_collision};
	static made m;
	invar_context *ctx = context(1);

	(void)state;
	draw(&m, 5);
	write_split(ctx, test_path("fine"), "test", m.clean, m.aug, 1, m.labels, N, D);
	expect(test_path("fine"), &hooks, INVAR_E_CANCELLED, NULL);
	write_split(ctx, test_path("bare"), "test", m.clean, m.aug, 1, NULL, N, D);
	expect(test_path("bare"), NULL, INVAR_E_MISMATCH, "labels");
	write_split(ctx, test_path("still"), "test", m.clean, NULL, 0, m.labels, N, D);
	expect(test_path("still"), NULL, INVAR_E_MISMATCH, "copies");
	m.aug[17 * D + 3] = NAN;
	write_split(ctx, test_path("nan"), "test", m.clean, m.aug, 1, m.labels, N, D);
	expect(test_path("nan"), NULL, INVAR_E_NUMERIC, "17");
	for (size_t i = 0; i < N; i++)
		m.labels[i] = 4;
	write_split(ctx, test_path("one"), "test", m.clean, m.aug, 1, m.labels, N, D);
	expect(test_path("one"), NULL, INVAR_E_MISMATCH, "at least two classes");
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_points),
		cmocka_unit_test(the_held_out_map_does_not_see_its_points),
		cmocka_unit_test(halves_are_what_they_say),
		cmocka_unit_test(threads_and_points_do_what_they_should),
		cmocka_unit_test(what_cannot_be_measured_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
