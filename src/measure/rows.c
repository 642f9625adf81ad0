/* rows.c - reading the rows, codes and labels that a measurement asks for. */
#include <inttypes.h>

#include "measure/measurement.h"

enum { BLOCK = 1024 };

static invar_status read_features(const inv_measure_input *in, const inv_split *s,
                                  int32_t copy, uint64_t points, uint64_t first,
                                  uint64_t count, float *out)
{
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_bank_row(in->bank, s, copy, (first + i) * s->rows / points,
		                  out + i * in->d);
	return st;
}

invar_status inv_measure_rows(const inv_measure_input *in, const inv_split *split,
                              int32_t copy, bool raw, uint64_t points, uint64_t first,
                              uint64_t count, float *out)
{
	invar_status st = INVAR_OK;
	float *block;

	if (raw || !in->adapter)
		return read_features(in, split, copy, points, first, count, out);
	block = inv_alloc(BLOCK * (size_t)in->d * sizeof *block);
	if (!block)
		return inv_fail(INVAR_E_NOMEM, "no memory for a block of rows");
	for (uint64_t at = 0; at < count && st == INVAR_OK; at += BLOCK) {
		uint64_t now = count - at < BLOCK ? count - at : BLOCK;

		st = read_features(in, split, copy, points, first + at, now, block);
		if (st == INVAR_OK)
			st = invar_adapter_apply(in->adapter, block, now, out + at * in->w);
	}
	inv_free(block);
	return st;
}

uint64_t inv_measure_points(const inv_measure_input *in, const inv_split *split)
{
	uint64_t wanted = in->opts->points;

	return wanted && wanted < split->rows ? wanted : split->rows;
}

invar_status inv_measure_labels(const inv_measure_input *in, const inv_split *split,
                                uint64_t points, uint32_t *labels, uint32_t *classes)
{
	int64_t *all = inv_calloc(split->rows, sizeof *all);
	invar_status st = all ? invar_bank_labels(in->bank, split->name, all)
	                      : inv_fail(INVAR_E_NOMEM, "no memory for the labels");

	*classes = 0;
	for (uint64_t i = 0; i < points && st == INVAR_OK; i++) {
		int64_t label = all[i * split->rows / points];

		if (label >= 1 << 20)
			st = inv_fail(INVAR_E_FORMAT,
			              "%s: a label of %s is %" PRId64
			              ", at most 2^20 classes are allowed",
			              in->bank->path, split->name, label);
		labels[i] = (uint32_t)label;
		if (st == INVAR_OK && labels[i] >= *classes)
			*classes = labels[i] + 1;
	}
	inv_free(all);
	return st;
}
