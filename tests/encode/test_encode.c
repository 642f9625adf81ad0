/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c - images to banks: correct rows, the same bytes however they are made. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bank/bank.h"
#include "formats/pixels.h"
#include "images/augment/augment.h"
#include "support.h"

enum { N = 1100, H = 5, W = 4, CELLS = H * W, CLASSES = 3 };

static invar_context *one, *two;
static char grey_text[4400];

static uint8_t pixel(size_t image, size_t at)
{
	return (uint8_t)((image * 31 + at * 57 + image * at) % 256);
}

/* A grey data set of N images, and labels 0, 1, 2, 0 … */
static void make_grey(const char *images, const char *labels, unsigned other)
{
	uint64_t shape[3] = {N, H, W}, rows = N;
	float *x = malloc(N * CELLS * sizeof *x);
	inv_npy_writer *w;

	for (size_t i = 0; i < N * CELLS; i++)
		x[i] = (float)pixel(i / CELLS + other, i % CELLS) / 255;
	assert_int_equal(invar_array_write(one, images, x, 3, shape, INVAR_FLOAT32), INVAR_OK);
	free(x);
	assert_int_equal(inv_npy_create(labels, INV_I64, 1, &rows, &w), INVAR_OK);
	for (int64_t i = 0; i < N; i++) {
		int64_t label = i % CLASSES;

		assert_int_equal(inv_npy_put_int(w, &label, 1), INVAR_OK);
	}
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
}

static int set_up(void **state)
{
	char images[2000], labels[2000];

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &one), INVAR_OK);
	assert_int_equal(invar_context_new(2, NULL, &two), INVAR_OK);
	snprintf(images, sizeof images, "%s", test_path("x.npy"));
	snprintf(labels, sizeof labels, "%s", test_path("y.npy"));
	make_grey(images, labels, 0);
	snprintf(grey_text, sizeof grey_text, "npy:%s,%s", images, labels);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	invar_context_free(one);
	invar_context_free(two);
	return 0;
}

/* With further options; all are freed when the program ends. */
static const invar_options *rotated(const char *copies, const char *name, const char *text)
{
	if (!name)
		return test_kept("encode", "augment", "rotation+noise:std=0.1", "copies", copies,
		                 "seed", "7", NULL);
	return test_kept("encode", "augment", "rotation+noise:std=0.1", "copies", copies,
	                 "seed", "7", name, text, NULL);
}

static invar_status encode(invar_context *ctx, const char *text, const invar_options *d,
                           const invar_options *o, const char *bank)
{
	invar_dataset *dataset = NULL;
	invar_encoder *e = NULL;
	char path[2000];
	invar_status st;

	snprintf(path, sizeof path, "%s", test_path("%s", bank));
	st = invar_dataset_open(ctx, text, d, &dataset);
	if (st == INVAR_OK)
		st = invar_encoder_open(ctx, NULL, test_pixels(), &e);
	if (st == INVAR_OK)
		st = invar_encode(e, dataset, o, path);
	invar_encoder_close(e);
	invar_dataset_close(dataset);
	return st;
}

static invar_bank *open_bank(const char *name)
{
	invar_bank *b;

	assert_int_equal(inv_bank_open(one, test_path("%s", name), &b), INVAR_OK);
	return b;
}

static void assert_same_bank(const char *a, const char *b, unsigned copies)
{
	test_assert_same_file(a, b, "bank.json");
	test_assert_same_file(a, b, "train/clean.npy");
	test_assert_same_file(a, b, "train/fingerprints.npy");
	test_assert_same_file(a, b, "train/labels.npy");
	for (unsigned i = 0; i < copies; i++) {
		char name[40];

		snprintf(name, sizeof name, "train/aug/%03u.npy", i);
		test_assert_same_file(a, b, name);
		snprintf(name, sizeof name, "train/aug/%03u.params.npy", i);
		test_assert_same_file(a, b, name);
	}
}

/* ---- Claims ---------------------------------------------------------------------- */

