/* SPDX-License-Identifier: Apache-2.0 */
/* clean_profile.c - see clean_profile.h. */
#include "measure/clean_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/rng.h"
#include "base/threads.h"

enum { NORMS = INV_PROFILE_DIRECTIONS, ROWS = 64, QUANTILES = INV_PROFILE_QUANTILES };

/* ---- Rows along the directions ---------------------------------------------------- */

typedef struct along {
	const float *x;
	uint64_t rows, used;
	size_t d;
	float *direction; /* [DIRECTIONS, d] */
	double *value;    /* [CURVES, used]: values of a curve side by side */
} along;

static void project_rows(void *user, size_t block, unsigned thread)
{
	const along *a = user;
	uint64_t end = (block + 1) * ROWS < a->used ? (block + 1) * ROWS : a->used;

	(void)thread;
	for (uint64_t i = block * ROWS; i < end; i++) {
		const float *x = a->x + i * a->rows / a->used * a->d;
		double norm = 0;

		for (size_t k = 0; k < INV_PROFILE_DIRECTIONS; k++) {
			const float *v = a->direction + k * a->d;
			double sum = 0;

			for (size_t j = 0; j < a->d; j++)
				sum += (double)x[j] * v[j];
			a->value[k * a->used + i] = sum;
		}
		for (size_t j = 0; j < a->d; j++)
			norm += (double)x[j] * x[j];
		a->value[NORMS * a->used + i] = sqrt(norm);
	}
}

static invar_status check_profile_rows(uint64_t rows)
{
	if (rows >= INV_PROFILE_MIN_ROWS)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%" PRIu64 " rows are too few to compare features; at least %d are "
	                "needed",
	                rows, INV_PROFILE_MIN_ROWS);
}

static invar_status take_along(const invar_context *ctx, const float *x, uint64_t rows,
                               size_t d, const double *scale, inv_pool *scratch, along *out)
{
	inv_stream s = inv_stream_of(0, "profile", 0);

	*out = (along){.x = x, .rows = rows, .d = d};
	out->used = rows < INV_PROFILE_MAX_ROWS ? rows : INV_PROFILE_MAX_ROWS;
	INV_TRY(inv_pool_zeros(scratch, &out->direction, INV_PROFILE_DIRECTIONS * d));
	INV_TRY(inv_pool_zeros(scratch, &out->value, INV_PROFILE_CURVES * out->used));
	for (size_t k = 0; k < INV_PROFILE_DIRECTIONS; k++) {
		float *v = out->direction + k * d;
		double sum = 0;

		inv_fill_normal(&s, (uint32_t)k, v, d);
		for (size_t j = 0; j < d; j++)
			sum += (double)v[j] * v[j];
		for (size_t j = 0; j < d; j++)
			v[j] = (float)(v[j] / (sqrt(sum) * scale[j]));
	}
	inv_parallel(ctx, inv_blocks(out->used, ROWS), project_rows, out);
	return INVAR_OK;
}

/* ---- Quantiles -------------------------------------------------------------------- */

static int by_curve_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of ascending values, between two of them by a straight line. */
static void take_quantiles(const double *sorted, uint64_t n, double out[QUANTILES])
{
	for (int q = 0; q < QUANTILES; q++) {
		double at = (double)(n - 1) * (q + 0.5) / QUANTILES;
		uint64_t i = (uint64_t)at;

		out[q] = sorted[i];
		if (i + 1 < n)
			out[q] += (at - (double)i) * (sorted[i + 1] - sorted[i]);
	}
}

static double mean_square(const double a[QUANTILES], const double b[QUANTILES])
{
	double sum = 0;

	for (int q = 0; q < QUANTILES; q++)
		sum += (a[q] - b[q]) * (a[q] - b[q]);
	return sum / QUANTILES;
}

/* [0]: over the directions; [1]: of the norms. */
static void sum_up(const double square[INV_PROFILE_CURVES], double out[2])
{
	double sum = 0;

	for (size_t k = 0; k < INV_PROFILE_DIRECTIONS; k++)
		sum += square[k];
	out[0] = sqrt(sum / INV_PROFILE_DIRECTIONS);
	out[1] = sqrt(square[NORMS]);
}

/* ---- Making ----------------------------------------------------------------------- */

static void find_spread(const along *a, inv_clean_profile *p)
{
	double square[INV_PROFILE_CURVES];

	for (size_t k = 0; k < INV_PROFILE_CURVES; k++) {
		const double *v = a->value + k * a->used;
		double mean = 0;

		square[k] = 0;
		for (uint64_t i = 0; i < a->used; i++)
			mean += v[i] / (double)a->used;
		for (uint64_t i = 0; i < a->used; i++)
			square[k] += (v[i] - mean) * (v[i] - mean) / (double)a->used;
	}
	sum_up(square, p->spread);
}

/* The values of a curve in order, with the row of each. */
typedef struct placed {
	double value;
	uint32_t row;
} placed;

