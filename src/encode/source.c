/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c - what all sources have in common: clean rows are stored in a bank.
 *
 * The rest is delegated to the source's kind.
 */
#include "encode/source.h"

#include "base/memory.h"
#include "math/unit_rows.h"

enum { MADE_AT_ONCE = 16 }; /* images whose copies are made between two checks of a hook */

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

/* In the order of stored copies, so that the mean has the same digits. */
static invar_status add_made_norms(const inv_source *s, uint32_t copies, inv_row_norms *n)
{
	uint64_t images = inv_norm_images(s->stored);
	uint32_t rows[MADE_AT_ONCE];
	size_t block = (size_t)MADE_AT_ONCE * s->dim;
	float *row;
	invar_status st;

	INV_TRY(inv_new_array(&row, (copies + 1) * block));
	for (uint64_t at = 0; at < images; at += MADE_AT_ONCE) {
		uint32_t now =
			images - at < MADE_AT_ONCE ? (uint32_t)(images - at) : (uint32_t)MADE_AT_ONCE;
		const inv_source_batch b = {.rows = rows, .N = now, .s = copies};

		for (uint32_t i = 0; i < now; i++)
			rows[i] = (uint32_t)inv_norm_image(s->stored, at + i);
		INV_TRY_OR(end, inv_progress(s->ctx, "norms", at, images));
		INV_TRY_OR(end, inv_source_fill_clean(s, &b, row));
		INV_TRY_OR(end, inv_source_fill_copies(s, &b, row + (size_t)now * s->dim));
		for (uint32_t i = 0; i < now; i++)
			for (uint32_t k = 0; k <= copies; k++)
				inv_row_norms_add_rows(row + ((size_t)k * now + i) * s->dim, 1, s->dim, n);
	}
	st = INVAR_OK;
end:
	inv_free(row);
	return st;
}

invar_status inv_source_norms(const inv_source *s, uint32_t copies, inv_row_norms *n)
{
	return s->unlimited && copies ? add_made_norms(s, copies, n)
	                              : inv_row_norms_add(s->bank, s->stored, copies, n);
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
	for (uint32_t i = 0; i < b->N; i++)
		INV_TRY(inv_bank_row(s->bank, s->stored, INVAR_CLEAN, b->rows[i],
		                     out + (size_t)i * s->dim));
	return INVAR_OK;
}

invar_status inv_source_fill_copies(const inv_source *s, const inv_source_batch *b,
                                    float *out)
{
	if (!b->s)
		return INVAR_OK;
	INV_TRY(s->kind->fill_copies(s, b, out));
	/* Stored copies are read from the unit view; those that are made are not. */
	if (s->unit && s->unlimited)
		inv_unit_rows(out, (size_t)b->s * b->N, s->dim, out);
	return INVAR_OK;
}

void inv_source_cancel(inv_source *s)
{
	if (s->kind->cancel)
		s->kind->cancel(s);
}

/* ---- Its description ------------------------------------------------------- */

invar_status inv_source_describe(const inv_source *s, json_t *out)
{
	json_t *inputs;

	INV_TRY(inv_bank_fingerprint(s->bank, s->stored, &inputs));
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
