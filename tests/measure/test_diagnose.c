/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diagnose.c - the rules one by one, figures against plain loops, constant dimensions.
 * The verdicts on banks made for it are in tests/cli/diagnose.py.
 */
#include "write_bank.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "measure/diagnose.h"

/* ---- Rules ----------------------------------------------------------------------- */

/* Random features explain 60 %, F 20 %, and LC-kept gains 20 points. */
static inv_diagnosis_facts useful(double structure)
{
	inv_diagnosis_facts f = {.explained = {0.2, 0.3, 0.5, 0.6},
	                         .shrunk = 0.3,
	                         .structure = {1, 1, structure, structure}};

	for (int m = 0; m < INV_DIAGNOSIS_MAPS; m++)
		for (int k = 0; k < INV_DIAGNOSIS_FIGURES; k++) {
			f.figure[m][k] = k == INV_DIAGNOSIS_KEPT_CLEAN ? 0.9 : m ? 0.7 : 0.5;
			f.gain[m][k] = (inv_interval){m ? 0.2 : 0, m ? 0.1 : 0, m ? 0.3 : 0, 100};
		}
	return f;
}

static void drop_gains(inv_diagnosis_facts *f, double value, double low)
{
	for (int m = 1; m < INV_DIAGNOSIS_MAPS; m++)
		for (int k = 0; k <= INV_DIAGNOSIS_KEPT; k++)
			f->gain[m][k] = (inv_interval){value, low, 0.3, 100};
}

static void check_verdict(const inv_diagnosis_facts *f, const char *word, const char *part)
{
	inv_verdict v;
	size_t sentences = 0;

	inv_diagnosis_judge(f, &v);
	assert_string_equal(v.word, word);
	if (!strstr(v.why, part))
		fail_msg("'%s' does not say '%s'", v.why, part);
	for (const char *c = v.why; *c; c++)
		sentences += *c == '.' && (c[1] == ' ' || !c[1]);
	assert_int_equal(sentences, 2);
	assert_true(strlen(v.why) + 1 < sizeof v.why);
}

static void nothing_to_gain(void **state)
{
	inv_diagnosis_facts f = useful(0.95);

	(void)state;
	f.explained[0] = 0.99;
	check_verdict(&f, "none", "so close");
	f = useful(0.95);
	f.explained[1] = f.explained[2] = f.explained[3] = 0.09;
	f.shrunk = 0;
	check_verdict(&f, "none", "to the mean");
	f = useful(0.95);
	f.shrunk = 0.595;
	check_verdict(&f, "none", "shrink");
	f = useful(0.95);
	drop_gains(&f, 0.2, -0.01);
	check_verdict(&f, "none", "more often");
	drop_gains(&f, 0.009, 0.005);
	check_verdict(&f, "none", "more often");
}

static void preset_that_fits(void **state)
{
	inv_diagnosis_facts f = useful(0.85);

	(void)state;
	check_verdict(&f, "keep", "70.0 % of the copies instead of 50.0 %");
	f = useful(0.85);
	f.explained[1] = 0.95;
	check_verdict(&f, "instant", "little to learn");
	f = useful(0.85);
	f.figure[INV_DIAGNOSIS_F][INV_DIAGNOSIS_KEPT_CLEAN] = 0.729;
	check_verdict(&f, "instant", "72.9 %, so training has little to add");
	f.figure[INV_DIAGNOSIS_F][INV_DIAGNOSIS_KEPT_CLEAN] = 0.731;
	check_verdict(&f, "keep", "their R² is 0.85");
}

/* Where all distances of clean features are equal, there is no R². */
static void no_figure_is_told_as_nan(void **state)
{
	inv_diagnosis_facts f = useful(NAN);
	inv_verdict v;

	(void)state;
	inv_diagnosis_judge(&f, &v);
	assert_string_equal(v.word, "keep");
	assert_null(strstr(v.why, "nan"));
	assert_null(strstr(v.why, "R²"));
}

static void without_labels_images_count(void **state)
{
	inv_diagnosis_facts f = useful(0.85);

	(void)state;
	for (int m = 0; m < INV_DIAGNOSIS_MAPS; m++)
		for (int k = INV_DIAGNOSIS_NEAREST; k < INV_DIAGNOSIS_FIGURES; k++) {
			f.figure[m][k] = NAN;
			f.gain[m][k] = (inv_interval){NAN, NAN, NAN, 0};
		}
	check_verdict(&f, "keep", "own image");
	f.gain[1][0] = f.gain[2][0] = f.gain[3][0] = (inv_interval){-0.1, -0.2, 0, 100};
	f.gain[1][1] = f.gain[2][1] = f.gain[3][1] = (inv_interval){-0.1, -0.2, 0, 100};
	check_verdict(&f, "none", "more often");
}

static void losses_are_told(void **state)
{
	inv_diagnosis_facts f = useful(0.85);
	const int cosine = INV_DIAGNOSIS_SAME_COSINE;

	(void)state;
	f.figure[INV_DIAGNOSIS_FEATURES][cosine] = 0.31;
	f.gain[INV_DIAGNOSIS_FEATURES][cosine] = (inv_interval){-0.19, -0.2, -0.1, 100};
	check_verdict(&f, "keep", "but only 31.0 % instead of 50.0 %");
}

/* ---- Figures --------------------------------------------------------------------- */

