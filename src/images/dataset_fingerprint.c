/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset_fingerprint.c - one SHA-256 of the selected images of a data set.
 *
 * It covers the kind, the names of splits and classes, and for each image its index, its
 * label and its fingerprint: what encoding depends on, and not where the files are.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "images/dataset.h"

enum { STEP = 256 }; /* images between two calls of the progress hook */

/* What is hashed of an image; has no padding. */
typedef struct image_print {
	uint64_t index;
	int64_t label;
	inv_fingerprint of;
} image_print;

static invar_status print_image(const invar_dataset *d, const inv_images *s, uint64_t row,
                                inv_image *scratch, image_print *out)
{
	invar_status st;

	*out = (image_print){.index = inv_images_index(s, row),
	                     .label = inv_images_label(d, s, row)};
	st = inv_images_fingerprint(d, s, row, scratch, &out->of);
	/* A skipped image counts as unchanged as long as it stays broken. */
	return d->opts.skip_broken && inv_is_broken(st) ? INVAR_OK : st;
}

static invar_status print_split(const invar_dataset *d, const inv_images *s, json_t *all)
{
	image_print *prints = inv_calloc(s->count + 1, sizeof *prints);
	char hex[INV_SHA256_HEX];
	inv_image scratch = {0};
	invar_status st = prints ? INVAR_OK : inv_dataset_no_memory(d);

	for (uint64_t i = 0; i < s->count && st == INVAR_OK; i++) {
		if (i % STEP == 0)
			st = inv_progress(d->ctx, "compare images", i, s->count);
		if (st == INVAR_OK)
			st = print_image(d, s, i, &scratch, &prints[i]);
	}
	if (st == INVAR_OK)
		st = inv_sha256(prints, s->count * sizeof *prints, hex);
	if (st == INVAR_OK && json_object_set_new(all, s->name, json_string(hex)) != 0)
		st = inv_dataset_no_memory(d);
	inv_image_clear(&scratch);
	inv_free(prints);
	return st;
}

static json_t *class_names(const invar_dataset *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inv_dataset_classes(d); i++)
		json_array_append_new(list, inv_json_path(inv_dataset_class(d, i)));
	return list;
}

static invar_status hash_text(const invar_dataset *d, const json_t *all,
                              char hex[INV_SHA256_HEX])
{
	char *text = inv_json_text(all, 0);
	invar_status st = text ? inv_sha256(text, strlen(text), hex) : inv_dataset_no_memory(d);

	inv_free(text);
	return st;
}

invar_status inv_dataset_fingerprint(const invar_dataset *d, char hex[INV_SHA256_HEX])
{
	json_t *splits = json_object();
	json_t *all = json_pack("{s:s, s:o, s:o}", "kind", d->kind->name, "classes",
	                        class_names(d), "splits", splits);
	invar_status st = all ? INVAR_OK : inv_dataset_no_memory(d);

	for (size_t i = 0; i < d->split_count && st == INVAR_OK; i++)
		st = print_split(d, &d->splits[i], splits);
	if (st == INVAR_OK)
		st = hash_text(d, all, hex);
	json_decref(all);
	return st;
}
