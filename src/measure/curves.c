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
#include "base/memory.h"
#include "measure/bins.h"
#include "measure/bootstrap.h"
#include "measure/outcomes.h"
#include "run/results.h"

enum { NAME = 64, TITLE = 128, ALL_OUTCOMES = (1 << INV_OUTCOMES) - 1 };

typedef struct parameter {
	char name[NAME], title[NAME]; /* "angle", "area of crop" */
	size_t column, times;         /* its column; another one to multiply by, or the same */
	double unit;                  /* what values are divided by */
	inv_axis axis;
	bool is_angle;
} parameter;

typedef struct job {
	const inv_measure_input *in;
	inv_copy_params *params;
	const inv_outcomes *outcomes; /* of the column */
	float *values;                /* [copies, n]: of one parameter */
	float *row;                   /* [columns] */
	double *part, *whole; /* [n]: sum of an outcome over copies in a bin, their number */
	inv_bins bins;
	double *x, *y, *low, *high; /* [bins + 1] */
	uint64_t *counts;           /* [bins + 1] */
	size_t curves;              /* parameters that vary */
	double lowest[INV_OUTCOMES], highest[INV_OUTCOMES];
} job;

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for curves");
}

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

static size_t find_column(const inv_copy_params *p, const char *name)
{
	size_t i = 0;

	while (i < inv_copy_params_columns(p) && strcmp(inv_copy_params_name(p, i), name) != 0)
		i++;
	return i;
}

/* Pixels of an image, 0 if bank.json does not have its size. */
static double image_area(const invar_bank *b)
{
	const json_t *size = json_object_get(json_object_get(b->json, "preprocess"), "size");

	return json_number_value(json_array_get(size, 0)) *
	       json_number_value(json_array_get(size, 1));
}

/* Width and height of a crop become its area, as a share of the image if that is known. */
static void take_area(const job *j, parameter *p)
{
	const char *name = inv_copy_params_name(j->params, p->column);
	int prefix = (int)(bare(name) - name);
	double area = image_area(j->in->bank);
	char height[NAME];

	snprintf(height, sizeof height, "%.*sh", prefix, name);
	p->times = find_column(j->params, height);
	if (p->times == inv_copy_params_columns(j->params)) {
		p->times = p->column; /* a width alone */
		return;
	}
	snprintf(p->name, NAME, "%.*sarea", prefix, name);
	p->unit = area > 0 ? area : 1;
	p->axis.unit = area > 0 ? INVAR_UNIT_SHARE : INVAR_UNIT_NUMBER;
}

static void name_parameter(const job *j, parameter *p)
{
	const char *operation = inv_copy_params_operation(j->params, p->column);

	if (operation && !(p->is_angle && bare(p->name) == p->name))
		snprintf(p->title, NAME, "%.30s of %.20s", bare(p->name), operation);
	else
		snprintf(p->title, NAME, "%s", p->name);
	p->axis.title = p->title;
}

/* False if the column says where or whether, not how much. */
static bool describe_parameter(const job *j, size_t column, parameter *p)
{
	static const char *const degrees[] = {"angle", "shear_x", "shear_y", NULL};
	static const char *const left_out[] = {"on", "x0", "y0", "h", NULL};
	const char *name = inv_copy_params_name(j->params, column);

	if (is_one_of(bare(name), left_out))
		return false;
	*p = (parameter){.column = column, .times = column, .unit = 1};
	snprintf(p->name, NAME, "%s", name);
	p->is_angle = strcmp(bare(name), "angle") == 0;
	p->axis.symbol = is_one_of(bare(name), degrees) ? "°" : NULL;
	if (strcmp(bare(name), "w") == 0)
		take_area(j, p);
	name_parameter(j, p);
	return true;
}

static invar_status read_values(job *j, const parameter *p)
{
	const inv_outcomes *o = j->outcomes;

	for (uint32_t copy = 0; copy < o->copies; copy++)
		for (uint64_t i = 0; i < o->n; i++) {
			invar_status st =
				inv_copy_params_row(j->params, copy, inv_choice_row(&o->images, i), j->row);
			double value = j->row[p->column];

			if (st != INVAR_OK)
				return st;
			if (p->times != p->column)
				value *= j->row[p->times];
			j->values[copy * o->n + i] = (float)(value / p->unit);
		}
	return INVAR_OK;
}

/* ---- One curve ----------------------------------------------------------------------- */

