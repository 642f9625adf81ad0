/* SPDX-License-Identifier: Apache-2.0 */
/* same_rows.c - whether two banks have the same clean rows, and ranks the same files. */
#include <inttypes.h>
#include <string.h>

#include "bank/row_names.h"
#include "base/memory.h"
#include "base/rank_compare.h"

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
		size_t same = 0;

		INV_TRY_OR(done, inv_bank_row(a, s, INVAR_CLEAN, i, rows));
		INV_TRY_OR(done, inv_bank_row(b, other, INVAR_CLEAN, i, rows + a->dim));
		while (same < a->dim && rows[same] == rows[a->dim + same])
			same++;
		if (same < a->dim)
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

/* ---- Ranks ------------------------------------------------------------------------ */

static const inv_npy *file_at(const void *split, size_t i)
{
	const inv_split *s = split;

	return i ? s->aug[i - 1] : s->clean;
}

static bool identify_file(void *user, size_t item, inv_file_id *out)
{
	*out = file_at(user, item)->map.id;
	return true;
}

static invar_status print_file(void *user, size_t item, unsigned thread,
                               unsigned char out[INV_COMPARED_BYTES])
{
	const inv_npy *a = file_at(user, item);
	unsigned char digest[INV_SHA256_BYTES];

	(void)thread;
	INV_TRY(inv_sha256_digest(a->map.data, a->map.size, digest));
	inv_map_let_go(&a->map, a->map.data, a->map.size); /* it may be larger than memory */
	memcpy(out, digest, INV_COMPARED_BYTES);
	return INVAR_OK;
}

static invar_status refuse_file(void *user, size_t item)
{
	return inv_fail_other_file(file_at(user, item)->path);
}

invar_status inv_bank_agree(const invar_context *ctx, const inv_split *s, uint64_t copies)
{
	const inv_compared c = {.count =
	                            1 + (size_t)(copies < s->aug_files ? copies : s->aug_files),
	                        .user = (void *)(uintptr_t)s,
	                        .file = identify_file,
	                        .print = print_file,
	                        .differs = refuse_file};

	return inv_ranks_compare(ctx, &c);
}
