/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_images.c - tar:FILES, images inside tar files, read in place.
 *
 * FILES are paths or patterns (*, ?, [...]), separated by commas; the files of a pattern
 * are taken in byte order. Labels come in one of two ways:
 *
 * - WebDataset: a file KEY.cls beside KEY.jpg holds the label of the image, a number or a
 *   name. KEY is the path up to the first dot of the file's name, so KEY.seg.png is not an
 *   image of the set. An image without a .cls has no label.
 * - Folders: without any .cls, an image's label is the folder that it is in; if all are in
 *   the same folder, they have none.
 *
 * The split of an image is a folder train, val, test or unlabeled of its path, or else the
 * beginning of the name of its tar file (train-000.tar). Rows are named FILE.tar/PATH.
 * Links are files of their own, with the bytes that they lead to, and the last of several
 * members of one path counts (tar_members.h). An image that is a link to nothing in its
 * archive is broken, as in a folder. Members outside (../) and links to folders are skipped
 * with a warning; hidden files, sparse files and names with line breaks without.
 */
#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "images/kinds/labelled_rows.h"
#include "images/kinds/tar_members.h"

enum { MAX_LABEL = 255, FIRST_PLACES = 1024 };

/* Where the bytes of an image are. Of a link to nothing: BROKEN, and a number in `broken`.
 */
#define BROKEN UINT64_MAX

typedef struct place {
	uint64_t offset, bytes;
	uint32_t file;
} place;

/* Members that a warning is about, and the first of them. */
typedef struct example {
	uint64_t count;
	char *first;
} example;

typedef struct tars {
	inv_labelled_rows rows;
	place *places; /* one per row */
	size_t capacity;
	inv_names files;          /* paths */
	inv_map *maps;            /* [files.count] */
	inv_tar_members *members; /* [files.count] while the data set is opened */
	inv_names broken;         /* targets of images that are links to nothing */
	/* "FILE/KEY\nLABEL" of every .cls, sorted; FILE is a number. */
	inv_names labels;
	char *folder;    /* of the first image; NULL before it */
	bool folders;    /* there is an image in another one */
	uint64_t others; /* members that are not images */
	uint64_t replaced;
	example rooted, outside, links; /* links: other links to no file of the archive */
} tars;

/* ---- Paths of members -------------------------------------------------------------- */

static const char *tar_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Like a file in a folder, and what macOS puts beside each file. A line break ends a key
 * (make_label_key) and a row's name, so a path with one is left out too.
 */
static bool is_hidden_member(const char *path)
{
	if (strpbrk(path, "\r\n"))
		return true;
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (*at == '.')
			return true;
	return !*path;
}

/* "FILE/KEY\n", the beginning of an entry of labels. */
static invar_status make_label_key(uint32_t file, const char *path, char **out)
{
	const char *dot = strchr(tar_base(path), '.');
	size_t length = dot ? (size_t)(dot - path) : strlen(path), size = length + 16;

	INV_TRY(inv_new_array(out, size));
	snprintf(*out, size, "%" PRIu32 "/%.*s\n", file, (int)length, path);
	return INVAR_OK;
}

/* ---- Labels and splits --------------------------------------------------------------- */

static invar_status fail_tar_link(const char *name, const char *target)
{
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is a link to %s, which is not a file in the archive", name,
	                target);
}

static invar_status add_class_file(tars *own, uint32_t file, const inv_tar_member *one,
                                   const char *path)
{
	const char *tar = inv_names_at(&own->files, file);
	const uint8_t *text = (const uint8_t *)own->maps[file].data + one->offset;
	char entry[INV_TAR_PATH + MAX_LABEL + 32];
	uint64_t length = one->bytes;
	char *key;

	for (; length && memchr(" \t\r\n", *text, 4); text++)
		length--;
	while (length && memchr(" \t\r\n", text[length - 1], 4))
		length--;
	for (uint64_t i = 0; i < length && length <= MAX_LABEL; i++)
		if (text[i] < ' ')
			length = 0;
	if (!length || length > MAX_LABEL)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s/%s: must hold one label, a number or a name of at most %d bytes", tar, path,
			MAX_LABEL);
	INV_TRY(make_label_key(file, path, &key));
	snprintf(entry, sizeof entry, "%s%.*s", key, (int)length, (const char *)text);
	inv_free(key);
	return inv_names_add(&own->labels, entry, strlen(entry));
}

