/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - see conv.h.
 *
 * The sum of a pixel runs over taps of the window, each with all channels: consecutive
 * numbers of the maps. Images have few channels, so there a tap is a row of the window.
 * They are first copied, padded, pixel by pixel. In bfloat16 two numbers make a cell of 32
 * bits, at which every window must begin: an odd one is added to a pixel or to the end of a
 * row, whose weight is 0.
 *
 * A product of bytes first rounds the maps, once for all windows that read them.
 */
#include "math/conv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/bfloat16.h"
#include "math/panels.h"
#include "math/winograd.h"

enum { BLOCK = INV_MAP_BLOCK, MIN_COLUMNS = 64 };
enum { MAX_WEIGHT = 127, MAX_BYTE = 255, MAX_TERMS = INT32_MAX / (MAX_WEIGHT * MAX_BYTE) };

struct inv_conv {
	const struct inv_kernels *kernels;
	inv_conv_spec spec;
	inv_winograd *winograd; /* else: */
	size_t each;            /* terms of a cell of 32 bits */
	size_t pixel;           /* numbers of a pixel, of an image if the spec is plain */
	size_t taps, tap_cells; /* of the sum */
	inv_arena memory;
	inv_panels weights; /* [taps, numbers of a tap][outputs, padded] */
	float *bias, *zeros;
	float *scales; /* of the outputs; NULL unless of bytes */
};

static size_t round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

/* ---- Shapes ----------------------------------------------------------------------- */

size_t inv_map_channels(size_t channels)
{
	return round_up(channels, BLOCK);
}

