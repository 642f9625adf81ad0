/* SPDX-License-Identifier: Apache-2.0 */
/* image_files.c - finding image files below a folder, and decoding one of them. */
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

static bool is_foreign_name(const char *name)
{
	static const char *const ends[] = {".bmp",  ".gif",  ".ppm", ".pgm",
	                                   ".heic", ".avif", ".jp2"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
		if (strcasecmp(dot, ends[i]) == 0)
			return true;
	return false;
}

static invar_status no_memory(const char *folder)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to list the folder", folder);
}

static char *join_inner(const char *folder, const char *name)
{
	return *folder ? inv_join(folder, name) : inv_strdup(name);
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

/* Most file systems report the type of an entry; links, and entries of other file systems,
 * need stat. */
static invar_status is_folder(const char *path, const struct dirent *entry, bool *out)
{
	char *whole;

	*out = entry->d_type == DT_DIR;
	if (entry->d_type == DT_DIR || entry->d_type == DT_REG)
		return INVAR_OK;
	if (!(whole = inv_join(path, entry->d_name)))
		return no_memory(path);
	*out = inv_is_folder(whole);
	inv_free(whole);
	return INVAR_OK;
}

/* A bank or a run beside its images (`encode folder:. -o bank`) is not a class. */
static invar_status is_result(const char *path, const char *name, bool *out)
{
	static const char *const files[] = {"bank.json", "run.json"};
	char *folder = inv_join(path, name);
	invar_status st = folder ? INVAR_OK : no_memory(path);

	*out = false;
	for (size_t i = 0; i < sizeof files / sizeof *files && st == INVAR_OK; i++) {
		char *file = inv_join(folder, files[i]);

		st = file ? INVAR_OK : no_memory(path);
		*out = *out || (file && inv_exists(file));
		inv_free(file);
	}
	inv_free(folder);
	return st;
}

static invar_status list_entry(void *user, const char *path, const struct dirent *entry)
{
	listing *l = user;
	const char *name = entry->d_name;
	bool folder, result = false;
	invar_status st = is_folder(path, entry, &folder);

	if (st == INVAR_OK && folder)
		st = is_result(path, name, &result);
	if (st != INVAR_OK)
		return st;
	if (folder && !result)
		return inv_names_add(&l->folders, name, strlen(name));
	if (result) {
		l->others++;
		return INVAR_OK;
	}
	if (inv_is_image_name(name)) /* also a broken link: a broken image */
		return inv_names_add(&l->images, name, strlen(name));
	l->others++;
	return is_foreign_name(name) ? inv_names_add(&l->foreign, name, strlen(name))
	                             : INVAR_OK;
}

static invar_status list_folder(const char *path, listing *l)
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
	char *path = *folder ? inv_join(root, folder) : inv_strdup(root);
	listing l;
	invar_status st = path ? list_folder(path, &l) : no_memory(root);

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

static invar_status add_label(inv_file_list *f, int32_t label)
{
	uint64_t i = f->names.count - 1;
	int32_t *more;

	if (label == INV_NO_LABEL && !f->labels)
		return INVAR_OK;
	if (i >= f->capacity) {
		uint64_t capacity = f->capacity ? 2 * f->capacity : 1024;

		if (!(more = inv_alloc(capacity * sizeof *more)))
			return no_memory(f->root);
		if (i)
			memcpy(more, f->labels, i * sizeof *more);
		inv_free(f->labels);
		f->labels = more;
		f->capacity = capacity;
	}
	f->labels[i] = label;
	return INVAR_OK;
}

invar_status inv_file_list_add(inv_file_list *f, const char *name, int32_t label)
{
	invar_status st = inv_names_add(&f->names, name, strlen(name));

	return st == INVAR_OK ? add_label(f, label) : st;
}

static void note_others(inv_file_list *f, const listing *l)
{
	if (!f->foreign && l->foreign.count)
		snprintf(f->example, sizeof f->example, "%.79s", inv_names_at(&l->foreign, 0));
	f->foreign += l->foreign.count;
	f->others += l->others;
}

/* Gathers names below root/folder; `found` is sorted afterwards as a whole. */
static invar_status gather(inv_file_list *f, const char *folder, unsigned depth,
                           inv_names *found)
{
	char *path = *folder ? inv_join(f->root, folder) : inv_strdup(f->root);
	listing l = {0};
	invar_status st = path ? list_folder(path, &l) : no_memory(f->root);

	if (st == INVAR_OK && depth > MAX_DEPTH)
		st =
			inv_fail(INVAR_E_FORMAT,
		             "%s: is more than %d folders deep; is there a loop of symbolic links?",
		             path, MAX_DEPTH);
	note_others(f, &l);
	for (size_t i = 0; i < l.images.count && st == INVAR_OK; i++) {
		char *name = join_inner(folder, inv_names_at(&l.images, i));

		st = name ? inv_names_add(found, name, strlen(name)) : no_memory(path);
		inv_free(name);
	}
	for (size_t i = 0; i < l.folders.count && st == INVAR_OK; i++) {
		char *name = join_inner(folder, inv_names_at(&l.folders, i));

		st = name ? gather(f, name, depth + 1, found) : no_memory(path);
		inv_free(name);
	}
	clear_listing(&l);
	inv_free(path);
	return st;
}

static invar_status refuse_empty(const inv_file_list *f, const char *folder)
{
	if (!f->foreign)
		return inv_fail(INVAR_E_FORMAT,
		                "%s/%s: has no " INV_IMAGE_FORMATS
		                " files; add some or remove the folder",
		                f->root, folder);
	return inv_fail(INVAR_E_FORMAT,
	                "%s/%s: has no " INV_IMAGE_FORMATS
	                " files; convert other formats, such as %s, to PNG",
	                f->root, folder, f->example);
}

invar_status inv_file_list_collect(inv_file_list *f, const char *folder, int32_t label)
{
	inv_names found = {0};
	invar_status st = gather(f, folder, 0, &found);

	inv_names_sort(&found);
	for (size_t i = 0; i < found.count && st == INVAR_OK; i++)
		st = inv_file_list_add(f, inv_names_at(&found, i), label);
	if (st == INVAR_OK && !found.count)
		st = refuse_empty(f, folder);
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

/* ---- Decoding -------------------------------------------------------------------- */

static char *path_of(const inv_images *s, uint64_t source)
{
	const inv_file_list *f = s->store;

	return inv_join(f->root, inv_names_at(&f->names, source));
}

invar_status inv_file_read(const invar_dataset *d, const inv_images *s, uint64_t source,
                           inv_image *out)
{
	char *path = path_of(s, source);
	invar_status st = path ? inv_image_load(path, out) : no_memory(d->place);

	inv_free(path);
	return st;
}

invar_status inv_file_fingerprint(const invar_dataset *d, const inv_images *s,
                                  uint64_t source, inv_image *image, inv_fingerprint *out)
{
	char *path = path_of(s, source);
	invar_status st = path ? inv_fingerprint_file(path, image, out) : no_memory(d->place);

	inv_free(path);
	return st;
}

invar_status inv_file_measure(const invar_dataset *d, const inv_images *s, uint64_t source,
                              uint32_t *width, uint32_t *height)
{
	char *path = path_of(s, source);
	invar_status st = path ? inv_image_measure(path, width, height) : no_memory(d->place);

	inv_free(path);
	return st;
}

bool inv_image_file_id(const inv_images *s, uint64_t source, inv_file_id *out)
{
	char *path = path_of(s, source);
	bool found = path && inv_file_id_of(path, out);

	inv_free(path);
	return found;
}

const char *inv_file_name(const inv_images *s, uint64_t source)
{
	const inv_file_list *f = s->store;

	return inv_names_at(&f->names, source);
}
