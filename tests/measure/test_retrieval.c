/* SPDX-License-Identifier: Apache-2.0 */
/* test_retrieval.c - retrieval: golden figures, banks, views, shrinkage. */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "measure/retrieval.h"
#include "run/results.h"

static const char *const figure[] = {"recall_at_1", "recall_at_5", "recall_at_10", "mAP"};
static const char *const in_bank[][INV_FIGURES] = {
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_reciprocal_rank"},
	{"recall_at_1", "recall_at_5", "recall_at_10", "mean_average_precision"}};

/* ---- Golden figures ------------------------------------------------------------------ */

typedef struct set {
	golden *g;
	const float *gallery, *queries;
	const int64_t *labels;
	size_t shape[GOLDEN_NDIM];
} set;

static set open_set(const char *root)
{
	set s = {.g = golden_open(root, "knn_retrieval")};

	s.gallery = golden_f32(s.g, "gallery", s.shape);
	s.queries = golden_f32(s.g, "queries", NULL);
	s.labels = golden_int(s.g, "labels", NULL);
	return s;
}

static void check_arrays(const set *s, inv_distance distance, inv_sought sought,
                         const char *prefix)
{
	uint32_t own[500], classes[500];
	size_t n = s->shape[0];
	const inv_gallery g = {s->gallery, n, s->shape[1], classes};
	const inv_place_queries q = {s->queries, n, own, classes, false};
	inv_place places[500];
	double mean[INV_FIGURES] = {0};
	inv_places *ranks;

	assert_in_range(n, 1, 500);
	for (size_t i = 0; i < n; i++) {
		own[i] = (uint32_t)i;
		classes[i] = (uint32_t)s->labels[i];
	}
	assert_int_equal(inv_places_new(test_ctx, &g, distance, 1, &ranks), INVAR_OK);
	inv_places_find(ranks, &q, places);
	inv_places_free(ranks);
	for (size_t i = 0; i < n; i++) {
		double figures[INV_FIGURES];

		assert_true(inv_retrieval_figures(sought, &places[i], figures));
		for (int f = 0; f < INV_FIGURES; f++)
			mean[f] += figures[f] / (double)n;
	}
	for (int f = 0; f < INV_FIGURES; f++) {
		char name[40];

		snprintf(name, sizeof name, "%s%s", prefix, figure[f]);
		golden_check_value(s->g, name, mean[f]);
	}
}

/* Our own tree also has cosine and the own row; both trees have classes by L2. */
static void golden_figures_on_arrays(void **state)
{
	const char *const *roots = golden_roots();

	(void)state;
	for (const char *const *root = roots; *root; root++) {
		set s = open_set(*root);

		check_arrays(&s, INV_L2, INV_SAME_CLASS, "");
		if (root == roots) {
			check_arrays(&s, INV_COSINE, INV_SAME_CLASS, "cosine_");
			check_arrays(&s, INV_L2, INV_SAME_IMAGE, "own_");
			check_arrays(&s, INV_COSINE, INV_SAME_IMAGE, "cosine_own_");
		}
		golden_close(s.g);
	}
}

static double of_bank(const invar_results *r, const char *id, inv_sought sought, int f,
                      const char *column)
{
	char metric[100];

	snprintf(metric, sizeof metric, "%s.%s", id, in_bank[sought][f]);
	return number_of(r, metric, column);
}

static void golden_figures_of_a_bank(void **state)
{
	int bank = 0;

	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		set s = open_set(*root);
		char path[500];
		invar_results *r;

		snprintf(path, sizeof path, "%s", test_path("golden%d", bank++));
		write_split(test_ctx, path, "test", s.gallery, s.queries, 1, s.labels, s.shape[0],
		            s.shape[1]);
		r = measure_f(
			test_ctx, path,
			test_options("eval", "metrics", "retrieval", "query-image", "counted", NULL));
		for (int f = 0; f < INV_FIGURES; f++)
			golden_check_value(
				s.g, figure[f],
				of_bank(r, "same-class.old.l2.augmented", INV_SAME_CLASS, f, "F"));
		assert_null(invar_results_value(r, "same-class.new.l2.augmented.recall_at_1", "F"));
		invar_results_free(r);
		golden_close(s.g);
	}
}

/* ---- Banks --------------------------------------------------------------------------- */

enum { N = 60, OTHER = 35, D = 5, COPIES = 5 };

