/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_choose.c - what a goal chooses on banks where the answer is known.
 *
 * easy: every copy is its image under one rotation of feature space; a map finds them all.
 * hopeless: every copy is the clean feature of another image; nothing helps.
 * partial: a rotation and a random displacement per copy; invariance costs structure.
 */
#include "../measure/write_bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "recipe/choose.h"

enum { ROWS = 240, TEST = 120, D = 10, COPIES = 2, CLASSES = 4 };

static unsigned choices_made;
static bool stop;

static void count_choices(void *user, int level, const char *text)
{
	(void)user;
	(void)level;
	choices_made += strstr(text, "choosing on") != NULL;
}

static int maybe_stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)done;
	(void)total;
	return stop && strcmp(stage, "choose") == 0;
}

static invar_context *ctx;
static invar_bank *easy, *hopeless, *partial, *unlabelled;

/* ---- Banks --------------------------------------------------------------------------- */

/* Pairs of coordinates are rotated by 1.2; then everything is translated. */
static void rotate(const float *z, float *out)
{
	for (size_t l = 0; l < D; l += 2) {
		out[l] = (float)(cos(1.2) * z[l] - sin(1.2) * z[l + 1]) + 1;
		out[l + 1] = (float)(sin(1.2) * z[l] + cos(1.2) * z[l + 1]);
	}
}

/* amount: of the displacement per copy; shuffle: copies of another image. */
static void write_part(const char *path, const char *split, size_t n, double amount,
                       bool shuffle, bool labelled)
{
	static float clean[ROWS * D], aug[COPIES * ROWS * D], own[D];
	static uint32_t order[ROWS];
	int64_t labels[ROWS];
	inv_stream s = inv_stream_of(3, split, 0);

	for (size_t i = 0; i < n; i++) {
		labels[i] = (int64_t)(i % CLASSES);
		inv_fill_normal(&s, (uint32_t)i, clean + i * D, D);
		clean[i * D + i % CLASSES] += 4;
	}
	for (uint32_t k = 0; k < COPIES; k++) {
		inv_permutation(&s, 5000 + k, order, (uint32_t)n);
		for (size_t i = 0; i < n; i++) {
			float *to = aug + (k * n + i) * D;

			inv_fill_normal(&s, (uint32_t)(1000 * (k + 1) + i), own, D);
			rotate(clean + i * D, to);
			if (shuffle)
				memcpy(to, clean + order[i] * D, D * sizeof *to);
			for (size_t l = 0; l < D; l++)
				to[l] += (float)(amount * own[l]);
		}
	}
	write_split(ctx, path, split, clean, aug, COPIES, labelled ? labels : NULL, n, D);
}

static invar_bank *make_bank(const char *name, double amount, bool shuffle, bool labelled)
{
	char path[500];
	invar_bank *b;

	snprintf(path, sizeof path, "%s", test_path("%s", name));
	write_part(path, "train", ROWS, amount, shuffle, labelled);
	write_part(path, "test", TEST, amount, shuffle, labelled);
	assert_int_equal(invar_bank_open(ctx, path, &b), INVAR_OK);
	return b;
}

static int make_banks(void **state)
{
	invar_hooks hooks = {
		.size = sizeof hooks, .log = count_choices, .progress = maybe_stop};

	(void)state;
	if (invar_context_new(2, &hooks, &ctx) != INVAR_OK)
		return -1;
	easy = make_bank("easy", 0.01, false, true);
	hopeless = make_bank("hopeless", 0, true, true);
	partial = make_bank("partial", 0.8, false, true);
	unlabelled = make_bank("unlabelled", 0.01, false, false);
	return 0;
}

static int close_banks(void **state)
{
	(void)state;
	invar_bank_close(easy);
	invar_bank_close(hopeless);
	invar_bank_close(partial);
	invar_bank_close(unlabelled);
	invar_context_free(ctx);
	return 0;
}

/* ---- Figures ------------------------------------------------------------------------- */

static double plain_distance(const float *a, const float *b, bool cosine)
{
	double aa = 0, bb = 0, ab = 0;

	for (size_t l = 0; l < D; l++) {
		aa += (double)a[l] * a[l];
		bb += (double)b[l] * b[l];
		ab += (double)a[l] * b[l];
	}
	return cosine ? 1 - ab / sqrt(aa * bb) : aa + bb - 2 * ab;
}

/*
 * Of F: the share of queries with a relevant row among the first `reach`; by class the own
 * image is left out.
 */
