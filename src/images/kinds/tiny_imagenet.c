/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiny_imagenet.c - Tiny ImageNet in its own layout.
 *
 *     wnids.txt                     the ids, one per line: they number the classes
 *     words.txt                     id TAB names; the first name is the title
 *     train/ID/images/ID_N.JPEG
 *     val/images/val_N.JPEG         with val/val_annotations.txt: file TAB id TAB box
 *     test/images/test_N.JPEG       without labels
 *
 * Without wnids.txt the classes are the sub-folders of train in byte order. If val was
 * sorted into folders of classes, these are read. Images of a class folder are in byte
 * order, those of val in the order of val_annotations.txt.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "images/kinds/image_files.h"

enum { MAX_TEXT = 16 << 20 };

typedef struct tiny {
	inv_file_list train, val, test;
} tiny;

static invar_status load(const invar_dataset *d, const char *name, char **text)
{
	char *path = inv_dataset_path(d, name);
	size_t bytes;
	invar_status st =
		path ? inv_file_load(path, MAX_TEXT, text, &bytes) : inv_dataset_no_memory(d);

	inv_free(path);
	return st;
}

/* ---- Classes ---------------------------------------------------------------------- */

static invar_status read_ids(invar_dataset *d)
{
	char *text = NULL;
	bool images;
	invar_status st;

	if (!inv_dataset_has(d, "wnids.txt"))
		return inv_list_folders(d->place, "train", &d->classes, &images);
	st = load(d, "wnids.txt", &text);
	if (st == INVAR_OK)
		st = inv_names_add_lines(&d->classes, text);
	inv_free(text);
	return st;
}

static bool ids_are_distinct(const inv_names *sorted, const char **twice)
{
	for (size_t i = 1; i < sorted->count; i++) {
		*twice = inv_names_at(sorted, i);
		if (strcmp(inv_names_at(sorted, i - 1), *twice) == 0)
			return false;
	}
	return true;
}

static invar_status check_ids(const invar_dataset *d)
{
	inv_names sorted = {0};
	const char *twice;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < d->classes.count && st == INVAR_OK; i++) {
		const char *id = inv_names_at(&d->classes, i);

		if (strchr(id, '/') || *id == '.')
			st = inv_fail(INVAR_E_FORMAT, "%s/wnids.txt: '%s' is not an id", d->place, id);
		else
			st = inv_names_add(&sorted, id, strlen(id));
	}
	inv_names_sort(&sorted);
	if (st == INVAR_OK && !sorted.count)
		st = inv_fail(INVAR_E_FORMAT, "%s: lists no classes", d->place);
	if (st == INVAR_OK && !ids_are_distinct(&sorted, &twice))
		st = inv_fail(INVAR_E_FORMAT, "%s/wnids.txt: lists %s twice", d->place, twice);
	inv_names_clear(&sorted);
	return st;
}

/* "goldfish" of "n01443537\tgoldfish, Carassius auratus"; the id if it is missing. */
static invar_status add_title(invar_dataset *d, const char *words, const char *id)
{
	size_t length = strlen(id);

	for (const char *line = words; line && *line;) {
		if (strncmp(line, id, length) == 0 && line[length] == '\t') {
			const char *name = line + length + 1;

			return inv_names_add(&d->titles, name, strcspn(name, ",\r\n"));
		}
		if ((line = strchr(line, '\n')))
			line++;
	}
	return inv_names_add(&d->titles, id, length);
}

static invar_status read_titles(invar_dataset *d)
{
	char *words = NULL;
	invar_status st;

	if (!inv_dataset_has(d, "words.txt"))
		return INVAR_OK;
	st = load(d, "words.txt", &words);
	for (size_t i = 0; i < d->classes.count && st == INVAR_OK; i++)
		st = add_title(d, words, inv_names_at(&d->classes, i));
	inv_free(words);
	return st;
}

/* ---- Splits -------------------------------------------------------------------------- */

/* split/ID/…, of the classes in their order; a class may be missing, not unknown. */
static invar_status collect_classes(invar_dataset *d, inv_file_list *f, const char *split)
{
	inv_names there = {0};
	bool images;
	size_t k;
	invar_status st = inv_list_folders(d->place, split, &there, &images);

	for (size_t i = 0; i < there.count && st == INVAR_OK; i++)
		if (!inv_names_find(&d->classes, inv_names_at(&there, i), &k))
			st = inv_fail(INVAR_E_FORMAT, "%s/%s/%s: is not a class in wnids.txt", d->place,
			              split, inv_names_at(&there, i));
	for (size_t i = 0; i < d->classes.count && st == INVAR_OK; i++) {
		const char *id = inv_names_at(&d->classes, i);
		char *path;

		if (!inv_names_find(&there, id, &k))
			continue;
		path = inv_join(split, id);
		st = path ? inv_file_list_collect(f, path, (int32_t)i) : inv_dataset_no_memory(d);
		inv_free(path);
	}
	inv_names_clear(&there);
	return st;
}