size_t inv_map_number(inv_precision precision)
{
	return precision == INV_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

uint64_t inv_map_bytes(inv_precision precision, inv_maps m)
{
	return (uint64_t)m.images * m.height * m.width * inv_map_channels(m.channels) *
	       inv_map_number(precision);
}

size_t inv_window_places(inv_window w, size_t side)
{
	size_t whole = side + 2 * w.padding, places;

	if (whole < w.kernel)
		return 0;
	places = (whole - w.kernel) / w.stride + 1;
	/* One more window may reach beyond the padding if it starts inside. */
	if (w.ceil && (whole - w.kernel) % w.stride && places * w.stride < side + w.padding)
		places++;
	return places;
}

inv_maps inv_conv_result(const inv_conv_spec *s)
{
	return (inv_maps){s->from.images, s->outputs,
	                  inv_window_places(s->window, s->from.height),
	                  inv_window_places(s->window, s->from.width)};
}

/* ---- The definition ----------------------------------------------------------------- */

/* One value: the window at (row, col) of one image times the weights of one output. */
static double weigh(const inv_conv_spec *s, const float *image, const float *weights,
                    size_t row, size_t col)
{
	const inv_window w = s->window;
	double sum = 0;

	for (size_t c = 0; c < s->from.channels; c++)
		for (size_t i = 0; i < w.kernel * w.kernel; i++, weights++) {
			size_t y = row * w.stride + i / w.kernel - w.padding; /* wraps around */
			size_t x = col * w.stride + i % w.kernel - w.padding;

			if (y < s->from.height && x < s->from.width)
				sum +=
					(double)*weights * image[(c * s->from.height + y) * s->from.width + x];
		}
	return sum;
}

void inv_conv_ref(const inv_conv_spec *s, const float *from, const float *weights,
                  const float *bias, float *to)
{
	const inv_maps r = inv_conv_result(s);
	size_t image = s->from.channels * s->from.height * s->from.width;
	size_t filter = s->from.channels * s->window.kernel * s->window.kernel;

	for (size_t n = 0; n < r.images; n++)
		for (size_t o = 0; o < r.channels; o++)
			for (size_t i = 0; i < r.height * r.width; i++, to++) {
				double sum = weigh(s, from + n * image, weights + o * filter, i / r.width,
				                   i % r.width) +
				             (double)bias[o] + (s->add ? (double)*to : 0);

				*to = (float)(s->relu && sum < 0 ? 0 : sum);
			}
}

/* ---- Making ----------------------------------------------------------------------- */

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_weights(inv_conv *p)
{
	size_t cells = p->taps * p->tap_cells, n = round_up(p->spec.outputs, BLOCK);
	inv_arena *a = &p->memory;
	float *at = inv_arena_take(a, inv_panels_floats(cells, n), sizeof(float));

	p->weights = p->each == 4   ? inv_byte_panels_of(4 * cells, n, at)
	             : p->each == 2 ? inv_pair_panels_of(2 * cells, n, at)
	                            : inv_panels_of(cells, n, at);
	p->bias = inv_arena_take(a, n, sizeof(float));
	p->zeros = inv_arena_take(a, p->tap_cells, sizeof(float));
	p->scales = p->each == 4 ? inv_arena_take(a, n, sizeof(float)) : NULL;
}

/* Where a weight of a filter is in the sum. */
static size_t find_term(const inv_conv *p, size_t channel, size_t y, size_t x)
{
	size_t tap = p->weights.k / p->taps;

	return p->spec.plain ? y * tap + x * p->pixel + channel
	                     : (y * p->spec.window.kernel + x) * tap + channel;
}

/*
 * [outputs, channels, kernel, kernel] -> [outputs, padded][taps, numbers of a tap], whose
 * rows are as long for bytes. The error of rounding to bfloat16 or to a byte is added to
 * the next weight: the numbers of a map are not negative and resemble their neighbours, so
 * it matters most that the sums of weights are right. Features of ResNet-18, simulated
 * without tiles, are off by 2.1 instead of 4.2 % with bytes, by 0.6 instead of 0.9 % with
 * bfloat16.
 */
static void order_weights(const inv_conv *p, const float *weights, float *rows)
{
	size_t kernel = p->spec.window.kernel;
	size_t filter = p->spec.from.channels * kernel * kernel;

	for (size_t o = 0; o < p->spec.outputs; o++, weights += filter, rows += p->weights.k) {
		int8_t *bytes = (int8_t *)(void *)rows;
		float most = 0, left = 0;
		bool finite = true;

		for (size_t i = 0; i < filter; i++) {
			most = fmaxf(most, fabsf(weights[i]));
			finite = finite && isfinite(weights[i]);
		}
		if (p->scales)
			p->scales[o] = finite ? most / MAX_WEIGHT : NAN;
		for (size_t i = 0; i < filter; i++) {
			size_t at = find_term(p, i / kernel / kernel, i / kernel % kernel, i % kernel);
			float exact = weights[i] + left;

			if (p->each == 1 || (!finite && !p->scales)) {
				rows[at] = weights[i];
			} else if (p->each == 2) {
				rows[at] = inv_from_bfloat16(inv_to_bfloat16(exact));
				left = exact - rows[at];
			} else if (finite && most > 0) {
				exact = weights[i] / most * MAX_WEIGHT + left;
				bytes[at] = (int8_t)lrintf(fminf(fmaxf(exact, -MAX_WEIGHT), MAX_WEIGHT));
				left = exact - bytes[at];
			}
		}
	}
}

static invar_status build_conv(inv_conv *p, const float *weights, const float *bias)
{
	float *rows = NULL;

	place_weights(p);
	INV_TRY(inv_arena_commit(&p->memory));
	place_weights(p);
	INV_TRY(inv_new_zeros(&rows, p->weights.n * p->weights.k));
	if (p->scales)
		memset(p->scales, 0, p->weights.n * sizeof *p->scales);
	order_weights(p, weights, rows);
	inv_panels_fill_turned(p->kernels, &p->weights, rows, p->weights.k);
	memset(p->bias, 0, p->weights.n * sizeof *p->bias);
	memcpy(p->bias, bias, p->spec.outputs * sizeof *p->bias);
	memset(p->zeros, 0, p->tap_cells * sizeof *p->zeros);
	inv_free(rows);
	return INVAR_OK;
}

invar_status inv_conv_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                          const float *weights, const float *bias, inv_conv **out)
{
	size_t kernel = s->window.kernel;
	inv_conv *p;
	invar_status st;

	assert(!s->plain || s->precision != INV_INT8);
	*out = NULL;
	if (s->precision == INV_INT8 && !inv_winograd_pays(s) &&
	    inv_map_channels(s->from.channels) * kernel * kernel > MAX_TERMS)
		return inv_fail(
			INVAR_E_USE,
			"a convolution over %zu channels and %zu x %zu pixels has sums that "
			"may exceed 32 bits in int8; use @precision bfloat16",
			s->from.channels, kernel, kernel);
	INV_TRY(inv_new(&p));
	p->kernels = kernels;
	p->spec = *s;
	p->each = s->precision == INV_INT8 ? 4 : s->precision == INV_BFLOAT16 ? 2 : 1;
	if (s->plain) {
		p->pixel = s->from.channels;
		while (p->pixel * s->window.stride % p->each)
			p->pixel++;
		p->taps = kernel;
		p->tap_cells = inv_blocks(kernel * p->pixel, p->each);
	} else {
		p->pixel = inv_map_channels(s->from.channels);
		p->taps = kernel * kernel;
		p->tap_cells = p->pixel / p->each;
	}
	INV_TRY_OR(fail, inv_winograd_pays(s)
	                     ? inv_winograd_new(kernels, s, weights, bias, &p->winograd)
	                     : build_conv(p, weights, bias));
	*out = p;
	return INVAR_OK;
fail:
	inv_conv_free(p);
	return st;
}

