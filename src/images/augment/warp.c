/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.c - a row of the result at a time: outside, border, inside, border, outside.
 *
 * Positions run along a straight line through the source, so the pixels of a row
 * that have all four neighbours are one span, and those that have any are a wider
 * one. The inner span goes to the kernel, which checks nothing; the pixels between
 * the two are checked one by one.
 */
#include "images/augment/warp.h"

#include <math.h>
#include <string.h>

/* ---- The map ----------------------------------------------------------------- */

static inv_pixel_map invert(const double m[9])
{
	double det = m[0] * m[4] - m[1] * m[3];
	inv_pixel_map s = {
		.xx = m[4] / det, .xy = -m[1] / det, .yx = -m[3] / det, .yy = m[0] / det};

	s.x0 = -(s.xx * m[2] + s.xy * m[5]);
	s.y0 = -(s.yx * m[2] + s.yy * m[5]);
	return s;
}

/* A side of one pixel has no size - 1 to divide by; there both conventions agree. */
static double corner_scale(size_t side)
{
	return side > 1 ? (double)side / (double)(side - 1) : 1;
}

inv_warp inv_warp_of(const inv_value *v)
{
	return (inv_warp){.align_corners = inv_value_is(v[0], INV_CORNERS_TRUE),
	                  .exact = inv_value_is(v[1], INV_CORNERS_EXACT),
	                  .fill = (int)v[2].low,
	                  .circle = inv_value_is(v[3], 1),
	                  .inside = inv_value_is(v[4], 1)};
}

void inv_warp_cut(double m[9], inv_extent in, inv_extent out)
{
	m[2] -= (double)((in.w - out.w) / 2);
	m[5] -= (double)((in.h - out.h) / 2);
}

static inv_pixel_map frame_pixel_map(const inv_warp *w, inv_extent in, inv_extent out)
{
	inv_pixel_map s = invert(w->m);
	double px = 1 / corner_scale(out.w), py = 1 / corner_scale(out.h);
	double sx = corner_scale(in.w), sy = corner_scale(in.h);

	if (w->align_corners || w->exact)
		return s;
	s.x0 = (s.x0 + (s.xx * px + s.xy * py) / 2) * sx - 0.5;
	s.y0 = (s.y0 + (s.yx * px + s.yy * py) / 2) * sy - 0.5;
	s.xx *= px * sx;
	s.xy *= py * sx;
	s.yx *= px * sy;
	s.yy *= py * sy;
	return s;
}

/* The whole picture is warped in its own frame, of which a cut takes the centre. */
inv_pixel_map inv_warp_pixel_map(const inv_warp *w, inv_extent in, inv_extent out)
{
	double left = (double)((in.w - out.w) / 2), top = (double)((in.h - out.h) / 2);
	inv_pixel_map s = frame_pixel_map(w, in, w->inside ? in : out);

	if (!w->inside)
		return s;
	s.x0 += s.xx * left + s.xy * top;
	s.y0 += s.yx * left + s.yy * top;
	return s;
}

bool inv_warp_stays_inside(const inv_warp *w, inv_extent in, inv_extent out)
{
	const inv_pixel_map s = inv_warp_pixel_map(w, in, out);
	const double far = 1e-9; /* rounding, in pixels */

	for (int corner = 0; corner < 4; corner++) {
		double u = corner & 1 ? (double)(out.w - 1) : 0;
		double v = corner & 2 ? (double)(out.h - 1) : 0;
		double x = s.xx * u + s.xy * v + s.x0, y = s.yx * u + s.yy * v + s.y0;

		if (!(x >= -far && x <= (double)(in.w - 1) + far && y >= -far &&
		      y <= (double)(in.h - 1) + far))
			return false;
	}
	return true;
}

/* ---- Spans -------------------------------------------------------------------- */

typedef struct span {
	size_t from, to;
} span;

/* A position along a row. */
typedef struct line {
	double step, start;
} line;

static double place(line l, size_t u)
{
	return l.step * (double)u + l.start;
}

static size_t clamp_index(double value, size_t max)
{
	return !(value > 0) ? 0 : value >= (double)max ? max : (size_t)value;
}

/*
 * Keeps of s the pixels whose place lies between low and high, none
 * if low is above high. Rounding is far below the margin that the kernel leaves, and
 * which side of it a pixel falls does not matter.
 */
