/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stl10.c - STL-10 in its own binary files.
 *
 * An image is 27,648 bytes: planes R, G, B of 96 x 96, each stored column by
 * column, so byte (c, x, y) lies at 9216 c + 96 x + y. Labels are bytes from 1 to
 * 10. fold_indices.txt, if present, has a line of indices into train for each
 * fold; they become the splits fold0, fold1 … if requested by name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "images/dataset.h"

enum { SIDE = 96, PLANE = SIDE * SIDE, IMAGE = 3 * PLANE, FIRST_LABEL = 1, SPLITS = 3 };
enum { MAX_FOLDS = 16, MAX_FOLD_BYTES = 16 << 20 };

static const char *const stl10_classes[] = {"airplane", "bird",  "car",   "cat",
                                            "deer",     "dog",   "horse", "monkey",
                                            "ship",     "truck", NULL};

static const struct {
	const char *split, *images, *labels;
} stl10_files[SPLITS] = {
	{"train", "train_X.bin", "train_y.bin"},
	{"test", "test_X.bin", "test_y.bin"},
	{"unlabeled", "unlabeled_X.bin", NULL},
};

typedef struct stl10 {
	inv_map images[SPLITS];
	int32_t *train_labels; /* the folds use them too */
	char *folds;           /* the text of fold_indices.txt */
} stl10;

static invar_status map_stl10_images(const invar_dataset *d, const char *name, inv_map *map)
{
	char *path;
	invar_status st;

	INV_TRY(inv_new_path(&path, d->place, name));
	INV_TRY_OR(end, inv_map_open(path, map));
	if (map->size % IMAGE)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: has %" PRIu64
		              " bytes, which is not a multiple of %d, the size of an STL-10 image",
		              path, map->size, IMAGE);
end:
	inv_free(path);
	return st;
}

static invar_status load_stl10_labels(const invar_dataset *d, const char *name,
                                      uint64_t images, int32_t **out)
{
	char *path;
	inv_map map = {0};
	invar_status st;

	INV_TRY(inv_new_path(&path, d->place, name));
	INV_TRY_OR(end, inv_map_open(path, &map));
	if (map.size != images)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_MISMATCH, "%s: has %" PRIu64 " %s for %" PRIu64 " %s",
		                    path, map.size, inv_noun(map.size, "label", "labels"), images,
		                    inv_noun(images, "image", "images")));
	st = inv_dataset_byte_labels(d, map.data, images, 1, FIRST_LABEL, path, out);
end:
	inv_map_close(&map);
	inv_free(path);
	return st;
}

/* ---- Folds ------------------------------------------------------------------------ */

/* A line of indices into train. */
static invar_status add_fold(invar_dataset *d, const char *name, const char *line)
{
	stl10 *own = d->own;
	uint64_t images = own->images[0].size / IMAGE;
	size_t count = 0;
	uint32_t *source;
	invar_status st;

	INV_TRY(inv_new_array(&source, strlen(line) / 2 + 1));
	for (char *end; *(line += strspn(line, " \t\r")); line = end) {
		unsigned long long number = strtoull(line, &end, 10);

		if (*line < '0' || *line > '9' || number >= images ||
		    (*end && !strchr(" \t\r", *end)))
			INV_TRY_OR(fail,
			           inv_fail(INVAR_E_FORMAT,
			                    "%s/fold_indices.txt: '%.20s' is not the index of one of "
			                    "the %" PRIu64 " %s of train",
			                    d->place, line, images,
			                    inv_noun(images, "image", "images")));
		source[count++] = (uint32_t)number;
	}
	return inv_dataset_add_part(d, name, count, source, own->train_labels, &own->images[0]);
fail:
	inv_free(source);
	return st;
}

