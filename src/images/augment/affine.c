/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine.c - rotation, scale, translation and shear, as Kornia's RandomAffine.
 *
 * A source point is sheared first, then scaled, rotated and translated:
 * M = T(t) T(c) R S(k) T(-c) Sh. Here R = [[cos, -sin], [sin, cos]]: a positive
 * angle is clockwise, the opposite of `rotation`. One factor scales both axes; only the
 * shear along x is drawn, as in Kornia when shear is given by two numbers.
 *
 * With inside=1 the picture is prepared larger, so that no draw shows what lies outside
 * it. How much larger depends on the ranges: a pixel of the result at p from the centre
 * shows the source at
 *
 *     q = Sh^-1 R^-1 (p - t) / k,   Sh^-1 = [[1, tan f], [0, 1]],
 *
 * so that, with h the largest coordinate of p - t and a the angle,
 *
 *     |q.x| <= h (|cos(a + f)| + |sin(a + f)|) / (k cos f),
 *     |q.y| <= h (|cos a| + |sin a|) / k.
 *
 * Translations are fractions of the visible side.
 */
#include <math.h>

#include "images/augment/inside.h"
#include "images/augment/warp.h"

enum {
	DEGREES = INV_OWN_KEY,
	TRANSLATE,
	SCALE,
	SHEAR,
	ALIGN,
	CORNERS,
	FILL,
	CIRCLE,
	INSIDE,
	COUNT
};
enum { ANGLE, FACTOR, TX, TY, SHEAR_X, SHEAR_Y };

static const inv_key keys[] = {
	{"degrees", INV_KEY_SPREAD, -30, 30, -3600, 3600, NULL, "angles, clockwise"},
	{"translate", INV_KEY_SPREAD, -0.2, 0.2, -10, 10, NULL,
     "shifts as shares of each side"},
	{"scale", INV_KEY_RANGE, 0.8, 1.2, 0.01, 100, NULL, "factors for both axes"},
	{"shear", INV_KEY_SPREAD, -15, 15, -89, 89, NULL, "angles of shear along x"},
	{"align_corners", INV_KEY_WORD, INV_CORNERS_FALSE, INV_CORNERS_FALSE, 0, 0,
     INV_WORDS_BOOLEAN, "as Kornia's"},
	{"corners", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_CORNERS,
     "exact drops Kornia's stretch under align_corners=false"},
	{"fill", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_FILL, "what lies outside"},
	{"circle", INV_KEY_WORD, 0, 0, 0, 0, "0|1", "leave only the inscribed circle"},
	{"inside", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_INSIDE,
     "crop from a larger image, so that no empty corner is visible"},
};
_Static_assert(sizeof keys / sizeof *keys == COUNT - INV_OWN_KEY, "a place for each key");

static const char *const columns[] = {"angle", "scale", "tx", "ty", "shear_x", "shear_y"};

/* ---- What inside=1 needs ------------------------------------------------------- */

static double greatest(inv_value range)
{
	return fmax(fabs(range.low), fabs(range.high));
}

/* The maximum of |cos a| + |sin a| between two angles; its peaks are sqrt(2), at 45
 * degrees. */
static double max_extent(double low, double high)
{
	double next = ceil((low - 45) / 90) * 90 + 45; /* the first peak at or above low */
	double a = low * (M_PI / 180), b = high * (M_PI / 180);

	if (next <= high)
		return M_SQRT2;
	return fmax(fabs(cos(a)) + fabs(sin(a)), fabs(cos(b)) + fabs(sin(b)));
}

/*
 * Kornia's align_corners=false stretches a translation by W / (W - 1), and parameters are
 * rounded to float. The result is at least `seen`, as the clean picture must be visible
 * too.
 */
static size_t affine_around(const inv_value *v, size_t seen)
{
	const double slack = 1e-3;
	double side = (double)seen, stretch = seen > 1 ? side / (side - 1) : 2;
	double h = (side - 1) / 2 + greatest(v[TRANSLATE]) * side * stretch;
	inv_value a = v[DEGREES], f = v[SHEAR];
	double x = max_extent(a.low + f.low, a.high + f.high) /
	           (v[SCALE].low * cos(greatest(f) * (M_PI / 180)));
	double y = max_extent(a.low, a.high) / v[SCALE].low;

	if (!inv_value_is(v[INSIDE], 1))
		return seen;
	return inv_side_around(seen, 2 * h * fmax(1, fmax(x, y)) + 1 + slack);
}

static inv_extent affine_result(const inv_value *v, inv_extent in)
{
	return inv_value_is(v[INSIDE], 1) ? inv_extent_inside(affine_around, v, in) : in;
}

