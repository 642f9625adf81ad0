/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_figures.c - the figures of F or of codes on held-out images.
 *
 * They are what `invar eval` reports of a test split, by the same code: same-image recall,
 * the class of the nearest neighbour (same-class recall @1, the same image left out), R2
 * and CVRMSD. In the old index the gallery is F(x) and queries pass through E; in the new
 * one both do. F has nothing to pass through, so that both indexes are the same for it.
 *
 * Intervals of shares resample images. R2 and CVRMSD are of pairs: their intervals come
 * from leaving out GROUPS groups of images in turn (a delete-a-group jackknife).
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
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

static float *move_rows(const float *z, const float *code, size_t cells, double strength)
{
	float *out = inv_alloc(cells * sizeof *out);

	if (out && strength == 1) /* also of codes that are not as wide as features */
		memcpy(out, code, cells * sizeof *out);
	for (size_t i = 0; out && strength != 1 && i < cells; i++)
		out[i] = (float)(z[i] + strength * ((double)code[i] - z[i]));
	return out;
}

/*
 * Without queries, only as many clean rows as are held out. Codes of unit adapters are
 * normalised, after they were moved.
 */
static invar_status open_rows(const inv_trial_rows *r, const inv_trial_fold *f,
                              const inv_trial_codes *c, bool queries, column_rows *out)
{
	uint64_t clean = queries ? r->gallery : r->held;
	bool unit = c && r->source->unit;

	*out = (column_rows){.clean = c ? f->code_clean : f->clean,
	                     .query = c ? f->code_query : f->query,
	                     .w = c ? c->w : r->d};
	if (!c || (c->strength == 1 && !unit))
		return INVAR_OK;
	out->clean = out->moved_clean =
		move_rows(f->clean, f->code_clean, clean * out->w, c->strength);
	if (queries)
		out->query = out->moved_query =
			move_rows(f->query, f->code_query, r->queries * out->w, c->strength);
	if (!out->clean || !out->query)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the codes of a trial");
	if (unit)
		inv_unit_rows(out->clean, clean, out->w, out->moved_clean);
	if (unit && queries)
		inv_unit_rows(out->query, r->queries, out->w, out->moved_query);
	return INVAR_OK;
}

static void close_rows(column_rows *rows)
{
	inv_free(rows->moved_clean);
	inv_free(rows->moved_query);
}

/* ---- Retrieval ----------------------------------------------------------------------- */

static void add_ranks(const inv_trial_rows *r, uint32_t fold, int index, int distance,
                      int set, const inv_rank *ranks, uint64_t count, double *share)
{
	size_t all = measured_images(r), first = (size_t)fold * r->held;
	double *at_1 = share + inv_trial_figure(index, INV_TRIAL_AT_1, distance, set) * all;
	double *at_10 = share + inv_trial_figure(index, INV_TRIAL_AT_10, distance, set) * all;
	double *class = share + inv_trial_figure(index, INV_TRIAL_CLASS, distance, set) * all;
	double weight = (double)r->held / (double)count;

	for (uint64_t i = 0; i < count; i++) {
		size_t image = first + i % r->held;

		at_1[image] += weight * (ranks[i].own == 1);
		at_10[image] += weight * (ranks[i].own <= 10);
		class[image] += ranks[i].first ? weight * (ranks[i].first == 1) : NAN;
	}
}

/* Clean rows and copies against one gallery by one distance. */
static invar_status rank_fold(const inv_trial_rows *r, uint32_t fold,
                              const column_rows *rows, int index, int distance,
                              double *share)
{
	const inv_trial_fold *f = &r->fold[fold];
	bool old = index == INV_TRIAL_OLD;
	const inv_gallery gallery = {old ? f->clean : rows->clean, r->gallery,
	                             old ? r->d : rows->w, f->class};
	const inv_rank_queries query[INV_TRIAL_SETS] = {
		{rows->clean, r->held, f->own, f->class, true},
		{rows->query, r->queries, f->own, f->query_class, true}};
	inv_rank *ranks = inv_calloc(r->queries, sizeof *ranks);
	inv_ranks *p = NULL;
	invar_status st = ranks ? inv_ranks_new(r->ctx, &gallery, (inv_distance)distance, &p)
	                        : inv_fail(INVAR_E_NOMEM, "not enough memory for ranks");

	for (int set = 0; set < INV_TRIAL_SETS && st == INVAR_OK; set++) {
		inv_ranks_find(p, &query[set], ranks);
		add_ranks(r, fold, index, distance, set, ranks, query[set].count, share);
	}
	inv_ranks_free(p);
	inv_free(ranks);
	return st;
}

