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

static const char *const class_names[] = {"airplane", "bird",  "car",   "cat",
                                          "deer",     "dog",   "horse", "monkey",
                                          "ship",     "truck", NULL};

static const struct {
	const char *split, *images, *labels;
} files[SPLITS] = {
	{"train", "train_X.bin", "train_y.bin"},
	{"test", "test_X.bin", "test_y.bin"},
	{"unlabeled", "unlabeled_X.bin", NULL},
};

typedef struct stl10 {
	inv_map images[SPLITS];
	int32_t *train_labels; /* the folds use them too */
	char *folds;           /* the text of fold_indices.txt */
} stl10;

static invar_status map_images(const invar_dataset *d, const char *name, inv_map *map)
{
	char *path = inv_dataset_path(d, name);
	invar_status st = path ? inv_map_open(path, map) : inv_dataset_no_memory(d);

	if (st == INVAR_OK && map->size % IMAGE)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: has %" PRIu64
		              " bytes, which is not a multiple of %d, the size of an STL-10 image",
		              path, map->size, IMAGE);
	inv_free(path);
	return st;
}

static invar_status load_labels(const invar_dataset *d, const char *name, uint64_t images,
                                int32_t **out)
{
	char *path = inv_dataset_path(d, name);
	inv_map map = {0};
	invar_status st = path ? inv_map_open(path, &map) : inv_dataset_no_memory(d);

	*out = NULL;
	if (st == INVAR_OK && map.size != images)
		st = inv_fail(INVAR_E_MISMATCH, "%s: has %" PRIu64 " %s for %" PRIu64 " %s", path,
		              map.size, inv_noun(map.size, "label", "labels"), images,
		              inv_noun(images, "image", "images"));
	if (st == INVAR_OK)
		st = inv_dataset_byte_labels(d, map.data, images, 1, FIRST_LABEL, path, out);
	inv_map_close(&map);
	inv_free(path);
	return st;
}

static invar_status open_split(invar_dataset *d, size_t k)
{
	stl10 *own = d->own;
	int32_t *labels = NULL;
	invar_status st = map_images(d, files[k].images, &own->images[k]);
	uint64_t count = own->images[k].size / IMAGE;

	if (st == INVAR_OK && files[k].labels)
		st = load_labels(d, files[k].labels, count, &labels);
	if (st != INVAR_OK || k != 0)
		return st == INVAR_OK
		           ? inv_dataset_add(d, files[k].split, count, labels, &own->images[k])
		           : st;
	own->train_labels = labels;
	return INVAR_OK;
}

/* ---- Folds ------------------------------------------------------------------------ */

static size_t count_numbers(const char *line)
{
	size_t count = 0;

	for (const char *at = line; *at; at += strcspn(at, " \t\r")) {
		at += strspn(at, " \t\r");
		count += *at != '\0';
	}
	return count;
}

static invar_status parse_fold(const invar_dataset *d, const char *line, uint64_t images,
                               uint32_t *out)
{
	for (char *end; *(line += strspn(line, " \t\r")); line = end) {
		unsigned long long number = strtoull(line, &end, 10);

		if (*line < '0' || *line > '9' || number >= images ||
		    (*end && !strchr(" \t\r", *end)))
			return inv_fail(INVAR_E_FORMAT,
			                "%s/fold_indices.txt: '%.20s' is not the index of one of the "
			                "%" PRIu64 " %s of train",
			                d->place, line, images, inv_noun(images, "image", "images"));
		*out++ = (uint32_t)number;
	}
	return INVAR_OK;
}

static invar_status add_fold(invar_dataset *d, const char *name, const char *line)
{
	stl10 *own = d->own;
	size_t count = count_numbers(line);
	uint32_t *source = inv_alloc(count * sizeof *source);
	invar_status st = source ? parse_fold(d, line, own->images[0].size / IMAGE, source)
	                         : inv_dataset_no_memory(d);

	if (st != INVAR_OK) {
		inv_free(source);
		return st;
	}
	return inv_dataset_add_part(d, name, count, source, own->train_labels, &own->images[0]);
}

/* Cuts the text into its lines; returns how many are not empty. */
static size_t cut_lines(char *text, char **line)
{
	size_t count = 0;

	for (char *at = strtok_r(text, "\n", &text); at && count < MAX_FOLDS;
	     at = strtok_r(NULL, "\n", &text))
		if (at[strspn(at, " \t\r")])
			line[count++] = at;
	return count;
}

