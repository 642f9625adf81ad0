/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_names.c - names.txt: one line per row whatever the file names, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "base/memory.h"
#include "formats/pixels.h"
#include "images/dataset.h"
#include "support.h"

static void write_picture(const char *path, uint8_t shade)
{
	uint8_t rgb[4 * 4 * 3];
	void *bytes;
	size_t size;

	for (size_t i = 0; i < sizeof rgb; i++)
		rgb[i] = (uint8_t)(shade + 7 * i);
	assert_int_equal(inv_png_encode(rgb, 4, 4, &bytes, &size), INVAR_OK);
	test_write(path, bytes, size);
	invar_free(bytes);
}

/* By their bytes, as a folder's images are. */
static const char *const odd[] = {
	"a\nb.png",
	"a\rb.png",
	"back\\slash.png",
	"back\\x41.png",
	"bell\a.png",
	"del\x7f.png",
	"plain name, 1.png",
	"\xc2\x85nel.png",
	"\xc3(cut.png",
	"\xc3\xa9t\xc3\xa9.png",
	"\xe2\x80\xa8ls.png",
	"\xed\xa0\x80half.png",
	"\xf0\x9f\x90\x88.png",
	"\xffno.png",
};
static const char *const lines[] = {
	"a\\x0ab.png",           "a\\x0db.png",           "back\\\\slash.png",
	"back\\\\x41.png",       "bell\\x07.png",         "del\\x7f.png",
	"plain name, 1.png",     "\\xc2\\x85nel.png",     "\\xc3(cut.png",
	"\xc3\xa9t\xc3\xa9.png", "\\xe2\\x80\\xa8ls.png", "\\xed\\xa0\\x80half.png",
	"\xf0\x9f\x90\x88.png",  "\\xffno.png",
};
enum { ODD = sizeof odd / sizeof *odd };

static invar_status encode(const char *text, const invar_options *which, const char *copies,
                           const char *bank)
{
	invar_dataset *d = NULL;
	invar_encoder *e = NULL;
	invar_status st = invar_dataset_open(test_ctx, text, which, &d);

	if (st == INVAR_OK)
		st = invar_encoder_open(test_ctx, NULL, test_pixels(), &e);
	if (st == INVAR_OK)
		st = invar_encode(e, d,
		                  test_kept("encode", "augment", copies ? "rotation" : NULL,
		                            "copies", copies, NULL),
		                  bank);
	invar_encoder_close(e);
	invar_dataset_close(d);
	return st;
}

static const char *folder_text(const char *name, char text[2048])
{
	snprintf(text, 2048, "folder:%s", test_path("%s", name));
	return text;
}

static const char *make_classes(const char *name, char text[2048])
{
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/cats", name), 0777);
	mkdir(test_path("%s/dogs", name), 0777);
	mkdir(test_path("%s/dogs/old", name), 0777);
	for (unsigned i = 0; i < 8; i++)
		write_picture(test_path("%s/%s/%u.png", name, i % 2 ? "dogs/old" : "cats", i),
		              (uint8_t)(10 * i));
	return folder_text(name, text);
}

static void assert_names(const char *bank, const char *split, const char *want)
{
	char *text = test_read(test_path("%s/%s/names.txt", bank, split), NULL);

	assert_string_equal(text, want);
	free(text);
}

/* ---- Claims ----------------------------------------------------------------------- */

