/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.c - from a row of a bank to the picture that the encoder saw. */
#include "cli/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/bank.h"
#include "images/augment/augment.h"
#include "images/dataset.h"
#include "images/image.h"

/* "0.485,0.456,0.406/0.229,0.224,0.225"; "none" where bank.json does not say. */
static void spell_normalize(const json_t *preprocess, char out[INV_NORMALIZE])
{
	static const char *const keys[] = {"mean", "std"};
	size_t length = 0;

	for (size_t k = 0; k < 2; k++) {
		const json_t *list = json_object_get(preprocess, keys[k]), *one;
		size_t i;

		json_array_foreach (list, i, one)
			if (length < INV_NORMALIZE - 32)
				length += (size_t)snprintf(out + length, INV_NORMALIZE - length, "%s%.9g",
				                           i   ? ","
				                           : k ? "/"
				                               : "",
				                           json_number_value(one));
	}
	if (!length || !strchr(out, '/'))
		snprintf(out, INV_NORMALIZE, "none");
}

/* Old or foreign banks may not say how their copies were made: these are not shown then. */
invar_status inv_pictures_open(inv_session *s, const invar_bank *bank, const char *split,
                               uint32_t copy, inv_pictures *out)
{
	const char *spec = invar_bank_field(bank, "augment");
	const json_t *preprocess = json_object_get(bank->json, "preprocess");
	const json_t *size = json_object_get(preprocess, "size");
	json_int_t height = json_integer_value(json_array_get(size, 0));
	uint64_t seen[4] = {1, 3, (uint64_t)height, (uint64_t)height}, prepared[4];
	invar_status st;

	*out = (inv_pictures){.s = s, .bank = bank, .split = split, .copy = copy};
	st = inv_copy_params_open(bank, inv_bank_split(bank, split), &out->params);
	if (st != INVAR_E_MISMATCH)
		INV_TRY(st);
	out->seed = json_number_value(json_object_get(bank->json, "seed"));
	spell_normalize(preprocess, out->normalize);
	if (spec && out->params) {
		INV_TRY(invar_augment_parse(s->ctx, spec, &out->augment));
		INV_TRY(invar_augment_pixels(out->augment, out->normalize));
		if (invar_augment_columns(out->augment) != inv_copy_params_columns(out->params))
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: augment_params of bank.json are not those of '%s'",
			                bank->path, spec);
	}
	snprintf(out->side, sizeof out->side, "native");
	if (height < 1 || height != json_integer_value(json_array_get(size, 1)))
		return INVAR_OK;
	/* A SPEC with inside=1 takes pictures that are larger than the bank's size. */
	memcpy(prepared, seen, sizeof seen);
	if (out->augment)
		INV_TRY(inv_augment_prepared(out->augment, seen, prepared));
	snprintf(out->side, sizeof out->side, "%llu", (unsigned long long)prepared[2]);
	return INVAR_OK;
}

void inv_pictures_close(inv_pictures *p)
{
	for (size_t i = 0; i < INV_PICTURE_SPLITS; i++)
		inv_free(p->index[i].image);
	inv_copy_params_close(p->params);
	invar_augment_close(p->augment);
	*p = (inv_pictures){0};
}

/* An image of the data set by its name, of which `length` bytes count. */
typedef struct named {
	const char *name;
	size_t length;
	uint64_t image;
} named;

/* Names without what follows the last dot: images may have been converted since. */
static size_t stem_length(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && !strchr(dot, '/') ? (size_t)(dot - name) : strlen(name);
}

static int compare_names(const named *x, const named *y)
{
	size_t shorter = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->name, y->name, shorter);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int by_name(const void *a, const void *b)
{
	const named *x = a, *y = b;
	int order = compare_names(x, y);

	return order ? order : (x->image > y->image) - (x->image < y->image);
}

