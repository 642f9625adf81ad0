/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - which images of a data set take part: --split, --holdout, --classes
 * and --limit, in this order.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"
#include "images/class_list.h"
#include "images/dataset.h"

enum { DROPPED = -1 };

/* ---- --split ---------------------------------------------------------------------- */

invar_status inv_dataset_check_split_names(const invar_dataset *d)
{
	char there[512] = "";
	size_t used = 0;

	for (const char *at = d->opts.split; at && *at;) {
		size_t length = strcspn(at, ",");
		bool found = false;

		for (size_t i = 0; i < d->split_names.count && !found; i++) {
			const char *name = inv_names_at(&d->split_names, i);

			found = strncmp(name, at, length) == 0 && !name[length];
		}
		for (size_t i = 0; i < d->split_names.count && !found && used < sizeof there; i++)
			used += (size_t)snprintf(there + used, sizeof there - used, "%s%s",
			                         i ? ", " : "", inv_names_at(&d->split_names, i));
		if (!found)
			return inv_fail(INVAR_E_USE, "%s: has no split '%.*s'; it has %s", d->text,
			                (int)length, at, there);
		at += length + (at[length] == ',');
	}
	if (!d->split_count)
		return inv_fail(INVAR_E_USE, "%s: has none of the requested splits", d->text);
	return INVAR_OK;
}

/* ---- --holdout ---------------------------------------------------------------------- */

/* Drops the splits made by --holdout that were not requested. */
static void keep_wanted_splits(invar_dataset *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->split_count; i++)
		if (!d->opts.split || inv_has_word(d->opts.split, ',', d->splits[i].name))
			d->splits[kept++] = d->splits[i];
		else
			inv_images_clear(&d->splits[i]);
	d->split_count = kept;
}

/* The first images of each class go to train, the last, ceil(F n) of n, to test. */
invar_status inv_dataset_hold_out(invar_dataset *d)
{
	double holdout = d->opts.holdout;
	inv_images whole;
	uint64_t *stay = NULL, kept = 0, trained = 0, tested = 0;
	uint32_t *train = NULL, *test = NULL;
	size_t emptied = 0, first_emptied = 0; /* classes that would have no image in train */
	invar_status st;

	if (holdout <= 0) {
		if (d->whole)
			keep_wanted_splits(d);
		return INVAR_OK;
	}
	if (!d->whole)
		return inv_fail(INVAR_E_USE, "%s: already has splits; leave out @holdout", d->text);

	whole = d->splits[0];
	d->whole_labels = whole.labels; /* now the data set's, for both halves */
	whole.labels_borrowed = true;
	d->split_count = 0;

	/* How many images of each class stay; class -1 (no label) comes first. */
	INV_TRY_OR(end, inv_new_zeros(&stay, d->classes.count + 1));
	for (uint64_t i = 0; i < whole.total; i++)
		stay[whole.labels ? whole.labels[i] + 1 : 0]++;
	for (size_t k = 0; k <= d->classes.count; k++) {
		uint64_t images = stay[k];
		/* with a tolerance: 0.07 * 100 is 7 in spite of rounding */
		uint64_t taken = (uint64_t)ceil(holdout * (double)images - 1e-9 * (double)images);

		stay[k] = images > taken ? images - taken : images > 0;
		if (images && images <= taken && emptied++ == 0)
			first_emptied = k;
		kept += stay[k];
	}
	if (kept == whole.total)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_USE,
		                    "%s: @holdout %.15g of %" PRIu64
		                    " %s leaves none for test, as one of each class stays in train",
		                    d->text, holdout, whole.total,
		                    inv_noun(whole.total, "image", "images")));

	INV_TRY_OR(end, inv_new_array(&train, kept));
	INV_TRY_OR(end, inv_new_array(&test, whole.total - kept));
	for (uint32_t i = 0; i < whole.total; i++) {
		uint64_t *left = &stay[whole.labels ? whole.labels[i] + 1 : 0];

		if (*left) {
			--*left;
			train[trained++] = i;
		} else {
			test[tested++] = i;
		}
	}
	st = inv_dataset_add_part(d, "train", kept, train, whole.labels, whole.store);
	train = NULL;
	INV_TRY_OR(end, st);
	st = inv_dataset_add_part(d, "test", tested, test, whole.labels, whole.store);
	test = NULL;
	INV_TRY_OR(end, st);

	if (emptied && first_emptied) { /* images without labels have no class */
		const char *name = inv_names_at(&d->classes, first_emptied - 1);

		if (emptied == 1)
			inv_log(d->ctx, INVAR_LOG_WARNING,
			        "%s: @@holdout %.15g would take every image of the class %s; one stays "
			        "in train",
			        d->text, holdout, name);
		else
			inv_log(d->ctx, INVAR_LOG_WARNING,
			        "%s: @holdout %.15g would take every image of %zu classes, the first "
			        "is %s; one of each stays in train",
			        d->text, holdout, emptied, name);
	}
	INV_TRY_OR(end, inv_names_add(&d->split_names, "test", strlen("test")));
	keep_wanted_splits(d);