static void clean_rows_are_the_normalised_pixels(void **state)
{
	const invar_options *o;
	invar_bank *b;
	float *rows = malloc(N * CELLS * sizeof *rows);
	int64_t labels[N];

	(void)state;
	o = test_kept("encode", "mean", "0.25", "std", "0.3", NULL);
	assert_int_equal(encode(two, grey_text, NULL, o, "plain"), INVAR_OK);
	b = open_bank("plain");
	assert_int_equal(invar_bank_dim(b), CELLS); /* one channel, for the images are grey */
	assert_int_equal(invar_bank_rows(b, "train"), N);
	assert_int_equal(invar_bank_copies(b, "train"), 0);
	assert_string_equal(invar_bank_field(b, "encoder"), "pixels");
	assert_null(invar_bank_field(b, "augment"));
	assert_int_equal(invar_bank_read(b, "train", INVAR_CLEAN, 0, N, rows), INVAR_OK);
	for (size_t i = 0; i < N * CELLS; i++)
		assert_true(rows[i] == ((float)pixel(i / CELLS, i % CELLS) / 255 - 0.25f) / 0.3f);
	assert_int_equal(invar_bank_labels(b, "train", labels), INVAR_OK);
	for (int64_t i = 0; i < N; i++)
		assert_int_equal(labels[i], i % CLASSES);
	invar_bank_close(b);
	free(rows);
}

static void threads_and_the_order_of_calls_change_no_byte(void **state)
{
	const invar_options *o = rotated("5", NULL, NULL);

	(void)state;
	assert_int_equal(encode(one, grey_text, NULL, o, "at-once"), INVAR_OK);
	assert_int_equal(encode(two, grey_text, NULL, o, "two-threads"), INVAR_OK);
	assert_same_bank("at-once", "two-threads", 5);
	o = rotated("2", NULL, NULL);
	assert_int_equal(encode(two, grey_text, NULL, o, "later"), INVAR_OK);
	o = rotated("train=5", NULL, NULL);
	assert_int_equal(encode(one, grey_text, NULL, o, "later"), INVAR_OK);
	assert_same_bank("at-once", "later", 5);
	o = rotated("1", NULL, NULL); /* fewer than exist: they stay */
	assert_int_equal(encode(one, grey_text, NULL, o, "later"), INVAR_OK);
	assert_same_bank("at-once", "later", 5);
	assert_int_equal(encode(one, grey_text, NULL, NULL, "clean-first"), INVAR_OK);
	o = rotated("5", NULL, NULL);
	assert_int_equal(encode(one, grey_text, NULL, o, "clean-first"), INVAR_OK);
	assert_same_bank("at-once", "clean-first", 5);
}

/* More copies than one pass fills, and a batch that is not the whole split. */
static void many_copies_take_several_walks(void **state)
{
	const invar_options *o = rotated("40", NULL, NULL);
	const invar_options *few;
	float a[CELLS], c[CELLS];
	invar_bank *x, *y;

	(void)state;
	few = test_kept("data", "limit", "19", NULL);
	assert_int_equal(encode(two, grey_text, few, o, "many"), INVAR_OK);
	x = open_bank("many");
	y = open_bank("at-once");
	assert_int_equal(invar_bank_copies(x, "train"), 40);
	for (int32_t copy = -1; copy < 5; copy++)
		for (uint64_t i = 0; i < 19; i++) {
			assert_int_equal(invar_bank_read(x, "train", copy, i, 1, a), INVAR_OK);
			assert_int_equal(invar_bank_read(y, "train", copy, i, 1, c), INVAR_OK);
			assert_memory_equal(a, c, sizeof a);
		}
	invar_bank_close(x);
	invar_bank_close(y);
}

/* Row r of copy k, augmented by itself with the key of its image. */
static void expect_copy(const char *bank, uint64_t row, uint64_t index, uint32_t copy,
                        bool pixel_space, float tolerance)
{
	uint64_t shape[4] = {1, 1, H, W};
	float x[CELLS], want[CELLS], got[CELLS];
	invar_augment *a;
	invar_bank *b = open_bank(bank);

	for (size_t i = 0; i < CELLS; i++)
		x[i] = (float)pixel(index, i) / 255;
	for (size_t i = 0; i < CELLS && !pixel_space; i++)
		x[i] = (x[i] - 0.5f) / 0.5f;
	assert_int_equal(invar_augment_parse(one, "rotation+noise:std=0.1", &a), INVAR_OK);
	assert_int_equal(
		invar_augment_apply(a,
	                        test_kept("augment", "seed", "7", "copy", test_text("%u", copy),
	                                  "first", test_text("%u", (unsigned)index), NULL),
	                        x, shape, NULL, want),
		INVAR_OK);
	invar_augment_close(a);
	for (size_t i = 0; i < CELLS && pixel_space; i++)
		want[i] = (want[i] - 0.5f) / 0.5f;
	assert_int_equal(invar_bank_read(b, "train", (int32_t)copy, row, 1, got), INVAR_OK);
	for (size_t i = 0; i < CELLS; i++)
		assert_true(fabsf(got[i] - want[i]) <= tolerance);
	invar_bank_close(b);
}