/* train and its folds share one map and one set of labels. */
static invar_status open_stl10_train(invar_dataset *d)
{
	stl10 *own = d->own;
	inv_map *images = &own->images[0];
	char *line[MAX_FOLDS], name[MAX_FOLDS][16], *path, *rest;
	bool train, fold[MAX_FOLDS], any;
	size_t folds = 0, bytes;
	invar_status st;

	INV_TRY(inv_dataset_offer(d, "train", false, &train));
	any = train;
	if (inv_dataset_has(d, "fold_indices.txt")) {
		INV_TRY(inv_new_path(&path, d->place, "fold_indices.txt"));
		st = inv_file_load(path, MAX_FOLD_BYTES, &own->folds, &bytes);
		inv_free(path);
		INV_TRY(st);
	}
	for (char *at = own->folds ? strtok_r(own->folds, "\n", &rest) : NULL;
	     at && folds < MAX_FOLDS; at = strtok_r(NULL, "\n", &rest)) {
		if (!at[strspn(at, " \t\r")])
			continue;
		line[folds] = at;
		snprintf(name[folds], sizeof name[folds], "fold%zu", folds);
		INV_TRY(inv_dataset_offer(d, name[folds], true, &fold[folds]));
		any |= fold[folds++];
	}
	if (!any)
		return INVAR_OK;

	INV_TRY(map_stl10_images(d, stl10_files[0].images, images));
	INV_TRY(load_stl10_labels(d, stl10_files[0].labels, images->size / IMAGE,
	                          &own->train_labels));
	if (train)
		INV_TRY(inv_dataset_add_part(d, "train", images->size / IMAGE, NULL,
		                             own->train_labels, images));
	for (size_t i = 0; i < folds; i++)
		if (fold[i])
			INV_TRY(add_fold(d, name[i], line[i]));
	return INVAR_OK;
}

/* ---- The kind ----------------------------------------------------------------------- */

static invar_status open_stl10(invar_dataset *d)
{
	bool found = false, wanted;
	stl10 *own;

	INV_TRY(inv_new(&own));
	d->own = own;
	INV_TRY(inv_dataset_enter(d, "stl10_binary", "train_X.bin"));
	INV_TRY(inv_dataset_name_classes(d, "class_names.txt", stl10_classes));
	for (size_t k = 0; k < SPLITS; k++) {
		inv_map *images = &own->images[k];
		int32_t *labels = NULL;

		if (!inv_dataset_has(d, stl10_files[k].images))
			continue;
		found = true;
		if (k == 0) {
			INV_TRY(open_stl10_train(d));
			continue;
		}
		INV_TRY(inv_dataset_offer(d, stl10_files[k].split, false, &wanted));
		if (!wanted)
			continue;
		INV_TRY(map_stl10_images(d, stl10_files[k].images, images));
		if (stl10_files[k].labels)
			INV_TRY(
				load_stl10_labels(d, stl10_files[k].labels, images->size / IMAGE, &labels));
		INV_TRY(
			inv_dataset_add(d, stl10_files[k].split, images->size / IMAGE, labels, images));
	}
	if (!found)
		return inv_fail(
			INVAR_E_IO,
			"%s: has no train_X.bin, test_X.bin or unlabeled_X.bin, so it is not STL-10",
			d->place);
	return INVAR_OK;
}

static invar_status read_stl10(const invar_dataset *d, const inv_images *s, uint64_t source,
                               inv_image *out)
{
	const uint8_t *from = ((const inv_map *)s->store)->data + source * IMAGE;

	INV_TRY(inv_image_shape(out, SIDE, SIDE, d->text));
	for (size_t y = 0; y < SIDE; y++)
		for (size_t x = 0; x < SIDE; x++)
			for (size_t c = 0; c < INV_RGB; c++)
				out->pixels[(y * SIDE + x) * INV_RGB + c] = from[c * PLANE + x * SIDE + y];
	return INVAR_OK;
}

static void close_stl10(invar_dataset *d)
{
	stl10 *own = d->own;

	if (!own)
		return;
	for (size_t k = 0; k < SPLITS; k++)
		inv_map_close(&own->images[k]);
	inv_free(own->train_labels);
	inv_free(own->folds);
	inv_free(own);
}

const inv_dataset_kind inv_dataset_stl10 = {
	.name = "stl10",
	.place = "DIR",
	.about = "binary files of 96 x 96, labelled and unlabelled",
	.normalisation = "stl10",
	.side = SIDE,
	.open = open_stl10,
	.read = read_stl10,
	.close = close_stl10,
};
