/* SPDX-License-Identifier: Apache-2.0 */
/* class_view.c - see class_view.h. */
#include "bank/class_view.h"
#include "bank/bank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/feature_name.h"
#include "base/memory.h"
#include "images/class_list.h"

enum { BLOCK = 4096 }; /* labels read at once */

/* A class of the list: its label in the files, and its number in the view. */
typedef struct listed {
	int64_t label;
	uint32_t number;
} listed;

/* Of labels, and of classes of the list, which begin with theirs. */
static int compare_labels(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The position of a label of the files among those of the view; count if it has none. */
static uint32_t find_view_label(const inv_class_view *v, int64_t label)
{
	const int64_t *found =
		bsearch(&label, v->label, v->count, sizeof label, compare_labels);

	return found ? (uint32_t)(found - v->label) : v->count;
}

int64_t inv_class_view_label(const inv_class_view *v, int64_t label)
{
	uint32_t at = find_view_label(v, label);

	return at < v->count ? (int64_t)v->number[at] : -1;
}

/* ---- The classes of the list ------------------------------------------------------ */

/* { name: label } of bank.json; of equal names the first counts. Gives, or NULL. */
static json_t *index_names(const json_t *names)
{
	json_t *index = json_object(), *name;
	size_t i;

	json_array_foreach (names, i, name) {
		const char *text = json_string_value(name);

		if (text && !json_object_get(index, text) &&
		    json_object_set_new(index, text, json_integer((json_int_t)i)) != 0) {
			json_decref(index);
			return NULL;
		}
	}
	return index;
}

/* Names of bank.json, or labels; whether a label exists is known once rows were seen. */
static invar_status find_listed_classes(const invar_bank *b, const char *list,
                                        const inv_names *names, listed *out)
{
	json_t *index = index_names(json_object_get(b->json, "classes"));
	invar_status st = INVAR_OK;

	if (!index)
		return inv_no_memory();
	for (size_t i = 0; i < names->count; i++) {
		const char *text = inv_names_at(names, i);
		const json_t *known = json_object_get(index, text);
		uint64_t label = 0;

		if (!known && !inv_class_list_index(text, &label))
			INV_TRY_OR(done, inv_class_list_unknown(list, text, b->path));
		out[i] = (listed){known ? json_integer_value(known) : (int64_t)label, (uint32_t)i};
	}
done:
	json_decref(index);
	return st;
}

static const char *spell_class(const invar_bank *b, int64_t label, char number[24])
{
	const char *name = inv_bank_class(b, label);

	snprintf(number, 24, "%" PRId64, label);
	return name ? name : number;
}

/* The bank's own names from now on: those of the list, in its order. */
static invar_status rename_classes(invar_bank *b, const listed *in_order, uint32_t count)
{
	json_t *json = b->json ? json_copy(b->json) : json_object(), *names = json_array();
	char number[24];

	for (uint32_t i = 0; i < count; i++)
		if (json_array_append_new(
				names, json_string(spell_class(b, in_order[i].label, number))) != 0)
			break;
	if (json_array_size(names) != count) {
		json_decref(names);
		names = NULL; /* so that json_object_set_new fails */
	}
	if (json_object_set_new(json, "classes", names) != 0) {
		json_decref(json);
		return inv_no_memory();
	}
	json_decref(b->json);
	b->json = json;
	return INVAR_OK;
}

static invar_status apply_list(invar_bank *b, const char *list, const inv_names *names)
{
	uint32_t count = (uint32_t)names->count;
	inv_class_view *v = &b->view;
	listed *all, *sorted;
	char number[24];
	invar_status st;

	INV_TRY(inv_new_zeros(&all, 2 * names->count));
	sorted = all + count;
	INV_TRY_OR(done, find_listed_classes(b, list, names, all));
	INV_TRY_OR(done, inv_new_zeros(&v->label, count));
	INV_TRY_OR(done, inv_new_zeros(&v->number, count));
	memcpy(sorted, all, count * sizeof *all);
	qsort(sorted, count, sizeof *sorted, compare_labels);
	for (uint32_t i = 0; i < count; i++) {
		if (i && sorted[i].label == sorted[i - 1].label)
			INV_TRY_OR(done,
			           inv_class_list_twice(list, spell_class(b, sorted[i].label, number)));
		v->label[i] = sorted[i].label;
		v->number[i] = sorted[i].number;
	}
	v->count = count;
	st = rename_classes(b, all, count);
done:
	inv_free(all);
	return st;
}

/* ---- Rows ------------------------------------------------------------------------- */

typedef struct picking {
	const inv_class_view *view;
	bool *seen;    /* [classes], by their position */
	uint32_t *row; /* NULL: only counts */
	uint64_t kept;
} picking;

static invar_status pick_rows(const inv_split *s, picking *p)
{
	int64_t label[BLOCK];
	uint64_t rows = inv_file_rows(s);

	p->kept = 0;
	for (uint64_t first = 0; first < rows; first += BLOCK) {
		uint64_t count = rows - first < BLOCK ? rows - first : BLOCK;

		INV_TRY(inv_npy_read_int(s->labels, first, count, label));
		for (uint64_t i = 0; i < count; i++) {
			uint32_t at = find_view_label(p->view, label[i]);

			if (at == p->view->count)
				continue;
			p->seen[at] = true;
			if (p->row)
				p->row[p->kept] = (uint32_t)(first + i);
			p->kept++;
		}
	}
	return INVAR_OK;
}

static invar_status select_rows(invar_bank *b, size_t named, const char *list)
{
	const inv_class_view *v = &b->view;
	char number[24];
	bool *seen;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_zeros(&seen, v->count));
	for (size_t i = 0; i < b->split_count; i++) {
		inv_split *s = &b->splits[i];
		picking p = {.view = v, .seen = seen};

		if (!s->labels)
			continue;
		INV_TRY_OR(done, pick_rows(s, &p)); /* counts them */
		INV_TRY_OR(done, inv_new_zeros(&s->row, p.kept + 1));
		p.row = s->row;
		s->rows = p.kept;
		INV_TRY_OR(done, pick_rows(s, &p));
	}
	/* A label that bank.json has no name for and no row has is a mistake in the list. */
	for (uint32_t i = 0; i < v->count; i++) {
		if (seen[i] || (uint64_t)v->label[i] < named)
			continue;
		snprintf(number, sizeof number, "%" PRId64, v->label[i]);
		INV_TRY_OR(done, inv_class_list_unknown(list, number, b->path));
	}
done:
	inv_free(seen);
	return st;
}

