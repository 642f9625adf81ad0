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

static invar_status unknown_split(const invar_dataset *d, const char *name, size_t length)
{
	char there[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < d->split_names.count && used < sizeof there; i++)
		used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", i ? ", " : "",
		                         inv_names_at(&d->split_names, i));
	return inv_fail(INVAR_E_USE, "%s: has no split '%.*s'; it has %s", d->text, (int)length,
	                name, there);
}

invar_status inv_dataset_check_split_names(const invar_dataset *d)
{
	for (const char *at = d->opts.split; at && *at;) {
		size_t length = strcspn(at, ","), i;
		bool found = false;

		for (i = 0; i < d->split_names.count && !found; i++) {
			const char *name = inv_names_at(&d->split_names, i);

			found = strncmp(name, at, length) == 0 && !name[length];
		}
		if (!found)
			return unknown_split(d, at, length);
		at += length + (at[length] == ',');
	}
	if (!d->split_count)
		return inv_fail(INVAR_E_USE, "%s: has none of the requested splits", d->text);
	return INVAR_OK;
}

/* ---- --holdout ---------------------------------------------------------------------- */

/* ceil(F n), with a tolerance: 0.07 * 100 is 7 in spite of rounding. */
static uint64_t held_out_images(double holdout, uint64_t n)
{
	return (uint64_t)ceil(holdout * (double)n - 1e-9 * (double)n);
}

/* Classes that F would leave without an image in train; one image of each stays. */
typedef struct emptied {
	size_t count, first;
} emptied;

/* How many images of each class stay in train; class -1 (no label) comes first. */
static invar_status count_staying(const inv_images *s, size_t classes, double holdout,
                                  uint64_t **out, emptied *saved)
{
	uint64_t *stay;

	*saved = (emptied){0};
	INV_TRY(inv_new_zeros(out, classes + 1));
	stay = *out;
	for (uint64_t i = 0; i < s->total; i++)
		stay[s->labels ? s->labels[i] + 1 : 0]++;
	for (size_t k = 0; k <= classes; k++) {
		uint64_t images = stay[k], taken = held_out_images(holdout, images);

		stay[k] = images > taken ? images - taken : images > 0;
		if (images && images <= taken && saved->count++ == 0)
			saved->first = k;
	}
	return INVAR_OK;
}

static void report_saved(const invar_dataset *d, const emptied *saved)
{
	const char *first;

	if (!saved->count || !saved->first) /* images without labels have no class */
		return;
	first = inv_names_at(&d->classes, saved->first - 1);
	if (saved->count == 1)
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "%s: @@holdout %.15g would take every image of the class %s; one stays in "
		        "train",
		        d->text, d->opts.holdout, first);
	else
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "%s: @holdout %.15g would take every image of %zu classes, the first is "
		        "%s; one of each stays in train",
		        d->text, d->opts.holdout, saved->count, first);
}

/* The first images of each class go to train, the last to test. */
static invar_status make_halves(invar_dataset *d, inv_images *whole, uint64_t *stay)
{
	uint64_t kept = 0, trained = 0, tested = 0;
	uint32_t *train, *test;
	invar_status st;

	for (size_t k = 0; k <= d->classes.count; k++)
		kept += stay[k];
	if (kept == whole->total)
		return inv_fail(INVAR_E_USE,
		                "%s: @holdout %.15g of %" PRIu64
		                " %s leaves none for test, as one of each class stays in train",
		                d->text, d->opts.holdout, whole->total,
		                inv_noun(whole->total, "image", "images"));
	INV_TRY(inv_new_array(&train, kept));
	if ((st = inv_new_array(&test, whole->total - kept)) != INVAR_OK) {
		inv_free(train);
		return st;
	}
	for (uint32_t i = 0; i < whole->total; i++) {
		uint64_t *left = &stay[whole->labels ? whole->labels[i] + 1 : 0];

		if (*left) {
			--*left;
			train[trained++] = i;
		} else {
			test[tested++] = i;
		}
	}
	st = inv_dataset_add_part(d, "train", kept, train, whole->labels, whole->store);
	if (st != INVAR_OK) {
		inv_free(test);
		return st;
	}
	return inv_dataset_add_part(d, "test", tested, test, whole->labels, whole->store);
}

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

