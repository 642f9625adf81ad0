/* SPDX-License-Identifier: Apache-2.0 */
/* test_live_copies.c - copies made from images: in epoch 0 those of a bank, then others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "encode/live_copies.h"
#include "formats/pixels.h"
#include "support.h"

enum { N = 40, D = 48, COPIES = 3 };

static char folder[2048], text[2100];
static invar_dataset *dataset;
static invar_encoder *encoder;
static const invar_options *opts;

/* N pictures of 4 x 4 in one folder, number 7 of which is broken. */
static int set_up(void **state)
{
	test_context_open(state);
	snprintf(folder, sizeof folder, "%s", test_path("pictures"));
	mkdir(folder, 0777);
	mkdir(test_path("pictures/a"), 0777);
	for (unsigned i = 0; i < N; i++) {
		uint8_t rgb[D];
		void *bytes;
		size_t size;

		for (unsigned j = 0; j < D; j++)
			rgb[j] = (uint8_t)(i * 29 + j * 13 + i * j);
		assert_int_equal(inv_png_encode(rgb, 4, 4, &bytes, &size), INVAR_OK);
		test_write(test_path("pictures/a/%02u.png", i), bytes, i == 7 ? 5 : size);
		invar_free(bytes);
	}
	snprintf(text, sizeof text, "folder:%s", folder);
	assert_int_equal(invar_dataset_open(test_ctx, text,
	                                    test_kept("data", "skip-broken", "1", NULL),
	                                    &dataset),
	                 INVAR_OK);
	assert_int_equal(invar_encoder_open(test_ctx, NULL, test_pixels(), &encoder), INVAR_OK);
	opts = test_kept("train", "augment", "rotation+noise", "size", "4", NULL);
	return 0;
}

static int tear_down(void **state)
{
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	return test_context_close(state);
}

static inv_live *open_live(const char *clean, invar_bank **bank)
{
	uint64_t images;
	inv_live *f;

	assert_int_equal(inv_live_open(encoder, dataset, opts, 11, &f), INVAR_OK);
	assert_int_equal(inv_live_select(f, "train", &images), INVAR_OK);
	assert_int_equal(f->of.width, D);
	assert_int_equal(images, N);
	assert_int_equal(inv_live_encode_clean(f, test_path("%s", clean), bank), INVAR_OK);
	return f;
}

static void epoch_0_has_the_copies_of_a_bank(void **state)
{
	static const uint32_t rows[] = {38, 0, 6, 7, 20, 21, 22, 5};
	enum { B = sizeof rows / sizeof *rows };
	static float made[COPIES][B][D], later[COPIES][B][D];
	invar_bank *clean, *bank;
	float row[D];
	inv_live *f = open_live("clean", &clean);

	(void)state;
	assert_int_equal(invar_encode(encoder, dataset,
	                              test_kept("encode", "augment", "rotation+noise", "size",
	                                        "4", "copies", "3", "seed", "11", NULL),
	                              test_path("bank")),
	                 INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("bank"), &bank), INVAR_OK);
	assert_int_equal(invar_bank_rows(clean, "train"), N - 1); /* one is broken */
	assert_string_equal(invar_bank_field(clean, "augment"), "rotation+noise");
	assert_int_equal(inv_live_fill(f, 0, rows, B, COPIES, &made[0][0][0]), INVAR_OK);
	for (int k = 0; k < COPIES; k++)
		for (int i = 0; i < B; i++) {
			assert_int_equal(invar_bank_read(bank, "train", k, rows[i], 1, row), INVAR_OK);
			assert_memory_equal(row, made[k][i], sizeof row);
		}
	assert_int_equal(inv_live_fill(f, 1, rows, B, COPIES, &later[0][0][0]), INVAR_OK);
	assert_true(memcmp(made, later, sizeof made) != 0);
	assert_int_equal(inv_live_fill(f, 1, rows + 2, 1, 1, row), INVAR_OK);
	assert_memory_equal(row, later[0][2], sizeof row); /* whatever else is in the batch */
	inv_live_close(f);
	invar_bank_close(clean);
	invar_bank_close(bank);
}

