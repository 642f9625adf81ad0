/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - opening a bank.
 *
 * Any array in the folder may come from another program, so each one is compared
 * with the others before a single row is used: widths, row counts, gaps in the
 * numbering of the copies.
 */
#include "bank/bank.h"
#include "bank/class_view.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* An array of `dims` dimensions with one row per row of the split. */
static invar_status check_rows_and_width(const inv_npy *a, const inv_split *s,
                                         unsigned dims, uint32_t dim)
{
	char shape[INV_SHAPE_TEXT], want[100];

	if (a->h.ndim == dims && a->h.shape[0] == s->rows &&
	    (dims == 1 || a->h.shape[dims - 1] == dim))
		return INVAR_OK;
	if (dims == 1)
		snprintf(want, sizeof want, "(%" PRIu64 ",)", s->rows);
	else
		snprintf(want, sizeof want, "(%" PRIu64 "%s, %" PRIu32 ")", s->rows,
		         dims == 3 ? ", c" : "", dim);
	return inv_fail(INVAR_E_MISMATCH, "%s: its shape is %s but %s was expected, as in %s",
	                a->path, inv_shape_text(a->h.ndim, a->h.shape, shape), want,
	                s->clean->path);
}

static invar_status open_in(const char *folder, const char *name, inv_npy **out)
{
	char *path;
	invar_status st;

	INV_TRY(inv_new_path(&path, folder, name));
	st = inv_npy_open(path, out);
	inv_free(path);
	return st;
}

/* The path is on the stack, so that lack of memory is not mistaken for a missing file. */
static bool exists_below(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%s", folder, name);

	return length > 0 && length < PATH_MAX && inv_exists(path);
}

static invar_status open_clean(invar_bank *b, const char *folder, inv_split *s)
{
	const inv_npy *a;
	char shape[INV_SHAPE_TEXT];

	INV_TRY(open_in(folder, "clean.npy", &s->clean));
	a = s->clean;
	inv_shape_text(a->h.ndim, a->h.shape, shape);
	if (a->h.ndim != 2 || !a->h.shape[0] || !a->h.shape[1])
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its shape is %s but (rows, features) was expected", a->path,
		                shape);
	if (a->h.shape[0] >= UINT32_MAX || a->h.shape[1] > INV_BANK_DIM)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: its shape is %s, but a bank holds at most 2^32 rows of 2^24 features",
			a->path, shape);
	if (b->dim && b->dim != a->h.shape[1])
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: has %" PRIu64 " features per row but %s has %" PRIu32, a->path,
		                a->h.shape[1], b->splits[0].clean->path, b->dim);
	b->dim = (uint32_t)a->h.shape[1];
	s->rows = a->h.shape[0];
	return INVAR_OK;
}

/* Views of the rows of an array; without the file there are none. */
static invar_status open_views(const char *folder, const char *name, const inv_split *s,
                               uint32_t dim, inv_npy **out)
{
	const inv_npy_header *h;
	char shape[INV_SHAPE_TEXT];

	if (!exists_below(folder, name))
		return INVAR_OK;
	INV_TRY(open_in(folder, name, out));
	h = &(*out)->h;
	if (h->ndim != 3 || h->shape[0] != s->rows || h->shape[1] != INV_ROTATED ||
	    h->shape[2] != dim)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its shape is %s but (%" PRIu64 ", %d, %" PRIu32
		                ") was expected, three rotated views of each row of %s",
		                (*out)->path, inv_shape_text(h->ndim, h->shape, shape), s->rows,
		                INV_ROTATED, dim, s->clean->path);
	if (h->dtype != INV_F32 && h->dtype != INV_F16)
		return inv_fail(INVAR_E_FORMAT, "%s: views must be float32 or float16, not %s",
		                (*out)->path, inv_dtype_name(h->dtype));
	return INVAR_OK;
}

/* A copy after a gap would be left out silently; it is an error instead. */
static invar_status check_gap(const char *folder, uint32_t count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	invar_status st = INVAR_OK;

	while (dir && (entry = readdir(dir))) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (end != entry->d_name && number >= count &&
		    (strcmp(end, ".npy") == 0 || strcmp(end, ".views.npy") == 0))
			INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT, "%s: has %s but no %03" PRIu32 ".npy",
			                          folder, entry->d_name, count));
	}
done:
	if (dir)
		closedir(dir);
	return st;
}

static invar_status open_numbered(const char *folder, inv_split *s, uint32_t dim)
{
	uint32_t count = 0;
	char name[32];

	do
		snprintf(name, sizeof name, "%03" PRIu32 ".npy", count);
	while (exists_below(folder, name) && ++count < INV_BANK_COPIES);
	INV_TRY(check_gap(folder, count));
	if (!count)
		return INVAR_OK;
	INV_TRY(inv_new_zeros(&s->aug, count));
	s->aug_files = count; /* all of them are closed, those that were not opened are NULL */
	for (uint32_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%03" PRIu32 ".npy", i);
		INV_TRY(open_in(folder, name, &s->aug[i]));
		INV_TRY(check_rows_and_width(s->aug[i], s, 2, dim));
	}
	s->copies = count;
	INV_TRY(inv_new_zeros(&s->aug_views, count));
	for (uint32_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%03" PRIu32 ".views.npy", i);
		INV_TRY(open_views(folder, name, s, dim, &s->aug_views[i]));
	}
	return INVAR_OK;
}

