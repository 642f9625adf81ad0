/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv_images.c - csv:FILE, a list of images with their labels and splits.
 *
 * The first record names the columns: path (or file, filename, file_name, image), and, if
 * there, label (or class) and split; case does not matter, and other columns are ignored.
 * Blanks around a column's name, a label or a split do not count, nor do those before a
 * path. A path that is not absolute is relative to the folder of the list. An image is
 * found by its path alone, whatever its name ends with; one that is missing is a broken
 * image.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/csv.h"
#include "images/kinds/labelled_rows.h"

enum { MAX_PATH = 4096, NOWHERE = INV_CSV_FIELDS };

typedef struct list {
	inv_labelled_rows rows;
	char *folder; /* of the list, "" if that is the current one */
} list;

typedef struct columns {
	size_t path, label, split; /* NOWHERE: there is none */
} columns;

/* ---- Opening ----------------------------------------------------------------------- */

/* "path, label" is meant as "path,label". */
static char *skip_blanks(char *field)
{
	return field + strspn(field, " \t");
}

/* Also those at the end: "cat " would be a class of its own. */
static const char *without_blanks(char *field)
{
	char *start = skip_blanks(field);
	size_t length = strlen(start);

	while (length && (start[length - 1] == ' ' || start[length - 1] == '\t'))
		start[--length] = '\0';
	return start;
}

/* The first column that has the first of these names, or else the second, … */
static size_t find_column(const inv_csv *c, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < c->count; i++)
			if (strcasecmp(without_blanks(c->field[i]), *names) == 0)
				return i;
	return NOWHERE;
}

static invar_status read_columns(inv_csv *c, columns *out)
{
	static const char *const path[] = {"path",      "file",  "filename",
	                                   "file_name", "image", NULL};
	static const char *const label[] = {"label", "class", NULL};
	static const char *const split[] = {"split", NULL};
	bool more;
	invar_status st = inv_csv_next(c, &more);

	if (st != INVAR_OK)
		return st;
	if (!more)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a CSV file", c->name);
	*out = (columns){find_column(c, path), find_column(c, label), find_column(c, split)};
	if (out->path != NOWHERE)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: none of its %zu %s is named path; the first line must name the "
	                "columns, separated by commas: path,label,split",
	                c->name, c->count, inv_noun(c->count, "column", "columns"));
}

static invar_status add_record(list *own, const inv_csv *c, const columns *at, size_t width)
{
	const char *path, *label, *split;

	if (c->count != width)
		return inv_fail(
			INVAR_E_FORMAT, "%s: line %" PRIu64 " has %zu %s, but the first line has %zu",
			c->name, c->line, c->count, inv_noun(c->count, "field", "fields"), width);
	path = skip_blanks(c->field[at->path]); /* a file's name may end in a blank */
	label = at->label == NOWHERE ? "" : without_blanks(c->field[at->label]);
	split = at->split == NOWHERE ? "" : without_blanks(c->field[at->split]);
	if (!*path || strlen(path) >= MAX_PATH)
		return inv_fail(INVAR_E_FORMAT, "%s: line %" PRIu64 " has %s path", c->name,
		                c->line, *path ? "too long a" : "no");
	return inv_labelled_rows_add(&own->rows, path, label, split);
}

static invar_status read_list(list *own, inv_csv *c)
{
	columns at = {NOWHERE, NOWHERE, NOWHERE};
	invar_status st = read_columns(c, &at);
	size_t width = c->count;
	bool more = st == INVAR_OK;

	while (st == INVAR_OK && more) {
		st = inv_csv_next(c, &more);
		if (st == INVAR_OK && more)
			st = add_record(own, c, &at, width);
	}
	return st;
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *out = inv_strdup(path);

	if (out)
		out[slash ? slash - path + (slash == path) : 0] = '\0';
	return out;
}

static invar_status open_csv(invar_dataset *d)
{
	list *own = d->own = inv_calloc(1, sizeof *own);
	inv_csv *c = NULL;
	inv_map map = {0};
	invar_status st;

	if (!own || !(own->folder = folder_of(d->place)))
		return inv_dataset_no_memory(d);
	st = inv_map_open(d->place, &map);
	if (st == INVAR_OK)
		st = inv_csv_open(map.data, map.size, d->place, &c);
	if (st == INVAR_OK)
		st = read_list(own, c);
	inv_csv_close(c);
	inv_map_close(&map);
	return st == INVAR_OK ? inv_labelled_rows_publish(&own->rows, d, own) : st;
}

static void close_csv(invar_dataset *d)
{
	list *own = d->own;

	if (own) {
		inv_labelled_rows_clear(&own->rows);
		inv_free(own->folder);
	}
	inv_free(own);
}

/* ---- Reading ----------------------------------------------------------------------- */

static const char *name_of(const inv_images *s, uint64_t source)
{
	const list *own = s->store;

	return inv_names_at(&own->rows.names, source);
}

static char *path_of(const inv_images *s, uint64_t source)
{
	const list *own = s->store;
	const char *name = name_of(s, source);

	return *name == '/' || !*own->folder ? inv_strdup(name) : inv_join(own->folder, name);
}

static invar_status read_csv(const invar_dataset *d, const inv_images *s, uint64_t source,
                             inv_image *out)
{
	char *path = path_of(s, source);
	invar_status st = path ? inv_image_load(path, out) : inv_dataset_no_memory(d);

	inv_free(path);
	return st;
}

static invar_status fingerprint_csv(const invar_dataset *d, const inv_images *s,
                                    uint64_t source, inv_image *image, inv_fingerprint *out)
{
	char *path = path_of(s, source);
	invar_status st =
		path ? inv_fingerprint_file(path, image, out) : inv_dataset_no_memory(d);

	inv_free(path);
	return st;
}

static invar_status measure_csv(const invar_dataset *d, const inv_images *s,
                                uint64_t source, uint32_t *width, uint32_t *height)
{
	char *path = path_of(s, source);
	invar_status st =
		path ? inv_image_measure(path, width, height) : inv_dataset_no_memory(d);

	inv_free(path);
	return st;
}

static bool id_of(const inv_images *s, uint64_t source, inv_file_id *out)
{
	char *path = path_of(s, source);
	bool found = path && inv_file_id_of(path, out);

	inv_free(path);
	return found;
}

const inv_dataset_kind inv_dataset_csv = {
	.name = "csv",
	.place = "FILE",
	.about = "a list of image files with the columns path, label and split",
	.open = open_csv,
	.read = read_csv,
	.fingerprint = fingerprint_csv,
	.measure = measure_csv,
	.file = name_of,
	.file_id = id_of,
	.close = close_csv,
};
