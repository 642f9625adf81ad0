/* SPDX-License-Identifier: Apache-2.0 */
/* rank_sums.c - sums over ranks, whose order does not depend on the network. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/processes_inside.h"

/* ---- Sums of floats ---------------------------------------------------------------- */

enum { IDLE, SPREADING, GATHERING };

struct inv_reduction {
	invar_processes *p; /* NULL: a single rank */
	uint64_t max;
	float *parts;     /* [ranks][segment] of this rank's segment */
	uint64_t *offset; /* [ranks + 1] bytes */
	float *values;
	int state;
};

invar_status inv_reduction_new(const invar_context *ctx, uint64_t max_floats,
                               inv_reduction **out)
{
	inv_reduction *r = inv_calloc(1, sizeof *r);
	invar_processes *p = inv_ranks_of(ctx);
	unsigned size = invar_processes_size(p);

	*out = r;
	if (!r)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
	r->p = p;
	r->max = max_floats;
	if (!p)
		return INVAR_OK;
	r->parts = inv_alloc((max_floats / size + 1) * size * sizeof *r->parts);
	r->offset = inv_calloc(size + 1, sizeof *r->offset);
	if (r->parts && r->offset)
		return INVAR_OK;
	inv_reduction_free(r);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
}

void inv_reduction_free(inv_reduction *r)
{
	if (!r)
		return;
	inv_free(r->parts);
	inv_free(r->offset);
	inv_free(r);
}

static uint64_t segment_floats(const inv_reduction *r, unsigned rank)
{
	return (r->offset[rank + 1] - r->offset[rank]) / sizeof(float);
}

static float *segment(const inv_reduction *r, unsigned rank)
{
	return r->values + r->offset[rank] / sizeof(float);
}

invar_status inv_reduction_start(inv_reduction *r, float *values, uint64_t count)
{
	invar_processes *p = r->p;
	const char *why = NULL;
	unsigned me, size;
	uint64_t own;

	if (!p)
		return INVAR_OK;
	me = p->t->rank;
	size = p->t->size;
	for (unsigned i = 0; i <= size; i++)
		r->offset[i] = count * i / size * sizeof(float);
	r->values = values;
	own = segment_floats(r, me);
	for (unsigned i = 0; i < size && !why; i++) {
		if (i == me)
			continue;
		why = p->t->receive(r->parts + i * own, own * sizeof(float), i);
		if (!why)
			why = p->t->send(segment(r, i), segment_floats(r, i) * sizeof(float), i);
	}
	r->state = SPREADING;
	p->active = r;
	return why ? inv_ranks_fail(p, why) : INVAR_OK;
}

/* In the order of the ranks: the same bits however the parts arrived. */
static void add_parts(inv_reduction *r)
{
	unsigned me = r->p->t->rank, size = r->p->t->size;
	uint64_t own = segment_floats(r, me);
	float *sum = segment(r, me);

	memcpy(r->parts + me * own, sum, own * sizeof *sum);
	memcpy(sum, r->parts, own * sizeof *sum);
	for (unsigned i = 1; i < size; i++)
		for (uint64_t j = 0; j < own; j++)
			sum[j] += r->parts[i * own + j];
}

/* Goes on if what was started has ended. */
static const char *advance(inv_reduction *r, int *done)
{
	const char *why = r->p->t->test(done);

	if (why || !*done)
		return why;
	if (r->state == SPREADING) {
		add_parts(r);
		r->state = GATHERING;
		*done = 0;
		return inv_ranks_start_gather(r->p, (char *)r->values, r->offset);
	}
	r->state = IDLE;
	r->p->active = NULL;
	return NULL;
}

invar_status inv_reduction_finish(inv_reduction *r)
{
	double began = inv_wall_seconds();
	int done = 0;

	if (!r->p)
		return INVAR_OK;
	while (r->state != IDLE) {
		const char *why = r->p->broken ? "an earlier exchange failed" : advance(r, &done);

		if (why)
			return inv_ranks_fail(r->p, why);
		if (!done)
			inv_ranks_sleep(inv_wall_seconds() - began);
	}
	return INVAR_OK;
}

