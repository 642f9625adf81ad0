/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - looking up the contents of a bank and reading its rows.
 *
 * Rows are converted to float and checked once: NaN and Inf are reported here, with file
 * and row, before they reach a training.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/class_view.h"
#include "bank/row_names.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "math/unit_rows.h"

/* ---- Queries ---------------------------------------------------------------------- */

static const inv_split *find_bank_split(const invar_bank *b, const char *name)
{
	for (size_t i = 0; i < b->split_count; i++)
		if (strcmp(b->splits[i].name, name) == 0)
			return &b->splits[i];
	return NULL;
}

const inv_split *inv_bank_split(const invar_bank *b, const char *name)
{
	const inv_split *s = find_bank_split(b, name);
	char have[300] = "";
	size_t at = 0;

	if (s)
		return s;
	for (size_t i = b->split_count; i < b->split_count + b->hidden_count; i++)
		if (strcmp(b->splits[i].name, name) == 0) {
			inv_fail(INVAR_E_MISMATCH, "%s: %s has no rows of these @classes", b->path,
			         name);
			return NULL;
		}
	for (size_t i = 0; i < b->split_count && at < sizeof have; i++)
		at += (size_t)snprintf(have + at, sizeof have - at, "%s%s", i ? ", " : "",
		                       b->splits[i].name);
	inv_fail(INVAR_E_MISMATCH, "%s: has no split %s; it has %s", b->path, name, have);
	return NULL;
}

uint32_t invar_bank_dim(const invar_bank *b)
{
	return b->dim;
}

size_t invar_bank_splits(const invar_bank *b)
{
	return b->split_count;
}

const char *invar_bank_split(const invar_bank *b, size_t i)
{
	return i < b->split_count ? b->splits[i].name : NULL;
}

int inv_bank_has_split(const invar_bank *b, const char *split)
{
	return find_bank_split(b, split) != NULL;
}

uint64_t invar_bank_rows(const invar_bank *b, const char *split)
{
	const inv_split *s = find_bank_split(b, split);

	return s ? s->rows : 0;
}

uint64_t inv_bank_file_row(const invar_bank *b, const char *split, uint64_t row)
{
	const inv_split *s = find_bank_split(b, split);

	return s && row < s->rows ? inv_file_row(s, row) : row;
}

uint32_t invar_bank_copies(const invar_bank *b, const char *split)
{
	const inv_split *s = find_bank_split(b, split);

	return s ? s->copies : 0;
}

int invar_bank_has_labels(const invar_bank *b, const char *split)
{
	const inv_split *s = find_bank_split(b, split);

	return s && s->labels;
}

const char *invar_bank_field(const invar_bank *b, const char *name)
{
	return json_string_value(json_object_get(b->json, name));
}

const char *inv_bank_class(const invar_bank *b, int64_t label)
{
	return label < 0 ? NULL
	                 : json_string_value(json_array_get(json_object_get(b->json, "classes"),
	                                                    (size_t)label));
}

/* ---- Reading ---------------------------------------------------------------------- */

const inv_npy *inv_split_views(const inv_split *s, int32_t copy)
{
	if (copy == INVAR_CLEAN)
		return s->clean_views;
	return s->aug_views ? s->aug_views[copy] : NULL;
}

bool inv_split_copies_have_views(const inv_split *s)
{
	for (uint32_t i = 0; i < s->copies; i++)
		if (!inv_split_views(s, (int32_t)i))
			return false;
	return s->copies > 0;
}

/* The file that contains a row, and the row's first element in it. */
static const inv_npy *locate(const invar_bank *b, const inv_split *s, int32_t copy,
                             uint64_t row, uint64_t *first)
{
	bool stacked = copy >= 0 && s->aug_files < s->copies;

	row = inv_file_row(s, row);
	*first = row * b->dim;
	if (copy < 0)
		return s->clean;
	if (stacked)
		*first = (row * s->copies + (uint64_t)copy) * b->dim;
	return s->aug[stacked ? 0 : copy];
}

static invar_status fail_not_finite(const invar_bank *b, const inv_split *s,
                                    const inv_npy *a, int32_t copy, unsigned view,
                                    uint64_t image, const float *row)
{
	char which[40] = "", text[INV_ROW_TEXT];
	uint32_t j = 0;

	while (isfinite(row[j]) && j + 1 < b->dim)
		j++;
	if (view)
		snprintf(which, sizeof which, ", rotated by %u degrees", 90 * view);
	else if (copy >= 0 && a->h.ndim == 3)
		snprintf(which, sizeof which, ", copy %" PRId32, copy);
	return inv_fail(INVAR_E_NUMERIC, "%s: row %s%s, column %" PRIu32 " is %s", a->path,
	                inv_row_text(b, s, image, text), which, j,
	                isnan(row[j]) ? "NaN" : "infinite");
}

