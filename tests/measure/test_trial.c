/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trial.c - which images are held out, figures against eval, the rules one by one, and
 * verdicts on banks for which it is known what an adapter can do.
 *
 *   easy      every copy is its image under one rotation and translation of feature space
 *   noise     every copy is its image with a displacement of its own; there are no classes
 *   hopeless  every copy is the clean feature of another image
 *   close     copies differ from clean features by a hundredth of their spread
 *   random    copies have nothing to do with their images
 *
 * tests/cli/diagnose.py has larger ones.
 */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/status.h"
#include "failing.h"
#include "measure/trial.h"
#include "run/results.h"

enum { ROWS = 240, D = 10, COPIES = 2, CLASSES = 4 };

typedef enum bank_kind { EASY, NOISE, HOPELESS, CLOSE, RANDOM } bank_kind;

typedef struct made {
	float clean[ROWS * D], aug[COPIES * ROWS * D];
	int64_t labels[ROWS];
} made;

static made b;

/* Pairs of coordinates are rotated by 1.2, and all are moved, so that copies show. */
static void rotate(const float *z, float *out)
{
	for (size_t l = 0; l < D; l += 2) {
		out[l] = (float)(cos(1.2) * z[l] - sin(1.2) * z[l + 1]) + 3;
		out[l + 1] = (float)(sin(1.2) * z[l] + cos(1.2) * z[l + 1]);
	}
}

static void make_rows(bank_kind kind, uint64_t seed)
{
	inv_stream s = inv_stream_of(seed, "test/trial", 0);
	static uint32_t order[ROWS];
	float own[D];

	for (size_t i = 0; i < ROWS; i++) {
		b.labels[i] = (int64_t)(i % CLASSES);
		inv_fill_normal(&s, (uint32_t)i, b.clean + i * D, D);
		if (kind != NOISE)
			b.clean[i * D + i % CLASSES] += 4;
	}
	for (uint32_t k = 0; k < COPIES; k++) {
		inv_permutation(&s, 5000 + k, order, ROWS);
		for (size_t i = 0; i < ROWS; i++) {
			float *to = b.aug + (k * ROWS + i) * D;

			inv_fill_normal(&s, (uint32_t)(1000 * (k + 1) + i), own, D);
			memcpy(to, b.clean + (kind == HOPELESS ? order[i] : i) * D, D * sizeof *to);
			if (kind == EASY)
				rotate(b.clean + i * D, to);
			for (size_t l = 0; l < D; l++)
				to[l] = kind == RANDOM ? own[l]
				                       : to[l] + (kind == NOISE   ? 0.5F
				                                  : kind == CLOSE ? 0.01F
				                                                  : 0) *
				                                     own[l];
		}
	}
}

/* The first n images as the split train. */
static invar_bank *write_bank(const char *name, size_t n, bool labels)
{
	static float aug[COPIES * ROWS * D];
	char path[500];
	invar_bank *bank;

	for (size_t k = 0; k < COPIES; k++)
		memcpy(aug + k * n * D, b.aug + k * ROWS * D, n * D * sizeof *aug);
	snprintf(path, sizeof path, "%s", test_path("%s", name));
	write_split(test_ctx, path, "train", b.clean, aug, COPIES, labels ? b.labels : NULL, n,
	            D);
	assert_int_equal(inv_bank_open(test_ctx, path, &bank), INVAR_OK);
	return bank;
}

static invar_bank *make_bank(const char *name, bank_kind kind, uint64_t seed)
{
	make_rows(kind, seed);
	return write_bank(name, ROWS, true);
}

