/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collision.c - how often an augmented image is nearer to another class (Eq. 19).
 *
 * A point collides if the nearest clean point of another class is strictly closer than
 * the nearest of its own class, which includes the image's own clean point unless that is
 * left out. Three rates: raw; aligned, after the best rigid map of the copy onto the clean
 * points, fitted on the same points, as published; and held out, with the map fitted on
 * other points. The published form can fit anything once the width approaches the number
 * of points, so the held-out one is shown beside it.
 *
 * Held out: fitted on the same copy of train. If train has fewer copies than the split:
 * fitted on the even points and measured on the odd ones, and vice versa, for all copies,
 * so that their mean is over rates of one kind.
 *
 * The clean codes stay in memory as the gallery; copies and train stream by.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "math/fit_pairs.h"
#include "math/neighbours.h"
#include "measure/bootstrap.h"
#include "measure/measurement.h"

enum { BLOCK = 2048 }; /* even, so that halves keep their parity */

enum { RAW, ALIGNED, HELD_OUT, KINDS };

static const char *const kinds[KINDS] = {"collision.raw", "collision.aligned",
                                         "collision.held_out"};

typedef struct maps {
	inv_map_affine aligned, held[2]; /* held[i] for points with number % 2 = i */
} maps;

typedef struct job {
	const inv_measure_input *in;
	inv_choice measured, train;
	uint64_t points; /* that are measured */
	uint32_t copies;
	bool halves, leave_one_out;
	inv_neighbours *gallery;
	inv_arena arena;
	float *clean;              /* [points, w] */
	uint32_t *labels;          /* [points] */
	float *rows, *moved;       /* [BLOCK, w] */
	uint32_t *classes, *leave; /* [BLOCK] */
	double *own, *other;       /* [BLOCK] */
	double *share[KINDS]; /* [points]: number of collisions, then share of the copies */
	double *rate[KINDS];  /* [copies] */
} job;

/* ---- Fitting ---------------------------------------------------------------------- */

/* Copies every second row, beginning with `from`; returns how many. */
static uint64_t keep_half(const float *rows, size_t w, uint64_t count, uint64_t from,
                          float *out)
{
	uint64_t kept = 0;

	for (uint64_t i = from; i < count; i += 2)
		memmove(out + kept++ * w, rows + i * w, w * sizeof *out);
	return kept;
}

static invar_status progress(const job *j, int32_t copy, uint64_t done)
{
	return inv_progress(j->in->ctx, "collision", (uint64_t)copy * j->points + done,
	                    (uint64_t)j->copies * j->points);
}

/* Adds all points of a copy with their clean ones; or each half by itself. */
static invar_status add_points(job *j, int32_t copy, inv_pairs *all, inv_pairs *half[2])
{
	size_t w = j->in->w;
	invar_status st = INVAR_OK;

	for (uint64_t first = 0; first < j->points && st == INVAR_OK; first += BLOCK) {
		uint64_t now = j->points - first < BLOCK ? j->points - first : BLOCK;
		const float *clean = j->clean + first * w;

		if ((st = progress(j, copy, 0)) == INVAR_OK)
			st = inv_measure_rows(j->in, &j->measured, copy, false, first, now, j->rows);
		if (st == INVAR_OK)
			inv_pairs_add(all, j->rows, clean, now);
		for (uint64_t i = 0; i < 2 && half[i] && st == INVAR_OK; i++) {
			float *targets = j->moved + BLOCK / 2 * w;
			uint64_t kept = keep_half(j->rows, w, now, i, j->moved);

			keep_half(clean, w, now, i, targets);
			inv_pairs_add(half[i], j->moved, targets, kept);
		}
	}
	return st;
}

static invar_status add_train(job *j, int32_t copy, inv_pairs *pairs)
{
	const inv_measure_input *in = j->in;
	uint64_t rows = j->train.points;
	invar_status st = INVAR_OK;

	for (uint64_t first = 0; first < rows && st == INVAR_OK; first += BLOCK) {
		uint64_t now = rows - first < BLOCK ? rows - first : BLOCK;

		if ((st = progress(j, copy, 0)) == INVAR_OK)
			st = inv_measure_rows(in, &j->train, copy, false, first, now, j->rows);
		if (st == INVAR_OK)
			st = inv_measure_rows(in, &j->train, INVAR_CLEAN, false, first, now, j->moved);
		if (st == INVAR_OK)
			inv_pairs_add(pairs, j->rows, j->moved, now);
	}
	return st;
}