void inv_conv_free(inv_conv *p)
{
	if (!p)
		return;
	inv_winograd_free(p->winograd);
	inv_arena_free(&p->memory);
	inv_free(p);
}

/* ---- Images ----------------------------------------------------------------------- */

/* Numbers of a row, with what the last tap reads past it. */
static size_t padded_row(const inv_conv *p)
{
	size_t width = p->spec.from.width + 2 * p->spec.window.padding;

	return round_up(width * p->pixel, p->each) + p->each;
}

static size_t padded_image(const inv_conv *p)
{
	return (p->spec.from.height + 2 * p->spec.window.padding) * padded_row(p);
}

static void pad_images(const inv_conv *p, size_t images, const float *x, void *out)
{
	const inv_maps m = p->spec.from;
	size_t pad = p->spec.window.padding, row = padded_row(p);

	memset(out, 0, images * padded_image(p) * inv_map_number(p->spec.precision));
	for (size_t n = 0; n < images; n++)
		for (size_t c = 0; c < m.channels; c++)
			for (size_t y = 0; y < m.height; y++, x += m.width) {
				size_t at = n * padded_image(p) + (y + pad) * row + pad * p->pixel + c;

				for (size_t i = 0; i < m.width; i++, at += p->pixel)
					if (p->each == 1)
						((float *)out)[at] = x[i];
					else
						((uint16_t *)out)[at] = inv_to_bfloat16(x[i]);
			}
}

/* ---- Running ---------------------------------------------------------------------- */

typedef struct conv_run {
	const inv_conv *p;
	inv_maps from, to;
	const uint16_t *x;
	const float *cells; /* of the maps or the padded images, as windows read them: */
	size_t map_height, map_width, row_cells, padding;
	uint8_t *bytes;           /* of the maps, if the product is one of bytes: */
	uint16_t *largest;        /* of each row of pixels */
	float *scales, *to_bytes; /* of each image; what its numbers are multiplied by */
	char *result;
	size_t result_channels;
	char *scratch;
	size_t lane_bytes; /* of a thread's scratch */
	size_t rows, height, columns, column_parts;
} conv_run;

