/* SPDX-License-Identifier: Apache-2.0 */
/* row_norms.c - see row_norms.h. */
#include "bank/row_norms.h"

#include <math.h>

#include "base/memory.h"
#include "math/unit_rows.h"

static const double tolerance = 1e-3;

/* Welford's update: norms far from 0 keep their digits. */
void inv_row_norms_add_rows(const float *x, uint64_t rows, size_t d, inv_row_norms *n)
{
	for (uint64_t i = 0; i < rows; i++) {
		double norm = inv_row_norm(x + i * d, d), before = norm - n->mean;

		n->rows++;
		n->units += fabs(norm - 1) <= tolerance;
		n->zeros += norm == 0;
		n->mean += before / (double)n->rows;
		n->squares += before * (norm - n->mean);
	}
}

double inv_row_norms_deviation(const inv_row_norms *n)
{
	return n->rows ? sqrt(n->squares / (double)n->rows) : 0;
}

bool inv_row_norms_are_one(const inv_row_norms *n)
{
	return n->units && n->units + n->zeros == n->rows;
}

uint64_t inv_norm_images(const inv_split *s)
{
	return s->rows < INV_NORM_IMAGES ? s->rows : INV_NORM_IMAGES;
}

uint64_t inv_norm_image(const inv_split *s, uint64_t i)
{
	return i * s->rows / inv_norm_images(s);
}

/* `stop_early`: stops at the first row that is not of norm 1 or 0. */
static invar_status visit_rows(const invar_bank *b, const inv_split *s, uint32_t copies,
                               bool stop_early, inv_row_norms *n)
{
	uint64_t images = inv_norm_images(s);
	float *row;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_array(&row, b->dim));
	for (uint64_t i = 0; i < images; i++)
		for (int32_t k = INVAR_CLEAN; k < (int32_t)copies; k++) {
			if (stop_early && n->units + n->zeros < n->rows)
				goto done;
			INV_TRY_OR(done, inv_bank_row(b, s, k, inv_norm_image(s, i), row));
			inv_row_norms_add_rows(row, 1, b->dim, n);
		}
done:
	inv_free(row);
	return st;
}

invar_status inv_row_norms_add(const invar_bank *b, const inv_split *s, uint32_t copies,
                               inv_row_norms *n)
{
	return visit_rows(b, s, copies, false, n);
}

invar_status inv_bank_has_unit_rows(const invar_bank *b, const inv_split *s, bool *out)
{
	inv_row_norms n = {0};

	*out = false;
	INV_TRY(visit_rows(b, s, s->copies, true, &n));
	*out = inv_row_norms_are_one(&n);
	return INVAR_OK;
}

invar_bank inv_unit_view(const invar_bank *b)
{
	invar_bank view = *b;

	view.unit = true;
	return view;
}
