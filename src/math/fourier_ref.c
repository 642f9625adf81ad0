/* SPDX-License-Identifier: Apache-2.0 */
/* fourier_ref.c - the kernels of fourier.h for any machine, and attraction in plain C. */
#include "math/fourier.h"

static void attract_ref(const float *y, size_t self, const uint32_t *index,
                        const float *weight, size_t count, float force[2])
{
	float x0 = y[2 * self], x1 = y[2 * self + 1], f0 = 0, f1 = 0;

	for (size_t i = 0; i < count; i++) {
		float d0 = x0 - y[2 * (size_t)index[i]], d1 = x1 - y[2 * (size_t)index[i] + 1];
		float w = weight[i] / (1 + (d0 * d0 + d1 * d1));

		f0 += w * d0;
		f1 += w * d1;
	}
	force[0] = f0;
	force[1] = f1;
}

void inv_kernels_fourier_ref(struct inv_kernels *k)
{
	set_fourier(k);
	k->attract = attract_ref;
}
