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

static invar_status print_split(const invar_dataset *d, const inv_images *s, json_t *all)
{
	image_print *prints;
	char hex[INV_SHA256_HEX];
	inv_image scratch = {0};
	invar_status st;

	INV_TRY(inv_new_zeros(&prints, s->count + 1));
	for (uint64_t i = 0; i < s->count; i++) {
		if (i % STEP == 0)
			INV_TRY_OR(end, inv_progress(d->ctx, "compare images", i, s->count));
		prints[i].index = inv_images_index(s, i);
		prints[i].label = inv_images_label(d, s, i);
		st = inv_images_fingerprint(d, s, i, &scratch, &prints[i].of);
		/* A skipped image counts as unchanged as long as it stays broken. */
		if (st != INVAR_OK && !(d->opts.skip_broken && inv_is_broken(st)))
			goto end;
	}
	INV_TRY_OR(end, inv_sha256(prints, s->count * sizeof *prints, hex));
	if (json_object_set_new(all, s->name, json_string(hex)) != 0)
		st = inv_no_memory();
end:
	inv_image_clear(&scratch);
	inv_free(prints);
	return st;
}

invar_status inv_dataset_fingerprint(const invar_dataset *d, char hex[INV_SHA256_HEX])
{
	json_t *splits = json_object(), *classes = json_array(), *all;
	char *text = NULL;
	invar_status st;

	for (size_t i = 0; i < inv_dataset_classes(d); i++)
		json_array_append_new(classes, inv_json_path(inv_dataset_class(d, i)));
	all = json_pack("{s:s, s:o, s:o}", "kind", d->kind->name, "classes", classes, "splits",
	                splits);
	if (!all)
		return inv_no_memory();
	for (size_t i = 0; i < d->split_count; i++)
		INV_TRY_OR(end, print_split(d, &d->splits[i], splits));
	text = inv_json_text(all, 0);
	st = text ? inv_sha256(text, strlen(text), hex) : inv_no_memory();
end:
	inv_free(text);
	json_decref(all);
	return st;
}
