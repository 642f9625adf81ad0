/* SPDX-License-Identifier: Apache-2.0 */
/* test_source.c - banks and images as sources give the same rows. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "encode/source.h"
#include "formats/pixels.h"
#include "support.h"

enum { N = 12, D = 48, COPIES = 3, B = 4, S = 2 };

static char text[2100];
static invar_dataset *dataset;
static invar_encoder *encoder;
static invar_bank *bank;
static const uint32_t rows[B] = {10, 0, 7, 3};

/* N pictures of 4 x 4, number 5 of which is broken, and the bank of their features. */
static int set_up(void **state)
{
	test_context_open(state);
	mkdir(test_path("pictures"), 0777);
	mkdir(test_path("pictures/a"), 0777);
	for (unsigned i = 0; i < N; i++) {
		uint8_t rgb[D];
		void *bytes;
		size_t size;

		for (unsigned j = 0; j < D; j++)
			rgb[j] = (uint8_t)(i * 29 + j * 13 + i * j);
		assert_int_equal(inv_png_encode(rgb, 4, 4, &bytes, &size), INVAR_OK);
		test_write(test_path("pictures/a/%02u.png", i), bytes, i == 5 ? 3 : size);
		invar_free(bytes);
	}
	snprintf(text, sizeof text, "folder:%s", test_path("pictures"));
	assert_int_equal(invar_dataset_open(test_ctx, text,
	                                    test_kept("data", "skip-broken", "1", NULL),
	                                    &dataset),
	                 INVAR_OK);
	assert_int_equal(invar_encoder_open(test_ctx, NULL, test_pixels(), &encoder), INVAR_OK);
	assert_int_equal(invar_encode(encoder, dataset,
	                              test_kept("encode", "augment", "noise", "size", "4",
	                                        "copies", "3", "seed", "11", NULL),
	                              test_path("bank")),
	                 INVAR_OK);
	return inv_bank_open(test_ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int tear_down(void **state)
{
	invar_bank_close(bank);
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	return test_context_close(state);
}

static inv_source *open_images(const char *augment)
{
	inv_source *s;

	assert_int_equal(inv_image_source_open(encoder, dataset,
	                                       augment
	                                           ? test_kept("train", "augment", augment,
	                                                       "size", "4", "seed", "11", NULL)
	                                           : test_kept("train", "size", "4", NULL),
	                                       &s),
	                 INVAR_OK);
	assert_int_equal(inv_source_select(s, "train", 0), INVAR_OK);
	return s;
}

static inv_source *open_bank(uint64_t copies)
{
	inv_source *s;

	assert_int_equal(inv_bank_source_open(bank, &s), INVAR_OK);
	assert_int_equal(inv_source_select(s, "train", copies), INVAR_OK);
	return s;
}

static void a_bank_gives_what_it_stores(void **state)
{
	inv_stream draws = inv_stream_of(3, "copies", 0);
	float clean[B][D], made[S][B][D], row[D];
	uint32_t drawn[S];
	const inv_source_batch b = {
		.rows = rows, .N = B, .s = S, .draws = &draws, .drawn = drawn};
	inv_source *s = open_bank(0);

	(void)state;
	assert_false(inv_source_is_encoded(s) || s->unlimited);
	assert_string_equal(s->name, bank->path);
	assert_int_equal(s->rows, N - 1);
	assert_int_equal(s->dim, D);
	assert_int_equal(s->copies, COPIES);
	assert_int_equal(inv_source_samples(s, 2), 2);
	assert_int_equal(inv_source_samples(s, 9), COPIES);
	assert_int_equal(inv_source_fill_clean(s, &b, &clean[0][0]), INVAR_OK);
	assert_int_equal(inv_source_fill_copies(s, &b, &made[0][0][0]), INVAR_OK);
	for (int i = 0; i < B; i++) {
		assert_int_equal(invar_bank_read(bank, "train", INVAR_CLEAN, rows[i], 1, row),
		                 INVAR_OK);
		assert_memory_equal(row, clean[i], sizeof row);
		inv_choose(&draws, rows[i], COPIES, drawn, S);
		for (int k = 0; k < S; k++) {
			assert_int_equal(
				invar_bank_read(bank, "train", (int32_t)drawn[k], rows[i], 1, row),
				INVAR_OK);
			assert_memory_equal(row, made[k][i], sizeof row);
		}
	}
	inv_source_close(s);
}

static void images_give_the_rows_of_a_bank_and_copies_without_end(void **state)
{
	float clean[B][D], same[B][D], made[COPIES][B][D], row[D];
	inv_source_batch b = {.rows = rows, .N = B, .s = COPIES};
	inv_source *s = open_images("noise"), *stored = open_bank(0);
	json_t *said = json_object();

	(void)state;
	assert_true(inv_source_is_encoded(s) && s->unlimited && !s->bank);
	assert_string_equal(s->name, text);
	assert_int_equal(s->rows, N); /* the broken one is not known yet */
	assert_int_equal(inv_source_samples(s, 900), 900);
	assert_int_equal(inv_source_need_copies(s), INVAR_OK);
	assert_int_equal(inv_source_prepare(s, 11, test_path("clean"), "run/clean"), INVAR_OK);
	assert_int_equal(s->rows, N - 1);
	assert_int_equal(inv_source_check_same_rows(stored, s), INVAR_OK);
	assert_int_equal(inv_source_fill_clean(s, &b, &clean[0][0]), INVAR_OK);
	assert_int_equal(inv_source_fill_clean(stored, &b, &same[0][0]), INVAR_OK);
	assert_memory_equal(clean, same, sizeof same);
	assert_int_equal(inv_source_fill_copies(s, &b, &made[0][0][0]), INVAR_OK);
	for (int k = 0; k < COPIES; k++)
		for (int i = 0; i < B; i++) {
			assert_int_equal(invar_bank_read(bank, "train", k, rows[i], 1, row), INVAR_OK);
			assert_memory_equal(row, made[k][i], sizeof row); /* epoch 0 */
		}
	assert_int_equal(inv_source_describe(s, said), INVAR_OK);
	assert_string_equal(json_string_value(json_object_get(said, "bank")), "run/clean");
	json_decref(said);
	inv_source_cancel(s);
	assert_int_equal(inv_source_fill_copies(s, &b, &made[0][0][0]), INVAR_E_CANCELLED);
	inv_source_close(s);
	inv_source_close(stored);
}

static void what_is_encoded_is_told_by_images_alone(void **state)
{
	inv_source *images = open_images("noise"), *stored = open_bank(0);
	json_t *how = inv_source_encoding(images), *options = inv_source_options(images);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(how, "augment")), "noise");
	assert_string_equal(json_string_value(json_object_get(options, "images")), text);
	assert_null(inv_source_encoding(stored));
	assert_null(inv_source_options(stored));
	json_decref(how);
	json_decref(options);
	inv_source_close(images);
	inv_source_close(stored);
}

static void what_a_source_lacks_is_named(void **state)
{
	inv_source *s = open_bank(2);

	(void)state;
	assert_int_equal(s->copies, 2);
	assert_int_equal(inv_source_select(s, "train", 4), INVAR_E_MISMATCH);
	test_assert_error("bank: copies is 4 but train has 3 copies");
	assert_int_equal(inv_source_select(s, "best", 0), INVAR_E_MISMATCH);
	test_assert_error("has no split best; it has train");
	inv_source_close(s);
	s = open_images(NULL);
	assert_int_equal(inv_source_need_copies(s), INVAR_E_USE);
	test_assert_error("set augment SPEC");
	assert_int_equal(inv_source_select(s, "best", 0), INVAR_E_USE);
	test_assert_error("has no split best");
	inv_source_close(s);
	inv_source_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bank_gives_what_it_stores),
		cmocka_unit_test(images_give_the_rows_of_a_bank_and_copies_without_end),
		cmocka_unit_test(what_is_encoded_is_told_by_images_alone),
		cmocka_unit_test(what_a_source_lacks_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