static void a_copy_follows_from_its_image_alone(void **state)
{
	char list[2000];
	const invar_options *o = rotated("2", NULL, NULL);
	const invar_options *some;

	(void)state;
	expect_copy("at-once", 0, 0, 0, false, 0);
	expect_copy("at-once", 1030, 1030, 4, false, 0);
	snprintf(list, sizeof list, "%s", test_path("classes.txt"));
	test_write(list, "2\n0\n", 4);
	some = test_kept("data", "classes", list, NULL);
	assert_int_equal(encode(two, grey_text, some, o, "two-classes"), INVAR_OK);
	expect_copy("two-classes", 0, 0, 1, false, 0); /* images 0, 2, 3, 5, 6 … */
	expect_copy("two-classes", 1, 2, 1, false, 0);
	expect_copy("two-classes", 3, 5, 0, false, 0);
	o = rotated("2", "augment-space", "pixel");
	assert_int_equal(encode(two, grey_text, NULL, o, "pixel"), INVAR_OK);
	expect_copy("pixel", 17, 17, 1, true, 0);
	test_assert_same_file("pixel", "at-once", "train/clean.npy");
	o = rotated("2", "dtype", "float16");
	assert_int_equal(encode(two, grey_text, NULL, o, "half"), INVAR_OK);
	expect_copy("half", 17, 17, 1, false, 2e-3f);
}

enum { SEEN = 7, AROUND = 11, SEEN_CELLS = SEEN * SEEN, AROUND_CELLS = AROUND * AROUND };

/* [ROWS, cells] of a copy or of the images themselves. */
static void read_rows(const char *bank, int32_t copy, uint64_t rows, float *out)
{
	invar_bank *b = open_bank(bank);

	assert_int_equal(invar_bank_read(b, "train", copy, 0, rows, out), INVAR_OK);
	invar_bank_close(b);
}

/*
 * With inside=1 images are prepared at 11 x 11 (7 sqrt(2), rounded up to odd), and the
 * centre is visible: of the clean image and of the augmented one.
 */
static void inside_sees_the_centre_of_a_larger_image(void **state)
{
	enum { ROWS = 40 };
	const invar_options *few = test_kept("data", "limit", "40", NULL);
	const uint64_t shape[4] = {ROWS, 1, AROUND, AROUND};
	float *all = malloc(ROWS * AROUND_CELLS * sizeof *all);
	float want[ROWS * SEEN_CELLS], got[ROWS * SEEN_CELLS];
	uint64_t clean[4];
	invar_augment *a;

	(void)state;
	assert_int_equal(
		encode(two, grey_text, few, test_kept("encode", "size", "11", NULL), "around"),
		INVAR_OK);
	assert_int_equal(encode(two, grey_text, few,
	                        test_kept("encode", "size", "7", "augment", "rotation:inside=1",
	                                  "copies", "2", NULL),
	                        "inside"),
	                 INVAR_OK);
	read_rows("around", INVAR_CLEAN, ROWS, all);
	assert_int_equal(invar_augment_parse(one, "rotation:inside=1", &a), INVAR_OK);
	assert_int_equal(inv_augment_clean(a, all, shape, clean, want), INVAR_OK);
	read_rows("inside", INVAR_CLEAN, ROWS, got);
	assert_memory_equal(got, want, sizeof got);
	assert_int_equal(invar_augment_apply(a, test_kept("augment", "copy", "1", NULL), all,
	                                     shape, NULL, want),
	                 INVAR_OK);
	read_rows("inside", 1, ROWS, got);
	assert_memory_equal(got, want, sizeof got);
	invar_augment_close(a);
	free(all);
}

static void inside_has_banks_of_its_own(void **state)
{
	static const struct {
		const char *bank, *augment, *was, *is;
	} cases[] = {
		{"inside", "rotation", "with augment rotation:inside=1, not", "not rotation;"},
		{"inside", NULL, "inside 11 x 11, not", "not shorter side, bilinear, centre;"},
		{"outside", "rotation:inside=1", "with augment rotation, not",
	     "rotation:inside=1;"},
		{"bare", "rotation:inside=1", "centre, not", "inside 11 x 11;"},
	};
	const invar_options *few = test_kept("data", "limit", "40", NULL);

	(void)state;
	assert_int_equal(encode(one, grey_text, few,
	                        test_kept("encode", "size", "7", "augment", "rotation", NULL),
	                        "outside"),
	                 INVAR_OK);
	assert_int_equal(
		encode(one, grey_text, few, test_kept("encode", "size", "7", NULL), "bare"),
		INVAR_OK);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const invar_options *o =
			test_kept("encode", "size", "7", "augment", cases[i].augment, NULL);

		assert_int_equal(encode(one, grey_text, few, o, cases[i].bank), INVAR_E_MISMATCH);
		test_assert_error(cases[i].was);
		test_assert_error(cases[i].is);
	}
}

