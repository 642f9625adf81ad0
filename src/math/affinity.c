/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity.c - perplexities by a guarded Newton search, then the sparse P.
 *
 * The entropy falls with log beta, and its slope is known: -beta^2 times the variance of
 * the squared distances. A step of Newton's that leaves the bracket is replaced by
 * bisection, so the search cannot fail where there is a solution.
 */
#include "math/affinity.h"

#include <math.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"
#include "math/neighbour_graph.h"

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
		double all = 0, first = 0, second = 0, slope, excess, next;

		/* The entropy of distances seen from the nearest, and its slope by log beta. */
		*beta = exp(x);
		for (size_t j = 0; j < k; j++) {
			double gap = squared[j] - squared[0], w = exp(-*beta * gap);

			all += w;
			first += w * gap;
			second += w * gap * gap;
		}
		first /= all;
		*sum = all;
		slope = -*beta * *beta * (second / all - first * first);
		excess = log(all) + *beta * first - target;
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

invar_status inv_affinity_join(size_t n, size_t k, const uint32_t *index, const float *p,
                               inv_affinity *out)
{
	const inv_lists lists = {.n = n, .count = k, .stride = k, .index = index};
	inv_graph g;
	invar_status st;

	*out = (inv_affinity){.n = n};
	INV_TRY(inv_graph_mean(&lists, p, &g));
	INV_TRY_OR(fail, inv_new_array(&out->row, n + 1));
	out->row[0] = 0;
	for (size_t i = 0; i < n; i++) {
		size_t edges = g.start[i + 1] - g.start[i];

		out->row[i + 1] = out->row[i] + inv_blocks(edges, INV_EDGES) * INV_EDGES;
	}
	INV_TRY_OR(fail, inv_new_array(&out->index, out->row[n]));
	INV_TRY_OR(fail, inv_new_array(&out->weight, out->row[n]));
	for (size_t i = 0; i < n; i++)
		for (size_t at = out->row[i], e = g.start[i]; at < out->row[i + 1]; at++, e++) {
			bool edge = e < g.start[i + 1];

			out->index[at] = edge ? g.to[e] : (uint32_t)i;
			out->weight[at] = edge ? (float)(g.weight[e] / (double)n) : 0;
		}
	inv_graph_free(&g);
	return INVAR_OK;
fail:
	inv_graph_free(&g);
	inv_affinity_clear(out);
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
	INV_TRY(inv_new_zeros(&j.sums, blocks));
	inv_parallel(ctx, blocks, diverge_block, &j);
	*kl = inv_sum_in_order(j.sums, blocks);
	inv_free(j.sums);
	return INVAR_OK;
}
