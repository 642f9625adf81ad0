/* SPDX-License-Identifier: Apache-2.0 */
/* labelled_rows.c - from texts to classes and splits, see labelled_rows.h. */
#include "images/kinds/labelled_rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_SPLIT_NAME = 32, MAX_DIGITS = 18 };

static const char *const standard[] = {"train", "val", "test", "unlabeled", NULL};

const char *inv_standard_split(size_t i)
{
	return standard[i];
}

bool inv_is_standard_split(const char *name, size_t length)
{
	for (size_t i = 0; standard[i]; i++)
		if (strlen(standard[i]) == length && memcmp(standard[i], name, length) == 0)
			return true;
	return false;
}

static invar_status add_text(inv_names *n, const char *text)
{
	return inv_names_add(n, text, strlen(text));
}

invar_status inv_labelled_rows_add(inv_labelled_rows *r, const char *name,
                                   const char *label, const char *split)
{
	invar_status st = add_text(&r->names, name);

	if (st == INVAR_OK)
		st = add_text(&r->labels, label);
	return st == INVAR_OK ? add_text(&r->splits, split) : st;
}

void inv_labelled_rows_clear(inv_labelled_rows *r)
{
	inv_names_clear(&r->names);
	inv_names_clear(&r->labels);
	inv_names_clear(&r->splits);
	inv_free(r->classes);
	*r = (inv_labelled_rows){0};
}

/* ---- Classes ----------------------------------------------------------------------- */

/* 0, 7, 120, as a number is written: then longer means larger. */
static bool is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= MAX_DIGITS && !text[digits] && (digits == 1 || *text != '0');
}

typedef int order_fn(const char *a, const char *b);

static int order_numbers(const char *a, const char *b)
{
	size_t one = strlen(a), other = strlen(b);

	return one != other ? (one < other ? -1 : 1) : strcmp(a, b);
}

static int order_texts(const char *a, const char *b)
{
	return strcmp(a, b);
}

static int compare_numbers(const void *a, const void *b, void *text)
{
	return order_numbers((const char *)text + *(const size_t *)a,
	                     (const char *)text + *(const size_t *)b);
}

/* The different labels, in byte order. */
static invar_status sort_labels(const inv_labelled_rows *r, inv_names *out)
{
	inv_names all = {0};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < r->labels.count && st == INVAR_OK; i++)
		if (*inv_names_at(&r->labels, i))
			st = add_text(&all, inv_names_at(&r->labels, i));
	inv_names_sort(&all);
	for (size_t i = 0; i < all.count && st == INVAR_OK; i++)
		if (i == 0 || strcmp(inv_names_at(&all, i - 1), inv_names_at(&all, i)) != 0)
			st = add_text(out, inv_names_at(&all, i));
	inv_names_clear(&all);
	return st;
}

/* The place of a label in the sorted list, which has it. */
static int32_t find_label(const inv_names *sorted, const char *label, order_fn *order)
{
	size_t low = 0, high = sorted->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (order(label, inv_names_at(sorted, middle)) < 0)
			high = middle;
		else
			low = middle;
	}
	return (int32_t)low;
}

static invar_status number_labels(inv_labelled_rows *r, invar_dataset *d)
{
	inv_names sorted = {0};
	invar_status st = sort_labels(r, &sorted);
	order_fn *order = order_numbers;

	for (size_t i = 0; i < sorted.count; i++)
		if (!is_number(inv_names_at(&sorted, i)))
			order = order_texts;
	if (sorted.count > 1 && order == order_numbers)
		qsort_r(sorted.at, sorted.count, sizeof *sorted.at, compare_numbers, sorted.text);
	if (st == INVAR_OK && sorted.count > INT32_MAX)
		st = inv_fail(INVAR_E_FORMAT, "%s: has more than 2^31 classes", d->text);
	for (size_t i = 0; i < sorted.count && st == INVAR_OK; i++)
		st = inv_dataset_add_class(d, inv_names_at(&sorted, i));
	if (st == INVAR_OK && sorted.count &&
	    !(r->classes = inv_alloc(r->labels.count * sizeof *r->classes)))
		st = inv_dataset_no_memory(d);
	for (size_t i = 0; i < r->labels.count && st == INVAR_OK && r->classes; i++) {
		const char *label = inv_names_at(&r->labels, i);

		r->classes[i] = *label ? find_label(&sorted, label, order) : INV_NO_LABEL;
	}
	inv_names_clear(&sorted);
	return st;
}