static float clean[N * D], other[OTHER * D], aug[COPIES * N * D];
static float index_rows[(N + OTHER) * D];
static int64_t labels[N], other_labels[OTHER];

static void fill(void)
{
	inv_stream s = inv_stream_of(8, "rows", 0);

	inv_fill_normal(&s, 0, clean, N * D);
	inv_fill_normal(&s, 1, other, OTHER * D);
	inv_fill_normal(&s, 2, aug, COPIES * N * D);
	for (size_t i = 0; i < COPIES * N * D; i++)
		aug[i] = clean[i % (N * D)] + 0.8f * aug[i];
	for (int i = 0; i < N; i++)
		labels[i] = i % 7 ? i % 4 : -1;
	for (int i = 0; i < OTHER; i++)
		other_labels[i] = i % 5 ? i % 4 : -1;
	labels[1] = 99; /* the only one of its class */
	memcpy(index_rows, other, sizeof other);
	memcpy(index_rows + OTHER * D, clean, sizeof clean);
}

static const char *bank_of(const char *name, bool labelled)
{
	static char path[500];

	snprintf(path, sizeof path, "%s", test_path("%s", name));
	write_split(test_ctx, path, "before", other, NULL, 0, labelled ? other_labels : NULL,
	            OTHER, D);
	write_split(test_ctx, path, "test", clean, aug, COPIES, labelled ? labels : NULL, N, D);
	return path;
}

/* By plain loops: the share of queries whose own row is among the `reach` nearest. */
static double same_recall(const float *gallery, const float *rows, const float *rotated,
                         inv_distance distance, uint32_t reach)
{
	const inv_gallery g = {gallery, N + OTHER, D, NULL};
	double hits = 0, distances[N + OTHER];

	for (uint32_t i = 0; i < N; i++) {
		float query[INV_VIEWS * D];
		uint32_t own = OTHER + i;
		inv_place rank;

		memcpy(query, rows + i * D, D * sizeof *query);
		if (rotated)
			memcpy(query + D, rotated + i * INV_ROTATED * D,
			       INV_ROTATED * D * sizeof *query);
		inv_places_ref(&g, distance, rotated ? INV_VIEWS : 1,
		              &(inv_place_queries){.rows = query, .count = 1, .own = &own},
		              distances, &rank);
		hits += rank.own <= reach;
	}
	return hits / N;
}

static void galleries_are_all_splits(void **state)
{
	invar_results *r;

	(void)state;
	fill();
	r = measure_f(test_ctx, bank_of("all", true),
	              test_options("eval", "metrics", "retrieval,structure", NULL));
	assert_int_equal(invar_results_columns(r), 1); /* no views */
	for (int f = 0; f < 2; f++) {
		double sum = 0;

		for (int c = 0; c < COPIES; c++)
			sum += same_recall(index_rows, aug + c * N * D, NULL, INV_L2, f ? 5 : 1);
		assert_true(fabs(of_bank(r, "same-image.old.l2.augmented", INV_SAME_IMAGE, f, "F") -
		                 sum / COPIES) < 1e-12);
	}
	assert_true(number(r, "same-image.old.l2.clean.recall_at_1") == 1);
	/* The one image of class 99 has no other image to find. */
	assert_int_equal(
		invar_results_value(r, "same-class.old.l2.augmented.recall_at_1", "F")->count,
		N - 10);
	assert_int_equal(
		invar_results_value(r, "same-class.old.l2.clean.recall_at_1", "F")->count, N - 10);
	invar_results_free(r);
}

/* ---- Four views ---------------------------------------------------------------------- */

static float clean_views[N * INV_ROTATED * D], aug_views[COPIES * N * INV_ROTATED * D];

/* In one of its views a copy is closer to its image than in the others. */
static void fill_views(void)
{
	inv_stream s = inv_stream_of(9, "views", 0);

	inv_fill_normal(&s, 0, clean_views, N * INV_ROTATED * D);
	inv_fill_normal(&s, 1, aug_views, COPIES * N * INV_ROTATED * D);
	for (size_t i = 0; i < COPIES * N; i++) {
		size_t at = (i * INV_ROTATED + i % INV_ROTATED) * D;

		for (size_t k = 0; k < D; k++)
			aug_views[at + k] = clean[i % N * D + k] + 0.3f * aug_views[at + k];
	}
}

