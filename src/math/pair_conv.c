/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_conv.c - see pair_conv.h.
 *
 * The sum of a pixel runs over taps of the window, each with all channels: consecutive
 * numbers of the maps. Images have up to four channels, too few for that: they are first
 * rounded, padded, and stored with four numbers per pixel; there a tap is a row of the
 * window, rounded up to four pixels, whose weights past the window are 0.
 *
 * A product of bytes first rounds the maps, once for all windows that read them.
 */
#include "math/pair_conv.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/bfloat16.h"
#include "math/panels.h"

enum { BLOCK = 16, IMAGE_CHANNELS = 4, MIN_COLUMNS = 64 };
enum { MAX_WEIGHT = 127, MAX_BYTE = 255, MAX_TERMS = INT32_MAX / (MAX_WEIGHT * MAX_BYTE) };

struct inv_pair_conv {
	const struct inv_kernels *kernels;
	inv_window window;
	size_t channels;
	bool image, bytes, add, relu;
	size_t taps, tap_cells; /* of the sum; cells of 32 bits, two numbers or four bytes */
	inv_arena memory;
	inv_panels weights; /* [taps, numbers of a tap][outputs, padded] */
	float *bias, *zeros;
	float *scales; /* of the outputs; NULL unless of bytes */
};

static size_t round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

size_t inv_pair_channels(size_t channels)
{
	return round_up(channels, BLOCK);
}

uint64_t inv_pair_maps_cells(inv_maps m)
{
	return (uint64_t)m.images * m.height * m.width * inv_pair_channels(m.channels);
}

/* ---- Making ----------------------------------------------------------------------- */

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_weights(inv_pair_conv *p, size_t outputs)
{
	size_t cells = p->taps * p->tap_cells, n = round_up(outputs, BLOCK);
	inv_arena *a = &p->memory;
	float *at = inv_arena_take(a, inv_panels_floats(cells, n), sizeof(float));

	p->weights = p->bytes ? inv_byte_panels_of(4 * cells, n, at)
	                      : inv_pair_panels_of(2 * cells, n, at);
	p->bias = inv_arena_take(a, n, sizeof(float));
	p->zeros = inv_arena_take(a, p->tap_cells, sizeof(float));
	p->scales = p->bytes ? inv_arena_take(a, n, sizeof(float)) : NULL;
}

/* Where a weight of a filter is in the sum. */
static size_t find_term(const inv_pair_conv *p, size_t channel, size_t y, size_t x)
{
	size_t each = p->weights.k / p->taps;

	return p->image ? y * each + x * IMAGE_CHANNELS + channel
	                : (y * p->window.kernel + x) * each + channel;
}

/*
 * [outputs, channels, kernel, kernel] -> [outputs, padded][taps, numbers of a tap], whose
 * rows are as long for bytes. What rounding to a byte takes away is given to the next
 * weight: the numbers of a map are not negative and resemble their neighbours, so it
 * matters most that the sums of weights are right. Features of ResNet-18 are off by 2.1 %
 * instead of 4.2 %.
 */
static void order_weights(const inv_pair_conv *p, size_t outputs, const float *weights,
                          float *rows)
{
	size_t kernel = p->window.kernel, filter = p->channels * kernel * kernel;

	for (size_t o = 0; o < outputs; o++, weights += filter, rows += p->weights.k) {
		int8_t *bytes = (int8_t *)(void *)rows;
		float most = 0, left = 0;
		bool finite = true;

		for (size_t i = 0; i < filter; i++) {
			most = fmaxf(most, fabsf(weights[i]));
			finite = finite && isfinite(weights[i]);
		}
		if (p->bytes)
			p->scales[o] = finite ? most / MAX_WEIGHT : NAN;
		for (size_t i = 0; i < filter; i++) {
			size_t at = find_term(p, i / kernel / kernel, i / kernel % kernel, i % kernel);

			if (!p->bytes) {
				rows[at] = weights[i];
			} else if (finite && most > 0) {
				float exact = weights[i] / most * MAX_WEIGHT + left;

				bytes[at] = (int8_t)lrintf(fminf(fmaxf(exact, -MAX_WEIGHT), MAX_WEIGHT));
				left = exact - bytes[at];
			}
		}
	}
}

