/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_curves.c - what becomes of copies, over parameters, by class and by image, beside
 * plain loops on a bank made here.
 */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "run/results.h"

enum { N = 120, D = 5, COPIES = 2, Q = 4, BINS = 4 };

static const char *const bank_json =
	"{\"format\": \"invar-bank\", \"version\": 1, \"augment\": \"%s\", "
	"\"augment_params\": [%s], \"preprocess\": {\"size\": [10, 20]}, "
	"\"classes\": [\"cat\", \"dog\", \"owl\"]}";

static float clean[N * D], copies[COPIES * N * D], params[COPIES * N * Q];
static int64_t labels[N];

static void draw(const char *purpose, float *out, size_t count)
{
	inv_stream s = inv_stream_of(3, purpose, 0);

	inv_fill_normal(&s, 0, out, count);
}

static int draw_all(void **state)
{
	draw("clean", clean, N * D);
	draw("copies", copies, COPIES * N * D);
	draw("params", params, COPIES * N * Q);
	for (size_t i = 0; i < N; i++) {
		labels[i] = (int64_t)i % 3;
		clean[i * D] += 3 * (float)labels[i];
	}
	for (size_t c = 0; c < COPIES; c++)
		for (size_t i = 0; i < N * D; i++)
			copies[c * N * D + i] = clean[i] + 0.7f * copies[c * N * D + i];
	for (size_t i = 0; i < COPIES * N; i++) {
		params[i * Q + 2] = (float)(5 + i % 7); /* w, h of a crop */
		params[i * Q + 3] = (float)(4 + i % 5);
	}
	return test_context_open(state);
}

static void write_json(const char *bank, const char *augment, const char *columns)
{
	char text[600];

	snprintf(text, sizeof text, bank_json, augment, columns);
	test_write(test_text("%s/bank.json", bank), text, strlen(text));
}

/* The first q of the columns that were drawn, times scale. */
static void write_params(const char *bank, size_t q, float scale)
{
	const uint64_t shape[2] = {N, q};
	static float rows[N * Q];

	for (unsigned c = 0; c < COPIES; c++) {
		for (size_t i = 0; i < N; i++)
			for (size_t k = 0; k < q; k++)
				rows[i * q + k] = scale * params[(c * N + i) * Q + k];
		assert_int_equal(
			invar_array_write(test_ctx, test_text("%s/test/aug/%03u.params.npy", bank, c),
		                      rows, 2, shape, INVAR_FLOAT32),
			INVAR_OK);
	}
}

static const char *write_bank(const char *name, bool with_labels)
{
	const char *bank = test_path("%s", name);

	write_split(test_ctx, bank, "train", clean, NULL, 0, with_labels ? labels : NULL, N, D);
	write_split(test_ctx, bank, "test", clean, copies, COPIES, with_labels ? labels : NULL,
	            N, D);
	return bank;
}

static invar_options *curves(const char *metrics)
{
	return test_options("eval", "metrics", metrics, "k", "1", "bins", "4", "probe-epochs",
	                    "3", NULL);
}

static double displacement(size_t copy, size_t i)
{
	double sum = 0;

	for (size_t k = 0; k < D; k++) {
		double gap = (double)copies[(copy * N + i) * D + k] - clean[i * D + k];

		sum += gap * gap;
	}
	return sqrt(sum);
}

/* Of all clean rows; the splits have the same rows, those of test come first. */
static size_t nearest(size_t copy, size_t i)
{
	size_t best = 0;
	double least = INFINITY;

	for (size_t j = 0; j < N; j++) {
		double sum = 0;

		for (size_t k = 0; k < D; k++) {
			double gap = (double)copies[(copy * N + i) * D + k] - clean[j * D + k];

			sum += gap * gap;
		}
		if (sum < least) {
			least = sum;
			best = j;
		}
	}
	return best;
}

/* Equal counts: the bins of a factor are its quarters in sorted order. */
static size_t quarter(size_t copy, size_t i)
{
	float value = params[(copy * N + i) * Q];
	size_t below = 0;

	for (size_t k = 0; k < COPIES * N; k++)
		below += params[k * Q] < value;
	return below * BINS / (COPIES * N);
}

static void a_curve_equals_plain_loops(void **state)
{
	const char *bank = write_bank("factor", true);
	double sum[3][BINS] = {{0}}, count[BINS] = {0};
	const char *const ids[] = {"curve.factor.displacement", "curve.factor.same-image",
	                           "curve.factor.knn"};
	invar_results *r;

	(void)state;
	write_json(bank, "brightness", "\"factor\"");
	write_params(bank, 1, 1);
	r = measure_f(test_ctx, bank, curves("curves"));
	for (size_t c = 0; c < COPIES; c++)
		for (size_t i = 0; i < N; i++) {
			size_t bin = quarter(c, i), found = nearest(c, i);

			sum[0][bin] += displacement(c, i);
			sum[1][bin] += found == i;
			sum[2][bin] += labels[found] == labels[i];
			count[bin]++;
		}
	for (int o = 0; o < 3; o++) {
		const inv_curve *v = inv_results_curve(r, ids[o], "F");

		assert_non_null(v);
		assert_int_equal(v->count, BINS);
		for (size_t b = 0; b < BINS; b++) {
			assert_true(fabs(v->y[b] - sum[o][b] / count[b]) < 1e-5);
			assert_true(v->low[b] <= v->y[b] && v->y[b] <= v->high[b]);
			assert_true(!b || v->x[b] > v->x[b - 1]);
		}
	}
	assert_non_null(inv_results_curve(r, "curve.factor.kept", "F"));
	assert_string_equal(inv_results_series(r, 0)->x->title, "factor of brightness");
	invar_results_free(r);
}