static void any_name_is_one_line_and_comes_back(void **state)
{
	char text[2048], *written, *rest, **names;
	invar_bank *b;

	(void)state;
	mkdir(test_path("odd"), 0777);
	for (size_t i = 0; i < ODD; i++)
		write_picture(test_path("odd/%s", odd[i]), (uint8_t)i);
	assert_int_equal(encode(folder_text("odd", text), NULL, NULL, test_path("odd-bank")),
	                 INVAR_OK);
	rest = written = test_read(test_path("odd-bank/train/names.txt"), NULL);
	for (size_t i = 0; i < ODD; i++)
		assert_string_equal(strsep(&rest, "\n"), lines[i]);
	assert_string_equal(rest, "");
	free(written);
	assert_int_equal(inv_bank_open(test_ctx, test_path("odd-bank"), &b), INVAR_OK);
	assert_true(inv_bank_has_names(b, "train"));
	assert_int_equal(invar_bank_names(b, "train", &names), INVAR_OK);
	for (size_t i = 0; i < ODD; i++)
		assert_string_equal(names[i], odd[i]);
	invar_free(names);
	invar_bank_close(b);
	/* And they are the same images to a second call. */
	assert_int_equal(encode(text, NULL, "1", test_path("odd-bank")), INVAR_OK);
}

static void names_follow_splits_choices_and_broken_images(void **state)
{
	char text[2048];
	const invar_options *which;
	invar_dataset *d;

	(void)state;
	make_classes("pets", text);
	which = test_kept("data", "holdout", "0.5", NULL);
	assert_int_equal(encode(text, which, "1", test_path("halves")), INVAR_OK);
	assert_names("halves", "train",
	             "cats/0.png\ncats/2.png\ndogs/old/1.png\ndogs/old/3.png\n");
	assert_names("halves", "test",
	             "cats/4.png\ncats/6.png\ndogs/old/5.png\ndogs/old/7.png\n");
	assert_int_equal(invar_dataset_open(test_ctx, text, which, &d), INVAR_OK);
	assert_string_equal(inv_dataset_name(d, "test", 3), "dogs/old/7.png");
	assert_null(inv_dataset_name(d, "test", 4));
	assert_null(inv_dataset_name(d, "val", 0));
	invar_dataset_close(d);
	test_write(test_path("pets/cats/2.png"), "no picture", 10);
	which = test_kept("data", "skip-broken", "1", "limit", "5", NULL);
	assert_int_equal(encode(text, which, NULL, test_path("some")), INVAR_OK);
	assert_names("some", "train", /* of three cats and two dogs */
	             "cats/0.png\ncats/4.png\ndogs/old/1.png\ndogs/old/3.png\n");
}