invar_status inv_pair_conv_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                               bool bytes, const float *weights, const float *bias,
                               inv_pair_conv **out)
{
	size_t kernel = s->window.kernel;
	inv_pair_conv *p;
	float *rows = NULL;
	invar_status st;

	*out = NULL;
	if (bytes && inv_pair_channels(s->from.channels) * kernel * kernel > MAX_TERMS)
		return inv_fail(INVAR_E_USE,
		                "a convolution over %zu channels and %zu x %zu pixels has sums that "
		                "may exceed 32 bits in int8; use @precision bfloat16",
		                s->from.channels, kernel, kernel);
	INV_TRY(inv_new(&p));
	p->kernels = kernels;
	p->bytes = bytes;
	p->window = s->window;
	p->channels = s->from.channels;
	p->image = s->plain;
	p->add = s->add;
	p->relu = s->relu;
	p->taps = p->image ? kernel : kernel * kernel;
	p->tap_cells = p->image ? round_up(kernel, 4) * IMAGE_CHANNELS / 2
	                        : inv_pair_channels(p->channels) / (bytes ? 4 : 2);
	place_weights(p, s->outputs);
	INV_TRY_OR(fail, inv_arena_commit(&p->memory));
	place_weights(p, s->outputs);
	INV_TRY_OR(fail, inv_new_zeros(&rows, p->weights.n * p->weights.k));
	for (size_t o = 0; bytes && o < p->weights.n; o++)
		p->scales[o] = 0;
	order_weights(p, s->outputs, weights, rows);
	inv_panels_fill_turned(kernels, &p->weights, rows, p->weights.k);
	memset(p->bias, 0, p->weights.n * sizeof *p->bias);
	memcpy(p->bias, bias, s->outputs * sizeof *p->bias);
	memset(p->zeros, 0, p->tap_cells * sizeof *p->zeros);
	inv_free(rows);
	*out = p;
	return INVAR_OK;
fail:
	inv_pair_conv_free(p);
	return st;
}

void inv_pair_conv_free(inv_pair_conv *p)
{
	if (p)
		inv_arena_free(&p->memory);
	inv_free(p);
}

/* ---- Images ----------------------------------------------------------------------- */

/* Numbers of a row, with what the last tap reads past it. */
static size_t padded_row(const inv_pair_conv *p, inv_maps m)
{
	return (m.width + 2 * p->window.padding + 4) * IMAGE_CHANNELS;
}

static size_t padded_image(const inv_pair_conv *p, inv_maps m)
{
	return (m.height + 2 * p->window.padding) * padded_row(p, m);
}

static void pad_images(const inv_pair_conv *p, inv_maps m, const float *x, uint16_t *out)
{
	size_t pad = p->window.padding, plane = m.height * m.width;

	memset(out, 0, m.images * padded_image(p, m) * sizeof *out);
	for (size_t n = 0; n < m.images; n++)
		for (size_t c = 0; c < m.channels; c++)
			for (size_t y = 0; y < m.height; y++) {
				const float *row = x + (n * m.channels + c) * plane + y * m.width;
				uint16_t *to = out + n * padded_image(p, m) + (y + pad) * padded_row(p, m) +
				               pad * IMAGE_CHANNELS + c;

				for (size_t i = 0; i < m.width; i++)
					to[i * IMAGE_CHANNELS] = inv_to_bfloat16(row[i]);
			}
}

/* ---- Running ---------------------------------------------------------------------- */

typedef struct pair_run {
	const inv_pair_conv *p;
	inv_maps from, to;
	const uint16_t *x;
	const float *cells; /* of the maps or the padded images, as windows read them: */
	size_t map_height, map_width, pixel_cells, padding;
	uint8_t *bytes;           /* of the maps, if the product is one of bytes: */
	uint16_t *largest;        /* of each row of pixels */
	float *scales, *to_bytes; /* of each image; what its numbers are multiplied by */
	uint16_t *result;
	size_t result_channels;
	char *scratch;
	size_t lane_bytes; /* of a thread's scratch */
	size_t rows, height, columns, column_parts;
} pair_run;

/* Strips of the windows of pixels [first, first + rows), cells [cell, cell + cells). */
static void pack_windows(const void *user, size_t first, size_t cell, size_t rows,
                         size_t cells, float *strips)
{
	const pair_run *r = user;
	const inv_pair_conv *p = r->p;
	const inv_window w = p->window;
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
			size_t down = p->image ? tap : tap / w.kernel;
			size_t across = p->image ? 0 : tap % w.kernel;
			const float *at[INV_STRIP_ROWS];

			now = p->tap_cells - inside;
			now = now < cell + cells - c ? now : cell + cells - c;
			for (size_t j = 0; j < INV_STRIP_ROWS; j++) {
				size_t y = top[j] + down, x = left[j] + across;

				at[j] = inside + (y < r->map_height && x < r->map_width
				                      ? r->cells + ((plane[j] + y) * r->map_width + x) *
				                                       r->pixel_cells
				                      : p->zeros);
			}
			p->kernels->pack_strip(at, now, out);
		}
	}
}

