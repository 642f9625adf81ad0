/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves.c - displacement, recall and accuracy of copies over a parameter of the
 * augmentation: an angle, the area of a crop, the strength of noise.
 *
 * The bank stores what was drawn for every copy (bank/copy_params.h). Copies are put into
 * bins of a parameter (bins.h), and each outcome (outcomes.h) is averaged over the copies
 * of a bin; intervals resample the images that have copies in it. Every parameter that
 * varies has its own curves; where a crop lies has none, only its area.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/copy_params.h"
#include "measure/bins.h"
#include "measure/outcomes.h"

enum { NAME = 64, TITLE = 128, ALL_OUTCOMES = (1 << INV_OUTCOMES) - 1 };

typedef struct parameter {
	char name[NAME], title[NAME]; /* "angle", "area of crop" */
	size_t column, times;         /* its column; another one to multiply by, or the same */
	double unit;                  /* what values are divided by */
	inv_axis axis;
	bool is_angle;
} parameter;

typedef struct curves {
	const inv_measure_input *in;
	inv_copy_params *params;
	const inv_outcomes *outcomes; /* of the column */
	float *values;                /* [copies, n]: of one parameter */
	float *row;                   /* [columns] */
	double *sum, *count; /* [n]: an outcome over the copies in a bin, their number */
	inv_bins bins;
	double *x, *y, *low, *high; /* [bins + 1] */
	uint64_t *images;           /* [bins + 1] */
	double lowest[INV_OUTCOMES], highest[INV_OUTCOMES];
} curves;

/* ---- Parameters ---------------------------------------------------------------------- */

