/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.c - the adapter as two layers with names. */
#include "nn/mlp.h"

#include <string.h>

static inv_layers_shape layers_of_mlp(inv_mlp_shape s)
{
	return (inv_layers_shape){2, {s.d, s.h, s.w}};
}

/* ---- Parameters --------------------------------------------------------------- */

void inv_mlp_layout(inv_mlp_shape s, inv_mlp_block blocks[INV_MLP_BLOCKS])
{
	const inv_layers_shape layers = layers_of_mlp(s);
	const inv_layer_place first = inv_layers_place(&layers, 0);
	const inv_layer_place last = inv_layers_place(&layers, 1);
	const inv_mlp_block want[INV_MLP_BLOCKS] = {
		{"0.weight", 2, {s.h, s.d}, first.weight, s.h * s.d},
		{"0.bias", 1, {s.h}, first.bias, s.h},
		{"2.weight", 2, {s.w, s.h}, last.weight, s.w * s.h},
		{"2.bias", 1, {s.w}, last.bias, s.w},
	};

	memcpy(blocks, want, sizeof want);
}

size_t inv_mlp_floats(inv_mlp_shape s)
{
	const inv_layers_shape layers = layers_of_mlp(s);

	return inv_layers_floats(&layers);
}

void inv_mlp_init(inv_mlp_shape s, uint64_t seed, bool zero_last, float *params)
{
	const inv_layers_shape layers = layers_of_mlp(s);
	const inv_stream stream = inv_stream_of(seed, "init", 0);
	const size_t last = inv_layers_place(&layers, 1).weight;

	inv_layers_init(&layers, &stream, params);
	if (zero_last)
		memset(params + last, 0, (inv_layers_floats(&layers) - last) * sizeof *params);
}

/* ---- Passes --------------------------------------------------------------------- */

invar_status inv_mlp_pass_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                              bool backward, inv_layers **out)
{
	const inv_layers_shape layers = layers_of_mlp(s);

	return inv_layers_new(ctx, &layers, M, backward, out);
}

invar_status inv_mlp_apply(const invar_context *ctx, inv_mlp_shape s, const float *params,
                           bool residual, const float *x, uint64_t rows, float *y)
{
	const inv_layers_shape layers = layers_of_mlp(s);

	return inv_layers_apply(ctx, &layers, params, residual, x, rows, y);
}