/* Pixel space normalises the same centres afterwards; native images are cut as they are. */
static void inside_in_pixels_and_at_native_size(void **state)
{
	const invar_options *few = test_kept("data", "limit", "40", NULL);
	const invar_options *o =
		test_kept("encode", "size", "7", "augment", "rotation:inside=1", "augment-space",
	              "pixel", "copies", "1", NULL);

	(void)state;
	assert_int_equal(encode(two, grey_text, few, o, "inside-pixel"), INVAR_OK);
	test_assert_same_file("inside-pixel", "inside", "train/clean.npy");
	o = test_kept("encode", "augment", "rotation:inside=1", NULL);
	assert_int_equal(encode(two, grey_text, few, o, "oblong"), INVAR_E_USE);
	test_assert_error("needs square images, but these have 4 x 5 pixels");
	o = test_kept("encode", "size", "96", "augment", "affine:scale=0.01,inside=1", NULL);
	assert_int_equal(encode(two, grey_text, few, o, "oblong"), INVAR_E_USE);
	test_assert_error("narrow its ranges");
	assert_false(test_exists(test_path("oblong")));
}

/* ---- Views ----------------------------------------------------------------------- */

enum { SIDE = 6, PLANE = SIDE * SIDE, VIEWED = 300 };

/* A view, by numpy's definition: out[y, x] = in[x, n - 1 - y] for each quarter turn. */
static void rotate_plainly(const float in[PLANE], unsigned quarters, float out[PLANE])
{
	float from[PLANE];

	memcpy(out, in, sizeof from);
	for (; quarters; quarters--) {
		memcpy(from, out, sizeof from);
		for (size_t y = 0; y < SIDE; y++)
			for (size_t x = 0; x < SIDE; x++)
				out[y * SIDE + x] = from[x * SIDE + SIDE - 1 - y];
	}
}

/* Encodes to "train" and "test", of which test has views. */
static invar_status encode_views(invar_context *ctx, const char *copies, const char *views,
                                 const char *bank)
{
	return encode(ctx, grey_text, test_kept("data", "limit", "300", "holdout", "0.3", NULL),
	              test_kept("encode", "size", "6", "augment", "rotation+noise:std=0.1",
	                        "copies", copies, "seed", "7", "views", views, NULL),
	              bank);
}

static void views_are_the_same_tensors_rotated(void **state)
{
	static const char *const files[] = {"bank.json",
	                                    "test/clean.npy",
	                                    "test/clean.views.npy",
	                                    "test/aug/000.npy",
	                                    "test/aug/000.views.npy",
	                                    "test/aug/001.views.npy",
	                                    "test/aug/002.views.npy",
	                                    "train/aug/002.npy"};
	float row[PLANE], want[PLANE], got[INV_ROTATED * PLANE];
	uint64_t rows;
	invar_bank *b;

	(void)state;
	assert_int_equal(encode_views(one, "3", "4", "views"), INVAR_OK);
	b = open_bank("views");
	rows = invar_bank_rows(b, "test");
	assert_in_range(rows, 80, VIEWED);
	for (int32_t copy = INVAR_CLEAN; copy < 3; copy++) {
		assert_true(invar_bank_has_views(b, "test", copy));
		assert_false(invar_bank_has_views(b, "train", copy));
		for (uint64_t i = 0; i < rows; i++) {
			assert_int_equal(invar_bank_read(b, "test", copy, i, 1, row), INVAR_OK);
			assert_int_equal(invar_bank_read_views(b, "test", copy, i, 1, got), INVAR_OK);
			for (unsigned v = 1; v < INV_VIEWS; v++) {
				rotate_plainly(row, v, want);
				assert_memory_equal(got + (v - 1) * PLANE, want, sizeof want);
			}
		}
	}
	assert_int_equal(invar_bank_read_views(b, "train", 0, 0, 1, got), INVAR_E_MISMATCH);
	test_assert_error("no train/aug/000.views.npy");
	assert_int_equal(invar_bank_read_views(b, "test", 3, 0, 1, got), INVAR_E_USE);
	assert_false(invar_bank_has_views(b, "test", 3));
	invar_bank_close(b);
	/* Threads, and whether views are made at once, later, or copy by copy. */
	assert_int_equal(encode_views(two, "3", "4", "views-two"), INVAR_OK);
	assert_int_equal(encode_views(two, "3", NULL, "views-later"), INVAR_OK);
	assert_int_equal(encode_views(one, "1", "test=4", "views-later"), INVAR_OK);
	assert_int_equal(encode_views(one, "1", "4", "views-more"), INVAR_OK);
	assert_int_equal(encode_views(one, "2", NULL, "views-more"), INVAR_OK);
	assert_int_equal(encode_views(two, "3", "4", "views-more"), INVAR_OK);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		test_assert_same_file("views", "views-two", files[i]);
		test_assert_same_file("views", "views-later", files[i]);
		test_assert_same_file("views", "views-more", files[i]);
	}
	assert_false(test_has_part(test_path("views-more/test")));
	/* Rounded to float16, a view still has the pixels of its row. */
	assert_int_equal(encode(two, grey_text,
	                        test_kept("data", "limit", "300", "holdout", "0.3", NULL),
	                        test_kept("encode", "size", "6", "dtype", "float16", "views",
	                                  "train=4", NULL),
	                        "views-half"),
	                 INVAR_OK);
	b = open_bank("views-half");
	assert_false(invar_bank_has_views(b, "test", INVAR_CLEAN));
	for (uint64_t i = 0; i < invar_bank_rows(b, "train"); i++) {
		assert_int_equal(invar_bank_read(b, "train", INVAR_CLEAN, i, 1, row), INVAR_OK);
		assert_int_equal(invar_bank_read_views(b, "train", INVAR_CLEAN, i, 1, got),
		                 INVAR_OK);
		rotate_plainly(row, 3, want);
		assert_memory_equal(got + 2 * PLANE, want, sizeof want);
	}
	assert_int_equal(inv_split_views(inv_bank_split(b, "train"), INVAR_CLEAN)->h.dtype,
	                 INV_F16);
	invar_bank_close(b);
}

