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
#include "images/kinds/labelled_rows.h"

enum { SPLITS = 4 }; /* inv_standard_split */

typedef struct folder {
	inv_file_list files[SPLITS];
	inv_names classes[SPLITS]; /* sub-folders of a split */
	bool there[SPLITS];
} folder;

/* A folder of images beside train and test would be ignored silently. */
static invar_status refuse_other_folder(const invar_dataset *d, const char *name)
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
static invar_status list_folder_split(const invar_dataset *d, folder *own, size_t k,
                                      const char *inside)
{
	bool flat;

	INV_TRY(inv_list_folders(d->place, inside, &own->classes[k], &flat));
	if (!flat || !own->classes[k].count)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s%s%s: has images and also the folder %s; put all images into class "
	                "folders, or none",
	                d->place, *inside ? "/" : "", inside,
	                inv_names_at(&own->classes[k], 0));
}

static invar_status collect_folder_split(invar_dataset *d, folder *own, size_t k,
                                         const char *inside)
{
	inv_file_list *f = &own->files[k];
	const inv_names *classes = &own->classes[k];
	char *path = NULL;
	size_t label = 0;
	invar_status st = INVAR_OK;

	f->root = d->place;
	if (!classes->count)
		return inv_file_list_collect(f, inside, INV_NO_LABEL);
	for (size_t i = 0; i < classes->count; i++) {
		const char *name = inv_names_at(classes, i);

		while (strcmp(inv_names_at(&d->classes, label), name) != 0)
			label++; /* both are sorted, and no name is missing */
		inv_free(path);
		INV_TRY_OR(end,
		           *inside ? inv_new_path(&path, inside, name) : inv_new_text(&path, name));
		INV_TRY_OR(end, inv_file_list_collect(f, path, (int32_t)label));
	}
end:
	inv_free(path);
	return st;
}

static invar_status open_folder(invar_dataset *d)
{
	inv_names inner = {0};
	bool flat, splits = false, wanted;
	folder *own;
	int32_t *labels;
	invar_status st;

	INV_TRY(inv_new(&own));
	d->own = own;
	INV_TRY_OR(end, inv_list_folders(d->place, "", &inner, &flat));
	for (size_t i = 0; i < inner.count; i++)
		for (size_t k = 0; k < SPLITS; k++)
			if (strcmp(inv_names_at(&inner, i), inv_standard_split(k)) == 0)
				own->there[k] = splits = true;
	for (size_t i = 0; splits && i < inner.count; i++) {
		const char *name = inv_names_at(&inner, i);

		if (!inv_is_standard_split(name, strlen(name)))
			INV_TRY_OR(end, refuse_other_folder(d, name));
	}

	own->there[0] |= !splits; /* all images are train */
	for (size_t k = 0; k < SPLITS; k++)
		if (own->there[k])
			INV_TRY_OR(end,
			           list_folder_split(d, own, k, splits ? inv_standard_split(k) : ""));
	for (size_t k = 0; k < SPLITS; k++)
		for (size_t i = 0; i < own->classes[k].count; i++)
			INV_TRY_OR(end, inv_dataset_add_class(d, inv_names_at(&own->classes[k], i)));
	inv_names_unique(&d->classes);
	if (!splits) {
		INV_TRY_OR(end, collect_folder_split(d, own, 0, ""));
		labels = own->files[0].labels;
		own->files[0].labels = NULL;
		inv_file_list_report(&own->files[0], d);
		INV_TRY_OR(end, inv_dataset_add_whole(d, own->files[0].names.count, labels,
		                                      &own->files[0]));
	}
	for (size_t k = 0; k < SPLITS && splits; k++) {
		if (!own->there[k])
			continue;
		INV_TRY_OR(end, inv_dataset_offer(d, inv_standard_split(k), false, &wanted));
		if (!wanted)
			continue;
		INV_TRY_OR(end, collect_folder_split(d, own, k, inv_standard_split(k)));
		INV_TRY_OR(end, inv_file_list_to_split(&own->files[k], d, inv_standard_split(k)));
	}
end:
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
	.path = inv_file_path,
	.file = inv_file_name,
	.close = close_folder,
};