static double plain_recall(const inv_choice_rows *r, bool cosine, bool by_class, int reach)
{
	double hits = 0;

	for (uint64_t q = 0; q < r->queries; q++) {
		const float *z = r->query + q * D;
		double sought = INFINITY;
		int nearer = 0;

		for (uint64_t g = 0; g < r->gallery; g++)
			if (by_class ? r->class[g] == r->own_class[q] && g != r->own[q]
			             : g == r->own[q])
				sought = fmin(sought, plain_distance(z, r->clean + g * D, cosine));
		for (uint64_t g = 0; g < r->gallery; g++)
			nearer += !(by_class && g == r->own[q]) &&
			          plain_distance(z, r->clean + g * D, cosine) < sought;
		hits += nearer < reach;
	}
	return hits / (double)r->queries;
}

static void figures_equal_plain_loops(void **state)
{
	double part[ROWS], whole[ROWS];
	inv_choice_shares s = {part, whole};
	invar_options *o = test_options("train", NULL);

	(void)state;
	for (int i = 0; i < 4; i++) {
		const inv_goal g = {.kind = i / 2 ? INV_GOAL_CLASSIFY : INV_GOAL_SAME_IMAGE,
		                    .metric = i % 2 ? INV_COSINE : INV_L2};
		inv_choice_figures f;
		inv_choice_rows r;

		assert_int_equal(inv_choice_rows_open(partial, o, &g, 0, &r), INVAR_OK);
		assert_true(r.held == 100 && r.fitted == ROWS - 100 && r.gallery == ROWS);
		assert_int_equal(inv_choice_measure(&r, &g, r.query, r.clean, &s, &f), INVAR_OK);
		assert_true(fabs(f.value - plain_recall(&r, i % 2, i / 2, i / 2 ? 1 : 10)) < 1e-9);
		assert_true(fabs(f.r2 - 1) < 1e-9 && f.gone == 0);
		inv_choice_rows_clear(&r);
	}
	invar_options_free(o);
}

/* Without a goal shrinking is no gain: F's own copies, scaled and shifted, have figure 0.
 */
static void without_a_goal_scale_does_not_count(void **state)
{
	double part[ROWS], whole[ROWS];
	inv_choice_shares s = {part, whole};
	invar_options *o = test_options("train", NULL);
	const inv_goal g = {.kind = INV_GOAL_NONE};
	inv_choice_figures f;
	inv_choice_rows r;
	float *codes;

	(void)state;
	assert_int_equal(inv_choice_rows_open(partial, o, &g, 0, &r), INVAR_OK);
	codes = malloc(r.queries * r.d * sizeof *codes);
	assert_non_null(codes);
	assert_int_equal(inv_choice_measure(&r, &g, r.query, r.clean, &s, &f), INVAR_OK);
	assert_true(f.value == 0 && f.gone == 0);
	for (uint64_t i = 0; i < r.queries * r.d; i++)
		codes[i] = 0.5F * r.query[i] + 3;
	assert_int_equal(inv_choice_measure(&r, &g, codes, r.clean, &s, &f), INVAR_OK);
	assert_true(fabs(f.value) < 1e-6 && f.gone < 0);
	for (uint64_t i = 0; i < r.queries; i++) /* halfway to the image: a quarter is left */
		for (uint64_t j = 0; j < r.d; j++)
			codes[i * r.d + j] =
				0.5F * (r.query[i * r.d + j] + r.clean[r.own[i] * r.d + j]);
	assert_int_equal(inv_choice_measure(&r, &g, codes, r.clean, &s, &f), INVAR_OK);
	assert_true(f.value > 0.5 && fabs(f.gone - 0.75) < 1e-6);
	free(codes);
	inv_choice_rows_clear(&r);
	invar_options_free(o);
}

/* ---- Folds --------------------------------------------------------------------------- */

static void folds_hold_out_runs_of_other_images(void **state)
{
	const inv_goal g = {.kind = INV_GOAL_SAME_IMAGE};
	invar_options *o = test_options("train", NULL);
	unsigned held[ROWS] = {0};

	(void)state;
	for (uint32_t fold = 0; fold < 2; fold++) {
		uint32_t runs = 1;
		inv_choice_rows r;

		assert_int_equal(inv_choice_rows_open(easy, o, &g, fold, &r), INVAR_OK);
		assert_int_equal(r.folds, 2);
		for (uint32_t i = 0; i < r.held; i++) {
			uint32_t image = r.images[r.fitted + i];

			assert_int_equal(held[image]++, 0);
			runs += i && image != r.images[r.fitted + i - 1] + 1;
		}
		assert_true(runs <= 6); /* 5 of 20 images, one of them perhaps cut */
		inv_choice_rows_clear(&r);
	}
	invar_options_free(o);
}

