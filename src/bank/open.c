/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - opening a bank.
 *
 * Everything in the folder may come from someone else's NumPy, so each array
 * is held against the others before a single row is used: widths, row counts,
 * gaps in the numbering of the copies.
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

invar_status inv_bank_no_memory(const char *path)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to open the bank", path);
}

/* An array of the given rank with one row per row of the split. */
static invar_status check_array(const inv_npy *a, const inv_split *s, unsigned rank,
                                uint32_t dim)
{
	char shape[INV_SHAPE_TEXT], want[100];

	if (a->h.rank == rank && a->h.shape[0] == s->rows &&
	    (rank == 1 || a->h.shape[rank - 1] == dim))
		return INVAR_OK;
	if (rank == 1)
		snprintf(want, sizeof want, "(%" PRIu64 ",)", s->rows);
	else
		snprintf(want, sizeof want, "(%" PRIu64 "%s, %" PRIu32 ")", s->rows,
		         rank == 3 ? ", c" : "", dim);
	return inv_fail(INVAR_E_MISMATCH, "%s: its shape is %s but %s was expected, as in %s",
	                a->path, inv_shape_text(a->h.rank, a->h.shape, shape), want,
	                s->clean->path);
}

static invar_status open_in(const char *folder, const char *name, inv_npy **out)
{
	char *path = inv_join(folder, name);
	invar_status st = path ? inv_npy_open(path, out) : inv_bank_no_memory(folder);

	inv_free(path);
	return st;
}

/* On the stack: an answer of "no" must not mean "no memory". */
static bool exists_in(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%s", folder, name);

	return length > 0 && length < PATH_MAX && inv_exists(path);
}

static invar_status open_clean(invar_bank *b, const char *folder, inv_split *s)
{
	const inv_npy *a;
	invar_status st = open_in(folder, "clean.npy", &s->clean);
	char shape[INV_SHAPE_TEXT];

	if (st != INVAR_OK)
		return st;
	a = s->clean;
	inv_shape_text(a->h.rank, a->h.shape, shape);
	if (a->h.rank != 2 || !a->h.shape[0] || !a->h.shape[1])
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

static invar_status open_labels(const char *folder, inv_split *s)
{
	invar_status st;

	if (!exists_in(folder, "labels.npy"))
		return INVAR_OK;
	if ((st = open_in(folder, "labels.npy", &s->labels)) != INVAR_OK)
		return st;
	if (!inv_dtype_is_integer(s->labels->h.dtype))
		return inv_fail(INVAR_E_FORMAT, "%s: labels must be integers, not %s",
		                s->labels->path, inv_dtype_name(s->labels->h.dtype));
	return check_array(s->labels, s, 1, 0);
}

/* Views of the rows of an array; without the file there are none. */
static invar_status open_views(const char *folder, const char *name, const inv_split *s,
                               uint32_t dim, inv_npy **out)
{
	const inv_npy_header *h;
	char shape[INV_SHAPE_TEXT];
	invar_status st;

	if (!exists_in(folder, name))
		return INVAR_OK;
	if ((st = open_in(folder, name, out)) != INVAR_OK)
		return st;
	h = &(*out)->h;
	if (h->rank != 3 || h->shape[0] != s->rows || h->shape[1] != INV_ROTATED ||
	    h->shape[2] != dim)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its shape is %s but (%" PRIu64 ", %d, %" PRIu32
		                ") was expected, three rotated views of each row of %s",
		                (*out)->path, inv_shape_text(h->rank, h->shape, shape), s->rows,
		                INV_ROTATED, dim, s->clean->path);
	if (h->dtype != INV_F32 && h->dtype != INV_F16)
		return inv_fail(INVAR_E_FORMAT, "%s: views must be float32 or float16, not %s",
		                (*out)->path, inv_dtype_name(h->dtype));
	return INVAR_OK;
}

/* 000.npy, 001.npy … up to the first that is missing. */
static uint32_t count_numbered(const char *folder)
{
	char name[32];
	uint32_t count = 0;

	do
		snprintf(name, sizeof name, "%03" PRIu32 ".npy", count);
	while (exists_in(folder, name) && ++count < INV_BANK_COPIES);
	return count;
}

/* A copy beyond a gap would be left out silently; say so instead. */
static invar_status check_gap(const char *folder, uint32_t count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	invar_status st = INVAR_OK;

	while (dir && st == INVAR_OK && (entry = readdir(dir))) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (end != entry->d_name && number >= count &&
		    (strcmp(end, ".npy") == 0 || strcmp(end, ".views.npy") == 0))
			st = inv_fail(INVAR_E_FORMAT, "%s: has %s but no %03" PRIu32 ".npy", folder,
			              entry->d_name, count);
	}
	if (dir)
		closedir(dir);
	return st;
}

static invar_status open_numbered(const char *folder, inv_split *s, uint32_t dim)
{
	uint32_t count = count_numbered(folder);
	invar_status st = check_gap(folder, count);

	if (st != INVAR_OK || !count)
		return st;
	s->aug = inv_calloc(count, sizeof *s->aug);
	if (!s->aug)
		return inv_bank_no_memory(folder);
	for (; s->aug_files < count; s->aug_files++) {
		char name[32];

		snprintf(name, sizeof name, "%03zu.npy", s->aug_files);
		if ((st = open_in(folder, name, &s->aug[s->aug_files])) != INVAR_OK ||
		    (st = check_array(s->aug[s->aug_files], s, 2, dim)) != INVAR_OK) {
			s->aug_files++; /* so that closing finds it */
			return st;
		}
	}
	s->copies = count;
	if (!(s->aug_views = inv_calloc(count, sizeof *s->aug_views)))
		return inv_bank_no_memory(folder);
	for (uint32_t i = 0; i < count && st == INVAR_OK; i++) {
		char name[32];

		snprintf(name, sizeof name, "%03" PRIu32 ".views.npy", i);
		st = open_views(folder, name, s, dim, &s->aug_views[i]);
	}
	return st;
}

