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
 * Hidden files, links, sparse files and names with line breaks are skipped.
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
#include "formats/tar.h"
#include "images/kinds/labelled_rows.h"

enum { MAX_LABEL = 255, FIRST_PLACES = 1024 };

/* Where the bytes of an image are. */
typedef struct place {
	uint64_t offset, bytes;
	uint32_t file;
} place;

typedef struct tars {
	inv_labelled_rows rows;
	place *places; /* one per row */
	size_t capacity;
	inv_names files; /* paths */
	inv_map *maps;   /* [files.count] */
	/* "FILE/KEY\nLABEL" of every .cls, sorted; FILE is a number. */
	inv_names labels;
	char *folder;    /* of the first image; NULL before it */
	bool folders;    /* there is an image in another one */
	uint64_t others; /* members that are not images */
} tars;

/* ---- Paths of members -------------------------------------------------------------- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *without_dot_slash(const char *path)
{
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	return path;
}

/*
 * Like a file in a folder, and what macOS puts beside each file. A line break ends a key
 * (make_key) and a row's name, so a path with one is left out too.
 */
static bool is_hidden(const char *path)
{
	if (strpbrk(path, "\r\n"))
		return true;
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (*at == '.')
			return true;
	return !*path;
}

static bool is_class_file(const char *path)
{
	const char *dot = strchr(base_of(path), '.');

	return dot && strcasecmp(dot, ".cls") == 0;
}

/* In WebDataset's layout the part after the first dot says what a file is. */
static bool is_image(const char *path, bool web)
{
	const char *base = base_of(path), *dot = strchr(base, '.');

	return inv_is_image_name(base) && (!web || dot == strrchr(base, '.'));
}

/* "FILE/KEY\n", the beginning of an entry of labels. */
static invar_status make_key(const invar_dataset *d, uint32_t file, const char *path,
                             char **out)
{
	const char *dot = strchr(base_of(path), '.');
	size_t length = dot ? (size_t)(dot - path) : strlen(path), size = length + 16;

	if (!(*out = inv_alloc(size)))
		return inv_dataset_no_memory(d);
	snprintf(*out, size, "%" PRIu32 "/%.*s\n", file, (int)length, path);
	return INVAR_OK;
}