static void more_samples_than_a_pass_takes(void **state)
{
	enum { S = 40 };
	static float many[S][2][D];
	const uint32_t rows[] = {3, 4};
	float one[2][D];
	invar_bank *clean;
	inv_live *f = open_live("clean", &clean); /* which already exists */

	(void)state;
	assert_int_equal(inv_live_fill(f, 2, rows, 2, S, &many[0][0][0]), INVAR_OK);
	assert_int_equal(inv_live_fill(f, 2, rows, 2, 1, &one[0][0]), INVAR_OK);
	assert_memory_equal(one, many[0], sizeof one);
	for (int k = 1; k < S; k++)
		assert_true(memcmp(many[k], many[0], sizeof one) != 0);
	inv_live_close(f);
	invar_bank_close(clean);
}

static void write_picture(unsigned i, unsigned shade)
{
	uint8_t rgb[D];
	void *bytes;
	size_t size;

	for (unsigned j = 0; j < D; j++)
		rgb[j] = (uint8_t)(i * 29 + j * 13 + i * j + shade);
	assert_int_equal(inv_png_encode(rgb, 4, 4, &bytes, &size), INVAR_OK);
	test_write(test_path("pictures/a/%02u.png", i), bytes, size);
	invar_free(bytes);
}

/* Clean rows are of the old image, copies would be of the new one. */
static void images_that_have_changed_are_refused(void **state)
{
	const uint32_t row = 29; /* of a/30.png, as one is broken */
	float out[D];
	invar_bank *clean;
	inv_live *f = open_live("clean", &clean);

	(void)state;
	write_picture(30, 100); /* during the training */
	assert_int_equal(inv_live_fill(f, 0, &row, 1, 1, out), INVAR_E_MISMATCH);
	test_assert_error("(a/30.png) of train has changed since its row was encoded");
	inv_live_close(f);
	invar_bank_close(clean);
	/* before it is resumed */
	assert_int_equal(inv_live_open(encoder, dataset, opts, 11, &f), INVAR_OK);
	assert_int_equal(inv_live_encode_clean(f, test_path("clean"), &clean),
	                 INVAR_E_MISMATCH);
	test_assert_error("(a/30.png) of train has changed since its row was encoded");
	inv_live_close(f);
	write_picture(30, 0);
	f = open_live("clean", &clean);
	assert_int_equal(inv_live_fill(f, 0, &row, 1, 1, out), INVAR_OK);
	inv_live_close(f);
	invar_bank_close(clean);
}

static void what_is_cancelled_ends(void **state)
{
	const uint32_t row = 0;
	float out[D];
	invar_bank *clean;
	inv_live *f = open_live("clean", &clean);

	(void)state;
	atomic_store(&f->cancelled, true);
	assert_int_equal(inv_live_fill(f, 0, &row, 1, 1, out), INVAR_E_CANCELLED);
	inv_live_close(f);
	inv_live_close(NULL);
	invar_bank_close(clean);
}

static void what_cannot_be_is_refused(void **state)
{
	const invar_options *o = opts;
	invar_bank *clean;
	uint64_t images;
	inv_live *f;

	(void)state;
	assert_int_equal(inv_live_open(encoder, dataset, o, 0, &f), INVAR_OK);
	assert_int_equal(inv_live_select(f, "best", &images), INVAR_E_USE);
	inv_live_close(f);
	o = test_kept("train", "augment", "rotate", "size", "4", NULL);
	assert_int_equal(inv_live_open(encoder, dataset, o, 0, &f), INVAR_E_USE);
	o = test_kept("train", "augment", "noise", "size", "4", NULL);
	assert_int_equal(inv_live_open(encoder, dataset, o, 11, &f), INVAR_OK);
	assert_int_equal(inv_live_encode_clean(f, test_path("clean"), &clean),
	                 INVAR_E_MISMATCH);
	test_assert_error("was made with augment rotation+noise, not noise");
	inv_live_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epoch_0_has_the_copies_of_a_bank),
		cmocka_unit_test(more_samples_than_a_pass_takes),
		cmocka_unit_test(images_that_have_changed_are_refused),
		cmocka_unit_test(what_is_cancelled_ends),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
