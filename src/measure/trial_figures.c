/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_figures.c - the figures of F or of codes on held-out images.
 *
 * They are what `invar eval` reports of a test split, by the same code: same-image recall,
 * the class of the nearest neighbour (same-class recall @1, the same image left out), R2
 * and CVRMSD. In the old index the gallery is F(x) and queries pass through E; in the new
 * one both do. F has nothing to pass through, so that both indexes are the same for it.
 *
 * Intervals of fractions resample images. R2 and CVRMSD are of pairs: their intervals come
 * from leaving out GROUPS groups of images in turn (a delete-a-group jackknife).
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "math/unit_rows.h"
#include "measure/retrieval.h"
#include "measure/structure.h"
#include "measure/trial.h"

enum { GROUPS = 10 };

static const double harmless = 0.99; /* of F's clean images that must find themselves */

static size_t measured_images(const inv_trial_rows *r)
{
	return (size_t)r->folds * r->held;
}

/* ---- Codes --------------------------------------------------------------------------- */

/* The rows of a fold as a column has them; moved ones are ours. */
typedef struct column_rows {
	const float *clean, *query;
	float *moved_clean, *moved_query;
	size_t w;
} column_rows;

/* z + strength (code - z), normalised after that for unit adapters; gives. */
static invar_status move_rows(const inv_trial_rows *r, const inv_trial_codes *c,
                              const float *z, const float *code, uint64_t rows, float **out)
{
	size_t cells = rows * c->w;

	INV_TRY(inv_new_array(out, cells));
	if (c->strength == 1) /* also of codes that are not as wide as features */
		memcpy(*out, code, cells * sizeof **out);
	else
		for (size_t i = 0; i < cells; i++)
			(*out)[i] = (float)(z[i] + c->strength * ((double)code[i] - z[i]));
	if (r->source->unit)
		inv_unit_rows(*out, rows, c->w, *out);
	return INVAR_OK;
}

/* Without queries, only as many clean rows as are held out. Close, also if it fails. */
static invar_status open_rows(const inv_trial_rows *r, const inv_trial_fold *f,
                              const inv_trial_codes *c, bool queries, column_rows *out)
{
	*out = (column_rows){.clean = c ? f->code_clean : f->clean,
	                     .query = c ? f->code_query : f->query,
	                     .w = c ? c->w : r->d};
	if (!c || (c->strength == 1 && !r->source->unit))
		return INVAR_OK;
	INV_TRY(move_rows(r, c, f->clean, f->code_clean, queries ? r->gallery : r->held,
	                  &out->moved_clean));
	out->clean = out->moved_clean;
	if (queries)
		INV_TRY(move_rows(r, c, f->query, f->code_query, r->queries, &out->moved_query));
	out->query = out->moved_query;
	return INVAR_OK;
}

static void close_rows(column_rows *rows)
{
	inv_free(rows->moved_clean);
	inv_free(rows->moved_query);
}

/* Clean rows and copies against one gallery by one distance. */
static invar_status rank_fold(const inv_trial_rows *r, uint32_t fold,
                              const column_rows *rows, int index, int distance,
                              double *fraction)
{
	const inv_trial_fold *f = &r->fold[fold];
	bool old = index == INV_TRIAL_OLD;
	const inv_gallery gallery = {old ? f->clean : rows->clean, r->gallery,
	                             old ? r->d : rows->w, f->class};
	const inv_place_queries query[INV_TRIAL_SETS] = {
		{rows->clean, r->held, f->own, f->class, true},
		{rows->query, r->queries, f->own, f->query_class, true}};
	size_t all = measured_images(r);
	double *at = fraction + (size_t)fold * r->held; /* of the first image of the fold */
	inv_place *ranks;
	inv_places *p = NULL;
	invar_status st;

	INV_TRY(inv_new_zeros(&ranks, r->queries));
	INV_TRY_OR(end, inv_places_new(r->ctx, &gallery, (inv_distance)distance, 1, &p));
	for (int set = 0; set < INV_TRIAL_SETS; set++) {
		double *at_1 = at + inv_trial_figure(index, INV_TRIAL_AT_1, distance, set) * all;
		double *at_10 = at + inv_trial_figure(index, INV_TRIAL_AT_10, distance, set) * all;
		double *class = at + inv_trial_figure(index, INV_TRIAL_CLASS, distance, set) * all;
		double weight = (double)r->held / (double)query[set].count;

		inv_places_find(p, &query[set], ranks);
		for (uint64_t i = 0; i < query[set].count; i++) {
			size_t image = i % r->held;

			at_1[image] += weight * (ranks[i].own == 1);
			at_10[image] += weight * (ranks[i].own <= 10);
			class[image] += ranks[i].first ? weight * (ranks[i].first == 1) : NAN;
		}
	}
end:
	inv_places_free(p);
	inv_free(ranks);
	return st;
}

