/* SPDX-License-Identifier: Apache-2.0 */
/* bank_ranks.c - see bank_ranks.h. */
#include "bank/bank_ranks.h"

#include <string.h>

#include "base/rank_compare.h"

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