/* "1.angle" without the number of its operation. */
static const char *bare(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return digits && name[digits] == '.' ? name + digits + 1 : name;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* False if the column says where or whether, not how much. */
static bool describe_parameter(const curves *c, size_t column, parameter *p)
{
	static const char *const degrees[] = {"angle", "shear_x", "shear_y", NULL};
	static const char *const left_out[] = {"on", "x0", "y0", "h", NULL};
	const char *name = inv_copy_params_name(c->params, column);
	const char *operation = inv_copy_params_operation(c->params, column);
	int prefix = (int)(bare(name) - name);

	if (is_one_of(bare(name), left_out))
		return false;
	*p = (parameter){.column = column, .times = column, .unit = 1};
	snprintf(p->name, NAME, "%s", name);
	p->is_angle = strcmp(bare(name), "angle") == 0;
	p->axis.symbol = is_one_of(bare(name), degrees) ? "°" : NULL;

	/* Width and height of a crop become its area, as a fraction of the image's if known. */
	if (strcmp(bare(name), "w") == 0) {
		const json_t *size =
			json_object_get(json_object_get(c->in->bank->json, "preprocess"), "size");
		double area = json_number_value(json_array_get(size, 0)) *
		              json_number_value(json_array_get(size, 1)); /* pixels; 0: unknown */
		char height[NAME];
		size_t times = 0, columns = inv_copy_params_columns(c->params);

		snprintf(height, sizeof height, "%.*sh", prefix, name);
		while (times < columns &&
		       strcmp(inv_copy_params_name(c->params, times), height) != 0)
			times++;
		if (times < columns) {
			p->times = times;
			p->unit = area > 0 ? area : 1;
			p->axis.unit = area > 0 ? INVAR_UNIT_SHARE : INVAR_UNIT_NUMBER;
			snprintf(p->name, NAME, "%.*sarea", prefix, name);
		}
	}

	if (operation && !(p->is_angle && !prefix))
		snprintf(p->title, NAME, "%.30s of %.20s", bare(p->name), operation);
	else
		snprintf(p->title, NAME, "%s", p->name);
	p->axis.title = p->title;
	return true;
}

static invar_status read_parameter(curves *c, const parameter *p)
{
	const inv_outcomes *o = c->outcomes;

	for (uint32_t copy = 0; copy < o->copies; copy++)
		for (uint64_t i = 0; i < o->n; i++) {
			double value;

			INV_TRY(inv_copy_params_row(c->params, copy, inv_selected_row(&o->images, i),
			                            c->row));
			value = c->row[p->column];
			if (p->times != p->column)
				value *= c->row[p->times];
			c->values[copy * o->n + i] = (float)(value / p->unit);
		}
	return INVAR_OK;
}

/* ---- One curve ----------------------------------------------------------------------- */

/* Over the images with copies in the bin. */
static invar_status measure_bin(curves *c, inv_outcome which, size_t b)
{
	const inv_outcomes *o = c->outcomes;
	uint64_t images = 0;
	char why[INV_INTERVAL_WHY];
	inv_interval interval;
	invar_value v = {.value = NAN, .low = NAN, .high = NAN};

	for (uint64_t i = 0; i < o->n; i++) {
		double sum = 0, count = 0;

		for (uint32_t copy = 0; copy < o->copies; copy++) {
			uint64_t at = copy * o->n + i;

			if (c->bins.bin[at] == b && !isnan(o->value[which][at])) {
				sum += o->value[which][at];
				count++;
			}
		}
		if (count > 0) {
			c->sum[images] = sum;
			c->count[images++] = count;
		}
	}
	if (images) {
		INV_TRY(inv_bootstrap_ratio(c->in->ctx, c->sum, c->count, images, c->in->seed,
		                            &interval));
		v = inv_interval_value(&interval, why);
		c->lowest[which] = fmin(c->lowest[which], v.value);
		c->highest[which] = fmax(c->highest[which], v.value);
	}
	c->x[b] = c->bins.x[b];
	c->y[b] = v.value;
	c->low[b] = v.low;
	c->high[b] = v.high;
	c->images[b] = images;
	return INVAR_OK;
}

static invar_status put_outcome_curve(curves *c, const parameter *p, inv_outcome which)
{
	static const inv_axis y[] = {
		{.title = "displacement", .unit = INVAR_UNIT_NUMBER},
		{.title = "same image is the nearest", .unit = INVAR_UNIT_SHARE},
		{.title = "accuracy", .unit = INVAR_UNIT_SHARE},
		{.title = "accuracy", .unit = INVAR_UNIT_SHARE}};
	char id[NAME + 32], title[TITLE], text[INV_OUTCOME_TITLE];
	const inv_series series = {
		.id = id, .measurement = "curves", .title = title, .x = &p->axis, .y = &y[which]};
	size_t count = c->bins.count;
	inv_curve curve = {
		.x = c->x, .y = c->y, .low = c->low, .high = c->high, .counts = c->images};

	snprintf(id, sizeof id, "curve.%s.%s", p->name, inv_outcome_id(which));
	snprintf(title, sizeof title, "%s, over %s", inv_outcome_title(c->in, which, text),
	         p->title);
	for (size_t b = 0; b < count; b++)
		INV_TRY(measure_bin(c, which, b));
	if (c->bins.circle) { /* the bin about ±180 stands at both ends */
		c->x[count] = 180;
		c->y[count] = c->y[0];
		c->low[count] = c->low[0];
		c->high[count] = c->high[0];
		c->images[count] = c->images[0];
		count++;
	}
	curve.count = count;
	INV_TRY(inv_results_add_series(c->in->results, &series));
	return inv_results_put_curve(c->in->results, id, c->in->column, &curve);
}

/* Of a parameter that varies; *drawn counts these. */
static invar_status put_curves(curves *c, const parameter *p, size_t *drawn)
{
	size_t bins = (size_t)inv_option_count(c->in->options, "bins");
	invar_status st;

	INV_TRY(read_parameter(c, p));
	INV_TRY_OR(end, inv_bins_make(c->values, c->outcomes->n * c->outcomes->copies, bins,
	                              p->is_angle, &c->bins));
	if (c->bins.count < 2)
		goto end;
	++*drawn;
	for (int o = 0; o < INV_OUTCOMES; o++)
		if (c->outcomes->value[o])
			INV_TRY_OR(end, put_outcome_curve(c, p, (inv_outcome)o));
end:
	inv_bins_clear(&c->bins);
	return st;
}

static invar_status measure_curves(const inv_measure_input *in)
{
	size_t bins = (size_t)inv_option_count(in->options, "bins") + 1, drawn = 0;
	uint64_t n = in->split->rows;
	inv_pool *s = in->scratch;
	curves c = {.in = in};
	char id[64], sentence[600], text[INV_OUTCOME_TITLE];
	invar_status st;

	INV_TRY(inv_copy_params_open(in->bank, in->split, &c.params));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.values, n * in->split->copies));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.row, inv_copy_params_columns(c.params)));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.sum, n));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.count, n));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.x, bins));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.y, bins));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.low, bins));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.high, bins));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.images, bins));
	for (int o = 0; o < INV_OUTCOMES; o++) {
		c.lowest[o] = INFINITY;
		c.highest[o] = -INFINITY;
	}
	INV_TRY_OR(end, inv_outcomes_take(in, ALL_OUTCOMES, "curves", &c.outcomes));

	for (size_t i = 0; i < inv_copy_params_columns(c.params); i++) {
		parameter p;

		if (describe_parameter(&c, i, &p))
			INV_TRY_OR(end, put_curves(&c, &p, &drawn));
	}
	if (!drawn)
		INV_TRY_OR(
			end,
			inv_fail(INVAR_E_MISMATCH,
		             "the parameters of all copies of %s are equal or NaN, so there is "
		             "nothing to draw a curve over",
		             in->split->name));

	/* The extremes of each outcome; and, once, why there is no curve of an outcome. */
	for (int i = 0; i < INV_OUTCOMES; i++) {
		inv_outcome o = (inv_outcome)i;

		for (int high = 0; high < 2 && c.outcomes->value[o]; high++) {
			double value = high ? c.highest[o] : c.lowest[o];

			snprintf(id, sizeof id, "curves.%s.%s", inv_outcome_id(o),
			         high ? "highest" : "lowest");
			if (isfinite(value))
				INV_TRY_OR(
					end, inv_put_number(in->results, id, in->column, value, c.outcomes->n));
		}
	}
	for (int i = 0; i < INV_OUTCOMES && !in->adapter; i++) {
		inv_outcome o = (inv_outcome)i;

		if (!*c.outcomes->why[o])
			continue;
		snprintf(sentence, sizeof sentence, "curves have no %s: %s",
		         o == INV_KNN ? "kNN" : inv_outcome_title(in, o, text), c.outcomes->why[o]);
		INV_TRY_OR(end, inv_results_note(in->results, sentence));
	}