invar_status inv_dataset_hold_out(invar_dataset *d)
{
	inv_images whole;
	emptied saved;
	uint64_t *stay = NULL;
	invar_status st;

	if (d->opts.holdout <= 0) {
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
	INV_TRY_OR(end,
	           count_staying(&whole, d->classes.count, d->opts.holdout, &stay, &saved));
	INV_TRY_OR(end, make_halves(d, &whole, stay));
	report_saved(d, &saved);
	INV_TRY_OR(end, inv_names_add(&d->split_names, "test", strlen("test")));
	keep_wanted_splits(d);
end:
	inv_free(stay);
	inv_images_clear(&whole);
	return st;
}

/* ---- --classes ------------------------------------------------------------------- */

/* A name, a title, or the number of a class, in this order. */
static bool find_listed_class(const invar_dataset *d, const char *text, size_t *k)
{
	uint64_t index;

	if (inv_names_find(&d->classes, text, k) || inv_names_find(&d->titles, text, k))
		return true;
	if (!inv_class_list_index(text, &index))
		return false;
	*k = (size_t)index;
	return index < d->classes.count;
}

static invar_status number_listed_classes(invar_dataset *d, const inv_names *list,
                                          inv_names *classes, inv_names *titles)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *text = inv_names_at(list, i);
		size_t k;

		if (!find_listed_class(d, text, &k))
			return inv_class_list_unknown(d->opts.classes, text, d->text);
		if (d->renumber[k] != DROPPED)
			return inv_class_list_twice(d->opts.classes, inv_names_at(&d->classes, k));
		d->renumber[k] = (int32_t)i;
		text = inv_names_at(&d->classes, k);
		INV_TRY(inv_names_add(classes, text, strlen(text)));
		if (k < d->titles.count) {
			text = inv_names_at(&d->titles, k);
			INV_TRY(inv_names_add(titles, text, strlen(text)));
		}
	}
	return INVAR_OK;
}

/* A split without labels has no classes to leave out and stays as it is. */
static invar_status drop_other_classes(const invar_dataset *d, inv_images *s)
{
	uint64_t kept = 0;

	if (!s->labels)
		return INVAR_OK;
	INV_TRY(inv_new_array(&s->index, s->total));
	for (uint32_t i = 0; i < s->total; i++) {
		int32_t label = s->labels[s->source ? s->source[i] : i];

		if (label >= 0 && d->renumber[label] != DROPPED)
			s->index[kept++] = i;
	}
	s->count = kept;
	return INVAR_OK;
}

static invar_status renumber_classes(invar_dataset *d, const inv_names *list)
{
	inv_names classes = {0}, titles = {0};
	invar_status st;

	INV_TRY(inv_new_array(&d->renumber, d->classes.count));
	for (size_t k = 0; k < d->classes.count; k++)
		d->renumber[k] = DROPPED;
	st = number_listed_classes(d, list, &classes, &titles);
	inv_names_clear(st == INVAR_OK ? &d->classes : &classes);
	inv_names_clear(st == INVAR_OK ? &d->titles : &titles);
	if (st != INVAR_OK)
		return st;
	d->classes = classes;
	d->titles = titles;
	for (size_t i = 0; i < d->split_count; i++)
		INV_TRY(drop_other_classes(d, &d->splits[i]));
	return INVAR_OK;
}

/* A split without an image of these classes would be a split without rows. */
static invar_status drop_empty_splits(invar_dataset *d)
{
	size_t kept = 0;
	bool any = false; /* image of these classes */

	for (size_t i = 0; i < d->split_count; i++) {
		inv_images *s = &d->splits[i];

		any = any || (s->labels && s->count);
		if (s->count) {
			d->splits[kept++] = *s;
			continue;
		}
		inv_log(d->ctx, INVAR_LOG_INFO, "%s has no images of these classes and is left out",
		        s->name);
		inv_images_clear(s);
	}
	d->split_count = kept;
	return any ? INVAR_OK : inv_class_list_no_rows(d->opts.classes, d->text);
}

invar_status inv_dataset_choose_classes(invar_dataset *d)
{
	inv_names list = {0};
	invar_status st;

	if (!d->opts.classes)
		return INVAR_OK;
	INV_TRY_OR(end, inv_class_list_load(d->opts.classes, &list));
	if (!d->classes.count)
		INV_TRY_OR(end, inv_class_list_no_classes(d->opts.classes, d->text));
	INV_TRY_OR(end, renumber_classes(d, &list));
	st = drop_empty_splits(d);
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

/* One of each class in turn, until N are taken; rows are sorted by class. */
static size_t take_in_turn(const inv_images *s, uint64_t limit, class_rows *of_class)
{
	size_t classes = 0;

	for (uint64_t row = 0; row < s->count; row++) {
		if (!row || inv_images_kind_label(s, row) != inv_images_kind_label(s, row - 1))
			classes++;
		of_class[classes - 1].rows++;
	}
	for (uint64_t left = limit; left;)
		for (size_t k = 0; k < classes && left; k++)
			if (of_class[k].taken < of_class[k].rows) {
				of_class[k].taken++;
				left--;
			}
	return classes;
}

static void report_limit(const invar_dataset *d, const inv_images *s,
                         const class_rows *of_class, size_t classes)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (size_t k = 0; k < classes; k++) {
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
}

static invar_status limit_by_class(const invar_dataset *d, inv_images *s)
{
	class_rows *of_class;
	uint32_t *index;
	uint64_t kept = 0, row = 0;
	size_t classes;
	invar_status st;

	INV_TRY(inv_new_zeros(&of_class, d->classes.count + 1));
	INV_TRY_OR(end, inv_new_array(&index, d->opts.limit));
	classes = take_in_turn(s, d->opts.limit, of_class);
	for (size_t k = 0; k < classes; row += of_class[k++].rows)
		for (uint64_t i = 0; i < of_class[k].taken; i++)
			index[kept++] = (uint32_t)inv_images_index(s, row + i);
	report_limit(d, s, of_class, classes);
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