/* ---- Splits ------------------------------------------------------------------------ */

/* A split becomes the name of a folder in a bank, beside a folder `cache`. */
static bool is_split_name(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return length && length <= MAX_SPLIT_NAME && isalnum((unsigned char)*name) &&
	       strcmp(name, "cache") != 0;
}

/* Every image has a split, or none has: a forgotten one would change train silently. */
static invar_status list_splits(const inv_labelled_rows *r, const invar_dataset *d,
                                inv_names *out)
{
	invar_status st = INVAR_OK;
	size_t with = SIZE_MAX, without = SIZE_MAX, known;

	for (size_t i = 0; i < r->splits.count && st == INVAR_OK; i++) {
		const char *split = inv_names_at(&r->splits, i);

		*(*split ? &with : &without) = i;
		if (!*split || inv_names_find(out, split, &known))
			continue;
		if (!is_split_name(split))
			return inv_fail(INVAR_E_FORMAT,
			                "%s: %s is in the split '%.40s', but the name of a split has 1 "
			                "to %d letters, digits, - and _",
			                d->text, inv_names_at(&r->names, i), split, MAX_SPLIT_NAME);
		if (out->count == INV_MAX_SPLITS)
			return inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits", d->text,
			                INV_MAX_SPLITS);
		st = add_text(out, split);
	}
	if (st == INVAR_OK && with != SIZE_MAX && without != SIZE_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: %s is in a split but %s is not; put every image into one, or "
		                "none",
		                d->text, inv_names_at(&r->names, with),
		                inv_names_at(&r->names, without));
	return st;
}

static invar_status add_split(inv_labelled_rows *r, invar_dataset *d, const char *split,
                              const void *store)
{
	uint64_t count = 0;
	uint32_t *source;
	bool wanted;
	invar_status st = inv_dataset_offer(d, split, false, &wanted);

	if (st != INVAR_OK || !wanted)
		return st;
	if (!(source = inv_alloc(r->splits.count * sizeof *source)))
		return inv_dataset_no_memory(d);
	for (size_t i = 0; i < r->splits.count; i++)
		if (strcmp(inv_names_at(&r->splits, i), split) == 0)
			source[count++] = (uint32_t)i;
	return inv_dataset_add_part(d, split, count, source, r->classes, store);
}

static invar_status add_splits(inv_labelled_rows *r, invar_dataset *d,
                               const inv_names *splits, const void *store)
{
	invar_status st = INVAR_OK;
	size_t known;

	for (size_t i = 0; standard[i] && st == INVAR_OK; i++)
		if (inv_names_find(splits, standard[i], &known))
			st = add_split(r, d, standard[i], store);
	for (size_t i = 0; i < splits->count && st == INVAR_OK; i++) {
		const char *name = inv_names_at(splits, i);

		if (!inv_is_standard_split(name, strlen(name)))
			st = add_split(r, d, name, store);
	}
	return st;
}

/* The labels of a whole are the data set's own. */
static invar_status add_whole(inv_labelled_rows *r, invar_dataset *d, const void *store)
{
	int32_t *labels = r->classes;

	r->classes = NULL;
	return inv_dataset_add_whole(d, r->names.count, labels, store);
}

invar_status inv_labelled_rows_publish(inv_labelled_rows *r, invar_dataset *d,
                                       const void *store)
{
	inv_names splits = {0};
	invar_status st = INVAR_OK;

	if (!r->names.count || r->names.count >= UINT32_MAX)
		return inv_fail(INVAR_E_FORMAT, "%s: lists %s images", d->text,
		                r->names.count ? "more than 2^32" : "no");
	st = list_splits(r, d, &splits);
	if (st == INVAR_OK)
		st = number_labels(r, d);
	if (st == INVAR_OK)
		st = splits.count ? add_splits(r, d, &splits, store) : add_whole(r, d, store);
	inv_names_clear(&splits);
	return st;
}
