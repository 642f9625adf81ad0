/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity.c - perplexities by a guarded Newton search, then the sparse P.
 *
 * The entropy falls with log beta, and its slope is known: -beta^2 times the variance of
 * the squared distances. A step of Newton's that leaves the bracket is replaced by
 * bisection, so the search cannot fail where there is a solution.
 *
 * P needs the neighbours of a point and those whose neighbour it is, merged. Both lists
 * come out ascending when edges are counted and placed by their other end, twice: no list
 * is sorted.
 */
#include "math/affinity.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"

enum { BLOCK = 256, MAX_STEPS = 200 }; /* points per block */

static const double farthest = 60;       /* from the first guess, in log beta */
static const double exact_enough = 1e-9; /* of the entropy */

/* ---- Perplexity --------------------------------------------------------------------- */

typedef struct conditional_job {
	const double *squared;
	size_t n, k;
	double target;
	float *p;
	double *betas;
	bool *reached;
} conditional_job;

/* Entropy at beta of distances seen from the nearest; *slope is its derivative by log beta.
 */
static double entropy_at(const double *squared, size_t k, double beta, double *sum,
                         double *slope)
{
	double all = 0, first = 0, second = 0;

	for (size_t j = 0; j < k; j++) {
		double gap = squared[j] - squared[0], w = exp(-beta * gap);

		all += w;
		first += w * gap;
		second += w * gap * gap;
	}
	first /= all;
	*sum = all;
	*slope = -beta * beta * (second / all - first * first);
	return log(all) + beta * first;
}

/* False if no beta is near the target. */
static bool find_beta(const double *squared, size_t k, double target, double *beta,
                      double *sum)
{
	double mean = 0, x, guess, low = -INFINITY, high = INFINITY, step = 1;

	for (size_t j = 0; j < k; j++)
		mean += (squared[j] - squared[0]) / (double)k;
	*beta = 0;
	*sum = (double)k;
	if (!(mean > 0))
		return false;
	guess = x = -log(mean);
	for (size_t i = 0; i < MAX_STEPS && fabs(x - guess) < farthest; i++) {
		double slope, excess, next;

		*beta = exp(x);
		excess = entropy_at(squared, k, *beta, sum, &slope) - target;
		if (fabs(excess) < exact_enough)
			return true;
		if (excess > 0)
			low = x;
		else
			high = x;
		next = x - excess / slope;
		if (!(next > low && next < high) || fabs(next - x) > 4) {
			next = isinf(low) ? x - step : isinf(high) ? x + step : (low + high) / 2;
			step *= 2;
		}
		if (next == x)
			return true;
		x = next;
	}
	return false;
}

static void find_conditional(void *user, size_t block, unsigned thread)
{
	const conditional_job *j = user;
	size_t end = (block + 1) * BLOCK < j->n ? (block + 1) * BLOCK : j->n;

	(void)thread;
	for (size_t i = block * BLOCK; i < end; i++) {
		const double *squared = j->squared + i * j->k;
		double beta, sum;

		j->reached[i] = find_beta(squared, j->k, j->target, &beta, &sum);
		for (size_t m = 0; m < j->k; m++)
			j->p[i * j->k + m] = (float)(exp(-beta * (squared[m] - squared[0])) / sum);
		if (j->betas)
			j->betas[i] = beta;
	}
}

void inv_conditional(const invar_context *ctx, const double *squared, size_t n, size_t k,
                     double perplexity, float *p, double *betas, bool *reached)
{
	conditional_job j = {squared, n, k, log(perplexity), p, betas, reached};

	inv_parallel(ctx, inv_blocks(n, BLOCK), find_conditional, &j);
}

/* ---- P ------------------------------------------------------------------------------ */

/* Edges by their other end: for each point, from whom and how much, ascending. */
typedef struct incoming {
	size_t *begin; /* [n + 1] */
	uint32_t *from;
	float *p;
} incoming;

static void place_by_target(size_t n, size_t k, const uint32_t *index, const float *p,
                            incoming *in)
{
	memset(in->begin, 0, (n + 1) * sizeof *in->begin);
	for (size_t e = 0; e < n * k; e++)
		in->begin[index[e] + 1]++;
	for (size_t i = 0; i < n; i++)
		in->begin[i + 1] += in->begin[i];
	for (size_t e = 0; e < n * k; e++) {
		size_t at = in->begin[index[e]]++;

		in->from[at] = (uint32_t)(e / k);
		in->p[at] = p[e];
	}
	memmove(in->begin + 1, in->begin, n * sizeof *in->begin);
	in->begin[0] = 0;
}

/* And back: the k edges of each point, now by neighbour. */
static void place_by_source(size_t n, size_t k, const incoming *in, size_t *filled,
                            uint32_t *index, float *p)
{
	memset(filled, 0, n * sizeof *filled);
	for (size_t j = 0; j < n; j++)
		for (size_t e = in->begin[j]; e < in->begin[j + 1]; e++) {
			size_t i = in->from[e], at = i * k + filled[i]++;

			index[at] = (uint32_t)j;
			p[at] = in->p[e];
		}
}

typedef struct join_job {
	size_t n, k;
	const uint32_t *index;
	const float *p;
	const incoming *in;
	inv_affinity *out;
} join_job;

