/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixel_encoder.c - F is the identity: the normalised tensor, flattened.
 *
 * The paper's dimension reduction without an encoder. Images of one channel keep it, so
 * that a digit of MNIST gives 784 numbers.
 */
#include <stdio.h>
#include <string.h>

#include "encoders/encoder.h"

static invar_status open_pixels(invar_encoder *e, inv_parameters *p)
{
	(void)p;
	e->input.keeps_grey = true;
	snprintf(e->about, sizeof e->about, "the normalised pixels themselves");
	return INVAR_OK;
}

static invar_status plan_pixels(inv_encoder_plan *p)
{
	p->width = inv_extent_cells(p->shape);
	p->group = INV_GROUP;
	return INVAR_OK;
}

static invar_status run_pixels(const inv_encoder_plan *p, const float *x, size_t n,
                               unsigned thread, float *out)
{
	(void)thread;
	memcpy(out, x, n * p->width * sizeof *out);
	return INVAR_OK;
}

const inv_encoder_kind inv_encoder_pixels = {
	.family = "pixels",
	.about = "no network: the normalised tensor itself",
	.open = open_pixels,
	.plan = plan_pixels,
	.run = run_pixels,
};