/* The label in the .cls file of an image; "" if there is none. Views. */
static invar_status find_tar_label(const tars *own, uint32_t file, const char *path,
                                   const char **out)
{
	size_t low = 0, high = own->labels.count, length;
	char *key;

	*out = "";
	INV_TRY(make_label_key(file, path, &key));
	length = strlen(key);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(inv_names_at(&own->labels, middle), key, length);

		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < own->labels.count &&
	    strncmp(inv_names_at(&own->labels, low), key, length) == 0)
		*out = inv_names_at(&own->labels, low) + length;
	inv_free(key);
	return INVAR_OK;
}

/* The folder that an image is in, unless it is a split; "" if there is none. */
static void find_tar_folder(const char *path, char out[INV_TAR_PATH])
{
	const char *end = strrchr(path, '/'), *start = end ? end : path;

	while (end && start > path && start[-1] != '/')
		start--;
	if (!end || inv_is_standard_split(start, (size_t)(end - start)))
		end = start;
	snprintf(out, INV_TAR_PATH, "%.*s", (int)(end - start), start);
}

static const char *find_tar_split(const char *path, const char *file)
{
	const char *base = tar_base(file), *slash, *split;

	for (const char *at = path; (slash = strchr(at, '/')); at = slash + 1)
		for (size_t i = 0; (split = inv_standard_split(i)); i++)
			if (strlen(split) == (size_t)(slash - at) &&
			    memcmp(at, split, (size_t)(slash - at)) == 0)
				return split;
	for (size_t i = 0; (split = inv_standard_split(i)); i++)
		if (strncmp(base, split, strlen(split)) == 0 &&
		    !isalpha((unsigned char)base[strlen(split)]))
			return split;
	return "";
}

/* ---- Images ------------------------------------------------------------------------ */

static invar_status add_tar_image(tars *own, uint32_t file, const inv_tar_member *one,
                                  const char *path)
{
	size_t i = own->rows.names.count;
	const char *tar = inv_names_at(&own->files, file), *label;
	char folder[INV_TAR_PATH], *name;
	invar_status st;

	find_tar_folder(path, folder);
	if (!own->folder)
		INV_TRY(inv_new_text(&own->folder, folder));
	own->folders = own->folders || strcmp(own->folder, folder) != 0;
	INV_TRY(find_tar_label(own, file, path, &label));
	INV_TRY(inv_new_path(&name, tar_base(tar), path));
	st = inv_labelled_rows_add(&own->rows, name, own->labels.count ? label : folder,
	                           find_tar_split(path, tar));
	inv_free(name);
	INV_TRY(st);

	if (i >= own->capacity) {
		size_t capacity = own->capacity ? 2 * own->capacity : FIRST_PLACES;
		place *more;

		INV_TRY(inv_new_array(&more, capacity));
		if (i)
			memcpy(more, own->places, i * sizeof *more);
		inv_free(own->places);
		own->places = more;
		own->capacity = capacity;
	}
	own->places[i] = (place){one->offset, one->bytes, file};
	if (one->type != INV_TAR_FILE) {
		const char *target = inv_names_at(&own->members[file].targets, one->target);

		own->places[i] = (place){BROKEN, own->broken.count, file};
		INV_TRY(inv_names_add(&own->broken, target, strlen(target)));
	}
	return INVAR_OK;
}

/* ---- Opening ----------------------------------------------------------------------- */

/* Two passes: whether there are .cls files decides what an image and its label are. */
typedef enum pass { CLASSES, IMAGES } pass;

