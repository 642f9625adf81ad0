/* SPDX-License-Identifier: Apache-2.0 */
/* id.c - the identity, so that a set may leave some images as they are. */
#include <string.h>

#include "images/augment/op.h"

static invar_status apply_identity(const inv_op_call *call, float *out)
{
	memcpy(out, call->in, inv_extent_cells(call->shape) * sizeof *out);
	return INVAR_OK;
}

const inv_op inv_op_id = {
	.name = "id",
	.class_name = "id",
	.help = "leaves the image unchanged",
	.apply = apply_identity,
};
