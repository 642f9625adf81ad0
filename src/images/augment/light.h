/* SPDX-License-Identifier: Apache-2.0 */
/*
 * light.h - operations on pixels in [0, 1], whatever the tensor's normalisation.
 *
 * A tensor that was normalised is (pixel - mean) / std by channel. Brightness,
 * contrast and jpeg are defined on pixels, so they work on the pixel, clamp it to [0, 1]
 * and normalise again; linear operations do this in one step.
 */
#ifndef INV_LIGHT_H
#define INV_LIGHT_H

#include "images/augment/augment_kernels.h"
#include "images/augment/op.h"

typedef struct inv_pixel_scale {
	float mean, std; /* pixel = value * std + mean */
} inv_pixel_scale;

inv_pixel_scale inv_pixels_of(const inv_tools *t, size_t channel);

/* pixel = pixel * factor + offset, clamped to [0, 1], computed on normalised values. */
void inv_pixels_scale(const inv_op_call *call, float factor, float offset, float *out);

#endif