/* The trial of these options, which it frees, on a bank, which it closes. */
static invar_results *trial(invar_bank *bank, invar_options *o)
{
	invar_results *r;

	if (invar_trial(bank, o, &r) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_options_free(o);
	invar_bank_close(bank);
	return r;
}

static void check_verdict(const invar_results *r, const char *word)
{
	if (strcmp(invar_results_about(r, "verdict"), word) != 0)
		fail_msg("%s, not %s: %s", invar_results_about(r, "verdict"), word,
		         invar_results_about(r, "why"));
}

static invar_options *instant(void)
{
	return test_options("train", "preset", "instant", "hidden", "64", NULL);
}

/* ---- Rows ---------------------------------------------------------------------------- */

static void images_are_held_out_in_runs(void **state)
{
	invar_bank *bank = make_bank("runs", EASY, 1);
	invar_options *o = instant();
	uint32_t times[ROWS] = {0};
	inv_source *source;
	inv_trial_rows r;

	(void)state;
	assert_int_equal(inv_bank_source_open(bank, &source), INVAR_OK);
	assert_int_equal(inv_source_select(source, "train", 0), INVAR_OK);
	assert_int_equal(inv_trial_rows_open(source, o, &r), INVAR_OK);
	assert_true(r.held == ROWS / 5 && r.folds == 5 && r.gallery == ROWS);
	for (uint32_t k = 0; k < r.folds; k++) {
		const uint32_t *images = r.fold[k].images, run = r.held / 5;
		uint32_t joined = 0;

		for (uint32_t i = 1; i < ROWS; i++)
			assert_true(i == r.fitted || images[i] > images[i - 1]);
		for (uint32_t i = r.fitted; i < ROWS; i++) {
			times[images[i]]++;
			joined += i + 1 < ROWS && images[i] / run == images[i + 1] / run;
		}
		/* Of a run that two folds share, each has consecutive images. */
		assert_true(joined >= r.held - r.held / run - 2);
		/* The gallery begins with held-out images; queries know theirs. */
		for (uint64_t q = 0; q < r.queries; q++) {
			uint32_t image = images[r.fitted + q % r.held];

			assert_memory_equal(r.fold[k].query + q * D,
			                    b.aug + (q / r.held * ROWS + image) * D, D * sizeof(float));
			assert_memory_equal(r.fold[k].clean + r.fold[k].own[q] * D, b.clean + image * D,
			                    D * sizeof(float));
		}
	}
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(times[i], 1);
	inv_trial_rows_clear(&r);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* ---- Figures against eval ------------------------------------------------------------ */

/* The images of fold 0 as splits: those it fits are train, those it holds out test. */
static void write_fold(const inv_trial_rows *r, const char *path)
{
	static float clean[ROWS * D], aug[COPIES * ROWS * D];
	static int64_t labels[ROWS];

	for (int part = 0; part < 2; part++) {
		uint32_t first = part ? r->fitted : 0, n = part ? r->held : r->fitted;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t image = r->fold[0].images[first + i];

			labels[i] = b.labels[image];
			memcpy(clean + i * D, b.clean + image * D, D * sizeof *clean);
			for (size_t k = 0; k < COPIES; k++)
				memcpy(aug + (k * n + i) * D, b.aug + (k * ROWS + image) * D,
				       D * sizeof *aug);
		}
		write_split(test_ctx, path, part ? "test" : "train", clean, aug, COPIES, labels, n,
		            D);
	}
}

static void check_equal(const inv_interval *found, const invar_results *r,
                        const char *metric, const char *column)
{
	double expected = number_of(r, metric, column);

	if (!(fabs(found->value - expected) < 1e-6))
		fail_msg("%s of %s: %.9g, but eval has %.9g", metric, column, found->value,
		         expected);
}

static void compare_with_eval(const inv_trial_column *c, const invar_results *r,
                              const char *column)
{
	static const char *const index[] = {"old", "new"}, *const distance[] = {"l2", "cosine"},
							 *const set[] = {"clean", "augmented"};

	for (int i = 0; i < (column[0] == 'F' ? 1 : 2); i++)
		for (int d = 0; d < INV_DISTANCES; d++)
			for (int s = 0; s < INV_TRIAL_SETS; s++) {
				const char *end = test_text("%s.%s.%s", index[i], distance[d], set[s]);

				check_equal(&c->value[inv_trial_figure(i, INV_TRIAL_AT_1, d, s)], r,
				            test_text("same-image.%s.recall_at_1", end), column);
				check_equal(&c->value[inv_trial_figure(i, INV_TRIAL_AT_10, d, s)], r,
				            test_text("same-image.%s.recall_at_10", end), column);
				check_equal(&c->value[inv_trial_figure(i, INV_TRIAL_CLASS, d, s)], r,
				            test_text("same-class.%s.recall_at_1", end), column);
			}
}

/* One fold alone, so that eval sees the images that the trial has held out. */
static void figures_are_those_of_eval(void **state)
{
	invar_bank *bank = make_bank("whole", EASY, 2), *parts;
	invar_options *o = test_set(instant(), "ridge", "0.1", "spread", "none", NULL);
	const char *title = "E";
	invar_adapter *e;
	invar_results *r;
	char path[500], run[500];
	inv_trial t;

	(void)state;
	snprintf(path, sizeof path, "%s", test_path("parts"));
	snprintf(run, sizeof run, "%s", test_path("run"));
	assert_int_equal(inv_trial_begin(bank, o, &t), INVAR_OK);
	inv_trial_column_clear(&t.f);
	t.rows.folds = 1;
	assert_int_equal(inv_trial_measure(&t.rows, NULL, NULL, &t.f), INVAR_OK);
	assert_int_equal(inv_trial_try(&t, o, "E"), INVAR_OK);
	write_fold(&t.rows, path);
	assert_int_equal(inv_bank_open(test_ctx, path, &parts), INVAR_OK);
	assert_int_equal(invar_train(&parts, 1, o, run), INVAR_OK);
	assert_int_equal(invar_adapter_open(test_ctx, run, &e), INVAR_OK);
	test_set(o, NULL);
	assert_int_equal(
		invar_eval(parts, (const invar_adapter *const *)&e, &title, 1,
	               test_kept("eval", "metrics", "structure,same-image,same-class", NULL),
	               &r),
		INVAR_OK);
	compare_with_eval(&t.f, r, "F");
	compare_with_eval(&t.attempt[0].first, r, "1");
	check_equal(&t.attempt[0].first.r2, r, "structure.R2", "1");
	check_equal(&t.attempt[0].first.cvrmsd, r, "structure.CVRMSD", "1");
	invar_results_free(r);
	invar_adapter_close(e);
	invar_bank_close(parts);
	inv_trial_clear(&t);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* ---- Rules --------------------------------------------------------------------------- */

static const double guess[INV_TRIAL_SOUGHT] = {0.001, 0.01, 0.1};

/* Every figure is 0.5 with F, and E gains nothing. */
static void equal_columns(inv_trial_column *f, inv_trial_column *e)
{
	*f = *e = (inv_trial_column){.fraction = NULL};
	for (int i = 0; i < INV_TRIAL_FIGURES; i++) {
		f->value[i] = e->value[i] = (inv_interval){0.5, 0.45, 0.55, 400};
		e->gain[i] = (inv_interval){0, -0.02, 0.02, 400};
	}
	for (int d = 0; d < INV_DISTANCES; d++)
		e->kept[d] = (inv_interval){0.005, -0.01, 0.02, 400};
}

static void gain(inv_trial_column *e, int figure, double value, double half)
{
	e->value[figure] = (inv_interval){0.5 + value, 0.45 + value, 0.55 + value, 400};
	e->gain[figure] = (inv_interval){value, value - half, value + half, 400};
}

static void expect(const inv_trial_column *f, const inv_trial_column *e, bool own_space,
                   inv_trial_word word, const char *part)
{
	inv_trial_verdict v;

	inv_trial_judge(f, e, own_space, guess, &v);
	if (v.word != word || !strstr(v.why, part))
		fail_msg("%s, not %s with '%s': %s", inv_trial_words[v.word], inv_trial_words[word],
		         part, v.why);
}

static int augmented(int sought)
{
	return inv_trial_figure(INV_TRIAL_OLD, sought, INV_COSINE, INV_TRIAL_AUGMENTED);
}

static void rules(void **state)
{
	int clean = inv_trial_figure(INV_TRIAL_OLD, INV_TRIAL_AT_1, INV_L2, INV_TRIAL_CLEAN);
	int class = inv_trial_figure(INV_TRIAL_OLD, INV_TRIAL_CLASS, INV_L2, INV_TRIAL_CLEAN);
	inv_trial_column f, e;

	(void)state;
	equal_columns(&f, &e);
	expect(&f, &e, false, INV_TRIAL_NONE, "beyond chance");
	gain(&e, augmented(INV_TRIAL_AT_10), 0.10, 0.11);
	expect(&f, &e, false, INV_TRIAL_NONE, "beyond chance");
	gain(&e, augmented(INV_TRIAL_AT_10), 0.10, 0.05);
	expect(
		&f, &e, false, INV_TRIAL_HELPS,
		"same image @10 of augmented images (old index, cosine) rises from 50.0 % with F "
		"to 60.0 % (95 % interval of the difference: +5.0 to +15.0 points)");
	/* Better than F, but no better than guessing. */
	equal_columns(&f, &e);
	gain(&e, augmented(INV_TRIAL_CLASS), 0.05, 0.01);
	e.value[augmented(INV_TRIAL_CLASS)] = (inv_interval){0.10, 0.08, 0.12, 400};
	expect(&f, &e, false, INV_TRIAL_NONE, "beyond chance");
	/* Clean images may lose 1 %, chance or not; augmented ones nothing, beyond chance. */
	equal_columns(&f, &e);
	gain(&e, augmented(INV_TRIAL_AT_1), 0.20, 0.05);
	gain(&e, clean, -0.004, 0.003);
	expect(&f, &e, false, INV_TRIAL_HELPS, "@1");
	e.kept[INV_L2] = (inv_interval){-0.001, -0.005, 0.003, 400};
	expect(&f, &e, false, INV_TRIAL_HARM,
	       "same image @1 of clean images (old index, L2) falls");
	equal_columns(&f, &e);
	gain(&e, augmented(INV_TRIAL_CLASS), 0.20, 0.05);
	gain(&e, augmented(INV_TRIAL_AT_1), -0.004, 0.003);
	expect(&f, &e, false, INV_TRIAL_HARM, "(old index, cosine) falls");
	/* Of a class a point may be lost, and more by chance. */
	equal_columns(&f, &e);
	gain(&e, augmented(INV_TRIAL_AT_1), 0.20, 0.05);
	gain(&e, class, -0.014, 0.005);
	expect(&f, &e, false, INV_TRIAL_HELPS, "@1");
	gain(&e, class, -0.016, 0.005);
	expect(&f, &e, false, INV_TRIAL_HARM, "class of the nearest neighbour of clean images");
	/* The old index means nothing for a space of its own. */
	equal_columns(&f, &e);
	e.gain[augmented(INV_TRIAL_AT_1)] = (inv_interval){0, 0, 0, 0};
	gain(&e, inv_trial_figure(INV_TRIAL_NEW, INV_TRIAL_AT_1, INV_L2, INV_TRIAL_AUGMENTED),
	     0.2, 0.05);
	expect(&f, &e, true, INV_TRIAL_HELPS, "new index");
}

static void few_images_are_mentioned(void **state)
{
	inv_trial_column f, e;

	(void)state;
	equal_columns(&f, &e);
	for (int i = 0; i < INV_TRIAL_FIGURES; i++)
		e.gain[i].images = 60;
	expect(
		&f, &e, false, INV_TRIAL_NONE,
		"with only 60 held-out images, differences of less than 2.0 points may be chance");
}

/* ---- Verdicts ------------------------------------------------------------------------ */

static void verdicts_on_made_banks(void **state)
{
	static const struct {
		const char *name;
		bank_kind kind;
		const char *verdict, *other;
	} cases[] = {{"easy", EASY, "helps", "helps"},
	             {"noise", NOISE, "none", "harm"},
	             {"hopeless", HOPELESS, "none", "harm"},
	             {"close", CLOSE, "none", "none"}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		invar_results *r = trial(make_bank(cases[i].name, cases[i].kind, 3), instant());

		if (strcmp(invar_results_about(r, "verdict"), cases[i].other) != 0)
			check_verdict(r, cases[i].verdict);
		invar_results_free(r);
	}
}

/* Several, as luck would not be the same on each. */
static void random_copies_never_help(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		invar_results *r =
			trial(make_bank(test_text("random-%d", (int)seed), RANDOM, seed), instant());

		assert_string_not_equal(invar_results_about(r, "verdict"), "helps");
		invar_results_free(r);
	}
}

/* At strength 1 clean images miss themselves; weaker, copies still find theirs. */
static void weaker_adapter_that_helps(void **state)
{
	invar_options *o = instant();
	invar_results *r = trial(make_bank("weaker", EASY, 4), instant());
	double strength = inv_results_about_number(r, "strength");
	const char *column = invar_results_about(r, "column");

	(void)state;
	check_verdict(r, "helps");
	assert_true(strength >= 0.5 && strength < 1);
	assert_string_equal(column, test_text("E-%g", strength));
	assert_non_null(strstr(invar_results_about(r, "why"), "as it does harm at 1"));
	assert_true(number_of(r, "trial.same-image.old.l2.at1.clean", "E") < 0.99);
	assert_true(number_of(r, "trial.same-image.old.l2.at1.clean", column) >= 0.97);
	assert_true(number_of(r, "trial.same-image.old.l2.at10.augmented.gain", column) > 0.2);
	assert_int_equal(invar_trial_settle(r, o), INVAR_OK);
	assert_true(inv_option_number(o, "strength") == strength);
	invar_results_free(r);
	invar_options_free(o);
}

static void structure_dial(void **state)
{
	invar_options *o = instant();
	invar_results *r;
	double found;

	(void)state;
	r = trial(make_bank("dial", EASY, 5),
	          test_set(instant(), "keep-structure", "0.97", NULL));
	found = number_of(r, "trial.structure.R2", "E");
	assert_true(found >= 0.97 && found < 0.975);
	assert_true(inv_results_about_number(r, "strength") < 1);
	assert_null(invar_results_value(r, "trial.structure.R2", "E-0.5"));
	assert_int_equal(invar_trial_settle(r, test_set(o, "even-if-worse", "true", NULL)),
	                 INVAR_OK);
	assert_true(inv_option_number(o, "strength") ==
	            inv_results_about_number(r, "strength"));
	invar_results_free(r);
	invar_options_free(o);
}

/* Codes of another width or space have no line from features to codes. */
static void what_the_dial_needs(void **state)
{
	invar_options *o = test_options("train", "loss", "waco", "width", "4", "hidden", "8",
	                                "keep-structure", "0.9", NULL);
	invar_bank *bank = make_bank("narrow", EASY, 6);
	invar_results *r;

	(void)state;
	assert_int_equal(invar_trial(bank, o, &r), INVAR_E_USE);
	test_assert_error("keep-structure needs codes as wide as the features");
	assert_null(r);
	invar_options_free(o);
	/* Training alone cannot find the strength. */
	o = test_set(instant(), "keep-structure", "0.9", NULL);
	assert_int_equal(invar_train(&bank, 1, o, test_path("undialled")), INVAR_E_USE);
	test_assert_error("trial");
	assert_false(test_exists(test_path("undialled")));
	invar_options_free(o);
	invar_bank_close(bank);
}

static void space_of_its_own_has_a_new_index(void **state)
{
	invar_results *r = trial(make_bank("space", EASY, 7),
	                         test_options("train", "loss", "waco", "width", "4", "hidden",
	                                      "16", "epochs", "2", "projections", "16", NULL));

	(void)state;
	assert_null(invar_results_value(r, "trial.same-image.old.l2.at1.augmented", "E"));
	assert_null(invar_results_value(r, "trial.same-image.old.l2.at1.augmented", "F"));
	assert_non_null(invar_results_value(r, "trial.same-image.new.l2.at1.augmented", "E"));
	assert_non_null(invar_results_value(r, "trial.same-image.new.l2.at1.augmented", "F"));
	invar_results_free(r);
}

static void too_few_images_cannot_tell(void **state)
{
	invar_options *o = instant();
	invar_results *r;

	(void)state;
	make_rows(EASY, 8);
	r = trial(write_bank("few", INV_TRIAL_MIN_IMAGES - 1, true), instant());
	check_verdict(r, "unknown");
	assert_string_equal(invar_results_about(r, "why"),
	                    "train has 49 images, and with fewer than 50 a trial cannot tell "
	                    "whether an adapter helps");
	assert_int_equal(invar_trial_settle(r, o), INVAR_OK);
	assert_int_equal(invar_trial_settle(r, test_set(o, "keep-structure", "0.9", NULL)),
	                 INVAR_E_MISMATCH);
	test_assert_error("has no strength: train has 49 images");
	invar_results_free(r);
	r = trial(write_bank("enough", INV_TRIAL_MIN_IMAGES, true), instant());
	assert_string_not_equal(invar_results_about(r, "verdict"), "unknown");
	assert_true(inv_results_about_number(r, "held_out") == INV_TRIAL_MIN_IMAGES);
	assert_non_null(strstr(invar_results_about(r, "why"), "with only 50 held-out images"));
	invar_results_free(r);
	invar_options_free(o);
}

static void without_labels_images_count(void **state)
{
	invar_results *r;

	(void)state;
	make_rows(EASY, 9);
	r = trial(write_bank("unlabelled", ROWS, false), instant());
	check_verdict(r, "helps");
	assert_string_equal(inv_results_skipped(r, "class", NULL), "train has no labels.npy");
	assert_null(invar_results_value(r, "trial.class.old.l2.augmented", "F"));
	invar_results_free(r);
	for (size_t i = 0; i < ROWS; i++)
		b.labels[i] = -1;
	r = trial(write_bank("none", ROWS, true), instant());
	assert_string_equal(inv_results_skipped(r, "class", NULL),
	                    "no row of train has a label");
	invar_results_free(r);
	for (size_t i = 0; i < ROWS; i++)
		b.labels[i] = i % 2 ? -1 : (int64_t)(i % CLASSES);
	r = trial(write_bank("half", ROWS, true), instant());
	assert_int_equal(invar_results_value(r, "trial.class.old.l2.augmented", "F")->count,
	                 ROWS / 2);
	invar_results_free(r);
}

/* ---- What follows from it ------------------------------------------------------------ */

static json_t *run_json(const char *run)
{
	json_t *json = json_load_file(test_path("%s/run.json", run), 0, NULL);

	assert_non_null(json);
	return json;
}

static void nothing_harmful_is_written(void **state)
{
	invar_bank *bank = make_bank("harm", HOPELESS, 10);
	invar_options *o = instant();
	invar_results *r;
	json_t *json, *trial;

	(void)state;
	assert_int_equal(invar_trial(bank, o, &r), INVAR_OK);
	assert_int_equal(invar_trial_settle(r, o), INVAR_E_MISMATCH);
	assert_string_equal(inv_last_error_topic(), INV_NO_ADAPTER);
	test_assert_error("even-if-worse");
	assert_int_equal(invar_trial_settle(r, test_set(o, "even-if-worse", "true", NULL)),
	                 INVAR_OK);
	assert_int_equal(invar_train(&bank, 1, o, test_path("harm-run")), INVAR_OK);
	json = run_json("harm-run");
	trial = json_object_get(json, "trial");
	assert_string_equal(json_string_value(json_object_get(trial, "verdict")),
	                    invar_results_about(r, "verdict"));
	assert_string_equal(json_string_value(json_object_get(trial, "why")),
	                    invar_results_about(r, "why"));
	assert_int_equal(json_integer_value(json_object_get(trial, "held_out")), ROWS);
	trial = json_object_get(json_object_get(trial, "figures"),
	                        "trial.same-image.old.l2.at1.clean");
	assert_true(json_number_value(json_object_get(trial, "F")) == 1);
	assert_true(fabs(json_number_value(json_object_get(trial, "E")) -
	                 number_of(r, "trial.same-image.old.l2.at1.clean", "E")) < 1e-12);
	json_decref(json);
	invar_results_free(r);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* Also of a training, whose number of steps is that of all images. */
static void same_bytes_on_any_threads(void **state)
{
	char *text[2];

	(void)state;
	make_rows(EASY, 11);
	invar_bank_close(write_bank("threads", ROWS, true));
	for (unsigned i = 0; i < 2; i++) {
		invar_options *o = test_options("train", "hidden", "16", "epochs", "3", NULL);
		invar_context *ctx;
		invar_bank *bank;
		invar_results *r;

		assert_int_equal(invar_context_new(1 + i, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_bank_open(ctx, test_path("threads"), &bank), INVAR_OK);
		r = trial(bank, o);
		assert_int_equal(invar_results_json(r, &text[i]), INVAR_OK);
		invar_results_free(r);
		invar_context_free(ctx);
	}
	assert_string_equal(text[0], text[1]);
	invar_free(text[0]);
	invar_free(text[1]);
}

static void when_a_trial_is_made(void **state)
{
	static const struct {
		const char *name, *text;
		bool tried;
	} cases[] = {{"hidden", "64", true},         {"preset", "instant", true},
	             {"preset", "paper", false},     {"loss", "waco", false},
	             {"width", "4", false},          {"residual", "true", true},
	             {"keep-structure", "0.9", true}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		invar_options *o = test_options("train", cases[i].name, cases[i].text, NULL);

		if (inv_option_flag(o, "trial") != cases[i].tried)
			fail_msg("%s %s", cases[i].name, cases[i].text);
		test_set(o, "trial", cases[i].tried ? "false" : "true", NULL);
		assert_true(inv_option_flag(o, "trial") != cases[i].tried);
		invar_options_free(o);
	}
}

/* ---- Memory -------------------------------------------------------------------------- */

static invar_bank *small;
static invar_options *made_options;

/* Rows, fits and figures; results documents have tests of their own. */
static invar_status try_small(void *user)
{
	inv_trial t;
	invar_status st = inv_trial_begin(small, made_options, &t);

	(void)user;
	if (st == INVAR_OK)
		st = inv_trial_try(&t, made_options, "E");
	inv_trial_clear(&t);
	return st;
}

static void memory_that_fails(void **state)
{
	invar_context *ctx;

	(void)state;
	make_rows(EASY, 12);
	invar_bank_close(write_bank("small", INV_TRIAL_MIN_IMAGES, true));
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("small"), &small), INVAR_OK);
	made_options = test_options("train", "loss", "none", "init", "identity", "hidden",
	                            test_text("%d", 2 * D), NULL);
	assert_true(test_each_allocation_fails(try_small, NULL) > 100);
	invar_options_free(made_options);
	invar_bank_close(small);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_are_held_out_in_runs),
		cmocka_unit_test(figures_are_those_of_eval),
		cmocka_unit_test(rules),
		cmocka_unit_test(few_images_are_mentioned),
		cmocka_unit_test(verdicts_on_made_banks),
		cmocka_unit_test(random_copies_never_help),
		cmocka_unit_test(weaker_adapter_that_helps),
		cmocka_unit_test(structure_dial),
		cmocka_unit_test(what_the_dial_needs),
		cmocka_unit_test(space_of_its_own_has_a_new_index),
		cmocka_unit_test(too_few_images_cannot_tell),
		cmocka_unit_test(without_labels_images_count),
		cmocka_unit_test(nothing_harmful_is_written),
		cmocka_unit_test(same_bytes_on_any_threads),
		cmocka_unit_test(when_a_trial_is_made),
		cmocka_unit_test(memory_that_fails),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