static void views_need_square_images_and_a_split(void **state)
{
	static const struct {
		const char *size, *views, *word;
	} cases[] = {
		{"native", "train=4", "needs square images, but the encoder gets 4 x 5 pixels"},
		{"6", "4", "has no split test; name the splits to store views of, such as val=4"},
		{"6", "train=3", "must be 4, or by split such as val=4,test=4"},
		{"6", "2", "must be 4, or by split such as val=4,test=4"},
		{"6", "test=4", "has no split 'test'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const invar_options *o =
			test_kept("encode", "size", cases[i].size, "views", cases[i].views, NULL);

		assert_int_equal(encode(one, grey_text, NULL, o, "none"), INVAR_E_USE);
		test_assert_error(cases[i].word);
		assert_false(test_exists(test_path("none")));
	}
}

static void forecast_views(const char *bank, const char *copies, double *features,
                           double *bytes)
{
	char path[2000];
	invar_dataset *d;
	invar_encoder *e;
	invar_figures *f;

	snprintf(path, sizeof path, "%s", test_path("%s", bank));
	assert_int_equal(
		invar_dataset_open(one, grey_text,
	                       test_kept("data", "limit", "300", "holdout", "0.3", NULL), &d),
		INVAR_OK);
	assert_int_equal(invar_encoder_open(one, NULL, test_pixels(), &e), INVAR_OK);
	assert_int_equal(
		invar_encode_forecast(e, d,
	                          test_kept("encode", "size", "6", "augment",
	                                    "rotation+noise:std=0.1", "copies", copies, "seed",
	                                    "7", "views", "4", NULL),
	                          path, &f),
		INVAR_OK);
	*features = invar_figure(f, "features");
	*bytes = invar_figure(f, "bytes");
	invar_figures_free(f);
	invar_encoder_close(e);
	invar_dataset_close(d);
}

static void a_forecast_counts_views(void **state)
{
	struct stat info;
	double features, bytes;
	invar_bank *b = open_bank("views");
	uint64_t rows = invar_bank_rows(b, "test"), train = invar_bank_rows(b, "train");

	(void)state;
	invar_bank_close(b);
	forecast_views("views-none", "train=0,test=3", &features, &bytes);
	assert_true(features == (double)(train + 4 * 4 * rows));
	forecast_views("views", "3", &features, &bytes);
	assert_true(features == 0 && bytes == 0);
	/* Of a bank without views, exactly their files are missing. */
	assert_int_equal(encode_views(one, "2", NULL, "views-not-yet"), INVAR_OK);
	forecast_views("views-not-yet", "2", &features, &bytes);
	assert_true(features == (double)(3 * 3 * rows));
	assert_int_equal(stat(test_path("views/test/clean.views.npy"), &info), 0);
	assert_true(bytes == 3.0 * (double)info.st_size);
}

static void refuse(const invar_options *d, const invar_options *o, const char *first,
                   const char *second)
{
	assert_int_equal(encode(two, grey_text, d, o, "at-once"), INVAR_E_MISMATCH);
	test_assert_error(first);
	test_assert_error(second);
}

static void another_kind_of_features_is_refused(void **state)
{
	const invar_options *o = rotated("6", NULL, NULL);
	const invar_options *few;

	(void)state;
	refuse(NULL, rotated("6", "augment", "noise"), "with augment rotation+noise:std=0.1",
	       ", not noise");
	refuse(NULL, rotated("6", "seed", "8"), "with seed 7", "not 8");
	refuse(NULL, rotated("6", "size", "6"), "with size [5, 4]", "not [6, 6]");
	refuse(NULL, rotated("6", "augment-space", "pixel"), "with augment_space normalized",
	       "not pixel");
	refuse(NULL, rotated("6", "dtype", "float16"), "with dtype float32", "not float16");
	refuse(NULL, rotated("6", "mean", "0.1"), "with mean [0.5]", "not [0.1]");
	few = test_kept("data", "limit", "30", NULL);
	refuse(few, o, "has 1100 rows", "30 images were selected");
	/* The same in other words. */
	o = rotated("5", "augment", "rotation:degrees=-180..180+noise:std=0.1");
	assert_int_equal(encode(one, grey_text, NULL, o, "at-once"), INVAR_OK);
	assert_same_bank("at-once", "two-threads", 5);
}

static void other_images_are_refused(void **state)
{
	char images[2000], labels[2000], text[4400];
	const invar_options *o = rotated("6", NULL, NULL);

	(void)state;
	snprintf(images, sizeof images, "%s", test_path("other.npy"));
	snprintf(labels, sizeof labels, "%s", test_path("other-labels.npy"));
	make_grey(images, labels, 1);
	snprintf(text, sizeof text, "npy:%s,%s", images, labels);
	assert_int_equal(encode(two, text, NULL, o, "at-once"), INVAR_E_MISMATCH);
	test_assert_error("image 0 of train has changed");
	assert_false(test_exists(test_path("at-once/train/aug/005.npy")));
	assert_false(test_has_part(test_path("at-once/train/aug")));
}

static void options_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *augment, *name, *text, *word;
	} cases[] = {
		{"rotation", "copies", "1,2", "train=10,test=5"},
		{"rotation", "copies", "train", "train=10,test=5"},
		{"rotation", "copies", "train=1,best=2", "no split 'best'"},
		{"rotation", "copies", "10001", "up to 10000"},
		{NULL, "copies", "3", "augment rotation"},
		{"rotate", "copies", NULL, "rotation"},
		{"crop:size=3x3", "copies", NULL, "9 numbers for a copy"},
		{NULL, "size", "0", "native or 1 to"},
		{NULL, "normalize", "imagenet", "is for 3 channels"},
		{NULL, "mean", "0.1,x", "mean 0.1,x"},
		{NULL, "std", "0", "above 0"},
	};
	invar_options *none = test_options("encode", NULL);

	(void)state;
	assert_int_equal(invar_options_set(none, "dtype", "float8"), INVAR_E_USE);
	test_assert_error("float32 or float16");
	invar_options_free(none);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const invar_options *o = test_kept("encode", "augment", cases[i].augment,
		                                   cases[i].name, cases[i].text, NULL);

		assert_int_not_equal(encode(one, grey_text, NULL, o, "none"), INVAR_OK);
		test_assert_error(cases[i].word);
		assert_false(test_exists(test_path("none")));
	}
}

