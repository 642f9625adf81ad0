/* SPDX-License-Identifier: Apache-2.0 */
/* scaled.c - see scaled.h. */
#include "adapter/scaled.h"

void inv_scaled_fold(const inv_clean_statistics *c, inv_mlp_shape s, bool residual,
                     float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	float *W0, *b0, *W2, *b2;

	inv_mlp_layout(s, blocks);
	W0 = params + blocks[0].offset;
	b0 = params + blocks[1].offset;
	W2 = params + blocks[2].offset;
	b2 = params + blocks[3].offset;
	for (size_t i = 0; i < s.h; i++) {
		double at_mean = 0;

		for (size_t l = 0; l < s.d; l++) {
			double weight = W0[i * s.d + l] / c->sigma;

			at_mean += weight * c->mean[l];
			W0[i * s.d + l] = (float)weight;
		}
		b0[i] = (float)(b0[i] - at_mean);
	}
	for (size_t i = 0; i < s.w * s.h; i++)
		W2[i] = (float)(W2[i] * c->sigma);
	for (size_t j = 0; j < s.w; j++)
		b2[j] = (float)(b2[j] * c->sigma + (residual ? 0 : c->mean[j]));
}

void inv_scaled_closed_form(const inv_clean_statistics *c, inv_closed_form *form)
{
	inv_map_affine *m = &form->map;
	inv_hidden_units *u = &form->units;
	size_t d = m->d;

	for (size_t j = 0; j < d; j++) {
		double moved = m->t[j] - c->mean[j];

		for (size_t i = 0; i < d; i++)
			moved += c->mean[i] * m->M[i * d + j];
		m->t[j] = moved / c->sigma;
	}
	for (size_t i = 0; i < u->count; i++) {
		double at_mean = 0;

		for (size_t l = 0; l < d; l++) {
			at_mean += u->W[i * d + l] * c->mean[l];
			u->W[i * d + l] = (float)(u->W[i * d + l] * c->sigma);
			u->V[i * d + l] /= c->sigma;
		}
		u->b[i] = (float)(u->b[i] + at_mean);
	}
}