/* ---- Choices ------------------------------------------------------------------------- */

/* Small, so that a choice takes a moment. */
static invar_options *goal(const char *what)
{
	return test_options("train", "goal", what, "hidden", "32", NULL);
}

static void train(invar_bank *b, invar_options *o, const char *run)
{
	if (invar_train(&b, 1, o, test_path("%s", run)) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_options_free(o);
}

static json_t *run_json(const char *run)
{
	json_t *json;

	assert_int_equal(inv_json_load(test_path("%s/run.json", run), &json), INVAR_OK);
	return json;
}

static double metric(invar_bank *b, const char *run, const char *metrics, const char *id)
{
	invar_adapter *e;
	invar_results *r;
	invar_options *o = test_options("eval", "metrics", metrics, NULL);
	const invar_adapter *list[1];
	const char *title = "E";
	double value;

	assert_int_equal(invar_adapter_open(ctx, test_path("%s", run), &e), INVAR_OK);
	list[0] = e;
	if (invar_eval(b, list, &title, 1, o, &r) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	value = number_of(r, id, invar_results_column(r, 1)->id);
	invar_results_free(r);
	invar_adapter_close(e);
	invar_options_free(o);
	return value;
}

static void one_rotation_is_undone(void **state)
{
	(void)state;
	train(easy, goal("same-image"), "found");
	assert_true(metric(easy, "found", "same-image",
	                   "same-image.old.l2.augmented.recall_at_10") > 0.99);
	train(easy, goal("classify"), "classed");
	assert_true(metric(easy, "classed", "same-class",
	                   "same-class.old.l2.augmented.recall_at_1") > 0.9);
	train(easy, goal("distances"), "measured");
	assert_true(metric(easy, "measured", "distances", "distances.old.l2.error") < 0.05);
}

static void run_json_has_the_candidates(void **state)
{
	json_t *json = run_json("found"), *choice = json_object_get(json, "choice");
	json_t *list = json_object_get(choice, "candidates");
	size_t chosen = (size_t)json_integer_value(json_object_get(choice, "chosen"));
	json_t *best = json_array_get(list, chosen);
	const json_t *options = json_object_get(json, "options"), *frontier;
	const char *spread = json_string_value(json_object_get(options, "spread"));
	unsigned finalists = 0;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(choice, "goal")), "same-image");
	assert_int_equal(json_integer_value(json_object_get(choice, "held_out")), 100);
	assert_true(json_array_size(list) > 20 && chosen > 0);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 0), "method")), "none");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *all = json_object_get(json_array_get(list, i), "all_folds");

		finalists += all != NULL;
		assert_true(json_number_value(json_object_get(all, "figure")) <=
		            json_number_value(
						json_object_get(json_object_get(best, "all_folds"), "figure")));
	}
	assert_true(finalists > 3); /* F is one of them */
	frontier = json_array_get(json_object_get(choice, "series"), 0);
	assert_string_equal(json_string_value(json_object_get(frontier, "id")),
	                    "choice.frontier");
	assert_int_equal(json_object_size(json_object_get(frontier, "columns")), 3);
	assert_int_equal(json_array_size(json_object_get(choice, "scatters")), 1);
	assert_string_equal(json_string_value(json_object_get(options, "loss")), "none");
	assert_string_equal(spread ? spread : "none", /* which is not recorded */
	                    json_string_value(json_object_get(best, "spread")));
	json_decref(json);
}

/* On one fold, the kind with the most candidates often is the best by chance. */
static void every_kind_is_measured_on_all_folds(void **state)
{
	static const char *const kinds[] = {"rigid", "ridge", "features"};
	json_t *json = run_json("found");
	const json_t *list = json_object_get(json_object_get(json, "choice"), "candidates");

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		size_t measured = 0;

		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *c = json_array_get(list, i);

			measured += json_object_get(c, "all_folds") &&
			            !strcmp(json_string_value(json_object_get(c, "method")), kinds[k]);
		}
		assert_true(measured > 0);
	}
	json_decref(json);
}

static void times_include_the_choice(void **state)
{
	double began = inv_cpu_seconds(), cpu;
	json_t *json;

	(void)state;
	train(easy, goal("same-image"), "timed");
	cpu = inv_cpu_seconds() - began;
	json = run_json("timed");
	assert_true(json_number_value(json_object_get(json, "cpu_seconds")) > 0.8 * cpu);
	json_decref(json);
}

