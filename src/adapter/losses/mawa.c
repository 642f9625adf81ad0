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

#include "base/threads.h"

enum { BLOCK_FLOATS = 1 << 15, TERM_CLEAN = 0, TERM_AUGMENTED = 1 };

typedef struct mawa_job {
	const inv_loss_batch *b;
	size_t rows, block; /* rows in all, and in a block of work */
	float *grad;
	double *error; /* [rows] weighted squared errors */
} mawa_job;

static size_t row_count(size_t N, size_t s, const inv_loss_opts *o)
{
	return (s + !o->no_identity) * N;
}

static bool codes_clean(const inv_loss_opts *o)
{
	return !o->no_identity;
}

static size_t scratch(size_t N, size_t s, size_t d, size_t w, const inv_loss_opts *o)
{
	(void)d;
	(void)w;
	return row_count(N, s, o) * sizeof(double);
}

static size_t clean_rows(const inv_loss_batch *b)
{
	return b->opts->no_identity ? 0 : b->N;
}

static void error_block(void *user, size_t block, unsigned thread)
{
	const mawa_job *j = user;
	const inv_loss_batch *b = j->b;
	size_t from = block * j->block, w = b->w;
	size_t end = from + j->block < j->rows ? from + j->block : j->rows;

	(void)thread;
	for (size_t row = from; row < end; row++) {
		double weight = row < clean_rows(b) ? b->opts->anchor : 1;
		float scale = (float)(2 * weight / (double)j->rows);

		j->error[row] = weight * b->kernels->squared_error(b->codes + row * w,
		                                                   b->clean + row % b->N * w, w,
		                                                   scale, j->grad + row * w);
	}
}

static invar_status evaluate(const inv_loss_batch *b, inv_loss_value *out, float *grad)
{
	size_t rows = row_count(b->N, b->s, b->opts), clean = clean_rows(b);
	mawa_job j = {.b = b,
	              .rows = rows,
	              .block = inv_blocks(BLOCK_FLOATS, b->w),
	              .grad = grad,
	              .error = b->scratch};

	inv_parallel(b->ctx, inv_blocks(rows, j.block), error_block, &j);
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
	.codes_clean = codes_clean,
	.scratch = scratch,
	.evaluate = evaluate,
};
