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
	inv_layers *pass;
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

static void plan_decoder_memory(inv_decoder *d)
{
	d->rebuilt = inv_arena_take(&d->arena, d->N * d->s.w, sizeof(float));
	d->d_rebuilt = inv_arena_take(&d->arena, d->N * d->s.w, sizeof(float));
	d->d_z = inv_arena_take(&d->arena, d->N * d->s.d, sizeof(float));
	d->error = inv_arena_take(&d->arena, d->N, sizeof(double));
}

invar_status inv_decoder_new(const invar_context *ctx, const struct inv_kernels *kernels,
                             inv_mlp_shape s, size_t N, bool backward, inv_decoder **out)
{
	inv_decoder *d;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&d));
	*d = (inv_decoder){.ctx = ctx, .kernels = kernels, .s = s, .N = N};
	plan_decoder_memory(d);
	INV_TRY_OR(fail, inv_arena_commit(&d->arena));
	plan_decoder_memory(d);
	INV_TRY_OR(fail, inv_mlp_pass_new(ctx, s, N, backward, &d->pass));
	if (backward)
		INV_TRY_OR(fail, inv_layers_want_input(d->pass));
	*out = d;
	return INVAR_OK;
fail:
	inv_decoder_free(d);
	return st;
}

size_t inv_decoder_memory(const inv_decoder *d)
{
	return d->arena.size + inv_layers_memory(d->pass);
}

void inv_decoder_free(inv_decoder *d)
{
	if (!d)
		return;
	inv_layers_free(d->pass);
	inv_arena_free(&d->arena);
	inv_free(d);
}

typedef struct decoder_error_job {
	const inv_decoder *d;
	const float *x;
	size_t block; /* rows in a block of work */
	float scale;
} decoder_error_job;

static void decoder_error_block(void *user, size_t block, unsigned thread)
{
	const decoder_error_job *j = user;
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
	decoder_error_job j = {.d = d,
	               .x = x,
	               .block = inv_blocks(BLOCK_FLOATS, d->s.w),
	               .scale = (float)(2 * alpha / (double)d->N)};

	INV_TRY(inv_layers_forward(d->pass, params, z, false, d->rebuilt));
	inv_parallel(d->ctx, inv_blocks(d->N, j.block), decoder_error_block, &j);
	*out = inv_sum_in_order(d->error, d->N) / (double)d->N;
	return INVAR_OK;
}

invar_status inv_decoder_backward(inv_decoder *d, const float *params, const float *z,
                                  float *grads, float *dz)
{
	INV_TRY(inv_layers_backward(d->pass, 1, params, NULL, d->d_rebuilt, grads));
	INV_TRY(inv_layers_backward(d->pass, 0, NULL, z, NULL, grads));
	INV_TRY(inv_layers_backward_input(d->pass, params, d->d_z));
	d->kernels->add(d->d_z, d->N * d->s.d, dz);
	return INVAR_OK;
}
