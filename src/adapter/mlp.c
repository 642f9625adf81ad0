/*
 * mlp.c - forward and backward of the adapter.
 *
 *     H  = relu(X W0^T + b0)          [M, h]   one product, bias and ReLU fused
 *     Y  = H W2^T + b2 (+ X)          [M, w]
 *     dH = dY W2, masked where H = 0  [M, h]
 *     dW2 = dY^T H, db2 = column sums of dY
 *     dW0 = dH^T X, db0 = column sums of dH
 *
 * Five products of M d h multiplications each; the gradient of X is never
 * computed. Column sums run over the rows in order, whatever the threads.
 */
#include "adapter/mlp.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/threads.h"

enum { PAD = 16, APPLY_ROWS = 128 };

struct inv_mlp_pass {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_mlp_shape s;
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	size_t M;
	inv_matmul *hidden, *codes, *d_hidden, *d_last, *d_first;
	inv_arena arena;
	float *H, *dH; /* [M, h] */
};

/* ---- Parameters --------------------------------------------------------------- */

static size_t padded(size_t count)
{
	return (count + PAD - 1) / PAD * PAD;
}

void inv_mlp_layout(inv_mlp_shape s, inv_mlp_block blocks[INV_MLP_BLOCKS])
{
	const inv_mlp_block want[INV_MLP_BLOCKS] = {
		{"0.weight", 2, {s.h, s.d}, 0, s.h * s.d},
		{"0.bias", 1, {s.h}, 0, s.h},
		{"2.weight", 2, {s.w, s.h}, 0, s.w * s.h},
		{"2.bias", 1, {s.w}, 0, s.w},
	};
	size_t at = 0;

	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		blocks[i] = want[i];
		blocks[i].offset = at;
		at += padded(want[i].count);
	}
}

size_t inv_mlp_floats(inv_mlp_shape s)
{
	return padded(s.h * s.d) + padded(s.h) + padded(s.w * s.h) + padded(s.w);
}

void inv_mlp_init(inv_mlp_shape s, uint64_t seed, bool zero_last, float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	inv_stream stream = inv_stream_of(seed, "init", 0);

	inv_mlp_layout(s, blocks);
	memset(params, 0, inv_mlp_floats(s) * sizeof *params);
	for (uint32_t i = 0; i < INV_MLP_BLOCKS; i++) {
		float bound = (float)(1 / sqrt((double)(i < 2 ? s.d : s.h)));

		if (i < 2 || !zero_last)
			inv_fill_uniform(&stream, i, -bound, bound, params + blocks[i].offset,
			                 blocks[i].count);
	}
}

/* ---- Training pass ---------------------------------------------------------------- */

static void plan_memory(inv_mlp_pass *p, bool backward)
{
	p->H = inv_arena_take(&p->arena, p->M * p->s.h, sizeof(float));
	if (backward)
		p->dH = inv_arena_take(&p->arena, p->M * p->s.h, sizeof(float));
}

static invar_status plan_products(inv_mlp_pass *p, bool backward)
{
	size_t M = p->M, d = p->s.d, h = p->s.h, w = p->s.w;
	const struct {
		inv_matmul_spec spec;
		inv_matmul **plan;
		bool back;
	} want[] = {
		{{M, h, d, .transpose_b = true, .bias = true, .relu = true}, &p->hidden, false},
		{{M, w, h, .transpose_b = true, .bias = true}, &p->codes, false},
		{{M, h, w, .transpose_a = false}, &p->d_hidden, true},
		{{w, h, M, .transpose_a = true}, &p->d_last, true},
		{{h, d, M, .transpose_a = true}, &p->d_first, true},
	};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < sizeof want / sizeof *want && st == INVAR_OK; i++)
		if (backward || !want[i].back)
			st = inv_matmul_new(p->ctx, &want[i].spec, want[i].plan);
	return st;
}

