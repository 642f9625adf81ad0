/* SPDX-License-Identifier: Apache-2.0 */
/* brightness.c - pixels times a factor, as torchvision's adjust_brightness. */
#include "images/augment/op.h"

static const inv_key keys[] = {
	{"factor", INV_KEY_RANGE, 0.6, 1.4, 0, 100, NULL, "factor for pixels"},
};

static const char *const columns[] = {"factor"};

static invar_status apply_brightness(const inv_op_call *call, float *out)
{
	inv_pixels_scale(call, call->row[0], 0, out);
	return INVAR_OK;
}

const inv_op inv_op_brightness = {
	.name = "brightness",
	.class_name = "brightness",
	.help = "makes pixels darker or lighter",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.draw = inv_draw_first,
	.apply = apply_brightness,
};