static invar_status take_tar_member(tars *own, uint32_t file, size_t i, pass which)
{
	const inv_tar_members *m = &own->members[file];
	const inv_tar_member *one = &m->at[i];
	const char *path = inv_names_at(&m->paths, i), *base = tar_base(path);
	const char *dot = strchr(base, '.'), *target;
	bool link = one->type == INV_TAR_HARD || one->type == INV_TAR_SYMBOLIC;
	char text[2 * INV_TAR_PATH + 8], *name;
	invar_status st;

	if (one->replaced)
		return INVAR_OK;
	if (one->type == INV_TAR_OTHER || is_hidden_member(path)) {
		own->others += which == IMAGES;
		return INVAR_OK;
	}
	target = link ? inv_names_at(&m->targets, one->target) : NULL;
	if (dot && strcasecmp(dot, ".cls") == 0) {
		if (which != CLASSES)
			return INVAR_OK;
		if (!link)
			return add_class_file(own, file, one, path);
		INV_TRY(inv_new_path(&name, inv_names_at(&own->files, file), path));
		st = fail_tar_link(name, target);
		inv_free(name);
		return st;
	}
	if (which != IMAGES)
		return INVAR_OK;
	/* In WebDataset's layout the part after the first dot says what a file is. */
	if (inv_is_image_name(base) && (!own->labels.count || dot == strrchr(base, '.')))
		return add_tar_image(own, file, one, path);
	if (!link) {
		own->others++;
		return INVAR_OK;
	}
	if (own->links.count++)
		return INVAR_OK;
	snprintf(text, sizeof text, "%s -> %s", path, target);
	return inv_new_text(&own->links.first, text);
}

static void free_tar_members(tars *own)
{
	for (size_t i = 0; own->members && i < own->files.count; i++)
		inv_tar_members_clear(&own->members[i]);
	inv_free(own->members);
	own->members = NULL;
}

/* A file whose name has commas or brackets is itself, not a list or a pattern. */
static invar_status list_tar_files(const invar_dataset *d, tars *own)
{
	inv_names names = {0};
	invar_status st = INVAR_OK;
	char *text, *rest, *pattern;

	if (inv_exists(d->place))
		return inv_names_add(&own->files, d->place, strlen(d->place));
	INV_TRY(inv_new_text(&text, d->place));
	rest = text;
	while ((pattern = strsep(&rest, ","))) {
		glob_t found = {0};
		int code;

		if (!*pattern)
			continue;
		if (inv_exists(pattern)) {
			INV_TRY_OR(end, inv_names_add(&own->files, pattern, strlen(pattern)));
			continue;
		}
		code = glob(pattern, GLOB_NOSORT, NULL, &found); /* sorted below, by bytes */
		if (code)
			st = code == GLOB_NOSPACE
			         ? inv_no_memory()
			         : inv_fail(INVAR_E_IO, "%s: there is no such tar file", pattern);
		inv_names_clear(&names);
		for (size_t i = 0; st == INVAR_OK && i < found.gl_pathc; i++)
			st = inv_names_add(&names, found.gl_pathv[i], strlen(found.gl_pathv[i]));
		globfree(&found);
		INV_TRY_OR(end, st);
		inv_names_sort(&names);
		for (size_t i = 0; i < names.count; i++)
			INV_TRY_OR(end, inv_names_add(&own->files, inv_names_at(&names, i),
			                              strlen(inv_names_at(&names, i))));
	}
	if (!own->files.count)
		st = inv_fail(INVAR_E_USE, "'%s' names no tar file", d->text);
end:
	inv_names_clear(&names);
	inv_free(text);
	return st;
}

static invar_status open_tar_files(tars *own)
{
	size_t files = own->files.count;

	INV_TRY(inv_new_zeros(&own->maps, files));
	INV_TRY(inv_new_zeros(&own->members, files));
	for (size_t i = 0; i < files; i++)
		INV_TRY(inv_map_open(inv_names_at(&own->files, i), &own->maps[i]));
	for (size_t i = 0; i < files; i++) {
		inv_tar_members *m = &own->members[i];

		INV_TRY(inv_tar_members_read(m, own->maps[i].data, own->maps[i].size,
		                             inv_names_at(&own->files, i)));
		own->replaced += m->replaced;
		own->rooted.count += m->rooted;
		own->outside.count += m->outside;
		if (!own->rooted.first) {
			own->rooted.first = m->first_rooted;
			m->first_rooted = NULL;
		}
		if (!own->outside.first) {
			own->outside.first = m->first_outside;
			m->first_outside = NULL;
		}
	}
	for (pass which = CLASSES; which <= IMAGES; which++) {
		for (size_t i = 0; i < files; i++)
			for (size_t k = 0; k < own->members[i].count; k++)
				INV_TRY(take_tar_member(own, (uint32_t)i, k, which));
		inv_names_sort(&own->labels);
	}
	return INVAR_OK;
}

