/* SPDX-License-Identifier: Apache-2.0 */
/* structure_column.c - structure as a measurement of `invar eval`, and on the caller's
 * arrays. */
#include <math.h>
#include <stdio.h>

#include "measure/measurement.h"
#include "measure/structure.h"

static const invar_metric metrics[] = {
	INV_NUMBER_METRIC("structure", "structure.L1", "L1 | L2", "L1", 1, 3),
	INV_NUMBER_METRIC("structure", "structure.L2", "L1 | L2", "L2", -1, 3),
	INV_NUMBER_METRIC("structure", "structure.m", "m", NULL, 0, 4),
	INV_NUMBER_METRIC("structure", "structure.b", "b", NULL, 0, 4),
	INV_NUMBER_METRIC("structure", "structure.R2", "R²", NULL, 1, 4),
	INV_NUMBER_METRIC("structure", "structure.RMSD", "RMSD", NULL, -1, 4),
	INV_NUMBER_METRIC("structure", "structure.NRMSD", "NRMSD", NULL, -1, 4),
	INV_NUMBER_METRIC("structure", "structure.CVRMSD", "CVRMSD", NULL, -1, 4),
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

	for (size_t i = 0; i < numbers; i++)
		INV_TRY(inv_put_number(r, metrics[i].id, column, number[i], s->pairs));
	if (s->zero_pairs)
		INV_TRY(inv_put_number(r, metrics[numbers].id, column, (double)s->zero_pairs, 0));
	return inv_results_detail(r, "structure", column,
	                          json_pack("{s:I, s:I}", "pairs", (json_int_t)s->pairs,
	                                    "zero_pairs", (json_int_t)s->zero_pairs));
}

static const inv_scatter pairs_scatter = {
	.id = "structure.distances",
	.measurement = "structure",
	.title = "Distances between clean features, before and after the adapter",
	.x = &(const inv_axis){.title = "distance before"},
	.y = &(const inv_axis){.title = "distance after"},
};

static double row_distance(const float *a, const float *b, uint32_t d)
{
	double sum = 0;

	for (uint32_t k = 0; k < d; k++) {
		double difference = (double)a[k] - b[k];

		sum += difference * difference;
	}
	return sqrt(sum);
}

invar_status inv_structure_show(invar_results *r, const char *column, const float *x,
                                uint32_t d, const float *e, uint32_t w, uint64_t n,
                                const inv_structure *s)
{
	uint64_t all = n * (n - 1) / 2, shown = inv_min(all, INV_STRUCTURE_SHOWN);
	inv_line lines[2];
	inv_points points = {.count = shown, .total = all, .lines = lines};
	double *before, *after;
	char fit[80];
	invar_status st;

	INV_TRY(inv_new_zeros(&before, 2 * shown + 1));
	points.x = before;
	points.y = after = before + shown;
	for (uint64_t k = 0; k < shown; k++) {
		/* Pairs in the order (0, 1), (0, 2), … (1, 2) … */
		uint64_t i = 0, left = k * all / shown, j;

		for (; left >= n - 1 - i; i++)
			left -= n - 1 - i;
		j = i + 1 + left;
		before[k] = row_distance(x + i * d, x + j * d, d);
		after[k] = row_distance(e + i * w, e + j * w, w);
	}
	snprintf(fit, sizeof fit, "fit: %.2f x %c %.2g, R² %.3f", s->m, s->b < 0 ? '-' : '+',
	         fabs(s->b), s->r2);
	if (isfinite(s->m) && isfinite(s->b))
		lines[points.line_count++] = (inv_line){fit, s->m, s->b};
	lines[points.line_count++] = (inv_line){"y = x", 1, 0};
	INV_TRY_OR(end, inv_results_add_scatter(r, &pairs_scatter));
	st = inv_results_put_points(r, pairs_scatter.id, column, &points);
end:
	inv_free(before);
	return st;
}

static invar_status measure_structure(const inv_measure_input *in)
{
	const inv_selection rows = inv_select_points(in, inv_select_all(in->split));
	uint64_t n = rows.points;
	inv_structure s;
	float *x, *e;

	INV_TRY(inv_pool_zeros(in->scratch, &x, n * in->d));
	INV_TRY(inv_measure_rows(in, &rows, INVAR_CLEAN, true, 0, n, x));
	e = x;
	if (in->adapter) {
		INV_TRY(inv_pool_zeros(in->scratch, &e, n * in->w));
		INV_TRY(inv_measure_rows(in, &rows, INVAR_CLEAN, false, 0, n, e));
	}
	INV_TRY(inv_structure_measure(in->ctx, x, in->d, e, in->w, n, &s));
	INV_TRY(put_structure(in->results, in->column, &s));
	if (!in->adapter) /* F maps each distance to itself */
		return INVAR_OK;
	return inv_structure_show(in->results, in->column, x, in->d, e, in->w, n, &s);
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

invar_status invar_structure(invar_context *ctx, const float *x, uint32_t d, const float *e,
                             uint32_t w, uint64_t n, invar_results **out)
{
	inv_structure s;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_structure_measure(ctx, x, d, e, w, n, &s));
	INV_TRY(inv_results_new(out));
	INV_TRY_OR(end, inv_results_add_column(*out, "E", "E", NULL));
	INV_TRY_OR(end, inv_results_declare(*out, "structure", "structure", metrics));
	st = put_structure(*out, "E", &s);
end:
	return inv_results_give(st, out);
}