/* Of a crop, width and height become the share of the picture that it shows. */
static void a_crop_has_its_area(void **state)
{
	const char *bank = write_bank("crop", false);
	const inv_curve *v;
	invar_results *r;

	(void)state;
	write_json(bank, "crop", "\"x0\", \"y0\", \"w\", \"h\"");
	write_params(bank, 4, 1);
	r = measure_f(test_ctx, bank, curves("curves"));
	assert_string_equal(inv_results_series(r, 0)->id, "curve.area.displacement");
	assert_int_equal(inv_results_series(r, 0)->x->unit, INVAR_UNIT_SHARE);
	assert_null(inv_results_series(r, 2)); /* no labels: nothing to recognise */
	assert_non_null(strstr(inv_results_note_at(r, 0), "test has no labels.npy"));
	v = inv_results_curve(r, "curve.area.displacement", "F");
	assert_true(v->x[0] > 20.0 / 200 && v->x[v->count - 1] < 88.0 / 200);
	invar_results_free(r);
}

static void check_reason(const char *bank, const char *reason)
{
	invar_options *o = curves("curves");
	invar_results *r;
	invar_bank *open;

	assert_int_equal(inv_bank_open(test_ctx, bank, &open), INVAR_OK);
	assert_int_equal(invar_eval(open, NULL, NULL, 0, o, &r), INVAR_E_MISMATCH);
	test_assert_error(reason);
	assert_null(r);
	invar_bank_close(open);
	invar_options_free(o);
}

static void what_a_bank_does_not_tell_is_said(void **state)
{
	const char *bank = write_bank("untold", true);

	(void)state;
	check_reason(bank, "bank.json does not name the parameters");
	write_json(bank, "rotation", "\"angle\"");
	check_reason(bank, "test has no aug/000.params.npy");
	write_params(bank, 2, 1);
	check_reason(bank, "(120, 1) was expected");
	write_params(bank, 1, 0);
	check_reason(bank, "are equal or NaN");
	write_params(bank, 1, NAN);
	check_reason(bank, "are equal or NaN");
}

/* A parameter counts where its operation acted: here the angle of every image with on. */
static void only_copies_that_were_changed_count(void **state)
{
	const char *bank = write_bank("sometimes", false);
	const inv_curve *v;
	uint64_t counted = 0, on = 0;
	invar_results *r;

	(void)state;
	for (size_t i = 0; i < COPIES * N; i++) {
		float drawn = params[i * Q];

		params[i * Q] = drawn > 0;
		params[i * Q + 1] = 30 * drawn;
	}
	for (size_t i = 0; i < N; i++)
		on += params[i * Q] > 0 || params[(N + i) * Q] > 0;
	write_json(bank, "rotation:p=0.5", "\"on\", \"angle\"");
	write_params(bank, 2, 1);
	r = measure_f(test_ctx, bank, curves("curves"));
	v = inv_results_curve(r, "curve.angle.displacement", "F");
	assert_non_null(v);
	for (size_t b = 0; b < v->count; b++)
		counted += v->counts[b];
	assert_true(counted >= on && counted < COPIES * N);
	assert_true(v->x[0] > 0); /* all angles of rows without on are left out */
	invar_results_free(r);
}

static char *document(unsigned threads, const char *bank, const char *metrics)
{
	invar_context *ctx;
	invar_results *r;
	json_t *json;
	char *text;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	r = measure_f(ctx, bank, curves(metrics));
	json = inv_results_document(r);
	text = inv_json_text(json, 1);
	json_decref(json);
	invar_results_free(r);
	invar_context_free(ctx);
	return text;
}

static void bits_do_not_depend_on_threads(void **state)
{
	const char *bank = test_path("factor");
	char *one = document(1, bank, "curves,classes,worst,invariance");
	char *three = document(3, bank, "curves,classes,worst,invariance");

	(void)state;
	assert_string_equal(one, three);
	inv_free(one);
	inv_free(three);
}

/* Passes over copies, by who has started them. */
typedef struct passes {
	unsigned curves, classes, worst;
} passes;