static const char *bank_with_views(const char *name, int copies)
{
	const char *path = bank_of(name, true);

	for (int c = 0; c < copies; c++)
		write_views(test_ctx, path, "test", c, aug_views + c * N * INV_ROTATED * D, N, D);
	write_views(test_ctx, path, "test", INVAR_CLEAN, clean_views, N, D);
	return path;
}

static void the_nearest_of_four_views_counts(void **state)
{
	static const char *const name[] = {"l2", "cosine"};
	invar_results *r;

	(void)state;
	fill();
	fill_views();
	r = measure_f(test_ctx, bank_with_views("views", COPIES),
	              test_options("eval", "metrics", "retrieval,structure", NULL));
	assert_int_equal(invar_results_columns(r), 2);
	assert_string_equal(invar_results_column(r, 1)->id, "F.views");
	assert_string_equal(invar_results_column(r, 1)->title, "F, 4 views");
	for (int d = 0; d < INV_DISTANCES; d++)
		for (int f = 0; f < 2; f++) {
			uint32_t reach = f ? 5 : 1;
			double sum = 0;
			char id[60];

			for (int c = 0; c < COPIES; c++)
				sum +=
					same_recall(index_rows, aug + c * N * D,
				               aug_views + c * N * INV_ROTATED * D, (inv_distance)d, reach);
			snprintf(id, sizeof id, "same-image.old.%s.augmented", name[d]);
			assert_true(fabs(of_bank(r, id, INV_SAME_IMAGE, f, "F.views") - sum / COPIES) <
			            1e-12);
			assert_true(of_bank(r, id, INV_SAME_IMAGE, f, "F.views") >
			            of_bank(r, id, INV_SAME_IMAGE, f, "F"));
			snprintf(id, sizeof id, "same-image.old.%s.clean", name[d]);
			assert_true(fabs(of_bank(r, id, INV_SAME_IMAGE, f, "F.views") -
			                 same_recall(index_rows, clean, clean_views, (inv_distance)d,
			                            reach)) < 1e-12);
		}
	/* The row itself is one of the four. */
	assert_true(number_of(r, "same-image.old.l2.clean.recall_at_1", "F.views") == 1);
	assert_null(invar_results_value(r, "structure.m", "F.views"));
	assert_int_equal(
		invar_results_value(r, "same-class.old.l2.clean.recall_at_1", "F.views")->count,
		N - 10);
	invar_results_free(r);
}
/* All four views pass through E; in a new index the gallery does as well. */
static void views_pass_through_adapters(void **state)
{
	enum { HIDDEN = 6, FLOATS = HIDDEN * (2 * D + 1) + D };
	static float params[FLOATS], codes[COPIES * N * D], new_index[(N + OTHER) * D],
		views[COPIES * N * INV_ROTATED * D];
	invar_adapter *e;
	const char *const titles[] = {"bent"};
	invar_options *o = test_options("eval", "metrics", "retrieval", NULL);
	inv_stream s = inv_stream_of(4, "adapter", 0);
	double old = 0, new = 0;
	invar_results *r;
	invar_bank *bank;
	char *text;

	(void)state;
	fill();
	fill_views();
	inv_fill_normal(&s, 0, params, FLOATS);
	assert_int_equal(invar_adapter_new(test_ctx, D, HIDDEN, D, true, params,
	                                   params + HIDDEN * D, params + HIDDEN * (D + 1),
	                                   params + HIDDEN * (2 * D + 1), &e),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, index_rows, N + OTHER, new_index), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, aug, COPIES * N, codes), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, aug_views, COPIES * N * INV_ROTATED, views),
	                 INVAR_OK);
	for (int c = 0; c < COPIES; c++) {
		const float *rotated = views + c * N * INV_ROTATED * D;

		old += same_recall(index_rows, codes + c * N * D, rotated, INV_COSINE, 1) / COPIES;
		new += same_recall(new_index, codes + c * N * D, rotated, INV_COSINE, 1) / COPIES;
	}
	assert_int_equal(inv_bank_open(test_ctx, bank_with_views("adapted", COPIES), &bank),
	                 INVAR_OK);
	assert_int_equal(invar_eval(bank, (const invar_adapter *const *)&e, titles, 1, o, &r),
	                 INVAR_OK);
	assert_int_equal(invar_results_columns(r), 4);
	assert_string_equal(invar_results_column(r, 3)->id, "1.views");
	assert_string_equal(invar_results_column(r, 3)->title, "bent, 4 views");
	assert_true(
		fabs(number_of(r, "same-image.old.cosine.augmented.recall_at_1", "1.views") - old) <
		1e-12);
	assert_true(
		fabs(number_of(r, "same-image.new.cosine.augmented.recall_at_1", "1.views") - new) <
		1e-12);
	/* What four views cost, and where F is ahead with them, is said below the table. */
	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	assert_non_null(strstr(text, "4 encodings per query"));
	assert_non_null(
		strstr(text, "same image @1, old index: F with 4 views (4 encodings per query) is "
	                 "ahead of bent by L2 ("));
	invar_free(text);
	invar_results_free(r);
	invar_bank_close(bank);
	invar_adapter_close(e);
	invar_options_free(o);
}

