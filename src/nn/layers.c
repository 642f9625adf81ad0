/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - forward and backward of linear layers with ReLU between them.
 *
 * With H[0] = X and L layers:
 *
 *     H[l+1] = relu(H[l] W[l]^T + b[l])          one product, bias and ReLU fused
 *     Y      = H[L-1] W[L-1]^T + b[L-1] (+ X)    no ReLU at the end
 *     D[L-1] = dY
 *     D[l-1] = D[l] W[l], masked where H[l] = 0
 *     dW[l]  = D[l]^T H[l], db[l] = column sums of D[l]
 *
 * The gradient of X, D[0] W[0], is computed on request. Column sums run over the rows in
 * order, for any number of threads.
 */
#include "nn/layers.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "math/openblas.h"

enum { PAD = 16, APPLY_ROWS = 128 };

struct inv_layers {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_layers_shape s;
	size_t M;
	inv_matmul *forward[INV_MAX_LAYERS];  /* H[l] -> H[l+1] */
	inv_matmul *backward[INV_MAX_LAYERS]; /* D[l] -> D[l-1]; of layer 0 if wanted */
	inv_matmul *weight[INV_MAX_LAYERS];   /* D[l], H[l] -> dW[l] */
	inv_arena arena;
	float *H[INV_MAX_LAYERS], *D[INV_MAX_LAYERS]; /* out of layer l, but the last */
};

/* ---- Parameters --------------------------------------------------------------- */

static size_t padded_floats(size_t count)
{
	return (count + PAD - 1) / PAD * PAD;
}

inv_layer_place inv_layers_place(const inv_layers_shape *s, size_t layer)
{
	inv_layer_place at = {0};

	for (size_t l = 0; l <= layer; l++) {
		at.weight = at.end;
		at.bias = at.weight + padded_floats(s->width[l] * s->width[l + 1]);
		at.end = at.bias + padded_floats(s->width[l + 1]);
	}
	return at;
}

size_t inv_layers_floats(const inv_layers_shape *s)
{
	return inv_layers_place(s, s->count - 1).end;
}

void inv_layers_init(const inv_layers_shape *s, const inv_stream *stream, float *params)
{
	memset(params, 0, inv_layers_floats(s) * sizeof *params);
	for (size_t l = 0; l < s->count; l++) {
		inv_layer_place at = inv_layers_place(s, l);
		float bound = (float)(1 / sqrt((double)s->width[l]));

		inv_fill_uniform(stream, (uint32_t)(2 * l), -bound, bound, params + at.weight,
		                 s->width[l] * s->width[l + 1]);
		inv_fill_uniform(stream, (uint32_t)(2 * l + 1), -bound, bound, params + at.bias,
		                 s->width[l + 1]);
	}
}

/* ---- Training pass ---------------------------------------------------------------- */

invar_status inv_layers_new(const invar_context *ctx, const inv_layers_shape *s, size_t M,
                            bool backward, inv_layers **out)
{
	inv_matmul *plans[3 * INV_MAX_LAYERS] = {0};
	inv_layers *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->s = *s;
	p->M = M;
	inv_kernels_init(&p->kernels, ctx->cpu);
	for (int round = 0; round < 2; round++) {
		for (size_t l = 0; l + 1 < s->count; l++) {
			size_t cells = M * s->width[l + 1];

			p->H[l] = inv_arena_take(&p->arena, cells, sizeof(float));
			if (backward)
				p->D[l] = inv_arena_take(&p->arena, cells, sizeof(float));
		}
		if (!round)
			INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	}
	for (size_t l = 0; l < s->count; l++) {
		size_t in = s->width[l], width = s->width[l + 1];
		const inv_matmul_spec forward = {
			M, width, in, .transpose_b = true, .bias = true, .relu = l + 1 < s->count};
		const inv_matmul_spec back = {M, in, width, .add = false};
		const inv_matmul_spec weight = {width, in, M, .transpose_a = true};

		INV_TRY_OR(fail, inv_matmul_new(ctx, &forward, &p->forward[l]));
		if (backward && l)
			INV_TRY_OR(fail, inv_matmul_new(ctx, &back, &p->backward[l]));
		if (backward)
			INV_TRY_OR(fail, inv_matmul_new(ctx, &weight, &p->weight[l]));
		plans[3 * l] = p->forward[l];
		plans[3 * l + 1] = p->backward[l];
		plans[3 * l + 2] = p->weight[l];
	}
	inv_matmul_share(plans, 3 * INV_MAX_LAYERS); /* one product is run at a time */
	*out = p;
	return INVAR_OK;
fail:
	inv_layers_free(p);
	return st;
}

