/* SPDX-License-Identifier: Apache-2.0 */
/* bank_source.c - a bank as a source: clean rows and copies are stored side by side. */
#include <inttypes.h>

#include "base/memory.h"
#include "base/text.h"
#include "encode/source.h"

static invar_status select_stored(inv_source *s, const char *split, uint64_t copies)
{
	const inv_split *from = inv_bank_split(s->bank, split);

	if (!from)
		return INVAR_E_MISMATCH;
	if (copies > from->copies)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: @copies is %" PRIu64 " but %s has %" PRIu32 " %s", s->name,
		                copies, from->name, from->copies,
		                inv_noun(from->copies, "copy", "copies"));
	s->stored = from;
	s->split = from->name;
	s->rows = from->rows;
	s->copies = copies ? (uint32_t)copies : from->copies;
	return INVAR_OK;
}

static invar_status need_stored_copies(const inv_source *s)
{
	if (s->copies)
		return INVAR_OK;
	if (s->bank->in_memory)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: %s has no augmented copies, so only @samples 0 can train on it", s->name,
			s->split);
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: %s has no augmented copies (aug/000.npy …), so only @samples 0 "
	                "can train on it; encode it again with @augment to add copies",
	                s->name, s->split);
}

/* Row by row, as the copies of a row may be side by side in one array. */
static invar_status read_stored_copies(const inv_source *s, const inv_source_batch *b,
                                       float *out)
{
	size_t stride = (size_t)b->N * s->dim;

	for (uint32_t i = 0; i < b->N; i++) {
		float *to = out + (size_t)i * s->dim;

		inv_choose(b->draws, b->rows[i], s->copies, b->drawn, b->s);
		for (uint32_t k = 0; k < b->s; k++)
			INV_TRY(inv_bank_row(s->bank, s->stored, (int32_t)b->drawn[k], b->rows[i],
			                     to + k * stride));
	}
	return INVAR_OK;
}

static void expect_copies(const inv_source *s, const inv_source_batch *b)
{
	for (uint32_t i = 0; i < b->N; i++) {
		inv_choose(b->draws, b->rows[i], s->copies, b->drawn, b->s);
		for (uint32_t k = 0; k < b->s; k++)
			inv_bank_will_need(s->bank, s->stored, (int32_t)b->drawn[k], b->rows[i]);
	}
}

static const char *path_of_bank(const inv_source *s)
{
	return s->bank->path;
}

static void close_bank_source(inv_source *s)
{
	inv_free(s);
}

static const inv_source_kind bank_source = {
	.select = select_stored,
	.need_copies = need_stored_copies,
	.fill_copies = read_stored_copies,
	.expect_copies = expect_copies,
	.path = path_of_bank,
	.close = close_bank_source,
};

invar_status inv_bank_source_open(const invar_bank *b, inv_source **out)
{
	INV_TRY(inv_new(out));
	**out = (inv_source){
		.kind = &bank_source, .ctx = b->ctx, .name = b->path, .dim = b->dim, .bank = b};
	return INVAR_OK;
}
