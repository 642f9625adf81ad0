/*
 * mawa.c - the Markov-Wasserstein loss (Eq. 21).
 *
 *     L = 1/N sum_i 1/(s+1) sum_k |E(F_i^k) - F_i^0|^2
 *
 * summed over dimensions, not averaged. Every code, the clean one (k = 0)
 * included, is pulled to the clean feature of its image. The clean term is the
 * anchor: without it E is free to move the clean features. `anchor` weighs it
 * (1 as in the paper, the divisor stays s + 1); `no_identity` leaves it out, and
 * the divisor is s, the number of rows that are left.
 *
 * Each row's squared error is summed in double, then the rows in order.
 */
#include "adapter/losses/mawa.h"

#include "base/memory.h"
#include "base/threads.h"

enum { BLOCK_FLOATS = 1 << 15, TERM_CLEAN = 0, TERM_AUGMENTED = 1 };

typedef struct mawa_job {
	const inv_loss_shape *shape;
	const inv_loss_batch *b;
	size_t rows, block; /* rows in all, and in a block of work */
	float *grad;
	double *error; /* [rows] weighted squared errors */
} mawa_job;

static bool codes_clean(const inv_loss_opts *o)
{
	return !o->no_identity;
}

/* The state: errors [rows], then a gradient row a thread for when none is wanted. */
static invar_status prepare(const inv_loss_shape *s, inv_loss_work *out)
{
	size_t rows = inv_loss_rows(&inv_loss_mawa, s);

	out->bytes = rows * sizeof(double) + s->ctx->threads * s->w * sizeof(float);
	out->state = inv_alloc(out->bytes);
	return out->state ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "no memory for the loss");
}

static size_t clean_rows(const inv_loss_shape *s)
{
	return s->opts->no_identity ? 0 : s->N;
}

static void error_block(void *user, size_t block, unsigned thread)
{
	const mawa_job *j = user;
	const inv_loss_shape *s = j->shape;
	size_t from = block * j->block, w = s->w;
	size_t end = from + j->block < j->rows ? from + j->block : j->rows;
	float *unwanted = (float *)(j->error + j->rows) + thread * w;

	for (size_t row = from; row < end; row++) {
		double weight = row < clean_rows(s) ? s->opts->anchor : 1;
		float scale = (float)(2 * weight / (double)j->rows);
		float *grad = j->grad ? j->grad + row * w : unwanted;

		j->error[row] = weight * s->kernels->squared_error(j->b->codes + row * w,
		                                                   j->b->clean + row % s->N * w, w,
		                                                   scale, grad);
	}
}

static invar_status evaluate(const inv_loss_shape *s, void *state, const inv_loss_batch *b,
                             inv_loss_value *out, float *grad)
{
	size_t rows = inv_loss_rows(&inv_loss_mawa, s), clean = clean_rows(s);
	mawa_job j = {.shape = s,
	              .b = b,
	              .rows = rows,
	              .block = inv_blocks(BLOCK_FLOATS, s->w),
	              .grad = grad,
	              .error = state};

	inv_parallel(s->ctx, inv_blocks(rows, j.block), error_block, &j);
	out->term[TERM_CLEAN] = inv_sum_in_order(j.error, clean) / (double)rows;
	out->term[TERM_AUGMENTED] =
		inv_sum_in_order(j.error + clean, rows - clean) / (double)rows;
	out->value = out->term[TERM_CLEAN] + out->term[TERM_AUGMENTED];
	return INVAR_OK;
}

const inv_loss inv_loss_mawa = {
	.name = "mawa",
	.terms = {"clean", "augmented"},
	.same_width = true,
	.batch = 256,
	.options = "anchor|no-identity",
	.codes_clean = codes_clean,
	.prepare = prepare,
	.evaluate = evaluate,
	.release = inv_free,
};
