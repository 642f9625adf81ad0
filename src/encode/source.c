/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - what all sources have in common: clean rows are stored in a bank.
 *
 * The rest is delegated to the source's kind.
 */
#include "encode/source.h"

#include "bank/row_norms.h"
#include "math/unit_rows.h"

void inv_source_close(inv_source *s)
{
	if (s)
		s->kind->close(s);
}

invar_status inv_source_select(inv_source *s, const char *split, uint64_t copies)
{
	return s->kind->select(s, split, copies);
}

bool inv_source_is_encoded(const inv_source *s)
{
	return s->kind->prepare != NULL;
}

invar_status inv_source_prepare(inv_source *s, uint64_t seed, const char *folder,
                                const char *called)
{
	return s->kind->prepare ? s->kind->prepare(s, seed, folder, called) : INVAR_OK;
}

void inv_source_normalise(inv_source *s)
{
	if (s->unit)
		return;
	s->unit_bank = inv_unit_view(s->bank);
	s->bank = &s->unit_bank;
	s->unit = true;
}

uint32_t inv_source_samples(const inv_source *s, uint32_t wanted)
{
	return s->unlimited || wanted < s->copies ? wanted : s->copies;
}

invar_status inv_source_need_copies(const inv_source *s)
{
	return s->kind->need_copies(s);
}

invar_status inv_source_check_same_rows(const inv_source *a, const inv_source *b)
{
	return inv_bank_check_same_rows(a->bank, a->stored, b->bank, b->stored);
}

/* ---- Rows ------------------------------------------------------------------------- */

invar_status inv_source_fill_clean(const inv_source *s, const inv_source_batch *b,
                                   float *out)
{
	invar_status st = INVAR_OK;

	for (uint32_t i = 0; i < b->N && st == INVAR_OK; i++)
		st = inv_bank_row(s->bank, s->stored, INVAR_CLEAN, b->rows[i],
		                  out + (size_t)i * s->dim);
	return st;
}

invar_status inv_source_fill_copies(const inv_source *s, const inv_source_batch *b,
                                    float *out)
{
	invar_status st = b->s ? s->kind->fill_copies(s, b, out) : INVAR_OK;

	/* Stored copies are read from the unit view; those that are made are not. */
	if (st == INVAR_OK && s->unit && s->unlimited)
		inv_unit_rows(out, (size_t)b->s * b->N, s->dim, out);
	return st;
}

void inv_source_cancel(inv_source *s)
{
	if (s->kind->cancel)
		s->kind->cancel(s);
}

uint64_t inv_source_bytes(const inv_source *s)
{
	return inv_split_bytes(s->stored);
}

void inv_source_expect_random(const inv_source *s)
{
	inv_bank_expect_random(s->stored);
}

void inv_source_expect_clean(const inv_source *s, const inv_source_batch *b)
{
	for (uint32_t i = 0; i < b->N; i++)
		inv_bank_will_need(s->bank, s->stored, INVAR_CLEAN, b->rows[i]);
}

void inv_source_expect_copies(const inv_source *s, const inv_source_batch *b)
{
	if (s->kind->expect_copies)
		s->kind->expect_copies(s, b);
}

/* ---- Its description ------------------------------------------------------- */

invar_status inv_source_describe(const inv_source *s, json_t *out)
{
	json_t *inputs;
	invar_status st = inv_bank_fingerprint(s->bank, s->stored, &inputs);

	if (st != INVAR_OK)
		return st;
	json_object_set_new(out, "bank", inv_json_path(s->kind->path(s)));
	json_object_set_new(out, "inputs", inputs);
	return INVAR_OK;
}

json_t *inv_source_encoding(const inv_source *s)
{
	return s->kind->encoding ? s->kind->encoding(s) : NULL;
}

json_t *inv_source_options(const inv_source *s)
{
	return s->kind->options ? s->kind->options(s) : NULL;
}