/* Splits that keep rows move to the front; the others stay after them, to be closed. */
static invar_status hide_empty_splits(invar_bank *b, const char *list)
{
	size_t kept = 0;
	bool any = false; /* row of these classes */

	for (size_t i = 0; i < b->split_count; i++) {
		inv_split s = b->splits[i];

		any = any || (s.labels && s.rows);
		if (!s.rows) {
			inv_log(b->ctx, INVAR_LOG_INFO,
			        "%s has no images of these classes and is left out", s.name);
			continue;
		}
		b->splits[i] = b->splits[kept];
		b->splits[kept++] = s;
	}
	b->hidden_count = b->split_count - kept;
	b->split_count = kept;
	return any ? INVAR_OK : inv_class_list_no_rows(list, b->path);
}

/* Of which rows of which splits, and how their labels are numbered. */
static invar_status hash_view(invar_bank *b)
{
	json_t *all = json_array();
	bool fits = true;
	invar_status st;

	for (uint32_t i = 0; i < b->view.count; i++)
		fits = fits &&
		       json_array_append_new(all, json_pack("[I, I]", (json_int_t)b->view.label[i],
		                                            (json_int_t)b->view.number[i])) == 0;
	for (size_t i = 0; i < b->split_count; i++) {
		const inv_split *s = &b->splits[i];
		char hex[INV_SHA256_HEX] = "";

		if (s->row)
			INV_TRY_OR(done, inv_sha256(s->row, s->rows * sizeof *s->row, hex));
		fits = fits && json_array_append_new(all, json_pack("[s, s]", s->name, hex)) == 0;
	}
	st = inv_json_sha256(fits ? all : NULL, b->view.hex);
done:
	json_decref(all);
	return st;
}

invar_status inv_class_view_apply(invar_bank *b, const char *list)
{
	size_t named = json_array_size(json_object_get(b->json, "classes"));
	bool has_labels = false;
	inv_names names = {0};
	invar_status st;

	for (size_t i = 0; i < b->split_count; i++)
		has_labels = has_labels || b->splits[i].labels;
	INV_TRY_OR(done, inv_class_list_load(list, &names));
	if (!has_labels)
		INV_TRY_OR(done, inv_class_list_no_classes(list, b->path));
	INV_TRY_OR(done, apply_list(b, list, &names));
	INV_TRY_OR(done, select_rows(b, named, list));
	INV_TRY_OR(done, hide_empty_splits(b, list));
	st = hash_view(b);
done:
	inv_names_clear(&names);
	return st;
}

void inv_class_view_clear(inv_class_view *v)
{
	inv_free(v->label);
	inv_free(v->number);
	*v = (inv_class_view){0};
}

json_t *inv_bank_view_classes(const invar_bank *b)
{
	return *b->view.hex ? json_object_get(b->json, "classes") : NULL;
}

/* ---- The option ------------------------------------------------------------------- */

invar_status inv_bank_declare(invar_options *o)
{
	return inv_options_add_rows(o, inv_class_list_rows);
}

invar_status inv_class_view_check(const invar_bank *b, const invar_options *o)
{
	const char *list = inv_option_text(o, "classes");

	if (!list || *b->view.hex)
		return INVAR_OK;
	if (b->in_memory)
		return inv_fail(INVAR_E_USE,
		                "@classes %s: %s has all its rows; leave out those "
		                "of other classes, or use a bank in a folder",
		                list, b->path);
	return inv_fail(INVAR_E_USE,
	                "@classes %s: %s was opened with all its classes; open it with this "
	                "option (invar_bank_open)",
	                list, b->path);
}

/* What opening a bank reads; not every command has both. */
static invar_status declare_opening(invar_options *o)
{
	INV_TRY(inv_bank_declare(o));
	return inv_feature_name_declare(o);
}

invar_status invar_bank_open(invar_context *ctx, const char *path, const invar_options *o,
                             invar_bank **out)
{
	invar_options *own = NULL;
	const char *classes, *name;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_pick(o, declare_opening, &own));
	classes = inv_option_text(own, "classes");
	name = inv_option_text(own, "encoder-name");
	INV_TRY_OR(fail, inv_bank_open(ctx, path, out));
	if (classes)
		INV_TRY_OR(fail, inv_class_view_apply(*out, classes));
	if (name)
		INV_TRY_OR(fail, inv_feature_name_apply(*out, name));
	invar_options_free(own);
	return INVAR_OK;
fail:
	invar_options_free(own);
	invar_bank_close(*out);
	*out = NULL;
	return st;
}
