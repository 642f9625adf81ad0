/* SPDX-License-Identifier: Apache-2.0 */
/* structure_column.c - structure as a measurement of `invar eval`, and on the caller's
 * arrays. */
#include <inttypes.h>
#include <math.h>

#include "measure/measurement.h"
#include "measure/structure.h"

static const invar_metric metrics[] = {
	{.id = "structure.L1",
     .measurement = "structure",
     .row = "L1 | L2",
     .part = "L1",
     .better = 1,
     .digits = 3},
	{.id = "structure.L2",
     .measurement = "structure",
     .row = "L1 | L2",
     .part = "L2",
     .better = -1,
     .digits = 3},
	{.id = "structure.m", .measurement = "structure", .row = "m", .digits = 4},
	{.id = "structure.b", .measurement = "structure", .row = "b", .digits = 4},
	{.id = "structure.R2",
     .measurement = "structure",
     .row = "R²",
     .better = 1,
     .digits = 4},
	{.id = "structure.RMSD",
     .measurement = "structure",
     .row = "RMSD",
     .better = -1,
     .digits = 4},
	{.id = "structure.NRMSD",
     .measurement = "structure",
     .row = "NRMSD",
     .better = -1,
     .digits = 4},
	{.id = "structure.CVRMSD",
     .measurement = "structure",
     .row = "CVRMSD",
     .better = -1,
     .digits = 4},
	{.id = "structure.zero_pairs",
     .measurement = "structure",
     .row = "pairs at distance 0",
     .unit = INVAR_UNIT_COUNT},
	{0},
};

/* Pairs at distance 0 get a row only if there are any; details always have their count. */
static invar_status put_structure(invar_results *r, const char *column,
                                  const inv_structure *s)
{
	const double number[] = {s->l1, s->l2, s->m, s->b, s->r2, s->rmsd, s->nrmsd, s->cvrmsd};
	const size_t numbers = sizeof number / sizeof *number;
	invar_value value = {.low = NAN, .high = NAN, .count = s->pairs};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < numbers && st == INVAR_OK; i++) {
		value.value = number[i];
		st = inv_results_put(r, metrics[i].id, column, &value);
	}
	value = (invar_value){.value = (double)s->zero_pairs, .low = NAN, .high = NAN};
	if (st == INVAR_OK && s->zero_pairs)
		st = inv_results_put(r, metrics[numbers].id, column, &value);
	if (st == INVAR_OK)
		st = inv_results_detail(r, "structure", column,
		                        json_pack("{s:I, s:I}", "pairs", (json_int_t)s->pairs,
		                                  "zero_pairs", (json_int_t)s->zero_pairs));
	return st;
}

static invar_status measure_structure(const inv_measure_input *in)
{
	const inv_choice c = inv_choose_points(in, inv_choose_all(in->split));
	uint64_t points = c.points;
	float *x = inv_calloc(points * in->d, sizeof *x);
	float *e = in->adapter ? inv_calloc(points * in->w, sizeof *e) : x;
	inv_structure s;
	invar_status st =
		x && e ? INVAR_OK
			   : inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " rows", points);

	if (st == INVAR_OK)
		st = inv_measure_rows(in, &c, INVAR_CLEAN, true, 0, points, x);
	if (st == INVAR_OK && in->adapter)
		st = inv_measure_rows(in, &c, INVAR_CLEAN, false, 0, points, e);
	if (st == INVAR_OK)
		st = inv_structure_measure(in->ctx, x, in->d, e, in->w, points, &s);
	if (st == INVAR_OK)
		st = put_structure(in->results, in->column, &s);
	if (st == INVAR_OK && in->adapter) /* F maps each distance to itself */
		st = inv_structure_show(in->results, in->column, x, in->d, e, in->w, points, &s);
	if (in->adapter)
		inv_free(e);
	inv_free(x);
	return st;
}

const inv_measurement inv_measurement_structure = {
	.name = "structure",
	.title = "structure",
	.about = "how close an adapter is to an isometry on clean features: L1 "
			 "and L2, the least and the greatest ratio of a distance after "
			 "E to the one before; m, b and R2 of the line through them; "
			 "RMSD, NRMSD and CVRMSD, the deviation from equality",
	.shares = "points",
	.metrics = metrics,
	.measure = measure_structure};

/* ---- Given arrays ---------------------------------------------------------------- */

static invar_status begin_results(invar_results *r)
{
	invar_status st = inv_results_add_column(r, "E", "E", NULL);

	if (st == INVAR_OK)
		st = inv_results_add_measurement(r, "structure", "structure");
	for (const invar_metric *m = metrics; m->id && st == INVAR_OK; m++)
		st = inv_results_add_metric(r, m);
	return st;
}

invar_status invar_structure(invar_context *ctx, const float *x, uint32_t d, const float *e,
                             uint32_t w, uint64_t n, invar_results **out)
{
	inv_structure s;
	invar_status st;

	*out = NULL;
	if ((st = inv_structure_measure(ctx, x, d, e, w, n, &s)) != INVAR_OK ||
	    (st = inv_results_new(out)) != INVAR_OK)
		return st;
	if ((st = begin_results(*out)) == INVAR_OK)
		st = put_structure(*out, "E", &s);
	if (st != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}
