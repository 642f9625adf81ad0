/*
 * pixels.c - F is the identity: the normalised tensor, flattened.
 *
 * The paper's dimension reduction without an encoder. Images of one channel stay so,
 * which makes 784 numbers of a digit of MNIST.
 */
#include <string.h>

#include "encoders/encoder.h"

static invar_status width(const invar_encoder *e, inv_extent shape, uint64_t *out)
{
	(void)e;
	*out = inv_extent_cells(shape);
	return INVAR_OK;
}

static invar_status run(const invar_encoder *e, const float *x, size_t n, inv_extent shape,
                        unsigned thread, float *out)
{
	(void)e;
	(void)thread;
	memcpy(out, x, n * inv_extent_cells(shape) * sizeof *out);
	return INVAR_OK;
}

const inv_encoder_kind inv_pixels = {
	.name = "pixels",
	.filter = INV_BILINEAR,
	.keeps_grey = true,
	.width = width,
	.run = run,
};