/* Strips of the windows of pixels [first, first + rows), cells [cell, cell + cells). */
static void pack_windows(const void *user, size_t first, size_t cell, size_t rows,
                         size_t cells, float *strips)
{
	const conv_run *r = user;
	const inv_conv *p = r->p;
	const inv_window w = p->spec.window;
	size_t width = r->to.width, pixels = r->to.height * width;
	size_t image = first / pixels, row = first % pixels / width, col = first % width;

	for (size_t i = 0; i < rows; i += INV_STRIP_ROWS) {
		/* The corners of the windows, which wrap around if outside; a missing one is a
		 * copy of the first. */
		size_t plane[INV_STRIP_ROWS], top[INV_STRIP_ROWS], left[INV_STRIP_ROWS], now;
		float *out = strips + i * cells;

		for (size_t j = 0; j < INV_STRIP_ROWS; j++) {
			if (i + j >= rows) {
				plane[j] = plane[0];
				top[j] = top[0];
				left[j] = left[0];
				continue;
			}
			plane[j] = image * r->map_height;
			top[j] = row * w.stride - r->padding;
			left[j] = col * w.stride - r->padding;
			if (++col == width) {
				col = 0;
				if (++row == r->to.height) {
					row = 0;
					image++;
				}
			}
		}
		for (size_t c = cell; c < cell + cells; c += now, out += now * INV_STRIP_ROWS) {
			size_t tap = c / p->tap_cells, inside = c % p->tap_cells;
			size_t down = p->spec.plain ? tap : tap / w.kernel;
			size_t across = p->spec.plain ? 0 : tap % w.kernel;
			const float *at[INV_STRIP_ROWS];

			now = p->tap_cells - inside;
			now = now < cell + cells - c ? now : cell + cells - c;
			for (size_t j = 0; j < INV_STRIP_ROWS; j++) {
				size_t y = top[j] + down, x = left[j] + across;

				at[j] = inside + (y < r->map_height && x < r->map_width
				                      ? r->cells + (plane[j] + y) * r->row_cells +
				                            x * p->pixel / p->each
				                      : p->zeros);
			}
			p->kernels->pack_strip(at, now, out);
		}
	}
}

static void run_block(void *user, size_t index, unsigned thread)
{
	const conv_run *r = user;
	const inv_conv *p = r->p;
	const inv_conv_spec *s = &p->spec;
	size_t first = index / r->column_parts * r->height;
	size_t column = index % r->column_parts * r->columns;
	size_t rows = r->rows - first < r->height ? r->rows - first : r->height;
	size_t columns =
		p->weights.n - column < r->columns ? p->weights.n - column : r->columns;
	const inv_panels weights = inv_panels_columns(&p->weights, column, columns);
	float *scratch = (float *)(void *)(r->scratch + thread * r->lane_bytes);
	void *result =
		r->result + (first * r->result_channels + column) * inv_map_number(s->precision);
	float scales[INV_MAX_PANEL_ROWS];
	inv_panels_rows product = {.rows = rows,
	                           .pack = pack_windows,
	                           .user = r,
	                           .first = first,
	                           .bias = p->bias + column,
	                           .relu = s->relu,
	                           .sums = scratch + inv_panels_room(),
	                           .sums_stride = columns,
	                           .row_scale = scales,
	                           .column_scale = p->scales ? p->scales + column : NULL};

	if (s->precision == INV_FLOAT32) {
		product.add = s->add;
		product.c = result;
		product.c_stride = r->result_channels;
	} else {
		product.half_add = s->add;
		product.half = result;
		product.half_stride = r->result_channels;
	}
	for (size_t i = 0; p->scales && i < rows; i++)
		scales[i] = r->scales[(first + i) / (r->to.height * r->to.width)];
	inv_panels_multiply_rows(p->kernels, &weights, &product, scratch);
}

/* Floats: what a product needs, and its sums. */
static size_t lane_floats(const inv_conv *p)
{
	return round_up(inv_panels_room() + INV_MAX_PANEL_ROWS * p->weights.n, BLOCK);
}

/* Numbers of a row of pixels. */
static size_t row_numbers(inv_maps m)
{
	return m.width * inv_map_channels(m.channels);
}

/* Bytes of scratch memory in front of the threads' own: the images, or maps of bytes. */
static size_t prepared_bytes(const inv_conv *p, size_t images)
{
	const inv_maps m = p->spec.from;
	size_t image = p->spec.plain ? padded_image(p) * inv_map_number(p->spec.precision) : 0;

	if (p->scales)
		image = m.height * (row_numbers(m) + sizeof(uint16_t)) + 2 * sizeof(float);
	return round_up(images * image, INV_ALIGN);
}

uint64_t inv_conv_scratch(const inv_conv *p, size_t images, unsigned threads)
{
	if (p->winograd)
		return inv_winograd_scratch(p->winograd, images, threads);
	return prepared_bytes(p, images) + (uint64_t)threads * lane_floats(p) * sizeof(float);
}