static void a_finished_choice_is_not_made_again(void **state)
{
	size_t size, again;
	void *before = test_read(test_path("found/adapter.safetensors"), &size), *after;

	(void)state;
	choices_made = 0;
	assert_int_equal(remove(test_path("found/adapter.safetensors")), 0);
	train(easy, test_options("train", "goal", "same-image", "resume", "1", NULL), "found");
	after = test_read(test_path("found/adapter.safetensors"), &again);
	assert_int_equal(choices_made, 0);
	assert_int_equal(size, again);
	assert_memory_equal(before, after, size);
	free(before);
	free(after);
}

static void threads_do_not_matter(void **state)
{
	void *bytes[2];
	size_t size[2];

	(void)state;
	for (unsigned t = 0; t < 2; t++) {
		invar_context *own;
		invar_bank *b;
		invar_options *o = goal("same-image");

		assert_int_equal(invar_context_new(t + 1, NULL, &own), INVAR_OK);
		assert_int_equal(invar_bank_open(own, test_path("partial"), &b), INVAR_OK);
		assert_int_equal(invar_train(&b, 1, o, test_path("threads%u", t)), INVAR_OK);
		bytes[t] = test_read(test_path("threads%u/adapter.safetensors", t), &size[t]);
		invar_bank_close(b);
		invar_context_free(own);
		invar_options_free(o);
	}
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(bytes[0], bytes[1], size[0]);
	free(bytes[0]);
	free(bytes[1]);
}

static void what_is_set_is_kept(void **state)
{
	json_t *json, *list;

	(void)state;
	train(partial,
	      test_set(goal("same-image"), "init", "ridge", "loss", "none", "spread", "scale",
	               NULL),
	      "ridge");
	json = run_json("ridge");
	list = json_object_get(json_object_get(json, "choice"), "candidates");
	for (size_t i = 1; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);

		assert_string_equal(json_string_value(json_object_get(c, "method")), "ridge");
		assert_string_equal(json_string_value(json_object_get(c, "spread")), "scale");
	}
	json_decref(json);
}

/* 0 is a weight like any other. */
static void an_anchor_of_0_is_kept(void **state)
{
	json_t *json;

	(void)state;
	train(partial,
	      test_options("train", "preset", "instant", "hidden", "32", "anchor", "0",
	                   "keep-structure", "0.9", NULL),
	      "anchor0");
	json = run_json("anchor0");
	assert_true(json_number_value(
					json_object_get(json_object_get(json, "options"), "anchor")) == 0);
	json_decref(json);
}

/* ---- Where nothing helps ------------------------------------------------------------- */

/* Frees the options. */
static void refuse(invar_bank *b, invar_options *o, const char *word)
{
	assert_int_not_equal(invar_train(&b, 1, o, test_path("wrong")), INVAR_OK);
	test_assert_error(word);
	assert_false(test_exists(test_path("wrong")));
	invar_options_free(o);
}

static void a_hopeless_bank_gets_no_adapter(void **state)
{
	(void)state;
	refuse(hopeless, goal("same-image"), "points is within chance, which gives up to");
	train(hopeless, test_set(goal("same-image"), "even-if-worse", "1", NULL), "anyway");
	assert_true(test_exists(test_path("anyway/adapter.safetensors")));
}

/* ---- The dial ------------------------------------------------------------------------ */

static void the_dial_is_reached(void **state)
{
	static const char *const asked[] = {"0.9", "0.98"};
	double gone[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *run = i ? "dial98" : "dial90";
		json_t *json;
		double r2;

		train(partial,
		      test_options("train", "preset", "instant", "hidden", "32", "keep-structure",
		                   asked[i], NULL),
		      run);
		json = run_json(run);
		assert_string_equal(
			json_string_value(json_object_get(json_object_get(json, "options"), "spread")),
			"scale"); /* as the preset has it */
		json_decref(json);
		r2 = metric(partial, run, "structure", "structure.R2");
		gone[i] = metric(partial, run, "invariance", "invariance.gone");
		assert_true(r2 > strtod(asked[i], NULL) - 0.015);
		assert_true(gone[i] > 0);
	}
	assert_true(gone[0] > gone[1]);
}

static bool same_candidate(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"method", "ridge", "anchor", "spread", "strength"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);

		if ((x || y) && !json_equal(x, y))
			return false;
	}
	return true;
}