/* ---- Structure ----------------------------------------------------------------------- */

/* R2 and CVRMSD of clean rows and codes; NaN where there is none to measure. */
static invar_status find_structure(const inv_trial_rows *r, const float *x, const float *e,
                                   size_t w, uint64_t n, double out[2])
{
	invar_context quiet = *r->ctx; /* too short for progress of its own */
	inv_structure s;

	quiet.hooks.progress = NULL;
	INV_TRY(inv_structure_try(&quiet, x, (uint32_t)r->d, e, (uint32_t)w, n, &s));
	out[0] = s.r2;
	out[1] = s.cvrmsd;
	return INVAR_OK;
}

/* Rows without those of one group, which are neighbours. */
static uint64_t leave_out(const float *rows, uint64_t n, size_t w, uint64_t group,
                          float *out)
{
	uint64_t from = group * n / GROUPS, to = (group + 1) * n / GROUPS;

	memcpy(out, rows, from * w * sizeof *out);
	memcpy(out + from * w, rows + to * w, (n - to) * w * sizeof *out);
	return n - (to - from);
}

/* Sums of both figures and of the squared errors of their jackknife over the folds. */
static invar_status add_structure(const inv_trial_rows *r, const inv_trial_fold *f,
                                  const column_rows *rows, double sum[2], double square[2])
{
	float *x = NULL, *e = NULL;
	double all[2], without[GROUPS][2];
	invar_status st;

	INV_TRY_OR(end, inv_new_array(&x, r->held * r->d));
	INV_TRY_OR(end, inv_new_array(&e, r->held * rows->w));
	INV_TRY_OR(end, find_structure(r, f->clean, rows->clean, rows->w, r->held, all));
	for (uint64_t g = 0; g < GROUPS; g++) {
		uint64_t left = leave_out(f->clean, r->held, r->d, g, x);

		leave_out(rows->clean, r->held, rows->w, g, e);
		INV_TRY_OR(end, find_structure(r, x, e, rows->w, left, without[g]));
	}
	for (int k = 0; k < 2; k++) {
		double mean = 0, error = 0;

		for (int g = 0; g < GROUPS; g++)
			mean += without[g][k] / GROUPS;
		for (int g = 0; g < GROUPS; g++)
			error += (without[g][k] - mean) * (without[g][k] - mean);
		sum[k] += all[k];
		square[k] += error * (GROUPS - 1) / GROUPS;
	}
end:
	inv_free(x);
	inv_free(e);
	return st;
}

/* The mean of the folds. */
static inv_interval structure_interval(const inv_trial_rows *r, double sum, double square)
{
	double value = sum / r->folds, error = 1.96 * sqrt(square) / r->folds;

	return (inv_interval){value, value - error, value + error, measured_images(r)};
}

static invar_status fold_structure(const inv_trial_rows *r, const inv_trial_fold *f,
                                   const inv_trial_codes *c, double out[2])
{
	column_rows rows;
	invar_status st;

	INV_TRY_OR(end, open_rows(r, f, c, false, &rows));
	st = find_structure(r, f->clean, rows.clean, rows.w, r->held, out);
end:
	close_rows(&rows);
	return st;
}

invar_status inv_trial_structure(const inv_trial_rows *r, const inv_trial_codes *c,
                                 double *r2)
{
	*r2 = 0;
	for (uint32_t k = 0; k < r->folds; k++) {
		double found[2];

		INV_TRY(fold_structure(r, &r->fold[k], c, found));
		*r2 += found[0] / r->folds;
	}
	return INVAR_OK;
}

/*
 * Figures `which` [k] of a column and their gains over F, over the images that have them;
 * `kept` are added to those by image.
 */
