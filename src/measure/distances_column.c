/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distances_column.c - distances from copies to the gallery, compared with clean queries.
 *
 * Queries are the copies of the measured split; the gallery is 1,000 clean rows of the
 * bank (all, if there are fewer), number floor(i n / 1000) of all splits. In the old index
 * it is F(x), re-indexed it is E(F(x)); both are compared with the distances of F. What is
 * reported is the relative root mean square error (distances.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "measure/bootstrap.h"
#include "measure/distances.h"
#include "measure/measurement.h"

enum { BLOCK = 1024, GALLERY = 1000 };
enum { OLD, NEW, INDEXES };

static const char *const index_name[] = {"old", "new"};
static const char *const distance_name[] = {"l2", "cosine"};

typedef struct job {
	const inv_measure_input *in;
	inv_choice asked;
	uint64_t images, all_rows; /* all_rows: of the bank */
	uint64_t gallery;
	uint64_t *row; /* [gallery]: number among all rows */
	inv_arena arena;
	float *old, *new;      /* [gallery, d], [gallery, w] */
	float *query, *code;   /* [BLOCK, d], [BLOCK, w] */
	uint64_t *own;         /* [BLOCK] */
	double *error, *whole; /* [images] */
	uint64_t done, total;
} job;

/* A row of the gallery, by its number among all rows of the bank. */
static invar_status read_row(const job *j, uint64_t number, bool raw, float *out)
{
	const invar_bank *bank = j->in->bank;
	size_t s = 0;
	inv_choice all;

	while (number >= bank->splits[s].rows)
		number -= bank->splits[s++].rows;
	all = inv_choose_all(&bank->splits[s]);
	return inv_measure_rows(j->in, &all, INVAR_CLEAN, raw, number, 1, out);
}

static invar_status read_gallery(job *j)
{
	const inv_measure_input *in = j->in;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < j->gallery && st == INVAR_OK; i++) {
		j->row[i] = i * j->all_rows / j->gallery;
		st = read_row(j, j->row[i], true, j->old + i * in->d);
		if (st == INVAR_OK)
			st = read_row(j, j->row[i], false, j->new + i * in->w);
	}
	return st;
}

/* The gallery rows of a block's own images; j->gallery: not in the gallery. */
static void find_own(job *j, uint64_t first, uint64_t count)
{
	const invar_bank *bank = j->in->bank;
	uint64_t before = 0;

	for (size_t s = 0; &bank->splits[s] != j->in->split; s++)
		before += bank->splits[s].rows;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t number = before + inv_choice_row(&j->asked, first + i), at = 0;

		while (at < j->gallery && j->row[at] < number)
			at++;
		j->own[i] = at < j->gallery && j->row[at] == number ? at : j->gallery;
	}
}

static invar_status add_block(job *j, int index, inv_distance distance, uint32_t copy,
                              uint64_t first, uint64_t count)
{
	const inv_measure_input *in = j->in;
	const inv_distance_pairs pairs = {.query = j->query,
	                                  .gallery = j->old,
	                                  .after = j->code,
	                                  .indexed = index == OLD ? j->old : j->new,
	                                  .own = j->own,
	                                  .n = count,
	                                  .m = j->gallery,
	                                  .d = in->d,
	                                  .w = in->w};
	invar_status st = inv_progress(in->ctx, "distances", j->done, j->total);

	j->done += count;
	find_own(j, first, count);
	if (st == INVAR_OK)
		st = inv_measure_rows(in, &j->asked, INVAR_CLEAN, true, first, count, j->query);
	if (st == INVAR_OK)
		st = inv_measure_rows(in, &j->asked, (int32_t)copy, false, first, count, j->code);
	return st == INVAR_OK ? inv_distance_errors(in->ctx, distance, &pairs, j->error + first,
	                                            j->whole + first)
	                      : st;
}