/* The dial measures codes that it kept, a goal alone measures those of the fold. */
static void a_dial_that_asks_for_nothing_changes_no_figure(void **state)
{
	json_t *run[2];
	const json_t *list[2];
	size_t compared = 0;

	(void)state;
	train(partial, goal("same-image"), "plain");
	train(partial, test_set(goal("same-image"), "keep-structure", "0.001", NULL), "loose");
	for (int i = 0; i < 2; i++) {
		run[i] = run_json(i ? "loose" : "plain");
		list[i] = json_object_get(json_object_get(run[i], "choice"), "candidates");
	}
	for (size_t i = 1; i < json_array_size(list[0]); i++)
		for (size_t k = 1; k < json_array_size(list[1]); k++) {
			const json_t *a = json_array_get(list[0], i), *b = json_array_get(list[1], k);
			const json_t *x = json_object_get(a, "all_folds");
			const json_t *y = json_object_get(b, "all_folds");

			if (!x || !y || !same_candidate(a, b))
				continue;
			assert_true(json_equal(x, y));
			compared++;
		}
	assert_true(compared >= 2);
	json_decref(run[0]);
	json_decref(run[1]);
}

static void a_training_reaches_it_by_its_strength(void **state)
{
	json_t *json;

	(void)state;
	train(partial,
	      test_options("train", "preset", "keep", "hidden", "32", "epochs", "40",
	                   "batch-size", "32", "keep-structure", "0.97", NULL),
	      "trained");
	json = run_json("trained");
	assert_true(metric(partial, "trained", "structure", "structure.R2") > 0.955);
	assert_true(json_number_value(
					json_object_get(json_object_get(json, "options"), "strength")) <= 1);
	json_decref(json);
}

/* ---- Trainings ----------------------------------------------------------------------- */

static void a_budget_adds_trainings(void **state)
{
	json_t *json, *list;
	unsigned trained = 0;

	(void)state;
	train(partial,
	      test_set(goal("distances"), "budget", "10", "epochs", "6", "batch-size", "64",
	               NULL),
	      "budget");
	json = run_json("budget");
	list = json_object_get(json_object_get(json, "choice"), "candidates");
	for (size_t i = 0; i < json_array_size(list); i++)
		trained += json_object_get(json_array_get(list, i), "preset") != NULL;
	assert_true(trained > 0);
	json_decref(json);
}

/* ---- Wrong uses ---------------------------------------------------------------------- */

static void wrong_uses_are_refused(void **state)
{
	invar_bank *both[] = {easy, partial};
	invar_options *o = goal("same-image"), *above = test_options("train", NULL);

	(void)state;
	refuse(unlabelled, goal("classify"), "needs none");
	refuse(easy, test_options("train", "index", "new", NULL), "needs goal");
	refuse(easy, test_set(goal("classify"), "budget", "1", "preset", "keep", NULL),
	       "budget is for trying several methods");
	refuse(easy, test_set(goal("classify"), "width", "4", NULL), "so width cannot be 4");
	refuse(easy, test_set(goal("same-image"), "decoder", "1", NULL),
	       "leave one of them out");
	refuse(easy, test_set(goal("classify"), "loss", "none", "init", "identity", NULL),
	       "nothing to choose");
	assert_int_equal(invar_options_set(above, "keep-structure", "1.5"), INVAR_E_USE);
	invar_options_free(above);
	assert_int_equal(invar_train(both, 2, o, test_path("wrong")), INVAR_E_USE);
	test_assert_error("of one bank");
	invar_options_free(o);
}

static void it_can_be_stopped(void **state)
{
	invar_options *o = goal("same-image");

	(void)state;
	stop = true;
	assert_int_equal(invar_train(&easy, 1, o, test_path("stopped")), INVAR_E_CANCELLED);
	assert_false(test_exists(test_path("stopped")));
	stop = false;
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folds_hold_out_runs_of_other_images),
		cmocka_unit_test(figures_equal_plain_loops),
		cmocka_unit_test(without_a_goal_scale_does_not_count),
		cmocka_unit_test(one_rotation_is_undone),
		cmocka_unit_test(run_json_has_the_candidates),
		cmocka_unit_test(every_kind_is_measured_on_all_folds),
		cmocka_unit_test(times_include_the_choice),
		cmocka_unit_test(a_finished_choice_is_not_made_again),
		cmocka_unit_test(threads_do_not_matter),
		cmocka_unit_test(what_is_set_is_kept),
		cmocka_unit_test(an_anchor_of_0_is_kept),
		cmocka_unit_test(a_hopeless_bank_gets_no_adapter),
		cmocka_unit_test(the_dial_is_reached),
		cmocka_unit_test(a_dial_that_asks_for_nothing_changes_no_figure),
		cmocka_unit_test(a_training_reaches_it_by_its_strength),
		cmocka_unit_test(a_budget_adds_trainings),
		cmocka_unit_test(wrong_uses_are_refused),
		cmocka_unit_test(it_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, make_banks, close_banks);
}
