/* SPDX-License-Identifier: Apache-2.0 */
/* structure_ref.c - the definition, two passes over all pairs in double. */
#include <math.h>

#include "measure/structure.h"

static double distance(const float *a, const float *b, uint32_t width)
{
	double sum = 0;

	for (uint32_t k = 0; k < width; k++)
		sum += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
	return sqrt(sum);
}

typedef struct moments {
	double d_mean, e_mean, dd, ee, de, gap, d_min, d_max;
} moments;

static void first_pass(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                       moments *m, inv_structure *out)
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = i + 1; j < n; j++) {
			double dist = distance(x + i * d, x + j * d, d);
			double code = distance(e + i * w, e + j * w, w);

			if (dist == 0) {
				out->zero_pairs++;
				continue;
			}
			out->pairs++;
			out->l1 = fmin(out->l1, code / dist);
			out->l2 = fmax(out->l2, code / dist);
			m->d_min = fmin(m->d_min, dist);
			m->d_max = fmax(m->d_max, dist);
			m->d_mean += dist;
			m->e_mean += code;
			m->gap += (code - dist) * (code - dist);
		}
}

static void second_pass(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                        moments *m)
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = i + 1; j < n; j++) {
			double dist = distance(x + i * d, x + j * d, d);
			double a = dist - m->d_mean;
			double b = distance(e + i * w, e + j * w, w) - m->e_mean;

			if (dist == 0)
				continue;
			m->dd += a * a;
			m->ee += b * b;
			m->de += a * b;
		}
}

void inv_structure_ref(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                       inv_structure *out)
{
	moments m = {.d_min = INFINITY};
	double pairs;

	*out = (inv_structure){.l1 = INFINITY};
	first_pass(x, d, e, w, n, &m, out);
	pairs = (double)out->pairs;
	m.d_mean /= pairs;
	m.e_mean /= pairs;
	second_pass(x, d, e, w, n, &m);
	out->m = m.de / m.dd;
	out->b = m.e_mean - out->m * m.d_mean;
	out->r2 = m.de * m.de / (m.dd * m.ee);
	out->rmsd = sqrt(m.gap / pairs);
	out->nrmsd = out->rmsd / (m.d_max - m.d_min);
	out->cvrmsd = out->rmsd / m.d_mean;
}
