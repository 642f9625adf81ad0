/* SPDX-License-Identifier: Apache-2.0 */
/* tsne_descent.c - gradient descent with momentum and a gain for each coordinate. */
#include "measure/tsne_descent.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/repulsion.h"

enum {
	BLOCK = 4096,  /* coordinates */
	CHECK = 50,    /* iterations between two looks at the divergence */
	PATIENCE = 300 /* iterations without progress that end a phase */
};

static const float least_gain = 0.01f;
static const double least_gradient = 1e-7; /* norm of a gradient that ends a phase */

typedef struct descent {
	const invar_context *ctx;
	const inv_affinity *joint;
	const inv_descent *o;
	inv_repulsion *repulsion;
	size_t values; /* 2 n */
	float *y, *pull, *update, *gains;
	double *push, *norms; /* [values], [blocks] */
	double z;
	float momentum;
	double exaggeration; /* of the running phase */
} descent;

/* ---- One iteration ------------------------------------------------------------------ */

static void step_block(void *user, size_t block, unsigned thread)
{
	const descent *d = user;
	size_t end = (block + 1) * BLOCK < d->values ? (block + 1) * BLOCK : d->values;
	double norm = 0;

	(void)thread;
	for (size_t i = block * BLOCK; i < end; i++) {
		float g = (float)(4 * (d->exaggeration * d->pull[i] - d->push[i] / d->z));
		float gain = d->update[i] * g < 0 ? d->gains[i] + 0.2f : d->gains[i] * 0.8f;

		d->gains[i] = gain > least_gain ? gain : least_gain;
		g *= d->gains[i];
		norm += (double)g * g;
		d->update[i] = d->momentum * d->update[i] - (float)d->o->learning_rate * g;
		d->y[i] += d->update[i];
	}
	d->norms[block] = norm;
}

static invar_status find_forces(descent *d)
{
	inv_affinity_attract(d->ctx, d->joint, d->y, d->pull);
	return inv_repulsion_find(d->repulsion, d->y, d->push, &d->z);
}

static invar_status diverged(uint64_t iteration)
{
	return inv_fail(INVAR_E_NUMERIC,
	                "the embedding diverged at iteration %" PRIu64 "; lower @learning-rate",
	                iteration);
}

/* ---- Phases ---------------------------------------------------------------------------
 */

/* Iterations from *done on, up to `end` or until there is nothing to gain. */
static invar_status run_phase(descent *d, uint64_t end, uint64_t *done)
{
	size_t blocks = inv_blocks(d->values, BLOCK);
	double best = INFINITY, kl;
	uint64_t best_at = *done;
	invar_status st;

	memset(d->update, 0, d->values * sizeof *d->update);
	for (size_t i = 0; i < d->values; i++)
		d->gains[i] = 1;
	while (*done < end) {
		bool look = (*done + 1) % CHECK == 0;

		if ((st = inv_progress(d->ctx, "t-SNE", *done, d->o->iterations)) != INVAR_OK)
			return st;
		if ((st = find_forces(d)) != INVAR_OK)
			return st == INVAR_E_NUMERIC ? diverged(*done) : st;
		if (look &&
		    (st = inv_affinity_divergence(d->ctx, d->joint, d->y, d->z, &kl)) != INVAR_OK)
			return st;
		inv_parallel(d->ctx, blocks, step_block, d);
		++*done;
		if (!look)
			continue;
		if (kl < best) {
			best = kl;
			best_at = *done;
		}
		if (*done - best_at > PATIENCE ||
		    sqrt(inv_sum_in_order(d->norms, blocks)) <= least_gradient)
			break;
	}
	return INVAR_OK;
}

static invar_status run_phases(descent *d, uint64_t *done, double *kl)
{
	uint64_t early = d->o->early < d->o->iterations ? d->o->early : d->o->iterations;
	invar_status st;

	d->exaggeration = d->o->exaggeration;
	d->momentum = 0.5f;
	if ((st = run_phase(d, early, done)) != INVAR_OK)
		return st;
	d->exaggeration = 1;
	d->momentum = 0.8f;
	if ((st = run_phase(d, d->o->iterations, done)) != INVAR_OK)
		return st;
	if ((st = inv_repulsion_find(d->repulsion, d->y, d->push, &d->z)) != INVAR_OK)
		return st == INVAR_E_NUMERIC ? diverged(*done) : st;
	return inv_affinity_divergence(d->ctx, d->joint, d->y, d->z, kl);
}

invar_status inv_tsne_descend(const invar_context *ctx, const inv_affinity *joint,
                              const inv_descent *o, float *y, uint64_t *done, double *kl)
{
	size_t values = 2 * joint->n;
	descent d = {.ctx = ctx, .joint = joint, .o = o, .values = values, .y = y};
	invar_status st = inv_repulsion_new(ctx, joint->n, &d.repulsion);

	*done = 0;
	*kl = NAN;
	d.pull = inv_alloc(values * sizeof *d.pull);
	d.update = inv_alloc(values * sizeof *d.update);
	d.gains = inv_alloc(values * sizeof *d.gains);
	d.push = inv_alloc(values * sizeof *d.push);
	d.norms = inv_alloc(inv_blocks(values, BLOCK) * sizeof *d.norms);
	if (st == INVAR_OK && (!d.pull || !d.update || !d.gains || !d.push || !d.norms))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory to embed %zu points", joint->n);
	if (st == INVAR_OK)
		st = run_phases(&d, done, kl);
	inv_repulsion_free(d.repulsion);
	inv_free(d.pull);
	inv_free(d.update);
	inv_free(d.gains);
	inv_free(d.push);
	inv_free(d.norms);
	return st;
}