static void run_block(void *user, size_t index, unsigned thread)
{
	const pair_run *r = user;
	const inv_pair_conv *p = r->p;
	size_t first = index / r->column_parts * r->height;
	size_t column = index % r->column_parts * r->columns;
	size_t rows = r->rows - first < r->height ? r->rows - first : r->height;
	size_t columns =
		p->weights.n - column < r->columns ? p->weights.n - column : r->columns;
	const inv_panels weights = inv_panels_columns(&p->weights, column, columns);
	float *scratch = (float *)(void *)(r->scratch + thread * r->lane_bytes);
	float scales[INV_MAX_PANEL_ROWS];
	const inv_panels_rows product = {.rows = rows,
	                                 .pack = pack_windows,
	                                 .user = r,
	                                 .first = first,
	                                 .bias = p->bias + column,
	                                 .relu = p->relu,
	                                 .sums = scratch + inv_panels_room(),
	                                 .sums_stride = columns,
	                                 .half =
	                                     r->result + first * r->result_channels + column,
	                                 .half_stride = r->result_channels,
	                                 .half_add = p->add,
	                                 .row_scale = scales,
	                                 .column_scale =
	                                     p->bytes ? p->scales + column : NULL};

	for (size_t i = 0; p->bytes && i < rows; i++)
		scales[i] = r->scales[(first + i) / (r->to.height * r->to.width)];
	inv_panels_multiply_rows(p->kernels, &weights, &product, scratch);
}

/* Floats: what a product needs, and its sums. */
static size_t lane_floats(const inv_pair_conv *p)
{
	return round_up(inv_panels_room() + INV_MAX_PANEL_ROWS * p->weights.n, BLOCK);
}

/* Numbers of a row of pixels. */
static size_t row_cells(inv_maps m)
{
	return m.width * inv_pair_channels(m.channels);
}

/* Bytes of scratch memory in front of the threads' own: the images, or maps of bytes. */
static size_t prepared_bytes(const inv_pair_conv *p, inv_maps m)
{
	size_t images = p->image ? m.images * padded_image(p, m) * sizeof(uint16_t) : 0;
	size_t row = row_cells(m) + sizeof(uint16_t);

	return round_up(
		p->bytes ? m.images * (m.height * row + 2 * sizeof(float)) : images, INV_ALIGN);
}

size_t inv_pair_conv_scratch(const inv_pair_conv *p, inv_maps from, unsigned threads)
{
	return prepared_bytes(p, from) + threads * lane_floats(p) * sizeof(float);
}

static void find_largest(void *user, size_t index, unsigned thread)
{
	const pair_run *r = user;
	size_t count = row_cells(r->from);

	(void)thread;
	r->largest[index] = r->p->kernels->largest_half(r->x + index * count, count);
}

static void round_row(void *user, size_t index, unsigned thread)
{
	const pair_run *r = user;
	size_t count = row_cells(r->from);

	(void)thread;
	r->p->kernels->halves_to_bytes(r->x + index * count, count,
	                               r->to_bytes[index / r->from.height],
	                               r->bytes + index * count);
}

static void run_each(const invar_context *ctx, size_t count, inv_block_fn *step,
                     pair_run *r)
{
	if (ctx)
		inv_parallel(ctx, count, step, r);
	else
		for (size_t i = 0; i < count; i++)
			step(r, i, 0);
}

