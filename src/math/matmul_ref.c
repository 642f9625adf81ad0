/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_ref.c - the plain triple loop, summing in double. */
#include "math/matmul.h"

static float cell(const inv_matmul_spec *s, const float *a, const float *b, size_t i,
                  size_t j)
{
	double sum = 0;

	for (size_t l = 0; l < s->k; l++) {
		float x = s->transpose_a ? a[l * s->m + i] : a[i * s->k + l];
		float y = s->transpose_b ? b[j * s->k + l] : b[l * s->n + j];

		sum += (double)x * y;
	}
	return (float)sum;
}

void inv_matmul_ref(const inv_matmul_spec *s, const float *a, const float *b,
                    const float *bias, float *c)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			float y = cell(s, a, b, i, j) + (s->bias ? bias[j] : 0);

			y += s->add ? c[i * s->n + j] : 0;
			c[i * s->n + j] = s->relu && y < 0 ? 0 : y;
		}
}
