/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - weights of both axes, the passes over floats, the passes over bytes. */
#include "images/resize.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "images/resize_kernels.h"

/* ---- Weights ----------------------------------------------------------------------- */

/* The triangle, or Keys' cubic. */
static double filter_at(inv_filter filter, bool antialias, double x)
{
	double a = antialias ? -0.5 : -0.75;

	x = fabs(x);
	if (filter == INV_BILINEAR)
		return x < 1 ? 1 - x : 0;
	if (x < 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static int32_t hold(double value, double low, double high)
{
	return (int32_t)(value < low ? low : value > high ? high : value);
}

/* Makes the weights sum to 1, unless they are all 0. */
static void divide_by_sum(double *weight, int32_t count)
{
	double sum = 0;

	for (int32_t j = 0; j < count; j++)
		sum += weight[j];
	for (int32_t j = 0; sum != 0 && j < count; j++)
		weight[j] /= sum;
}

/* The pixels whose centres lie under the widened filter. */
static void pillow_tap(inv_taps *t, size_t i, double scale, inv_filter filter)
{
	double stretch = scale > 1 ? scale : 1, support = (filter + 1) * stretch;
	double centre = ((double)i + 0.5) * scale;
	int32_t low = hold(trunc(centre - support + 0.5), 0, (double)t->in - 1);
	int32_t high = hold(trunc(centre + support + 0.5), low + 1, (double)t->in);
	double *weight = t->weight + i * t->max;

	t->first[i] = low;
	t->count[i] = high - low;
	for (int32_t j = low; j < high; j++)
		weight[j - low] =
			filter_at(filter, true, ((double)j - centre + 0.5) * (1 / stretch));
	divide_by_sum(weight, high - low);
}

/*
 * The same as in PyTorch on floats, whose positions are float: 500 pixels from the corner
 * they are off by 3e-5. Exact ones would differ from PyTorch by that much.
 */
static void wide_tap(inv_taps *t, size_t i, double scale, inv_filter filter)
{
	float step = (float)scale, stretch = step > 1 ? step : 1;
	float support = (float)(filter + 1) * stretch, centre = step * ((float)i + 0.5f);
	float rest = centre - support, end = centre + support;
	int32_t low = hold(trunc((double)(rest + 0.5f)), 0, (double)t->in - 1);
	int32_t high = hold(trunc((double)(end + 0.5f)), low + 1, (double)t->in);
	double *weight = t->weight + i * t->max;
	float offset = (float)low - centre;

	t->first[i] = low;
	t->count[i] = high - low;
	for (int32_t j = 0; j < high - low; j++) {
		float x = ((float)j + offset) + 0.5f;

		weight[j] = filter_at(filter, true, (double)(x * (1 / stretch)));
	}
	divide_by_sum(weight, high - low);
}

/*
 * Without antialias: 2 or 4 pixels around a position; beyond the border the border pixel
 * is repeated. Bilinear clamps the position itself.
 */
static void narrow_tap(inv_taps *t, size_t i, double scale, inv_filter filter)
{
	float place = fmaf((float)scale, (float)i + 0.5f, -0.5f);
	double last = (double)t->in - 1;
	int32_t whole, reach = filter + 1, low;
	double *weight = t->weight + i * t->max;

	if (filter == INV_BILINEAR && place < 0)
		place = 0;
	whole = (int32_t)floorf(place);
	low = hold(whole - reach + 1, 0, last);
	t->first[i] = low;
	t->count[i] = hold(whole + reach, 0, last) - low + 1;
	for (int32_t j = whole - reach + 1; j <= whole + reach; j++)
		weight[hold(j, 0, last) - low] +=
			filter_at(filter, false, (double)place - (double)j);
}

invar_status inv_taps_make(size_t in, size_t out, double scale, inv_filter filter,
                           inv_taps_kind kind, inv_taps *taps)
{
	static void (*const tap[])(inv_taps *, size_t, double, inv_filter) = {
		[INV_TAPS_PLAIN] = narrow_tap,
		[INV_TAPS_ANTIALIAS] = wide_tap,
		[INV_TAPS_PILLOW] = pillow_tap,
	};
	double stretch;
	invar_status st;

	if (!in || !out || in > INT32_MAX || out > INT32_MAX)
		return inv_fail(INVAR_E_USE, "a side of %zu pixels cannot be resized to %zu", in,
		                out);
	if (scale == 0)
		scale = (double)in / (double)out;
	stretch = kind != INV_TAPS_PLAIN && scale > 1 ? scale : 1;
	taps->in = in;
	taps->out = out;
	taps->max = 2 * (size_t)ceil((filter + 1) * stretch) + 2;
	INV_TRY_OR(fail, inv_new_zeros(&taps->first, 2 * out));
	INV_TRY_OR(fail, inv_new_zeros(&taps->weight, out * taps->max));
	taps->count = taps->first + out;
	for (size_t i = 0; i < out; i++)
		tap[kind](taps, i, scale, filter);
	return INVAR_OK;
fail:
	inv_taps_clear(taps);
	return st;
}

void inv_taps_clear(inv_taps *taps)
{
	inv_free(taps->first);
	inv_free(taps->weight);
	*taps = (inv_taps){0};
}

/* ---- Floats ----------------------------------------------------------------------- */

invar_status inv_resize(const float *in, size_t planes, size_t h, size_t w,
                        inv_filter filter, bool antialias, size_t out_h, size_t out_w,
                        float *out)
{
	inv_taps x = {0}, y = {0};
	float *rows = NULL;
	inv_taps_kind kind = antialias ? INV_TAPS_ANTIALIAS : INV_TAPS_PLAIN;
	invar_status st;

	INV_TRY_OR(end, inv_taps_make(w, out_w, 0, filter, kind, &x));
	INV_TRY_OR(end, inv_taps_make(h, out_h, 0, filter, kind, &y));
	INV_TRY_OR(end, inv_new_zeros(&rows, h * out_w)); /* both sides are below 2^31 */
	for (size_t c = 0; c < planes; c++) {
		for (size_t v = 0; v < h; v++)
			for (size_t i = 0; i < out_w; i++) {
				const double *weight = x.weight + i * x.max;
				const float *p = in + (c * h + v) * w + x.first[i];
				double sum = 0;

				for (int32_t j = 0; j < x.count[i]; j++)
					sum += weight[j] * (double)p[j];
				rows[v * out_w + i] = (float)sum;
			}
		for (size_t v = 0; v < out_h; v++) {
			const float *p = rows + (size_t)y.first[v] * out_w;
			float *to = out + (c * out_h + v) * out_w;

			memset(to, 0, out_w * sizeof *to);
			for (int32_t j = 0; j < y.count[v]; j++, p += out_w) {
				float weight = (float)y.weight[v * y.max + (size_t)j];

				for (size_t u = 0; u < out_w; u++)
					to[u] += weight * p[u];
			}
		}
	}
end:
	inv_free(rows);
	inv_taps_clear(&x);
	inv_taps_clear(&y);
	return st;
}

/* ---- Bytes ------------------------------------------------------------------------ */

enum { SLACK = 16 }; /* bytes that a kernel may read beyond a row */

typedef struct axis {
	inv_taps taps;
	inv_fixed_taps fixed;
	int32_t *memory; /* weight, then high and low */
} axis;

struct inv_resizer {
	struct inv_resize_kernels k;
	inv_filter filter;
	axis x, y;
	uint8_t *rows; /* the result of the first pass */
	uint8_t *last; /* the last row of the input, with slack */
	size_t capacity, last_capacity;
};

static void clear_axis(axis *a)
{
	inv_taps_clear(&a->taps);
	inv_free(a->memory);
	*a = (axis){0};
}

static invar_status make_axis(axis *a, size_t in, size_t out, inv_filter filter)
{
	size_t stride, cells;
	int16_t *high, *low;
	invar_status st;

	if (a->taps.in == in && a->taps.out == out)
		return INVAR_OK;
	clear_axis(a);
	INV_TRY(inv_taps_make(in, out, 0, filter, INV_TAPS_PILLOW, &a->taps));
	stride = (a->taps.max + 3) / 4 * 4;
	cells = out * stride;
	if ((st = inv_new_zeros(&a->memory, 2 * cells)) != INVAR_OK) {
		clear_axis(a);
		return st;
	}
	high = (int16_t *)(void *)(a->memory + cells);
	low = high + cells;
	for (size_t i = 0; i < out; i++)
		for (size_t j = 0; j < (size_t)a->taps.count[i]; j++) {
			double scaled = a->taps.weight[i * a->taps.max + j] * (1 << INV_WEIGHT_BITS);
			int32_t w = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);

			a->memory[i * stride + j] = w;
			high[i * stride + j] = (int16_t)(w >> 12);
			low[i * stride + j] = (int16_t)(w & 4095);
		}
	a->fixed = (inv_fixed_taps){.out = out,
	                            .stride = stride,
	                            .first = a->taps.first,
	                            .count = a->taps.count,
	                            .weight = a->memory,
	                            .high = high,
	                            .low = low};
	return INVAR_OK;
}

invar_status inv_resizer_new(unsigned cpu, inv_filter filter, inv_resizer **out)
{
	INV_TRY(inv_new(out));
	inv_resize_kernels_init(&(*out)->k, cpu);
	(*out)->filter = filter;
	return INVAR_OK;
}

void inv_resizer_free(inv_resizer *r)
{
	if (!r)
		return;
	clear_axis(&r->x);
	clear_axis(&r->y);
	inv_free(r->rows);
	inv_free(r->last);
	inv_free(r);
}

static invar_status grow_resizer(uint8_t **memory, size_t *size, size_t bytes)
{
	if (bytes <= *size)
		return INVAR_OK;
	inv_free(*memory);
	*size = 0;
	INV_TRY(inv_new_array(memory, bytes));
	*size = bytes;
	return INVAR_OK;
}

/* The kernels may read past a row: within the picture, or in a copy of its last rows. */
static const uint8_t *safe_row(inv_resizer *r, const uint8_t *in, size_t v, size_t h,
                               size_t bytes)
{
	if ((h - 1 - v) * bytes >= SLACK)
		return in + v * bytes;
	memcpy(r->last, in + v * bytes, bytes);
	memset(r->last + bytes, 0, SLACK);
	return r->last;
}

/* `h` rows of w pixels to rows of the width of the x axis. */
static void resize_byte_rows(inv_resizer *r, const uint8_t *in, size_t h, size_t w,
                             size_t channels, uint8_t *out)
{
	for (size_t v = 0; v < h; v++, out += r->x.fixed.out * channels)
		r->k.row(&r->x.fixed, safe_row(r, in, v, h, w * channels), channels, out);
}

/* Rows of `bytes` to as many as the y axis has. */
static void resize_byte_columns(inv_resizer *r, const uint8_t *in, size_t bytes,
                                uint8_t *out)
{
	for (size_t v = 0; v < r->y.fixed.out; v++, out += bytes)
		r->k.column(&r->y.fixed, v, in, bytes, out);
}

invar_status inv_resizer_run(inv_resizer *r, const uint8_t *in, size_t h, size_t w,
                             size_t channels, size_t out_h, size_t out_w, uint8_t *out)
{
	double less_h = (double)h - (double)out_h, less_w = (double)w - (double)out_w;
	bool columns_first = less_h > 0 && less_h > 2 * less_w; /* as in Pillow since 13 */
	uint64_t between = columns_first ? (uint64_t)out_h * w : (uint64_t)h * out_w;

	INV_TRY(make_axis(&r->x, w, out_w, r->filter));
	INV_TRY(make_axis(&r->y, h, out_h, r->filter));
	INV_TRY(grow_resizer(&r->rows, &r->capacity, inv_array_bytes(between, channels)));
	INV_TRY(grow_resizer(&r->last, &r->last_capacity, w * channels + SLACK));

	/* An axis that keeps its size is left alone, as in Pillow. */
	if (h == out_h && w == out_w) {
		memcpy(out, in, h * w * channels);
	} else if (h == out_h) {
		resize_byte_rows(r, in, h, w, channels, out);
	} else if (w == out_w) {
		resize_byte_columns(r, in, w * channels, out);
	} else if (columns_first) {
		resize_byte_columns(r, in, w * channels, r->rows);
		resize_byte_rows(r, r->rows, out_h, w, channels, out);
	} else {
		resize_byte_rows(r, in, h, w, channels, r->rows);
		resize_byte_columns(r, r->rows, out_w * channels, out);
	}
	return INVAR_OK;
}

/* ---- Sizes ------------------------------------------------------------------------ */

void inv_shorter_side(size_t h, size_t w, size_t target, size_t *out_h, size_t *out_w)
{
	*out_h = w <= h ? target * h / w : target;
	*out_w = w <= h ? target : target * w / h;
}

size_t inv_centre_offset(size_t side, size_t crop)
{
	size_t twice = side - crop;

	return twice % 4 == 3 ? twice / 2 + 1 : twice / 2; /* 0.5 to 0, 1.5 to 2, 2.5 to 2 */
}
