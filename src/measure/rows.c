/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - choosing and reading the rows, codes and classes that a measurement needs. */
#include <inttypes.h>

#include "measure/measurement.h"

/* ---- Choosing -------------------------------------------------------------------- */

inv_choice inv_choose_all(const inv_split *split)
{
	return (inv_choice){split, NULL, split->rows, split->rows};
}

inv_choice inv_choose_labelled(const inv_split *split, const inv_labels *labels)
{
	return (inv_choice){split, labels, labels->rows, labels->rows};
}

inv_choice inv_choose_points(const inv_measure_input *in, inv_choice c)
{
	uint64_t wanted = inv_option_count(in->options, "points");

	c.points = wanted && wanted < c.of ? wanted : c.of;
	return c;
}

uint64_t inv_choice_row(const inv_choice *c, uint64_t i)
{
	uint64_t at = i * c->of / c->points;

	return c->labels && c->labels->row ? c->labels->row[at] : at;
}

void inv_measure_classes(const inv_choice *c, const inv_labels *known, uint32_t *out)
{
	for (uint64_t i = 0; i < c->points; i++)
		out[i] = inv_labels_class(known, c->labels->label[i * c->of / c->points]);
}

/* Both lists of rows ascend. */
void inv_measure_labels(const inv_choice *c, const inv_labels *known, int64_t *out)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < c->points; i++) {
		uint64_t row = inv_choice_row(c, i);

		while (at < known->rows && (known->row ? known->row[at] : at) < row)
			at++;
		out[i] = at < known->rows && (known->row ? known->row[at] : at) == row
		             ? known->label[at]
		             : -1;
	}
}

/* ---- Reading --------------------------------------------------------------------- */

/* One view of the rows, `stride` floats from one to the next. */
static invar_status read_view(const inv_measure_input *in, const inv_choice *c,
                              int32_t copy, unsigned view, bool raw, uint64_t first,
                              uint64_t count, size_t stride, float *out)
{
	invar_status st = INVAR_OK;
	uint64_t row[INV_CODES_BLOCK];

	if (raw || !in->adapter) {
		for (uint64_t i = 0; i < count && st == INVAR_OK; i++)
			st = inv_bank_view_row(in->bank, c->split, copy, view,
			                       inv_choice_row(c, first + i), out + i * stride);
		return st;
	}
	for (uint64_t at = 0; at < count && st == INVAR_OK; at += INV_CODES_BLOCK) {
		uint64_t now = count - at < INV_CODES_BLOCK ? count - at : INV_CODES_BLOCK;

		for (uint64_t i = 0; i < now; i++)
			row[i] = inv_choice_row(c, first + at + i);
		st = inv_codes_take(in->codes, c->split, copy, view, row, (size_t)now, stride,
		                    out + at * stride);
	}
	return st;
}

invar_status inv_measure_rows(const inv_measure_input *in, const inv_choice *c,
                              int32_t copy, bool raw, uint64_t first, uint64_t count,
                              float *out)
{
	return read_view(in, c, copy, 0, raw, first, count, raw ? in->d : in->w, out);
}

invar_status inv_measure_views(const inv_measure_input *in, const inv_choice *c,
                               int32_t copy, uint64_t first, uint64_t count, float *out)
{
	invar_status st = INVAR_OK;

	for (unsigned v = 0; v < INV_VIEWS && st == INVAR_OK; v++)
		st = read_view(in, c, copy, v, false, first, count, INV_VIEWS * in->w,
		               out + v * in->w);
	return st;
}

invar_status inv_measure_gallery(const inv_measure_input *in, bool raw, float *out)
{
	size_t width = raw ? in->d : in->w;
	invar_status st = INVAR_OK;

	for (size_t s = 0; s < in->bank->split_count && st == INVAR_OK; s++) {
		inv_choice all = inv_choose_all(&in->bank->splits[s]);

		st = inv_measure_rows(in, &all, INVAR_CLEAN, raw, 0, all.points, out);
		out += all.points * width;
	}
	return st;
}

invar_status inv_gallery_count(const inv_measure_input *in, uint64_t *rows, uint64_t *first)
{
	*rows = *first = 0;
	for (size_t s = 0; s < in->bank->split_count; s++) {
		if (&in->bank->splits[s] == in->split)
			*first = *rows;
		*rows += in->bank->splits[s].rows;
	}
	if (*rows >= UINT32_MAX)
		return inv_fail(INVAR_E_MISMATCH,
		                "the bank has %" PRIu64
		                " clean rows, but a gallery can have at most %" PRIu32,
		                *rows, UINT32_MAX - 1);
	return INVAR_OK;
}
