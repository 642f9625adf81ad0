/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - whichever allocation fails gives a message and no leak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing.h"
#include "images/dataset.h"
#include "images/prefetch.h"
#include "make_sets.h"
#include "support.h"

typedef struct job {
	invar_context *ctx;
	char text[4096];
	invar_options *opts;
} job;

/* Opens, reads the first image of each split, closes. */
static invar_status open_and_read(void *user)
{
	const job *j = user;
	invar_dataset *d;
	invar_status st = invar_dataset_open(j->ctx, j->text, j->opts, &d);

	assert_true((st == INVAR_OK) == (d != NULL));
	for (size_t i = 0; st == INVAR_OK && i < inv_dataset_splits(d); i++) {
		uint32_t width, height;
		uint8_t *rgb;

		st = inv_dataset_read(d, inv_dataset_split_name(d, i), 0, &rgb, &width, &height);
		invar_free(rgb);
	}
	invar_dataset_close(d);
	return st;
}

static invar_status read_ahead(void *user)
{
	const job *j = user;
	const inv_prefetch_item *item;
	inv_prefetch *a = NULL;
	invar_dataset *d;
	invar_status st = invar_dataset_open(j->ctx, j->text, j->opts, &d);

	if (st == INVAR_OK)
		st = inv_prefetch_new(j->ctx, d, inv_dataset_split(d, "train"), 0, 1, NULL, NULL, 0,
		                      &a);
	if (st == INVAR_OK)
		st = inv_prefetch_next(a, &item);
	inv_prefetch_free(a);
	invar_dataset_close(d);
	return st;
}

static job j;

static void survives(const char *kind, const char *place, invar_status (*work)(void *))
{
	snprintf(j.text, sizeof j.text, "%s:%s", kind, place);
	assert_true(test_each_allocation_fails(work, &j) >= 5);
}

static int fresh_options(void **state)
{
	(void)state;
	invar_options_free(j.opts);
	j.opts = test_options("data", NULL);
	return 0;
}

static void folders_survive(void **state)
{
	static char list[1024];

	(void)state;
	make_folder("f/train/a");
	make_folder("f/train/b");
	make_folder("f/test/a");
	make_png(test_path("f/train/a/1.png"), 1, 2, 3);
	make_png(test_path("f/train/b/1.png"), 1, 2, 3);
	make_png(test_path("f/test/a/1.png"), 1, 2, 3);
	snprintf(list, sizeof list, "%s", test_path("list"));
	make_text(list, "b\na\n");
	test_set(j.opts, "classes", list, NULL);
	survives("folder", test_path("f"), open_and_read);
	test_set(j.opts, "classes", NULL, NULL);
	test_set(j.opts, "holdout", "0.5", NULL);
	make_png(test_path("f/train/a/2.png"), 1, 2, 3);
	survives("folder", test_path("f/train"), open_and_read);
}

static void binary_sets_survive(void **state)
{
	const uint32_t shape[3] = {2, 3, 4};

	(void)state;
	make_folder("s");
	make_bytes(test_path("s/train_X.bin"), 96 * 96 * 3 * 2, 0, 1);
	make_text(test_path("s/train_y.bin"), "\x01\x02");
	make_text(test_path("s/fold_indices.txt"), "0\n1 0\n");
	test_set(j.opts, "split", "train,fold1", NULL);
	survives("stl10", test_path("s"), open_and_read);
	test_set(j.opts, "split", NULL, NULL);
	make_folder("m");
	make_idx(test_path("m/train-images-idx3-ubyte"), 3, shape, 0, 1);
	make_idx(test_path("m/train-labels-idx1-ubyte"), 1, shape, 0, 1);
	survives("mnist", test_path("m"), open_and_read);
	make_folder("c");
	make_bytes(test_path("c/data_batch_1.bin"), 3073, 0, 1);
	make_bytes(test_path("c/test_batch.bin"), 3073, 0, 1);
	survives("cifar10", test_path("c"), open_and_read);
}

static void tiny_imagenet_survives(void **state)
{
	(void)state;
	make_folder("t/train/n1/images");
	make_folder("t/val/images");
	make_png(test_path("t/train/n1/images/0.png"), 0, 0, 0);
	make_png(test_path("t/val/images/0.png"), 0, 0, 0);
	make_text(test_path("t/wnids.txt"), "n1\n");
	make_text(test_path("t/words.txt"), "n1\tfish\n");
	make_text(test_path("t/val/val_annotations.txt"), "0.png\tn1\n");
	survives("tiny-imagenet", test_path("t"), open_and_read);
}

static void arrays_and_reading_ahead_survive(void **state)
{
	const float pixels[4] = {0, 1, 0, 1};

	(void)state;
	make_npy(test_path("a.npy"), "<f4", "(1, 2, 2)", pixels, sizeof pixels);
	survives("npy", test_path("a.npy"), open_and_read);
	survives("npy", test_path("a.npy"), read_ahead);
}

/* One member: a header with its sum, and a PNG file. */
static void make_tar(const char *path, const char *name, const char *png)
{
	static unsigned char blocks[4096];
	size_t size;
	void *bytes = test_read(png, &size);
	unsigned sum = 0;
	FILE *f;

	memset(blocks, 0, sizeof blocks);
	snprintf((char *)blocks, 100, "%s", name);
	snprintf((char *)blocks + 124, 12, "%011o", (unsigned)size);
	memset(blocks + 148, ' ', 8);
	blocks[156] = '0';
	for (size_t i = 0; i < 512; i++)
		sum += blocks[i];
	snprintf((char *)blocks + 148, 8, "%06o", sum);
	memcpy(blocks + 512, bytes, size);
	assert_non_null(f = fopen(path, "wb"));
	assert_int_equal(fwrite(blocks, 1, sizeof blocks, f), sizeof blocks);
	fclose(f);
	free(bytes);
}

static void lists_and_tar_files_survive(void **state)
{
	static char png[1024], place[2048];

	(void)state;
	make_folder("l");
	snprintf(png, sizeof png, "%s", test_path("l/1.png"));
	make_png(png, 1, 2, 3);
	make_text(test_path("l/list.csv"), "path,label,split\n1.png,2,train\n1.png,10,test\n");
	survives("csv", test_path("l/list.csv"), open_and_read);
	make_text(test_path("l/list.csv"), "path,label\n1.png,b\n1.png,a\n");
	survives("csv", test_path("l/list.csv"), open_and_read);
	make_tar(test_path("l/train-0.tar"), "a/1.png", png);
	make_tar(test_path("l/train-1.tar"), "b/1.png", png);
	make_tar(test_path("l/test-0.tar"), "b/1.png", png);
	snprintf(place, sizeof place, "%s/t*-0.tar,%s", test_path("l"),
	         test_path("l/train-1.tar"));
	survives("tar", place, open_and_read);
	snprintf(place, sizeof place, "%s", test_source("fuzz/corpus/tar/links.tar"));
	survives("tar", place, open_and_read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(folders_survive, fresh_options),
		cmocka_unit_test_setup(binary_sets_survive, fresh_options),
		cmocka_unit_test_setup(tiny_imagenet_survives, fresh_options),
		cmocka_unit_test_setup(arrays_and_reading_ahead_survive, fresh_options),
		cmocka_unit_test_setup(lists_and_tar_files_survive, fresh_options),
	};
	int failed;

	if (invar_context_new(1, NULL, &j.ctx) != INVAR_OK)
		return 1;
	failed = cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
	invar_context_free(j.ctx);
	return failed;
}