static invar_status open_stacked(const char *folder, inv_split *s, uint32_t dim)
{
	invar_status st;

	s->aug = inv_calloc(1, sizeof *s->aug);
	if (!s->aug)
		return inv_bank_no_memory(folder);
	s->aug_files = 1;
	if ((st = open_in(folder, "aug.npy", &s->aug[0])) != INVAR_OK ||
	    (st = check_array(s->aug[0], s, 3, dim)) != INVAR_OK)
		return st;
	if (s->aug[0]->h.shape[1] > INV_BANK_COPIES)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %" PRIu64 " copies, but at most %d are allowed",
		                s->aug[0]->path, s->aug[0]->h.shape[1], INV_BANK_COPIES);
	s->copies = (uint32_t)s->aug[0]->h.shape[1];
	return INVAR_OK;
}

static invar_status open_copies(const char *folder, inv_split *s, uint32_t dim)
{
	bool numbered = exists_in(folder, "aug"), stacked = exists_in(folder, "aug.npy");
	char *aug;
	invar_status st;

	if (numbered && stacked)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has both aug/ and aug.npy; remove the wrong one", folder);
	if (stacked)
		return open_stacked(folder, s, dim);
	if (!numbered)
		return INVAR_OK;
	aug = inv_join(folder, "aug");
	if (aug && !inv_is_folder(aug))
		st = inv_fail(INVAR_E_FORMAT, "%s: is a file, expected a folder of copies", aug);
	else
		st = aug ? open_numbered(aug, s, dim) : inv_bank_no_memory(folder);
	inv_free(aug);
	return st;
}

static invar_status open_split(invar_bank *b, const char *name)
{
	inv_split *s = &b->splits[b->split_count++];
	char *folder = inv_join(b->path, name);
	invar_status st = INVAR_OK;

	s->name = inv_strdup(name);
	if (!folder || !s->name)
		st = inv_bank_no_memory(b->path);
	if (st == INVAR_OK)
		st = open_clean(b, folder, s);
	if (st == INVAR_OK)
		st = open_labels(folder, s);
	if (st == INVAR_OK)
		st = open_copies(folder, s, b->dim);
	if (st == INVAR_OK)
		st = open_views(folder, "clean.views.npy", s, b->dim, &s->clean_views);
	inv_free(folder);
	return st;
}

/* A split is a sub-folder with clean.npy in it. */
static bool is_split(const char *bank, const char *name)
{
	char folder[PATH_MAX];
	int length = snprintf(folder, sizeof folder, "%s/%s", bank, name);

	return name[0] != '.' && length > 0 && length < PATH_MAX &&
	       exists_in(folder, "clean.npy");
}

static invar_status open_splits(invar_bank *b)
{
	struct dirent **entries;
	int count = scandir(b->path, &entries, NULL, alphasort);
	invar_status st = INVAR_OK;

	if (count < 0)
		return inv_fail_errno(b->path, "cannot read the folder");
	b->splits = inv_calloc(INV_BANK_SPLITS, sizeof *b->splits);
	if (!b->splits)
		st = inv_bank_no_memory(b->path);
	for (int i = 0; i < count; i++) {
		if (st == INVAR_OK && is_split(b->path, entries[i]->d_name))
			st = b->split_count < INV_BANK_SPLITS
			         ? open_split(b, entries[i]->d_name)
			         : inv_fail(INVAR_E_FORMAT, "%s: has more than %d splits", b->path,
			                    INV_BANK_SPLITS);
		free(entries[i]);
	}
	free(entries);
	if (st == INVAR_OK && !b->split_count)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: is not a bank: no sub-folder such as train/ has a clean.npy",
		              b->path);
	return st;
}

invar_status inv_bank_load_json(const char *path, json_t **out)
{
	const char *format;
	invar_status st = inv_json_load(path, out);

	if (st != INVAR_OK)
		return st;
	format = json_string_value(json_object_get(*out, "format"));
	if (!format || strcmp(format, "invar-bank") != 0)
		return inv_fail(INVAR_E_FORMAT, "%s: the format is %s but must be invar-bank", path,
		                format ? format : "missing");
	if (json_integer_value(json_object_get(*out, "version")) != 1)
		return inv_fail(INVAR_E_FORMAT, "%s: only version 1 is supported", path);
	return INVAR_OK;
}

static invar_status open_json(invar_bank *b)
{
	char *path = inv_join(b->path, "bank.json");
	invar_status st = INVAR_OK;

	if (!path)
		return inv_bank_no_memory(b->path);
	if (inv_exists(path))
		st = inv_bank_load_json(path, &b->json);
	inv_free(path);
	return st;
}

invar_status inv_bank_open(invar_context *ctx, const char *path, invar_bank **out)
{
	invar_bank *b;
	invar_status st;

	*out = NULL;
	if (!inv_exists(path))
		return inv_fail(INVAR_E_IO, "%s: no such bank", path);
	if (!inv_is_folder(path))
		return inv_fail(INVAR_E_IO, "%s: is a file, but a bank is a folder", path);
	b = inv_calloc(1, sizeof *b);
	if (!b)
		return inv_bank_no_memory(path);
	b->ctx = ctx;
	inv_kernels_init(&b->kernels, ctx->cpu);
	b->path = inv_strdup(path);
	st = b->path ? open_json(b) : inv_bank_no_memory(path);
	if (st == INVAR_OK)
		st = open_splits(b);
	if (st != INVAR_OK) {
		invar_bank_close(b);
		return st;
	}
	*out = b;
	return INVAR_OK;
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