/* Copies added later have no views until encode makes them. */
static void without_views_of_all_copies_only_clean_queries_have_them(void **state)
{
	invar_results *r;
	char *text;

	(void)state;
	fill();
	fill_views();
	r = measure_f(test_ctx, bank_with_views("some", COPIES - 1),
	              test_options("eval", "metrics", "same-image", NULL));
	assert_true(number_of(r, "same-image.old.l2.clean.recall_at_1", "F.views") == 1);
	assert_null(
		invar_results_value(r, "same-image.old.l2.augmented.recall_at_1", "F.views"));
	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	assert_non_null(strstr(text, "not all copies have views"));
	invar_free(text);
	invar_results_free(r);
}

/* By plain loops: how often the nearest labelled row, one row left out or none, fits. */
static double class_recall(bool leave_out)
{
	double right = 0, images = 0;

	for (int i = 0; i < N; i++) {
		if (labels[i] < 0 || (leave_out && labels[i] == 99))
			continue;
		images++;
		for (int c = 0; c < COPIES; c++) {
			const float *query = aug + ((size_t)c * N + i) * D;
			double nearest = INFINITY;
			int64_t found = -1;

			for (int row = 0; row < N + OTHER; row++) {
				const float *x = row < OTHER ? other + row * D : clean + (row - OTHER) * D;
				int64_t label = row < OTHER ? other_labels[row] : labels[row - OTHER];
				double far = 0;

				for (int k = 0; k < D; k++)
					far += ((double)x[k] - query[k]) * ((double)x[k] - query[k]);
				if (label < 0 || (leave_out && row == OTHER + i) || far >= nearest)
					continue;
				nearest = far;
				found = label;
			}
			right += found == labels[i];
		}
	}
	return right / (images * COPIES);
}

static void a_copy_that_finds_the_same_image_has_not_found_its_class(void **state)
{
	const char *id = "same-class.old.l2.augmented.recall_at_1";
	char *text;
	invar_results *r;

	(void)state;
	fill();
	r = measure_f(test_ctx, bank_of("others", true),
	              test_options("eval", "metrics", "same-class", NULL));
	assert_true(fabs(number(r, id) - class_recall(true)) < 1e-12);
	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	assert_non_null(strstr(text, "the image that a query was made from is left out"));
	invar_free(text);
	invar_results_free(r);
	r = measure_f(
		test_ctx, test_path("others"),
		test_options("eval", "metrics", "same-class", "query-image", "counted", NULL));
	assert_true(fabs(number(r, id) - class_recall(false)) < 1e-12);
	assert_true(class_recall(false) > class_recall(true) + 0.1);
	assert_int_equal(invar_results_value(r, id, "F")->count, N - 9);
	invar_results_free(r);
}

static void without_labels_images_are_still_found(void **state)
{
	invar_results *r;

	(void)state;
	fill();
	r = measure_f(test_ctx, bank_of("unlabelled", false),
	              test_options("eval", "metrics", "retrieval,invariance", NULL));
	assert_non_null(invar_results_value(r, "same-image.old.l2.augmented.recall_at_1", "F"));
	assert_string_equal(inv_results_skipped(r, "same-class", NULL),
	                    "test has no labels.npy");
	assert_true(number(r, "invariance.gone") == 0);
	invar_results_free(r);
}