/* The odd points get the map of the even ones, and vice versa. */
static invar_status fit(job *j, int32_t copy, maps *m)
{
	inv_pairs *pairs[3] = {NULL, NULL, NULL}; /* all points, or even and odd ones */
	size_t count = j->halves ? 3 : 2;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_pairs_new(j->in->ctx, j->in->w, false, &pairs[i]);
	if (st == INVAR_OK)
		st = add_points(j, copy, pairs[0],
		                j->halves ? pairs + 1 : (inv_pairs *[2]){NULL, NULL});
	if (st == INVAR_OK && !j->halves)
		st = add_train(j, copy, pairs[1]);
	if (st == INVAR_OK)
		st = inv_fit_rigid(pairs[0], &m->aligned);
	for (size_t i = 1; i < count && st == INVAR_OK; i++)
		st = inv_fit_rigid(pairs[i], &m->held[j->halves ? 2 - i : 0]);
	for (size_t i = 0; i < count; i++)
		inv_pairs_free(pairs[i]);
	return st;
}

static void clear(maps *m)
{
	inv_map_clear(&m->aligned);
	inv_map_clear(&m->held[0]);
	inv_map_clear(&m->held[1]);
}

/* ---- Counting ------------------------------------------------------------------------ */

/* Row i of rows is point first + i step of a copy. */
static void count_hits(job *j, int kind, int32_t copy, const float *rows, uint64_t first,
                       uint64_t step, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		j->leave[i] = (uint32_t)(first + i * step);
		j->classes[i] = j->labels[j->leave[i]];
	}
	inv_nearest_by_class(j->gallery, rows, j->classes, j->leave_one_out ? j->leave : NULL,
	                     count, j->own, j->other);
	for (uint64_t i = 0; i < count; i++) {
		bool hit = j->other[i] < j->own[i]; /* a tie is not a collision */

		j->share[kind][first + i * step] += hit;
		j->rate[kind][copy] += hit;
	}
}

static invar_status count_moved(job *j, int kind, int32_t copy, const inv_map_affine *map,
                                uint64_t first, uint64_t step, uint64_t count)
{
	invar_status st = inv_map_rows(j->in->ctx, map, j->moved, count, j->moved);

	if (st == INVAR_OK)
		count_hits(j, kind, copy, j->moved, first, step, count);
	return st;
}

static invar_status count_block(job *j, int32_t copy, const maps *m, uint64_t first,
                                uint64_t now)
{
	size_t w = j->in->w;
	invar_status st =
		inv_measure_rows(j->in, &j->measured, copy, false, first, now, j->rows);

	if (st != INVAR_OK)
		return st;
	count_hits(j, RAW, copy, j->rows, first, 1, now);
	memcpy(j->moved, j->rows, now * w * sizeof *j->moved);
	st = count_moved(j, ALIGNED, copy, &m->aligned, first, 1, now);
	if (!j->halves && st == INVAR_OK) {
		memcpy(j->moved, j->rows, now * w * sizeof *j->moved);
		st = count_moved(j, HELD_OUT, copy, &m->held[0], first, 1, now);
	}
	for (uint64_t i = 0; i < 2 && j->halves && st == INVAR_OK; i++)
		st = count_moved(j, HELD_OUT, copy, &m->held[i], first + i, 2,
		                 keep_half(j->rows, w, now, i, j->moved));
	return st;
}

static invar_status measure_copy(job *j, int32_t copy)
{
	maps m = {0};
	invar_status st = fit(j, copy, &m);

	for (uint64_t first = 0; first < j->points && st == INVAR_OK; first += BLOCK)
		if ((st = progress(j, copy, first)) == INVAR_OK)
			st = count_block(j, copy, &m, first,
			                 j->points - first < BLOCK ? j->points - first : BLOCK);
	clear(&m);
	return st;
}

/* ---- The column ---------------------------------------------------------- */

static invar_status allocate_collision(job *j)
{
	inv_arena *a = &j->arena;
	size_t w = j->in->w;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->clean = inv_arena_take(a, j->points * w, sizeof *j->clean);
		j->labels = inv_arena_take(a, j->points, sizeof *j->labels);
		j->rows = inv_arena_take(a, BLOCK * w, sizeof *j->rows);
		j->moved = inv_arena_take(a, BLOCK * w, sizeof *j->moved);
		j->classes = inv_arena_take(a, BLOCK, sizeof *j->classes);
		j->leave = inv_arena_take(a, BLOCK, sizeof *j->leave);
		j->own = inv_arena_take(a, BLOCK, sizeof *j->own);
		j->other = inv_arena_take(a, BLOCK, sizeof *j->other);
		for (int kind = 0; kind < KINDS; kind++) {
			j->share[kind] = inv_arena_take(a, j->points, sizeof(double));
			j->rate[kind] = inv_arena_take(a, j->copies, sizeof(double));
		}
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	for (int kind = 0; kind < KINDS; kind++) {
		memset(j->share[kind], 0, j->points * sizeof(double));
		memset(j->rate[kind], 0, j->copies * sizeof(double));
	}
	return INVAR_OK;
}