end:
	inv_copy_params_close(c.params);
	return st;
}

static const invar_option options[] = {
	{"bins", INVAR_OPTION_COUNT, "12", .min = 2, .max = 360, .flags = INVAR_OPTION_EXPERT,
     .meta = "N", .group = "Measurements", .help = "curves: number of bins of a parameter"},
	{0},
};

#define EXTREMES(ID, ROW, UNIT, BETTER, DIGITS)                                        \
	INV_METRIC("curves", "curves." ID ".lowest", ROW, "lowest", UNIT, BETTER, DIGITS), \
		INV_METRIC("curves", "curves." ID ".highest", ROW, "highest", UNIT, BETTER,    \
	               DIGITS)

static const invar_metric metrics[] = {
	EXTREMES("displacement", "displacement, lowest | highest bin", INVAR_UNIT_NUMBER, -1,
             2),
	EXTREMES("same-image", "same image @1, lowest | highest bin", INVAR_UNIT_SHARE, 1, 1),
	EXTREMES("knn", "kNN, old index, lowest | highest bin", INVAR_UNIT_SHARE, 1, 1),
	EXTREMES("kept", "LC-kept, lowest | highest bin", INVAR_UNIT_SHARE, 1, 1),
	{0},
};

const inv_measurement inv_measurement_curves = {
	.name = "curves",
	.title = "curves",
	.about = "displacement, recall and accuracy of copies over the parameters of the "
			 "augmentation, such as an angle",
	.needs = INV_NEEDS_COPIES | INV_USES_LABELS | INV_READS_ALL_SPLITS | INV_NEEDS_SPREAD,
	.on_request = true,
	.options = options,
	.shares = "k|metric|probe-epochs|probe-input|points|train-split|seed",
	.metrics = metrics,
	.measure = measure_curves};
