/* SPDX-License-Identifier: Apache-2.0 */
/*
 * light.h - operations that see pixels, 0 to 1, whatever the tensor's scale.
 *
 * A tensor that was normalised is (pixel - mean) / std by channel. Brightness,
 * contrast and jpeg are about light, so they work on the pixel, hold it between 0
 * and 1 and normalise again; what is linear is done in one step.
 */
#ifndef INV_LIGHT_H
#define INV_LIGHT_H

#include "images/augment/augment_kernels.h"
#include "images/augment/op.h"

typedef struct inv_pixel_scale {
	float mean, std; /* pixel = value * std + mean */
} inv_pixel_scale;

inv_pixel_scale inv_pixels_of(const inv_tools *t, size_t channel);

/* pixel = pixel * factor + offset, held between 0 and 1, on the tensor's own scale. */
void inv_pixels_scale(const inv_op_call *call, float factor, float offset, float *out);

#endif