enum { N = 60, D = 6, COPIES = 2, DEAD = 4, CONSTANT = 5 };

typedef struct made {
	float clean[N * D], aug[COPIES * N * D];
	int64_t labels[N];
} made;

/* The last two dimensions are always 0 and always 3. */
static void make_rows(made *b)
{
	inv_stream s = inv_stream_of(3, "test/diagnose", 0);

	inv_fill_normal(&s, 0, b->clean, N * D);
	inv_fill_normal(&s, 1, b->aug, COPIES * N * D);
	for (size_t i = 0; i < N; i++) {
		b->labels[i] = (int64_t)(i % 3);
		b->clean[i * D] += 4 * (float)(i % 3);
		b->clean[i * D + DEAD] = 0;
		b->clean[i * D + CONSTANT] = 3;
	}
	for (size_t k = 0; k < COPIES; k++)
		for (size_t l = 0; l < N * D; l++)
			b->aug[k * N * D + l] = b->clean[l] + 0.4F * b->aug[k * N * D + l];
}

static invar_results *diagnose(unsigned threads, const char *path)
{
	invar_options *o = test_options("diagnose", "hidden", "8", NULL);
	invar_context *ctx;
	invar_bank *bank;
	invar_results *r;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	assert_int_equal(invar_bank_open(ctx, path, &bank), INVAR_OK);
	if (invar_diagnose(bank, o, &r) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_bank_close(bank);
	invar_options_free(o);
	invar_context_free(ctx);
	return r;
}

static double squared_distance(const float *a, const float *b)
{
	double sum = 0;

	for (size_t l = 0; l < D; l++)
		sum += ((double)a[l] - b[l]) * ((double)a[l] - b[l]);
	return sum;
}

/* The plain loops use the held-out images that the diagnosis drew. */
static void check_explained(const made *b, const inv_diagnosis_rows *r, double told)
{
	double mean[D] = {0}, variance = 0, left = 0;

	for (uint32_t i = r->fitted; i < r->n; i++)
		for (size_t l = 0; l < D; l++)
			mean[l] += b->clean[r->images[i] * D + l] / (double)r->held;
	for (uint32_t i = r->fitted; i < r->n; i++) {
		const float *clean = b->clean + r->images[i] * D;

		for (size_t l = 0; l < D; l++)
			variance += (clean[l] - mean[l]) * (clean[l] - mean[l]);
		for (size_t k = 0; k < COPIES; k++)
			left += squared_distance(b->aug + (k * N + r->images[i]) * D, clean) / COPIES;
	}
	assert_true(fabs(told - (1 - left / variance)) < 1e-5);
}

static void check_same_image(const made *b, const inv_diagnosis_rows *r, double told)
{
	double found = 0;

	for (uint32_t i = r->fitted; i < r->n; i++)
		for (size_t k = 0; k < COPIES; k++) {
			const float *copy = b->aug + (k * N + r->images[i]) * D;
			size_t nearest = 0;

			for (size_t g = 1; g < N; g++)
				if (squared_distance(copy, b->clean + g * D) <
				    squared_distance(copy, b->clean + nearest * D))
					nearest = g;
			found += nearest == r->images[i];
		}
	assert_true(fabs(told - found / (double)(COPIES * r->held)) < 1e-9);
}

static void figures_of_F(void **state)
{
	static made b;
	char path[500];
	invar_results *told;
	inv_diagnosis_rows rows;
	invar_context *ctx;
	invar_bank *bank;

	(void)state;
	make_rows(&b);
	snprintf(path, sizeof path, "%s", test_path("figures"));
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	write_split(ctx, path, "train", b.clean, b.aug, COPIES, b.labels, N, D);
	told = diagnose(1, path);
	assert_int_equal(invar_bank_open(ctx, path, &bank), INVAR_OK);
	assert_int_equal(inv_diagnosis_read(bank, inv_bank_split(bank, "train"), 0, 0, &rows),
	                 INVAR_OK);
	assert_int_equal(rows.held, N / 5);
	assert_int_equal(inv_diagnosis_label(&rows), INVAR_OK);
	assert_int_equal(rows.spec.epochs, INV_CLASSIFIER_FEW_STEPS); /* one step each */
	check_explained(&b, &rows, number(told, "displacement.explained"));
	check_same_image(&b, &rows, number(told, "same-image.l2"));
	assert_true(number(told, "bank.constant") == 2);
	assert_true(number(told, "bank.dead") == 1);
	inv_diagnosis_rows_clear(&rows);
	invar_results_free(told);
	invar_bank_close(bank);
	invar_context_free(ctx);
}

static void same_bytes_on_any_threads(void **state)
{
	char path[500], *text[2];

	(void)state;
	snprintf(path, sizeof path, "%s", test_path("figures"));
	for (unsigned i = 0; i < 2; i++) {
		invar_results *r = diagnose(1 + i, path);

		assert_int_equal(invar_results_json(r, &text[i]), INVAR_OK);
		invar_results_free(r);
	}
	assert_string_equal(text[0], text[1]);
	invar_free(text[0]);
	invar_free(text[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_gain),
		cmocka_unit_test(preset_that_fits),
		cmocka_unit_test(no_figure_is_told_as_nan),
		cmocka_unit_test(without_labels_images_count),
		cmocka_unit_test(losses_are_told),
		cmocka_unit_test(figures_of_F),
		cmocka_unit_test(same_bytes_on_any_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
