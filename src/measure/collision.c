/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collision.c - how often an augmented image is nearer to another class (Eq. 19).
 *
 * A point collides if the nearest clean point of another class is strictly closer than
 * the nearest of its own class, which includes the clean point of the same image unless
 * that is left out. Three rates: raw; aligned, after the best rigid map of the copy onto
 * the clean points, fitted on the same points, as published; and held out, with the map
 * fitted on other points. The published form can fit anything once the width approaches the
 * number of points, so the held-out one is shown beside it.
 *
 * Held out: fitted on the same copy of train. If train has fewer copies than the split:
 * fitted on the even points and measured on the odd ones, and vice versa, for all copies,
 * so that their mean is over rates of one kind.
 *
 * The clean codes stay in memory as the gallery; copies and train stream by.
 */
#include <inttypes.h>
#include <string.h>

#include "math/fit_pairs.h"
#include "math/neighbours.h"
#include "measure/measurement.h"

enum { BLOCK = 2048 }; /* even, so that halves keep their parity */

enum { RAW, ALIGNED, HELD_OUT, KINDS };

static const char *const kinds[KINDS] = {"collision.raw", "collision.aligned",
                                         "collision.held_out"};

typedef struct collision {
	const inv_measure_input *in;
	inv_selection measured, train;
	uint64_t points; /* that are measured */
	uint32_t copies;
	bool halves, leave_one_out;
	inv_neighbours *gallery;
	float *clean;              /* [points, w] */
	uint32_t *labels;          /* [points] */
	float *rows, *moved;       /* [BLOCK, w] */
	uint32_t *classes, *leave; /* [BLOCK] */
	double *own, *other;       /* [BLOCK]: squared distances to the own class, to others */
	double *fraction[KINDS];   /* [points]: collisions, then their fraction of the copies */
	double *rate[KINDS];       /* [copies] */
} collision;

static invar_status report_progress(const collision *c, int32_t copy, uint64_t done)
{
	return inv_progress(c->in->ctx, "collision", (uint64_t)copy * c->points + done,
	                    (uint64_t)c->copies * c->points);
}

/* Copies every second row, beginning with `from`; returns how many. */
static uint64_t keep_half(const float *rows, size_t w, uint64_t count, uint64_t from,
                          float *out)
{
	uint64_t kept = 0;

	for (uint64_t i = from; i < count; i += 2)
		memmove(out + kept++ * w, rows + i * w, w * sizeof *out);
	return kept;
}

/* held[i] is for points with number % 2 = i; held[0] for all if it is fitted on train. */
static invar_status fit_maps(collision *c, int32_t copy, inv_map_affine *aligned,
                             inv_map_affine held[2])
{
	inv_pairs *pairs[3] = {NULL, NULL, NULL}; /* all points; train, or even and odd ones */
	size_t count = c->halves ? 3 : 2;
	invar_status st;
	size_t w;

	for (size_t i = 0; i < count; i++)
		INV_TRY_OR(end, inv_pairs_new(c->in->ctx, c->in->w, false, &pairs[i]));

	/* Adds the points of a copy and their clean ones: to pairs[0] all, to the others
	 * halves. */
	w = c->in->w;
	for (uint64_t first = 0; first < c->points; first += BLOCK) {
		uint64_t now = inv_min(c->points - first, BLOCK);
		const float *clean = c->clean + first * w;

		INV_TRY_OR(end, report_progress(c, copy, 0));
		INV_TRY_OR(end,
		           inv_measure_rows(c->in, &c->measured, copy, false, first, now, c->rows));
		inv_pairs_add(pairs[0], c->rows, clean, now);
		for (uint64_t i = 0; i < 2 && c->halves; i++) {
			float *targets = c->moved + BLOCK / 2 * w;
			uint64_t kept = keep_half(c->rows, w, now, i, c->moved);

			keep_half(clean, w, now, i, targets);
			inv_pairs_add(pairs[1 + i], c->moved, targets, kept);
		}
	}
	if (!c->halves) {
		const inv_measure_input *in = c->in;
		uint64_t rows = c->train.points;

		for (uint64_t first = 0; first < rows; first += BLOCK) {
			uint64_t now = inv_min(rows - first, BLOCK);

			INV_TRY_OR(end, report_progress(c, copy, 0));
			INV_TRY_OR(end,
			           inv_measure_rows(in, &c->train, copy, false, first, now, c->rows));
			INV_TRY_OR(end, inv_measure_rows(in, &c->train, INVAR_CLEAN, false, first, now,
			                                 c->moved));
			inv_pairs_add(pairs[1], c->rows, c->moved, now);
		}
	}
	INV_TRY_OR(end, inv_fit_rigid(pairs[0], aligned));
	for (size_t i = 1; i < count; i++) /* odd points get the map of the even ones */
		INV_TRY_OR(end, inv_fit_rigid(pairs[i], &held[c->halves ? 2 - i : 0]));
end:
	for (size_t i = 0; i < count; i++)
		inv_pairs_free(pairs[i]);
	return st;
}

