/* SPDX-License-Identifier: Apache-2.0 */
/* same_rows.c - whether two banks have the same clean rows. */
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

invar_status inv_bank_check_same_rows(const invar_bank *a, const inv_split *s,
                                      const invar_bank *b, const inv_split *other)
{
	char text[INV_ROW_TEXT];
	float *rows;
	invar_status st = INVAR_OK;

	if (a->dim != b->dim || s->rows != other->rows)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: is [%" PRIu64 ", %" PRIu32 "] but %s is [%" PRIu64 ", %" PRIu32
		                "]; the banks of one training must have the same clean rows",
		                other->clean->path, other->rows, b->dim, s->clean->path, s->rows,
		                a->dim);
	INV_TRY(inv_new_array(&rows, 2 * (size_t)a->dim));
	for (uint64_t i = 0; i < s->rows; i++) {
		INV_TRY_OR(done, inv_bank_row(a, s, INVAR_CLEAN, i, rows));
		INV_TRY_OR(done, inv_bank_row(b, other, INVAR_CLEAN, i, rows + a->dim));
		if (!same_row(rows, rows + a->dim, a->dim))
			INV_TRY_OR(done,
			           inv_fail(INVAR_E_MISMATCH,
			                    "%s: row %s differs from that of %s; the banks of one "
			                    "training must have the same clean rows in the same "
			                    "order",
			                    other->clean->path, inv_row_text(b, other, i, text),
			                    s->clean->path));
	}
done:
	inv_free(rows);
	return st;
}
