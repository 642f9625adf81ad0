/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - see attention.h. */
#include "math/attention.h"

#include <math.h>

#include "math/panels.h"

enum { QUERIES = 96 }; /* of a block: its scores stay in the L2 cache */

static uint64_t panel_floats(const inv_attention *a, size_t k, size_t n)
{
	return a->pairs ? inv_pair_panels_floats(k, n) : inv_panels_floats(k, n);
}

static inv_panels panels_at(const inv_attention *a, size_t k, size_t n, float *at)
{
	return a->pairs ? inv_pair_panels_of(k, n, at) : inv_panels_of(k, n, at);
}

uint64_t inv_attention_room(const inv_attention *a)
{
	return panel_floats(a, a->width, a->tokens) + panel_floats(a, a->tokens, a->width) +
	       inv_panels_room() + (uint64_t)QUERIES * a->tokens;
}

void inv_attention_head(const inv_attention *a, size_t head, const float *q, const float *k,
                        const float *v, float *scratch, float *out)
{
	size_t at = head * a->width, T = a->tokens;
	const float scale = (float)(1 / sqrt((double)a->width));
	/* K' [width, tokens] and V [tokens, width] of the head */
	inv_panels keys = panels_at(a, a->width, T, scratch);
	inv_panels values = panels_at(a, T, a->width, scratch + panel_floats(a, a->width, T));
	float *product = values.at + panel_floats(a, T, a->width);
	float *scores = product + inv_panels_room(); /* [QUERIES, tokens] */

	inv_panels_fill_turned(a->kernels, &keys, k + at, a->kv_stride);
	inv_panels_fill(a->kernels, &values, v + at, a->kv_stride);
	for (size_t i = 0; i < a->queries; i += QUERIES) {
		size_t rows = a->queries - i < QUERIES ? a->queries - i : QUERIES;

		inv_panels_multiply(a->kernels, &keys, rows, q + i * a->q_stride + at, a->q_stride,
		                    false, scores, T, product);
		for (float *row = scores; row < scores + rows * T; row += T) {
			float max = a->kernels->largest(row, T);
			float by = (float)(1 / a->kernels->exp_shifted(max, scale, T, row));

			for (size_t j = 0; j < T; j++)
				row[j] *= by;
		}
		inv_panels_multiply(a->kernels, &values, rows, scores, T, false,
		                    out + i * a->out_stride + at, a->out_stride, product);
	}
}

static void attend_ref(const inv_attention *a, const float *q, const float *k,
                       const float *v, double *scores, float *out)
{
	double max = -INFINITY, sum = 0;

	for (size_t j = 0; j < a->tokens; j++) {
		scores[j] = 0;
		for (size_t c = 0; c < a->width; c++)
			scores[j] += (double)q[c] * k[j * a->kv_stride + c] / sqrt((double)a->width);
		max = fmax(max, scores[j]);
	}
	for (size_t j = 0; j < a->tokens; j++)
		sum += scores[j] = exp(scores[j] - max);
	for (size_t c = 0; c < a->width; c++) {
		double mixed = 0;

		for (size_t j = 0; j < a->tokens; j++)
			mixed += scores[j] / sum * v[j * a->kv_stride + c];
		out[c] = (float)mixed;
	}
}

void inv_attention_ref(const inv_attention *a, const float *q, const float *k,
                       const float *v, double *scores, float *out)
{
	for (size_t i = 0; i < a->queries; i++)
		for (size_t at = 0; at < a->heads * a->width; at += a->width)
			attend_ref(a, q + i * a->q_stride + at, k + at, v + at, scores,
			           out + i * a->out_stride + at);
}