typedef struct halving {
	const along *a;
	const bool *first; /* [HALVES, used]: is the row in the first half? */
	inv_clean_profile *p;
	double (*square)[INV_PROFILE_CURVES]; /* [HALVES] */
} halving;

static int by_place(const void *a, const void *b)
{
	const placed *x = a, *y = b;

	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
	                            : (x->row > y->row) - (x->row < y->row);
}

/* Sorted once, each half is in order. */
static invar_status halve_curve(void *user, size_t k, unsigned thread)
{
	const halving *h = user;
	uint64_t n = h->a->used;
	placed *order;
	double *half;

	(void)thread;
	INV_TRY(inv_new_array(&order, n));
	if (inv_new_array(&half, 2 * n) != INVAR_OK) {
		inv_free(order);
		return INVAR_E_NOMEM;
	}
	for (uint64_t i = 0; i < n; i++)
		order[i] = (placed){h->a->value[k * n + i], (uint32_t)i};
	qsort(order, n, sizeof *order, by_place);
	for (uint64_t i = 0; i < n; i++)
		half[i] = order[i].value;
	take_quantiles(half, n, h->p->quantile[k]);
	for (size_t r = 0; r < INV_PROFILE_HALVES; r++) {
		double q[2][QUANTILES];
		uint64_t count[2] = {0, 0};

		for (uint64_t i = 0; i < n; i++) {
			bool second = !h->first[r * n + order[i].row];

			half[second * n + count[second]++] = order[i].value;
		}
		take_quantiles(half, count[0], q[0]);
		take_quantiles(half + n, count[1], q[1]);
		h->square[r][k] = mean_square(q[0], q[1]);
	}
	inv_free(order);
	inv_free(half);
	return INVAR_OK;
}

/* Fills quantiles, typical and largest. */
static invar_status compare_halves(const invar_context *ctx, const along *a,
                                   inv_pool *scratch, inv_clean_profile *p)
{
	inv_stream s = inv_stream_of(0, "profile/halves", 0);
	uint32_t *order;
	bool *first;
	double(*square)[INV_PROFILE_CURVES];

	INV_TRY(inv_pool_zeros(scratch, &order, a->used));
	INV_TRY(inv_pool_zeros(scratch, &first, INV_PROFILE_HALVES * a->used));
	INV_TRY(inv_pool_zeros(scratch, &square, INV_PROFILE_HALVES));
	for (uint32_t r = 0; r < INV_PROFILE_HALVES; r++) {
		inv_permutation(&s, r, order, (uint32_t)a->used);
		for (uint64_t i = 0; i < a->used / 2; i++)
			first[r * a->used + order[i]] = true;
	}
	INV_TRY(inv_parallel_try(ctx, INV_PROFILE_CURVES, halve_curve,
	                         &(halving){a, first, p, square}));
	for (size_t r = 0; r < INV_PROFILE_HALVES; r++) {
		double distance[2];

		sum_up(square[r], distance);
		for (int i = 0; i < 2; i++) {
			p->typical[i] += distance[i] * distance[i] / INV_PROFILE_HALVES;
			p->largest[i] = fmax(p->largest[i], distance[i]);
		}
	}
	for (int i = 0; i < 2; i++)
		p->typical[i] = sqrt(p->typical[i]);
	return INVAR_OK;
}

invar_status inv_clean_profile_make(const invar_context *ctx, const float *x, uint64_t rows,
                                    size_t d, inv_clean_profile *out)
{
	inv_pool scratch = {0};
	along a;
	invar_status st;
	double all = 0;

	*out = (inv_clean_profile){.d = d};
	INV_TRY(check_profile_rows(rows));
	INV_TRY(inv_new_zeros(&out->scale, d));

	/*
	 * Deviations of the dimensions, halfway to the mean of all: a unit that is almost never
	 * active would decide everything once it is, if its own tiny deviation were the
	 * measure.
	 */
	for (size_t j = 0; j < out->d; j++) {
		double mean = 0, square = 0;

		for (uint64_t i = 0; i < rows; i++)
			mean += x[i * out->d + j] / (double)rows;
		for (uint64_t i = 0; i < rows; i++)
			square += (x[i * out->d + j] - mean) * (x[i * out->d + j] - mean);
		out->scale[j] = square / (double)rows;
		all += out->scale[j] / (double)out->d;
	}
	if (!(all > 0))
		return inv_fail(INVAR_E_NUMERIC,
		                "all clean features are equal, so there is nothing to compare "
		                "others with");
	for (size_t j = 0; j < out->d; j++)
		out->scale[j] = sqrt((out->scale[j] + all) / 2);
	INV_TRY_OR(end, take_along(ctx, x, rows, d, out->scale, &scratch, &a));
	out->rows = a.used;
	find_spread(&a, out);
	st = compare_halves(ctx, &a, &scratch, out);
end:
	inv_pool_free(&scratch);
	return st;
}

