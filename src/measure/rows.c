/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - choosing and reading the rows, codes and classes that a measurement needs. */
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

/* ---- Reading --------------------------------------------------------------------- */

static invar_status read_features(const inv_measure_input *in, const inv_choice *c,
                                  int32_t copy, uint64_t first, uint64_t count, float *out)
{
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_bank_row(in->bank, c->split, copy, inv_choice_row(c, first + i),
		                  out + i * in->d);
	return st;
}

invar_status inv_measure_rows(const inv_measure_input *in, const inv_choice *c,
                              int32_t copy, bool raw, uint64_t first, uint64_t count,
                              float *out)
{
	invar_status st = INVAR_OK;
	uint64_t row[INV_CODES_BLOCK];

	if (raw || !in->adapter)
		return read_features(in, c, copy, first, count, out);
	for (uint64_t at = 0; at < count && st == INVAR_OK; at += INV_CODES_BLOCK) {
		uint64_t now = count - at < INV_CODES_BLOCK ? count - at : INV_CODES_BLOCK;

		for (uint64_t i = 0; i < now; i++)
			row[i] = inv_choice_row(c, first + at + i);
		st = inv_codes_take(in->codes, c->split, copy, row, (size_t)now, out + at * in->w);
	}
	return st;
}