static void images_without_files_have_no_names(void **state)
{
	const uint64_t shape[3] = {2, 4, 4};
	float x[32] = {0};
	char text[2048];
	invar_bank *b;
	char **names;

	(void)state;
	snprintf(text, sizeof text, "npy:%s", test_path("x.npy"));
	assert_int_equal(invar_array_write(test_ctx, text + 4, x, 3, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(encode(text, NULL, NULL, test_path("plain")), INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("plain"), &b), INVAR_OK);
	assert_false(inv_bank_has_names(b, "train"));
	assert_int_equal(invar_bank_names(b, "train", &names), INVAR_OK);
	assert_null(names);
	invar_bank_close(b);
}

/* A bank made without names gets them, finished or not. */
static void an_older_bank_gets_names(void **state)
{
	char text[2048];

	(void)state;
	make_classes("older", text);
	for (int copies = 0; copies < 2; copies++) {
		assert_int_equal(encode(text, NULL, "1", test_path("old%d", copies)), INVAR_OK);
		assert_int_equal(unlink(test_path("old%d/train/names.txt", copies)), 0);
		assert_int_equal(encode(text, NULL, copies ? "2" : "1", test_path("old%d", copies)),
		                 INVAR_OK);
		assert_names(copies ? "old1" : "old0", "train",
		             "cats/0.png\ncats/2.png\ncats/4.png\ncats/6.png\n"
		             "dogs/old/1.png\ndogs/old/3.png\ndogs/old/5.png\ndogs/old/7.png\n");
	}
	/* But not those of other images. */
	unlink(test_path("old0/train/names.txt"));
	write_picture(test_path("older/cats/2.png"), 200);
	assert_int_equal(encode(text, NULL, "1", test_path("old0")), INVAR_E_MISMATCH);
	test_assert_error("row 1 (cats/2.png) no longer matches its image");
	assert_false(test_exists(test_path("old0/train/names.txt")));
}

static void files_of_other_names_are_refused(void **state)
{
	char text[2048], to[2048];

	(void)state;
	make_classes("renamed", text);
	assert_int_equal(encode(text, NULL, "1", test_path("kept")), INVAR_OK);
	snprintf(to, sizeof to, "%s", test_path("renamed/cats/5.png"));
	assert_int_equal(rename(test_path("renamed/cats/4.png"), to), 0);
	assert_int_equal(encode(text, NULL, "2", test_path("kept")), INVAR_E_MISMATCH);
	test_assert_error("row 2 was made from cats/4.png, but that image is now cats/5.png");
	test_write(test_path("kept/train/names.txt"), "cats/0.png\n", 11);
	assert_int_equal(encode(text, NULL, "2", test_path("kept")), INVAR_E_MISMATCH);
	test_assert_error("row 1 was made from no file, but that image is now cats/2.png");
}

static void what_makes_no_sense_is_refused(void **state)
{
	char **names;

	(void)state;
	assert_int_equal(inv_row_names_parse("a\nb\n", 4, "n.txt", 3, &names),
	                 INVAR_E_MISMATCH);
	test_assert_error("has 2 lines but the split has 3 rows");
	assert_int_equal(inv_row_names_parse("a\n\\q\n", 5, "n.txt", 2, &names),
	                 INVAR_E_FORMAT);
	test_assert_error("n.txt: line 2 contains");
	assert_int_equal(inv_row_names_parse("\\x00\n", 5, "n.txt", 1, &names), INVAR_E_FORMAT);
	assert_int_equal(inv_row_names_parse("a\0b\n", 4, "n.txt", 1, &names), INVAR_E_FORMAT);
	assert_int_equal(inv_row_names_parse("a\\", 2, "n.txt", 1, &names), INVAR_E_FORMAT);
	/* The last line may lack its end. */
	assert_int_equal(inv_row_names_parse("a\n\\\\x", 5, "n.txt", 2, &names), INVAR_OK);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "\\x");
	inv_free(names);
}

/* A message about a row names its file; a foreign names.txt is not changed. */
static void a_row_is_named(void **state)
{
	char text[2048], row[INV_ROW_TEXT];
	float z[48];
	FILE *f;
	invar_bank *b;

	(void)state;
	make_classes("named", text);
	assert_int_equal(encode(text, NULL, NULL, test_path("rows")), INVAR_OK);
	f = fopen(test_path("rows/train/clean.npy"), "r+b");
	assert_non_null(f);
	memset(z, 0xff, sizeof z); /* NaN */
	fseek(f, 128 + 5 * (long)sizeof z + 8, SEEK_SET);
	assert_int_equal(fwrite(z, 4, 1, f), 1);
	fclose(f);
	assert_int_equal(inv_bank_open(test_ctx, test_path("rows"), &b), INVAR_OK);
	assert_int_equal(invar_bank_read(b, "train", INVAR_CLEAN, 5, 1, z), INVAR_E_NUMERIC);
	test_assert_error("row 5 (dogs/old/3.png), column 2 is NaN");
	test_write(test_path("rows/train/names.txt"), "cats\ndogs\n", 10);
	assert_int_equal(invar_bank_read(b, "train", INVAR_CLEAN, 5, 1, z), INVAR_E_NUMERIC);
	test_assert_error("row 5, column 2 is NaN");
	assert_string_equal(inv_row_text(b, inv_bank_split(b, "train"), 0, row), "0");
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_name_is_one_line_and_comes_back),
		cmocka_unit_test(names_follow_splits_choices_and_broken_images),
		cmocka_unit_test(images_without_files_have_no_names),
		cmocka_unit_test(an_older_bank_gets_names),
		cmocka_unit_test(files_of_other_names_are_refused),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(a_row_is_named),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