static invar_status find_intervals(const inv_trial_rows *r, const inv_trial_column *f,
                                   const int *which, size_t k, const int *kept,
                                   inv_trial_column *c)
{
	size_t all = measured_images(r), wide = 2 * k + (kept ? INV_DISTANCES : 0), n = 0;
	inv_interval found[2 * INV_TRIAL_FIGURES + INV_DISTANCES];
	double *table;
	invar_status st = INVAR_OK;

	INV_TRY(inv_new_array(&table, all * wide));
	for (size_t i = 0; i < all; i++) {
		double *row = table + n * wide;

		if (isnan(c->fraction[which[0] * all + i]))
			continue;
		for (size_t j = 0; j < k; j++) {
			row[2 * j] = c->fraction[which[j] * all + i];
			row[2 * j + 1] = row[2 * j] - f->fraction[which[j] * all + i];
		}
		for (int j = 0; kept && j < INV_DISTANCES; j++)
			row[2 * k + (size_t)j] =
				c->fraction[kept[j] * all + i] - harmless * f->fraction[kept[j] * all + i];
		n++;
	}
	if (!n)
		goto end;
	INV_TRY_OR(end, inv_bootstrap(r->ctx, table, n, wide, r->seed, found));
	for (size_t j = 0; j < k; j++) {
		c->value[which[j]] = found[2 * j];
		c->gain[which[j]] = found[2 * j + 1];
	}
	for (int j = 0; kept && j < INV_DISTANCES; j++)
		c->kept[j] = found[2 * k + (size_t)j];
end:
	inv_free(table);
	return st;
}

/* ---- A column ------------------------------------------------------------------------ */

static invar_status measure_fold(const inv_trial_rows *r, uint32_t fold,
                                 const inv_trial_codes *c, double *fraction, double sum[2],
                                 double square[2])
{
	int first = c && c->own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD;
	int last = c ? INV_TRIAL_NEW : INV_TRIAL_OLD;
	column_rows rows;
	invar_status st;

	INV_TRY_OR(end, open_rows(r, &r->fold[fold], c, true, &rows));
	for (int index = first; index <= last; index++)
		for (int distance = 0; distance < INV_DISTANCES; distance++) {
			INV_TRY_OR(end, inv_progress(r->ctx, "trial: search", fold, r->folds));
			INV_TRY_OR(end, rank_fold(r, fold, &rows, index, distance, fraction));
		}
	if (c)
		st = add_structure(r, &r->fold[fold], &rows, sum, square);
	else
		sum[0] += 1; /* F leaves distances as they are */
end:
	close_rows(&rows);
	return st;
}

invar_status inv_trial_measure(const inv_trial_rows *r, const inv_trial_codes *c,
                               const inv_trial_column *f, inv_trial_column *out)
{
	size_t all = measured_images(r), half = INV_TRIAL_FIGURES / 2 * all;
	double sum[2] = {0, 0}, square[2] = {0, 0};
	int first = c && c->own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD; /* index */
	int same[INV_TRIAL_FIGURES], class[INV_TRIAL_FIGURES], kept[INV_DISTANCES];
	size_t sames = 0, classes = 0;

	*out = (inv_trial_column){.fraction = NULL};
	INV_TRY(inv_new_zeros(&out->fraction, 2 * half));
	for (uint32_t k = 0; k < r->folds; k++)
		INV_TRY(measure_fold(r, k, c, out->fraction, sum, square));
	if (!c) /* both indexes are the same */
		memcpy(out->fraction + half, out->fraction, half * sizeof *out->fraction);
	out->r2 = structure_interval(r, sum[0], square[0]);
	out->cvrmsd = structure_interval(r, sum[1], square[1]);
	f = f ? f : out;
	for (int index = first; index < INV_TRIAL_INDEXES; index++)
		for (int distance = 0; distance < INV_DISTANCES; distance++)
			for (int set = 0; set < INV_TRIAL_SETS; set++) {
				same[sames++] = inv_trial_figure(index, INV_TRIAL_AT_1, distance, set);
				same[sames++] = inv_trial_figure(index, INV_TRIAL_AT_10, distance, set);
				class[classes++] = inv_trial_figure(index, INV_TRIAL_CLASS, distance, set);
			}
	for (int distance = 0; distance < INV_DISTANCES; distance++)
		kept[distance] = inv_trial_figure(first, INV_TRIAL_AT_1, distance, INV_TRIAL_CLEAN);
	INV_TRY(find_intervals(r, f, same, sames, kept, out));
	return r->labelled ? find_intervals(r, f, class, classes, NULL, out) : INVAR_OK;
}

void inv_trial_column_clear(inv_trial_column *c)
{
	inv_free(c->fraction);
	*c = (inv_trial_column){.fraction = NULL};
}