void inv_clean_profile_clear(inv_clean_profile *p)
{
	inv_free(p->scale);
	*p = (inv_clean_profile){0};
}

/* ---- Comparing -------------------------------------------------------------------- */

static double median_of(const double quantile[QUANTILES])
{
	return (quantile[QUANTILES / 2 - 1] + quantile[QUANTILES / 2]) / 2;
}

invar_status inv_clean_profile_compare(const invar_context *ctx, const inv_clean_profile *p,
                                       const float *x, uint64_t rows, inv_shift *out)
{
	double square[INV_PROFILE_CURVES], now[QUANTILES], distance[2], old;
	inv_pool scratch = {0};
	along a;
	invar_status st;
	double n, m, fewer;

	INV_TRY(check_profile_rows(rows));
	INV_TRY_OR(end, take_along(ctx, x, rows, p->d, p->scale, &scratch, &a));
	for (size_t k = 0; k < INV_PROFILE_CURVES; k++) {
		qsort(a.value + k * a.used, a.used, sizeof *a.value, by_curve_value);
		take_quantiles(a.value + k * a.used, a.used, now);
		square[k] = mean_square(now, p->quantile[k]);
	}
	sum_up(square, distance);

	/* What a distance says, for n new rows. */
	n = (double)a.used;
	m = (double)p->rows;
	fewer = (1 / n + 1 / m) / (4 / m);
	for (int i = 0; i < 2; i++) {
		/* Norms that are equal up to rounding, as those of unit rows, have no spread. */
		double least = i ? 1e-3 * median_of(p->quantile[NORMS]) : 0;
		double spread = fmax(p->spread[i], least), unit = spread > 0 ? spread : 1;
		double typical = p->typical[i] * p->typical[i] * fewer;
		double largest = p->largest[i] * p->largest[i] * fewer;

		out->shift[i] = sqrt(fmax(0, distance[i] * distance[i] - typical)) / unit;
		out->chance[i] = sqrt(fmax(0, largest - typical)) / unit;
	}
	out->rows = a.used;
	old = median_of(p->quantile[NORMS]);
	out->norm = old > 0 ? median_of(now) / old : 1; /* `now` is the last curve */
end:
	inv_pool_free(&scratch);
	return st;
}

/* ---- In a file -------------------------------------------------------------------- */

/* 6 digits, so that a document stays short. */
static json_t *numbers_json(const double *x, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		char text[32];

		snprintf(text, sizeof text, "%.6g", x[i]);
		json_array_append_new(list, json_real(strtod(text, NULL)));
	}
	return list;
}

json_t *inv_clean_profile_json(const inv_clean_profile *p)
{
	json_t *curves = json_array();

	for (size_t k = 0; k < INV_PROFILE_CURVES; k++)
		json_array_append_new(curves, numbers_json(p->quantile[k], QUANTILES));
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "dim", (json_int_t)p->d, "rows",
	                 (json_int_t)p->rows, "scale", numbers_json(p->scale, p->d), "spread",
	                 numbers_json(p->spread, 2), "typical", numbers_json(p->typical, 2),
	                 "largest", numbers_json(p->largest, 2), "quantiles", curves);
}

static bool read_numbers(const json_t *list, size_t count, double min, double *out)
{
	if (!json_is_array(list) || json_array_size(list) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *x = json_array_get(list, i);

		out[i] = json_is_number(x) ? json_number_value(x) : NAN;
		if (!isfinite(out[i]) || out[i] < min)
			return false;
	}
	return true;
}

invar_status inv_clean_profile_read(const json_t *from, const char *where,
                                    inv_clean_profile *out)
{
	const json_t *scale = json_object_get(from, "scale");
	const json_t *curves = json_object_get(from, "quantiles");
	json_int_t rows = json_integer_value(json_object_get(from, "rows"));
	bool fine;

	*out = (inv_clean_profile){.d = json_array_size(scale)};
	INV_TRY(inv_new_zeros(&out->scale, out->d + 1));
	fine = rows >= INV_PROFILE_MIN_ROWS && rows <= INV_PROFILE_MAX_ROWS && out->d &&
	       read_numbers(scale, out->d, 1e-30, out->scale) &&
	       read_numbers(json_object_get(from, "spread"), 2, 0, out->spread) &&
	       read_numbers(json_object_get(from, "typical"), 2, 0, out->typical) &&
	       read_numbers(json_object_get(from, "largest"), 2, 0, out->largest) &&
	       json_array_size(curves) == INV_PROFILE_CURVES;
	for (size_t k = 0; k < INV_PROFILE_CURVES && fine; k++)
		fine =
			read_numbers(json_array_get(curves, k), QUANTILES, -HUGE_VAL, out->quantile[k]);
	out->rows = (uint64_t)rows;
	if (fine)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: the profile of clean features in its certificate is damaged; make "
	                "a new certificate",
	                where);
}
