/* SPDX-License-Identifier: Apache-2.0 */
/* labelled_rows.c - from texts to classes and splits, see labelled_rows.h. */
#include "images/kinds/labelled_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_SPLIT_NAME = 32, MAX_DIGITS = 18 };

#define SPLIT_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static const char *const standard_splits[] = {"train", "val", "test", "unlabeled", NULL};

const char *inv_standard_split(size_t i)
{
	return standard_splits[i];
}

bool inv_is_standard_split(const char *name, size_t length)
{
	for (size_t i = 0; standard_splits[i]; i++)
		if (strlen(standard_splits[i]) == length &&
		    memcmp(standard_splits[i], name, length) == 0)
			return true;
	return false;
}

static invar_status add_row_text(inv_names *n, const char *text)
{
	return inv_names_add(n, text, strlen(text));
}

invar_status inv_labelled_rows_add(inv_labelled_rows *r, const char *name,
                                   const char *label, const char *split)
{
	INV_TRY(add_row_text(&r->names, name));
	INV_TRY(add_row_text(&r->labels, label));
	return add_row_text(&r->splits, split);
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

static int order_numbers(const char *a, const char *b)
{
	size_t one = strlen(a), other = strlen(b);

	return one != other ? (one < other ? -1 : 1) : strcmp(a, b);
}

static int compare_numbers(const void *a, const void *b, void *text)
{
	return order_numbers((const char *)text + *(const size_t *)a,
	                     (const char *)text + *(const size_t *)b);
}

/* Numbers such as 0, 7, 120, as they are written, have the order of their values. */
static invar_status number_labels(inv_labelled_rows *r, invar_dataset *d)
{
	int (*order)(const char *, const char *) = order_numbers;
	inv_names all = {0};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < r->labels.count; i++)
		if (*inv_names_at(&r->labels, i))
			INV_TRY_OR(end, add_row_text(&all, inv_names_at(&r->labels, i)));
	inv_names_unique(&all);
	if (!all.count)
		goto end;
	if (all.count > INT32_MAX)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_FORMAT, "%s: has more than 2^31 classes", d->text));
	for (size_t i = 0; i < all.count; i++) {
		const char *text = inv_names_at(&all, i);
		size_t digits = strspn(text, "0123456789");

		if (!digits || digits > MAX_DIGITS || text[digits] || (digits > 1 && *text == '0'))
			order = strcmp;
	}
	if (order == order_numbers)
		qsort_r(all.at, all.count, sizeof *all.at, compare_numbers, all.text);

	for (size_t i = 0; i < all.count; i++)
		INV_TRY_OR(end, inv_dataset_add_class(d, inv_names_at(&all, i)));
	INV_TRY_OR(end, inv_new_array(&r->classes, r->labels.count));
	for (size_t i = 0; i < r->labels.count; i++) {
		const char *label = inv_names_at(&r->labels, i);
		size_t low = 0, high = all.count;

		while (high - low > 1) {
			size_t middle = low + (high - low) / 2;

			if (order(label, inv_names_at(&all, middle)) < 0)
				high = middle;
			else
				low = middle;
		}
		r->classes[i] = *label ? (int32_t)low : INV_NO_LABEL;
	}
end:
	inv_names_clear(&all);
	return st;
}

/* ---- Splits ------------------------------------------------------------------------ */

/* Every image has a split, or none has: a forgotten one would change train silently. */
static invar_status list_splits(const inv_labelled_rows *r, const invar_dataset *d,
                                inv_names *out)
{
	size_t with = SIZE_MAX, without = SIZE_MAX, known, length;

	for (size_t i = 0; i < r->splits.count; i++) {
		const char *split = inv_names_at(&r->splits, i);

		*(*split ? &with : &without) = i;
		if (!*split || inv_names_find(out, split, &known))
			continue;
		/* It becomes the name of a folder in a bank, beside a folder `cache`. */
		length = strspn(split, SPLIT_LETTERS);
		if (split[length] || length > MAX_SPLIT_NAME || *split == '-' || *split == '_' ||
		    strcmp(split, "cache") == 0)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: %s is in the split '%.40s', but the name of a split has 1 "
			                "to %d letters, digits, - and _",
			                d->text, inv_names_at(&r->names, i), split, MAX_SPLIT_NAME);
		if (out->count == INV_MAX_SPLITS)
			return inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits", d->text,
			                INV_MAX_SPLITS);
		INV_TRY(add_row_text(out, split));
	}
	if (with != SIZE_MAX && without != SIZE_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: %s is in a split but %s is not; put every image into one, or "
		                "none",
		                d->text, inv_names_at(&r->names, with),
		                inv_names_at(&r->names, without));
	return INVAR_OK;
}

static invar_status add_labelled_split(inv_labelled_rows *r, invar_dataset *d,
                                       const char *split, const void *store)
{
	uint64_t count = 0;
	uint32_t *source;
	bool wanted;

	INV_TRY(inv_dataset_offer(d, split, false, &wanted));
	if (!wanted)
		return INVAR_OK;
	INV_TRY(inv_new_array(&source, r->splits.count));
	for (size_t i = 0; i < r->splits.count; i++)
		if (strcmp(inv_names_at(&r->splits, i), split) == 0)
			source[count++] = (uint32_t)i;
	return inv_dataset_add_part(d, split, count, source, r->classes, store);
}

invar_status inv_labelled_rows_publish(inv_labelled_rows *r, invar_dataset *d,
                                       const void *store)
{
	inv_names splits = {0};
	int32_t *labels;
	size_t known;
	invar_status st;

	if (!r->names.count || r->names.count >= UINT32_MAX)
		return inv_fail(INVAR_E_FORMAT, "%s: lists %s images", d->text,
		                r->names.count ? "more than 2^32" : "no");
	INV_TRY_OR(end, list_splits(r, d, &splits));
	INV_TRY_OR(end, number_labels(r, d));
	if (!splits.count) {
		labels = r->classes; /* without splits, the data set owns the labels */
		r->classes = NULL;
		st = inv_dataset_add_whole(d, r->names.count, labels, store);
	}
	/* The standard splits first, in their order, then the others as they were found. */
	for (size_t i = 0; standard_splits[i]; i++)
		if (inv_names_find(&splits, standard_splits[i], &known))
			INV_TRY_OR(end, add_labelled_split(r, d, standard_splits[i], store));
	for (size_t i = 0; i < splits.count; i++) {
		const char *name = inv_names_at(&splits, i);

		if (!inv_is_standard_split(name, strlen(name)))
			INV_TRY_OR(end, add_labelled_split(r, d, name, store));
	}
end:
	inv_names_clear(&splits);
	return st;
}
