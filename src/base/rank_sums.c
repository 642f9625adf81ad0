/* SPDX-License-Identifier: Apache-2.0 */
/* rank_sums.c - sums over ranks, whose order does not depend on the network. */
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/processes_inside.h"

struct inv_ordered_sum {
	inv_processes *p; /* NULL: a single rank */
	uint64_t *first;  /* [ranks + 1] where the part of each rank starts */
	double *total;    /* of this rank */
	double *part;     /* [ranks][own part] */
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
	unsigned me = inv_processes_rank(s->p);
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

	if (inv_processes_rank(s->p) == 0)
		memcpy(all, s->total, part_size(s, 0) * sizeof *all);
	if (!t)
		return INVAR_OK;
	for (unsigned r = 1; r < t->size && !t->rank && !why; r++)
		why = t->receive(all + s->first[r], part_size(s, r) * sizeof *all, r);
	if (t->rank)
		why = t->send(s->total, part_size(s, t->rank) * sizeof *all, 0);
	return why ? inv_ranks_fail(s->p, why) : inv_ranks_wait(s->p);
}