static void only_a_bank_is_added_to(void **state)
{
	(void)state;
	mkdir(test_path("photos"), 0777);
	test_write(test_path("photos/a.txt"), "a", 1);
	assert_int_equal(encode(one, grey_text, NULL, NULL, "photos"), INVAR_E_MISMATCH);
	test_assert_error("already exists without a bank.json");
	assert_int_equal(encode(one, grey_text, NULL, NULL, "photos/a.txt"), INVAR_E_IO);
}

/* ---- Folders of files ------------------------------------------------------------ */

static void write_png(const char *path, uint32_t width, uint32_t height, unsigned shade)
{
	uint8_t rgb[3 * 64];
	void *bytes;
	size_t size;

	for (size_t i = 0; i < 3 * (size_t)width * height; i++)
		rgb[i] = (uint8_t)(shade + 7 * i);
	assert_int_equal(inv_png_encode(rgb, width, height, &bytes, &size), INVAR_OK);
	test_write(path, bytes, size);
	invar_free(bytes);
}

static const char *make_folder(const char *name, char text[2048])
{
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/cats", name), 0777);
	mkdir(test_path("%s/dogs", name), 0777);
	for (unsigned i = 0; i < 8; i++)
		write_png(test_path("%s/%s/%u.png", name, i % 2 ? "dogs" : "cats", i), 4, 4,
		          10 * i);
	snprintf(text, 2048, "folder:%s", test_path("%s", name));
	return text;
}