static int count_pass(void *user, const char *stage, uint64_t done, uint64_t total)
{
	passes *p = user;

	(void)total;
	p->curves += strcmp(stage, "curves") == 0 && !done;
	p->classes += strcmp(stage, "classes") == 0 && !done;
	p->worst += strcmp(stage, "worst images") == 0 && !done;
	return 0;
}

static passes measure_counting(const char *metrics, double *weakest, double *never)
{
	passes p = {0};
	const invar_hooks hooks = {.size = sizeof hooks, .user = &p, .progress = count_pass};
	invar_context *ctx;
	invar_results *r;

	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	r = measure_f(ctx, test_path("factor"), curves(metrics));
	*weakest = number(r, "classes.knn.weakest");
	*never = number(r, "worst.never");
	invar_results_free(r);
	invar_context_free(ctx);
	return p;
}

static void outcomes_are_measured_once_per_column(void **state)
{
	double weakest[2], never[2];
	passes all = measure_counting("curves,classes,worst", &weakest[0], &never[0]);
	passes two = measure_counting("classes,worst", &weakest[1], &never[1]);

	(void)state;
	assert_int_equal(all.curves, 1);
	assert_int_equal(all.classes + all.worst, 0);
	assert_int_equal(two.classes, 1); /* votes and LC-kept */
	assert_int_equal(two.worst, 1);   /* displacement */
	assert_true(weakest[0] == weakest[1] && never[0] == never[1]);
}

static void classes_are_shares_of_their_images(void **state)
{
	invar_results *r = measure_f(test_ctx, test_path("factor"), curves("classes"));
	double right[3] = {0};

	(void)state;
	for (size_t c = 0; c < COPIES; c++)
		for (size_t i = 0; i < N; i++)
			right[labels[i]] += labels[nearest(c, i)] == labels[i];
	assert_true(fabs(number(r, "class.knn.cat") - right[0] / (N / 3 * COPIES)) < 1e-12);
	assert_true(fabs(number(r, "class.knn.owl") - right[2] / (N / 3 * COPIES)) < 1e-12);
	assert_true(number(r, "classes.knn.weakest") <= number(r, "class.knn.dog"));
	assert_true(number(r, "classes.knn.strongest") >= number(r, "class.knn.dog"));
	/* The classifier of these few images was trained in few steps, which is noted first. */
	assert_non_null(strstr(inv_results_note_at(r, 0), "few steps"));
	assert_non_null(strstr(inv_results_note_at(r, 1), "recognised least often in copies"));
	invar_results_free(r);
}

static void the_worst_image_is_displaced_most(void **state)
{
	invar_results *r = measure_f(test_ctx, test_path("factor"), curves("worst"));
	json_t *all = details(r, "worst"), *list = json_object_get(all, "displaced");
	double largest = 0;
	size_t worst = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		double mean = (displacement(0, i) + displacement(1, i)) / 2;

		if (mean > largest) {
			largest = mean;
			worst = i;
		}
	}
	assert_int_equal(json_array_size(list), 20);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "row")),
	                 worst);
	assert_true(fabs(number(r, "worst.displacement") - largest) < 1e-5);
	assert_int_equal(json_array_size(json_object_get(all, "misclassified")), 20);
	json_decref(all);
	invar_results_free(r);
}

/* Copies equal the clean rows of another bank: the ceiling is LC of that bank. */
static void the_ceiling_learns_from_copies(void **state)
{
	const char *moved = test_path("moved"), *there = test_path("there");
	invar_options *o =
		test_options("eval", "metrics", "ceiling", "probe-epochs", "5", NULL);
	invar_results *ceiling, *lc;

	(void)state;
	write_split(test_ctx, moved, "train", clean, copies, 1, labels, N, D);
	write_split(test_ctx, moved, "test", clean, copies, 1, labels, N, D);
	write_split(test_ctx, there, "train", copies, NULL, 0, labels, N, D);
	write_split(test_ctx, there, "test", copies, NULL, 0, labels, N, D);
	ceiling = measure_f(test_ctx, moved, o);
	lc = measure_f(test_ctx, there,
	               test_options("eval", "metrics", "lc", "probe-epochs", "5", NULL));
	assert_true(number(ceiling, "ceiling.augmented") == number(lc, "lc.clean"));
	assert_true(fabs(number(ceiling, "ceiling.chance") - 1.0 / 3) < 1e-12);
	invar_results_free(ceiling);
	invar_results_free(lc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_curve_equals_plain_loops),
		cmocka_unit_test(a_crop_has_its_area),
		cmocka_unit_test(what_a_bank_does_not_tell_is_said),
		cmocka_unit_test(bits_do_not_depend_on_threads),
		cmocka_unit_test(outcomes_are_measured_once_per_column),
		cmocka_unit_test(classes_are_shares_of_their_images),
		cmocka_unit_test(the_worst_image_is_displaced_most),
		cmocka_unit_test(the_ceiling_learns_from_copies),
		cmocka_unit_test(only_copies_that_were_changed_count),
	};

	return cmocka_run_group_tests(tests, draw_all, test_context_close);
}