/* ---- Labels and splits --------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static invar_status add_class_file(const invar_dataset *d, tars *own, uint32_t file,
                                   const inv_tar *t, const char *path)
{
	const uint8_t *text = t->data + t->offset;
	char entry[INV_TAR_PATH + MAX_LABEL + 32];
	uint64_t length = t->bytes;
	invar_status st;
	char *key;

	for (; length && is_blank(*text); text++)
		length--;
	while (length && is_blank(text[length - 1]))
		length--;
	for (uint64_t i = 0; i < length && length <= MAX_LABEL; i++)
		if (text[i] < ' ')
			length = 0;
	if (!length || length > MAX_LABEL)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s/%s: must hold one label, a number or a name of at most %d bytes", t->name,
			path, MAX_LABEL);
	if ((st = make_key(d, file, path, &key)) != INVAR_OK)
		return st;
	snprintf(entry, sizeof entry, "%s%.*s", key, (int)length, (const char *)text);
	inv_free(key);
	return inv_names_add(&own->labels, entry, strlen(entry));
}

/* The label of a .cls file; "" if there is none. Views. */
static invar_status find_class(const invar_dataset *d, const tars *own, uint32_t file,
                               const char *path, const char **out)
{
	size_t low = 0, high = own->labels.count, length;
	char *key;
	invar_status st = make_key(d, file, path, &key);

	*out = "";
	if (st != INVAR_OK)
		return st;
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
static void find_folder(const char *path, char out[INV_TAR_PATH])
{
	const char *end = strrchr(path, '/'), *start = end;

	*out = '\0';
	if (!end)
		return;
	while (start > path && start[-1] != '/')
		start--;
	if (inv_is_standard_split(start, (size_t)(end - start)))
		return;
	snprintf(out, INV_TAR_PATH, "%.*s", (int)(end - start), start);
}

static const char *find_split(const char *path, const char *file)
{
	const char *base = base_of(file), *slash;
	size_t length;

	for (const char *at = path; (slash = strchr(at, '/')); at = slash + 1)
		for (size_t i = 0; inv_standard_split(i); i++)
			if (strlen(inv_standard_split(i)) == (size_t)(slash - at) &&
			    memcmp(at, inv_standard_split(i), (size_t)(slash - at)) == 0)
				return inv_standard_split(i);
	for (size_t i = 0; inv_standard_split(i); i++) {
		length = strlen(inv_standard_split(i));
		if (strncmp(base, inv_standard_split(i), length) == 0 &&
		    !isalpha((unsigned char)base[length]))
			return inv_standard_split(i);
	}
	return "";
}

/* ---- Images ------------------------------------------------------------------------ */

static invar_status add_place(const invar_dataset *d, tars *own, place where)
{
	size_t i = own->rows.names.count - 1;

	if (i >= own->capacity) {
		size_t capacity = own->capacity ? 2 * own->capacity : FIRST_PLACES;
		place *more = inv_alloc(capacity * sizeof *more);

		if (!more)
			return inv_dataset_no_memory(d);
		if (i)
			memcpy(more, own->places, i * sizeof *more);
		inv_free(own->places);
		own->places = more;
		own->capacity = capacity;
	}
	own->places[i] = where;
	return INVAR_OK;
}

static invar_status note_folder(const invar_dataset *d, tars *own, const char *folder)
{
	if (own->folder) {
		own->folders = own->folders || strcmp(own->folder, folder) != 0;
		return INVAR_OK;
	}
	own->folder = inv_strdup(folder);
	return own->folder ? INVAR_OK : inv_dataset_no_memory(d);
}

static invar_status add_image(invar_dataset *d, tars *own, uint32_t file, const inv_tar *t,
                              const char *path)
{
	const char *tar = inv_names_at(&own->files, file), *label;
	char folder[INV_TAR_PATH];
	char *name = inv_join(base_of(tar), path);
	invar_status st = name ? INVAR_OK : inv_dataset_no_memory(d);

	find_folder(path, folder);
	if (st == INVAR_OK)
		st = find_class(d, own, file, path, &label);
	if (st == INVAR_OK)
		st = note_folder(d, own, folder);
	if (st == INVAR_OK)
		st = inv_labelled_rows_add(&own->rows, name, own->labels.count ? label : folder,
		                           find_split(path, tar));
	if (st == INVAR_OK)
		st = add_place(d, own, (place){t->offset, t->bytes, file});
	inv_free(name);
	return st;
}

/* ---- Opening ----------------------------------------------------------------------- */

/* Two passes: whether there are .cls files decides what an image and its label are. */
typedef enum pass { CLASSES, IMAGES } pass;

static invar_status walk_tar(invar_dataset *d, tars *own, uint32_t file, pass which)
{
	const inv_map *map = &own->maps[file];
	bool more = true;
	inv_tar t;
	invar_status st =
		inv_tar_open(map->data, map->size, inv_names_at(&own->files, file), &t);

	while (st == INVAR_OK && more) {
		const char *path;

		st = inv_tar_next(&t, &more);
		path = without_dot_slash(t.path);
		if (st != INVAR_OK || !more)
			break;
		if (!t.regular || is_hidden(path)) {
			own->others += which == IMAGES;
		} else if (is_class_file(path)) {
			if (which == CLASSES)
				st = add_class_file(d, own, file, &t, path);
		} else if (which == IMAGES && is_image(path, own->labels.count > 0)) {
			st = add_image(d, own, file, &t, path);
		} else {
			own->others += which == IMAGES;
		}
	}
	return st;
}

static invar_status add_pattern(const invar_dataset *d, tars *own, const char *pattern)
{
	glob_t found = {0};
	inv_names names = {0};
	invar_status st = INVAR_OK;
	int code;

	if (inv_exists(pattern))
		return inv_names_add(&own->files, pattern, strlen(pattern));
	code = glob(pattern, GLOB_NOSORT, NULL, &found); /* sorted below, by bytes */
	if (code == GLOB_NOSPACE)
		st = inv_dataset_no_memory(d);
	else if (code)
		st = inv_fail(INVAR_E_IO, "%s: there is no such tar file", pattern);
	for (size_t i = 0; i < found.gl_pathc && st == INVAR_OK; i++)
		st = inv_names_add(&names, found.gl_pathv[i], strlen(found.gl_pathv[i]));
	globfree(&found);
	inv_names_sort(&names);
	for (size_t i = 0; i < names.count && st == INVAR_OK; i++)
		st = inv_names_add(&own->files, inv_names_at(&names, i),
		                   strlen(inv_names_at(&names, i)));
	inv_names_clear(&names);
	return st;
}

/* A file whose name has commas or brackets is itself, not a list or a pattern. */
static invar_status list_files(const invar_dataset *d, tars *own)
{
	invar_status st = INVAR_OK;
	char *text, *rest, *part;

	if (inv_exists(d->place))
		return inv_names_add(&own->files, d->place, strlen(d->place));
	if (!(text = inv_strdup(d->place)))
		return inv_dataset_no_memory(d);
	rest = text;
	while (st == INVAR_OK && (part = strsep(&rest, ",")))
		if (*part)
			st = add_pattern(d, own, part);
	inv_free(text);
	if (st == INVAR_OK && !own->files.count)
		return inv_fail(INVAR_E_USE, "'%s' names no tar file", d->text);
	return st;
}

static invar_status open_files(invar_dataset *d, tars *own)
{
	invar_status st = INVAR_OK;

	if (!(own->maps = inv_calloc(own->files.count, sizeof *own->maps)))
		return inv_dataset_no_memory(d);
	for (size_t i = 0; i < own->files.count && st == INVAR_OK; i++)
		st = inv_map_open(inv_names_at(&own->files, i), &own->maps[i]);
	for (size_t i = 0; i < own->files.count && st == INVAR_OK; i++)
		st = walk_tar(d, own, (uint32_t)i, CLASSES);
	inv_names_sort(&own->labels);
	for (size_t i = 0; i < own->files.count && st == INVAR_OK; i++)
		st = walk_tar(d, own, (uint32_t)i, IMAGES);
	return st;
}

/* One folder for all says nothing about an image. */
static invar_status drop_labels(inv_labelled_rows *rows)
{
	invar_status st = INVAR_OK;

	inv_names_clear(&rows->labels);
	for (size_t i = 0; i < rows->names.count && st == INVAR_OK; i++)
		st = inv_names_add(&rows->labels, "", 0);
	return st;
}

static invar_status open_tars(invar_dataset *d)
{
	tars *own = d->own = inv_calloc(1, sizeof *own);
	invar_status st = own ? list_files(d, own) : inv_dataset_no_memory(d);

	if (st == INVAR_OK)
		st = open_files(d, own);
	if (st == INVAR_OK && !own->rows.names.count)
		st = inv_fail(INVAR_E_FORMAT, "%s: has no " INV_IMAGE_FORMATS " files in it",
		              d->text);
	if (st == INVAR_OK && !own->labels.count && !own->folders)
		st = drop_labels(&own->rows);
	if (st != INVAR_OK)
		return st;
	if (own->others)
		inv_log(d->ctx, INVAR_LOG_DETAIL, "%s: %" PRIu64 " %s", d->text, own->others,
		        inv_noun(own->others, "member is not an image and is skipped",
		                 "members are not images and are skipped"));
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
	inv_free(own->places);
	inv_free(own->maps);
	inv_free(own->folder);
	inv_free(own);
}

/* ---- Reading ----------------------------------------------------------------------- */

static const char *name_of(const inv_images *s, uint64_t source)
{
	const tars *own = s->store;

	return inv_names_at(&own->rows.names, source);
}

static const unsigned char *bytes_of(const inv_images *s, uint64_t source, uint64_t *bytes)
{
	const tars *own = s->store;
	const place *where = &own->places[source];

	*bytes = where->bytes;
	return own->maps[where->file].data + where->offset;
}

static invar_status read_tar(const invar_dataset *d, const inv_images *s, uint64_t source,
                             inv_image *out)
{
	uint64_t size;
	const unsigned char *bytes = bytes_of(s, source, &size);

	(void)d;
	return inv_image_decode(bytes, size, name_of(s, source), out);
}

/* That of the same file outside of a tar file. */
static invar_status fingerprint_tar(const invar_dataset *d, const inv_images *s,
                                    uint64_t source, inv_image *image, inv_fingerprint *out)
{
	uint64_t size;
	const unsigned char *bytes = bytes_of(s, source, &size);
	invar_status st = image ? read_tar(d, s, source, image) : INVAR_OK;

	return st == INVAR_OK ? inv_fingerprint_bytes(bytes, size, out) : st;
}

static invar_status measure_tar(const invar_dataset *d, const inv_images *s,
                                uint64_t source, uint32_t *width, uint32_t *height)
{
	uint64_t size;
	const unsigned char *bytes = bytes_of(s, source, &size);

	(void)d;
	return inv_image_size(bytes, size, name_of(s, source), width, height);
}

const inv_dataset_kind inv_dataset_tar = {
	.name = "tar",
	.place = "FILES",
	.about = "images in tar files, labelled by .cls files (WebDataset) or by folders",
	.open = open_tars,
	.read = read_tar,
	.fingerprint = fingerprint_tar,
	.measure = measure_tar,
	.file = name_of,
	.close = close_tars,
};
