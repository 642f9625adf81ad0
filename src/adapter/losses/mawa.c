/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mawa.c - the Markov-Wasserstein loss (Eq. 21).
 *
 *     L = 1/N sum_i 1/(s+1) sum_k |E(F_i^k) - F_i^0|^2
 *
 * summed over dimensions, not averaged. Every code, the clean one (k = 0)
 * included, is pulled to the clean feature of its image. The clean term is the
 * anchor: without it E is free to move the clean features. `anchor` weighs it
 * (1 as in the paper, the divisor stays s + 1); `no_identity` leaves it out, and
 * the divisor is s, the number of remaining rows.
 *
 * Each row's squared error is summed in double, then the rows in order.
 */
#include "adapter/losses/loss.h"

#include "base/memory.h"
#include "base/options.h"
#include "base/threads.h"

extern const inv_loss inv_loss_mawa;

enum { BLOCK_FLOATS = 1 << 15, TERM_CLEAN = 0, TERM_AUGMENTED = 1 };

typedef struct mawa {
	double anchor;
	size_t clean;    /* rows of codes that are clean: N, or 0 without identity */
	double *error;   /* [rows] weighted squared errors */
	float *unwanted; /* [threads, w] a gradient row to discard if none is wanted */
	inv_arena arena;
} mawa;

static const invar_option options[] = {
	{"anchor", INVAR_OPTION_NUMBER, "1", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "W", .group = "Loss",
     .help = "mawa: weight of the clean term; init features: weight of clean rows"},
	{0},
};

static void release_mawa(void *state)
{
	mawa *p = state;

	inv_arena_free(&p->arena);
	inv_free(p);
}

static void plan_mawa_memory(const inv_loss_shape *s, mawa *p)
{
	p->error = inv_arena_take(&p->arena, inv_loss_rows(&inv_loss_mawa, s), sizeof(double));
	p->unwanted = inv_arena_take(&p->arena, s->ctx->threads * s->w, sizeof(float));
}

static invar_status prepare_mawa(const inv_loss_shape *s, inv_loss_work *out)
{
	invar_status st;
	mawa *p;

	INV_TRY(inv_new(&p));
	p->anchor = inv_option_number(s->options, "anchor");
	p->clean = inv_loss_keeps_identity(s->options) ? s->N : 0;
	plan_mawa_memory(s, p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	plan_mawa_memory(s, p);
	*out = (inv_loss_work){.state = p, .bytes = p->arena.size};
	return INVAR_OK;
fail:
	release_mawa(p);
	return st;
}

typedef struct mawa_job {
	const inv_loss_shape *shape;
	const mawa *state;
	const inv_loss_batch *b;
	size_t rows, block; /* rows in all, and in a block of work */
	float *grad;
} mawa_job;

static void mawa_error_block(void *user, size_t block, unsigned thread)
{
	const mawa_job *j = user;
	const inv_loss_shape *s = j->shape;
	size_t from = block * j->block, w = s->w;
	size_t end = from + j->block < j->rows ? from + j->block : j->rows;
	float *unwanted = j->state->unwanted + thread * w;

	for (size_t row = from; row < end; row++) {
		double weight = row < j->state->clean ? j->state->anchor : 1;
		float scale = (float)(2 * weight / (double)j->rows);
		float *grad = j->grad ? j->grad + row * w : unwanted;

		j->state->error[row] = weight * s->kernels->squared_error(
											j->b->codes + row * w,
											j->b->clean + row % s->N * w, w, scale, grad);
	}
}

static invar_status evaluate_mawa(const inv_loss_shape *s, void *state,
                                  const inv_loss_batch *b, inv_loss_value *out, float *grad)
{
	const mawa *p = state;
	size_t rows = inv_loss_rows(&inv_loss_mawa, s), clean = p->clean;
	mawa_job j = {.shape = s,
	              .state = p,
	              .b = b,
	              .rows = rows,
	              .block = inv_blocks(BLOCK_FLOATS, s->w),
	              .grad = grad};

	inv_parallel(s->ctx, inv_blocks(rows, j.block), mawa_error_block, &j);
	out->term[TERM_CLEAN] = inv_sum_in_order(p->error, clean) / (double)rows;
	out->term[TERM_AUGMENTED] =
		inv_sum_in_order(p->error + clean, rows - clean) / (double)rows;
	out->value = out->term[TERM_CLEAN] + out->term[TERM_AUGMENTED];
	return INVAR_OK;
}

const inv_loss inv_loss_mawa = {
	.name = "mawa",
	.summary = "squared distance of codes to F(x), as published",
	.terms = {"clean", "augmented"},
	.same_width = true,
	.batch = 256,
	.options = options,
	.shares = "no-identity",
	.codes_clean = inv_loss_keeps_identity,
	.prepare = prepare_mawa,
	.evaluate = evaluate_mawa,
	.release = release_mawa,
};
