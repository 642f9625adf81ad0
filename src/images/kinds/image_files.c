/* SPDX-License-Identifier: Apache-2.0 */
/* image_files.c - finding image files below a folder. */
#include "images/kinds/image_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/text.h"

enum { MAX_DEPTH = 16 }; /* nested folders; links may form a cycle */

/* ---- Names ---------------------------------------------------------------------- */

/* "folder/name", or one of the two if the other is empty. */
static invar_status join_inner(char **out, const char *folder, const char *name)
{
	if (*folder && *name)
		return inv_new_path(out, folder, name);
	return inv_new_text(out, *folder ? folder : name);
}

/* One folder: its sub-folders, its images and how much else there is; unsorted. */
typedef struct listing {
	inv_names folders, images, foreign;
	uint64_t others;
} listing;

static void clear_listing(listing *l)
{
	inv_names_clear(&l->folders);
	inv_names_clear(&l->images);
	inv_names_clear(&l->foreign);
}

static invar_status list_entry(void *user, const char *path, const struct dirent *entry)
{
	static const char *const results[] = {"bank.json", "run.json"};
	static const char *const foreign[] = {".bmp",  ".gif",  ".ppm", ".pgm",
	                                      ".heic", ".avif", ".jp2"};
	listing *l = user;
	const char *name = entry->d_name, *dot = strrchr(name, '.');
	bool folder = entry->d_type == DT_DIR, result = false;
	char *whole = NULL, *file = NULL;
	invar_status st = INVAR_OK;

	/* Links, and entries of some file systems, have no type: they need stat. */
	if (entry->d_type != DT_REG) {
		INV_TRY_OR(end, inv_new_path(&whole, path, name));
		folder = folder || inv_is_folder(whole);
	}
	/* A bank or a run beside its images (`encode folder:. -o bank`) is not a class. */
	for (size_t i = 0; i < sizeof results / sizeof *results && folder && !result; i++) {
		inv_free(file);
		INV_TRY_OR(end, inv_new_path(&file, whole, results[i]));
		result = inv_exists(file);
	}
	if (folder && !result) {
		st = inv_names_add(&l->folders, name, strlen(name));
	} else if (!folder &&
	           inv_is_image_name(name)) { /* also a broken link: a broken image */
		st = inv_names_add(&l->images, name, strlen(name));
	} else {
		l->others++;
		for (size_t i = 0; i < sizeof foreign / sizeof *foreign && dot && !folder; i++)
			if (strcasecmp(dot, foreign[i]) == 0)
				INV_TRY_OR(end, inv_names_add(&l->foreign, name, strlen(name)));
	}
end:
	inv_free(file);
	inv_free(whole);
	return st;
}

static invar_status list_image_folder(const char *path, listing *l)
{
	invar_status st;

	*l = (listing){0};
	st = inv_folder_each(path, list_entry, l);
	inv_names_sort(&l->folders);
	inv_names_sort(&l->images);
	inv_names_sort(&l->foreign);
	if (st != INVAR_OK)
		clear_listing(l);
	return st;
}

invar_status inv_list_folders(const char *root, const char *folder, inv_names *out,
                              bool *has_images)
{
	char *path;
	listing l;
	invar_status st;

	INV_TRY(join_inner(&path, root, folder));
	st = list_image_folder(path, &l);
	inv_free(path);
	if (st != INVAR_OK)
		return st;
	*has_images = l.images.count > 0;
	inv_names_clear(out);
	*out = l.folders;
	l.folders = (inv_names){0};
	clear_listing(&l);
	return INVAR_OK;
}

/* ---- Lists ------------------------------------------------------------------------ */

invar_status inv_file_list_add(inv_file_list *f, const char *name, int32_t label)
{
	uint64_t i = f->names.count;

	INV_TRY(inv_names_add(&f->names, name, strlen(name)));
	if (label == INV_NO_LABEL && !f->labels)
		return INVAR_OK;
	if (i >= f->capacity) {
		uint64_t capacity = f->capacity ? 2 * f->capacity : 1024;
		int32_t *more;

		INV_TRY(inv_new_array(&more, capacity));
		if (i)
			memcpy(more, f->labels, i * sizeof *more);
		inv_free(f->labels);
		f->labels = more;
		f->capacity = capacity;
	}
	f->labels[i] = label;
	return INVAR_OK;
}