/* ---- Counting ------------------------------------------------------------------------ */

/* Row i of rows is point first + i step of a copy. */
static void count_hits(collision *c, int kind, int32_t copy, const float *rows,
                       uint64_t first, uint64_t step, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		c->leave[i] = (uint32_t)(first + i * step);
		c->classes[i] = c->labels[c->leave[i]];
	}
	inv_nearest_by_class(c->gallery, rows, c->classes, c->leave_one_out ? c->leave : NULL,
	                     count, c->own, c->other);
	for (uint64_t i = 0; i < count; i++) {
		bool hit = c->other[i] < c->own[i]; /* a tie is not a collision */

		c->fraction[kind][first + i * step] += hit;
		c->rate[kind][copy] += hit;
	}
}

/* The same for rows in c->moved, after a map. */
static invar_status count_moved(collision *c, int kind, int32_t copy,
                                const inv_map_affine *map, uint64_t first, uint64_t step,
                                uint64_t count)
{
	INV_TRY(inv_map_rows(c->in->ctx, map, c->moved, count, c->moved));
	count_hits(c, kind, copy, c->moved, first, step, count);
	return INVAR_OK;
}

static invar_status measure_copy(collision *c, int32_t copy)
{
	inv_map_affine aligned = {0}, held[2] = {{0}, {0}};
	size_t w = c->in->w;
	invar_status st;

	INV_TRY_OR(end, fit_maps(c, copy, &aligned, held));
	for (uint64_t first = 0; first < c->points; first += BLOCK) {
		uint64_t now = inv_min(c->points - first, BLOCK);

		INV_TRY_OR(end, report_progress(c, copy, first));
		INV_TRY_OR(end,
		           inv_measure_rows(c->in, &c->measured, copy, false, first, now, c->rows));
		count_hits(c, RAW, copy, c->rows, first, 1, now);
		memcpy(c->moved, c->rows, now * w * sizeof *c->moved);
		INV_TRY_OR(end, count_moved(c, ALIGNED, copy, &aligned, first, 1, now));
		if (!c->halves) {
			memcpy(c->moved, c->rows, now * w * sizeof *c->moved);
			INV_TRY_OR(end, count_moved(c, HELD_OUT, copy, &held[0], first, 1, now));
		}
		for (uint64_t i = 0; i < 2 && c->halves; i++)
			INV_TRY_OR(end, count_moved(c, HELD_OUT, copy, &held[i], first + i, 2,
			                            keep_half(c->rows, w, now, i, c->moved)));
	}
end:
	inv_map_clear(&aligned);
	inv_map_clear(&held[0]);
	inv_map_clear(&held[1]);
	return st;
}

/* ---- The column ---------------------------------------------------------- */

