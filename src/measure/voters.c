/* SPDX-License-Identifier: Apache-2.0 */
/* voters.c - see voters.h. */
#include "measure/voters.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "math/neighbours.h"

enum { BLOCK = 2048, MAX_FOUND = 1 << 22 }; /* queries, neighbours per block */

struct inv_voters {
	const inv_measure_input *in;
	inv_choice from; /* rows of train */
	size_t k, block;
	inv_neighbours *gallery;
	inv_arena arena;
	float *rows;       /* [from.points, w] */
	uint32_t *classes; /* [from.points] */
	uint32_t *index;   /* [block, k] */
	double *squared;   /* [block, k] */
	uint32_t *votes;   /* [k] */
};

uint64_t inv_voters_count(const inv_measure_input *in)
{
	uint64_t n = in->train_labels.rows, k = inv_option_count(in->options, "k");

	return k < n ? k : n;
}

static int by_label(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Labels are sorted: of equally long runs the first has the smallest label. */
static uint32_t winner(uint32_t *votes, size_t k)
{
	uint32_t best = votes[0];
	size_t longest = 0;

	qsort(votes, k, sizeof *votes, by_label);
	for (size_t i = 0, run = 0; i < k; i++) {
		run = i && votes[i] == votes[i - 1] ? run + 1 : 1;
		if (run > longest) {
			longest = run;
			best = votes[i];
		}
	}
	return best;
}

void inv_voters_ask(inv_voters *v, const float *queries, uint64_t count, uint32_t *classes)
{
	for (uint64_t first = 0; first < count; first += v->block) {
		uint64_t now = count - first < v->block ? count - first : v->block;

		inv_nearest(v->gallery, queries + first * v->in->w, now, v->index, v->squared);
		for (uint64_t i = 0; i < now; i++) {
			for (size_t k = 0; k < v->k; k++)
				v->votes[k] = v->classes[v->index[i * v->k + k]];
			classes[first + i] = winner(v->votes, v->k);
		}
	}
}

static invar_status allocate_voters(inv_voters *v)
{
	inv_arena *a = &v->arena;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		v->rows = inv_arena_take(a, v->from.points * v->in->w, sizeof *v->rows);
		v->classes = inv_arena_take(a, v->from.points, sizeof *v->classes);
		v->index = inv_arena_take(a, v->block * v->k, sizeof *v->index);
		v->squared = inv_arena_take(a, v->block * v->k, sizeof *v->squared);
		v->votes = inv_arena_take(a, v->k, sizeof *v->votes);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

static invar_status fill(inv_voters *v, bool features)
{
	const inv_measure_input *in = v->in;
	invar_status st = allocate_voters(v);

	if (st == INVAR_OK)
		st = inv_measure_rows(in, &v->from, INVAR_CLEAN, features, 0, v->from.points,
		                      v->rows);
	if (st != INVAR_OK)
		return st;
	inv_measure_classes(&v->from, &in->train_labels, v->classes);
	return inv_neighbours_new(in->ctx, v->rows, v->from.points, in->w, NULL, v->k,
	                          &v->gallery);
}

invar_status inv_voters_new(const inv_measure_input *in, bool features, inv_voters **out)
{
	inv_voters *v;
	invar_status st;

	*out = NULL;
	if (features && in->w != in->d)
		return inv_fail(INVAR_E_MISMATCH,
		                "@index clean compares codes with features, but codes are %" PRIu32
		                " wide and features %" PRIu32,
		                in->w, in->d);
	if (!(v = inv_calloc(1, sizeof *v)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a gallery");
	v->in = in;
	v->from = inv_choose_labelled(in->train, &in->train_labels);
	v->k = (size_t)inv_voters_count(in);
	v->block = BLOCK < MAX_FOUND / v->k ? BLOCK : MAX_FOUND / v->k;
	if (!v->block)
		v->block = 1;
	if ((st = fill(v, features)) != INVAR_OK) {
		inv_voters_free(v);
		return st;
	}
	*out = v;
	return INVAR_OK;
}

void inv_voters_free(inv_voters *v)
{
	if (!v)
		return;
	inv_neighbours_free(v->gallery);
	inv_arena_free(&v->arena);
	inv_free(v);
}