/* Images with copies in a bin, each with its sum and its number of copies there. */
static uint64_t gather(job *j, inv_outcome which, uint32_t bin)
{
	const inv_outcomes *o = j->outcomes;
	uint64_t images = 0;

	for (uint64_t i = 0; i < o->n; i++) {
		double part = 0, whole = 0;

		for (uint32_t copy = 0; copy < o->copies; copy++) {
			uint64_t at = copy * o->n + i;

			if (j->bins.bin[at] == bin && !isnan(o->value[which][at])) {
				part += o->value[which][at];
				whole++;
			}
		}
		if (whole > 0) {
			j->part[images] = part;
			j->whole[images++] = whole;
		}
	}
	return images;
}

static invar_status measure_bin(job *j, inv_outcome which, size_t b)
{
	uint64_t images = gather(j, which, (uint32_t)b);
	char why[INV_INTERVAL_WHY];
	inv_interval i;
	invar_value v = {.value = NAN, .low = NAN, .high = NAN};
	invar_status st = INVAR_OK;

	if (images) {
		st = inv_bootstrap_ratio(j->in->ctx, j->part, j->whole, images, j->in->seed, &i);
		if (st == INVAR_OK)
			v = inv_interval_value(&i, why);
	}
	j->x[b] = j->bins.x[b];
	j->y[b] = v.value;
	j->low[b] = v.low;
	j->high[b] = v.high;
	j->counts[b] = images;
	if (images) {
		j->lowest[which] = fmin(j->lowest[which], v.value);
		j->highest[which] = fmax(j->highest[which], v.value);
	}
	return st;
}

/* The bin about ±180 stands at both ends. */
static size_t close_circle(job *j)
{
	size_t count = j->bins.count;

	if (!j->bins.circle)
		return count;
	j->x[count] = 180;
	j->y[count] = j->y[0];
	j->low[count] = j->low[0];
	j->high[count] = j->high[0];
	j->counts[count] = j->counts[0];
	return count + 1;
}

static invar_status put_curve(job *j, const parameter *p, inv_outcome which)
{
	static const inv_axis y[] = {
		{.title = "displacement", .unit = INVAR_UNIT_NUMBER},
		{.title = "own image is the nearest", .unit = INVAR_UNIT_SHARE},
		{.title = "accuracy", .unit = INVAR_UNIT_SHARE},
		{.title = "accuracy", .unit = INVAR_UNIT_SHARE}};
	char id[NAME + 32], title[TITLE], text[INV_OUTCOME_TITLE];
	const inv_series series = {
		.id = id, .measurement = "curves", .title = title, .x = &p->axis, .y = &y[which]};
	inv_curve curve = {
		.x = j->x, .y = j->y, .low = j->low, .high = j->high, .counts = j->counts};
	invar_status st = INVAR_OK;

	snprintf(id, sizeof id, "curve.%s.%s", p->name, inv_outcome_id(which));
	snprintf(title, sizeof title, "%s, over %s", inv_outcome_title(j->in, which, text),
	         p->title);
	for (size_t b = 0; b < j->bins.count && st == INVAR_OK; b++)
		st = measure_bin(j, which, b);
	curve.count = close_circle(j);
	if (st == INVAR_OK)
		st = inv_results_add_series(j->in->results, &series);
	return st == INVAR_OK ? inv_results_put_curve(j->in->results, id, j->in->column, &curve)
	                      : st;
}

static invar_status put_curves(job *j, const parameter *p)
{
	uint64_t cells = j->outcomes->n * j->outcomes->copies;
	invar_status st = read_values(j, p);

	if (st == INVAR_OK)
		st = inv_bins_make(j->values, cells,
		                   (size_t)inv_option_count(j->in->options, "bins"), p->is_angle,
		                   &j->bins);
	if (st == INVAR_OK && j->bins.count > 1) {
		j->curves++;
		for (int o = 0; o < INV_OUTCOMES && st == INVAR_OK; o++)
			if (j->outcomes->value[o])
				st = put_curve(j, p, (inv_outcome)o);
	}
	inv_bins_clear(&j->bins);
	return st;
}

/* ---- The column ---------------------------------------------------------------------- */