/* Details have the rate of each copy alone, and on what the held-out map was fitted. */
static invar_status put_collision(collision *c)
{
	const inv_measure_input *in = c->in;
	inv_interval found[KINDS];
	json_t *details;

	for (int kind = 0; kind < KINDS; kind++) {
		for (uint64_t i = 0; i < c->points; i++)
			c->fraction[kind][i] /= c->copies;
		INV_TRY(inv_bootstrap(in->ctx, c->fraction[kind], c->points, 1, in->seed,
		                      &found[kind]));
	}
	for (int kind = 0; kind < KINDS; kind++)
		INV_TRY(inv_put_interval(in->results, kinds[kind], in->column, &found[kind]));
	details = json_pack("{s:I, s:I, s:s}", "points", (json_int_t)c->points, "copies",
	                    (json_int_t)c->copies, "held_out_fitted_on",
	                    c->halves ? "halves" : "train");
	for (int kind = 0; kind < KINDS; kind++) {
		json_t *rates = json_array();

		for (uint32_t i = 0; i < c->copies; i++)
			json_array_append_new(rates, json_real(c->rate[kind][i] / (double)c->points));
		json_object_set_new(details, strchr(kinds[kind], '.') + 1, rates);
	}
	return inv_results_detail(in->results, "collision", in->column, details);
}

static invar_status measure_collision(const inv_measure_input *in)
{
	const inv_split *train = in->train;
	collision c = {
		.in = in,
		.measured = inv_select_points(in, inv_select_labelled(in->split, &in->labels)),
		.copies = in->split->copies,
		.halves = !train || train == in->split || train->copies < in->split->copies,
		.leave_one_out = inv_option_flag(in->options, "leave-one-out")};
	invar_status st;
	inv_pool *s;
	uint64_t same = 0;

	c.points = c.measured.points;
	if (train)
		c.train = inv_select_all(train);

	/* The clean codes with their classes, of which there are at least two. */
	s = in->scratch;
	INV_TRY_OR(end, inv_pool_zeros(s, &c.clean, c.points * in->w));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.labels, c.points));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.rows, BLOCK * in->w));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.moved, BLOCK * in->w));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.classes, BLOCK));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.leave, BLOCK));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.own, BLOCK));
	INV_TRY_OR(end, inv_pool_zeros(s, &c.other, BLOCK));
	for (int kind = 0; kind < KINDS; kind++) {
		INV_TRY_OR(end, inv_pool_zeros(s, &c.fraction[kind], c.points));
		INV_TRY_OR(end, inv_pool_zeros(s, &c.rate[kind], c.copies));
	}
	inv_measure_classes(&c.measured, &in->labels, c.labels);
	while (same < c.points && c.labels[same] == c.labels[0])
		same++;
	if (same == c.points)
		INV_TRY_OR(
			end, inv_fail(INVAR_E_MISMATCH,
		                  "collision needs at least two classes, but the points of %s have "
		                  "only class %" PRId64,
		                  in->split->name, in->labels.class_label[c.labels[0]]));
	INV_TRY_OR(end,
	           inv_measure_rows(in, &c.measured, INVAR_CLEAN, false, 0, c.points, c.clean));
	INV_TRY_OR(end, inv_neighbours_new(in->ctx, c.clean, c.points, in->w, c.labels, 1,
	                                   &c.gallery));
	for (uint32_t copy = 0; copy < c.copies; copy++)
		INV_TRY_OR(end, measure_copy(&c, (int32_t)copy));
	st = put_collision(&c);
end:
	inv_neighbours_free(c.gallery);
	return st;
}

static const invar_option options[] = {
	{"leave-one-out", INVAR_OPTION_FLAG, .flags = INVAR_OPTION_EXPERT,
     .group = "Measurements",
     .help = "collision: the clean feature of the same image does not count"},
	{0},
};

static const invar_metric metrics[] = {
	INV_SHARE_METRIC("collision", "collision.raw", "collision raw", NULL, -1),
	INV_SHARE_METRIC("collision", "collision.aligned", "collision aligned", NULL, -1),
	INV_SHARE_METRIC("collision", "collision.held_out", "collision held out", NULL, -1),
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