void inv_processes_poke(const invar_context *ctx)
{
	invar_processes *p = inv_ranks_of(ctx);
	const char *why;
	int done;

	if (!p || !p->active || p->broken)
		return;
	if ((why = advance(p->active, &done)))
		inv_ranks_fail(p, why);
}

void inv_processes_give_up(const invar_context *ctx)
{
	if (ctx->processes)
		ctx->processes->broken = true;
}

/* ---- Ordered sums ------------------------------------------------------------------ */

struct inv_ordered_sum {
	invar_processes *p; /* NULL: a single rank */
	uint64_t *first;    /* [ranks + 1] where the part of each rank starts */
	double *total;      /* of this rank */
	double *part;       /* [ranks][own part] */
};

static uint64_t part_size(const inv_ordered_sum *s, unsigned rank)
{
	return s->first[rank + 1] - s->first[rank];
}

invar_status inv_ordered_sum_new(const invar_context *ctx, uint64_t count,
                                 inv_ordered_sum **out)
{
	inv_ordered_sum *s = *out = inv_calloc(1, sizeof *s);
	unsigned size = inv_process_count(ctx), me = inv_process_rank(ctx);

	if (s)
		s->first = inv_calloc(size + 1, sizeof *s->first);
	for (unsigned r = 0; s && s->first && r <= size; r++)
		s->first[r] = count * r / size;
	if (s && s->first) {
		s->p = inv_ranks_of(ctx);
		s->total = inv_calloc(part_size(s, me) + 1, sizeof *s->total);
		s->part = inv_alloc((part_size(s, me) * size + 1) * sizeof *s->part);
	}
	if (s && s->total && s->part)
		return INVAR_OK;
	inv_ordered_sum_free(s);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
}

void inv_ordered_sum_free(inv_ordered_sum *s)
{
	if (!s)
		return;
	inv_free(s->first);
	inv_free(s->total);
	inv_free(s->part);
	inv_free(s);
}

static const char *exchange_parts(inv_ordered_sum *s, const double *own, unsigned givers)
{
	const inv_transport *t = s->p->t;
	uint64_t mine = part_size(s, t->rank);
	const char *why = NULL;

	for (unsigned r = 0; r < givers && !why; r++)
		if (r != t->rank)
			why = t->receive(s->part + r * mine, mine * sizeof *own, r);
	for (unsigned r = 0; r < t->size && t->rank < givers && !why; r++)
		if (r != t->rank)
			why = t->send(own + s->first[r], part_size(s, r) * sizeof *own, r);
	return why;
}

invar_status inv_ordered_sum_add(inv_ordered_sum *s, const double *own, unsigned givers)
{
	unsigned me = invar_processes_rank(s->p);
	uint64_t mine = part_size(s, me);
	const char *why = s->p ? exchange_parts(s, own, givers) : NULL;
	invar_status st = INVAR_OK;

	if (s->p)
		st = why ? inv_ranks_fail(s->p, why) : inv_ranks_wait(s->p);
	for (unsigned r = 0; r < givers && st == INVAR_OK; r++) {
		const double *part = r == me ? own + s->first[me] : s->part + r * mine;

		for (uint64_t i = 0; i < mine; i++)
			s->total[i] += part[i];
	}
	return st;
}

invar_status inv_ordered_sum_collect(inv_ordered_sum *s, double *all)
{
	const inv_transport *t = s->p ? s->p->t : NULL;
	const char *why = NULL;

	if (invar_processes_rank(s->p) == 0)
		memcpy(all, s->total, part_size(s, 0) * sizeof *all);
	if (!t)
		return INVAR_OK;
	for (unsigned r = 1; r < t->size && !t->rank && !why; r++)
		why = t->receive(all + s->first[r], part_size(s, r) * sizeof *all, r);
	if (t->rank)
		why = t->send(s->total, part_size(s, t->rank) * sizeof *all, 0);
	return why ? inv_ranks_fail(s->p, why) : inv_ranks_wait(s->p);
}
