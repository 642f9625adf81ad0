/* SPDX-License-Identifier: Apache-2.0 */
/* places_ref.c - the definition: every distance, and for each place a count over all rows.
 */
#include "math/places.h"

#include <math.h>

#include "math/kernels.h"

static bool is_before(const double *distance, uint64_t a, uint64_t b)
{
	return distance[a] < distance[b] || (distance[a] == distance[b] && a < b);
}

/* The place of a row among all, or among rows with a class except `left_out`. */
static uint32_t place_of(const inv_gallery *g, const double *distance, uint64_t row,
                         bool by_class, uint64_t left_out)
{
	uint32_t place = 1;

	for (uint64_t j = 0; j < g->n; j++)
		if (!by_class || (g->classes[j] != INV_PLACES_NO_CLASS && j != left_out))
			place += is_before(distance, j, row);
	return place;
}

static void place_class_ref(const inv_gallery *g, const double *distance, uint32_t class,
                            uint64_t left_out, inv_place *out)
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

void inv_places_ref(const inv_gallery *g, inv_distance distance, size_t views,
                    const inv_place_queries *q, double *distances, inv_place *out)
{
	struct inv_kernels k;

	inv_kernels_ref(&k);
	for (uint64_t i = 0; i < q->count; i++) {
		for (uint64_t j = 0; j < g->n; j++) {
			const float *row = g->rows + j * g->w;

			distances[j] = INFINITY;
			for (size_t v = 0; v < views; v++) {
				const float *a = q->rows + (i * views + v) * g->w;
				double aa = k.dot(a, a, g->w), bb = k.dot(row, row, g->w), d = 1;

				if (distance == INV_L2)
					d = k.squared_distance(a, row, g->w);
				else if (aa > 0 && bb > 0)
					d = 1 - k.dot(a, row, g->w) / (sqrt(aa) * sqrt(bb));
				distances[j] = fmin(distances[j], d);
			}
		}
		out[i] = (inv_place){.precision = NAN};
		if (q->own)
			out[i].own = place_of(g, distances, q->own[i], false, 0);
		if (q->classes && q->classes[i] != INV_PLACES_NO_CLASS)
			place_class_ref(g, distances, q->classes[i],
			                q->leave_own_out && q->own ? q->own[i] : UINT64_MAX, &out[i]);
	}
}