/* An image with a number that is not finite gets results that are NaN. */
static void round_maps(const invar_context *ctx, pair_run *r, void *scratch)
{
	const inv_maps m = r->from;

	r->scales = scratch;
	r->to_bytes = r->scales + m.images;
	r->bytes = (uint8_t *)(r->to_bytes + m.images);
	r->largest = (uint16_t *)(void *)(r->bytes + m.images * m.height * row_cells(m));
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

void inv_pair_conv_run(const inv_pair_conv *p, const invar_context *ctx, inv_maps from,
                       const void *x, size_t to_channels, size_t first, uint16_t *to,
                       void *scratch)
{
	const inv_conv_spec s = {.from = from, .outputs = p->weights.n, .window = p->window};
	size_t threads = ctx ? ctx->threads : 1, blocks;
	pair_run r = {.p = p,
	              .from = from,
	              .to = inv_conv_result(&s),
	              .x = x,
	              .cells = x,
	              .map_height = from.height,
	              .map_width = from.width,
	              .pixel_cells = p->tap_cells,
	              .padding = p->window.padding,
	              .result = to + first,
	              .result_channels = inv_pair_channels(to_channels),
	              .scratch = scratch,
	              .lane_bytes = lane_floats(p) * sizeof(float),
	              .columns = p->weights.n,
	              .column_parts = 1};

	r.scratch += prepared_bytes(p, from);
	if (p->image) {
		pad_images(p, from, x, scratch);
		r.cells = scratch;
		r.map_height += 2 * r.padding;
		r.map_width = padded_row(p, from) / IMAGE_CHANNELS;
		r.pixel_cells = IMAGE_CHANNELS / 2;
		r.padding = 0;
	}
	if (p->bytes)
		round_maps(ctx, &r, scratch);
	r.rows = from.images * r.to.height * r.to.width;
	r.height = inv_panels_height(r.rows);
	blocks = inv_blocks(r.rows, r.height);
	/* Threads that have no rows of their own take columns, if these are enough. */
	if (blocks < threads && p->weights.n >= 2 * MIN_COLUMNS) {
		r.columns = round_up(inv_blocks(p->weights.n, inv_blocks(threads, blocks)), BLOCK);
		r.column_parts = inv_blocks(p->weights.n, r.columns);
	}
	run_each(ctx, blocks * r.column_parts, run_block, &r);
}

/* ---- Pooling ------------------------------------------------------------------------ */

typedef struct pair_pool {
	inv_maps from;
	inv_window window;
	size_t rows, cols, channels;
	const uint16_t *x;
	uint16_t *to;
} pair_pool;

/* Bits that compare like the numbers, and back. */
static inline int16_t ordered(uint16_t half)
{
	return (int16_t)(half ^ (uint16_t)((half & 0x8000 ? 0x7fff : 0)));
}

static void pool_row(void *user, size_t index, unsigned thread)
{
	const pair_pool *r = user;
	const inv_window w = r->window;
	size_t image = index / r->rows, row = index % r->rows;

	(void)thread;
	for (size_t col = 0; col < r->cols; col++) {
		uint16_t *to = r->to + (index * r->cols + col) * r->channels;

		for (size_t c = 0; c < r->channels; c++)
			to[c] = 0xff80; /* -infinity */
		for (size_t tap = 0; tap < w.kernel * w.kernel; tap++) {
			size_t y = row * w.stride + tap / w.kernel - w.padding; /* wraps around */
			size_t x = col * w.stride + tap % w.kernel - w.padding;
			const uint16_t *at =
				r->x + ((image * r->from.height + y) * r->from.width + x) * r->channels;

			if (y >= r->from.height || x >= r->from.width)
				continue;
			for (size_t c = 0; c < r->channels; c++) {
				int16_t a = ordered(at[c]), b = ordered(to[c]);

				to[c] = (uint16_t)ordered((uint16_t)(a > b ? a : b));
			}
		}
	}
}

void inv_pair_max_pool(const invar_context *ctx, inv_maps from, inv_window w,
                       const uint16_t *x, uint16_t *to)
{
	pair_pool r = {.from = from,
	               .window = w,
	               .rows = inv_window_places(w, from.height),
	               .cols = inv_window_places(w, from.width),
	               .channels = inv_pair_channels(from.channels),
	               .x = x,
	               .to = to};

	if (ctx)
		inv_parallel(ctx, from.images * r.rows, pool_row, &r);
	else
		for (size_t i = 0; i < from.images * r.rows; i++)
			pool_row(&r, i, 0);
}

void inv_pair_mean_pool(inv_maps from, const uint16_t *x, float *to)
{
	size_t pixels = from.height * from.width, channels = inv_pair_channels(from.channels);

	for (size_t n = 0; n < from.images; n++, x += pixels * channels)
		for (size_t first = 0; first < from.channels; first += BLOCK) {
			double sum[BLOCK] = {0};

			for (size_t i = 0; i < pixels; i++)
				for (size_t c = 0; c < BLOCK; c++)
					sum[c] += (double)inv_from_bfloat16(x[i * channels + first + c]);
			for (size_t c = 0; c < BLOCK && first + c < from.channels; c++)
				*to++ = (float)(sum[c] / (double)pixels);
		}
}
