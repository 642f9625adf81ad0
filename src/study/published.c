/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - reads a file of published figures and finds one by its key.
 *
 * The document stays in memory, as every key views its text. Figures are an array sorted by
 * key: that finds them, and brings figures that were printed twice side by side.
 */
#include "study/published.h"

#include "base/status.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_BYTES = 1 << 20,
	MAX_NAME = 200,
	MAX_LISTED = 100,
	MAX_DIGITS = 9,
	MAX_NUMBER = 100000
};

typedef struct figure {
	inv_published_key key;
	inv_published_value value;
} figure;

struct inv_published {
	json_t *document;
	figure *list;
	size_t count, allocated;
	unsigned digits;
};

/* What a message needs to know while a file is read. */
typedef struct reader {
	inv_published *p;
	const char *path;
	const char *table; /* label, or "" outside of tables */
} reader;

static bool refuse(reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(reader *r, const char *format, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	inv_fail(INVAR_E_FORMAT, "%s: %s%s%s", r->path, r->table, *r->table ? ": " : "",
	         sentence);
	return false;
}

/* ---- Members ------------------------------------------------------------------------ */

static bool is_name(const json_t *value)
{
	size_t length = json_string_length(value);

	return length > 0 && length <= MAX_NAME && !memchr(json_string_value(value), 0, length);
}

static bool get_name(reader *r, const json_t *in, const char *key, const char **out)
{
	const json_t *value = json_object_get(in, key);

	*out = json_string_value(value);
	return is_name(value) ||
	       refuse(r, "\"%s\" must be a text of 1 to %d bytes", key, MAX_NAME);
}

/* A whole number from 0 to max; 0 if the key is absent. */
static bool get_count(reader *r, const json_t *in, const char *key, unsigned max,
                      unsigned *out)
{
	const json_t *value = json_object_get(in, key);
	json_int_t n = json_integer_value(value);

	if (value && (!json_is_integer(value) || n < 0 || n > max))
		return refuse(r, "\"%s\" must be a whole number from 0 to %u", key, max);
	*out = (unsigned)n;
	return true;
}

static json_t *entry_of(const inv_published *p, const char *list, const char *id)
{
	return json_object_get(json_object_get(p->document, list), id);
}

/* The id that this is, or whose title this is, in any case; NULL if there is none. */
static const char *find_id(const inv_published *p, const char *list, const char *name)
{
	json_t *titles = json_object_get(p->document, list), *title;
	const char *id;

	if (!name)
		return NULL;
	json_object_foreach (titles, id, title)
		if (strcasecmp(id, name) == 0 || strcasecmp(json_string_value(title), name) == 0)
			return id;
	return NULL;
}

/* A name that a list of the document has. */
static bool get_listed(reader *r, const json_t *in, const char *key, const char *list,
                       const char **out)
{
	if (!get_name(r, in, key, out))
		return false;
	if (!entry_of(r->p, list, *out))
		return refuse(r, "\"%s\" is not one of the \"%s\" that the file lists", *out, list);
	return true;
}

/* ---- Lists -------------------------------------------------------------------------- */

/*
 * Ids and titles of a list, which a question may mix and write in any case; so no two
 * entries may share one.
 */
static bool check_titles(reader *r, const char *list)
{
	const json_t *titles = json_object_get(r->p->document, list);
	const char *id;
	json_t *title;

	if (!json_is_object(titles) || json_object_size(titles) > MAX_LISTED)
		return refuse(r, "\"%s\" must be an object of up to %d ids and titles", list,
		              MAX_LISTED);
	json_object_foreach ((json_t *)titles, id, title)
		if (strlen(id) > MAX_NAME || !is_name(title))
			return refuse(r, "ids and titles of \"%s\" must be texts of 1 to %d bytes",
			              list, MAX_NAME);
	json_object_foreach ((json_t *)titles, id, title)
		if (strcmp(find_id(r->p, list, id), id) != 0 ||
		    strcmp(find_id(r->p, list, json_string_value(title)), id) != 0)
			return refuse(r, "\"%s\" has the name of another of the \"%s\"", id, list);
	return true;
}

static bool check_metric(reader *r, const char *id, const json_t *about)
{
	const char *unit, *column;

	if (strlen(id) > MAX_NAME)
		return refuse(r, "ids of \"metrics\" must be texts of 1 to %d bytes", MAX_NAME);
	if (!get_name(r, about, "unit", &unit))
		return false;
	if (strcmp(unit, "percent") != 0 && strcmp(unit, "number") != 0)
		return refuse(r, "the unit of \"%s\" must be percent or number", id);
	return !json_object_get(about, "column") ||
	       get_listed(r, about, "column", "columns", &column);
}

static bool check_metrics(reader *r)
{
	const json_t *metrics = json_object_get(r->p->document, "metrics");
	const char *id;
	json_t *about;

	if (!json_is_object(metrics))
		return refuse(r, "\"metrics\" must be an object of metrics");
	json_object_foreach ((json_t *)metrics, id, about)
		if (!check_metric(r, id, about))
			return false;
	return true;
}

/* ---- Figures ------------------------------------------------------------------------ */

static bool add_figure(reader *r, const figure *f)
{
	inv_published *p = r->p;

	if (p->count == p->allocated) {
		size_t wanted = p->allocated ? 2 * p->allocated : 1024;
		figure *grown = realloc(p->list, wanted * sizeof *grown);

		if (!grown)
			return refuse(r, "no memory for its figures");
		p->list = grown;
		p->allocated = wanted;
	}
	p->list[p->count++] = *f;
	return true;
}

/* `f` has everything except the metric and its number. */
static bool read_value(reader *r, figure f, const char *metric, const json_t *number)
{
	const json_t *about = entry_of(r->p, "metrics", metric);
	const char *column = json_string_value(json_object_get(about, "column"));
	double value = json_number_value(number);

	if (!about)
		return refuse(r, "\"%.*s\" is not one of the \"metrics\" that the file lists",
		              MAX_NAME, metric);
	if (!json_is_number(number) || !isfinite(value))
		return refuse(r, "\"%.*s\" must be a number", MAX_NAME, metric);
	if (strcmp(json_string_value(json_object_get(about, "unit")), "percent") == 0)
		value /= 100;
	if (column) {
		f.key.column = column;
		f.value.width = 0;
	}
	f.key.metric = metric;
	f.value.value = value;
	return add_figure(r, &f);
}

/* `f` has the data set, the encoder and the table. */
static bool read_row(reader *r, figure f, const json_t *row)
{
	const json_t *values = json_object_get(row, "values");
	const char *metric;
	json_t *number;

	if (!get_listed(r, row, "augment", "augmentations", &f.key.augment) ||
	    !get_listed(r, row, "column", "columns", &f.key.column) ||
	    !get_count(r, row, "width", MAX_NUMBER, &f.value.width))
		return false;
	if (!json_is_object(values))
		return refuse(r, "\"values\" of a row must be an object of numbers");
	json_object_foreach ((json_t *)values, metric, number)
		if (!read_value(r, f, metric, number))
			return false;
	return true;
}

static bool read_table(reader *r, const json_t *table)
{
	figure f = {.value = {.digits = r->p->digits}};
	const json_t *rows = json_object_get(table, "rows"), *row;
	size_t i;

	r->table = "";
	if (!get_name(r, table, "label", &f.value.label))
		return false;
	r->table = f.value.label;
	if (!get_count(r, table, "number", MAX_NUMBER, &f.value.number) ||
	    !get_listed(r, table, "dataset", "datasets", &f.key.dataset) ||
	    !get_listed(r, table, "encoder", "encoders", &f.key.encoder))
		return false;
	if (!json_is_array(rows))
		return refuse(r, "\"rows\" must be a list");
	json_array_foreach (rows, i, row)
		if (!read_row(r, f, row))
			return false;
	r->table = "";
	return true;
}

static int compare_keys(const inv_published_key *a, const inv_published_key *b)
{
	int order;

	(void)((order = strcmp(a->dataset, b->dataset)) ||
	       (order = strcmp(a->encoder, b->encoder)) ||
	       (order = strcmp(a->augment, b->augment)) ||
	       (order = strcmp(a->column, b->column)) ||
	       (order = strcmp(a->metric, b->metric)));
	return order;
}

/* By key; of equal keys first what says a width, then the earlier table. */
static int compare_figures(const void *one, const void *other)
{
	const figure *a = one, *b = other;
	int order = compare_keys(&a->key, &b->key);

	if (order)
		return order;
	if (!a->value.width != !b->value.width)
		return a->value.width ? -1 : 1;
	return (a->value.number > b->value.number) - (a->value.number < b->value.number);
}

static bool agree(const inv_published_value *a, const inv_published_value *b)
{
	return a->value == b->value && (!b->width || a->width == b->width);
}

/* Sorts, and keeps one of the figures that were printed more than once. */
static bool sort_figures(reader *r)
{
	inv_published *p = r->p;
	size_t kept = 0;

	if (p->count)
		qsort(p->list, p->count, sizeof *p->list, compare_figures);
	for (size_t i = 0; i < p->count; i++) {
		const figure *f = &p->list[i], *last = kept ? &p->list[kept - 1] : NULL;

		if (!last || compare_keys(&last->key, &f->key) != 0)
			p->list[kept++] = *f;
		else if (!agree(&last->value, &f->value))
			return refuse(r, "tables %u and %u disagree on %s of %s, %s, %s, %s",
			              last->value.number, f->value.number, f->key.metric,
			              f->key.dataset, f->key.encoder, f->key.augment, f->key.column);
	}
	p->count = kept;
	return true;
}

/* ---- The file ----------------------------------------------------------------------- */

static bool load_document(reader *r)
{
	FILE *file = fopen(r->path, "rb");
	char *text = malloc(MAX_BYTES + 1);
	size_t bytes = file && text ? fread(text, 1, MAX_BYTES + 1, file) : 0;
	bool read = file && text && !ferror(file), fits = bytes <= MAX_BYTES;
	json_error_t error = {.line = -1};
	int cause = errno;

	if (file)
		fclose(file);
	if (read && fits)
		r->p->document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (!read)
		return refuse(r, "cannot be read: %s", strerror(cause));
	if (!fits)
		return refuse(r, "has more than %d bytes, too many for published figures",
		              MAX_BYTES);
	if (!r->p->document)
		return refuse(r, "line %d: %s", error.line, error.text);
	return true;
}

static bool check_format(reader *r)
{
	const json_t *d = r->p->document;
	const char *format = json_string_value(json_object_get(d, "format")), *paper;
	const json_t *version = json_object_get(d, "version");

	if (!format || strcmp(format, "invar-published") != 0)
		return refuse(r, "is not a file of published figures; \"format\" must be "
		                 "\"invar-published\"");
	if (json_integer_value(version) != 1)
		return refuse(r, "\"version\" must be 1, the only one that this program reads");
	return get_name(r, d, "paper", &paper) &&
	       get_count(r, d, "digits", MAX_DIGITS, &r->p->digits) &&
	       check_titles(r, "datasets") && check_titles(r, "encoders") &&
	       check_titles(r, "augmentations") && check_titles(r, "columns") &&
	       check_metrics(r);
}

static bool read_document(reader *r)
{
	const json_t *tables, *table;
	size_t i;

	if (!load_document(r) || !check_format(r))
		return false;
	tables = json_object_get(r->p->document, "tables");
	if (!json_is_array(tables))
		return refuse(r, "\"tables\" must be a list");
	json_array_foreach (tables, i, table)
		if (!read_table(r, table))
			return false;
	return sort_figures(r);
}

inv_published *inv_published_open(const char *path)
{
	reader r = {.path = path, .table = ""};

	if (!(r.p = calloc(1, sizeof *r.p))) {
		refuse(&r, "no memory for its figures");
		return NULL;
	}
	if (read_document(&r))
		return r.p;
	inv_published_close(r.p);
	return NULL;
}

void inv_published_close(inv_published *p)
{
	if (!p)
		return;
	json_decref(p->document);
	free(p->list);
	free(p);
}

/* ---- Questions ---------------------------------------------------------------------- */

static int compare_to_key(const void *key, const void *entry)
{
	return compare_keys(key, &((const figure *)entry)->key);
}

const inv_published_value *inv_published_find(const inv_published *p,
                                              const inv_published_key *key)
{
	const inv_published_key k = {.dataset = find_id(p, "datasets", key->dataset),
	                             .encoder = find_id(p, "encoders", key->encoder),
	                             .augment = find_id(p, "augmentations", key->augment),
	                             .column = find_id(p, "columns", key->column),
	                             .metric = key->metric};
	const figure *found;

	if (!p->count || !k.dataset || !k.encoder || !k.augment || !k.column)
		return NULL;
	found = bsearch(&k, p->list, p->count, sizeof *p->list, compare_to_key);
	return found ? &found->value : NULL;
}

const inv_published_value *inv_published_at(const inv_published *p, size_t i,
                                            inv_published_key *key)
{
	if (i >= p->count)
		return NULL;
	if (key)
		*key = p->list[i].key;
	return &p->list[i].value;
}

const char *inv_published_paper(const inv_published *p)
{
	return json_string_value(json_object_get(p->document, "paper"));
}

const char *inv_published_title(const inv_published *p, const char *list, const char *name)
{
	const char *id = find_id(p, list, name);

	return id ? json_string_value(entry_of(p, list, id)) : NULL;
}
