/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced.c - blocks of directions, one thread per block.
 *
 * A block is a cache line of directions, so that every line of the projections
 * is fetched once; within it INV_SLICES directions are sorted side by side. The
 * keys of both sets and the slopes stay in the cache.
 */
#include "math/sliced.h"

#include <math.h>

#include "base/threads.h"
#include "math/sort.h"

enum { BLOCK = 16 }; /* directions, floats of a cache line */

/* What a thread works in. */
typedef struct bench {
	double *p, *q; /* keys [room][INV_SLICES] */
	float *u, *v;  /* slopes [M][INV_SLICES] */
} bench;

typedef struct sliced_job {
	const struct inv_kernels *k;
	const inv_sliced *s;
	char *scratch;
	size_t bytes; /* of a thread's bench */
} sliced_job;

/* Without slopes, long sets are sorted as plain values. */
static bool is_long(size_t M, bool slopes)
{
	return !slopes && M >= INV_SORT_LONG;
}

/* Doubles for the keys of one set, or for a long set's BLOCK columns of floats. */
static size_t key_doubles(size_t M, bool slopes)
{
	return is_long(M, slopes) ? BLOCK * M / 2 : inv_sort_room(M) * INV_SLICES;
}

static size_t bench_bytes(size_t M, bool slopes)
{
	size_t floats = is_long(M, slopes) ? M : 2 * M * INV_SLICES;

	return 2 * key_doubles(M, slopes) * sizeof(double) + (floats + 15) / 16 * 64;
}

size_t inv_sliced_scratch(const invar_context *ctx, size_t M, bool slopes)
{
	return (ctx ? ctx->threads : 1) * bench_bytes(M, slopes);
}

static bool wants_slopes(const inv_sliced *s)
{
	return s->slopes[0].out || s->slopes[1].out;
}

/* ---- Short sets: keys side by side ------------------------------------------------ */

/* b->q has the second set, sorted. */
static void compare_slices(const sliced_job *j, const bench *b, const inv_side *first,
                           size_t column, bool slopes, double *powers)
{
	const inv_sliced *s = j->s;
	size_t M = s->second.M, use = s->L - column < INV_SLICES ? s->L - column : INV_SLICES;
	float *u = slopes ? b->u : NULL, *v = slopes ? b->v : NULL;
	double sums[INV_SLICES] = {0};

	j->k->join_keys(first, column, b->p);
	j->k->sort_keys(b->p, first->M);
	if (s->p == 2)
		j->k->compare_keys(b->p, b->q, M, s->repeat, sums, u, v);
	else
		inv_compare_keys_power(b->p, b->q, M, s->repeat, s->p, sums, u, v);
	for (size_t l = 0; l < use; l++)
		powers[column + l] = sums[l] / (double)M;
}

static void measure_slices(const sliced_job *j, const bench *b, size_t column)
{
	const inv_sliced *s = j->s;
	bool slopes = wants_slopes(s);

	j->k->join_keys(&s->second, column, b->q);
	j->k->sort_keys(b->q, s->second.M);
	compare_slices(j, b, &s->first, column, slopes, s->powers);
	for (size_t o = 0; o < s->other_count; o++)
		compare_slices(j, b, &s->others[o], column, false, s->other_powers + o * s->L);
	for (int i = 0; i < 2; i++) {
		const inv_slopes *to = &s->slopes[i];

		if (to->out && to->back)
			j->k->spread(b->u, b->v, to->back, s->second.M, to->out + column, to->stride);
		for (size_t r = 0; to->out && !to->back && r < s->second.M; r++)
			memcpy(to->out + r * to->stride + column, b->u + r * INV_SLICES,
			       INV_SLICES * sizeof(float));
	}
}

/* ---- Long sets: a line of directions joined at once, then sorted one by one --------- */

/* out [BLOCK][M]: whole cache lines are read, as rows come in any order. */
static void sort_columns(const inv_side *s, size_t column, size_t use, float *out,
                         float *scratch)
{
	for (size_t r = 0; r < s->M; r++) {
		const float *a = s->a + s->rows_a[r] * s->stride_a + column;
		const float *b = s->b ? s->b + s->rows_b[r] * s->stride_b + column : NULL;

		for (size_t l = 0; l < use; l++)
			out[l * s->M + r] = b ? a[l] + b[l] : a[l];
	}
	for (size_t l = 0; l < use; l++)
		inv_sort_floats(out + l * s->M, s->M, scratch);
}

static void measure_long(const sliced_job *j, const bench *b, size_t column, size_t use)
{
	const inv_sliced *s = j->s;
	size_t M = s->second.M;
	float *p = (float *)b->p, *q = (float *)b->q;

	sort_columns(&s->second, column, use, q, b->u);
	for (size_t o = 0; o <= s->other_count; o++) {
		const inv_side *first = o ? &s->others[o - 1] : &s->first;
		double *powers = o ? s->other_powers + (o - 1) * s->L : s->powers;

		sort_columns(first, column, use, p, b->u);
		for (size_t l = 0; l < use; l++) {
			double sum = 0;

			for (size_t r = 0; r < M; r++) {
				double gap = (double)p[l * first->M + r / s->repeat] - q[l * M + r];

				sum += s->p == 2 ? gap * gap : pow(fabs(gap), s->p);
			}
			powers[column + l] = sum / (double)M;
		}
	}
}

static void slice_block(void *user, size_t block, unsigned thread)
{
	const sliced_job *j = user;
	const inv_sliced *s = j->s;
	size_t from = block * BLOCK, end = from + BLOCK < s->L ? from + BLOCK : s->L;
	size_t M = s->second.M, keys = key_doubles(M, wants_slopes(s));
	bool long_sets = is_long(M, wants_slopes(s));
	bench b = {.p = (double *)(void *)(j->scratch + thread * j->bytes)};

	b.q = b.p + keys;
	b.u = (float *)(b.q + keys);
	b.v = b.u + M * INV_SLICES;
	if (long_sets)
		measure_long(j, &b, from, end - from);
	for (size_t l = from; !long_sets && l < end; l += INV_SLICES)
		measure_slices(j, &b, l);
}

void inv_sliced_run(const invar_context *ctx, const struct inv_kernels *k,
                    const inv_sliced *job, void *scratch)
{
	sliced_job j = {.k = k,
	                .s = job,
	                .scratch = scratch,
	                .bytes = bench_bytes(job->second.M, wants_slopes(job))};

	if (ctx)
		inv_parallel(ctx, inv_blocks(job->L, BLOCK), slice_block, &j);
	for (size_t block = 0; !ctx && block < inv_blocks(job->L, BLOCK); block++)
		slice_block(&j, block, 0);
}

double inv_sliced_distance(const double *powers, size_t L, double p)
{
	double mean = inv_sum_in_order(powers, L) / (double)L;

	return p == 2 ? sqrt(mean) : pow(mean, 1 / p);
}

double inv_sliced_slope(double distance, size_t M, size_t L, double p)
{
	return distance > 0 ? pow(distance, 1 - p) / ((double)M * (double)L) : 0;
}