end:
	inv_free(train);
	inv_free(test);
	inv_free(stay);
	inv_images_clear(&whole);
	return st;
}

/* ---- --classes ------------------------------------------------------------------- */

/* A line is a name, a title, or the number of a class, in this order. */
static invar_status renumber_classes(invar_dataset *d, const inv_names *list)
{
	inv_names classes = {0}, titles = {0}, old;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_array(&d->renumber, d->classes.count));
	for (size_t k = 0; k < d->classes.count; k++)
		d->renumber[k] = DROPPED;
	for (size_t i = 0; i < list->count; i++) {
		const char *text = inv_names_at(list, i), *name;
		uint64_t index;
		size_t k;

		if (!inv_names_find(&d->classes, text, &k) && !inv_names_find(&d->titles, text, &k))
			k = inv_class_list_index(text, &index) ? (size_t)index : SIZE_MAX;
		if (k >= d->classes.count)
			INV_TRY_OR(end, inv_class_list_unknown(d->opts.classes, text, d->text));
		name = inv_names_at(&d->classes, k);
		if (d->renumber[k] != DROPPED)
			INV_TRY_OR(end, inv_class_list_twice(d->opts.classes, name));
		d->renumber[k] = (int32_t)i;
		INV_TRY_OR(end, inv_names_add(&classes, name, strlen(name)));
		if (k < d->titles.count) {
			name = inv_names_at(&d->titles, k);
			INV_TRY_OR(end, inv_names_add(&titles, name, strlen(name)));
		}
	}
	old = d->classes;
	d->classes = classes;
	classes = old;
	old = d->titles;
	d->titles = titles;
	titles = old;
end:
	inv_names_clear(&classes);
	inv_names_clear(&titles);
	return st;
}

invar_status inv_dataset_choose_classes(invar_dataset *d)
{
	inv_names list = {0};
	size_t splits = 0;
	bool any = false; /* image of these classes */
	invar_status st;

	if (!d->opts.classes)
		return INVAR_OK;
	INV_TRY_OR(end, inv_class_list_load(d->opts.classes, &list));
	if (!d->classes.count)
		INV_TRY_OR(end, inv_class_list_no_classes(d->opts.classes, d->text));
	INV_TRY_OR(end, renumber_classes(d, &list));

	/* A split without labels has no classes to leave out and stays as it is. */
	for (size_t k = 0; k < d->split_count; k++) {
		inv_images *s = &d->splits[k];

		if (!s->labels)
			continue;
		INV_TRY_OR(end, inv_new_array(&s->index, s->total));
		s->count = 0;
		for (uint32_t i = 0; i < s->total; i++) {
			int32_t label = s->labels[s->source ? s->source[i] : i];

			if (label >= 0 && d->renumber[label] != DROPPED)
				s->index[s->count++] = i;
		}
		any = any || s->count;
	}
	for (size_t k = 0; k < d->split_count; k++) {
		inv_images *s = &d->splits[k];

		if (s->count) {
			d->splits[splits++] = *s;
			continue;
		}
		inv_log(d->ctx, INVAR_LOG_INFO, "%s has no images of these classes and is left out",
		        s->name);
		inv_images_clear(s);
	}
	d->split_count = splits;
	if (!any)
		st = inv_class_list_no_rows(d->opts.classes, d->text);
end:
	inv_names_clear(&list);
	return st;
}

