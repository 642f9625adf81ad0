/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotation.c - rotation about the centre, as Kornia's RandomRotation.
 *
 * M = T(c) R T(-c), R = [[cos, sin], [-sin, cos]]: a positive angle rotates the
 * picture counter-clockwise as displayed. The size stays; what leaves the frame
 * is lost.
 *
 * With inside=1 the result is the centre of a picture sqrt(2) times as large, whatever
 * the degrees: no angle shows a corner, and the clean pictures are the same for all ranges.
 */
#include <math.h>

#include "images/augment/inside.h"
#include "images/augment/warp.h"

enum { DEGREES = INV_OWN_KEY, ALIGN, CORNERS, FILL, CIRCLE, INSIDE, COUNT };
enum { ANGLE };

static const inv_key keys[] = {
	{"degrees", INV_KEY_SPREAD, -180, 180, -3600, 3600, NULL, "angles, counter-clockwise"},
	{"align_corners", INV_KEY_WORD, INV_CORNERS_TRUE, INV_CORNERS_TRUE, 0, 0,
     INV_WORDS_BOOLEAN, "as Kornia's"},
	{"corners", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_CORNERS,
     "exact drops Kornia's stretch under align_corners=false"},
	{"fill", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_FILL, "what lies outside"},
	{"circle", INV_KEY_WORD, 0, 0, 0, 0, "0|1", "leave only the inscribed circle"},
	{"inside", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_INSIDE,
     "crop from a larger image, so that no empty corner is visible"},
};
_Static_assert(sizeof keys / sizeof *keys == COUNT - INV_OWN_KEY, "a place for each key");

static const char *const columns[] = {"angle"};

/* The circle about a square of side n has the diameter n sqrt(2). */
static size_t rotation_around(const inv_value *v, size_t seen)
{
	if (!inv_value_is(v[INSIDE], 1))
		return seen;
	return inv_side_around(seen, (double)seen * M_SQRT2);
}

static inv_extent rotation_result(const inv_value *v, inv_extent in)
{
	return inv_value_is(v[INSIDE], 1) ? inv_extent_inside(rotation_around, v, in) : in;
}

static void rotation_map(inv_extent in, const float *row, double m[9])
{
	double angle = row[ANGLE] * (M_PI / 180), c = cos(angle), s = sin(angle);
	double cx = (double)(in.w - 1) / 2, cy = (double)(in.h - 1) / 2;

	m[0] = c;
	m[1] = s;
	m[2] = (1 - c) * cx - s * cy;
	m[3] = -s;
	m[4] = c;
	m[5] = s * cx + (1 - c) * cy;
	m[6] = m[7] = 0;
	m[8] = 1;
}

static void rotation_matrix(const inv_value *v, inv_extent in, const float *row,
                            double m[9])
{
	rotation_map(in, row, m);
	inv_warp_cut(m, in, rotation_result(v, in));
}

static invar_status apply_rotation(const inv_op_call *call, float *out)
{
	const inv_value *v = call->v;
	inv_warp w = inv_warp_of(&v[ALIGN]);

	rotation_map(call->shape, call->row, w.m);
	inv_warp_apply(call->tools->image, &w, call->in, call->shape, call->result, out);
	return INVAR_OK;
}

static const inv_param_array arrays[] = {
	{"degrees", 0, {1, 1}, false, {ANGLE}, NULL, NULL},
};

const inv_op inv_op_rotation = {
	.name = "rotation",
	.class_name = "RandomRotation",
	.help = "rotates about the centre",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.arrays = arrays,
	.array_count = sizeof arrays / sizeof *arrays,
	.draw = inv_draw_first,
	.result = rotation_result,
	.around = rotation_around,
	.matrix = rotation_matrix,
	.apply = apply_rotation,
};