static void broken_images_are_left_out_of_every_array(void **state)
{
	char text[2048];
	float before[48], after[48], views[INV_ROTATED * 48], params[1];
	const invar_options *skip;
	const invar_options *o = rotated("2", NULL, NULL);
	invar_array *a;
	invar_bank *x, *y;
	int64_t labels[7];

	(void)state;
	o = test_kept("encode", "augment", "rotation", "copies", "2", "seed", "7", NULL);
	make_folder("pictures", text);
	assert_int_equal(encode(two, text, NULL, o, "whole"), INVAR_OK);
	test_write(test_path("pictures/cats/4.png"), "no picture", 10);
	assert_int_equal(encode(two, text, NULL, o, "broken"), INVAR_E_FORMAT);
	test_assert_error("4.png");
	assert_false(test_has_part(test_path("broken/train")));
	skip = test_kept("data", "skip-broken", "1", NULL);
	o = test_kept("encode", "augment", "rotation", "copies", "1", "seed", "7", NULL);
	assert_int_equal(encode(two, text, skip, o, "broken"), INVAR_OK);
	/* The images left out are known now and not read again. */
	o = test_kept("encode", "augment", "rotation", "copies", "2", "seed", "7", "views",
	              "train=4", NULL);
	assert_int_equal(encode(one, text, NULL, o, "broken"), INVAR_OK);
	assert_int_equal(encode(two, text, skip, o, "broken-views"), INVAR_OK);
	test_assert_same_file("broken", "broken-views", "train/aug/001.views.npy");
	test_assert_same_file("broken", "broken-views", "bank.json");
	x = open_bank("whole");
	y = open_bank("broken");
	assert_int_equal(invar_bank_rows(y, "train"), 7);
	assert_int_equal(invar_bank_labels(y, "train", labels), INVAR_OK);
	for (uint64_t row = 0; row < 7; row++) {
		uint64_t was = row < 2 ? row : row + 1; /* cats 0, 2, 4, 6, then dogs */

		assert_int_equal(labels[row], row >= 3);
		for (int32_t copy = -1; copy < 2; copy++) {
			assert_int_equal(invar_bank_read(x, "train", copy, was, 1, before), INVAR_OK);
			assert_int_equal(invar_bank_read(y, "train", copy, row, 1, after), INVAR_OK);
			assert_memory_equal(before, after, sizeof before);
			assert_int_equal(invar_bank_read_views(y, "train", copy, row, 1, views),
			                 INVAR_OK);
			for (size_t i = 0; i < 48; i++) /* rotated by 180 degrees, plane by plane */
				assert_true(views[48 + i] == after[i / 16 * 16 + 15 - i % 16]);
		}
	}
	assert_int_equal(
		invar_array_open(one, test_path("broken/train/aug/001.params.npy"), &a), INVAR_OK);
	assert_int_equal(a->h.shape[0], 7);
	assert_int_equal(invar_array_read(a, 6, 1, params), INVAR_OK);
	invar_array_close(a);
	invar_bank_close(x);
	invar_bank_close(y);
}

static void images_of_several_sizes_need_one(void **state)
{
	char text[2048];
	const invar_options *o;
	invar_bank *b;

	(void)state;
	make_folder("sizes", text);
	write_png(test_path("sizes/dogs/9.png"), 8, 6, 3);
	o = NULL;
	assert_int_equal(encode(two, text, NULL, o, "sized"), INVAR_E_MISMATCH);
	test_assert_error("8 x 6 pixels but the first one has 4 x 4; use size");
	/* The bank has no rows yet, so its options may change. */
	o = test_kept("encode", "size", "5", NULL);
	assert_int_equal(encode(two, text, NULL, o, "sized"), INVAR_OK);
	b = open_bank("sized");
	assert_int_equal(invar_bank_dim(b), 3 * 5 * 5);
	assert_int_equal(invar_bank_rows(b, "train"), 9);
	invar_bank_close(b);
}

