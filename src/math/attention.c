/* attention.c - see attention.h. */
#include "math/attention.h"

#include <math.h>

#include "math/matmul.h"

enum { QUERIES = 64 }; /* of a block: its scores stay in the second cache */

static double scale_of(const inv_attention *a)
{
	return 1 / sqrt((double)a->width);
}

size_t inv_attention_room(const inv_attention *a)
{
	return QUERIES * a->tokens;
}

static void softmax_row(const inv_attention *a, float *scores)
{
	float most = a->kernels->largest(scores, a->tokens);
	double sum = a->kernels->exp_shifted(most, (float)scale_of(a), a->tokens, scores);
	float share = (float)(1 / sum);

	for (size_t j = 0; j < a->tokens; j++)
		scores[j] *= share;
}

/* `rows` queries of one head. */
static void attend(const inv_attention *a, size_t rows, const float *q, const float *k,
                   const float *v, float *scores, float *out)
{
	const inv_matmul_spec weigh = {
		.m = rows, .n = a->tokens, .k = a->width, .transpose_b = true};
	const inv_matmul_spec mix = {.m = rows, .n = a->width, .k = a->tokens};

	inv_gemm_strided(a->ctx, &weigh, &(inv_strides){a->q_stride, a->kv_stride, a->tokens},
	                 false, q, k, scores);
	for (size_t i = 0; i < rows; i++)
		softmax_row(a, scores + i * a->tokens);
	inv_gemm_strided(a->ctx, &mix, &(inv_strides){a->tokens, a->kv_stride, a->out_stride},
	                 false, scores, v, out);
}

void inv_attention_run(const inv_attention *a, const float *q, const float *k,
                       const float *v, float *room, float *out)
{
	for (size_t h = 0; h < a->heads; h++)
		for (size_t i = 0; i < a->queries; i += QUERIES) {
			size_t rows = a->queries - i < QUERIES ? a->queries - i : QUERIES;
			size_t at = h * a->width;

			attend(a, rows, q + i * a->q_stride + at, k + at, v + at, room,
			       out + i * a->out_stride + at);
		}
}

static void attend_ref(const inv_attention *a, const float *q, const float *k,
                       const float *v, double *scores, float *out)
{
	double most = -INFINITY, sum = 0;

	for (size_t j = 0; j < a->tokens; j++) {
		scores[j] = 0;
		for (size_t c = 0; c < a->width; c++)
			scores[j] += (double)q[c] * k[j * a->kv_stride + c] / sqrt((double)a->width);
		most = fmax(most, scores[j]);
	}
	for (size_t j = 0; j < a->tokens; j++)
		sum += scores[j] = exp(scores[j] - most);
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