/* ---- --limit ---------------------------------------------------------------------- */

/*
 * Class folders are listed one after the other, and arrays may be sorted as well, so the
 * first N images would come from the first classes only; N are therefore spread over all
 * classes. Elsewhere classes are mixed, and the first N are used.
 */
static bool is_sorted_by_class(const inv_images *s)
{
	int32_t before = INV_NO_LABEL;

	if (!s->labels)
		return false;
	for (uint64_t row = 0; row < s->count; row++) {
		int32_t label = inv_images_kind_label(s, row);

		if (label < before)
			return false;
		before = label;
	}
	return true;
}

/* Rows of one class, and how many of them are taken. */
typedef struct class_rows {
	uint64_t rows, taken;
} class_rows;

static invar_status limit_by_class(const invar_dataset *d, inv_images *s)
{
	class_rows *of_class;
	uint32_t *index;
	uint64_t kept = 0, row = 0, min = UINT64_MAX, max = 0;
	size_t classes = 0;
	invar_status st;

	INV_TRY(inv_new_zeros(&of_class, d->classes.count + 1));
	INV_TRY_OR(end, inv_new_array(&index, d->opts.limit));
	for (uint64_t i = 0; i < s->count; i++) {
		if (!i || inv_images_kind_label(s, i) != inv_images_kind_label(s, i - 1))
			classes++;
		of_class[classes - 1].rows++;
	}
	/* One of each class in turn, until N are taken. */
	for (uint64_t left = d->opts.limit; left;)
		for (size_t k = 0; k < classes && left; k++)
			if (of_class[k].taken < of_class[k].rows) {
				of_class[k].taken++;
				left--;
			}
	for (size_t k = 0; k < classes; row += of_class[k++].rows) {
		for (uint64_t i = 0; i < of_class[k].taken; i++)
			index[kept++] = (uint32_t)inv_images_index(s, row + i);
		min = of_class[k].taken < min ? of_class[k].taken : min;
		max = of_class[k].taken > max ? of_class[k].taken : max;
	}
	if (min == max)
		inv_log(d->ctx, INVAR_LOG_INFO,
		        "%s: @limit %" PRIu64 " takes %" PRIu64 " %s of each of the %zu %s",
		        s->name, d->opts.limit, max, inv_noun(max, "image", "images"), classes,
		        inv_noun(classes, "class", "classes"));
	else
		inv_log(d->ctx, INVAR_LOG_INFO,
		        "%s: @limit %" PRIu64 " takes %" PRIu64 " to %" PRIu64
		        " images of each of the %zu classes",
		        s->name, d->opts.limit, min, max, classes);
	inv_free(s->index);
	s->index = index;
	s->count = kept;
end:
	inv_free(of_class);
	return st;
}

invar_status inv_dataset_limit(invar_dataset *d)
{
	if (!d->opts.limit)
		return INVAR_OK;
	for (size_t i = 0; i < d->split_count; i++) {
		inv_images *s = &d->splits[i];

		if (s->count <= d->opts.limit)
			continue;
		if (is_sorted_by_class(s))
			INV_TRY(limit_by_class(d, s));
		else
			s->count = d->opts.limit;
	}
	return INVAR_OK;
}
