/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - selecting and reading the rows, codes and classes that a measurement needs. */
#include <inttypes.h>

#include "measure/measurement.h"

inv_selection inv_select_all(const inv_split *split)
{
	return (inv_selection){split, NULL, split->rows, split->rows};
}

inv_selection inv_select_labelled(const inv_split *split, const inv_labels *labels)
{
	return (inv_selection){split, labels, labels->rows, labels->rows};
}

inv_selection inv_select_points(const inv_measure_input *in, inv_selection s)
{
	uint64_t wanted = inv_option_count(in->options, "points");

	s.points = wanted ? inv_min(wanted, s.of) : s.of;
	return s;
}

uint64_t inv_selected_row(const inv_selection *s, uint64_t i)
{
	uint64_t at = i * s->of / s->points;

	return s->labels && s->labels->row ? s->labels->row[at] : at;
}

void inv_measure_classes(const inv_selection *s, const inv_labels *known, uint32_t *out)
{
	for (uint64_t i = 0; i < s->points; i++)
		out[i] = inv_labels_class(known, s->labels->label[i * s->of / s->points]);
}

/* Both lists of rows ascend. */
void inv_measure_labels(const inv_selection *s, const inv_labels *known, int64_t *out)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < s->points; i++) {
		uint64_t row = inv_selected_row(s, i);

		while (at < known->rows && (known->row ? known->row[at] : at) < row)
			at++;
		out[i] = at < known->rows && (known->row ? known->row[at] : at) == row
		             ? known->label[at]
		             : -1;
	}
}

invar_status inv_measure_same_width(const inv_measure_input *in, const char *what)
{
	if (in->w == in->d)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s, but codes are %" PRIu32 " wide and features %" PRIu32, what, in->w,
	                in->d);
}

/* One view of the rows, `stride` floats from one to the next. */
static invar_status read_view(const inv_measure_input *in, const inv_selection *s,
                              int32_t copy, unsigned view, bool raw, uint64_t first,
                              uint64_t count, size_t stride, float *out)
{
	uint64_t row[INV_CODES_BLOCK];

	if (raw || !in->adapter) {
		for (uint64_t i = 0; i < count; i++)
			INV_TRY(inv_bank_view_row(in->bank, s->split, copy, view,
			                          inv_selected_row(s, first + i), out + i * stride));
		return INVAR_OK;
	}
	for (uint64_t at = 0; at < count; at += INV_CODES_BLOCK) {
		uint64_t now = inv_min(count - at, INV_CODES_BLOCK);

		for (uint64_t i = 0; i < now; i++)
			row[i] = inv_selected_row(s, first + at + i);
		INV_TRY(inv_codes_take(in->codes, s->split, copy, view, row, (size_t)now, stride,
		                       out + at * stride));
	}
	return INVAR_OK;
}

invar_status inv_measure_rows(const inv_measure_input *in, const inv_selection *s,
                              int32_t copy, bool raw, uint64_t first, uint64_t count,
                              float *out)
{
	return read_view(in, s, copy, 0, raw, first, count, raw ? in->d : in->w, out);
}

invar_status inv_measure_views(const inv_measure_input *in, const inv_selection *s,
                               int32_t copy, uint64_t first, uint64_t count, float *out)
{
	for (unsigned v = 0; v < INV_VIEWS; v++)
		INV_TRY(read_view(in, s, copy, v, false, first, count, INV_VIEWS * in->w,
		                  out + v * in->w));
	return INVAR_OK;
}

invar_status inv_measure_gallery(const inv_measure_input *in, bool raw, float *out)
{
	for (size_t i = 0; i < in->bank->split_count; i++) {
		inv_selection all = inv_select_all(&in->bank->splits[i]);

		INV_TRY(inv_measure_rows(in, &all, INVAR_CLEAN, raw, 0, all.points, out));
		out += all.points * (raw ? in->d : in->w);
	}
	return INVAR_OK;
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