static span clip_span(span s, line l, double low, double high)
{
	double a, b;
	size_t from, to;

	if (s.from >= s.to || !(low <= high) ||
	    (l.step == 0 && !(l.start >= low && l.start <= high)))
		return (span){0, 0};
	if (l.step == 0)
		return s;
	a = (low - l.start) / l.step;
	b = (high - l.start) / l.step;
	from = clamp_index(ceil(a < b ? a : b), s.to);
	to = clamp_index(floor(a < b ? b : a) + 1, s.to);
	return (span){from > s.from ? from : s.from, to};
}

/* ---- Pixels near and beyond the border ------------------------------------------- */

/*
 * The position inside that stands for one outside, as in PyTorch's grid_sample: reflect
 * mirrors at pixel centres (align_corners) or half a pixel beyond them.
 */
static double mirror(double at, size_t side, bool centres)
{
	double low = centres ? 0 : -0.5, length = centres ? (double)(side - 1) : (double)side;
	double rest, turns;

	if (length <= 0)
		return 0;
	at = fabs(at - low);
	turns = floor(at / length);
	rest = at - turns * length;
	return low + (fmod(turns, 2) == 0 ? rest : length - rest);
}

typedef struct near_border {
	ptrdiff_t x, y;
	float fx, fy;
} near_border;

static float tap(const float *plane, const inv_view *view, ptrdiff_t x, ptrdiff_t y,
                 float beyond)
{
	if (x < 0 || y < 0 || x >= (ptrdiff_t)view->w || y >= (ptrdiff_t)view->h)
		return beyond;
	return plane[(size_t)y * view->w + (size_t)x];
}

static near_border find_near_border(const inv_warp *w, const inv_view *view, line x, line y,
                                    size_t u)
{
	double px = place(x, u), py = place(y, u);

	if (w->fill == INV_FILL_EDGE || w->fill == INV_FILL_REFLECT) {
		if (w->fill == INV_FILL_REFLECT) {
			px = mirror(px, view->w, w->align_corners);
			py = mirror(py, view->h, w->align_corners);
		}
		px = fmin(fmax(px, 0), (double)(view->w - 1));
		py = fmin(fmax(py, 0), (double)(view->h - 1));
	}
	return (near_border){(ptrdiff_t)floor(px), (ptrdiff_t)floor(py),
	                     (float)(px - floor(px)), (float)(py - floor(py))};
}

static float mix_pixels(float a, float b, float share)
{
	return a + share * (b - a);
}

/* `beyond`: the fill colour of each plane. */
static void slow_span(const inv_warp *w, const inv_view *view, line x, line y, size_t v,
                      span s, const float *beyond)
{
	for (size_t u = s.from; u < s.to; u++) {
		near_border n = find_near_border(w, view, x, y, u);

		for (size_t c = 0; c < view->planes; c++) {
			const float *p = view->in + c * view->h * view->w;
			float above = mix_pixels(tap(p, view, n.x, n.y, beyond[c]),
			                         tap(p, view, n.x + 1, n.y, beyond[c]), n.fx);
			float below = mix_pixels(tap(p, view, n.x, n.y + 1, beyond[c]),
			                         tap(p, view, n.x + 1, n.y + 1, beyond[c]), n.fx);

			view->out[(c * view->out_h + v) * view->out_w + u] =
				mix_pixels(above, below, n.fy);
		}
	}
}

static void fill_span(const inv_view *view, size_t v, span s, const float *beyond)
{
	for (size_t c = 0; c < view->planes; c++) {
		float *row = view->out + (c * view->out_h + v) * view->out_w;

		for (size_t u = s.from; u < s.to; u++)
			row[u] = beyond[c];
	}
}

/*
 * The pixels for the kernel: all four neighbours exist (never along a side of one pixel),
 * and no step is so long that a position in float could leave the margin.
 */
static span inner_span(const inv_view *view, line x, line y, span all)
{
	double gap = INV_WARP_MARGIN;

	if (!(fabs(x.step) <= INV_WARP_STEP && fabs(y.step) <= INV_WARP_STEP))
		return (span){0, 0};
	all = clip_span(all, x, gap, (double)view->w - 1 - gap);
	return clip_span(all, y, gap, (double)view->h - 1 - gap);
}

