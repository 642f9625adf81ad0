/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_lists.c - any bytes as the text files of data sets, cut by form feeds.
 *
 * wnids.txt, words.txt and val_annotations.txt of a Tiny ImageNet and a list for --classes;
 * then fold_indices.txt of an STL-10 of two images. Every label that comes out is one of
 * the classes, every index one of the images.
 */
#include <sys/stat.h>

#include "base/options.h"
#include "fuzz_file.h"
#include "images/dataset.h"
#include "invar.h"

enum { TEXTS = 5, STL_IMAGE = 96 * 96 * 3, STL_IMAGES = 2 };

static void make_in(const char *name)
{
	char path[2 * FUZZ_PATH];

	snprintf(path, sizeof path, "%s/%s", memory_folder(), name);
	require(mkdir(path, 0700) == 0);
}

static void make_sets(void)
{
	static const unsigned char pixels[STL_IMAGES * STL_IMAGE], labels[STL_IMAGES] = {1, 10};
	static const char *const folders[] = {"tiny",     "tiny/train", "tiny/train/n1",
	                                      "tiny/val", "stl10",      NULL};

	for (size_t i = 0; folders[i]; i++)
		make_in(folders[i]);
	put_file("tiny/train/n1/a.JPEG", "", 0);
	put_file("stl10/train_X.bin", pixels, sizeof pixels);
	put_file("stl10/train_y.bin", labels, sizeof labels);
}

static void check_split(const invar_dataset *d, const char *split)
{
	uint64_t count = inv_dataset_count(d, split);
	int64_t *labels = malloc(count * sizeof *labels + 1);
	const inv_images *s = inv_dataset_split(d, split);

	require(inv_dataset_labels(d, split, labels) == INVAR_OK);
	for (uint64_t i = 0; i < count; i++) {
		require(labels[i] >= -1 && labels[i] < (int64_t)inv_dataset_classes(d));
		require(i == 0 || inv_images_index(s, i - 1) < inv_images_index(s, i));
	}
	free(labels);
}

static void open_set(const char *kind, const char *folder, const invar_options *o)
{
	char text[2 * FUZZ_PATH];
	invar_context *ctx;
	invar_dataset *d;

	snprintf(text, sizeof text, "%s:%s/%s", kind, memory_folder(), folder);
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (invar_dataset_open(ctx, text, o, &d) == INVAR_OK) {
		for (size_t k = 0; k < inv_dataset_classes(d); k++)
			require(*inv_dataset_class(d, k) && inv_dataset_class_title(d, k));
		for (size_t i = 0; i < inv_dataset_splits(d); i++)
			check_split(d, inv_dataset_split_name(d, i));
	}
	invar_dataset_close(d);
	invar_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[TEXTS] = {"tiny/wnids.txt", "tiny/words.txt",
	                                         "tiny/val/val_annotations.txt", "classes.txt",
	                                         "stl10/fold_indices.txt"};
	char classes[2 * FUZZ_PATH];
	invar_options *o;

	if (!*memory_folder_path)
		make_sets();
	for (int i = 0; i < TEXTS; i++) {
		const uint8_t *end = size ? memchr(data, '\f', size) : NULL;
		size_t length = end ? (size_t)(end - data) : size;

		put_file(names[i], data, length);
		data += length + (end != NULL);
		size -= length + (end != NULL);
	}
	open_set("tiny-imagenet", "tiny", NULL);
	require(invar_options_new("data", &o) == INVAR_OK);
	snprintf(classes, sizeof classes, "%s/classes.txt", memory_folder());
	require(invar_options_set(o, "classes", classes) == INVAR_OK);
	open_set("tiny-imagenet", "tiny", o);
	require(inv_options_unset(o, "classes") == INVAR_OK);
	require(invar_options_set(o, "split", "fold0,fold1") == INVAR_OK);
	open_set("stl10", "stl10", o);
	invar_options_free(o);
	return 0;
}