/* A view that cannot be used ends the measurement with its place. */
static void a_view_that_is_no_number_is_named(void **state)
{
	invar_options *o = test_options("eval", "metrics", "same-image", NULL);
	invar_results *r = NULL;
	invar_bank *bank;

	(void)state;
	fill();
	fill_views();
	clean_views[(7 * INV_ROTATED + 1) * D + 2] = NAN;
	assert_int_equal(inv_bank_open(test_ctx, bank_with_views("nan", COPIES), &bank),
	                 INVAR_OK);
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, o, &r), INVAR_E_NUMERIC);
	test_assert_error("clean.views.npy: row 7, rotated by 180 degrees, column 2 is NaN");
	invar_results_free(r);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* ---- Invariance ---------------------------------------------------------------------- */

/* E(x, y) = (x, y / 2) of rows (4 i, 0), whose copies are (4 i, 2) or (4 i, 4). */
static void displacement_and_spread_by_hand(void **state)
{
	enum { ROWS = 12 };
	const float ones[] = {1, 0, 0, 1}, zeros[] = {0, 0}, half[] = {1, 0, 0, 0.5f};
	const char *const titles[] = {"half"};
	float x[ROWS][2], copies[ROWS][2];
	invar_options *o = test_options("eval", "metrics", "invariance", NULL);
	double spread = 4 * sqrt((ROWS * ROWS - 1) / 12.0), codes;
	invar_adapter *e;
	invar_results *r;
	invar_bank *bank;

	(void)state;
	for (int i = 0; i < ROWS; i++) {
		x[i][0] = copies[i][0] = (float)(4 * i);
		x[i][1] = 0;
		copies[i][1] = i % 2 ? 2 : 4;
	}
	write_split(test_ctx, test_path("half"), "test", x[0], copies[0], 1, NULL, ROWS, 2);
	assert_int_equal(
		invar_adapter_new(test_ctx, 2, 2, 2, false, ones, zeros, half, zeros, &e),
		INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("half"), &bank), INVAR_OK);
	assert_int_equal(invar_eval(bank, (const invar_adapter *const *)&e, titles, 1, o, &r),
	                 INVAR_OK);
	assert_true(number(r, "invariance.gone") == 0);
	assert_true(fabs(number_of(r, "invariance.gone", "1") - 0.75) < 1e-12);
	assert_true(fabs(number(r, "invariance.displacement.mean") - 3) < 1e-12);
	assert_true(fabs(number_of(r, "invariance.displacement.mean", "1") - 1.5) < 1e-12);
	assert_true(fabs(number(r, "invariance.displacement.relative") - 3 / spread) < 1e-12);
	/* Second coordinates are 2 and 1: their variance is 1/4. */
	codes = sqrt(spread * spread + 0.25);
	assert_true(fabs(number_of(r, "invariance.spread", "1") - codes / spread) < 1e-12);
	assert_true(fabs(number_of(r, "invariance.slope", "1") - 1) < 1e-6);
	invar_results_free(r);
	invar_bank_close(bank);
	invar_adapter_close(e);
	invar_options_free(o);
}

static void quantiles_are_those_of_a_bank(void **state)
{
	float x[21], moved[21];
	invar_results *r;

	(void)state;
	for (int i = 0; i < 21; i++) {
		x[i] = (float)(64 * i);
		moved[i] = x[i] + (float)(20 - i);
	}
	write_split(test_ctx, test_path("line"), "test", x, moved, 1, NULL, 21, 1);
	r = measure_f(test_ctx, test_path("line"),
	              test_options("eval", "metrics", "invariance", NULL));
	assert_true(fabs(number(r, "invariance.displacement.mean") - 10) < 1e-12);
	assert_true(number(r, "invariance.displacement.q10") == 2);
	assert_true(number(r, "invariance.displacement.q50") == 10);
	assert_true(number(r, "invariance.displacement.q90") == 18);
	invar_results_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_figures_on_arrays),
		cmocka_unit_test(golden_figures_of_a_bank),
		cmocka_unit_test(galleries_are_all_splits),
		cmocka_unit_test(the_nearest_of_four_views_counts),
		cmocka_unit_test(views_pass_through_adapters),
		cmocka_unit_test(without_views_of_all_copies_only_clean_queries_have_them),
		cmocka_unit_test(a_view_that_is_no_number_is_named),
		cmocka_unit_test(a_copy_that_finds_the_same_image_has_not_found_its_class),
		cmocka_unit_test(without_labels_images_are_still_found),
		cmocka_unit_test(displacement_and_spread_by_hand),
		cmocka_unit_test(quantiles_are_those_of_a_bank),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