/* ---- Structure ----------------------------------------------------------------------- */

/* Of clean rows and codes; NaN where there is none to measure. */
static invar_status find_structure(const inv_trial_rows *r, const float *x, const float *e,
                                   size_t w, uint64_t n, double out[2])
{
	invar_context quiet = *r->ctx; /* too short for progress of its own */
	inv_structure s;
	invar_status st;

	quiet.hooks.progress = NULL;
	st = inv_structure_measure(&quiet, x, (uint32_t)r->d, e, (uint32_t)w, n, &s);
	out[0] = st == INVAR_OK ? s.r2 : NAN;
	out[1] = st == INVAR_OK ? s.cvrmsd : NAN;
	return st == INVAR_E_NUMERIC || st == INVAR_E_MISMATCH || st == INVAR_E_USE ? INVAR_OK
	                                                                            : st;
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
	float *x = inv_alloc(r->held * r->d * sizeof *x);
	float *e = inv_alloc(r->held * rows->w * sizeof *e);
	double all[2], part[GROUPS][2];
	invar_status st =
		x && e ? find_structure(r, f->clean, rows->clean, rows->w, r->held, all)
			   : inv_fail(INVAR_E_NOMEM, "not enough memory for the structure of a trial");

	for (uint64_t g = 0; g < GROUPS && st == INVAR_OK; g++) {
		uint64_t left = leave_out(f->clean, r->held, r->d, g, x);

		leave_out(rows->clean, r->held, rows->w, g, e);
		st = find_structure(r, x, e, rows->w, left, part[g]);
	}
	for (int k = 0; k < 2 && st == INVAR_OK; k++) {
		double mean = 0, error = 0;

		for (int g = 0; g < GROUPS; g++)
			mean += part[g][k] / GROUPS;
		for (int g = 0; g < GROUPS; g++)
			error += (part[g][k] - mean) * (part[g][k] - mean);
		sum[k] += all[k];
		square[k] += error * (GROUPS - 1) / GROUPS;
	}
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

invar_status inv_trial_structure(const inv_trial_rows *r, const inv_trial_codes *c,
                                 double *r2)
{
	invar_status st = INVAR_OK;

	*r2 = 0;
	for (uint32_t k = 0; k < r->folds && st == INVAR_OK; k++) {
		column_rows rows;
		double found[2];

		st = open_rows(r, &r->fold[k], c, false, &rows);
		if (st == INVAR_OK)
			st = find_structure(r, r->fold[k].clean, rows.clean, rows.w, r->held, found);
		*r2 += st == INVAR_OK ? found[0] / r->folds : 0;
		close_rows(&rows);
	}
	return st;
}

/* ---- Intervals ----------------------------------------------------------------------- */

/*
 * Figures `which` [k] of a column and their gains over F, over the images that have them;
 * `kept` are added to those by image.
 */
static invar_status find_intervals(const inv_trial_rows *r, const inv_trial_column *f,
                                   const int *which, size_t k, const int *kept,
                                   inv_trial_column *c)
{
	size_t all = measured_images(r), wide = 2 * k + (kept ? INV_DISTANCES : 0), n = 0;
	double *table = inv_alloc(all * wide * sizeof *table);
	inv_interval found[2 * INV_TRIAL_FIGURES + INV_DISTANCES];
	invar_status st = INVAR_OK;

	if (!table)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the intervals of a trial");
	for (size_t i = 0; i < all; i++) {
		double *row = table + n * wide;

		if (isnan(c->share[which[0] * all + i]))
			continue;
		for (size_t j = 0; j < k; j++) {
			row[2 * j] = c->share[which[j] * all + i];
			row[2 * j + 1] = row[2 * j] - f->share[which[j] * all + i];
		}
		for (int j = 0; kept && j < INV_DISTANCES; j++)
			row[2 * k + (size_t)j] =
				c->share[kept[j] * all + i] - harmless * f->share[kept[j] * all + i];
		n++;
	}
	if (n)
		st = inv_bootstrap_shares(r->ctx, table, n, wide, r->seed, found);
	for (size_t j = 0; j < k && n && st == INVAR_OK; j++) {
		c->value[which[j]] = found[2 * j];
		c->gain[which[j]] = found[2 * j + 1];
	}
	for (int j = 0; kept && j < INV_DISTANCES && n && st == INVAR_OK; j++)
		c->kept[j] = found[2 * k + (size_t)j];
	inv_free(table);
	return st;
}

static invar_status find_all_intervals(const inv_trial_rows *r, const inv_trial_column *f,
                                       bool own_space, inv_trial_column *c)
{
	int same[INV_TRIAL_FIGURES], class[INV_TRIAL_FIGURES], kept[INV_DISTANCES];
	size_t sames = 0, classes = 0;
	invar_status st;

	for (int index = own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD; index < INV_TRIAL_INDEXES;
	     index++)
		for (int distance = 0; distance < INV_DISTANCES; distance++)
			for (int set = 0; set < INV_TRIAL_SETS; set++) {
				same[sames++] = inv_trial_figure(index, INV_TRIAL_AT_1, distance, set);
				same[sames++] = inv_trial_figure(index, INV_TRIAL_AT_10, distance, set);
				class[classes++] = inv_trial_figure(index, INV_TRIAL_CLASS, distance, set);
			}
	for (int distance = 0; distance < INV_DISTANCES; distance++)
		kept[distance] = inv_trial_figure(own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD,
		                                  INV_TRIAL_AT_1, distance, INV_TRIAL_CLEAN);
	st = find_intervals(r, f, same, sames, kept, c);
	return st == INVAR_OK && r->labelled ? find_intervals(r, f, class, classes, NULL, c)
	                                     : st;
}

/* ---- A column ------------------------------------------------------------------------ */

invar_status inv_trial_measure(const inv_trial_rows *r, const inv_trial_codes *c,
                               const inv_trial_column *f, inv_trial_column *out)
{
	size_t all = measured_images(r);
	double sum[2] = {0, 0}, square[2] = {0, 0};
	bool own_space = c && c->own_space;
	invar_status st = INVAR_OK;

	*out = (inv_trial_column){.share =
	                              inv_calloc(INV_TRIAL_FIGURES * all, sizeof *out->share)};
	if (!out->share)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the figures of a trial");
	for (uint32_t k = 0; k < r->folds && st == INVAR_OK; k++) {
		column_rows rows;

		st = open_rows(r, &r->fold[k], c, true, &rows);
		for (int index = own_space ? INV_TRIAL_NEW : INV_TRIAL_OLD;
		     index < (c ? INV_TRIAL_INDEXES : INV_TRIAL_NEW) && st == INVAR_OK; index++)
			for (int distance = 0; distance < INV_DISTANCES && st == INVAR_OK; distance++) {
				st = inv_progress(r->ctx, "trial: search", k, r->folds);
				if (st == INVAR_OK)
					st = rank_fold(r, k, &rows, index, distance, out->share);
			}
		if (!c)
			sum[0] += 1; /* F leaves distances as they are */
		else if (st == INVAR_OK)
			st = add_structure(r, &r->fold[k], &rows, sum, square);
		close_rows(&rows);
	}
	if (!c) /* both indexes are the same */
		memcpy(out->share + INV_TRIAL_FIGURES / 2 * all, out->share,
		       INV_TRIAL_FIGURES / 2 * all * sizeof *out->share);
	out->r2 = structure_interval(r, sum[0], square[0]);
	out->cvrmsd = structure_interval(r, sum[1], square[1]);
	return st == INVAR_OK ? find_all_intervals(r, f ? f : out, own_space, out) : st;
}

void inv_trial_column_clear(inv_trial_column *c)
{
	inv_free(c->share);
	*c = (inv_trial_column){.share = NULL};
}