invar_status inv_mlp_pass_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                              bool backward, inv_mlp_pass **out)
{
	inv_mlp_pass *p = inv_calloc(1, sizeof *p);
	invar_status st;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "no memory for the adapter");
	p->ctx = ctx;
	p->s = s;
	p->M = M;
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(s, p->blocks);
	plan_memory(p, backward);
	st = inv_arena_commit(&p->arena);
	if (st == INVAR_OK) {
		plan_memory(p, backward);
		st = plan_products(p, backward);
	}
	if (st != INVAR_OK) {
		inv_mlp_pass_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_mlp_pass_memory(const inv_mlp_pass *p)
{
	return p->arena.size;
}

void inv_mlp_pass_free(inv_mlp_pass *p)
{
	if (!p)
		return;
	inv_matmul_free(p->hidden);
	inv_matmul_free(p->codes);
	inv_matmul_free(p->d_hidden);
	inv_matmul_free(p->d_last);
	inv_matmul_free(p->d_first);
	inv_arena_free(&p->arena);
	inv_free(p);
}

invar_status inv_mlp_forward(inv_mlp_pass *p, const float *params, const float *x,
                             bool residual, float *y)
{
	const inv_mlp_block *b = p->blocks;
	invar_status st =
		inv_matmul_run(p->hidden, x, params + b[0].offset, params + b[1].offset, p->H);

	if (st == INVAR_OK)
		st = inv_matmul_run(p->codes, p->H, params + b[2].offset, params + b[3].offset, y);
	if (st == INVAR_OK && residual)
		p->kernels.add(x, p->M * p->s.d, y);
	return st;
}

/*
 * dH of a tile is masked and summed while it is still in the cache. A tile that
 * holds only some rows would leave partial sums, so those wait for the end.
 */
typedef struct mask_job {
	inv_mlp_pass *p;
	float *sums; /* [h] */
} mask_job;

static void mask_tile(void *user, size_t row, size_t rows, size_t col, size_t cols)
{
	const mask_job *j = user;
	inv_mlp_pass *p = j->p;

	(void)row;
	if (rows == p->M)
		p->kernels.relu_backward(p->H + col, rows, cols, p->s.h, p->dH + col,
		                         j->sums + col);
}

static invar_status hidden_gradient(inv_mlp_pass *p, const float *weight, const float *dy,
                                    float *sums)
{
	mask_job j = {p, sums};
	invar_status st;

	memset(sums, 0, p->s.h * sizeof *sums);
	st = inv_matmul_run_then(p->d_hidden, dy, weight, NULL, p->dH, mask_tile, &j);
	if (st == INVAR_OK && !inv_matmul_tiles_are_columns(p->d_hidden))
		p->kernels.relu_backward(p->H, p->M, p->s.h, p->s.h, p->dH, sums);
	return st;
}

invar_status inv_mlp_backward_last(inv_mlp_pass *p, const float *params, const float *dy,
                                   float *grads)
{
	const inv_mlp_block *b = p->blocks;
	invar_status st = hidden_gradient(p, params + b[2].offset, dy, grads + b[1].offset);

	if (st == INVAR_OK)
		st = inv_matmul_run(p->d_last, dy, p->H, NULL, grads + b[2].offset);
	memset(grads + b[3].offset, 0, p->s.w * sizeof *grads);
	p->kernels.column_sums(dy, p->M, p->s.w, grads + b[3].offset);
	return st;
}

invar_status inv_mlp_backward_first(inv_mlp_pass *p, const float *x, float *grads)
{
	return inv_matmul_run(p->d_first, p->dH, x, NULL, grads + p->blocks[0].offset);
}

/* ---- Applying --------------------------------------------------------------------- */

typedef struct apply_job {
	const invar_context *ctx;
	inv_mlp_shape s;
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	const float *params, *x;
	float *y, *hidden; /* hidden: [threads, APPLY_ROWS, h] */
	uint64_t rows;
	bool residual;
} apply_job;

static void apply_block(void *user, size_t block, unsigned thread)
{
	const apply_job *j = user;
	const inv_mlp_block *b = j->blocks;
	uint64_t from = block * APPLY_ROWS;
	size_t rows = j->rows - from < APPLY_ROWS ? j->rows - from : APPLY_ROWS;
	size_t d = j->s.d, h = j->s.h, w = j->s.w;
	inv_matmul_spec first = {rows, h, d, .transpose_b = true, .bias = true, .relu = true};
	inv_matmul_spec last = {rows, w, h, .transpose_b = true, .bias = true};
	const float *x = j->x + from * d;
	float *y = j->y + from * w, *hidden = j->hidden + (size_t)thread * APPLY_ROWS * h;

	inv_gemm(j->ctx, &first, x, j->params + b[0].offset, j->params + b[1].offset, hidden);
	inv_gemm(j->ctx, &last, hidden, j->params + b[2].offset, j->params + b[3].offset, y);
	for (size_t i = 0; j->residual && i < rows * d; i++)
		y[i] += x[i];
}

invar_status inv_mlp_apply(const invar_context *ctx, inv_mlp_shape s, const float *params,
                           bool residual, const float *x, uint64_t rows, float *y)
{
	apply_job j = {.ctx = ctx,
	               .s = s,
	               .params = params,
	               .x = x,
	               .y = y,
	               .rows = rows,
	               .residual = residual};

	inv_mlp_layout(s, j.blocks);
	j.hidden = inv_alloc((size_t)ctx->threads * APPLY_ROWS * s.h * sizeof(float));
	if (!j.hidden)
		return inv_fail(INVAR_E_NOMEM, "no memory to apply the adapter");
	inv_parallel(ctx, inv_blocks(rows, APPLY_ROWS), apply_block, &j);
	inv_free(j.hidden);
	return INVAR_OK;
}