static invar_status load_folds(invar_dataset *d)
{
	stl10 *own = d->own;
	char *path;
	size_t bytes;
	invar_status st;

	if (!inv_dataset_has(d, "fold_indices.txt"))
		return INVAR_OK;
	path = inv_dataset_path(d, "fold_indices.txt");
	st = path ? inv_file_load(path, MAX_FOLD_BYTES, &own->folds, &bytes)
	          : inv_dataset_no_memory(d);
	inv_free(path);
	return st;
}

/* train and its folds share one map and one set of labels. */
static invar_status open_train(invar_dataset *d)
{
	stl10 *own = d->own;
	char *line[MAX_FOLDS], name[MAX_FOLDS][16];
	bool train, fold[MAX_FOLDS], any;
	size_t folds;
	invar_status st = load_folds(d);

	if (st == INVAR_OK)
		st = inv_dataset_offer(d, "train", false, &train);
	if (st != INVAR_OK)
		return st;
	folds = own->folds ? cut_lines(own->folds, line) : 0;
	any = train;
	for (size_t i = 0; i < folds && st == INVAR_OK; i++) {
		snprintf(name[i], sizeof name[i], "fold%zu", i);
		st = inv_dataset_offer(d, name[i], true, &fold[i]);
		any |= fold[i];
	}
	if (st == INVAR_OK && any)
		st = open_split(d, 0);
	if (st == INVAR_OK && train)
		st = inv_dataset_add_part(d, "train", own->images[0].size / IMAGE, NULL,
		                          own->train_labels, &own->images[0]);
	for (size_t i = 0; i < folds && st == INVAR_OK; i++)
		if (fold[i])
			st = add_fold(d, name[i], line[i]);
	return st;
}

/* ---- The kind ----------------------------------------------------------------------- */

static invar_status open_stl10(invar_dataset *d)
{
	invar_status st = inv_dataset_enter(d, "stl10_binary", "train_X.bin");
	bool found = false, wanted;

	d->own = inv_calloc(1, sizeof(stl10));
	if (st == INVAR_OK && !d->own)
		st = inv_dataset_no_memory(d);
	if (st == INVAR_OK)
		st = inv_dataset_name_classes(d, "class_names.txt", class_names);
	for (size_t k = 0; k < SPLITS && st == INVAR_OK; k++) {
		if (!inv_dataset_has(d, files[k].images))
			continue;
		found = true;
		if (k == 0)
			st = open_train(d);
		else if ((st = inv_dataset_offer(d, files[k].split, false, &wanted)) == INVAR_OK &&
		         wanted)
			st = open_split(d, k);
	}
	if (st == INVAR_OK && !found)
		st = inv_fail(
			INVAR_E_IO,
			"%s: has no train_X.bin, test_X.bin or unlabeled_X.bin, so it is not STL-10",
			d->place);
	return st;
}

static invar_status read_stl10(const invar_dataset *d, const inv_images *s, uint64_t source,
                               inv_image *out)
{
	const uint8_t *from = ((const inv_map *)s->store)->data + source * IMAGE;
	invar_status st = inv_image_shape(out, SIDE, SIDE, d->text);

	if (st != INVAR_OK)
		return st;
	for (size_t y = 0; y < SIDE; y++)
		for (size_t x = 0; x < SIDE; x++)
			for (size_t c = 0; c < INV_RGB; c++)
				out->pixels[(y * SIDE + x) * INV_RGB + c] = from[c * PLANE + x * SIDE + y];
	return INVAR_OK;
}

static invar_status measure_stl10(const invar_dataset *d, const inv_images *s,
                                  uint64_t source, uint32_t *width, uint32_t *height)
{
	(void)d;
	(void)s;
	(void)source;
	*width = *height = SIDE;
	return INVAR_OK;
}

static void close_stl10(invar_dataset *d)
{
	stl10 *own = d->own;

	for (size_t k = 0; own && k < SPLITS; k++)
		inv_map_close(&own->images[k]);
	if (own) {
		inv_free(own->train_labels);
		inv_free(own->folds);
	}
	inv_free(own);
}

const inv_dataset_kind inv_dataset_stl10 = {
	.name = "stl10",
	.place = "DIR",
	.about = "binary files of 96 x 96, labelled and unlabelled",
	.normalisation = "stl10",
	.open = open_stl10,
	.read = read_stl10,
	.measure = measure_stl10,
	.close = close_stl10,
};