static void find_largest(void *user, size_t index, unsigned thread)
{
	const conv_run *r = user;
	size_t count = row_numbers(r->from);

	(void)thread;
	r->largest[index] = r->p->kernels->largest_half(r->x + index * count, count);
}

static void round_row(void *user, size_t index, unsigned thread)
{
	const conv_run *r = user;
	size_t count = row_numbers(r->from);

	(void)thread;
	r->p->kernels->halves_to_bytes(r->x + index * count, count,
	                               r->to_bytes[index / r->from.height],
	                               r->bytes + index * count);
}

static void run_each(const invar_context *ctx, size_t count, inv_block_fn *step,
                     conv_run *r)
{
	if (ctx)
		inv_parallel(ctx, count, step, r);
	else
		for (size_t i = 0; i < count; i++)
			step(r, i, 0);
}

/* An image with a number that is not finite gets results that are NaN. */
static void round_maps(const invar_context *ctx, conv_run *r, void *scratch)
{
	const inv_maps m = r->from;

	r->scales = scratch;
	r->to_bytes = r->scales + m.images;
	r->bytes = (uint8_t *)(r->to_bytes + m.images);
	r->largest = (uint16_t *)(void *)(r->bytes + m.images * m.height * row_numbers(m));
	run_each(ctx, m.images * m.height, find_largest, r);
	for (size_t n = 0; n < m.images; n++) {
		uint16_t found = 0;
		float most;

		for (size_t y = 0; y < m.height; y++)
			if (r->largest[n * m.height + y] > found)
				found = r->largest[n * m.height + y];
		most = inv_from_bfloat16(found);
		r->scales[n] = isfinite(most) ? most / MAX_BYTE : NAN;
		r->to_bytes[n] = MAX_BYTE / most;
		if (!isfinite(r->to_bytes[n]) || !isfinite(most)) /* 0 and next to it, too */
			r->to_bytes[n] = 0;
	}
	run_each(ctx, m.images * m.height, round_row, r);
	r->cells = (const float *)(const void *)r->bytes;
}

void inv_conv_run(const inv_conv *p, const invar_context *ctx, size_t images, const void *x,
                  size_t to_channels, size_t first, void *to, void *scratch)
{
	const inv_conv_spec *s = &p->spec;
	size_t threads = ctx ? ctx->threads : 1, blocks;
	conv_run r = {.p = p,
	              .from = s->from,
	              .to = inv_conv_result(s),
	              .x = x,
	              .cells = x,
	              .map_height = s->from.height,
	              .map_width = s->from.width,
	              .row_cells = s->from.width * p->tap_cells,
	              .padding = s->window.padding,
	              .result = (char *)to + first * inv_map_number(s->precision),
	              .result_channels = inv_map_channels(to_channels),
	              .scratch = scratch,
	              .columns = p->weights.n,
	              .column_parts = 1};

	if (p->winograd) {
		inv_winograd_run(p->winograd, ctx, images, x, r.result_channels, r.result, scratch);
		return;
	}
	r.from.images = images;
	r.scratch += prepared_bytes(p, images);
	r.lane_bytes = lane_floats(p) * sizeof(float);
	if (s->plain) {
		pad_images(p, images, x, scratch);
		r.cells = scratch;
		r.map_height += 2 * r.padding;
		r.map_width += 2 * r.padding;
		r.row_cells = padded_row(p) / p->each;
		r.padding = 0;
	}
	if (p->scales)
		round_maps(ctx, &r, scratch);
	r.rows = images * r.to.height * r.to.width;
	r.height = inv_panels_height(r.rows);
	blocks = inv_blocks(r.rows, r.height);
	/* Threads that have no rows of their own take columns, if these are enough. */
	if (blocks < threads && p->weights.n >= 2 * MIN_COLUMNS) {
		r.columns = round_up(inv_blocks(p->weights.n, inv_blocks(threads, blocks)), BLOCK);
		r.column_parts = inv_blocks(p->weights.n, r.columns);
	}
	run_each(ctx, blocks * r.column_parts, run_block, &r);
}
