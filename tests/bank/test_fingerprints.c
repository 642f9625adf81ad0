/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fingerprints.c - a row is only extended with the image it was made from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "base/sha256.h"
#include "formats/pixels.h"
#include "support.h"

enum { N = 600, SIDE = 4, CELLS = SIDE * SIDE, FILES = 40, PRINT = 16 };

static uint8_t grey[N][CELLS];
static char array_text[2048], array_path[2000];

/* Grey images in an array; as floats of k / 255, which are read back exactly. */
static void write_array(void)
{
	const uint64_t shape[3] = {N, SIDE, SIDE};
	float *x = malloc(sizeof grey * sizeof *x);

	for (size_t i = 0; i < sizeof grey; i++)
		x[i] = (float)grey[i / CELLS][i % CELLS] / 255;
	assert_int_equal(invar_array_write(test_ctx, array_path, x, 3, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	free(x);
}

static void draw_array(void)
{
	for (size_t i = 0; i < sizeof grey; i++)
		grey[i / CELLS][i % CELLS] = (uint8_t)(i * 31 + i / CELLS * 7);
	snprintf(array_path, sizeof array_path, "%s", test_path("x.npy"));
	snprintf(array_text, sizeof array_text, "npy:%s", array_path);
	write_array();
}

static void write_picture(const char *path, unsigned shade)
{
	uint8_t rgb[3 * CELLS];
	void *bytes;
	size_t size;

	for (size_t i = 0; i < sizeof rgb; i++)
		rgb[i] = (uint8_t)(shade + 7 * i);
	assert_int_equal(inv_png_encode(rgb, SIDE, SIDE, &bytes, &size), INVAR_OK);
	test_write(path, bytes, size);
	invar_free(bytes);
}

/* cats/00.png to cats/39.png; returns "folder:…". */
static const char *make_cats(const char *name, char text[2048])
{
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/cats", name), 0777);
	for (unsigned i = 0; i < FILES; i++)
		write_picture(test_path("%s/cats/%02u.png", name, i), 3 * i);
	snprintf(text, 2048, "folder:%s", test_path("%s", name));
	return text;
}

static invar_status encode_in(invar_context *ctx, const char *text, const char *copies,
                              const char *bank)
{
	invar_dataset *d = NULL;
	invar_encoder *e = NULL;
	invar_status st = invar_dataset_open(ctx, text, NULL, &d);

	if (st == INVAR_OK)
		st = invar_encoder_open(ctx, NULL, test_pixels(), &e);
	if (st == INVAR_OK)
		st = invar_encode(e, d,
		                  test_kept("encode", "augment", copies ? "rotation" : NULL,
		                            "copies", copies, NULL),
		                  bank);
	invar_encoder_close(e);
	invar_dataset_close(d);
	return st;
}

static invar_status encode(const char *text, const char *copies, const char *bank)
{
	return encode_in(test_ctx, text, copies, bank);
}

static int stop_in_the_middle(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)stage;
	return done > total / 2 && done < total;
}

/* Some blocks of 256 rows are finished, others are not. */
static void encode_half(const char *text, const char *copies, const char *bank)
{
	invar_hooks hooks = {.size = sizeof hooks, .progress = stop_in_the_middle};
	invar_context *ctx;

	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(encode_in(ctx, text, copies, bank), INVAR_E_CANCELLED);
	invar_context_free(ctx);
	assert_true(test_exists(test_path("%s/train/done.part", strrchr(bank, '/') + 1)));
}

/* ---- Claims ----------------------------------------------------------------------- */

static void an_image_replaced_under_its_name_is_noticed(void **state)
{
	char text[2048];

	(void)state;
	make_cats("replaced", text);
	assert_int_equal(encode(text, "1", test_path("cats-bank")), INVAR_OK);
	write_picture(test_path("replaced/cats/30.png"), 200);
	assert_int_equal(encode(text, "2", test_path("cats-bank")), INVAR_E_MISMATCH);
	test_assert_error("image 30 (cats/30.png) of train has changed since its row was "
	                  "encoded; restore the old image, or use another bank");
	assert_false(test_exists(test_path("cats-bank/train/aug/001.npy")));
	assert_false(test_has_part(test_path("cats-bank/train/aug")));
	write_picture(test_path("replaced/cats/30.png"), 90); /* as it was */
	assert_int_equal(encode(text, "2", test_path("cats-bank")), INVAR_OK);
}

static void an_array_that_has_changed_is_noticed(void **state)
{
	(void)state;
	draw_array();
	assert_int_equal(encode(array_text, "1", test_path("array-bank")), INVAR_OK);
	grey[N - 1][3]++;
	write_array();
	assert_int_equal(encode(array_text, "2", test_path("array-bank")), INVAR_E_MISMATCH);
	test_assert_error("image 599 of train has changed since its row was encoded");
	grey[N - 1][3]--;
	write_array();
	assert_int_equal(encode(array_text, "2", test_path("array-bank")), INVAR_OK);
}

/* Every existing row is compared, including those of finished blocks. */
static void a_resumed_split_has_one_set_of_images(void **state)
{
	(void)state;
	draw_array();
	assert_int_equal(encode(array_text, "2", test_path("whole")), INVAR_OK);
	encode_half(array_text, "2", test_path("halved"));
	grey[100][0]++;
	write_array();
	assert_int_equal(encode(array_text, "2", test_path("halved")), INVAR_E_MISMATCH);
	test_assert_error("image 100 of train has changed since its row was encoded");
	grey[100][0]--;
	write_array();
	assert_int_equal(encode(array_text, "2", test_path("halved")), INVAR_OK);
	test_assert_same_file("whole", "halved", "train/clean.npy");
	test_assert_same_file("whole", "halved", "train/fingerprints.npy");
	test_assert_same_file("whole", "halved", "train/aug/001.npy");
	assert_false(test_has_part(test_path("halved/train")));
}

/* The contents of the file, so that other programs can write it. */
static void a_fingerprint_is_the_begin_of_a_sha256(void **state)
{
	char text[2048], hex[65], want[2 * PRINT + 1];
	size_t bytes;
	unsigned char *file;

	(void)state;
	make_cats("printed", text);
	assert_int_equal(encode(text, NULL, test_path("prints")), INVAR_OK);
	file = test_read(test_path("prints/train/fingerprints.npy"), &bytes);
	assert_int_equal(bytes, 128 + FILES * PRINT);
	assert_non_null(strstr((char *)file + 10,
	                       "'|u1', 'fortran_order': False, 'shape': (40, "
	                       "16)"));
	for (unsigned i = 0; i < FILES; i++) {
		assert_int_equal(
			inv_file_sha256(test_ctx, test_path("printed/cats/%02u.png", i), hex),
			INVAR_OK);
		for (unsigned j = 0; j < PRINT; j++)
			snprintf(want + 2 * j, 3, "%02x", file[128 + i * PRINT + j]);
		assert_memory_equal(want, hex, 2 * PRINT);
	}
	free(file);
}

/* Banks of NumPy and of older versions: only their first rows are compared. */
static void a_bank_without_fingerprints_stays_without(void **state)
{
	char text[2048];

	(void)state;
	make_cats("older", text);
	assert_int_equal(encode(text, "1", test_path("old")), INVAR_OK);
	unlink(test_path("old/train/fingerprints.npy"));
	assert_int_equal(encode(text, "2", test_path("old")), INVAR_OK);
	assert_false(test_exists(test_path("old/train/fingerprints.npy")));
	write_picture(test_path("older/cats/02.png"), 200);
	assert_int_equal(encode(text, "3", test_path("old")), INVAR_E_MISMATCH);
	test_assert_error("row 2 (cats/02.png) no longer matches its image");
}

/* The same for one that was interrupted before fingerprints existed. */
static void an_older_split_is_resumed_without_fingerprints(void **state)
{
	(void)state;
	draw_array();
	encode_half(array_text, "2", test_path("older-half"));
	unlink(test_path("older-half/train/fingerprints.npy.part"));
	assert_int_equal(encode(array_text, "2", test_path("older-half")), INVAR_OK);
	test_assert_same_file("whole", "older-half", "train/clean.npy");
	assert_false(test_exists(test_path("older-half/train/fingerprints.npy")));
	assert_false(test_has_part(test_path("older-half/train")));
}

static void fingerprints_that_make_no_sense_are_refused(void **state)
{
	const uint64_t shape[2] = {FILES, PRINT};
	float *wrong = calloc(FILES * PRINT, sizeof *wrong);
	char text[2048];

	(void)state;
	make_cats("damaged", text);
	assert_int_equal(encode(text, "1", test_path("bad")), INVAR_OK);
	test_write(test_path("bad/train/fingerprints.npy"), "no array", 8);
	assert_int_equal(encode(text, "2", test_path("bad")), INVAR_E_FORMAT);
	test_assert_error("fingerprints.npy");
	assert_int_equal(invar_array_write(test_ctx, test_path("bad/train/fingerprints.npy"),
	                                   wrong, 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(encode(text, "2", test_path("bad")), INVAR_E_FORMAT);
	test_assert_error(
		"is float32 (40, 16) but uint8 (40, 16) was expected; remove the file to "
		"compare only the first rows with their images");
	free(wrong);
}

/* Without its map nothing is known about unfinished arrays; they are removed. */
static void parts_without_a_map_are_removed(void **state)
{
	(void)state;
	draw_array();
	encode_half(array_text, "9", test_path("lost"));
	assert_true(test_exists(test_path("lost/train/aug/008.npy.part")));
	unlink(test_path("lost/train/done.part"));
	test_write(test_path("lost/train/aug/mine.part"), "a", 1);
	assert_int_equal(encode(array_text, "2", test_path("lost")), INVAR_OK);
	test_assert_same_file("whole", "lost", "train/aug/001.npy");
	assert_false(test_exists(test_path("lost/train/aug/008.npy.part")));
	assert_false(test_exists(test_path("lost/train/aug/008.params.npy.part")));
	assert_true(test_exists(test_path("lost/train/aug/mine.part"))); /* not ours */
}

/* Killed after the last array was finished but before its map was removed. */
static void a_map_of_a_finished_split_is_removed(void **state)
{
	(void)state;
	draw_array();
	encode_half(array_text, "9", test_path("late"));
	assert_int_equal(rename(test_path("late/train/done.part"), test_path("kept-map")), 0);
	assert_int_equal(encode(array_text, "2", test_path("late")), INVAR_OK);
	assert_int_equal(rename(test_path("kept-map"), test_path("late/train/done.part")), 0);
	test_write(test_path("late/train/aug/008.npy.part"), "a", 1);
	assert_int_equal(encode(array_text, "2", test_path("late")), INVAR_OK);
	assert_true(test_exists(test_path("late/train/done.part"))); /* of unfinished work */
	unlink(test_path("late/train/aug/008.npy.part"));
	assert_int_equal(encode(array_text, "2", test_path("late")), INVAR_OK);
	assert_false(test_exists(test_path("late/train/done.part")));
}

/* Root may write anywhere, so it becomes nobody for a moment. */
static void a_finished_bank_need_not_be_writable(void **state)
{
	enum { NOBODY = 65534 };
	bool root = geteuid() == 0;
	char text[2048], said[1024];
	invar_status st;

	(void)state;
	make_cats("kept", text);
	assert_int_equal(encode(text, "1", test_path("read-only")), INVAR_OK);
	unlink(test_path("read-only/train/names.txt"));
	chmod(test_folder(), 0755);
	chmod(test_path("read-only"), 0555);
	chmod(test_path("read-only/train"), 0555);
	if (root && seteuid(NOBODY) != 0)
		skip();
	st = encode(text, "1", test_path("read-only"));
	snprintf(said, sizeof said, "%s", invar_last_error());
	if (root)
		assert_int_equal(seteuid(0), 0);
	chmod(test_path("read-only"), 0755);
	chmod(test_path("read-only/train"), 0755);
	if (st != INVAR_OK)
		fail_msg("%s", said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_replaced_under_its_name_is_noticed),
		cmocka_unit_test(an_array_that_has_changed_is_noticed),
		cmocka_unit_test(a_resumed_split_has_one_set_of_images),
		cmocka_unit_test(a_fingerprint_is_the_begin_of_a_sha256),
		cmocka_unit_test(a_bank_without_fingerprints_stays_without),
		cmocka_unit_test(an_older_split_is_resumed_without_fingerprints),
		cmocka_unit_test(fingerprints_that_make_no_sense_are_refused),
		cmocka_unit_test(parts_without_a_map_are_removed),
		cmocka_unit_test(a_map_of_a_finished_split_is_removed),
		cmocka_unit_test(a_finished_bank_need_not_be_writable),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
