/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - see attention.h. */
#include "math/attention.h"

#include <math.h>

#include "math/panels.h"

enum { QUERIES = 96 }; /* of a block: its scores stay in the L2 cache */

static double scale_of(const inv_attention *a)
{
	return 1 / sqrt((double)a->width);
}

typedef struct spaces {
	inv_panels keys, values; /* K' [width, tokens] and V [tokens, width] of a head */
	float *scores;           /* [QUERIES, tokens] */
	float *product;          /* what products need */
} spaces;

static spaces cut_room(const inv_attention *a, float *size)
{
	uint64_t keys = inv_panels_floats(a->width, a->tokens);
	uint64_t values = inv_panels_floats(a->tokens, a->width);

	return (spaces){.keys = inv_panels_of(a->width, a->tokens, size),
	                .values = inv_panels_of(a->tokens, a->width, size + keys),
	                .product = size + keys + values,
	                .scores = size + keys + values + inv_panels_room()};
}

uint64_t inv_attention_room(const inv_attention *a)
{
	return inv_panels_floats(a->width, a->tokens) + inv_panels_floats(a->tokens, a->width) +
	       inv_panels_room() + (uint64_t)QUERIES * a->tokens;
}

static void softmax_row(const inv_attention *a, float *scores)
{
	float max = a->kernels->largest(scores, a->tokens);
	double sum = a->kernels->exp_shifted(max, (float)scale_of(a), a->tokens, scores);
	float share = (float)(1 / sum);

	for (size_t j = 0; j < a->tokens; j++)
		scores[j] *= share;
}

void inv_attention_head(const inv_attention *a, size_t head, const float *q, const float *k,
                        const float *v, float *size, float *out)
{
	const spaces s = cut_room(a, size);
	size_t at = head * a->width, T = a->tokens;

	inv_panels_fill_turned(a->kernels, &s.keys, k + at, a->kv_stride);
	inv_panels_fill(a->kernels, &s.values, v + at, a->kv_stride);
	for (size_t i = 0; i < a->queries; i += QUERIES) {
		size_t rows = a->queries - i < QUERIES ? a->queries - i : QUERIES;

		inv_panels_multiply(a->kernels, &s.keys, rows, q + i * a->q_stride + at,
		                    a->q_stride, false, s.scores, T, s.product);
		for (size_t row = 0; row < rows; row++)
			softmax_row(a, s.scores + row * T);
		inv_panels_multiply(a->kernels, &s.values, rows, s.scores, T, false,
		                    out + i * a->out_stride + at, a->out_stride, s.product);
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