/* Gathers names below root/folder; `found` is sorted afterwards as a whole. */
static invar_status gather_images(inv_file_list *f, const char *folder, unsigned depth,
                                  inv_names *found)
{
	char *path, *name = NULL;
	listing l = {0};
	invar_status st;

	INV_TRY(join_inner(&path, f->root, folder));
	INV_TRY_OR(end, list_image_folder(path, &l));
	if (depth > MAX_DEPTH)
		INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
		                         "%s: is more than %d folders deep; is there a loop of "
		                         "symbolic links?",
		                         path, MAX_DEPTH));
	if (!f->foreign && l.foreign.count)
		snprintf(f->example, sizeof f->example, "%.79s", inv_names_at(&l.foreign, 0));
	f->foreign += l.foreign.count;
	f->others += l.others;

	for (size_t i = 0; i < l.images.count; i++) {
		inv_free(name);
		INV_TRY_OR(end, join_inner(&name, folder, inv_names_at(&l.images, i)));
		INV_TRY_OR(end, inv_names_add(found, name, strlen(name)));
	}
	for (size_t i = 0; i < l.folders.count; i++) {
		inv_free(name);
		INV_TRY_OR(end, join_inner(&name, folder, inv_names_at(&l.folders, i)));
		INV_TRY_OR(end, gather_images(f, name, depth + 1, found));
	}
end:
	inv_free(name);
	clear_listing(&l);
	inv_free(path);
	return st;
}

invar_status inv_file_list_collect(inv_file_list *f, const char *folder, int32_t label)
{
	inv_names found = {0};
	invar_status st;

	INV_TRY_OR(end, gather_images(f, folder, 0, &found));
	if (!found.count)
		INV_TRY_OR(end, f->foreign
		                    ? inv_fail(INVAR_E_FORMAT,
		                               "%s/%s: has no " INV_IMAGE_FORMATS
		                               " files; convert other formats, such as %s, to PNG",
		                               f->root, folder, f->example)
		                    : inv_fail(INVAR_E_FORMAT,
		                               "%s/%s: has no " INV_IMAGE_FORMATS
		                               " files; add some or remove the folder",
		                               f->root, folder));
	inv_names_sort(&found);
	for (size_t i = 0; i < found.count; i++)
		INV_TRY_OR(end, inv_file_list_add(f, inv_names_at(&found, i), label));
end:
	inv_names_clear(&found);
	return st;
}

void inv_file_list_clear(inv_file_list *f)
{
	inv_names_clear(&f->names);
	inv_free(f->labels);
	*f = (inv_file_list){0};
}

void inv_file_list_report(const inv_file_list *f, const invar_dataset *d)
{
	uint64_t other = f->others - f->foreign;

	if (f->foreign)
		inv_log(d->ctx, INVAR_LOG_WARNING, "%s: %" PRIu64 " %s such as %s %s", d->text,
		        f->foreign, inv_noun(f->foreign, "image", "images"), f->example,
		        inv_noun(f->foreign, "is not " INV_IMAGE_FORMATS " and is skipped",
		                 "are not " INV_IMAGE_FORMATS " and are skipped"));
	if (other)
		inv_log(d->ctx, INVAR_LOG_DETAIL, "%s: %" PRIu64 " %s", d->text, other,
		        inv_noun(other, "file does not have the name of an image and is skipped",
		                 "files do not have the name of an image and are skipped"));
}

invar_status inv_file_list_to_split(inv_file_list *f, invar_dataset *d, const char *split)
{
	int32_t *labels = f->labels;

	f->labels = NULL;
	f->capacity = 0;
	inv_file_list_report(f, d);
	return inv_dataset_add(d, split, f->names.count, labels, f);
}

/* ---- Files ----------------------------------------------------------------------- */

invar_status inv_file_path(const inv_images *s, uint64_t source, char **out)
{
	const inv_file_list *f = s->store;

	return inv_new_path(out, f->root, inv_names_at(&f->names, source));
}

const char *inv_file_name(const inv_images *s, uint64_t source)
{
	const inv_file_list *f = s->store;

	return inv_names_at(&f->names, source);
}
