/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.c - Gaussian noise on every value, as Kornia's RandomGaussianNoise.
 *
 * y = x + mean + std n, without clipping. The field n is a function of the seed, the
 * purpose, the epoch, the copy and the image, so the two columns mean and std repeat a
 * picture.
 */
#include "images/augment/augment_kernels.h"
#include "images/augment/op.h"
#include "math/kernels.h"

enum { MEAN = INV_OWN_KEY, STD };

static const inv_key keys[] = {
	{"mean", INV_KEY_RANGE, 0, 0, -1000, 1000, NULL, "of the noise"},
	{"std", INV_KEY_RANGE, 1, 1, 0, 1000, NULL, "of the noise"},
};

static const char *const columns[] = {"mean", "std"};

static void draw_noise(const inv_value *v, inv_extent in, inv_cursor *c, float *row)
{
	(void)in;
	row[0] = inv_draw_range(c, v[MEAN]);
	row[1] = inv_draw_range(c, v[STD]);
}

static invar_status apply_noise(const inv_op_call *call, float *out)
{
	const struct inv_kernels *math = call->tools->math;
	size_t cells = inv_extent_cells(call->shape);
	float mean = call->row[0], std = call->row[1];

	if (math->add_normal) {
		math->add_normal(&call->field, call->index, call->in, mean, std, out, cells);
		return INVAR_OK;
	}
	math->normal(&call->field, call->index, out, cells);
	call->tools->image->add_field(call->in, mean, std, cells, out);
	return INVAR_OK;
}

const inv_op inv_op_noise = {
	.name = "noise",
	.class_name = "RandomGaussianNoise",
	.help = "adds Gaussian noise to every value",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.draw = draw_noise,
	.apply = apply_noise,
};