static invar_status put_extremes(const job *j)
{
	invar_status st = INVAR_OK;
	char id[64];

	for (int o = 0; o < INV_OUTCOMES && st == INVAR_OK; o++)
		for (int high = 0; high < 2 && st == INVAR_OK; high++) {
			const invar_value v = {.value = high ? j->highest[o] : j->lowest[o],
			                       .low = NAN,
			                       .high = NAN,
			                       .count = j->outcomes->n};

			snprintf(id, sizeof id, "curves.%s.%s", inv_outcome_id((inv_outcome)o),
			         high ? "highest" : "lowest");
			if (j->outcomes->value[o] && isfinite(v.value))
				st = inv_results_put(j->in->results, id, j->in->column, &v);
		}
	return st;
}

/* Curves that labels would allow. */
static invar_status note_left_out(const job *j)
{
	char sentence[600], text[INV_OUTCOME_TITLE];
	invar_status st = INVAR_OK;

	for (int o = 0; o < INV_OUTCOMES && st == INVAR_OK; o++)
		if (*j->outcomes->why[o] && !j->in->adapter) {
			snprintf(sentence, sizeof sentence, "curves have no %s: %s",
			         o == INV_KNN ? "kNN" : inv_outcome_title(j->in, (inv_outcome)o, text),
			         j->outcomes->why[o]);
			st = inv_results_note(j->in->results, sentence);
		}
	return st;
}

static invar_status allocate_curves(job *j)
{
	size_t bins = (size_t)inv_option_count(j->in->options, "bins") + 1;
	uint64_t n = j->in->split->rows;

	j->values = inv_calloc(n * j->in->split->copies, sizeof *j->values);
	j->row = inv_calloc(inv_copy_params_columns(j->params), sizeof *j->row);
	j->part = inv_calloc(2 * n, sizeof *j->part);
	j->x = inv_calloc(4 * bins, sizeof *j->x);
	j->counts = inv_calloc(bins, sizeof *j->counts);
	if (!j->values || !j->row || !j->part || !j->x || !j->counts)
		return no_memory();
	j->whole = j->part + n;
	j->y = j->x + bins;
	j->low = j->y + bins;
	j->high = j->low + bins;
	for (int o = 0; o < INV_OUTCOMES; o++) {
		j->lowest[o] = INFINITY;
		j->highest[o] = -INFINITY;
	}
	return INVAR_OK;
}

static invar_status measure_parameters(job *j)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < inv_copy_params_columns(j->params) && st == INVAR_OK; i++) {
		parameter p;

		if (describe_parameter(j, i, &p))
			st = put_curves(j, &p);
	}
	if (st == INVAR_OK && !j->curves)
		st = inv_fail(INVAR_E_MISMATCH,
		              "the parameters of all copies of %s are equal or NaN, so there is "
		              "nothing to draw a curve over",
		              j->in->split->name);
	return st;
}

static void release(job *j)
{
	inv_copy_params_close(j->params);
	inv_free(j->values);
	inv_free(j->row);
	inv_free(j->part);
	inv_free(j->x);
	inv_free(j->counts);
}

static invar_status measure_curves(const inv_measure_input *in)
{
	job j = {.in = in};
	invar_status st = inv_copy_params_open(in->bank, in->split, &j.params);

	if (st == INVAR_OK)
		st = allocate_curves(&j);
	if (st == INVAR_OK)
		st = inv_outcomes_take(in, ALL_OUTCOMES, "curves", &j.outcomes);
	if (st == INVAR_OK)
		st = measure_parameters(&j);
	if (st == INVAR_OK)
		st = put_extremes(&j);
	if (st == INVAR_OK)
		st = note_left_out(&j);
	release(&j);
	return st;
}

/* ---- What it declares ---------------------------------------------------------------- */

static const invar_option options[] = {
	{.name = "bins",
     .type = INVAR_OPTION_COUNT,
     .initial = "12",
     .min = 2,
     .max = 360,
     .meta = "N",
     .group = "Measurements",
     .help = "curves: number of bins of a parameter"},
	{0},
};

#define EXTREMES(ID, ROW, UNIT, BETTER, DIGITS)                             \
	{.id = "curves." ID ".lowest",                                          \
	 .measurement = "curves",                                               \
	 .row = ROW,                                                            \
	 .part = "lowest",                                                      \
	 .unit = UNIT,                                                          \
	 .better = BETTER,                                                      \
	 .digits = DIGITS},                                                     \
	{                                                                       \
		.id = "curves." ID ".highest", .measurement = "curves", .row = ROW, \
		.part = "highest", .unit = UNIT, .better = BETTER, .digits = DIGITS \
	}

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
	.shares = "k|probe-epochs|probe-input|points|train-split|seed",
	.metrics = metrics,
	.measure = measure_curves};
