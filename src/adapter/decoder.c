/* SPDX-License-Identifier: Apache-2.0 */
/* decoder.c - the reconstruction term and its gradients. */
#include "adapter/decoder.h"

#include "base/threads.h"

enum { BLOCK_FLOATS = 1 << 15 };

struct inv_decoder {
	const invar_context *ctx;
	const struct inv_kernels *kernels;
	inv_mlp_shape s;
	size_t N;
	inv_mlp_pass *pass;
	inv_arena arena;
	float *rebuilt, *d_rebuilt; /* [N, d] D(z), and alpha dR with respect to it */
	float *d_z;                 /* [N, w] */
	double *error;              /* [N] */
};

void inv_decoder_init(inv_mlp_shape s, uint64_t seed, float *params)
{
	const inv_layers_shape layers = {2, {s.d, s.h, s.w}};
	const inv_stream stream = inv_stream_of(seed, "decoder", 0);

	inv_layers_init(&layers, &stream, params);
}

static void plan_memory(inv_decoder *d)
{
	d->rebuilt = inv_arena_take(&d->arena, d->N * d->s.w, sizeof(float));
	d->d_rebuilt = inv_arena_take(&d->arena, d->N * d->s.w, sizeof(float));
	d->d_z = inv_arena_take(&d->arena, d->N * d->s.d, sizeof(float));
	d->error = inv_arena_take(&d->arena, d->N, sizeof(double));
}

invar_status inv_decoder_new(const invar_context *ctx, const struct inv_kernels *kernels,
                             inv_mlp_shape s, size_t N, bool backward, inv_decoder **out)
{
	inv_decoder *d = inv_calloc(1, sizeof *d);
	invar_status st;

	*out = NULL;
	if (!d)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the decoder");
	*d = (inv_decoder){.ctx = ctx, .kernels = kernels, .s = s, .N = N};
	plan_memory(d);
	if ((st = inv_arena_commit(&d->arena)) == INVAR_OK) {
		plan_memory(d);
		st = inv_mlp_pass_new(ctx, s, N, backward, &d->pass);
	}
	if (st == INVAR_OK && backward)
		st = inv_mlp_want_input(d->pass);
	if (st != INVAR_OK) {
		inv_decoder_free(d);
		return st;
	}
	*out = d;
	return INVAR_OK;
}

size_t inv_decoder_memory(const inv_decoder *d)
{
	return d->arena.size + inv_mlp_pass_memory(d->pass);
}

void inv_decoder_free(inv_decoder *d)
{
	if (!d)
		return;
	inv_mlp_pass_free(d->pass);
	inv_arena_free(&d->arena);
	inv_free(d);
}

typedef struct error_job {
	const inv_decoder *d;
	const float *x;
	size_t block; /* rows in a block of work */
	float scale;
} error_job;

static void error_block(void *user, size_t block, unsigned thread)
{
	const error_job *j = user;
	const inv_decoder *d = j->d;
	size_t from = block * j->block, width = d->s.w;
	size_t end = from + j->block < d->N ? from + j->block : d->N;

	(void)thread;
	for (size_t row = from; row < end; row++)
		d->error[row] =
			d->kernels->squared_error(d->rebuilt + row * width, j->x + row * width, width,
		                              j->scale, d->d_rebuilt + row * width);
}

invar_status inv_decoder_forward(inv_decoder *d, const float *params, const float *x,
                                 const float *z, double alpha, double *out)
{
	error_job j = {.d = d,
	               .x = x,
	               .block = inv_blocks(BLOCK_FLOATS, d->s.w),
	               .scale = (float)(2 * alpha / (double)d->N)};
	invar_status st = inv_mlp_forward(d->pass, params, z, false, d->rebuilt);

	if (st != INVAR_OK)
		return st;
	inv_parallel(d->ctx, inv_blocks(d->N, j.block), error_block, &j);
	*out = inv_sum_in_order(d->error, d->N) / (double)d->N;
	return INVAR_OK;
}

invar_status inv_decoder_backward(inv_decoder *d, const float *params, const float *z,
                                  float *grads, float *dz)
{
	invar_status st = inv_mlp_backward_last(d->pass, params, d->d_rebuilt, grads);

	if (st == INVAR_OK)
		st = inv_mlp_backward_first(d->pass, z, grads);
	if (st == INVAR_OK)
		st = inv_mlp_backward_input(d->pass, params, d->d_z);
	if (st == INVAR_OK)
		d->kernels->add(d->d_z, d->N * d->s.d, dz);
	return st;
}