invar_status inv_bank_view_row(const invar_bank *b, const inv_split *s, int32_t copy,
                               unsigned view, uint64_t row, float *out)
{
	uint64_t first;
	const inv_npy *a = locate(b, s, copy, row, &first);
	const unsigned char *from;
	bool direct;

	if (view) {
		a = inv_split_views(s, copy);
		first = (inv_file_row(s, row) * INV_ROTATED + view - 1) * b->dim;
	}
	from = a->data + first * inv_dtype_size(a->h.dtype);
	direct = !a->h.swap && !a->h.fortran;
	if (direct && a->h.dtype == INV_F32)
		memcpy(out, from, b->dim * sizeof *out);
	else if (direct && a->h.dtype == INV_F16 && (uintptr_t)from % 2 == 0)
		b->kernels.widen_half((const uint16_t *)(const void *)from, b->dim, out);
	else
		INV_TRY(inv_npy_read(a, first, b->dim, out));
	if (!b->kernels.all_finite(out, b->dim))
		return fail_not_finite(b, s, a, copy, view, row, out);
	if (b->unit)
		inv_unit_rows(out, 1, b->dim, out);
	return INVAR_OK;
}

invar_status inv_bank_row(const invar_bank *b, const inv_split *s, int32_t copy,
                          uint64_t row, float *out)
{
	return inv_bank_view_row(b, s, copy, 0, row, out);
}

/* Whether a split has these rows of this copy. */
static invar_status check_copy_and_rows(const invar_bank *b, const inv_split *s,
                                        int32_t copy, uint64_t first, uint64_t rows)
{
	if (copy < INVAR_CLEAN || (copy >= 0 && (uint32_t)copy >= s->copies))
		return inv_fail(INVAR_E_USE,
		                "%s: %s has %" PRIu32 " %s, so there is no copy %" PRId32, b->path,
		                s->name, s->copies, inv_noun(s->copies, "copy", "copies"), copy);
	if (first > s->rows || rows > s->rows - first)
		return inv_fail(INVAR_E_USE,
		                "%s: %s has %" PRIu64 " %s, not %" PRIu64 " from %" PRIu64, b->path,
		                s->name, s->rows, inv_noun(s->rows, "row", "rows"), rows, first);
	return INVAR_OK;
}

invar_status invar_bank_read(const invar_bank *b, const char *split, int32_t copy,
                             uint64_t first, uint64_t rows, float *out)
{
	const inv_split *s = inv_bank_split(b, split);

	if (!s)
		return INVAR_E_MISMATCH;
	INV_TRY(check_copy_and_rows(b, s, copy, first, rows));
	for (uint64_t i = 0; i < rows; i++)
		INV_TRY(inv_bank_row(b, s, copy, first + i, out + i * b->dim));
	return INVAR_OK;
}

int invar_bank_has_views(const invar_bank *b, const char *split, int32_t copy)
{
	const inv_split *s = find_bank_split(b, split);

	return s && copy >= INVAR_CLEAN && (copy < 0 || (uint32_t)copy < s->copies) &&
	       inv_split_views(s, copy);
}

invar_status invar_bank_read_views(const invar_bank *b, const char *split, int32_t copy,
                                   uint64_t first, uint64_t rows, float *out)
{
	const inv_split *s = inv_bank_split(b, split);
	char name[32] = "clean";

	if (!s)
		return INVAR_E_MISMATCH;
	INV_TRY(check_copy_and_rows(b, s, copy, first, rows));
	if (copy >= 0)
		snprintf(name, sizeof name, "aug/%03" PRId32, copy);
	if (!inv_split_views(s, copy))
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: there is no %s/%s.views.npy; encode with @views 4 makes it",
		                b->path, split, name);
	for (uint64_t i = 0; i < rows * INV_ROTATED; i++)
		INV_TRY(inv_bank_view_row(b, s, copy, (unsigned)(i % INV_ROTATED) + 1,
		                          first + i / INV_ROTATED, out + i * b->dim));
	return INVAR_OK;
}

invar_status invar_bank_labels(const invar_bank *b, const char *split, int64_t *out)
{
	const inv_split *s = inv_bank_split(b, split);

	if (!s)
		return INVAR_E_MISMATCH;
	if (!s->labels)
		return inv_fail(INVAR_E_MISMATCH, "%s: %s has no labels.npy", b->path, split);
	if (!s->row)
		return inv_npy_read_int(s->labels, 0, s->rows, out);
	for (uint64_t i = 0; i < s->rows; i++) { /* a class view numbers its classes itself */
		INV_TRY(inv_npy_read_int(s->labels, s->row[i], 1, &out[i]));
		out[i] = inv_class_view_label(&b->view, out[i]);
	}
	return INVAR_OK;
}

/* ---- Banks larger than memory ----------------------------------------------------- */

void inv_bank_will_need(const invar_bank *b, const inv_split *s, int32_t copy, uint64_t row)
{
	uint64_t first;
	const inv_npy *a = locate(b, s, copy, row, &first);
	size_t item = inv_dtype_size(a->h.dtype), page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)(a->data + first * item);
	uintptr_t start = from / page * page;

	if (a->map.data && !a->h.fortran)
		madvise((void *)start, from + b->dim * item - start, MADV_WILLNEED);
}