size_t inv_layers_memory(const inv_layers *p)
{
	size_t bytes = p->arena.size;

	for (size_t l = 0; l < p->s.count; l++) {
		bytes += inv_matmul_memory(p->forward[l]);
		bytes += p->backward[l] ? inv_matmul_memory(p->backward[l]) : 0;
		bytes += p->weight[l] ? inv_matmul_memory(p->weight[l]) : 0;
	}
	return bytes;
}

void inv_layers_free(inv_layers *p)
{
	if (!p)
		return;
	for (size_t l = 0; l < INV_MAX_LAYERS; l++) {
		inv_matmul_free(p->forward[l]);
		inv_matmul_free(p->backward[l]);
		inv_matmul_free(p->weight[l]);
	}
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* What layer l sees. */
static const float *input_of(const inv_layers *p, size_t l, const float *x)
{
	return l ? p->H[l - 1] : x;
}

invar_status inv_layers_forward(inv_layers *p, const float *params, const float *x,
                                bool residual, float *y)
{
	for (size_t l = 0; l < p->s.count; l++) {
		inv_layer_place at = inv_layers_place(&p->s, l);
		float *out = l + 1 < p->s.count ? p->H[l] : y;

		INV_TRY(inv_matmul_run(p->forward[l], input_of(p, l, x), params + at.weight,
		                       params + at.bias, out));
	}
	if (residual)
		p->kernels.add(x, p->M * p->s.width[0], y);
	return INVAR_OK;
}

invar_status inv_layers_forward_first(inv_layers *p, const float *params, const float *x,
                                      const float **hidden)
{
	inv_layer_place at = inv_layers_place(&p->s, 0);

	*hidden = p->H[0];
	return inv_matmul_run(p->forward[0], x, params + at.weight, params + at.bias, p->H[0]);
}

/* Passes rows of a block of a weight's gradient to `take`. */
typedef struct take_job {
	size_t weight, width; /* where it is in the vector, and its columns */
	inv_gradient_fn *take;
	void *user;
} take_job;

static void take_rows(void *user, const float *part, size_t stride, size_t row, size_t rows,
                      size_t col, size_t cols)
{
	const take_job *j = user;
	size_t at = j->weight + row * j->width + col;

	if (cols == j->width && stride == cols)
		j->take(j->user, part, at, rows * cols);
	else
		for (size_t i = 0; i < rows; i++)
			j->take(j->user, part + i * stride, at + i * j->width, cols);
}

invar_status inv_layers_backward_take(inv_layers *p, size_t layer, const float *params,
                                      const float *x, const float *dy, float *grads,
                                      inv_gradient_fn *take, void *user)
{
	inv_layer_place at = inv_layers_place(&p->s, layer);
	bool last = layer + 1 == p->s.count;
	const float *d = last ? dy : p->D[layer], *in = input_of(p, layer, x);
	take_job j = {at.weight, p->s.width[layer], take, user};

	if (last) {
		memset(grads + at.bias, 0, p->s.width[layer + 1] * sizeof *grads);
		p->kernels.column_sums(dy, p->M, p->s.width[layer + 1], grads + at.bias);
	}
	if (layer) { /* D[layer - 1], and with it the gradient of that layer's bias */
		float *sums = grads + inv_layers_place(&p->s, layer - 1).bias;

		memset(sums, 0, p->s.width[layer] * sizeof *sums);
		INV_TRY(inv_matmul_run_masked(p->backward[layer], d, params + at.weight,
		                              p->H[layer - 1], p->D[layer - 1], sums));
	}
	if (!take)
		return inv_matmul_run(p->weight[layer], d, in, NULL, grads + at.weight);
	INV_TRY(
		inv_matmul_run_parts(p->weight[layer], d, in, grads + at.weight, take_rows, &j));
	take(user, grads + at.bias, at.bias, p->s.width[layer + 1]);
	return INVAR_OK;
}

invar_status inv_layers_backward(inv_layers *p, size_t layer, const float *params,
                                 const float *x, const float *dy, float *grads)
{
	return inv_layers_backward_take(p, layer, params, x, dy, grads, NULL, NULL);
}

invar_status inv_layers_want_input(inv_layers *p)
{
	const inv_matmul_spec back = {p->M, p->s.width[0], p->s.width[1], .transpose_a = false};

	return inv_matmul_new(p->ctx, &back, &p->backward[0]); /* with scratch of its own */
}

invar_status inv_layers_backward_input(inv_layers *p, const float *params, float *dx)
{
	const float *weight = params + inv_layers_place(&p->s, 0).weight;

	return inv_matmul_run(p->backward[0], p->D[0], weight, NULL, dx);
}

/* ---- Applying --------------------------------------------------------------------- */

typedef struct apply_job {
	const invar_context *ctx;
	const inv_layers_shape *s;
	const float *params, *x;
	float *y, *scratch; /* scratch: [threads, 2, APPLY_ROWS, widest] */
	size_t widest;      /* of the hidden layers */
	uint64_t rows;
	bool residual;
} apply_job;

static void apply_rows(void *user, size_t block, unsigned thread)
{
	const apply_job *j = user;
	const size_t *width = j->s->width, last = j->s->count - 1,
				 side = APPLY_ROWS * j->widest;
	uint64_t from = block * APPLY_ROWS;
	size_t rows = j->rows - from < APPLY_ROWS ? j->rows - from : APPLY_ROWS;
	const float *x = j->x + from * width[0], *in = x;
	float *y = j->y + from * width[last + 1];

	for (size_t l = 0; l <= last; l++) {
		inv_layer_place at = inv_layers_place(j->s, l);
		inv_matmul_spec spec = {rows,         width[l + 1],
		                        width[l],     .transpose_b = true,
		                        .bias = true, .relu = l < last};
		float *out = l < last ? j->scratch + (2 * (size_t)thread + l % 2) * side : y;

		inv_gemm(j->ctx, &spec, in, j->params + at.weight, j->params + at.bias, out);
		in = out;
	}
	for (size_t i = 0; j->residual && i < rows * width[0]; i++)
		y[i] += x[i];
}

invar_status inv_layers_apply(const invar_context *ctx, const inv_layers_shape *s,
                              const float *params, bool residual, const float *x,
                              uint64_t rows, float *y)
{
	apply_job j = {.ctx = ctx,
	               .s = s,
	               .params = params,
	               .x = x,
	               .y = y,
	               .widest = 1,
	               .rows = rows,
	               .residual = residual};

	INV_TRY(inv_openblas_need_for(ctx));
	for (size_t l = 1; l < s->count; l++)
		j.widest = s->width[l] > j.widest ? s->width[l] : j.widest;
	INV_TRY(inv_new_array(&j.scratch, (size_t)ctx->threads * 2 * APPLY_ROWS * j.widest));
	inv_parallel(ctx, inv_blocks(rows, APPLY_ROWS), apply_rows, &j);
	inv_free(j.scratch);
	return INVAR_OK;
}
