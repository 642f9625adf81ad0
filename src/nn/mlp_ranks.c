/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_ranks.c - see mlp_ranks.h. */
#include "nn/mlp_ranks.h"

#include <string.h>

/* UNIT: hidden units of a share, whole panels of the products; POKE: rows of gradients. */
enum { UNIT = 16, POKE = 64 };

struct inv_mlp_ranks {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_mlp_shape s, own; /* own: of this rank's units */
	inv_mlp_block blocks[INV_MLP_BLOCKS], own_blocks[INV_MLP_BLOCKS];
	inv_shares rows, units;
	inv_layers *layers;            /* of own units, all rows */
	inv_matmul *last;              /* own rows, all units */
	float *params, *m, *v, *grads; /* of own units */
	float *second;                 /* [w, h] W2 */
	float *columns;                /* its columns as they arrive, [w, h_r] of each rank */
	float *hidden;                 /* [M_r, h] */
	float *arrived;                /* the same as [M_r, h_r] of each rank */
	uint64_t *sent, *received;     /* [ranks] bytes of the exchange of H */
	inv_arena arena;
};

/* ---- Plans --------------------------------------------------------------------------- */

static inv_matmul_spec last_of(inv_mlp_shape s, size_t rows)
{
	return (inv_matmul_spec){rows, s.w, s.h, .transpose_b = true, .bias = true};
}

/* Do our own kernels compute the products of every rank? */
static bool is_packed(const inv_mlp_ranks *p)
{
	size_t M = p->rows.items;
	bool all = true;

	for (unsigned r = 0; r < p->rows.ranks && all; r++) {
		size_t h = inv_share_count(&p->units, r);
		const inv_matmul_spec products[] = {last_of(p->s, inv_share_count(&p->rows, r)),
		                                    {M, h, p->s.d, .relu = true},
		                                    {M, h, p->s.w, .relu = false},
		                                    {h, p->s.d, M, .transpose_a = true},
		                                    {p->s.w, h, M, .transpose_a = true}};

		for (size_t i = 0; i < sizeof products / sizeof *products && all; i++)
			all = inv_matmul_is_packed(p->ctx, &products[i]);
	}
	return all;
}

static void plan_ranks_memory(inv_mlp_ranks *p)
{
	size_t floats = inv_mlp_floats(p->own), hidden = inv_own_count(&p->rows) * p->s.h;

	p->params = inv_arena_take(&p->arena, floats, sizeof(float));
	p->m = inv_arena_take(&p->arena, floats, sizeof(float));
	p->v = inv_arena_take(&p->arena, floats, sizeof(float));
	p->grads = inv_arena_take(&p->arena, floats, sizeof(float));
	p->second = inv_arena_take(&p->arena, p->s.w * p->s.h, sizeof(float));
	p->columns = inv_arena_take(&p->arena, p->s.w * p->s.h, sizeof(float));
	p->hidden = inv_arena_take(&p->arena, hidden, sizeof(float));
	p->arrived = inv_arena_take(&p->arena, hidden, sizeof(float));
	p->sent = inv_arena_take(&p->arena, p->rows.ranks, sizeof *p->sent);
	p->received = inv_arena_take(&p->arena, p->rows.ranks, sizeof *p->received);
}

static invar_status plan_ranks(inv_mlp_ranks *p)
{
	const inv_layers_shape own = {2, {p->s.d, p->own.h, p->s.w}};
	const inv_matmul_spec last = last_of(p->s, inv_own_count(&p->rows));

	plan_ranks_memory(p);
	INV_TRY(inv_arena_commit(&p->arena));
	plan_ranks_memory(p);
	memset(p->grads, 0, inv_mlp_floats(p->own) * sizeof *p->grads);
	for (unsigned r = 0; r < p->rows.ranks; r++) {
		p->sent[r] = inv_share_count(&p->rows, r) * p->own.h * sizeof(float);
		p->received[r] =
			inv_own_count(&p->rows) * inv_share_count(&p->units, r) * sizeof(float);
	}
	INV_TRY(inv_layers_new(p->ctx, &own, p->rows.items, true, &p->layers));
	return inv_matmul_new(p->ctx, &last, &p->last);
}

invar_status inv_mlp_ranks_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               inv_mlp_ranks **out)
{
	inv_mlp_ranks *p;
	invar_status st = INVAR_OK;

	*out = NULL;
	if (inv_process_count(ctx) == 1)
		return INVAR_OK;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->s = p->own = s;
	p->rows = inv_shares_of(ctx, M, 1);
	p->units = inv_shares_of(ctx, s.h, UNIT);
	p->own.h = inv_own_count(&p->units);
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(p->s, p->blocks);
	inv_mlp_layout(p->own, p->own_blocks);
	if (!is_packed(p))
		goto end;
	INV_TRY_OR(end, plan_ranks(p));
	*out = p;
	return INVAR_OK;
end:
	inv_mlp_ranks_free(p);
	return st;
}

size_t inv_mlp_ranks_memory(const inv_mlp_ranks *p)
{
	return p->arena.size + inv_layers_memory(p->layers) + inv_matmul_memory(p->last);
}

