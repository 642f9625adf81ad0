/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_decode_once.c - with skip-broken every file is decoded once, and an interrupted
 * encoding resumes with the images that it had found to be broken.
 */
#include "bank/bank.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/pixels.h"
#include "images/dataset.h"

enum { N = 1030, SIDE = 4 };

/* 1023 rows: a block less than there would be of all images. */
static const size_t broken[] = {0, 3, 300, 301, 700, 1000, 1029};
enum { BROKEN = sizeof broken / sizeof *broken, ROWS = N - BROKEN };

static _Atomic unsigned decoded, fail_at; /* 0: never */

invar_status __real_inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                            uint64_t row, inv_image *out,
                                            inv_fingerprint *print);
invar_status __wrap_inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                            uint64_t row, inv_image *out,
                                            inv_fingerprint *print);

invar_status __wrap_inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                            uint64_t row, inv_image *out,
                                            inv_fingerprint *print)
{
	if (++decoded == fail_at)
		return inv_fail(INVAR_E_IO, "the disk is gone");
	return __real_inv_images_read_printed(d, s, row, out, print);
}

static const char *image_path(size_t i)
{
	return test_path("images/%s/%04zu.png", i < N / 2 ? "cats" : "dogs", i);
}

static int make_images(void **state)
{
	test_context_open(state);
	mkdir(test_path("images"), 0777);
	mkdir(test_path("images/cats"), 0777);
	mkdir(test_path("images/dogs"), 0777);
	for (size_t i = 0; i < N; i++) {
		uint8_t rgb[3 * SIDE * SIDE];
		void *bytes;
		size_t size;

		for (size_t j = 0; j < sizeof rgb; j++)
			rgb[j] = (uint8_t)(i * 37 + j * 11 + i * j % 101);
		assert_int_equal(inv_png_encode(rgb, SIDE, SIDE, &bytes, &size), INVAR_OK);
		test_write(image_path(i), bytes, size);
		invar_free(bytes);
	}
	return 0;
}

static void break_images(void)
{
	for (size_t i = 0; i < BROKEN; i++)
		test_write(image_path(broken[i]), "no image", 8);
}

/* The number of files that were decoded. */
static unsigned encode(const char *bank, const char *copies, bool skip, unsigned fail,
                       invar_status expected)
{
	char text[2048], path[2048];
	const invar_options *d = skip ? test_kept("data", "skip-broken", "1", NULL) : NULL;
	const invar_options *o =
		test_kept("encode", "augment", "rotation", "copies", copies, "seed", "7", NULL);
	invar_dataset *dataset;
	invar_encoder *e;

	snprintf(text, sizeof text, "folder:%s", test_path("images"));
	snprintf(path, sizeof path, "%s", test_path("%s", bank));
	assert_int_equal(invar_dataset_open(test_ctx, text, d, &dataset), INVAR_OK);
	assert_int_equal(invar_encoder_open(test_ctx, NULL, test_pixels(), &e), INVAR_OK);
	decoded = 0;
	fail_at = fail;
	assert_int_equal(invar_encode(e, dataset, o, path), expected);
	fail_at = 0;
	invar_encoder_close(e);
	invar_dataset_close(dataset);
	return decoded;
}

static void assert_same_bank(const char *a, const char *b)
{
	static const char *const files[] = {"bank.json",
	                                    "train/clean.npy",
	                                    "train/fingerprints.npy",
	                                    "train/labels.npy",
	                                    "train/names.txt",
	                                    "train/aug/000.npy",
	                                    "train/aug/000.params.npy",
	                                    "train/aug/001.npy"};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		test_assert_same_file(a, b, files[i]);
}

static bool bank_says(const char *bank, const char *text)
{
	size_t size;
	char *json = test_read(test_path("%s/bank.json", bank), &size);
	bool found = strstr(json, text) != NULL;

	free(json);
	return found;
}

