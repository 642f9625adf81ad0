/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlp_steps.c - see mlp_steps.h.
 *
 * With several ranks, each has some of the h hidden units: their rows of the first weight,
 * their columns of the second, and the moments of both. Rows are those of the whole batch.
 *
 *     H_r = relu(X W1_r' + b1_r)     [M, h_r]   all rows, own units
 *     H                              [M_r, h]   exchanged: own rows, all units
 *     Y   = H W2' + b2 (+ X)         [M_r, w]   own rows; then all ranks get all
 *     D_r = dY W2_r, masked          [M, h_r]   all rows, own units
 *     dW2_r = dY' H_r, dW1_r = D_r' X
 *
 * No sum is cut: each number is computed by one rank from whole rows or columns, in the
 * order of a single process, so weights are those of one process in every bit. No gradient
 * leaves its rank, and each rank makes the AdamW step of its own weights; their new columns
 * of W2 go to all ranks while the first layer's gradients are computed.
 *
 * Floats into each rank and step: M h / R for H, M w for Y, w h for W2, (R - 1) / R of
 * each.
 */
#include "nn/mlp_steps.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"

/* UNIT: hidden units of a share, whole panels of the products; POKE: rows of gradients. */
enum { UNIT = 16, POKE = 64 };

/* The hidden units of this rank. */
typedef struct dealt_units {
	const invar_context *ctx;
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
} dealt_units;

struct inv_mlp_steps {
	struct inv_kernels kernels;
	inv_mlp_vectors of;
	inv_layers *pass;   /* NULL if hidden units are dealt out: */
	dealt_units *dealt; /* this rank's */
	bool ahead;         /* dealt weights have changed since they were collected */
};

/* ---- Dealing out --------------------------------------------------------------------- */

static void free_dealt(dealt_units *p)
{
	if (!p)
		return;
	inv_layers_free(p->layers);
	inv_matmul_free(p->last);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static void take_dealt_memory(dealt_units *p)
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

/*
 * *out is NULL, without an error, if there is a single rank, or if the share of a rank is
 * too small for our own kernels (matmul.h): then every rank computes everything.
 */
static invar_status deal_units(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               dealt_units **out)
{
	inv_matmul_spec last = {0, s.w, s.h, .transpose_b = true, .bias = true};
	dealt_units *p;
	size_t rows;
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
	inv_mlp_layout(p->s, p->blocks);
	inv_mlp_layout(p->own, p->own_blocks);
	for (unsigned r = 0; r < p->rows.ranks; r++) {
		size_t h = inv_share_count(&p->units, r);
		const inv_matmul_spec products[] = {{M, h, s.d, .relu = true},
		                                    {M, h, s.w, .relu = false},
		                                    {h, s.d, M, .transpose_a = true},
		                                    {s.w, h, M, .transpose_a = true}};

		last.m = inv_share_count(&p->rows, r);
		if (!inv_matmul_is_packed(ctx, &last))
			goto end;
		for (size_t i = 0; i < sizeof products / sizeof *products; i++)
			if (!inv_matmul_is_packed(ctx, &products[i]))
				goto end;
	}

	take_dealt_memory(p);
	INV_TRY_OR(end, inv_arena_commit(&p->arena));
	take_dealt_memory(p);
	memset(p->grads, 0, inv_mlp_floats(p->own) * sizeof *p->grads);
	last.m = rows = inv_own_count(&p->rows);
	for (unsigned r = 0; r < p->rows.ranks; r++) {
		p->sent[r] = inv_share_count(&p->rows, r) * p->own.h * sizeof(float);
		p->received[r] = rows * inv_share_count(&p->units, r) * sizeof(float);
	}
	INV_TRY_OR(end, inv_mlp_pass_new(ctx, p->own, M, true, &p->layers));
	INV_TRY_OR(end, inv_matmul_new(ctx, &last, &p->last));
	*out = p;
	return INVAR_OK;
end:
	free_dealt(p);
	return st;
}

/* ---- Weights and moments ------------------------------------------------------------- */

/* One vector: rows of the first layer, columns of the second, the second bias whole. */
static void take_vector(const dealt_units *p, const float *all, float *own)
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

/* Columns of the second weight, or of its moments, start on their way to all ranks. */
static invar_status send_columns(dealt_units *p, const float *own)
{
	size_t w = p->s.w;

	memcpy(p->columns + w * inv_own_first(&p->units), own, w * p->own.h * sizeof *own);
	return inv_gather_start(p->ctx, &p->units, p->columns, w * sizeof *own);
}

static invar_status place_columns(dealt_units *p, float *all)
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

static invar_status collect_vector(dealt_units *p, const float *own, float *all)
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

/* ---- Passes -------------------------------------------------------------------------- */

invar_status inv_mlp_steps_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               bool backward, bool deal, const inv_mlp_vectors *of,
                               inv_mlp_steps **out)
{
	inv_mlp_steps *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->of = *of;
	inv_kernels_init(&p->kernels, ctx->cpu);
	if (deal)
		INV_TRY_OR(fail, deal_units(ctx, s, M, &p->dealt));
	if (!p->dealt)
		INV_TRY_OR(fail, inv_mlp_pass_new(ctx, s, M, backward, &p->pass));
	*out = p;
	return INVAR_OK;
fail:
	inv_mlp_steps_free(p);
	return st;
}

size_t inv_mlp_steps_memory(const inv_mlp_steps *p)
{
	const dealt_units *d = p->dealt;

	return d ? d->arena.size + inv_layers_memory(d->layers) + inv_matmul_memory(d->last)
	         : inv_layers_memory(p->pass);
}

bool inv_mlp_steps_are_dealt(const inv_mlp_steps *p)
{
	return p->dealt;
}

void inv_mlp_steps_free(inv_mlp_steps *p)
{
	if (!p)
		return;
	free_dealt(p->dealt);
	inv_layers_free(p->pass);
	inv_free(p);
}

invar_status inv_mlp_steps_forward(inv_mlp_steps *p, const float *params, const float *x,
                                   bool residual, float *y)
{
	dealt_units *d = p->dealt;
	size_t first, rows, w;
	const float *own;

	if (!d)
		return inv_layers_forward(p->pass, params, x, residual, y);
	assert(params == p->of.params);
	first = inv_own_first(&d->rows);
	rows = inv_own_count(&d->rows);
	w = d->s.w;
	if (!p->ahead) {
		take_vector(d, params, d->params);
		take_vector(d, p->of.m, d->m);
		take_vector(d, p->of.v, d->v);
		memcpy(d->second, params + d->blocks[2].offset, w * d->s.h * sizeof *d->second);
	}
	p->ahead = true;

	/* All units of own rows, from all rows of own units. */
	INV_TRY(inv_layers_forward_first(d->layers, d->params, x, &own));
	INV_TRY(
		inv_exchange(d->ctx, (const char *)own, d->sent, (char *)d->arrived, d->received));
	for (unsigned r = 0; r < d->units.ranks; r++) {
		size_t at = inv_share_first(&d->units, r), h = inv_share_count(&d->units, r);

		for (size_t i = 0; i < rows; i++)
			memcpy(d->hidden + i * d->s.h + at, d->arrived + rows * at + i * h,
			       h * sizeof *own);
	}
	INV_TRY(inv_matmul_run(d->last, d->hidden, d->second,
	                       d->params + d->own_blocks[3].offset, y + first * w));
	if (residual)
		p->kernels.add(x + first * w, rows * w, y + first * w);
	return inv_gather(d->ctx, &d->rows, y, w * sizeof *y);
}

invar_status inv_mlp_steps_gradients(inv_mlp_steps *p, const float *x, const float *dy)
{
	INV_TRY(inv_layers_backward(p->pass, 1, p->of.params, NULL, dy, p->of.grads));
	return inv_layers_backward(p->pass, 0, NULL, x, NULL, p->of.grads);
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

invar_status inv_mlp_steps_update(inv_mlp_steps *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t)
{
	const inv_mlp_vectors *of = &p->of;
	dealt_units *d = p->dealt;
	rank_update u;

	if (!d) {
		u.adamw = inv_adamw_begin(&p->kernels, a, lr, t, of->params, of->m, of->v);
		INV_TRY(inv_layers_backward_take(p->pass, 1, of->params, NULL, dy, of->grads,
		                                 inv_adamw_take, &u.adamw));
		return inv_layers_backward_take(p->pass, 0, NULL, x, NULL, of->grads,
		                                inv_adamw_take, &u.adamw);
	}
	u = (rank_update){inv_adamw_begin(&p->kernels, a, lr, t, d->params, d->m, d->v), d->ctx,
	                  d->s.d};
	INV_TRY(inv_layers_backward_take(d->layers, 1, d->params, NULL, dy, d->grads,
	                                 inv_adamw_take, &u.adamw));
	INV_TRY(send_columns(d, d->params + d->own_blocks[2].offset));
	INV_TRY(
		inv_layers_backward_take(d->layers, 0, NULL, x, NULL, d->grads, take_and_poke, &u));
	return place_columns(d, d->second);
}

invar_status inv_mlp_steps_collect(inv_mlp_steps *p)
{
	if (!p->ahead)
		return INVAR_OK;
	p->ahead = false;
	INV_TRY(collect_vector(p->dealt, p->dealt->params, p->of.params));
	INV_TRY(collect_vector(p->dealt, p->dealt->m, p->of.m));
	return collect_vector(p->dealt, p->dealt->v, p->of.v);
}
