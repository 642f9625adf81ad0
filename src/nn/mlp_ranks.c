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
	float *columns;                /* [w, h] its columns as they arrive */
	float *hidden;                 /* [M_r, h] */
	float *turned;                 /* inv_turn's buffer */
	inv_arena arena;
};

static inv_columns columns_of(const inv_mlp_ranks *p)
{
	return (inv_columns){.cols = p->units, .rows = p->s.w, .buffer = p->columns};
}

static inv_turn turn_of(const inv_mlp_ranks *p, const float *own)
{
	return (inv_turn){.rows = p->rows,
	                  .cols = p->units,
	                  .from = own,
	                  .out = p->hidden,
	                  .from_stride = p->own.h,
	                  .out_stride = p->s.h,
	                  .buffer = p->turned};
}

/* ---- Plans --------------------------------------------------------------------------- */

static void plan_memory(inv_mlp_ranks *p)
{
	size_t floats = inv_mlp_floats(p->own);
	inv_turn turn = turn_of(p, NULL);

	p->params = inv_arena_take(&p->arena, floats, sizeof(float));
	p->m = inv_arena_take(&p->arena, floats, sizeof(float));
	p->v = inv_arena_take(&p->arena, floats, sizeof(float));
	p->grads = inv_arena_take(&p->arena, floats, sizeof(float));
	p->second = inv_arena_take(&p->arena, p->s.w * p->s.h, sizeof(float));
	p->columns = inv_arena_take(&p->arena, p->s.w * p->s.h, sizeof(float));
	p->hidden = inv_arena_take(&p->arena, inv_own_count(&p->rows) * p->s.h, sizeof(float));
	p->turned = inv_arena_take(&p->arena, inv_turn_floats(&turn), sizeof(float));
}

static invar_status plan_products(inv_mlp_ranks *p)
{
	const inv_layers_shape own = {2, {p->s.d, p->own.h, p->s.w}};
	const inv_layers_shape whole = {2, {p->s.d, p->s.h, p->s.w}};
	const inv_matmul_spec last = {.m = inv_own_count(&p->rows),
	                              .n = p->s.w,
	                              .k = p->s.h,
	                              .transpose_b = true,
	                              .bias = true,
	                              .whole_m = p->rows.items};
	invar_status st = inv_layers_new_share(p->ctx, &own, &whole, p->rows.items, &p->layers);

	return st == INVAR_OK ? inv_matmul_new(p->ctx, &last, &p->last) : st;
}

invar_status inv_mlp_ranks_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               inv_mlp_ranks **out)
{
	inv_mlp_ranks *p = inv_calloc(1, sizeof *p);
	invar_status st;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a network");
	p->ctx = ctx;
	p->s = p->own = s;
	p->rows = inv_shares_of(ctx, M, 1);
	p->units = inv_shares_of(ctx, s.h, s.h >= UNIT * inv_process_count(ctx) ? UNIT : 1);
	p->own.h = inv_own_count(&p->units);
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(p->s, p->blocks);
	inv_mlp_layout(p->own, p->own_blocks);
	plan_memory(p);
	if ((st = inv_arena_commit(&p->arena)) == INVAR_OK) {
		plan_memory(p);
		st = plan_products(p);
	}
	if (st != INVAR_OK) {
		inv_mlp_ranks_free(p);
		return st;
	}
	memset(p->grads, 0, inv_mlp_floats(p->own) * sizeof *p->grads);
	*out = p;
	return INVAR_OK;
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

inv_shares inv_mlp_ranks_rows(const inv_mlp_ranks *p)
{
	return p->rows;
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

static invar_status collect_vector(inv_mlp_ranks *p, const float *own, float *all)
{
	size_t first = inv_own_first(&p->units), h = p->own.h, row = p->s.d * sizeof *all;
	const inv_mlp_block *to = p->blocks, *from = p->own_blocks;
	float *weight = all + to[0].offset, *bias = all + to[1].offset;
	inv_columns columns = columns_of(p);
	invar_status st;

	memcpy(weight + first * p->s.d, own + from[0].offset, h * row);
	memcpy(bias + first, own + from[1].offset, h * sizeof *all);
	memcpy(all + to[3].offset, own + from[3].offset, p->s.w * sizeof *all);
	if ((st = inv_gather_rows(p->ctx, &p->units, weight, row)) == INVAR_OK)
		st = inv_gather_rows(p->ctx, &p->units, bias, sizeof *bias);
	if (st == INVAR_OK)
		st = inv_columns_start(p->ctx, &columns, own + from[2].offset);
	return st == INVAR_OK ? inv_columns_finish(p->ctx, &columns, all + to[2].offset) : st;
}

invar_status inv_mlp_ranks_collect(inv_mlp_ranks *p, float *params, float *m, float *v)
{
	invar_status st = collect_vector(p, p->params, params);

	if (st == INVAR_OK)
		st = collect_vector(p, p->m, m);
	return st == INVAR_OK ? collect_vector(p, p->v, v) : st;
}

/* ---- Passes -------------------------------------------------------------------------- */

invar_status inv_mlp_ranks_forward(inv_mlp_ranks *p, const float *x, bool residual,
                                   float *y)
{
	size_t first = inv_own_first(&p->rows), count = inv_own_count(&p->rows), w = p->s.w;
	const float *own;
	invar_status st = inv_layers_forward_first(p->layers, p->params, x, &own);
	inv_turn turn = turn_of(p, own);

	if (st == INVAR_OK)
		st = inv_turn_run(p->ctx, &turn);
	if (st == INVAR_OK)
		st = inv_matmul_run(p->last, p->hidden, p->second,
		                    p->params + p->own_blocks[3].offset, y + first * w);
	if (st != INVAR_OK)
		return st;
	if (residual)
		p->kernels.add(x + first * w, count * w, y + first * w);
	return inv_gather_rows(p->ctx, &p->rows, y, w * sizeof *y);
}

typedef struct rank_update {
	inv_adamw_update adamw;
	const invar_context *ctx;
	size_t width; /* of a row of the first weight */
} rank_update;

static void take_part(void *user, const float *grads, size_t at, size_t count)
{
	rank_update *u = user;

	inv_adamw_take(&u->adamw, grads, at, count);
	if (at / u->width % POKE == 0)
		inv_exchange_poke(u->ctx);
}

invar_status inv_mlp_ranks_update(inv_mlp_ranks *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t)
{
	rank_update u = {inv_adamw_begin(&p->kernels, a, lr, t, p->params, p->m, p->v), p->ctx,
	                 p->s.d};
	inv_columns columns = columns_of(p);
	invar_status st = inv_layers_backward_take(p->layers, 1, p->params, NULL, dy, p->grads,
	                                           inv_adamw_take, &u.adamw);

	if (st == INVAR_OK)
		st = inv_columns_start(p->ctx, &columns, p->params + p->own_blocks[2].offset);
	if (st == INVAR_OK)
		st = inv_layers_backward_take(p->layers, 0, NULL, x, NULL, p->grads, take_part, &u);
	return st == INVAR_OK ? inv_columns_finish(p->ctx, &columns, p->second) : st;
}
