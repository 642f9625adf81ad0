/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_ref.c - the definition: every distance, and for each rank a count over all rows. */
#include <math.h>

#include "math/ranks.h"

static double l2_ref(const float *a, const float *b, size_t w)
{
	double sum = 0;

	for (size_t i = 0; i < w; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

static double cosine_ref(const float *a, const float *b, size_t w)
{
	double dot = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < w; i++) {
		dot += (double)a[i] * b[i];
		aa += (double)a[i] * a[i];
		bb += (double)b[i] * b[i];
	}
	return aa > 0 && bb > 0 ? 1 - dot / (sqrt(aa) * sqrt(bb)) : 1;
}

static bool is_before(const double *distance, uint64_t a, uint64_t b)
{
	return distance[a] < distance[b] || (distance[a] == distance[b] && a < b);
}

/* The rank of a row among all, or among rows with a class except `left_out`. */
static uint32_t place_of(const inv_gallery *g, const double *distance, uint64_t row,
                         bool by_class, uint64_t left_out)
{
	uint32_t place = 1;

	for (uint64_t j = 0; j < g->n; j++)
		if (!by_class || (g->classes[j] != INV_RANKS_NO_CLASS && j != left_out))
			place += is_before(distance, j, row);
	return place;
}

static void rank_class(const inv_gallery *g, const double *distance, uint32_t class,
                       uint64_t left_out, inv_rank *out)
{
	uint64_t rows = 0;
	double sum = 0;

	for (uint64_t i = 0; i < g->n; i++) {
		uint32_t place, hits = 1;

		if (g->classes[i] != class || i == left_out)
			continue;
		rows++;
		place = place_of(g, distance, i, true, left_out);
		for (uint64_t j = 0; j < g->n; j++)
			hits += g->classes[j] == class && j != left_out && is_before(distance, j, i);
		sum += (double)hits / place;
		if (!out->first || place < out->first)
			out->first = place;
	}
	out->precision = rows ? sum / (double)rows : NAN;
}

void inv_ranks_ref(const inv_gallery *g, inv_distance distance, size_t views,
                   const inv_rank_queries *q, double *distances, inv_rank *out)
{
	for (uint64_t i = 0; i < q->count; i++) {
		for (uint64_t j = 0; j < g->n; j++) {
			distances[j] = INFINITY;
			for (size_t v = 0; v < views; v++)
				distances[j] =
					fmin(distances[j],
				         (distance == INV_L2 ? l2_ref : cosine_ref)(
							 q->rows + (i * views + v) * g->w, g->rows + j * g->w, g->w));
		}
		out[i] = (inv_rank){.precision = NAN};
		if (q->own)
			out[i].own = place_of(g, distances, q->own[i], false, 0);
		if (q->classes && q->classes[i] != INV_RANKS_NO_CLASS)
			rank_class(g, distances, q->classes[i],
			           q->leave_own_out && q->own ? q->own[i] : UINT64_MAX, &out[i]);
	}
}