static invar_status put_error(const job *j, int index, inv_distance distance)
{
	inv_interval i;
	invar_value value;
	char id[64], why[INV_INTERVAL_WHY];
	double whole = 0;
	invar_status st;

	for (uint64_t k = 0; k < j->images; k++)
		whole += j->whole[k];
	if (!(whole > 0)) /* all rows are equal */
		return INVAR_OK;
	st = inv_bootstrap_ratio(j->in->ctx, j->error, j->whole, j->images, j->in->seed, &i);
	if (st != INVAR_OK)
		return st;
	i = (inv_interval){sqrt(i.value), sqrt(i.low), sqrt(i.high), i.images};
	snprintf(id, sizeof id, "distances.%s.%s.error", index_name[index],
	         distance_name[distance]);
	value = inv_interval_value(&i, why);
	return inv_results_put(j->in->results, id, j->in->column, &value);
}

static invar_status measure_index(job *j, int index, inv_distance distance)
{
	uint32_t copies = j->in->split->copies;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < j->images; i++)
		j->error[i] = j->whole[i] = 0;
	for (uint32_t k = 0; k < copies && st == INVAR_OK; k++)
		for (uint64_t first = 0; first < j->images && st == INVAR_OK; first += BLOCK) {
			uint64_t left = j->images - first;

			st = add_block(j, index, distance, k, first, left < BLOCK ? left : BLOCK);
		}
	return st == INVAR_OK ? put_error(j, index, distance) : st;
}

static invar_status allocate_distances(job *j)
{
	const inv_measure_input *in = j->in;
	inv_arena *a = &j->arena;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->row = inv_arena_take(a, j->gallery, sizeof *j->row);
		j->old = inv_arena_take(a, j->gallery * in->d, sizeof *j->old);
		j->new = inv_arena_take(a, j->gallery * in->w, sizeof *j->new);
		j->query = inv_arena_take(a, BLOCK * (size_t)in->d, sizeof *j->query);
		j->code = inv_arena_take(a, BLOCK * (size_t)in->w, sizeof *j->code);
		j->own = inv_arena_take(a, BLOCK, sizeof *j->own);
		j->error = inv_arena_take(a, j->images, sizeof *j->error);
		j->whole = inv_arena_take(a, j->images, sizeof *j->whole);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

/* Codes of another width than features cannot be looked up in the old index. */
static invar_status measure_distances(const inv_measure_input *in)
{
	const bool measured[INDEXES] = {in->w == in->d, in->adapter != NULL};
	job j = {.in = in, .asked = inv_choose_points(in, inv_choose_all(in->split))};
	invar_status st;

	j.images = j.asked.points;
	for (size_t s = 0; s < in->bank->split_count; s++)
		j.all_rows += in->bank->splits[s].rows;
	j.gallery = j.all_rows < GALLERY ? j.all_rows : GALLERY;
	j.total = (uint64_t)(measured[OLD] + measured[NEW]) * INV_DISTANCES * j.images *
	          in->split->copies;
	st = allocate_distances(&j);
	if (st == INVAR_OK)
		st = read_gallery(&j);
	for (int index = 0; index < INDEXES; index++)
		for (int d = 0; d < INV_DISTANCES && measured[index] && st == INVAR_OK; d++)
			st = measure_index(&j, index, (inv_distance)d);
	inv_arena_free(&j.arena);
	return st;
}

#define METRIC(ID, ROW, PART)                                                   \
	{                                                                           \
		.id = "distances." ID ".error", .measurement = "distances", .row = ROW, \
		.part = PART, .unit = INVAR_UNIT_NUMBER, .better = -1, .digits = 3      \
	}

static const invar_metric metrics[] = {
	METRIC("old.l2", "error of distances, old index, L2 | cosine", "L2"),
	METRIC("old.cosine", "error of distances, old index, L2 | cosine", "cosine"),
	METRIC("new.l2", "error of distances, re-indexed, L2 | cosine", "L2"),
	METRIC("new.cosine", "error of distances, re-indexed, L2 | cosine", "cosine"),
	{0},
};

const inv_measurement inv_measurement_distances = {
	.name = "distances",
	.title = "distances",
	.about = "how far distances from a copy to other images are from those of its clean "
			 "image, relative root mean square",
	.needs = INV_NEEDS_COPIES,
	.on_request = true,
	.shares = "points|seed",
	.metrics = metrics,
	.measure = measure_distances};
