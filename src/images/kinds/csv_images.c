/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv_images.c - csv:FILE, a list of images with their labels and splits.
 *
 * The first record names the columns: path (or file, filename, file_name, image), and,
 * optionally, label (or class) and split; case does not matter, and other columns are
 * ignored. Blanks around a column's name, a label or a split do not count, nor do those
 * before a path. A path that is not absolute is relative to the folder of the list. An
 * image is found by its path alone, whatever its name ends with; one that is missing is a
 * broken image.
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
static char *skip_csv_blanks(char *field)
{
	return field + strspn(field, " \t");
}

/* Also those at the end: "cat " would be a class of its own. */
static const char *without_blanks(char *field)
{
	char *start = skip_csv_blanks(field);
	size_t length = strlen(start);

	while (length && (start[length - 1] == ' ' || start[length - 1] == '\t'))
		start[--length] = '\0';
	return start;
}

/* The first column that has the first of these names, or else the second, … */
static size_t find_csv_column(const inv_csv *c, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < c->count; i++)
			if (strcasecmp(without_blanks(c->field[i]), *names) == 0)
				return i;
	return NOWHERE;
}

static invar_status read_csv_columns(inv_csv *c, columns *out)
{
	static const char *const path[] = {"path",      "file",  "filename",
	                                   "file_name", "image", NULL};
	static const char *const label[] = {"label", "class", NULL};
	static const char *const split[] = {"split", NULL};
	bool more;

	INV_TRY(inv_csv_next(c, &more));
	if (!more)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a CSV file", c->name);
	*out = (columns){find_csv_column(c, path), find_csv_column(c, label),
	                 find_csv_column(c, split)};
	if (out->path != NOWHERE)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: none of its %zu %s is named path; the first line must name the "
	                "columns, separated by commas: path,label,split",
	                c->name, c->count, inv_noun(c->count, "column", "columns"));
}

static invar_status add_csv_record(list *own, const inv_csv *c, const columns *at,
                                   size_t width)
{
	const char *path, *label, *split;

	if (c->count != width)
		return inv_fail(
			INVAR_E_FORMAT, "%s: line %" PRIu64 " has %zu %s, but the first line has %zu",
			c->name, c->line, c->count, inv_noun(c->count, "field", "fields"), width);
	path = skip_csv_blanks(c->field[at->path]); /* a file's name may end in a blank */
	label = at->label == NOWHERE ? "" : without_blanks(c->field[at->label]);
	split = at->split == NOWHERE ? "" : without_blanks(c->field[at->split]);
	if (!*path || strlen(path) >= MAX_PATH)
		return inv_fail(INVAR_E_FORMAT, "%s: line %" PRIu64 " has %s path", c->name,
		                c->line, *path ? "too long a" : "no");
	return inv_labelled_rows_add(&own->rows, path, label, split);
}

static invar_status read_csv_list(list *own, inv_csv *c)
{
	columns at = {NOWHERE, NOWHERE, NOWHERE};
	size_t width;
	bool more;

	INV_TRY(read_csv_columns(c, &at));
	width = c->count;
	for (;;) {
		INV_TRY(inv_csv_next(c, &more));
		if (!more)
			return INVAR_OK;
		INV_TRY(add_csv_record(own, c, &at, width));
	}
}

static invar_status open_csv(invar_dataset *d)
{
	const char *slash = strrchr(d->place, '/');
	list *own;
	inv_csv *c = NULL;
	inv_map map = {0};
	invar_status st;

	INV_TRY(inv_new(&own));
	d->own = own;
	INV_TRY(inv_new_text(&own->folder, d->place));
	own->folder[slash ? slash - d->place + (slash == d->place) : 0] = '\0';

	INV_TRY_OR(end, inv_map_open(d->place, &map));
	INV_TRY_OR(end, inv_csv_open(map.data, map.size, d->place, &c));
	INV_TRY_OR(end, read_csv_list(own, c));
	st = inv_labelled_rows_publish(&own->rows, d, own);
end:
	inv_csv_close(c);
	inv_map_close(&map);
	return st;
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

/* ---- Files ------------------------------------------------------------------------- */

static const char *csv_image_name(const inv_images *s, uint64_t source)
{
	const list *own = s->store;

	return inv_names_at(&own->rows.names, source);
}

static invar_status find_csv_path(const inv_images *s, uint64_t source, char **out)
{
	const list *own = s->store;
	const char *name = csv_image_name(s, source);

	if (*name == '/' || !*own->folder)
		return inv_new_text(out, name);
	return inv_new_path(out, own->folder, name);
}

const inv_dataset_kind inv_dataset_csv = {
	.name = "csv",
	.place = "FILE",
	.about = "a list of image files with the columns path, label and split",
	.open = open_csv,
	.path = find_csv_path,
	.file = csv_image_name,
	.close = close_csv,
};
