/* SPDX-License-Identifier: Apache-2.0 */
/* invariance.c - displacement and spread, see invariance.h. */
#include "measure/invariance.h"

#include <math.h>

#include "math/kernels.h"

double inv_displacement_gone(const invar_context *ctx, const float *clean,
                             const float *copies, const float *adapted, uint64_t n,
                             size_t w)
{
	struct inv_kernels kernels;
	double before = 0, after = 0;

	inv_kernels_init(&kernels, ctx->cpu);
	for (uint64_t i = 0; i < n; i++) {
		before += kernels.squared_distance(copies + i * w, clean + i * w, w);
		after += kernels.squared_distance(adapted + i * w, clean + i * w, w);
	}
	return before > 0 ? 1 - after / before : NAN;
}

void inv_spread_add(inv_spread *s, const float *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		for (size_t k = 0; k < s->w; k++) {
			double x = rows[i * s->w + k] - s->origin[k];

			s->sum[k] += x;
			s->square += x * x;
		}
	s->rows += count;
}

double inv_spread_value(const inv_spread *s)
{
	double n = (double)s->rows, shift = 0;

	for (size_t k = 0; k < s->w; k++)
		shift += s->sum[k] / n * (s->sum[k] / n);
	return sqrt(fmax(s->square / n - shift, 0));
}
