/* SPDX-License-Identifier: Apache-2.0 */
/* retrieval.c - ranks as recall and average precision, see retrieval.h. */
#include "measure/retrieval.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"

static const uint32_t reach[INV_PRECISION] = {1, 5, 10};

bool inv_retrieval_figures(inv_sought sought, const inv_rank *rank,
                           double figures[INV_FIGURES])
{
	uint32_t place = sought == INV_SAME_IMAGE ? rank->own : rank->first;

	if (!place)
		return false;
	for (int i = 0; i < INV_PRECISION; i++)
		figures[i] = place <= reach[i];
	figures[INV_PRECISION] = sought == INV_SAME_IMAGE ? 1.0 / place : rank->precision;
	return true;
}

static void average(inv_sought sought, const inv_rank *ranks, uint64_t count,
                    inv_retrieval *out)
{
	*out = (inv_retrieval){{0}, 0};
	for (uint64_t i = 0; i < count; i++) {
		double figures[INV_FIGURES];

		if (!inv_retrieval_figures(sought, &ranks[i], figures))
			continue;
		out->queries++;
		for (int f = 0; f < INV_FIGURES; f++)
			out->figure[f] += figures[f];
	}
	for (int f = 0; f < INV_FIGURES; f++)
		out->figure[f] = out->queries ? out->figure[f] / (double)out->queries : NAN;
}

invar_status inv_retrieval_measure(const invar_context *ctx, const inv_gallery *g,
                                   inv_distance distance, const inv_rank_queries *q,
                                   inv_sought sought, inv_retrieval *out)
{
	inv_rank *ranks = inv_calloc(q->count ? q->count : 1, sizeof *ranks);
	inv_ranks *p = NULL;
	invar_status st =
		ranks
			? inv_ranks_new(ctx, g, distance, &p)
			: inv_fail(INVAR_E_NOMEM,
	                   "not enough memory for the ranks of %" PRIu64 " queries", q->count);

	if (st == INVAR_OK) {
		inv_ranks_find(p, q, ranks);
		average(sought, ranks, q->count, out);
	}
	inv_ranks_free(p);
	inv_free(ranks);
	return st;
}
