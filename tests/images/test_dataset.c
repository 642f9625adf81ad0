/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dataset.c - every kind of data set on small sets whose pixels are known, the
 * selection of splits, classes and images, and errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "images/dataset.h"
#include "make_sets.h"
#include "support.h"

static invar_context *ctx;
static invar_options *opts;

static invar_dataset *open_set(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static invar_dataset *open_set(const char *format, ...)
{
	invar_dataset *d;
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (invar_dataset_open(ctx, text, opts, &d) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return d;
}

static void refuse(const char *text, invar_status want, const char *word)
{
	invar_dataset *d;

	assert_int_equal(invar_dataset_open(ctx, text, opts, &d), want);
	assert_null(d);
	test_assert_error(word);
}

static const char *text_of(const char *kind, const char *place)
{
	static char text[1024];

	snprintf(text, sizeof text, "%s:%s", kind, place);
	return text;
}

static uint8_t pixel(const invar_dataset *d, const char *split, uint64_t row, uint32_t x,
                     uint32_t y, uint32_t c)
{
	uint32_t width, height;
	uint8_t *rgb, value;

	if (inv_dataset_read(d, split, row, &rgb, &width, &height) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	assert_true(x < width && y < height);
	value = rgb[(y * width + x) * 3 + c];
	invar_free(rgb);
	return value;
}

static int64_t label(const invar_dataset *d, const char *split, uint64_t row)
{
	int64_t labels[64];

	assert_true(inv_dataset_count(d, split) <= 64);
	assert_int_equal(inv_dataset_labels(d, split, labels), INVAR_OK);
	return labels[row];
}

static uint64_t index_of(const invar_dataset *d, const char *split, uint64_t row)
{
	return inv_images_index(inv_dataset_split(d, split), row);
}

static int fresh_options(void **state)
{
	(void)state;
	invar_options_free(opts);
	opts = test_options("data", NULL);
	return 0;
}

/* ---- STL-10 --------------------------------------------------------------------- */

enum { STL_PLANE = 96 * 96, STL_IMAGE = 3 * STL_PLANE };

static const char *make_stl10(const char *name)
{
	const char *folder = make_folder("%s", name);

	make_bytes(test_path("%s/train_X.bin", name), 3 * STL_IMAGE, 0, 7);
	make_text(test_path("%s/train_y.bin", name), "\x01\x0a\x02");
	make_bytes(test_path("%s/unlabeled_X.bin", name), STL_IMAGE, 5, 3);
	return folder;
}

static void stl10_is_column_major(void **state)
{
	invar_dataset *d;

	(void)state;
	make_stl10("stl");
	d = open_set("stl10:%s", test_path("stl"));
	assert_int_equal(inv_dataset_splits(d), 2);
	assert_int_equal(inv_dataset_count(d, "train"), 3);
	assert_int_equal(inv_dataset_classes(d), 10);
	assert_string_equal(inv_dataset_class(d, 9), "truck");
	assert_int_equal(label(d, "train", 1), 9);
	assert_int_equal(label(d, "unlabeled", 0), -1);
	assert_false(inv_dataset_has_labels(d, "unlabeled"));
	for (uint32_t c = 0; c < 3; c++)
		assert_int_equal(pixel(d, "train", 2, 11, 40, c),
		                 (uint8_t)(7 * (2 * STL_IMAGE + c * STL_PLANE + 11 * 96 + 40)));
	invar_dataset_close(d);
}

static void stl10_folds_are_parts_of_train(void **state)
{
	invar_dataset *d;

	(void)state;
	make_stl10("folds");
	make_text(test_path("folds/fold_indices.txt"), "2 0\n1 2 1\n");
	d = open_set("stl10:%s", test_path("folds"));
	assert_int_equal(inv_dataset_splits(d), 2); /* folds only by name */
	assert_string_equal(inv_dataset_offered(d, 1), "fold0");
	invar_dataset_close(d);
	test_set(opts, "split", "fold1,train", NULL);
	d = open_set("stl10:%s", test_path("folds"));
	assert_int_equal(inv_dataset_splits(d), 2);
	assert_int_equal(inv_dataset_count(d, "fold1"), 3);
	assert_int_equal(label(d, "fold1", 1), 1);
	assert_int_equal(index_of(d, "fold1", 1), 1);
	assert_int_equal(pixel(d, "fold1", 1, 3, 4, 0), pixel(d, "train", 2, 3, 4, 0));
	invar_dataset_close(d);
	test_set(opts, "split", "fold0", NULL);
	make_text(test_path("folds/fold_indices.txt"), "2 3\n");
	refuse(text_of("stl10", test_path("folds")), INVAR_E_FORMAT, "'3' is not the index");
	make_text(test_path("folds/fold_indices.txt"), "2 x\n");
	refuse(text_of("stl10", test_path("folds")), INVAR_E_FORMAT, "'x' is not the index");
}

static void stl10_of_odd_length_is_refused(void **state)
{
	(void)state;
	make_stl10("odd");
	make_bytes(test_path("odd/train_X.bin"), 3 * STL_IMAGE - 1, 0, 7);
	refuse(text_of("stl10", test_path("odd")), INVAR_E_FORMAT,
	       "train_X.bin: has 82943 bytes, which is not a multiple of 27648");
	make_bytes(test_path("odd/train_X.bin"), 2 * STL_IMAGE, 0, 7);
	refuse(text_of("stl10", test_path("odd")), INVAR_E_MISMATCH,
	       "train_y.bin: has 3 labels for 2 images");
	make_bytes(test_path("odd/train_X.bin"), 3 * STL_IMAGE, 0, 7);
	make_text(test_path("odd/train_y.bin"), "\x01\x0b\x02");
	refuse(text_of("stl10", test_path("odd")), INVAR_E_FORMAT,
	       "label 1 is 11, expected 1 to 10");
	make_bytes(test_path("odd/train_X.bin"), 0, 0, 0);
	make_bytes(test_path("odd/train_y.bin"), 0, 0, 0);
	refuse(text_of("stl10", test_path("odd")), INVAR_E_FORMAT, "train has no images");
	unlink(test_path("odd/train_y.bin"));
	refuse(text_of("stl10", test_path("odd")), INVAR_E_IO, "train_y.bin");
	make_text(test_path("odd/class_names.txt"), "one\ntwo\n");
	refuse(text_of("stl10", test_path("odd")), INVAR_E_FORMAT,
	       "lists 2 classes, expected 10");
	refuse(text_of("stl10", make_folder("none")), INVAR_E_IO, "has no train_X.bin");
}

/* ---- MNIST, CIFAR-10 --------------------------------------------------------------- */

static void mnist_is_read_under_any_of_its_names(void **state)
{
	const uint32_t shape[3] = {3, 4, 5}, train[3] = {2, 4, 5};
	invar_dataset *d;

	(void)state;
	make_folder("mnist");
	make_idx(test_path("mnist/train-images.idx3-ubyte"), 3, train, 0, 1);
	make_idx(test_path("mnist/train-labels.idx1-ubyte"), 1, train, 3, 4);
	make_idx(test_path("mnist/t10k-images-idx3-ubyte"), 3, shape, 9, 2);
	make_idx(test_path("mnist/t10k-labels-idx1-ubyte"), 1, shape, 0, 1);
	d = open_set("mnist:%s", test_path("mnist"));
	assert_int_equal(inv_dataset_count(d, "train"), 2);
	assert_int_equal(inv_dataset_count(d, "test"), 3);
	assert_int_equal(label(d, "train", 1), 7);
	for (uint32_t c = 0; c < 3; c++)
		assert_int_equal(pixel(d, "test", 1, 3, 2, c), 9 + 2 * (20 + 2 * 5 + 3));
	invar_dataset_close(d);
	d = open_set("fashion-mnist:%s", test_path("mnist"));
	assert_string_equal(inv_dataset_class(d, 9), "Ankle boot");
	invar_dataset_close(d);
}

static void mnist_pairs_must_agree(void **state)
{
	const uint32_t shape[3] = {3, 4, 5}, labels[1] = {4};

	(void)state;
	make_folder("pairs");
	make_idx(test_path("pairs/train-images-idx3-ubyte"), 3, shape, 0, 1);
	refuse(text_of("mnist", test_path("pairs")), INVAR_E_IO,
	       "has no train-labels-idx1-ubyte");
	make_idx(test_path("pairs/train-labels-idx1-ubyte"), 1, labels, 0, 1);
	refuse(text_of("mnist", test_path("pairs")), INVAR_E_MISMATCH,
	       "has 4 labels for the 3 images");
	make_idx(test_path("pairs/train-labels-idx1-ubyte"), 1, shape, 8, 1);
	refuse(text_of("mnist", test_path("pairs")), INVAR_E_FORMAT, "label 2 is 10");
	make_idx(test_path("pairs/train-images-idx3-ubyte"), 1, shape, 0, 1);
	refuse(text_of("mnist", test_path("pairs")), INVAR_E_FORMAT,
	       "has 1 dimension, expected 3");
}

static void cifar10_joins_its_batches(void **state)
{
	enum { RECORD = 3073 };
	invar_dataset *d;

	(void)state;
	make_folder("cifar");
	/* 3073 is 1 modulo 256, so with step 1 record i has label `first + i`. */
	make_bytes(test_path("cifar/data_batch_1.bin"), 2 * RECORD, 3, 1);
	make_bytes(test_path("cifar/data_batch_2.bin"), 1 * RECORD, 8, 1);
	make_bytes(test_path("cifar/data_batch_4.bin"), 1 * RECORD, 8, 1);
	make_bytes(test_path("cifar/test_batch.bin"), 1 * RECORD, 0, 1);
	d = open_set("cifar10:%s", test_path("cifar"));
	assert_int_equal(inv_dataset_count(d, "train"), 3); /* up to the first gap */
	assert_int_equal(label(d, "train", 1), 4);
	assert_int_equal(label(d, "train", 2), 8);
	assert_int_equal(pixel(d, "train", 2, 5, 6, 1), (uint8_t)(8 + 1 + 1024 + 6 * 32 + 5));
	assert_string_equal(inv_dataset_class(d, 1), "automobile");
	invar_dataset_close(d);
	make_bytes(test_path("cifar/data_batch_2.bin"), RECORD + 5, 8, 1);
	refuse(text_of("cifar10", test_path("cifar")), INVAR_E_FORMAT,
	       "data_batch_2.bin: has 3078 bytes, which is not a multiple of 3073");
	make_bytes(test_path("cifar/data_batch_2.bin"), RECORD, 10, 1);
	refuse(text_of("cifar10", test_path("cifar")), INVAR_E_FORMAT, "label 0 is 10");
}

/* ---- Folders --------------------------------------------------------------------- */

/* cat: 4 images, dog: 3; red is the class, green the number. */
static void make_pets(const char *folder)
{
	make_folder("%s/cat", folder);
	make_folder("%s/dog", folder);
	for (unsigned i = 0; i < 4; i++)
		make_png(test_path("%s/cat/%u.png", folder, i), 0, (uint8_t)i, 0);
	for (unsigned i = 0; i < 3; i++)
		make_png(test_path("%s/dog/%u.PNG", folder, i), 1, (uint8_t)i, 0);
}

static void folders_are_classes(void **state)
{
	invar_dataset *d;

	(void)state;
	make_pets("pets");
	make_text(test_path("pets/cat/notes.txt"), "no image");
	make_text(test_path("pets/cat/.hidden.png"), "no image");
	make_png(test_path("pets/README.txt"), 0, 0, 0);
	d = open_set("%s", test_path("pets")); /* a plain folder is a folder of images */
	assert_int_equal(inv_dataset_count(d, "train"), 7);
	invar_dataset_close(d);
	d = open_set("folder:%s", test_path("pets"));
	assert_int_equal(inv_dataset_splits(d), 1);
	assert_int_equal(inv_dataset_count(d, "train"), 7);
	assert_string_equal(inv_dataset_class(d, 1), "dog");
	for (uint64_t i = 0; i < 7; i++)
		assert_int_equal(pixel(d, "train", i, 0, 0, 0), label(d, "train", i));
	assert_int_equal(pixel(d, "train", 6, 4, 3, 1), 2);
	invar_dataset_close(d);
}

static void odd_names_are_names(void **state)
{
	static const char *const names[] = {"a b.png", "a\nb.png", "\xff.png", "-x.png"};
	invar_dataset *d;

	(void)state;
	make_folder("odd names/new\nline");
	for (size_t i = 0; i < 4; i++)
		make_png(test_path("odd names/new\nline/%s", names[i]), 0, 0, 0);
	make_text(test_path("odd names/new\nline/z\n.jpg"), "no image");
	d = open_set("folder:%s", test_path("odd names"));
	assert_int_equal(inv_dataset_count(d, "train"), 5);
	assert_string_equal(inv_dataset_class(d, 0), "new\nline");
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(pixel(d, "train", i, 0, 0, 0), 0);
	assert_int_equal(pixel(d, "train", 4, 0, 0, 0), 0); /* z comes before \xff */
	{
		uint32_t width, height;
		uint8_t *rgb;

		assert_int_equal(inv_dataset_read(d, "train", 3, &rgb, &width, &height),
		                 INVAR_E_FORMAT);
		test_assert_error("new?line/z?.jpg: is not a JPEG, PNG, TIFF or WebP file");
	}
	invar_dataset_close(d);
}

static void splits_are_sub_folders(void **state)
{
	invar_dataset *d;

	(void)state;
	make_pets("split/train");
	make_folder("split/test/dog");
	make_folder("split/test/ant");
	make_png(test_path("split/test/dog/x.png"), 2, 0, 0);
	make_png(test_path("split/test/ant/x.png"), 0, 0, 0);
	make_folder("split/unlabeled/deep/er");
	make_png(test_path("split/unlabeled/1.png"), 0, 0, 0);
	rmdir(test_path("split/unlabeled/deep/er"));
	rmdir(test_path("split/unlabeled/deep"));
	make_folder("split/docs");
	test_set(opts, "split", "test", NULL);
	d = open_set("folder:%s", test_path("split"));
	assert_int_equal(inv_dataset_splits(d), 1);
	assert_int_equal(inv_dataset_classes(d), 3); /* ant, cat, dog: of all splits */
	assert_int_equal(label(d, "test", 1), 2);
	invar_dataset_close(d);
	test_set(opts, "split", NULL, NULL);
	d = open_set("folder:%s", test_path("split"));
	assert_int_equal(inv_dataset_splits(d), 3);
	assert_int_equal(label(d, "unlabeled", 0), -1);
	invar_dataset_close(d);
	test_set(opts, "split", "tset", NULL);
	refuse(text_of("folder", test_path("split")), INVAR_E_USE,
	       "has no split 'tset'; it has train, test, unlabeled");
	test_set(opts, "split", NULL, NULL);
	test_set(opts, "holdout", "0.5", NULL);
	refuse(text_of("folder", test_path("split")), INVAR_E_USE, "already has splits");
	test_set(opts, "holdout", "0", NULL);
	make_png(test_path("split/docs/figure.png"), 0, 0, 0);
	refuse(text_of("folder", test_path("split")), INVAR_E_FORMAT,
	       "the folder docs with 1 image;");
}

static void a_flat_folder_has_no_labels(void **state)
{
	invar_dataset *d;

	(void)state;
	make_folder("flat");
	make_png(test_path("flat/2.png"), 2, 0, 0);
	make_png(test_path("flat/10.png"), 10, 0, 0);
	d = open_set("folder:%s", test_path("flat"));
	assert_int_equal(inv_dataset_classes(d), 0);
	assert_false(inv_dataset_has_labels(d, "train"));
	assert_int_equal(pixel(d, "train", 0, 0, 0, 0), 10); /* byte order */
	invar_dataset_close(d);
	make_folder("flat/sub");
	refuse(text_of("folder", test_path("flat")), INVAR_E_FORMAT,
	       "has images and also the folder sub");
}

static void folders_that_cannot_be_are_refused(void **state)
{
	(void)state;
	make_pets("bad");
	make_folder("bad/empty class");
	refuse(text_of("folder", test_path("bad")), INVAR_E_FORMAT,
	       "bad/empty class: has no JPEG, PNG, TIFF or WebP file");
	refuse(text_of("folder", test_path("nowhere")), INVAR_E_IO, "cannot read the folder");
	refuse(text_of("folder", test_path("bad/cat/1.png")), INVAR_E_IO,
	       "cannot read the folder");
	refuse(text_of("folder", make_folder("void")), INVAR_E_FORMAT, "has no JPEG");
	make_folder("circle/a");
	assert_int_equal(symlink("..", test_path("circle/a/again")), 0);
	refuse(text_of("folder", test_path("circle")), INVAR_E_FORMAT,
	       "is there a loop of symbolic links?");
	make_text(test_path("plain.npy"), "x");
	refuse(test_path("plain.npy"), INVAR_E_USE, "for a NumPy file of images write npy:");
	refuse(test_path("nowhere"), INVAR_E_USE, "there is no such folder");
	refuse("flder:x", INVAR_E_USE, "did you mean folder:?");
	refuse("folder:", INVAR_E_USE, "has no path; write folder:PATH");
}

/* Root may read anything, so it becomes nobody for a moment. */
static void a_folder_that_may_not_be_read_is_named(void **state)
{
	enum { NOBODY = 65534 };
	bool root = geteuid() == 0;

	(void)state;
	make_pets("closed");
	chmod(test_folder(), 0755);
	chmod(test_path("closed/dog"), 0);
	if (root && seteuid(NOBODY) != 0)
		skip();
	refuse(text_of("folder", test_path("closed")), INVAR_E_IO,
	       "closed/dog: cannot read the folder: Permission denied");
	if (root)
		assert_int_equal(seteuid(0), 0);
	chmod(test_path("closed/dog"), 0777);
}

/* ---- Choosing -------------------------------------------------------------------- */

static void holdout_takes_the_last_of_each_class(void **state)
{
	invar_dataset *d;

	(void)state;
	make_pets("hold");
	test_set(opts, "holdout", "0.3", NULL); /* ceil(1.2) of 4 cats, ceil(0.9) of 3 dogs */
	d = open_set("folder:%s", test_path("hold"));
	assert_int_equal(inv_dataset_count(d, "train"), 4);
	assert_int_equal(inv_dataset_count(d, "test"), 3);
	assert_int_equal(pixel(d, "test", 0, 0, 0, 1), 2);
	assert_int_equal(pixel(d, "test", 1, 0, 0, 1), 3);
	assert_int_equal(label(d, "test", 2), 1);
	assert_int_equal(pixel(d, "test", 2, 0, 0, 1), 2);
	assert_int_equal(index_of(d, "test", 2), 2);
	invar_dataset_close(d);
	test_set(opts, "split", "test", NULL);
	d = open_set("folder:%s", test_path("hold"));
	assert_int_equal(inv_dataset_splits(d), 1);
	assert_int_equal(pixel(d, "test", 0, 0, 0, 1), 2);
	invar_dataset_close(d);
	test_set(opts, "holdout", "1", NULL);
	refuse(text_of("folder", test_path("hold")), INVAR_E_USE, "holdout is 1");
}

static char heard[1024]; /* the last message of a data set that was opened loudly */

static void hear(void *user, int level, const char *message)
{
	(void)user;
	(void)level;
	snprintf(heard, sizeof heard, "%s", message);
}

/* Opens a data set in a context whose messages are kept. */
static invar_dataset *open_loudly(const char *text, invar_context **loud)
{
	invar_hooks hooks = {.size = sizeof hooks, .log = hear};
	invar_dataset *d;

	heard[0] = '\0';
	assert_int_equal(invar_context_new(1, &hooks, loud), INVAR_OK);
	if (invar_dataset_open(*loud, text, opts, &d) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return d;
}

static void holdout_leaves_an_image_of_each_class_in_train(void **state)
{
	invar_context *loud;
	invar_dataset *d;

	(void)state;
	make_pets("single");
	make_folder("single/emu");
	make_png(test_path("single/emu/0.png"), 2, 0, 0);
	test_set(opts, "holdout", "0.5", NULL);
	d = open_loudly(text_of("folder", test_path("single")), &loud);
	assert_int_equal(inv_dataset_count(d, "train"), 4); /* 2 cats, 1 dog, the emu */
	assert_int_equal(label(d, "train", 3), 2);
	assert_int_equal(inv_dataset_count(d, "test"), 4);
	assert_non_null(strstr(heard, "every image of the class emu; one stays in train"));
	invar_dataset_close(d);
	invar_context_free(loud);
	test_set(opts, "holdout", "0.99", NULL);
	d = open_loudly(text_of("folder", test_path("single")), &loud);
	assert_int_equal(inv_dataset_count(d, "train"), 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(label(d, "train", i), i);
	assert_non_null(strstr(
		heard, "every image of 3 classes, the first is cat; one of each stays in train"));
	invar_dataset_close(d);
	invar_context_free(loud);
	make_folder("alone/emu");
	make_png(test_path("alone/emu/0.png"), 2, 0, 0);
	refuse(text_of("folder", test_path("alone")), INVAR_E_USE, "leaves none for test");
}

/* Class folders are sorted by class, so the first images would be of one class. */
static void limit_spreads_over_class_folders(void **state)
{
	static char list[256];
	invar_context *loud;
	invar_dataset *d;

	(void)state;
	make_pets("spread");
	make_folder("spread/emu");
	make_png(test_path("spread/emu/0.png"), 2, 0, 0);
	test_set(opts, "limit", "5",
	         NULL); /* an emu is all there is, so the others have more */
	d = open_loudly(text_of("folder", test_path("spread")), &loud);
	assert_int_equal(inv_dataset_count(d, "train"), 5);
	assert_int_equal(index_of(d, "train", 0), 0); /* cats 0, 1; dogs 4, 5; the emu 7 */
	assert_int_equal(index_of(d, "train", 1), 1);
	assert_int_equal(index_of(d, "train", 2), 4);
	assert_int_equal(index_of(d, "train", 3), 5);
	assert_int_equal(index_of(d, "train", 4), 7);
	assert_int_equal(label(d, "train", 4), 2);
	assert_non_null(strstr(heard, "limit 5 takes 1 to 2 images of each of the 3 classes"));
	invar_dataset_close(d);
	invar_context_free(loud);
	test_set(opts, "limit", "2",
	         NULL); /* fewer than classes: the first ones have one each */
	d = open_set("folder:%s", test_path("spread"));
	assert_int_equal(index_of(d, "train", 0), 0);
	assert_int_equal(index_of(d, "train", 1), 4);
	invar_dataset_close(d);
	test_set(opts, "limit", "8", NULL);
	d = open_set("folder:%s", test_path("spread"));
	assert_int_equal(inv_dataset_count(d, "train"), 8);
	invar_dataset_close(d);
	snprintf(list, sizeof list, "%s", test_path("spread.txt"));
	make_text(list, "emu\ndog\n");
	test_set(opts, "classes", list, NULL);
	test_set(opts, "limit", "3", NULL);
	d = open_set("folder:%s", test_path("spread"));
	assert_int_equal(inv_dataset_count(d, "train"), 3);
	assert_int_equal(index_of(d, "train", 1), 5); /* draws are keyed by it, as before */
	assert_int_equal(label(d, "train", 2), 0);
	invar_dataset_close(d);
}

/* Six images of two classes in this order, of which four are taken. */
static invar_dataset *four_of_six(const int64_t labels[6])
{
	static uint8_t pixels[6];

	make_npy(test_path("six.npy"), "|u1", "(6, 1, 1)", pixels, sizeof pixels);
	make_npy(test_path("six-labels.npy"), "<i8", "(6,)", labels, 6 * sizeof *labels);
	test_set(opts, "limit", "4", NULL);
	return open_set("npy:%s,%s", test_path("six.npy"), test_path("six-labels.npy"));
}

static void limit_takes_the_first_where_classes_are_mixed(void **state)
{
	static const int64_t mixed[6] = {0, 1, 0, 1, 1, 0};
	invar_dataset *d;

	(void)state;
	d = four_of_six(mixed);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(index_of(d, "train", i), i);
	invar_dataset_close(d);
}

static void limit_spreads_over_sorted_arrays(void **state)
{
	static const int64_t sorted[6] = {0, 0, 0, 1, 1, 1};
	static const uint64_t expected[4] = {0, 1, 3, 4};
	invar_dataset *d;

	(void)state;
	d = four_of_six(sorted);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(index_of(d, "train", i), expected[i]);
	invar_dataset_close(d);
}

/* 0.07 times 100 is 7.000000000000001 in binary; it must give seven images. */
static void holdout_rounds_as_people_do(void **state)
{
	static uint8_t pixels[100];
	invar_dataset *d;

	(void)state;
	make_npy(test_path("hundred.npy"), "|u1", "(100, 1, 1)", pixels, sizeof pixels);
	test_set(opts, "holdout", "0.07", NULL);
	d = open_set("npy:%s", test_path("hundred.npy"));
	assert_int_equal(inv_dataset_count(d, "test"), 7);
	invar_dataset_close(d);
}

static void classes_are_chosen_and_renumbered(void **state)
{
	invar_dataset *d;

	(void)state;
	make_pets("choose");
	make_folder("choose/emu");
	make_png(test_path("choose/emu/0.png"), 2, 0, 0);
	make_text(test_path("list"), "emu\r\n\n  0 \n");
	test_set(opts, "classes", test_path("list"), NULL);
	d = open_set("folder:%s", test_path("choose"));
	assert_int_equal(inv_dataset_classes(d), 2);
	assert_string_equal(inv_dataset_class(d, 0), "emu");
	assert_string_equal(inv_dataset_class(d, 1), "cat");
	assert_int_equal(inv_dataset_count(d, "train"), 5);
	assert_int_equal(label(d, "train", 0), 1);
	assert_int_equal(label(d, "train", 4), 0);
	assert_int_equal(index_of(d, "train", 4), 7); /* dogs keep their numbers */
	assert_int_equal(pixel(d, "train", 4, 0, 0, 0), 2);
	invar_dataset_close(d);
	test_set(opts, "limit", "2", NULL);
	d = open_set("folder:%s", test_path("choose"));
	assert_int_equal(inv_dataset_count(d, "train"), 2);
	invar_dataset_close(d);
}

static void class_lists_that_make_no_sense_are_refused(void **state)
{
	static char list[256];

	(void)state;
	make_pets("lists");
	snprintf(list, sizeof list, "%s", test_path("bad list"));
	test_set(opts, "classes", list, NULL);
	refuse(text_of("folder", test_path("lists")), INVAR_E_IO, "classes");
	make_text(list, "cat\nwolf\n");
	refuse(text_of("folder", test_path("lists")), INVAR_E_USE, "no class 'wolf'");
	make_text(list, "cat\n0\n");
	refuse(text_of("folder", test_path("lists")), INVAR_E_USE, "the class 'cat' twice");
	make_text(list, "7\n");
	refuse(text_of("folder", test_path("lists")), INVAR_E_USE, "no class '7'");
	make_text(list, "\n \n");
	refuse(text_of("folder", test_path("lists")), INVAR_E_USE, "lists no class");
}

/* ---- Tiny ImageNet --------------------------------------------------------------- */

static void make_tiny(const char *name)
{
	static const char *const ids[] = {"n02", "n01"};

	for (unsigned k = 0; k < 2; k++) {
		make_folder("%s/train/%s/images", name, ids[k]);
		make_png(test_path("%s/train/%s/images/%s_0.png", name, ids[k], ids[k]), 0, 0, 0);
		make_text(test_path("%s/train/%s/%s_boxes.txt", name, ids[k], ids[k]), "");
	}
	make_folder("%s/val/images", name);
	make_png(test_path("%s/val/images/val_1.png", name), 1, 0, 0);
	make_png(test_path("%s/val/images/val_0.png", name), 0, 0, 0);
	make_text(test_path("%s/wnids.txt", name), "n02\nn01\n");
	make_text(test_path("%s/words.txt", name), "n01\tfish, shark\nn011\tx\nn02\tbird\n");
	make_text(test_path("%s/val/val_annotations.txt", name),
	          "val_1.png\tn01\t0\t0\t1\t1\nval_0.png\tn02\t0\t0\t1\t1\n");
}

static void tiny_imagenet_follows_its_lists(void **state)
{
	invar_dataset *d;

	(void)state;
	make_tiny("tiny");
	d = open_set("tiny-imagenet:%s", test_path("tiny"));
	assert_string_equal(inv_dataset_name(d, "val", 0), "val/images/val_1.png");
	assert_int_equal(inv_dataset_splits(d), 2);
	assert_string_equal(inv_dataset_class(d, 1), "n01");
	assert_string_equal(inv_dataset_class_title(d, 1), "fish");
	assert_string_equal(inv_dataset_class_title(d, 0), "bird");
	assert_int_equal(label(d, "val", 0), 1);
	assert_int_equal(pixel(d, "val", 0, 0, 0, 0), 1);
	assert_int_equal(label(d, "train", 1), 1);
	invar_dataset_close(d);
	unlink(test_path("tiny/wnids.txt"));
	d = open_set("tiny-imagenet:%s", test_path("tiny"));
	assert_string_equal(inv_dataset_class(d, 0), "n01"); /* by bytes without the list */
	invar_dataset_close(d);
	make_text(test_path("tiny/val/val_annotations.txt"), "val_1.png\tn09\t0\n");
	refuse(text_of("tiny-imagenet", test_path("tiny")), INVAR_E_FORMAT,
	       "line 1 names n09, which is not in wnids.txt");
	make_text(test_path("tiny/val/val_annotations.txt"), "../../x.png\tn01\n");
	refuse(text_of("tiny-imagenet", test_path("tiny")), INVAR_E_FORMAT, "line 1 is not");
	make_text(test_path("tiny/wnids.txt"), "n02\n../n01\n");
	refuse(text_of("tiny-imagenet", test_path("tiny")), INVAR_E_FORMAT, "is not an id");
	make_text(test_path("tiny/wnids.txt"), "n02\nn02\n");
	refuse(text_of("tiny-imagenet", test_path("tiny")), INVAR_E_FORMAT, "n02 twice");
	make_text(test_path("tiny/wnids.txt"), "n02\n");
	refuse(text_of("tiny-imagenet", test_path("tiny")), INVAR_E_FORMAT,
	       "train/n01: is not a class");
}

/* ---- NumPy ----------------------------------------------------------------------- */

static void arrays_of_every_layout(void **state)
{
	uint8_t bytes[2 * 4 * 5 * 3];
	invar_dataset *d;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	make_npy(test_path("grey.npy"), "|u1", "(2, 4, 5)", bytes, 40);
	d = open_set("npy:%s", test_path("grey.npy"));
	assert_int_equal(pixel(d, "train", 1, 3, 2, 1), 20 + 2 * 5 + 3);
	invar_dataset_close(d);
	make_npy(test_path("last.npy"), "|u1", "(2, 4, 5, 3)", bytes, 120);
	d = open_set("npy:%s", test_path("last.npy"));
	assert_int_equal(pixel(d, "train", 1, 3, 2, 1), 60 + (2 * 5 + 3) * 3 + 1);
	invar_dataset_close(d);
	make_npy(test_path("first.npy"), "|u1", "(2, 3, 4, 5)", bytes, 120);
	d = open_set("npy:%s", test_path("first.npy"));
	assert_int_equal(pixel(d, "train", 1, 3, 2, 1), 60 + 20 + 2 * 5 + 3);
	invar_dataset_close(d);
}

static void arrays_of_floats_go_from_0_to_1(void **state)
{
	float values[4] = {0, 1, 0.5f, 0.2509f};
	const int64_t labels[1] = {2};
	uint32_t width, height;
	invar_dataset *d;
	uint8_t *rgb;

	(void)state;
	make_npy(test_path("f.npy"), "<f4", "(1, 2, 2)", values, sizeof values);
	make_npy(test_path("l.npy"), "<i8", "(1,)", labels, sizeof labels);
	d = open_set("npy:%s,%s", test_path("f.npy"), test_path("l.npy"));
	assert_int_equal(inv_dataset_classes(d), 3);
	assert_int_equal(label(d, "train", 0), 2);
	assert_int_equal(pixel(d, "train", 0, 1, 0, 2), 255);
	assert_int_equal(pixel(d, "train", 0, 1, 1, 2), 64);
	invar_dataset_close(d);
	values[3] = -0.1f;
	make_npy(test_path("f.npy"), "<f4", "(1, 2, 2)", values, sizeof values);
	d = open_set("npy:%s", test_path("f.npy"));
	assert_int_equal(inv_dataset_read(d, "train", 0, &rgb, &width, &height),
	                 INVAR_E_FORMAT);
	assert_null(rgb);
	test_assert_error("image 0 has the value -0.1");
	invar_dataset_close(d);
}

static void arrays_that_are_no_images_are_refused(void **state)
{
	const int64_t labels[2] = {0, -2}, huge[1] = {INT64_MAX};
	uint8_t bytes[16] = {0};
	char text[512];

	(void)state;
	make_npy(test_path("r2.npy"), "|u1", "(4, 4)", bytes, 16);
	refuse(text_of("npy", test_path("r2.npy")), INVAR_E_FORMAT, "its shape is (4, 4)");
	make_npy(test_path("c2.npy"), "|u1", "(1, 2, 2, 4)", bytes, 16);
	refuse(text_of("npy", test_path("c2.npy")), INVAR_E_FORMAT, "(1, 2, 2, 4)");
	make_npy(test_path("i4.npy"), "<i4", "(1, 2, 2)", bytes, 16);
	refuse(text_of("npy", test_path("i4.npy")), INVAR_E_FORMAT, "not int32");
	make_npy(test_path("none.npy"), "|u1", "(0, 2, 2)", bytes, 0);
	refuse(text_of("npy", test_path("none.npy")), INVAR_E_FORMAT, "has no images");
	make_npy(test_path("two.npy"), "|u1", "(2, 2, 2)", bytes, 8);
	make_npy(test_path("l2.npy"), "<i8", "(2,)", labels, 16);
	snprintf(text, sizeof text, "npy:%s,%s", test_path("two.npy"), test_path("l2.npy"));
	refuse(text, INVAR_E_FORMAT, "label 1 is -2");
	make_npy(test_path("l2.npy"), "<i8", "(1,)", huge, 8);
	refuse(text, INVAR_E_MISMATCH, "its shape is (1,) but (2,) was expected");
	make_npy(test_path("l2.npy"), "<f8", "(2,)", labels, 16);
	refuse(text, INVAR_E_FORMAT, "l2.npy");
}

/* ---- Surveys --------------------------------------------------------------------- */

static void a_survey_finds_sizes_and_what_is_broken(void **state)
{
	invar_figures *found;
	invar_dataset *d;

	(void)state;
	make_pets("survey");
	d = open_set("folder:%s", test_path("survey"));
	assert_int_equal(inv_dataset_survey(d, "train", 1, &found), INVAR_OK);
	assert_int_equal(invar_figure(found, "count"), 7);
	assert_int_equal(invar_figure(found, "min-width"), 5);
	assert_int_equal(invar_figure(found, "max-height"), 4);
	invar_figures_free(found);
	invar_dataset_close(d);
	make_text(test_path("survey/cat/2.png"), "not a picture");
	make_text(test_path("survey/dog/0.PNG"), "");
	d = open_set("folder:%s", test_path("survey"));
	assert_int_equal(inv_dataset_survey(d, "train", 0, &found), INVAR_E_FORMAT);
	test_assert_error("cat/2.png"); /* the first of them, whatever the threads */
	invar_dataset_close(d);
	test_set(opts, "skip-broken", "1", NULL);
	d = open_set("folder:%s", test_path("survey"));
	assert_int_equal(inv_dataset_survey(d, "train", 0, &found), INVAR_OK);
	assert_int_equal(invar_figure(found, "count"), 7);
	assert_int_equal(invar_figure(found, "broken"), 2);
	invar_figures_free(found);
	assert_int_equal(inv_dataset_survey(d, "valid", 0, &found), INVAR_E_USE);
	invar_dataset_close(d);
}

/* Out of descriptors: nothing is wrong with the images, so none is skipped. */
static void too_many_open_files_are_no_broken_image(void **state)
{
	invar_figures *found;
	struct rlimit before, none = {0};
	invar_dataset *d;
	invar_status st;

	(void)state;
	make_pets("descriptors");
	test_set(opts, "skip-broken", "1", NULL);
	d = open_set("folder:%s", test_path("descriptors"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	st = inv_dataset_survey(d, "train", 1, &found);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(st, INVAR_E_IO);
	test_assert_error("cat/0.png");
	test_assert_error("Too many open files; raise the limit with ulimit -n");
	assert_null(strstr(invar_last_error(), "skip-broken"));
	invar_dataset_close(d);
}

/* Root may read anything, so it becomes nobody for a moment. */
static void an_image_that_may_not_be_read_is_not_broken(void **state)
{
	enum { NOBODY = 65534 };
	invar_figures *found;
	bool root = geteuid() == 0;
	char image[1024], place[1024];
	invar_dataset *d, *closed;
	invar_status a, b;

	(void)state;
	make_pets("private");
	make_stl10("private stl");
	chmod(test_folder(), 0755);
	chmod(test_path("private/dog/1.PNG"), 0);
	chmod(test_path("private stl"), 0);
	test_set(opts, "skip-broken", "1", NULL);
	d = open_set("folder:%s", test_path("private"));
	if (root && seteuid(NOBODY) != 0)
		skip();
	a = inv_dataset_survey(d, "train", 0, &found);
	snprintf(image, sizeof image, "%s", invar_last_error());
	b = invar_dataset_open(ctx, text_of("stl10", test_path("private stl")), opts, &closed);
	snprintf(place, sizeof place, "%s", invar_last_error());
	if (root)
		assert_int_equal(seteuid(0), 0);
	chmod(test_path("private stl"), 0777);
	assert_int_equal(a, INVAR_E_IO);
	assert_non_null(strstr(image, "dog/1.PNG: cannot open: Permission denied"));
	assert_null(strstr(image, "skip-broken"));
	assert_int_equal(b, INVAR_E_IO);
	assert_non_null(
		strstr(place, "private stl: cannot read the folder: Permission denied"));
	invar_dataset_close(d);
}

/* What is not a file cannot be read by anyone: a broken image. */
static void a_name_without_a_file_is_a_broken_image(void **state)
{
	invar_figures *found;
	invar_dataset *d;

	(void)state;
	make_pets("nameless");
	assert_int_equal(symlink("nowhere", test_path("nameless/cat/8.png")), 0);
	assert_int_equal(symlink("9.png", test_path("nameless/cat/9.png")), 0);
	test_set(opts, "skip-broken", "1", NULL);
	d = open_set("folder:%s", test_path("nameless"));
	assert_int_equal(inv_dataset_survey(d, "train", 0, &found), INVAR_OK);
	assert_int_equal(invar_figure(found, "broken"), 2);
	invar_figures_free(found);
	invar_dataset_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stl10_is_column_major, fresh_options),
		cmocka_unit_test_setup(stl10_folds_are_parts_of_train, fresh_options),
		cmocka_unit_test_setup(stl10_of_odd_length_is_refused, fresh_options),
		cmocka_unit_test_setup(mnist_is_read_under_any_of_its_names, fresh_options),
		cmocka_unit_test_setup(mnist_pairs_must_agree, fresh_options),
		cmocka_unit_test_setup(cifar10_joins_its_batches, fresh_options),
		cmocka_unit_test_setup(folders_are_classes, fresh_options),
		cmocka_unit_test_setup(odd_names_are_names, fresh_options),
		cmocka_unit_test_setup(splits_are_sub_folders, fresh_options),
		cmocka_unit_test_setup(a_flat_folder_has_no_labels, fresh_options),
		cmocka_unit_test_setup(folders_that_cannot_be_are_refused, fresh_options),
		cmocka_unit_test_setup(a_folder_that_may_not_be_read_is_named, fresh_options),
		cmocka_unit_test_setup(holdout_takes_the_last_of_each_class, fresh_options),
		cmocka_unit_test_setup(holdout_leaves_an_image_of_each_class_in_train,
	                           fresh_options),
		cmocka_unit_test_setup(limit_spreads_over_class_folders, fresh_options),
		cmocka_unit_test_setup(limit_takes_the_first_where_classes_are_mixed,
	                           fresh_options),
		cmocka_unit_test_setup(limit_spreads_over_sorted_arrays, fresh_options),
		cmocka_unit_test_setup(too_many_open_files_are_no_broken_image, fresh_options),
		cmocka_unit_test_setup(an_image_that_may_not_be_read_is_not_broken, fresh_options),
		cmocka_unit_test_setup(a_name_without_a_file_is_a_broken_image, fresh_options),
		cmocka_unit_test_setup(holdout_rounds_as_people_do, fresh_options),
		cmocka_unit_test_setup(classes_are_chosen_and_renumbered, fresh_options),
		cmocka_unit_test_setup(class_lists_that_make_no_sense_are_refused, fresh_options),
		cmocka_unit_test_setup(tiny_imagenet_follows_its_lists, fresh_options),
		cmocka_unit_test_setup(arrays_of_every_layout, fresh_options),
		cmocka_unit_test_setup(arrays_of_floats_go_from_0_to_1, fresh_options),
		cmocka_unit_test_setup(arrays_that_are_no_images_are_refused, fresh_options),
		cmocka_unit_test_setup(a_survey_finds_sizes_and_what_is_broken, fresh_options),
	};
	int failed;

	if (invar_context_new(2, NULL, &ctx) != INVAR_OK)
		return 1;
	failed = cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
	invar_context_free(ctx);
	return failed;
}
