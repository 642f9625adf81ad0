/* SPDX-License-Identifier: Apache-2.0 */
/* light.c - see light.h. */
#include "images/augment/light.h"

inv_pixel_scale inv_pixels_of(const inv_tools *t, size_t channel)
{
	size_t c = channel < t->channels ? channel : 0; /* one pair serves all channels */

	return t->channels ? (inv_pixel_scale){t->mean[c], t->std[c]} : (inv_pixel_scale){0, 1};
}

void inv_pixels_scale(const inv_op_call *call, float factor, float offset, float *out)
{
	size_t plane = call->shape.h * call->shape.w;

	for (size_t c = 0; c < call->shape.c; c++) {
		inv_pixel_scale s = inv_pixels_of(call->tools, c);
		float shift = (s.mean * factor + offset - s.mean) / s.std;

		call->tools->image->scale(call->in + c * plane, factor, shift, -s.mean / s.std,
		                          (1 - s.mean) / s.std, plane, out + c * plane);
	}
}