/* Merges both lists of point i into its row, or counts with index NULL. */
static size_t merge_lists(const join_job *j, size_t i, uint32_t *index, float *weight)
{
	const uint32_t *own = j->index + i * j->k, *from = j->in->from + j->in->begin[i];
	const float *p = j->p + i * j->k, *q = j->in->p + j->in->begin[i];
	size_t a = 0, b = 0, count = 0, arrived = j->in->begin[i + 1] - j->in->begin[i];

	while (a < j->k || b < arrived) {
		uint32_t left = a < j->k ? own[a] : UINT32_MAX;
		uint32_t right = b < arrived ? from[b] : UINT32_MAX;
		double sum = 0;

		if (left <= right)
			sum += (double)p[a++];
		if (right <= left)
			sum += (double)q[b++];
		if (index) {
			index[count] = left < right ? left : right;
			weight[count] = (float)(sum / (2 * (double)j->n));
		}
		count++;
	}
	return count;
}

static size_t padded(size_t edges)
{
	return inv_blocks(edges, INV_EDGES) * INV_EDGES;
}

static void count_block(void *user, size_t block, unsigned thread)
{
	const join_job *j = user;

	(void)thread;
	for (size_t i = block * BLOCK; i < j->n && i < (block + 1) * BLOCK; i++)
		j->out->row[i + 1] = padded(merge_lists(j, i, NULL, NULL));
}

static void fill_block(void *user, size_t block, unsigned thread)
{
	const join_job *j = user;
	const inv_affinity *a = j->out;

	(void)thread;
	for (size_t i = block * BLOCK; i < j->n && i < (block + 1) * BLOCK; i++) {
		size_t at =
			a->row[i] + merge_lists(j, i, a->index + a->row[i], a->weight + a->row[i]);

		for (; at < a->row[i + 1]; at++) {
			a->index[at] = (uint32_t)i;
			a->weight[at] = 0;
		}
	}
}

static invar_status join_lists(const invar_context *ctx, join_job *j)
{
	inv_affinity *a = j->out;

	a->n = j->n;
	a->row[0] = 0;
	inv_parallel(ctx, inv_blocks(j->n, BLOCK), count_block, j);
	for (size_t i = 0; i < j->n; i++)
		a->row[i + 1] += a->row[i];
	a->index = inv_alloc(a->row[j->n] * sizeof *a->index);
	a->weight = inv_alloc(a->row[j->n] * sizeof *a->weight);
	if (!a->index || !a->weight)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the affinities of %zu points",
		                j->n);
	inv_parallel(ctx, inv_blocks(j->n, BLOCK), fill_block, j);
	return INVAR_OK;
}

invar_status inv_affinity_join(const invar_context *ctx, size_t n, size_t k,
                               uint32_t *index, float *p, inv_affinity *out)
{
	incoming in = {inv_alloc((n + 1) * sizeof *in.begin),
	               inv_alloc(n * k * sizeof *in.from), inv_alloc(n * k * sizeof *in.p)};
	join_job j = {n, k, index, p, &in, out};
	invar_status st;

	*out = (inv_affinity){.row = inv_alloc((n + 1) * sizeof *out->row)};
	if (in.begin && in.from && in.p && out->row) {
		place_by_target(n, k, index, p, &in);
		place_by_source(n, k, &in, out->row, index, p);
		st = join_lists(ctx, &j);
	} else {
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for the affinities of %zu points",
		              n);
	}
	if (st != INVAR_OK)
		inv_affinity_clear(out);
	inv_free(in.begin);
	inv_free(in.from);
	inv_free(in.p);
	return st;
}

void inv_affinity_clear(inv_affinity *a)
{
	inv_free(a->row);
	inv_free(a->index);
	inv_free(a->weight);
	*a = (inv_affinity){0};
}

/* ---- Attraction and divergence ----------------------------------------------------- */

typedef struct attract_job {
	const inv_affinity *a;
	struct inv_kernels kernels;
	const float *y;
	float *force;
	double *sums; /* by block */
	double log_z;
} attract_job;

static void attract_block(void *user, size_t block, unsigned thread)
{
	const attract_job *j = user;
	const inv_affinity *a = j->a;

	(void)thread;
	for (size_t i = block * BLOCK; i < a->n && i < (block + 1) * BLOCK; i++)
		j->kernels.attract(j->y, i, a->index + a->row[i], a->weight + a->row[i],
		                   a->row[i + 1] - a->row[i], j->force + 2 * i);
}

void inv_affinity_attract(const invar_context *ctx, const inv_affinity *a, const float *y,
                          float *force)
{
	attract_job j = {.a = a, .y = y, .force = force};

	inv_kernels_init(&j.kernels, ctx->cpu);
	inv_parallel(ctx, inv_blocks(a->n, BLOCK), attract_block, &j);
}

static void diverge_block(void *user, size_t block, unsigned thread)
{
	const attract_job *j = user;
	const inv_affinity *a = j->a;
	double sum = 0;

	(void)thread;
	for (size_t i = block * BLOCK; i < a->n && i < (block + 1) * BLOCK; i++)
		for (size_t e = a->row[i]; e < a->row[i + 1]; e++) {
			const float *other = j->y + 2 * (size_t)a->index[e];
			double dx = (double)j->y[2 * i] - other[0];
			double dy = (double)j->y[2 * i + 1] - other[1], p = a->weight[e];

			if (p > 0)
				sum += p * (log(p * (1 + dx * dx + dy * dy)) + j->log_z);
		}
	j->sums[block] = sum;
}

invar_status inv_affinity_divergence(const invar_context *ctx, const inv_affinity *a,
                                     const float *y, double z, double *kl)
{
	size_t blocks = inv_blocks(a->n, BLOCK);
	attract_job j = {.a = a, .y = y, .log_z = log(z)};

	*kl = NAN;
	if (!(j.sums = inv_calloc(blocks, sizeof *j.sums)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a divergence");
	inv_parallel(ctx, blocks, diverge_block, &j);
	*kl = inv_sum_in_order(j.sums, blocks);
	inv_free(j.sums);
	return INVAR_OK;
}
