/* SPDX-License-Identifier: Apache-2.0 */
/* repulsion_ref.c - the definition: every pair of points. */
#include "math/repulsion.h"

void inv_repulsion_ref(const float *y, size_t n, double *force, double *z)
{
	*z = 0;
	for (size_t i = 0; i < n; i++) {
		double f[2] = {0, 0};

		for (size_t j = 0; j < n; j++) {
			double dx = (double)y[2 * i] - y[2 * j];
			double dy = (double)y[2 * i + 1] - y[2 * j + 1];
			double k = 1 / (1 + dx * dx + dy * dy);

			*z += i == j ? 0 : k;
			f[0] += k * k * dx;
			f[1] += k * k * dy;
		}
		force[2 * i] = f[0];
		force[2 * i + 1] = f[1];
	}
}