void inv_bank_wont_need(const invar_bank *b, const inv_split *s, int32_t copy,
                        uint64_t first, uint64_t last)
{
	uint64_t from, to;
	const inv_npy *a = locate(b, s, copy, first, &from);
	size_t item = inv_dtype_size(a->h.dtype);

	locate(b, s, copy, last, &to);
	if (a->map.data && !a->h.fortran && to >= from)
		inv_map_let_go(&a->map, a->data + from * item, (to + b->dim - from) * item);
}

static void advise_random(const inv_npy *a)
{
	if (a->map.data)
		madvise((void *)(uintptr_t)a->map.data, a->map.size, MADV_RANDOM);
}

void inv_bank_expect_random(const inv_split *s)
{
	advise_random(s->clean);
	for (size_t i = 0; i < s->aug_files; i++)
		advise_random(s->aug[i]);
}

uint64_t inv_split_bytes(const inv_split *s)
{
	uint64_t bytes = inv_npy_bytes(s->clean);

	for (size_t i = 0; i < s->aug_files; i++)
		bytes += inv_npy_bytes(s->aug[i]);
	return bytes;
}

/* ---- Provenance ------------------------------------------------------------------- */

/*
 * Files of a small split are hashed whole. Of the files of a large one, the
 * size and both ends are hashed, and the key says so: reading a bank larger
 * than memory twice is too high a price for a note in run.json.
 */
static invar_status fingerprint_file(const inv_npy *a, bool small, json_t *list)
{
	const uint64_t end = 1u << 20, bytes = inv_npy_bytes(a);
	char hex[INV_SHA256_HEX], tail[INV_SHA256_HEX] = "";
	bool ends = !small && bytes > 2 * end;
	json_t *entry;

	INV_TRY(inv_npy_sha256(a, 0, ends ? end : bytes, hex));
	if (ends)
		INV_TRY(inv_npy_sha256(a, bytes - end, end, tail));
	entry = json_pack("{s:s, s:I}", "file", strrchr(a->path, '/') + 1, "bytes",
	                  (json_int_t)bytes);
	if (ends) {
		json_object_set_new(entry, "sha256_first_mb", json_string(hex));
		json_object_set_new(entry, "sha256_last_mb", json_string(tail));
	} else {
		json_object_set_new(entry, "sha256", json_string(hex));
	}
	return json_array_append_new(list, entry) == 0 ? INVAR_OK : inv_no_memory();
}

invar_status inv_bank_fingerprint(const invar_bank *b, const inv_split *s, json_t **out)
{
	bool small = inv_split_bytes(s) <= 1u << 30;
	invar_status st;

	if (!(*out = json_array()))
		return inv_no_memory();
	INV_TRY_OR(fail, fingerprint_file(s->clean, small, *out));
	for (size_t i = 0; i < s->aug_files; i++)
		INV_TRY_OR(fail, fingerprint_file(s->aug[i], small, *out));
	if (s->row && json_array_append_new(
					  *out, json_pack("{s:s, s:I, s:s}", "view", "classes", "rows",
	                                  (json_int_t)s->rows, "sha256", b->view.hex)) != 0)
		INV_TRY_OR(fail, inv_no_memory());
	if (b->unit && json_array_append_new(*out, json_pack("{s:s}", "view", "unit")) != 0)
		INV_TRY_OR(fail, inv_no_memory());
	return INVAR_OK;
fail:
	json_decref(*out);
	*out = NULL;
	return st;
}

invar_status inv_bank_fingerprint_views(const inv_split *s, json_t *list)
{
	bool small = inv_split_bytes(s) <= 1u << 28; /* views are three times as large */

	for (int32_t i = INVAR_CLEAN; i < (int32_t)s->copies; i++)
		if (inv_split_views(s, i))
			INV_TRY(fingerprint_file(inv_split_views(s, i), small, list));
	return INVAR_OK;
}

static bool has_entry(const json_t *list, const json_t *entry)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_equal(one, (json_t *)(uintptr_t)entry))
			return true;
	return false;
}

invar_status inv_bank_has_files(const invar_bank *b, const char *split, const json_t *list,
                                bool *out)
{
	const inv_split *s = inv_bank_split(b, split);
	json_t *own = NULL;
	const json_t *entry;
	invar_status st;
	size_t i;

	*out = json_object_get(json_array_get(list, 0), "file");
	if (!s)
		return INVAR_E_MISMATCH;
	INV_TRY(inv_bank_fingerprint(b, s, &own));
	st = inv_bank_fingerprint_views(s, own);
	json_array_foreach (list, i, entry)
		*out = *out && (!json_object_get(entry, "file") || has_entry(own, entry));
	json_decref(own);
	return st;
}