/* Looks up what is not found yet, by whole names or by stems; of equal names the first. */
static void match_names(inv_picture_index *x, uint64_t rows, char *const *names, named *all,
                        bool stems)
{
	uint64_t count = inv_dataset_count(x->images, x->split), known = 0;

	for (uint64_t i = 0; i < count; i++) {
		const char *name = inv_dataset_name(x->images, x->split, i);

		if (name)
			all[known++] = (named){name, stems ? stem_length(name) : strlen(name), i};
	}
	qsort(all, known, sizeof *all, by_name);
	for (uint64_t i = 0; i < rows; i++) {
		const named wanted = {names[i], stems ? stem_length(names[i]) : strlen(names[i]),
		                      0};
		uint64_t low = 0, high = known;

		if (x->image[i] != UINT64_MAX)
			continue;
		while (low < high) {
			uint64_t middle = low + (high - low) / 2;

			if (compare_names(&all[middle], &wanted) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < known && compare_names(&all[low], &wanted) == 0)
			x->image[i] = all[low].image;
	}
}

/* By its name where the bank has names; else rows and images are in the same order. */
static invar_status fill_index(inv_pictures *m, inv_picture_index *x)
{
	uint64_t rows = invar_bank_rows(m->bank, x->split);
	uint64_t count = inv_dataset_count(x->images, x->split);
	bool has_names = inv_bank_has_names(m->bank, x->split);
	named *all = NULL;
	char **names = NULL;
	invar_status st;

	INV_TRY(inv_new_array(&x->image, rows + 1));
	for (uint64_t i = 0; i < rows; i++)
		x->image[i] = has_names ? UINT64_MAX : i;
	if (!has_names && count != rows)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s has %llu rows of %s, but the data set has %llu images; give the "
			"data set with the options of 'invar encode'",
			m->bank->path, (unsigned long long)rows, x->split, (unsigned long long)count);
	if (!has_names)
		return INVAR_OK;
	INV_TRY(inv_new_array(&all, count + 1));
	INV_TRY_OR(end, invar_bank_names(m->bank, x->split, &names));
	match_names(x, rows, names, all, false);
	match_names(x, rows, names, all, true);
end:
	invar_free(names);
	inv_free(all);
	return st;
}

static invar_status find_image(inv_pictures *m, const invar_dataset *images,
                               const char *split, uint64_t row, uint64_t *out)
{
	inv_picture_index *x = m->index, *last = m->index + INV_PICTURE_SPLITS - 1;
	char **names = NULL;

	while (x < last && x->image && (x->images != images || strcmp(x->split, split) != 0))
		x++;
	if (!x->image || x->images != images || strcmp(x->split, split) != 0) {
		inv_free(x->image);
		*x = (inv_picture_index){.split = split, .images = images};
		INV_TRY(fill_index(m, x));
	}
	*out = x->image[row];
	if (*out != UINT64_MAX)
		return INVAR_OK;
	INV_TRY(invar_bank_names(m->bank, split, &names));
	inv_fail(INVAR_E_MISMATCH,
	         "the data set has no image '%s', which row %llu of %s was made from; give the "
	         "data set with the options of 'invar encode'",
	         names[row], (unsigned long long)inv_bank_file_row(m->bank, split, row), split);
	invar_free(names);
	return INVAR_E_MISMATCH;
}

/* The prepared picture as the encoder sees it: the row's copy, or its centre. */
invar_status inv_pictures_draw(inv_pictures *p, const invar_dataset *images,
                               const char *split, uint64_t row, bool augmented,
                               uint8_t **rgb, uint32_t *width, uint32_t *height)
{
	const invar_augment *a = p->augment;
	const double first = (double)inv_bank_file_row(p->bank, split, row);
	invar_options *o = NULL;
	uint8_t *stored = NULL;
	float *tensor = NULL, *seen = NULL, *params = NULL;
	uint64_t image, shape[4], *shown = shape, seen_shape[4];
	invar_status st;

	*rgb = NULL;
	INV_TRY(invar_options_new("augment", &o));
	INV_TRY_OR(end, invar_options_set(o, "size", p->side));
	INV_TRY_OR(end, invar_options_set(o, "normalize", p->normalize));
	INV_TRY_OR(end, find_image(p, images, split, row, &image));
	INV_TRY_OR(end, inv_dataset_read(images, split, image, &stored, width, height));
	INV_TRY_OR(
		end, invar_image_to_tensor(p->s->ctx, stored, *width, *height, o, &tensor, shape));
	if (a) {
		shown = seen_shape;
		INV_TRY_OR(end, augmented ? invar_augment_result(a, shape, shown)
		                          : inv_augment_clean(a, tensor, shape, shown, NULL));
		INV_TRY_OR(end, inv_new_array(&seen, shown[1] * shown[2] * shown[3]));
	}
	if (a && !augmented)
		INV_TRY_OR(end, inv_augment_clean(a, tensor, shape, shown, seen));
	if (a && augmented) {
		INV_TRY_OR(end, inv_new_array(&params, invar_augment_columns(a) + 1));
		INV_TRY_OR(end, inv_copy_params_drawn(p->params, p->copy, row, params));
		INV_TRY_OR(end, invar_options_set(o, "split", p->split));
		INV_TRY_OR(end, invar_options_set_number(o, "seed", p->seed));
		INV_TRY_OR(end, invar_options_set_number(o, "copy", p->copy));
		INV_TRY_OR(end, invar_options_set_number(o, "first", first));
		INV_TRY_OR(end, invar_augment_apply(a, o, tensor, shape, params, seen));
	}
	INV_TRY_OR(end, inv_tensor_to_image(p->s->ctx, seen ? seen : tensor, shown,
	                                    p->normalize, rgb));
	*height = (uint32_t)shown[2];
	*width = (uint32_t)shown[3];
end:
	invar_free(stored);
	invar_free(tensor);
	inv_free(seen);
	inv_free(params);
	invar_options_free(o);
	return st;
}