static invar_status annotate(invar_dataset *d, inv_file_list *f, char *line, size_t number)
{
	char *rest, *name = strtok_r(line, "\t", &rest);
	char *id = strtok_r(NULL, "\t\r", &rest), path[300];
	size_t label;

	if (!name || !id || strchr(name, '/') || strlen(name) > 255)
		return inv_fail(INVAR_E_FORMAT,
		                "%s/val/val_annotations.txt: line %zu is not 'file TAB id …'",
		                d->place, number);
	if (!inv_names_find(&d->classes, id, &label))
		return inv_fail(INVAR_E_FORMAT,
		                "%s/val/val_annotations.txt: line %zu names %s, which is not in "
		                "wnids.txt",
		                d->place, number, id);
	snprintf(path, sizeof path, "val/images/%s", name);
	return inv_file_list_add(f, path, (int32_t)label);
}

static invar_status collect_annotated(invar_dataset *d, inv_file_list *f)
{
	char *text = NULL;
	size_t number = 0;
	invar_status st = load(d, "val/val_annotations.txt", &text);

	for (char *rest = text, *line; st == INVAR_OK && (line = strsep(&rest, "\n"));) {
		number++;
		if (line[strspn(line, " \t\r")])
			st = annotate(d, f, line, number);
	}
	inv_free(text);
	return st;
}

static invar_status collect(invar_dataset *d, inv_file_list *f, const char *split)
{
	f->root = d->place;
	if (strcmp(split, "test") == 0)
		return inv_file_list_collect(f, split, INV_NO_LABEL);
	if (strcmp(split, "val") == 0 && inv_dataset_has(d, "val/val_annotations.txt"))
		return collect_annotated(d, f);
	return collect_classes(d, f, split);
}

static invar_status open_split(invar_dataset *d, const char *split, inv_file_list *f)
{
	bool wanted;
	invar_status st = INVAR_OK;

	if (!inv_dataset_has(d, split))
		return INVAR_OK;
	st = inv_dataset_offer(d, split, false, &wanted);
	if (st == INVAR_OK && wanted)
		st = collect(d, f, split);
	if (st == INVAR_OK && wanted)
		st = inv_file_list_to_split(f, d, split);
	return st;
}

static invar_status open_tiny(invar_dataset *d)
{
	invar_status st = inv_dataset_enter(d, "tiny-imagenet-200", "train");
	tiny *own = d->own = inv_calloc(1, sizeof *own);

	if (st == INVAR_OK && !own)
		st = inv_dataset_no_memory(d);
	if (st == INVAR_OK && !inv_dataset_has(d, "wnids.txt") && !inv_dataset_has(d, "train"))
		st = inv_fail(INVAR_E_IO,
		              "%s: has no wnids.txt or no train, so it is not Tiny ImageNet",
		              d->place);
	if (st == INVAR_OK)
		st = read_ids(d);
	if (st == INVAR_OK)
		st = check_ids(d);
	if (st == INVAR_OK)
		st = read_titles(d);
	if (st == INVAR_OK)
		st = open_split(d, "train", &own->train);
	if (st == INVAR_OK)
		st = open_split(d, "val", &own->val);
	if (st == INVAR_OK)
		st = open_split(d, "test", &own->test);
	return st;
}

static void close_tiny(invar_dataset *d)
{
	tiny *own = d->own;

	if (!own)
		return;
	inv_file_list_clear(&own->train);
	inv_file_list_clear(&own->val);
	inv_file_list_clear(&own->test);
	inv_free(own);
}

const inv_dataset_kind inv_dataset_tiny_imagenet = {
	.name = "tiny-imagenet",
	.place = "DIR",
	.about = "JPEG files of 64 x 64",
	.open = open_tiny,
	.read = inv_file_read,
	.fingerprint = inv_file_fingerprint,
	.measure = inv_file_measure,
	.file = inv_file_name,
	.file_id = inv_image_file_id,
	.close = close_tiny,
};
