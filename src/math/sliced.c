/*
 * sliced.c - blocks of directions, one thread each.
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

static size_t bench_bytes(size_t M)
{
	size_t keys = inv_sort_room(M) * INV_SLICES * sizeof(double);

	return 2 * keys + 2 * M * INV_SLICES * sizeof(float);
}

size_t inv_sliced_scratch(const invar_context *ctx, size_t M)
{
	return ctx->threads * bench_bytes(M);
}

static bench bench_of(const sliced_job *j, unsigned thread)
{
	size_t M = j->s->second.M, keys = inv_sort_room(M) * INV_SLICES;
	bench b = {.p = (double *)(void *)(j->scratch + thread * j->bytes)};

	b.q = b.p + keys;
	b.u = (float *)(b.q + keys);
	b.v = b.u + M * INV_SLICES;
	return b;
}

/* ---- Short sets: keys side by side ------------------------------------------------ */

static void write_slopes(const sliced_job *j, const bench *b, size_t column)
{
	size_t M = j->s->second.M;

	for (int i = 0; i < 2; i++) {
		const inv_slopes *to = &j->s->slopes[i];

		if (to->out && to->back)
			j->k->spread(b->u, b->v, to->back, M, to->out + column, to->stride);
		for (size_t r = 0; to->out && !to->back && r < M; r++)
			memcpy(to->out + r * to->stride + column, b->u + r * INV_SLICES,
			       INV_SLICES * sizeof(float));
	}
}

static void compare_slices(const sliced_job *j, const bench *b, size_t column)
{
	const inv_sliced *s = j->s;
	size_t M = s->second.M, use = s->L - column < INV_SLICES ? s->L - column : INV_SLICES;
	bool slopes = s->slopes[0].out || s->slopes[1].out;
	float *u = slopes ? b->u : NULL, *v = slopes ? b->v : NULL;
	double sums[INV_SLICES] = {0};

	j->k->join_keys(&s->first, column, b->p);
	j->k->join_keys(&s->second, column, b->q);
	j->k->sort_keys(b->p, s->first.M);
	j->k->sort_keys(b->q, M);
	if (s->p == 2)
		j->k->compare_keys(b->p, b->q, M, s->repeat, sums, u, v);
	else
		inv_compare_keys_power(b->p, b->q, M, s->repeat, s->p, sums, u, v);
	for (size_t l = 0; l < use; l++)
		s->powers[column + l] = sums[l] / (double)M;
	write_slopes(j, b, column);
}

/* ---- Long sets: one direction at a time ------------------------------------------- */

static void join_values(const inv_side *s, size_t column, float *out)
{
	const float *a = s->a + column, *b = s->b + (s->b ? column : 0);

	for (size_t r = 0; r < s->M; r++)
		out[r] = a[s->rows_a[r] * s->stride_a] + (s->b ? b[s->rows_b[r] * s->stride_b] : 0);
}

static void compare_long(const sliced_job *j, const bench *b, size_t column)
{
	const inv_sliced *s = j->s;
	size_t M = s->second.M;
	float *p = (float *)b->p, *q = (float *)b->q;
	double sum = 0;

	join_values(&s->first, column, p);
	join_values(&s->second, column, q);
	inv_sort_floats(p, s->first.M, b->u);
	inv_sort_floats(q, M, b->u);
	for (size_t r = 0; r < M; r++) {
		double gap = (double)p[r / s->repeat] - q[r];

		sum += s->p == 2 ? gap * gap : pow(fabs(gap), s->p);
	}
	s->powers[column] = sum / (double)M;
}

static void run_block(void *user, size_t block, unsigned thread)
{
	const sliced_job *j = user;
	const inv_sliced *s = j->s;
	size_t from = block * BLOCK, end = from + BLOCK < s->L ? from + BLOCK : s->L;
	bool long_sets = !s->slopes[0].out && !s->slopes[1].out && s->second.M >= INV_SORT_LONG;
	bench b = bench_of(j, thread);

	for (size_t l = from; long_sets && l < end; l++)
		compare_long(j, &b, l);
	for (size_t l = from; !long_sets && l < end; l += INV_SLICES)
		compare_slices(j, &b, l);
}

void inv_sliced_run(const invar_context *ctx, const struct inv_kernels *k,
                    const inv_sliced *job, void *scratch)
{
	sliced_job j = {
		.k = k, .s = job, .scratch = scratch, .bytes = bench_bytes(job->second.M)};

	inv_parallel(ctx, inv_blocks(job->L, BLOCK), run_block, &j);
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