static void warp_row(const struct inv_augment_kernels *k, const inv_warp *w,
                     const inv_view *view, size_t v, const float *beyond)
{
	line x = {view->at.xx, view->at.xy * (double)v + view->at.x0};
	line y = {view->at.yx, view->at.yy * (double)v + view->at.y0};
	span all = {0, view->out_w}, any = all, inner = inner_span(view, x, y, all);

	if (w->fill == INV_FILL_ZEROS || w->fill == INV_FILL_MEAN) {
		any = clip_span(all, x, -1, (double)view->w);
		any = clip_span(any, y, -1, (double)view->h);
	}
	if (inner.from >= inner.to)
		inner = (span){any.to, any.to};
	fill_span(view, v, (span){0, any.from}, beyond);
	slow_span(w, view, x, y, v, (span){any.from, inner.from}, beyond);
	if (inner.from < inner.to)
		k->warp_span(view, v, inner.from, inner.to);
	slow_span(w, view, x, y, v, (span){inner.to, any.to}, beyond);
	fill_span(view, v, (span){any.to, all.to}, beyond);
}

/* ---- The picture ------------------------------------------------------------------ */

/* Fills the pixels whose centre lies outside the inscribed circle. */
static void mask_circle(const inv_view *view, size_t v, const float *beyond)
{
	double radius = (double)(view->out_h < view->out_w ? view->out_h : view->out_w) / 2;
	double dy = (double)v - (double)(view->out_h - 1) / 2;
	double centre = (double)(view->out_w - 1) / 2, rest = radius * radius - dy * dy;
	double half = rest > 0 ? sqrt(rest) : -1;
	size_t from = half < 0 ? view->out_w : clamp_index(ceil(centre - half), view->out_w);
	size_t to = half < 0 ? view->out_w : clamp_index(floor(centre + half) + 1, view->out_w);

	fill_span(view, v, (span){0, from}, beyond);
	fill_span(view, v, (span){to, view->out_w}, beyond);
}

/* Planes are taken a few at a time, so that their fill colours need no memory. */
enum { PLANES = 16, LINE_FLOATS = 16, AHEAD = 4 };

/*
 * The next picture usually follows this one in memory, so it is prefetched row by row
 * while this one is made, and so are the next rows of the output: a warp crosses rows, a
 * pattern that hardware prefetchers miss. Prefetching an invalid address is harmless.
 */
static void prefetch_view_rows(const inv_view *view, size_t v)
{
	const float *next = view->in + view->planes * view->h * view->w + v * view->w;
	const float *to = view->out + (v + AHEAD) * view->out_w;

	for (size_t c = 0; c < view->planes; c++) {
		for (size_t i = 0; i < view->w && v < view->h; i += LINE_FLOATS)
			__builtin_prefetch(next + c * view->h * view->w + i, 0, 2);
		for (size_t i = 0; i < view->out_w; i += LINE_FLOATS)
			__builtin_prefetch(to + c * view->out_h * view->out_w + i, 1, 2);
	}
}

void inv_warp_apply(const struct inv_augment_kernels *k, const inv_warp *w, const float *in,
                    inv_extent shape, inv_extent result, float *out)
{
	size_t plane = shape.h * shape.w;
	inv_view view = {.h = shape.h,
	                 .w = shape.w,
	                 .out_h = result.h,
	                 .out_w = result.w,
	                 .at = inv_warp_pixel_map(w, shape, result)};

	for (size_t c = 0; c < shape.c; c += PLANES) {
		float beyond[PLANES] = {0};

		view.planes = shape.c - c < PLANES ? shape.c - c : PLANES;
		view.in = in + c * plane;
		view.out = out + c * result.h * result.w;
		for (size_t i = 0; i < view.planes && w->fill == INV_FILL_MEAN; i++) {
			double sum = 0;

			for (size_t n = 0; n < plane; n++)
				sum += view.in[i * plane + n];
			beyond[i] = (float)(sum / (double)plane);
		}
		for (size_t v = 0; v < result.h; v++) {
			prefetch_view_rows(&view, v);
			warp_row(k, w, &view, v, beyond);
			if (w->circle)
				mask_circle(&view, v, beyond);
		}
	}
}
