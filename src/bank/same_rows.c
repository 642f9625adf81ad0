/* SPDX-License-Identifier: Apache-2.0 */
/* same_rows.c - do two banks have the same clean rows? */
#include <inttypes.h>
#include <string.h>

#include "bank/row_names.h"
#include "base/memory.h"

static bool same_row(const float *a, const float *b, size_t dim)
{
	for (size_t i = 0; i < dim; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static invar_status compare_rows(const invar_bank *a, const inv_split *s,
                                 const invar_bank *b, const inv_split *other, float *rows)
{
	size_t dim = a->dim;
	char text[INV_ROW_TEXT];
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < s->rows && st == INVAR_OK; i++) {
		st = inv_bank_row(a, s, INVAR_CLEAN, i, rows);
		if (st == INVAR_OK)
			st = inv_bank_row(b, other, INVAR_CLEAN, i, rows + dim);
		if (st == INVAR_OK && !same_row(rows, rows + dim, dim))
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s: row %s differs from that of %s; the banks of one training "
			              "must have the same clean rows in the same order",
			              other->clean->path, inv_row_text(b, other, i, text),
			              s->clean->path);
	}
	return st;
}

invar_status inv_bank_check_same_rows(const invar_bank *a, const inv_split *s,
                                      const invar_bank *b, const inv_split *other)
{
	float *rows;
	invar_status st;

	if (a->dim != b->dim || s->rows != other->rows)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: is [%" PRIu64 ", %" PRIu32 "] but %s is [%" PRIu64 ", %" PRIu32
		                "]; the banks of one training must have the same clean rows",
		                other->clean->path, other->rows, b->dim, s->clean->path, s->rows,
		                a->dim);
	if (!(rows = inv_alloc(2 * a->dim * sizeof *rows)))
		return inv_bank_no_memory(b->path);
	st = compare_rows(a, s, b, other, rows);
	inv_free(rows);
	return st;
}