static invar_status open_copies(const char *folder, inv_split *s, uint32_t dim)
{
	bool numbered = exists_below(folder, "aug"), stacked = exists_below(folder, "aug.npy");
	char *aug;
	invar_status st;

	if (numbered && stacked)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has both aug/ and aug.npy; remove the wrong one", folder);
	if (stacked) {
		INV_TRY(inv_new(&s->aug));
		s->aug_files = 1;
		INV_TRY(open_in(folder, "aug.npy", &s->aug[0]));
		INV_TRY(check_rows_and_width(s->aug[0], s, 3, dim));
		if (s->aug[0]->h.shape[1] > INV_BANK_COPIES)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: has %" PRIu64 " copies, but at most %d are allowed",
			                s->aug[0]->path, s->aug[0]->h.shape[1], INV_BANK_COPIES);
		s->copies = (uint32_t)s->aug[0]->h.shape[1];
	}
	if (!numbered)
		return INVAR_OK;
	INV_TRY(inv_new_path(&aug, folder, "aug"));
	st = inv_is_folder(aug)
	         ? open_numbered(aug, s, dim)
	         : inv_fail(INVAR_E_FORMAT, "%s: is a file, expected a folder of copies", aug);
	inv_free(aug);
	return st;
}

static invar_status open_bank_split(invar_bank *b, const char *name)
{
	inv_split *s = &b->splits[b->split_count++];
	char *folder;
	invar_status st;

	INV_TRY(inv_new_path(&folder, b->path, name));
	INV_TRY_OR(done, inv_new_text(&s->name, name));
	INV_TRY_OR(done, open_clean(b, folder, s));
	if (exists_below(folder, "labels.npy")) {
		INV_TRY_OR(done, open_in(folder, "labels.npy", &s->labels));
		if (!inv_dtype_is_integer(s->labels->h.dtype))
			INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT, "%s: labels must be integers, not %s",
			                          s->labels->path, inv_dtype_name(s->labels->h.dtype)));
		INV_TRY_OR(done, check_rows_and_width(s->labels, s, 1, 0));
	}
	INV_TRY_OR(done, open_copies(folder, s, b->dim));
	st = open_views(folder, "clean.views.npy", s, b->dim, &s->clean_views);
done:
	inv_free(folder);
	return st;
}

/* A split is a sub-folder with clean.npy in it. */
static invar_status open_bank_splits(invar_bank *b)
{
	struct dirent **entries;
	int count;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_zeros(&b->splits, INV_BANK_SPLITS));
	if ((count = scandir(b->path, &entries, NULL, alphasort)) < 0)
		return inv_fail_errno(b->path, "cannot read the folder");
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		char clean[sizeof entries[i]->d_name + 16];

		snprintf(clean, sizeof clean, "%s/clean.npy", name);
		if (name[0] == '.' || !exists_below(b->path, clean))
			continue;
		if (b->split_count == INV_BANK_SPLITS)
			INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits",
			                          b->path, INV_BANK_SPLITS));
		INV_TRY_OR(done, open_bank_split(b, name));
	}
	if (!b->split_count)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: is not a bank: no sub-folder such as train/ has a clean.npy",
		              b->path);
done:
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return st;
}

invar_status inv_bank_load_json(const char *path, json_t **out)
{
	const char *format;

	INV_TRY(inv_json_load(path, out));
	format = json_string_value(json_object_get(*out, "format"));
	if (!format || strcmp(format, "invar-bank") != 0)
		return inv_fail(INVAR_E_FORMAT, "%s: the format is %s but must be invar-bank", path,
		                format ? format : "missing");
	if (json_integer_value(json_object_get(*out, "version")) != 1)
		return inv_fail(INVAR_E_FORMAT, "%s: only version 1 is supported", path);
	return INVAR_OK;
}

invar_status inv_bank_open(invar_context *ctx, const char *path, invar_bank **out)
{
	invar_bank *b;
	char *json = NULL;
	invar_status st;

	*out = NULL;
	if (!inv_exists(path))
		return inv_fail(INVAR_E_IO, "%s: no such bank", path);
	if (!inv_is_folder(path))
		return inv_fail(INVAR_E_IO, "%s: is a file, but a bank is a folder", path);
	INV_TRY(inv_new(&b));
	b->ctx = ctx;
	inv_kernels_init(&b->kernels, ctx->cpu);
	INV_TRY_OR(fail, inv_new_text(&b->path, path));
	INV_TRY_OR(fail, inv_new_path(&json, path, "bank.json"));
	if (inv_exists(json))
		INV_TRY_OR(fail, inv_bank_load_json(json, &b->json));
	INV_TRY_OR(fail, open_bank_splits(b));
	inv_free(json);
	*out = b;
	return INVAR_OK;
fail:
	inv_free(json);
	invar_bank_close(b);
	return st;
}

void inv_split_clear(inv_split *s)
{
	for (size_t i = 0; i < s->aug_files; i++)
		inv_npy_close(s->aug[i]);
	for (uint32_t i = 0; s->aug_views && i < s->copies; i++)
		inv_npy_close(s->aug_views[i]);
	inv_free(s->aug);
	inv_free(s->aug_views);
	inv_npy_close(s->clean_views);
	inv_npy_close(s->clean);
	inv_npy_close(s->labels);
	inv_free(s->row);
	inv_free(s->name);
}

void invar_bank_close(invar_bank *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->split_count + b->hidden_count; i++)
		inv_split_clear(&b->splits[i]);
	inv_free(b->splits);
	inv_class_view_clear(&b->view);
	json_decref(b->json);
	inv_free(b->path);
	inv_free(b);
}