void inv_mlp_ranks_free(inv_mlp_ranks *p)
{
	if (!p)
		return;
	inv_layers_free(p->layers);
	inv_matmul_free(p->last);
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* ---- Weights and moments ------------------------------------------------------------- */

/* One vector: rows of the first layer, columns of the second, the second bias whole. */
static void take_vector(const inv_mlp_ranks *p, const float *all, float *own)
{
	size_t first = inv_own_first(&p->units), h = p->own.h;
	const inv_mlp_block *from = p->blocks, *to = p->own_blocks;

	memset(own, 0, inv_mlp_floats(p->own) * sizeof *own);
	memcpy(own + to[0].offset, all + from[0].offset + first * p->s.d,
	       h * p->s.d * sizeof *own);
	memcpy(own + to[1].offset, all + from[1].offset + first, h * sizeof *own);
	for (size_t i = 0; i < p->s.w; i++)
		memcpy(own + to[2].offset + i * h, all + from[2].offset + i * p->s.h + first,
		       h * sizeof *own);
	memcpy(own + to[3].offset, all + from[3].offset, p->s.w * sizeof *own);
}

void inv_mlp_ranks_take(inv_mlp_ranks *p, const float *params, const float *m,
                        const float *v)
{
	take_vector(p, params, p->params);
	take_vector(p, m, p->m);
	take_vector(p, v, p->v);
	memcpy(p->second, params + p->blocks[2].offset, p->s.w * p->s.h * sizeof *p->second);
}

/* Columns of the second weight, or of its moments, start on their way to all ranks. */
static invar_status send_columns(inv_mlp_ranks *p, const float *own)
{
	size_t w = p->s.w;

	memcpy(p->columns + w * inv_own_first(&p->units), own, w * p->own.h * sizeof *own);
	return inv_gather_start(p->ctx, &p->units, p->columns, w * sizeof *own);
}

static invar_status place_columns(inv_mlp_ranks *p, float *all)
{
	INV_TRY(inv_gather_finish(p->ctx));
	for (unsigned r = 0; r < p->units.ranks; r++) {
		size_t first = inv_share_first(&p->units, r), h = inv_share_count(&p->units, r);

		for (size_t i = 0; i < p->s.w; i++)
			memcpy(all + i * p->s.h + first, p->columns + p->s.w * first + i * h,
			       h * sizeof *all);
	}
	return INVAR_OK;
}

static invar_status collect_vector(inv_mlp_ranks *p, const float *own, float *all)
{
	size_t first = inv_own_first(&p->units), h = p->own.h, row = p->s.d * sizeof *all;
	const inv_mlp_block *to = p->blocks, *from = p->own_blocks;
	float *weight = all + to[0].offset, *bias = all + to[1].offset;

	memcpy(weight + first * p->s.d, own + from[0].offset, h * row);
	memcpy(bias + first, own + from[1].offset, h * sizeof *all);
	memcpy(all + to[3].offset, own + from[3].offset, p->s.w * sizeof *all);
	INV_TRY(inv_gather(p->ctx, &p->units, weight, row));
	INV_TRY(inv_gather(p->ctx, &p->units, bias, sizeof *bias));
	INV_TRY(send_columns(p, own + from[2].offset));
	return place_columns(p, all + to[2].offset);
}

invar_status inv_mlp_ranks_collect(inv_mlp_ranks *p, float *params, float *m, float *v)
{
	INV_TRY(collect_vector(p, p->params, params));
	INV_TRY(collect_vector(p, p->m, m));
	return collect_vector(p, p->v, v);
}

/* ---- Passes -------------------------------------------------------------------------- */

/* All units of own rows, from all rows of own units. */
static invar_status exchange_hidden(inv_mlp_ranks *p, const float *own)
{
	size_t rows = inv_own_count(&p->rows);

	INV_TRY(
		inv_exchange(p->ctx, (const char *)own, p->sent, (char *)p->arrived, p->received));
	for (unsigned r = 0; r < p->units.ranks; r++) {
		size_t first = inv_share_first(&p->units, r), h = inv_share_count(&p->units, r);

		for (size_t i = 0; i < rows; i++)
			memcpy(p->hidden + i * p->s.h + first, p->arrived + rows * first + i * h,
			       h * sizeof *own);
	}
	return INVAR_OK;
}

invar_status inv_mlp_ranks_forward(inv_mlp_ranks *p, const float *x, bool residual,
                                   float *y)
{
	size_t first = inv_own_first(&p->rows), count = inv_own_count(&p->rows), w = p->s.w;
	const float *own;

	INV_TRY(inv_layers_forward_first(p->layers, p->params, x, &own));
	INV_TRY(exchange_hidden(p, own));
	INV_TRY(inv_matmul_run(p->last, p->hidden, p->second,
	                       p->params + p->own_blocks[3].offset, y + first * w));
	if (residual)
		p->kernels.add(x + first * w, count * w, y + first * w);
	return inv_gather(p->ctx, &p->rows, y, w * sizeof *y);
}

typedef struct rank_update {
	inv_adamw_update adamw;
	const invar_context *ctx;
	size_t width; /* of a row of the first weight */
} rank_update;

static void take_and_poke(void *user, const float *grads, size_t at, size_t count)
{
	rank_update *u = user;

	inv_adamw_take(&u->adamw, grads, at, count);
	if (at / u->width % POKE == 0)
		inv_gather_poke(u->ctx);
}

invar_status inv_mlp_ranks_update(inv_mlp_ranks *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t)
{
	rank_update u = {inv_adamw_begin(&p->kernels, a, lr, t, p->params, p->m, p->v), p->ctx,
	                 p->s.d};

	INV_TRY(inv_layers_backward_take(p->layers, 1, p->params, NULL, dy, p->grads,
	                                 inv_adamw_take, &u.adamw));
	INV_TRY(send_columns(p, p->params + p->own_blocks[2].offset));
	INV_TRY(
		inv_layers_backward_take(p->layers, 0, NULL, x, NULL, p->grads, take_and_poke, &u));
	return place_columns(p, p->second);
}
