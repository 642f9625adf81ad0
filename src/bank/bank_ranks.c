/* SPDX-License-Identifier: Apache-2.0 */
/* bank_ranks.c - see bank_ranks.h. */
#include "bank/bank_ranks.h"

#include <string.h>
#include <sys/mman.h>

#include "base/rank_compare.h"

enum { PIECE = 1 << 20 }; /* bytes of a file that are one item */

typedef struct row_files {
	const inv_split *s;
	size_t copies; /* files of copies; the clean rows come first */
} row_files;

static const inv_npy *file_at(const row_files *f, size_t i)
{
	return i ? f->s->aug[i - 1] : f->s->clean;
}

static size_t pieces_of(const inv_npy *a)
{
	return (size_t)((a->map.size + PIECE - 1) / PIECE);
}

/* The file of an item; *piece: which of its pieces that is. */
static const inv_npy *file_of(const row_files *f, size_t *piece)
{
	size_t i = 0;

	for (; *piece >= pieces_of(file_at(f, i)); i++)
		*piece -= pieces_of(file_at(f, i));
	return file_at(f, i);
}

static bool identify_piece(void *user, size_t item, inv_file_id *out)
{
	*out = file_of(user, &item)->map.id;
	return true;
}

/* The file may be larger than memory, and is read here from its start to its end. */
static invar_status print_piece(void *user, size_t item, unsigned thread,
                                unsigned char out[INV_COMPARED_BYTES])
{
	const inv_map *m = &file_of(user, &item)->map;
	uint64_t from = (uint64_t)item * PIECE, left = m->size - from;
	size_t bytes = left < PIECE ? (size_t)left : PIECE;
	unsigned char digest[INV_SHA256_BYTES];
	invar_status st;

	(void)thread;
	madvise((void *)(uintptr_t)(m->data + from), bytes, MADV_WILLNEED);
	st = inv_sha256_digest(m->data + from, bytes, digest);
	inv_map_let_go(m, m->data + from, bytes);
	memcpy(out, digest, INV_COMPARED_BYTES);
	return st;
}

static invar_status fail_other_piece(void *user, size_t item)
{
	return inv_fail_other_file(file_of(user, &item)->path);
}

invar_status inv_bank_agree(const invar_context *ctx, const inv_split *s, uint64_t copies,
                            invar_status st)
{
	row_files files = {.s = s};
	inv_compared c = {.user = &files,
	                  .file = identify_piece,
	                  .print = print_piece,
	                  .differs = fail_other_piece};

	INV_TRY(inv_agree(ctx, st));
	files.copies = copies < s->aug_files ? (size_t)copies : s->aug_files;
	for (size_t i = 0; i <= files.copies; i++)
		c.count += pieces_of(file_at(&files, i));
	return inv_ranks_compare(ctx, &c);
}