static invar_status prepare(job *j)
{
	const inv_measure_input *in = j->in;
	uint64_t same = 0;
	invar_status st = allocate_collision(j);

	if (st != INVAR_OK)
		return st;
	inv_measure_classes(&j->measured, &in->labels, j->labels);
	while (same < j->points && j->labels[same] == j->labels[0])
		same++;
	if (same == j->points)
		return inv_fail(INVAR_E_MISMATCH,
		                "collision needs at least two classes, but the points of %s have "
		                "only class %" PRId64,
		                in->split->name, in->labels.class_label[j->labels[0]]);
	st = inv_measure_rows(in, &j->measured, INVAR_CLEAN, false, 0, j->points, j->clean);
	if (st == INVAR_OK)
		st = inv_neighbours_new(in->ctx, j->clean, j->points, in->w, j->labels, 1,
		                        &j->gallery);
	return st;
}

/* ---- Results ---------------------------------------------------------------------- */

/* Counts become shares of the copies, and of the points. */
static invar_status find_share(job *j, int kind, inv_interval *out)
{
	for (uint64_t i = 0; i < j->points; i++)
		j->share[kind][i] /= j->copies;
	return inv_bootstrap(j->in->ctx, j->share[kind], j->points, j->in->seed, out);
}

/* The rate of each copy alone, by kind, and on what the held-out map was fitted. */
static json_t *details_of(const job *j)
{
	json_t *details = json_pack("{s:I, s:I, s:s}", "points", (json_int_t)j->points,
	                            "copies", (json_int_t)j->copies, "held_out_fitted_on",
	                            j->halves ? "halves" : "train");

	for (int kind = 0; kind < KINDS; kind++) {
		json_t *rates = json_array();

		for (uint32_t c = 0; c < j->copies; c++)
			json_array_append_new(rates, json_real(j->rate[kind][c] / (double)j->points));
		json_object_set_new(details, strchr(kinds[kind], '.') + 1, rates);
	}
	return details;
}

static invar_status put_results(job *j)
{
	const inv_measure_input *in = j->in;
	inv_interval share[KINDS];
	invar_status st = INVAR_OK;

	for (int kind = 0; kind < KINDS && st == INVAR_OK; kind++)
		st = find_share(j, kind, &share[kind]);
	for (int kind = 0; kind < KINDS && st == INVAR_OK; kind++) {
		char why[INV_INTERVAL_WHY];
		invar_value value = inv_interval_value(&share[kind], why);

		st = inv_results_put(in->results, kinds[kind], in->column, &value);
	}
	return st == INVAR_OK
	           ? inv_results_detail(in->results, "collision", in->column, details_of(j))
	           : st;
}

static invar_status measure_collision(const inv_measure_input *in)
{
	const inv_split *train = in->train;
	job j = {.in = in,
	         .measured = inv_choose_points(in, inv_choose_labelled(in->split, &in->labels)),
	         .copies = in->split->copies,
	         .halves = !train || train == in->split || train->copies < in->split->copies,
	         .leave_one_out = inv_option_flag(in->options, "leave-one-out")};
	invar_status st;

	j.points = j.measured.points;
	if (train)
		j.train = inv_choose_all(train);
	st = prepare(&j);
	for (uint32_t copy = 0; copy < j.copies && st == INVAR_OK; copy++)
		st = measure_copy(&j, (int32_t)copy);
	if (st == INVAR_OK)
		st = put_results(&j);
	inv_neighbours_free(j.gallery);
	inv_arena_free(&j.arena);
	return st;
}

/* ---- What it declares ---------------------------------------------------------------- */

static const invar_option options[] = {
	{.name = "leave-one-out",
     .type = INVAR_OPTION_FLAG,
     .group = "Measurements",
     .help = "collision: an image's own clean feature does not count"},
	{0},
};

static const invar_metric metrics[] = {
	{.id = "collision.raw",
     .measurement = "collision",
     .row = "collision raw",
     .unit = INVAR_UNIT_SHARE,
     .better = -1,
     .digits = 1},
	{.id = "collision.aligned",
     .measurement = "collision",
     .row = "collision aligned",
     .unit = INVAR_UNIT_SHARE,
     .better = -1,
     .digits = 1},
	{.id = "collision.held_out",
     .measurement = "collision",
     .row = "collision held out",
     .unit = INVAR_UNIT_SHARE,
     .better = -1,
     .digits = 1},
	{0},
};

const inv_measurement inv_measurement_collision = {
	.name = "collision",
	.title = "collision",
	.about = "the share of augmented features nearer to another class than "
			 "to their own, as they are, after the best rigid map fitted "
			 "on the same points (as published, which flatters), and after "
			 "one fitted on other points",
	.needs = INV_NEEDS_LABELS | INV_NEEDS_COPIES,
	.options = options,
	.shares = "points|train-split|seed",
	.metrics = metrics,
	.measure = measure_collision};