/* Rows of all images are made before any is broken; those of the others do not change. */
static void rows_are_those_of_all_images_without_the_broken(void **state)
{
	float was[3 * SIDE * SIDE], is[3 * SIDE * SIDE];
	int64_t *labels = malloc(ROWS * sizeof *labels);
	invar_bank *whole, *bank;
	uint64_t row = 0;

	(void)state;
	assert_int_equal(encode("whole", "2", false, 0, INVAR_OK), N);
	break_images();
	assert_int_equal(encode("once", "2", true, 0, INVAR_OK), N);
	assert_int_equal(inv_bank_open(test_ctx, test_path("whole"), &whole), INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("once"), &bank), INVAR_OK);
	assert_int_equal(invar_bank_rows(bank, "train"), ROWS);
	assert_int_equal(invar_bank_labels(bank, "train", labels), INVAR_OK);
	for (size_t i = 0, next = 0; i < N; i++) {
		if (next < BROKEN && broken[next] == i) {
			next++;
			continue;
		}
		assert_int_equal(labels[row], i >= N / 2);
		for (int32_t copy = -1; copy < 2; copy++) {
			assert_int_equal(invar_bank_read(whole, "train", copy, i, 1, was), INVAR_OK);
			assert_int_equal(invar_bank_read(bank, "train", copy, row, 1, is), INVAR_OK);
			assert_memory_equal(was, is, sizeof was);
		}
		row++;
	}
	invar_bank_close(whole);
	invar_bank_close(bank);
	free(labels);
	assert_true(bank_says("once", "\"left_out\""));
	assert_false(bank_says("once", "\"open\""));
}

/* Far enough for the first blocks to be complete; then another time. */
static void an_interrupted_encoding_resumes(void **state)
{
	unsigned again;

	(void)state;
	encode("torn", "2", true, 700, INVAR_E_IO);
	assert_true(bank_says("torn", "\"open\""));
	encode("torn", "2", true, 200, INVAR_E_IO);
	again = encode("torn", "2", true, 0, INVAR_OK);
	assert_true(again < N - 256);
	assert_same_bank("torn", "once");
}

/* Copies that are added later are made of the rows that there are. */
static void copies_are_added(void **state)
{
	(void)state;
	encode("grown", "1", true, 0, INVAR_OK);
	assert_true(encode("grown", "2", true, 0, INVAR_OK) < 2 * N);
	assert_same_bank("grown", "once");
}

static void a_split_without_a_readable_image_is_refused(void **state)
{
	(void)state;
	for (size_t i = 1; i < N; i++) /* image 0 is broken already */
		test_write(image_path(i), "no image", 8);
	encode("none", "1", true, 0, INVAR_E_FORMAT);
}

static int stop_at_once(void *user, const char *stage, uint64_t done, uint64_t total)
{
	unsigned *at = user;

	(void)stage;
	(void)done;
	(void)total;
	*at = decoded;
	return 1;
}

/* A pass whose jobs were all taken by other threads reported nothing and could not stop. */
static void progress_is_reported_before_the_first_image(void **state)
{
	unsigned at = N;
	const invar_hooks hooks = {.size = sizeof hooks, .user = &at, .progress = stop_at_once};
	invar_context *before = test_ctx;

	(void)state;
	assert_int_equal(invar_context_new(2, &hooks, &test_ctx), INVAR_OK);
	encode("stopped", "1", false, 0, INVAR_E_CANCELLED);
	assert_int_equal(at, 0);
	invar_context_free(test_ctx);
	test_ctx = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_is_reported_before_the_first_image),
		cmocka_unit_test(rows_are_those_of_all_images_without_the_broken),
		cmocka_unit_test(an_interrupted_encoding_resumes),
		cmocka_unit_test(copies_are_added),
		cmocka_unit_test(a_split_without_a_readable_image_is_refused),
	};

	return cmocka_run_group_tests(tests, make_images, test_context_close);
}
