/* SPDX-License-Identifier: Apache-2.0 */
/* positions.c - see positions.h. */
#include "encoders/positions.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* DINO's code compares pixels, so 33 x 32 with patch 8 is resized although it has 4 x 4
 * patches. */
bool inv_positions_differ(inv_pos way, size_t grid, size_t rows, size_t cols, size_t h,
                          size_t w)
{
	if (way == INV_POS_TIMM)
		return rows != grid || cols != grid;
	return rows * cols != grid * grid || h != w;
}

static double cubic_weight(double x, double a)
{
	x = fabs(x);
	if (x < 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Output i of n takes row i of weights [n, grid] of the table's rows. */
static void axis_weights(inv_pos way, size_t grid, size_t n, double *weights)
{
	double step = (double)grid / ((double)n + (way == INV_POS_DINO ? 0.1 : 0));
	double wide = step > 1 ? step : 1;

	for (size_t i = 0; i < n; i++, weights += grid) {
		double centre = ((double)i + 0.5) * step, below = floor(centre - 0.5), sum = 0;

		if (way == INV_POS_TIMM) {
			for (size_t j = 0; j < grid; j++)
				sum += weights[j] = cubic_weight(((double)j + 0.5 - centre) / wide, -0.5);
			for (size_t j = 0; j < grid; j++)
				weights[j] /= sum;
			continue;
		}
		memset(weights, 0, grid * sizeof *weights);
		for (int tap = -1; tap <= 2; tap++) {
			double at = below + tap;
			size_t clamped = at < 0 ? 0 : at > (double)grid - 1 ? grid - 1 : (size_t)at;

			weights[clamped] += cubic_weight(centre - 0.5 - at, -0.75);
		}
	}
}

invar_status inv_positions_fit(inv_pos way, const float *table, size_t grid, size_t width,
                               size_t rows, size_t cols, float *out)
{
	double *down, *across, *sums;

	INV_TRY(inv_new_zeros(&down, rows * grid + cols * grid + width));
	across = down + rows * grid;
	sums = across + cols * grid;
	axis_weights(way, grid, rows, down);
	axis_weights(way, grid, cols, across);
	for (size_t i = 0; i < rows * cols; i++, out += width) {
		const double *y = down + i / cols * grid, *x = across + i % cols * grid;

		memset(sums, 0, width * sizeof *sums);
		for (size_t u = 0; u < grid; u++)
			for (size_t v = 0; y[u] != 0 && v < grid; v++) {
				const float *row = table + (u * grid + v) * width;
				double weight = y[u] * x[v];

				for (size_t c = 0; weight != 0 && c < width; c++)
					sums[c] += weight * row[c];
			}
		for (size_t c = 0; c < width; c++)
			out[c] = (float)sums[c];
	}
	inv_free(down);
	return INVAR_OK;
}

/* Each step is rounded to float32, as in the published code. */
void inv_positions_rotary(double base, size_t half, size_t rows, size_t cols,
                          float *cosines, float *sines)
{
	const float turn = (float)(2 * M_PI);

	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < cols; j++)
			for (size_t a = 0; a < half; a++, cosines++, sines++) {
				bool down = a < half / 2;
				size_t at = down ? i : j, of = down ? rows : cols;
				double power = (double)(a % (half / 2)) * 2 / (double)half;
				float frequency = 1 / powf((float)base, (float)power);
				float centre = 2 * (((float)at + 0.5f) / (float)of) - 1;
				float angle = turn * centre * frequency;

				*cosines = cosf(angle);
				*sines = sinf(angle);
			}
}
