/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crop.c - a box of random area and shape, resized, as Kornia's RandomResizedCrop.
 *
 * Ten candidates: area U(scale) H W, ratio exp(U(log r0, log r1)) of width to
 * height, sides rounded half to even; the first that is smaller than the picture on
 * both sides is used, else the largest box of the smallest ratio. (Kornia before 0.8.3 had
 * the sides swapped.)
 *
 * mode=slice resizes the box alone: (u (w - 1) / (W' - 1)) under align_corners=true,
 * else ((u + 1/2) w / W' - 1/2) clamped to the box. mode=resample warps the whole
 * picture by the matrix that maps the box's corner pixels to the result's.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "images/augment/warp.h"

enum { SCALE = INV_OWN_KEY, RATIO, MODE, SIZE, ALIGN, CORNERS, COUNT };
enum { X0, Y0, WIDTH, HEIGHT };
enum { TRIES = 10 };

static const inv_key keys[] = {
	{"scale", INV_KEY_RANGE, 0.5, 0.7, 1e-6, 1, NULL, "share of the area"},
	{"ratio", INV_KEY_RANGE, 0.75, 1.33, 0.01, 100, NULL, "width by height"},
	{"mode", INV_KEY_WORD, INV_MODE_SLICE, INV_MODE_SLICE, 0, 0, "slice|resample",
     "resize the box, or warp the image"},
	{"size", INV_KEY_SIZE, 0, 0, 1, 16384, NULL,
     "size of the result; default: the input's"},
	{"align_corners", INV_KEY_WORD, INV_CORNERS_TRUE, INV_CORNERS_TRUE, 0, 0,
     INV_WORDS_BOOLEAN, "as Kornia's"},
	{"corners", INV_KEY_WORD, 0, 0, 0, 0, INV_WORDS_CORNERS,
     "exact drops Kornia's stretch in resample under align_corners=false"},
};
_Static_assert(sizeof keys / sizeof *keys == COUNT - INV_OWN_KEY, "a place for each key");

static const char *const columns[] = {"x0", "y0", "w", "h"};

/* ---- Drawing -------------------------------------------------------------------- */

typedef struct sides {
	double w, h;
} sides;

static double between(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* All candidates are drawn, so that the numbers of the corner do not depend on which one is
 * chosen. */
static sides draw_sides(const inv_value *v, double W, double H, inv_cursor *c)
{
	inv_value log_ratio = {log(v[RATIO].low), log(v[RATIO].high)};
	sides found = {0, 0};
	double least = v[RATIO].low;

	for (int i = 0; i < TRIES; i++) {
		double area = (double)inv_draw_range(c, v[SCALE]) * H * W;
		double ratio = exp((double)inv_draw_range(c, log_ratio));
		sides s = {rint(sqrt(area * ratio)), rint(sqrt(area / ratio))};

		if (!found.w && s.w > 0 && s.w < W && s.h > 0 && s.h < H)
			found = s;
	}
	if (!found.w && H / W < least)
		found = (sides){rint(H / least), H};
	else if (!found.w)
		found = (sides){W, H / W > least ? rint(W * least) : H};
	return (sides){between(found.w, 1, W), between(found.h, 1, H)};
}

static void draw_crop(const inv_value *v, inv_extent in, inv_cursor *c, float *row)
{
	double W = (double)in.w, H = (double)in.h;
	sides s = draw_sides(v, W, H, c);

	row[X0] = (float)floor((double)inv_next_uniform(c) * (W - s.w + 1));
	row[Y0] = (float)floor((double)inv_next_uniform(c) * (H - s.h + 1));
	row[WIDTH] = (float)s.w;
	row[HEIGHT] = (float)s.h;
}

static void crop_still(inv_extent in, float *row)
{
	row[X0] = row[Y0] = 0;
	row[WIDTH] = (float)in.w;
	row[HEIGHT] = (float)in.h;
}

static inv_extent crop_result(const inv_value *v, inv_extent in)
{
	if (v[SIZE].low == 0)
		return in;
	return (inv_extent){in.c, (size_t)v[SIZE].low, (size_t)v[SIZE].high};
}

static const char *refuse_crop_row(const inv_value *v, inv_extent in, const float *row)
{
	(void)v;
	for (int i = X0; i <= HEIGHT; i++)
		if (row[i] != floorf(row[i]) || row[i] < (i >= WIDTH))
			return "the sides of the box must be whole numbers of at least 1";
	if ((double)row[X0] + row[WIDTH] > (double)in.w ||
	    (double)row[Y0] + row[HEIGHT] > (double)in.h)
		return "the box extends beyond the image";
	return NULL;
}

/* ---- Slicing ---------------------------------------------------------------------- */

/* The source position of i of `count` on a side of `side`, and the weight of the next
 * pixel. */
static void find_place(size_t i, size_t count, size_t side, bool corners, int32_t *at,
                       float *share)
{
	double place;

	if (corners)
		place = count > 1 ? (double)i * (double)(side - 1) / (double)(count - 1) : 0;
	else
		place = between(((double)i + 0.5) * (double)side / (double)count - 0.5, 0,
		                (double)(side - 1));
	*at = (int32_t)place;
	if (side > 1 && *at > (int32_t)side - 2)
		*at = (int32_t)side - 2; /* so that the next one exists */
	*share = (float)(place - *at);
}

typedef struct slicer {
	const struct inv_augment_kernels *k;
	const float *box; /* its first pixel */
	size_t stride, w, h, out_w, out_h;
	bool corners;
	int32_t *at; /* [out_w] */
	float *share;
	float *row[2]; /* stretched rows of the box */
	size_t held[2];
} slicer;

/* A row of the box at the width of the result; the last two are kept. */
static const float *stretched(slicer *s, size_t y)
{
	float *row = s->row[y % 2];
	const float *in = s->box + y * s->stride;

	if (s->held[y % 2] == y)
		return row;
	s->held[y % 2] = y;
	if (s->w == s->out_w)
		memcpy(row, in, s->w * sizeof *row);
	else if (s->w > 1)
		s->k->stretch_row(in, s->at, s->share, s->out_w, row);
	else
		for (size_t u = 0; u < s->out_w; u++)
			row[u] = in[0];
	return row;
}

static void slice_plane(slicer *s, float *out)
{
	s->held[0] = s->held[1] = SIZE_MAX;
	for (size_t v = 0; v < s->out_h; v++, out += s->out_w) {
		int32_t y = (int32_t)v;
		float share = 0;

		if (s->h != s->out_h)
			find_place(v, s->out_h, s->h, s->corners, &y, &share);
		if (share == 0)
			memcpy(out, stretched(s, (size_t)y), s->out_w * sizeof *out);
		else
			s->k->mix_rows(stretched(s, (size_t)y), stretched(s, (size_t)y + 1), share,
			               s->out_w, out);
	}
}

static invar_status slice(const inv_op_call *call, bool corners, float *out)
{
	const float *row = call->row;
	inv_extent in = call->shape, to = call->result;
	slicer s = {.k = call->tools->image,
	            .stride = in.w,
	            .w = (size_t)row[WIDTH],
	            .h = (size_t)row[HEIGHT],
	            .out_w = to.w,
	            .out_h = to.h,
	            .corners = corners};
	float *memory;

	INV_TRY(inv_new_array(&memory, 4 * to.w));
	s.share = memory;
	s.row[0] = memory + to.w;
	s.row[1] = memory + 2 * to.w;
	s.at = (int32_t *)(void *)(memory + 3 * to.w);
	for (size_t u = 0; u < to.w; u++)
		find_place(u, to.w, s.w, corners, &s.at[u], &s.share[u]);
	for (size_t c = 0; c < in.c; c++) {
		s.box = call->in + (c * in.h + (size_t)row[Y0]) * in.w + (size_t)row[X0];
		slice_plane(&s, out + c * to.h * to.w);
	}
	inv_free(memory);
	return INVAR_OK;
}

/* ---- Applying ----------------------------------------------------------------------- */

static void crop_matrix(const inv_value *v, inv_extent in, const float *row, double m[9])
{
	inv_extent to = crop_result(v, in);
	double w = row[WIDTH], h = row[HEIGHT];
	/* One pixel has no distance between its corners; sides of 1 stay 1. */
	double kx = w > 1 && to.w > 1 ? (double)(to.w - 1) / (w - 1) : 1;
	double ky = h > 1 && to.h > 1 ? (double)(to.h - 1) / (h - 1) : 1;
	const double whole[9] = {kx, 0, -row[X0] * kx, 0, ky, -row[Y0] * ky, 0, 0, 1};

	memcpy(m, whole, sizeof whole);
}

static invar_status apply_crop(const inv_op_call *call, float *out)
{
	const inv_value *v = call->v;
	bool flat = call->row[WIDTH] <= 1 || call->row[HEIGHT] <= 1 || call->result.w <= 1 ||
	            call->result.h <= 1;
	inv_warp w = {.align_corners = inv_value_is(v[ALIGN], INV_CORNERS_TRUE),
	              .exact = inv_value_is(v[CORNERS], INV_CORNERS_EXACT)};

	if (inv_value_is(v[MODE], INV_MODE_SLICE) || flat)
		return slice(call, w.align_corners, out);
	crop_matrix(v, call->shape, call->row, w.m);
	inv_warp_apply(call->tools->image, &w, call->in, call->shape, call->result, out);
	return INVAR_OK;
}

/* ---- The JSON layout: corners of boxes, clockwise, x before y -------------------- */

static void corners_of(double x0, double y0, double w, double h, double *cells)
{
	const double whole[8] = {x0,         y0,         x0 + w - 1, y0,
	                         x0 + w - 1, y0 + h - 1, x0,         y0 + h - 1};

	memcpy(cells, whole, sizeof whole);
}

static void spread_src(const inv_value *v, inv_extent in, const float *row, double *cells)
{
	(void)v;
	(void)in;
	corners_of(row[X0], row[Y0], row[WIDTH], row[HEIGHT], cells);
}

static bool gather_src(const double *cells, float *row)
{
	double back[8];

	row[X0] = (float)cells[0];
	row[Y0] = (float)cells[1];
	row[WIDTH] = (float)(cells[4] - cells[0] + 1);
	row[HEIGHT] = (float)(cells[5] - cells[1] + 1);
	corners_of(row[X0], row[Y0], row[WIDTH], row[HEIGHT], back);
	return memcmp(back, cells, sizeof back) == 0;
}

static void spread_dst(const inv_value *v, inv_extent in, const float *row, double *cells)
{
	inv_extent to = crop_result(v, in);

	(void)row;
	corners_of(0, 0, (double)to.w, (double)to.h, cells);
}

static void spread_input(const inv_value *v, inv_extent in, const float *row, double *cells)
{
	(void)v;
	(void)row;
	cells[0] = (double)in.h;
	cells[1] = (double)in.w;
}

static void spread_output(const inv_value *v, inv_extent in, const float *row,
                          double *cells)
{
	spread_input(v, crop_result(v, in), row, cells);
}

static const inv_param_array arrays[] = {
	{"src", 2, {4, 2}, false, {0}, spread_src, gather_src},
	{"dst", 2, {4, 2}, false, {0}, spread_dst, NULL},
	{"input_size", 1, {2, 1}, true, {0}, spread_input, NULL},
	{"output_size", 1, {2, 1}, true, {0}, spread_output, NULL},
};

const inv_op inv_op_crop = {
	.name = "crop",
	.class_name = "RandomResizedCrop",
	.help = "crops a random box and resizes it",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.arrays = arrays,
	.array_count = sizeof arrays / sizeof *arrays,
	.draw = draw_crop,
	.still = crop_still,
	.result = crop_result,
	.refuse_row = refuse_crop_row,
	.matrix = crop_matrix,
	.apply = apply_crop,
};
