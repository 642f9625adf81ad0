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

#define BLANKS " \t"

/* ---- Opening ----------------------------------------------------------------------- */

/* "path, label" is meant as "path,label"; and "cat " would be a class of its own. */
static const char *without_blanks(char *field)
{
	char *start = field + strspn(field, BLANKS);
	size_t length = strlen(start);

	while (length && strchr(BLANKS, start[length - 1]))
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

static invar_status read_csv_list(list *own, inv_csv *c)
{
	static const char *const paths[] = {"path",      "file",  "filename",
	                                    "file_name", "image", NULL};
	static const char *const labels[] = {"label", "class", NULL};
	static const char *const splits[] = {"split", NULL};
	size_t path_at, label_at, split_at, width;
	const char *path, *label, *split;
	bool more;

	INV_TRY(inv_csv_next(c, &more));
	if (!more)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a CSV file", c->name);
	path_at = find_csv_column(c, paths);
	label_at = find_csv_column(c, labels);
	split_at = find_csv_column(c, splits);
	width = c->count;
	if (path_at == NOWHERE)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: none of its %zu %s is named path; the first line must name "
		                "the columns, separated by commas: path,label,split",
		                c->name, width, inv_noun(width, "column", "columns"));
	for (;;) {
		INV_TRY(inv_csv_next(c, &more));
		if (!more)
			return INVAR_OK;
		if (c->count != width)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: line %" PRIu64 " has %zu %s, but the first line has %zu",
			                c->name, c->line, c->count,
			                inv_noun(c->count, "field", "fields"), width);
		path = c->field[path_at] + strspn(c->field[path_at], BLANKS); /* may end in one */
		label = label_at == NOWHERE ? "" : without_blanks(c->field[label_at]);
		split = split_at == NOWHERE ? "" : without_blanks(c->field[split_at]);
		if (!*path || strlen(path) >= MAX_PATH)
			return inv_fail(INVAR_E_FORMAT, "%s: line %" PRIu64 " has %s path", c->name,
			                c->line, *path ? "too long a" : "no");
		INV_TRY(inv_labelled_rows_add(&own->rows, path, label, split));
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