static void report_tar_members(const invar_dataset *d, const tars *own)
{
	if (own->outside.count)
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "%s: %" PRIu64 " %s such as %s %s; write the tar file without ..", d->text,
		        own->outside.count, inv_noun(own->outside.count, "member", "members"),
		        own->outside.first,
		        inv_noun(own->outside.count,
		                 "has .. in its path, which leads outside, and is skipped",
		                 "have .. in their paths, which lead outside, and are skipped"));
	if (own->rooted.count)
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "%s: the leading / of %" PRIu64 " %s such as %s is dropped, as tar does",
		        d->text, own->rooted.count, inv_noun(own->rooted.count, "path", "paths"),
		        own->rooted.first);
	if (own->links.count)
		inv_log(d->ctx, INVAR_LOG_WARNING, "%s: %" PRIu64 " %s such as %s %s", d->text,
		        own->links.count, inv_noun(own->links.count, "link", "links"),
		        own->links.first,
		        inv_noun(own->links.count,
		                 "does not lead to a file in the archive and is skipped",
		                 "do not lead to a file in the archive and are skipped"));
	if (own->replaced)
		inv_log(d->ctx, INVAR_LOG_DETAIL, "%s: %" PRIu64 " %s", d->text, own->replaced,
		        inv_noun(own->replaced, "member is replaced by a later one of its path",
		                 "members are replaced by later ones of their paths"));
	if (own->others)
		inv_log(d->ctx, INVAR_LOG_DETAIL, "%s: %" PRIu64 " %s", d->text, own->others,
		        inv_noun(own->others, "member is not an image and is skipped",
		                 "members are not images and are skipped"));
}

static invar_status open_tars(invar_dataset *d)
{
	invar_status st;
	tars *own;

	INV_TRY(inv_new(&own));
	d->own = own;
	INV_TRY(list_tar_files(d, own));
	st = open_tar_files(own);
	free_tar_members(own); /* rows have what they need */
	INV_TRY(st);
	report_tar_members(d, own);
	if (!own->rows.names.count)
		return inv_fail(INVAR_E_FORMAT, "%s: has no " INV_IMAGE_FORMATS " files in it",
		                d->text);
	if (!own->labels.count && !own->folders) { /* one folder for all images is no label */
		inv_names_clear(&own->rows.labels);
		for (size_t i = 0; i < own->rows.names.count; i++)
			INV_TRY(inv_names_add(&own->rows.labels, "", 0));
	}
	return inv_labelled_rows_publish(&own->rows, d, own);
}

static void close_tars(invar_dataset *d)
{
	tars *own = d->own;

	if (!own)
		return;
	for (size_t i = 0; own->maps && i < own->files.count; i++)
		inv_map_close(&own->maps[i]);
	inv_labelled_rows_clear(&own->rows);
	inv_names_clear(&own->files);
	inv_names_clear(&own->labels);
	inv_names_clear(&own->broken);
	free_tar_members(own);
	inv_free(own->places);
	inv_free(own->maps);
	inv_free(own->folder);
	inv_free(own->rooted.first);
	inv_free(own->outside.first);
	inv_free(own->links.first);
	inv_free(own);
}

/* ---- Reading ----------------------------------------------------------------------- */

static const char *tar_image_name(const inv_images *s, uint64_t source)
{
	const tars *own = s->store;

	return inv_names_at(&own->rows.names, source);
}

static invar_status find_tar_bytes(const inv_images *s, uint64_t source, const void **out,
                                   uint64_t *bytes)
{
	const tars *own = s->store;
	const place *where = &own->places[source];

	if (where->offset == BROKEN)
		return fail_tar_link(tar_image_name(s, source),
		                     inv_names_at(&own->broken, where->bytes));
	*bytes = where->bytes;
	*out = own->maps[where->file].data + where->offset;
	return INVAR_OK;
}

static bool tar_image_id(const inv_images *s, uint64_t source, inv_file_id *out)
{
	const tars *own = s->store;

	*out = own->maps[own->places[source].file].id;
	return true;
}

const inv_dataset_kind inv_dataset_tar = {
	.name = "tar",
	.place = "FILES",
	.about = "images in tar files, labelled by .cls files (WebDataset) or by folders",
	.open = open_tars,
	.bytes = find_tar_bytes,
	.file = tar_image_name,
	.file_id = tar_image_id,
	.close = close_tars,
};
