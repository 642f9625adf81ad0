/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_folder.c - any folder of image files.
 *
 * A folder is a set of classes (one sub-folder each, by byte order) or a flat
 * folder of images without labels. Splits are sub-folders train, val, test and unlabeled,
 * each of which is such a set; without them all images are train, and --holdout
 * may cut them. The classes of all splits are numbered together, so that a number
 * means the same in each, whichever were requested.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "images/kinds/image_files.h"

enum { SPLITS = 4 };

static const char *const split_names[SPLITS] = {"train", "val", "test", "unlabeled"};

typedef struct folder {
	inv_file_list files[SPLITS];
	inv_names classes[SPLITS]; /* sub-folders of a split */
	bool there[SPLITS];
} folder;

static bool is_split_name(const char *name)
{
	for (size_t k = 0; k < SPLITS; k++)
		if (strcmp(name, split_names[k]) == 0)
			return true;
	return false;
}

/* A folder of images beside train and test would be ignored silently. */
static invar_status refuse_other(const invar_dataset *d, const char *name)
{
	inv_file_list found = {.root = d->place};
	invar_status st = inv_file_list_collect(&found, name, INV_NO_LABEL);
	size_t images = found.names.count;

	inv_file_list_clear(&found);
	if (st == INVAR_E_FORMAT && !images)
		return INVAR_OK;
	if (st != INVAR_OK)
		return st;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: has splits (train, val, test or unlabeled) and also the folder %s "
	                "with %zu %s; move it into a split, or move all classes into %s/train",
	                d->place, name, images, inv_noun(images, "image", "images"), d->place);
}

/* Classes or images, not both. */
static invar_status list_split(const invar_dataset *d, folder *own, size_t k,
                               const char *inside)
{
	bool flat;
	invar_status st = inv_list_folders(d->place, inside, &own->classes[k], &flat);

	own->there[k] = true;
	if (st != INVAR_OK || !flat || !own->classes[k].count)
		return st;
	return inv_fail(INVAR_E_FORMAT,
	                "%s%s%s: has images and also the folder %s; put all images into class "
	                "folders, or none",
	                d->place, *inside ? "/" : "", inside,
	                inv_names_at(&own->classes[k], 0));
}

static invar_status number_classes(invar_dataset *d, const folder *own)
{
	inv_names all = {0};
	invar_status st = INVAR_OK;

	for (size_t k = 0; k < SPLITS; k++)
		for (size_t i = 0; i < own->classes[k].count && st == INVAR_OK; i++) {
			const char *name = inv_names_at(&own->classes[k], i);

			st = inv_names_add(&all, name, strlen(name));
		}
	inv_names_sort(&all);
	for (size_t i = 0; i < all.count && st == INVAR_OK; i++)
		if (i == 0 || strcmp(inv_names_at(&all, i - 1), inv_names_at(&all, i)) != 0)
			st = inv_dataset_add_class(d, inv_names_at(&all, i));
	inv_names_clear(&all);
	return st;
}

static invar_status collect(invar_dataset *d, folder *own, size_t k, const char *inside)
{
	inv_file_list *f = &own->files[k];
	const inv_names *classes = &own->classes[k];
	invar_status st = INVAR_OK;
	size_t label = 0;

	f->root = d->place;
	if (!classes->count)
		return inv_file_list_collect(f, inside, INV_NO_LABEL);
	for (size_t i = 0; i < classes->count && st == INVAR_OK; i++) {
		const char *name = inv_names_at(classes, i);
		char *path = *inside ? inv_join(inside, name) : inv_strdup(name);

		while (strcmp(inv_names_at(&d->classes, label), name) != 0)
			label++; /* both are sorted, and no name is missing */
		st = path ? inv_file_list_collect(f, path, (int32_t)label)
		          : inv_dataset_no_memory(d);
		inv_free(path);
	}
	return st;
}

static invar_status open_splits(invar_dataset *d, folder *own)
{
	invar_status st = INVAR_OK;
	bool wanted;

	for (size_t k = 0; k < SPLITS && st == INVAR_OK; k++)
		if (own->there[k])
			st = list_split(d, own, k, split_names[k]);
	if (st == INVAR_OK)
		st = number_classes(d, own);
	for (size_t k = 0; k < SPLITS && st == INVAR_OK; k++) {
		if (!own->there[k])
			continue;
		st = inv_dataset_offer(d, split_names[k], false, &wanted);
		if (st == INVAR_OK && wanted)
			st = collect(d, own, k, split_names[k]);
		if (st == INVAR_OK && wanted)
			st = inv_file_list_to_split(&own->files[k], d, split_names[k]);
	}
	return st;
}

static invar_status open_whole(invar_dataset *d, folder *own)
{
	invar_status st = list_split(d, own, 0, "");

	if (st == INVAR_OK)
		st = number_classes(d, own);
	if (st == INVAR_OK)
		st = collect(d, own, 0, "");
	if (st == INVAR_OK) {
		int32_t *labels = own->files[0].labels;

		own->files[0].labels = NULL;
		inv_file_list_report(&own->files[0], d);
		st = inv_dataset_add_whole(d, own->files[0].names.count, labels, &own->files[0]);
	}
	return st;
}

static invar_status open_folder(invar_dataset *d)
{
	inv_names inner = {0};
	folder *own = d->own = inv_calloc(1, sizeof *own);
	bool flat, splits = false;
	invar_status st =
		own ? inv_list_folders(d->place, "", &inner, &flat) : inv_dataset_no_memory(d);

	for (size_t i = 0; st == INVAR_OK && i < inner.count; i++)
		for (size_t k = 0; k < SPLITS; k++)
			if (strcmp(inv_names_at(&inner, i), split_names[k]) == 0)
				own->there[k] = splits = true;
	for (size_t i = 0; st == INVAR_OK && splits && i < inner.count; i++)
		if (!is_split_name(inv_names_at(&inner, i)))
			st = refuse_other(d, inv_names_at(&inner, i));
	if (st == INVAR_OK)
		st = splits ? open_splits(d, own) : open_whole(d, own);
	inv_names_clear(&inner);
	return st;
}

static void close_folder(invar_dataset *d)
{
	folder *own = d->own;

	for (size_t k = 0; own && k < SPLITS; k++) {
		inv_file_list_clear(&own->files[k]);
		inv_names_clear(&own->classes[k]);
	}
	inv_free(own);
}

const inv_dataset_kind inv_dataset_folder = {
	.name = "folder",
	.place = "DIR",
	.about = "JPEG, PNG, TIFF and WebP files of any size; folders are classes or splits",
	.open = open_folder,
	.read = inv_file_read,
	.fingerprint = inv_file_fingerprint,
	.measure = inv_file_measure,
	.file = inv_file_name,
	.file_id = inv_image_file_id,
	.close = close_folder,
};
