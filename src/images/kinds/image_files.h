/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_files.h - lists of image files, for kinds that consist of files.
 *
 * Files are selected by name (inv_is_image_name) and decoded according to their
 * first bytes. Names that begin with a dot are skipped.
 */
#ifndef INV_IMAGE_FILES_H
#define INV_IMAGE_FILES_H

#include "images/dataset.h"

typedef struct inv_file_list {
	const char *root;  /* the data set's place; borrowed */
	inv_names names;   /* below the root */
	int32_t *labels;   /* [names.count] once a label was added; NULL without labels */
	uint64_t capacity; /* of labels */
	uint64_t others;   /* files skipped */
	uint64_t foreign;  /* of those, images in formats that are not read */
	char example[80];  /* the first of these */
} inv_file_list;

/* Adds all images in root/folder and below, in byte order, with one label. */
invar_status inv_file_list_collect(inv_file_list *f, const char *folder, int32_t label);
/* Adds one image by its name below the root. */
invar_status inv_file_list_add(inv_file_list *f, const char *name, int32_t label);
void inv_file_list_clear(inv_file_list *f);
/* Warns of images in other formats; other files are logged as a detail. */
void inv_file_list_report(const inv_file_list *f, const invar_dataset *d);
/* Hands the labels over, as inv_dataset_add takes them. */
invar_status inv_file_list_to_split(inv_file_list *f, invar_dataset *d, const char *split);

/* The sub-folders of root/folder in byte order, and whether it has images itself. */
invar_status inv_list_folders(const char *root, const char *folder, inv_names *out,
                              bool *has_images);

/* The functions path and file of such kinds; the store of a split is its inv_file_list. */
invar_status inv_file_path(const inv_images *s, uint64_t source, char **out);
const char *inv_file_name(const inv_images *s, uint64_t source);

#endif