static void splits_can_be_added_later(void **state)
{
	char text[2048];
	const invar_options *o = rotated(NULL, NULL, NULL);
	invar_options *d = test_options("data", NULL);
	invar_bank *b;

	(void)state;
	o = test_kept("encode", "augment", "rotation", "seed", "7", NULL);
	make_folder("halves", text);
	test_set(d, "holdout", "0.5", NULL);
	assert_int_equal(encode(two, text, d, o, "both"), INVAR_OK);
	test_set(d, "split", "train", NULL);
	assert_int_equal(encode(two, text, d, o, "one-by-one"), INVAR_OK);
	test_set(d, "split", "test", NULL);
	assert_int_equal(encode(one, text, d, o, "one-by-one"), INVAR_OK);
	assert_same_bank("both", "one-by-one", 4);
	test_assert_same_file("both", "one-by-one", "test/aug/003.npy");
	b = open_bank("both");
	assert_int_equal(invar_bank_copies(b, "train"), 4);
	assert_int_equal(invar_bank_copies(b, "test"), 4);
	invar_bank_close(b);
	invar_options_free(d);
}

/* ---- Forecasts --------------------------------------------------------------------- */

static void write_large_png(const char *path, uint32_t side)
{
	uint8_t *rgb = malloc(3 * (size_t)side * side);
	void *bytes;
	size_t size;

	for (size_t i = 0; i < 3 * (size_t)side * side; i++)
		rgb[i] = (uint8_t)(i * 7);
	assert_int_equal(inv_png_encode(rgb, side, side, &bytes, &size), INVAR_OK);
	test_write(path, bytes, size);
	invar_free(bytes);
	free(rgb);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first split has small images that are read at once, the second large ones. */
static void a_forecast_measures_every_split(void **state)
{
	char text[2048], source[2048];
	invar_figures *f;
	invar_dataset *d;
	invar_encoder *e;
	const invar_options *o;
	double took, low, seconds, high;

	(void)state;
	mkdir(test_path("uneven"), 0777);
	mkdir(test_path("uneven/train"), 0777);
	mkdir(test_path("uneven/test"), 0777);
	snprintf(source, sizeof source, "%s", test_path("uneven/large.dat"));
	write_large_png(source, 1200);
	for (unsigned i = 0; i < 24; i++) {
		write_png(test_path("uneven/train/%02u.png", i), 4, 4, i);
		assert_int_equal(symlink("../large.dat", test_path("uneven/test/%02u.png", i)), 0);
	}
	snprintf(text, sizeof text, "folder:%s", test_path("uneven"));
	o = test_kept("encode", "size", "4", NULL);
	assert_int_equal(invar_dataset_open(two, text, NULL, &d), INVAR_OK);
	assert_int_equal(invar_encoder_open(two, NULL, test_pixels(), &e), INVAR_OK);
	assert_int_equal(invar_encode_forecast(e, d, o, test_path("uneven-bank"), &f),
	                 INVAR_OK);
	assert_false(test_exists(test_path("uneven-bank")));
	took = now();
	assert_int_equal(invar_encode(e, d, o, test_path("uneven-bank")), INVAR_OK);
	took = now() - took;
	low = invar_figure(f, "seconds-low");
	seconds = invar_figure(f, "seconds");
	high = invar_figure(f, "seconds-high");
	invar_figures_free(f);
	/* Without the large images it would be a hundredth; other programs may slow either. */
	if (!(seconds > took / 30 && seconds < took * 30 && low > 0 && low <= seconds &&
	      seconds <= high))
		fail_msg("%g to %g seconds were foreseen, %g at best; it took %g", low, high,
		         seconds, took);
	invar_encoder_close(e);
	invar_dataset_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_rows_are_the_normalised_pixels),
		cmocka_unit_test(threads_and_the_order_of_calls_change_no_byte),
		cmocka_unit_test(many_copies_take_several_walks),
		cmocka_unit_test(a_copy_follows_from_its_image_alone),
		cmocka_unit_test(another_kind_of_features_is_refused),
		cmocka_unit_test(other_images_are_refused),
		cmocka_unit_test(options_that_make_no_sense_are_refused),
		cmocka_unit_test(inside_sees_the_centre_of_a_larger_image),
		cmocka_unit_test(inside_has_banks_of_its_own),
		cmocka_unit_test(inside_in_pixels_and_at_native_size),
		cmocka_unit_test(views_are_the_same_tensors_rotated),
		cmocka_unit_test(views_need_square_images_and_a_split),
		cmocka_unit_test(a_forecast_counts_views),
		cmocka_unit_test(only_a_bank_is_added_to),
		cmocka_unit_test(broken_images_are_left_out_of_every_array),
		cmocka_unit_test(images_of_several_sizes_need_one),
		cmocka_unit_test(splits_can_be_added_later),
		cmocka_unit_test(a_forecast_measures_every_split),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
