/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbours_on_arrays.c - the nearest rows of the caller's arrays.
 *
 * The search of invar_eval for programs that have no bank. Rows that are not finite are an
 * error here, as they are when a bank is read.
 */
#include <inttypes.h>
#include <math.h>

#include "base/context.h"
#include "math/kernels.h"
#include "math/neighbours.h"

enum { BLOCK = 2048 }; /* queries between two calls of the hooks */

static invar_status check_neighbour_rows(const invar_context *ctx, const char *name,
                                         const float *x, uint64_t count, uint32_t dim)
{
	struct inv_kernels kernels;

	if (!count || !dim)
		return inv_fail(INVAR_E_USE, "%s must not be empty", name);
	if (count >= UINT32_MAX)
		return inv_fail(INVAR_E_USE, "%s: %" PRIu64 " rows are more than %" PRIu32, name,
		                count, UINT32_MAX - 1);
	inv_kernels_init(&kernels, ctx->cpu);
	for (uint64_t i = 0; i < count; i++)
		if (!kernels.all_finite(x + i * dim, dim))
			return inv_fail(INVAR_E_NUMERIC, "%s: row %" PRIu64 " is not finite", name, i);
	return INVAR_OK;
}

invar_status invar_neighbours(invar_context *ctx, const float *gallery, uint64_t n,
                              const float *queries, uint64_t m, uint32_t dim, uint32_t k,
                              uint32_t *index, double *distance)
{
	inv_neighbours *p = NULL;
	invar_status st;

	INV_TRY(check_neighbour_rows(ctx, "gallery", gallery, n, dim));
	INV_TRY(check_neighbour_rows(ctx, "queries", queries, m, dim));
	if (!k || k > n)
		return inv_fail(INVAR_E_USE, "k must be 1 to %" PRIu64 ", the rows of the gallery",
		                n);

	INV_TRY_OR(end, inv_neighbours_new(ctx, gallery, n, dim, NULL, k, &p));
	for (uint64_t first = 0; first < m; first += BLOCK) {
		uint64_t now = m - first < BLOCK ? m - first : BLOCK;

		INV_TRY_OR(end, inv_progress(ctx, "neighbours", first, m));
		inv_nearest(p, queries + first * dim, now, index + first * k, distance + first * k);
	}
	for (uint64_t i = 0; i < m * k; i++)
		distance[i] = sqrt(distance[i]);
	st = INVAR_OK;
end:
	inv_neighbours_free(p);
	return st;
}