/* ---- The map -------------------------------------------------------------------- */

static void draw_affine(const inv_value *v, inv_extent in, inv_cursor *c, float *row)
{
	inv_value shift = v[TRANSLATE];
	inv_extent seen = affine_result(v, in);
	double w = (double)seen.w, h = (double)seen.h;

	row[ANGLE] = inv_draw_range(c, v[DEGREES]);
	row[FACTOR] = inv_draw_range(c, v[SCALE]);
	row[TX] = inv_draw_range(c, (inv_value){shift.low * w, shift.high * w});
	row[TY] = inv_draw_range(c, (inv_value){shift.low * h, shift.high * h});
	row[SHEAR_X] = inv_draw_range(c, v[SHEAR]);
	row[SHEAR_Y] = 0;
}

static void carry(inv_extent in, const float *row, double m[9])
{
	double angle = row[ANGLE] * (M_PI / 180), k = row[FACTOR];
	double c = k * cos(angle), s = k * sin(angle);
	double cx = (double)(in.w - 1) / 2, cy = (double)(in.h - 1) / 2;
	double a = tan(row[SHEAR_X] * (M_PI / 180)), b = tan(row[SHEAR_Y] * (M_PI / 180));
	double x0 = cx + row[TX] - c * cx + s * cy, y0 = cy + row[TY] - s * cx - c * cy;
	double shear_x = a * cy, shear_y = b * (cx - a * cy);

	m[0] = c + s * b;
	m[1] = -c * a - s * (1 + a * b);
	m[2] = c * shear_x - s * shear_y + x0;
	m[3] = s - c * b;
	m[4] = -s * a + c * (1 + a * b);
	m[5] = s * shear_x + c * shear_y + y0;
	m[6] = m[7] = 0;
	m[8] = 1;
}

static void affine_matrix(const inv_value *v, inv_extent in, const float *row, double m[9])
{
	carry(in, row, m);
	inv_warp_cut(m, in, affine_result(v, in));
}

static inv_warp warp_of(const inv_value *v, inv_extent in, const float *row)
{
	inv_warp w = inv_warp_of(&v[ALIGN]);

	carry(in, row, w.m);
	return w;
}

static const char *refuse_affine_row(const inv_value *v, inv_extent in, const float *row)
{
	inv_warp w;

	if (row[FACTOR] < 1e-3f || row[FACTOR] > 1e3f)
		return "scale must lie between 0.001 and 1000";
	if (fabsf(row[SHEAR_X]) > 89.9f || fabsf(row[SHEAR_Y]) > 89.9f)
		return "shear must lie between -89.9 and 89.9 degrees";
	if (fabsf(row[TX]) > 1e6f || fabsf(row[TY]) > 1e6f)
		return "tx and ty must lie between -1e6 and 1e6 pixels";
	w = warp_of(v, in, row);
	if (w.inside && !inv_warp_stays_inside(&w, in, affine_result(v, in)))
		return "it would show pixels outside the image, which inside=1 does not allow";
	return NULL;
}

static invar_status apply_affine(const inv_op_call *call, float *out)
{
	inv_warp w = warp_of(call->v, call->shape, call->row);

	inv_warp_apply(call->tools->image, &w, call->in, call->shape, call->result, out);
	return INVAR_OK;
}

/* ---- The JSON layout ----------------------------------------------------------- */

static void spread_center(const inv_value *v, inv_extent in, const float *row,
                          double *cells)
{
	(void)v;
	(void)row;
	cells[0] = (double)(in.w - 1) / 2;
	cells[1] = (double)(in.h - 1) / 2;
}

static const inv_param_array arrays[] = {
	{"translations", 1, {2, 1}, false, {TX, TY}, NULL, NULL},
	{"center", 1, {2, 1}, false, {0}, spread_center, NULL},
	{"scale", 1, {2, 1}, false, {FACTOR, FACTOR}, NULL, NULL},
	{"angle", 0, {1, 1}, false, {ANGLE}, NULL, NULL},
	{"shear_x", 0, {1, 1}, false, {SHEAR_X}, NULL, NULL},
	{"shear_y", 0, {1, 1}, false, {SHEAR_Y}, NULL, NULL},
};

const inv_op inv_op_affine = {
	.name = "affine",
	.class_name = "RandomAffine",
	.help = "rotates, scales, shifts and shears",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.arrays = arrays,
	.array_count = sizeof arrays / sizeof *arrays,
	.draw = draw_affine,
	.result = affine_result,
	.around = affine_around,
	.refuse_row = refuse_affine_row,
	.matrix = affine_matrix,
	.apply = apply_affine,
};
