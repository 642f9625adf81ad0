/* matmul_ref.c - the plain triple loop, summing in double. */
#include "math/matmul.h"

static float cell(const inv_matmul_spec *s, const inv_strides *apart, const float *a,
                  const float *b, size_t i, size_t j)
{
	double sum = 0;

	for (size_t l = 0; l < s->k; l++) {
		float x = s->transpose_a ? a[l * apart->a + i] : a[i * apart->a + l];
		float y = s->transpose_b ? b[j * apart->b + l] : b[l * apart->b + j];

		sum += (double)x * y;
	}
	return (float)sum;
}

void inv_gemm_strided_ref(const inv_matmul_spec *s, const inv_strides *apart, bool add,
                          const float *a, const float *b, float *c)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++)
			c[i * apart->c + j] =
				cell(s, apart, a, b, i, j) + (add ? c[i * apart->c + j] : 0);
}

void inv_matmul_ref(const inv_matmul_spec *s, const float *a, const float *b,
                    const float *bias, float *c)
{
	const inv_strides dense = {s->transpose_a ? s->m : s->k, s->transpose_b ? s->k : s->n,
	                           s->n};

	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			float y = cell(s, &dense, a, b, i, j) + (s->bias ? bias[j] : 0);

			c[i * s->n + j] = s->relu && y < 0 ? 0 : y;
		}
}
