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

static invar_status load_tiny_text(const invar_dataset *d, const char *name, char **text)
{
	char *path;
	size_t bytes;
	invar_status st;

	INV_TRY(inv_new_path(&path, d->place, name));
	st = inv_file_load(path, MAX_TEXT, text, &bytes);
	inv_free(path);
	return st;
}

/* ---- Classes ---------------------------------------------------------------------- */

static invar_status read_tiny_ids(invar_dataset *d)
{
	inv_names sorted = {0};
	char *text = NULL;
	bool images;
	invar_status st;

	if (inv_dataset_has(d, "wnids.txt")) {
		INV_TRY(load_tiny_text(d, "wnids.txt", &text));
		INV_TRY_OR(end, inv_names_add_lines(&d->classes, text));
	} else {
		INV_TRY_OR(end, inv_list_folders(d->place, "train", &d->classes, &images));
	}
	if (!d->classes.count)
		INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT, "%s: lists no classes", d->place));
	for (size_t i = 0; i < d->classes.count; i++) {
		const char *id = inv_names_at(&d->classes, i);

		if (strchr(id, '/') || *id == '.')
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT, "%s/wnids.txt: '%s' is not an id",
			                         d->place, id));
		INV_TRY_OR(end, inv_names_add(&sorted, id, strlen(id)));
	}
	inv_names_sort(&sorted);
	for (size_t i = 1; i < sorted.count; i++)
		if (strcmp(inv_names_at(&sorted, i - 1), inv_names_at(&sorted, i)) == 0)
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT, "%s/wnids.txt: lists %s twice",
			                         d->place, inv_names_at(&sorted, i)));
end:
	inv_names_clear(&sorted);
	inv_free(text);
	return st;
}

/* "goldfish" of "n01443537\tgoldfish, Carassius auratus"; the id if it is missing. */
static invar_status add_tiny_title(invar_dataset *d, const char *words, const char *id)
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

/* ---- Splits -------------------------------------------------------------------------- */

/* Files of split/ID/…, in the order of the classes; a class may be missing, not unknown. */
static invar_status collect_tiny_classes(invar_dataset *d, inv_file_list *f,
                                         const char *split)
{
	inv_names found = {0};
	char *path = NULL;
	bool images;
	size_t k;
	invar_status st;

	INV_TRY_OR(end, inv_list_folders(d->place, split, &found, &images));
	for (size_t i = 0; i < found.count; i++)
		if (!inv_names_find(&d->classes, inv_names_at(&found, i), &k))
			INV_TRY_OR(end,
			           inv_fail(INVAR_E_FORMAT, "%s/%s/%s: is not a class in wnids.txt",
			                    d->place, split, inv_names_at(&found, i)));
	for (size_t i = 0; i < d->classes.count; i++) {
		const char *id = inv_names_at(&d->classes, i);

		if (!inv_names_find(&found, id, &k))
			continue;
		inv_free(path);
		INV_TRY_OR(end, inv_new_path(&path, split, id));
		INV_TRY_OR(end, inv_file_list_collect(f, path, (int32_t)i));
	}
end:
	inv_free(path);
	inv_names_clear(&found);
	return st;
}

static invar_status collect_annotated(invar_dataset *d, inv_file_list *f)
{
	char *text, *rest, *line, path[300];
	size_t label;
	invar_status st = INVAR_OK;

	INV_TRY(load_tiny_text(d, "val/val_annotations.txt", &text));
	rest = text;
	for (size_t number = 1; (line = strsep(&rest, "\n")); number++) {
		char *more, *name, *id;

		if (!line[strspn(line, " \t\r")])
			continue;
		name = strtok_r(line, "\t", &more);
		id = strtok_r(NULL, "\t\r", &more);
		if (!name || !id || strchr(name, '/') || strlen(name) > 255)
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
			                         "%s/val/val_annotations.txt: line %zu is not 'file "
			                         "TAB id …'",
			                         d->place, number));
		if (!inv_names_find(&d->classes, id, &label))
			INV_TRY_OR(end, inv_fail(INVAR_E_FORMAT,
			                         "%s/val/val_annotations.txt: line %zu names %s, which "
			                         "is not in wnids.txt",
			                         d->place, number, id));
		snprintf(path, sizeof path, "val/images/%s", name);
		INV_TRY_OR(end, inv_file_list_add(f, path, (int32_t)label));
	}
end:
	inv_free(text);
	return st;
}

static invar_status open_tiny_split(invar_dataset *d, const char *split, inv_file_list *f)
{
	bool wanted;

	if (!inv_dataset_has(d, split))
		return INVAR_OK;
	INV_TRY(inv_dataset_offer(d, split, false, &wanted));
	if (!wanted)
		return INVAR_OK;

	f->root = d->place;
	if (strcmp(split, "test") == 0)
		INV_TRY(inv_file_list_collect(f, split, INV_NO_LABEL));
	else if (strcmp(split, "val") == 0 && inv_dataset_has(d, "val/val_annotations.txt"))
		INV_TRY(collect_annotated(d, f));
	else
		INV_TRY(collect_tiny_classes(d, f, split));
	return inv_file_list_to_split(f, d, split);
}

static invar_status open_tiny(invar_dataset *d)
{
	char *words;
	tiny *own;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new(&own));
	d->own = own;
	INV_TRY(inv_dataset_enter(d, "tiny-imagenet-200", "train"));
	if (!inv_dataset_has(d, "wnids.txt") && !inv_dataset_has(d, "train"))
		return inv_fail(INVAR_E_IO,
		                "%s: has no wnids.txt or no train, so it is not Tiny ImageNet",
		                d->place);
	INV_TRY(read_tiny_ids(d));
	if (inv_dataset_has(d, "words.txt")) {
		INV_TRY(load_tiny_text(d, "words.txt", &words));
		for (size_t i = 0; st == INVAR_OK && i < d->classes.count; i++)
			st = add_tiny_title(d, words, inv_names_at(&d->classes, i));
		inv_free(words);
		INV_TRY(st);
	}
	INV_TRY(open_tiny_split(d, "train", &own->train));
	INV_TRY(open_tiny_split(d, "val", &own->val));
	return open_tiny_split(d, "test", &own->test);
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
	.path = inv_file_path,
	.file = inv_file_name,
	.close = close_tiny,
};
