/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - see conv.h: the choice of kernel, the plain kernel, and pooling. */
#include "math/conv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/onednn_conv.h"
#include "math/winograd.h"

enum { MAX_BLOCK = 16, ALIGN = INV_ALIGN / sizeof(float) };

struct inv_conv {
	const invar_context *ctx;
	inv_conv_spec spec;
	const float *weights, *bias;
	size_t block, gathered;  /* floats of the gathered input */
	inv_winograd *winograd;  /* else: */
	inv_conv_spec piece;     /* one image or all that are stored together, some outputs */
	size_t images, parts;    /* pieces of the images, of the outputs */
	inv_onednn_conv *onednn; /* else the plain loop */
};

static bool has_onednn(const invar_context *ctx)
{
	return (ctx->cpu & INV_CPU_LIBRARIES) && inv_onednn_usable();
}

/* ---- Shapes ------------------------------------------------------------------- */

size_t inv_maps_block(const invar_context *ctx)
{
	return has_onednn(ctx) ? inv_onednn_block() : 1;
}

size_t inv_maps_floats(size_t block, inv_maps m)
{
	return m.images * ((m.channels + block - 1) / block * block) * m.height * m.width;
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
	                  inv_window_places(s->window, s->from.width), s->together};
}

/* ---- Convolution ---------------------------------------------------------------- */

/* The part of a window at `place` that is within the side: [*first, *end) of the kernel. */
static void clip(inv_window w, size_t place, size_t side, size_t *first, size_t *end)
{
	size_t at = place * w.stride; /* counted from the padding */

	*first = at < w.padding ? w.padding - at : 0;
	*end = at + w.kernel > side + w.padding ? side + w.padding - at : w.kernel;
}

/* One value: the window at (row, col) of one image times the weights of one output. */
static double weigh(const inv_conv_spec *s, const float *image, const float *weights,
                    size_t row, size_t col)
{
	size_t k = s->window.kernel, pad = s->window.padding, y0, y1, x0, x1;
	size_t top = row * s->window.stride, left = col * s->window.stride;
	double sum = 0;

	clip(s->window, row, s->from.height, &y0, &y1);
	clip(s->window, col, s->from.width, &x0, &x1);
	for (size_t c = 0; c < s->from.channels; c++)
		for (size_t y = y0; y < y1; y++)
			for (size_t x = x0; x < x1; x++)
				sum += (double)weights[(c * k + y) * k + x] *
				       image[(c * s->from.height + top + y - pad) * s->from.width + left +
				             x - pad];
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

/* ---- Gathering -------------------------------------------------------------------- */

/*
 * For maps stored together a convolution is a matrix product: each pixel of the result
 * reads kernel x kernel pixels of all channels, which are written side by side as if they
 * were the channels of one pixel.
 */
static bool is_product(const inv_conv_spec *s)
{
	return s->together && s->from.together && s->window.kernel == 1 &&
	       s->window.stride == 1 && s->window.padding == 0;
}

/* [outputs, channels / block, kernel, kernel, block] from conv.h's order. Gives. */
static invar_status product_weights(const inv_conv_spec *s, size_t block,
                                    const float *weights, float **out)
{
	size_t area = s->window.kernel * s->window.kernel, channels = s->from.channels;
	size_t row = (channels + block - 1) / block * block * area;

	INV_TRY(inv_new_zeros(out, s->outputs * row));
	for (size_t o = 0; o < s->outputs; o++)
		for (size_t c = 0; c < channels; c++)
			for (size_t k = 0; k < area; k++)
				(*out)[o * row + (c / block * area + k) * block + c % block] =
					weights[(o * channels + c) * area + k];
	return INVAR_OK;
}

const float *inv_maps_plane(inv_maps m, size_t block, size_t image, size_t first,
                            const float *x)
{
	size_t blocks = (m.channels + block - 1) / block;
	size_t plane = m.together ? first * m.images + image : image * blocks + first;

	return x + plane * m.height * m.width * block;
}

/* The pixels under position (y, x) of the kernel, for one block of channels. */
static float *gather_plane(const inv_conv_spec *s, inv_maps to, size_t block,
                           const float *plane, size_t y, size_t x, float *out)
{
	const inv_window w = s->window;
	size_t first = 0,
		   end = 0; /* places whose window has a pixel there; others wrap around */

	for (size_t i = 0; i < to.width; i++)
		if (i * w.stride + x - w.padding < s->from.width) {
			first = end ? first : i;
			end = i + 1;
		}
	for (size_t row = 0; row < to.height; row++, out += to.width * block) {
		size_t top = row * w.stride + y - w.padding; /* wraps around if outside */
		const float *from;

		if (top >= s->from.height || first == end) {
			memset(out, 0, to.width * block * sizeof *out);
			continue;
		}
		from = plane + (top * s->from.width + first * w.stride + x - w.padding) * block;
		memset(out, 0, first * block * sizeof *out);
		if (w.stride == 1)
			memcpy(out + first * block, from, (end - first) * block * sizeof *out);
		for (size_t i = first; w.stride > 1 && i < end; i++, from += w.stride * block)
			memcpy(out + i * block, from, block * sizeof *out);
		memset(out + end * block, 0, (to.width - end) * block * sizeof *out);
	}
	return out;
}

/* ---- Pieces ------------------------------------------------------------------------ */

/* The fraction of the work that the busiest of the threads does. */
static double longest_fraction(size_t pieces, size_t threads)
{
	return (double)inv_blocks(pieces, threads) / (double)pieces;
}

/*
 * Outputs are cut into equal parts of whole blocks, the more the better the threads are
 * used; but not for little, as each part reads the input again.
 */
static void cut_pieces(inv_conv *p)
{
	const inv_conv_spec *s = &p->spec;
	const inv_maps to = inv_conv_result(s);
	size_t threads = p->ctx->threads, blocks = s->outputs / p->block;

	p->images = s->together ? 1 : s->from.images;
	p->parts = 1;
	for (size_t n = 2; s->split && s->outputs % p->block == 0 && n <= blocks; n++)
		if (n <= 2 * threads && blocks % n == 0 &&
		    longest_fraction(p->images * n, threads) <
		        0.9 * longest_fraction(p->images * p->parts, threads))
			p->parts = n;
	p->piece = *s;
	p->piece.from.images = 1;
	p->piece.outputs /= p->parts;
	if (s->together) { /* the gathered pixels are the channels of one pixel */
		p->piece.window = (inv_window){.kernel = 1, .stride = 1};
		p->piece.from =
			(inv_maps){.images = 1,
		               .channels = inv_blocks(s->from.channels, p->block) * p->block *
		                           s->window.kernel * s->window.kernel,
		               .height = to.images * to.height,
		               .width = to.width};
	}
}

/* ---- Which kernel ----------------------------------------------------------------- */

static invar_status new_onednn(inv_conv *p, const inv_conv *like)
{
	const inv_onednn_conv *same = like ? like->onednn : NULL;
	unsigned threads = p->ctx->threads;
	invar_status st;
	float *w = NULL;

	if (p->spec.together && !is_product(&p->spec))
		p->gathered =
			(inv_maps_floats(p->block, p->piece.from) + ALIGN - 1) / ALIGN * ALIGN;
	if (same)
		INV_TRY(inv_onednn_conv_new(&p->piece, p->parts, NULL, p->bias, threads, same,
		                            &p->onednn));
	if (p->onednn)
		return INVAR_OK;
	if (p->spec.together)
		INV_TRY(product_weights(&p->spec, p->block, p->weights, &w));
	st = inv_onednn_conv_new(&p->piece, p->parts, w ? w : p->weights, p->bias, threads,
	                         same, &p->onednn);
	inv_free(w);
	return st;
}

invar_status inv_conv_new(const invar_context *ctx, const inv_conv_spec *s,
                          const float *weights, const float *bias, const inv_conv *like,
                          inv_conv **out)
{
	inv_conv *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	*p = (inv_conv){.ctx = ctx, .spec = *s, .weights = weights, .bias = bias};
	p->block = inv_maps_block(ctx);
	cut_pieces(p);
	if (inv_winograd_pays(ctx, s))
		INV_TRY_OR(fail, inv_winograd_new(ctx, s, weights, bias,
		                                  like ? like->winograd : NULL, &p->winograd));
	else if (has_onednn(ctx))
		INV_TRY_OR(fail, new_onednn(p, like));
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
	inv_onednn_conv_free(p->onednn);
	inv_free(p);
}

/* ---- Running ---------------------------------------------------------------------- */

/* What oneDNN needs of one thread. */
static size_t lane_bytes(const inv_conv *p)
{
	size_t bytes = p->onednn ? inv_onednn_conv_scratch(p->onednn) : 0;

	return (bytes + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
}

size_t inv_conv_scratch(const inv_conv *p)
{
	if (p->winograd)
		return inv_winograd_scratch(p->winograd);
	return p->gathered * sizeof(float) +
	       lane_bytes(p) * (p->spec.split ? p->ctx->threads : 1);
}

typedef struct conv_run {
	const inv_conv *p;
	const float *from; /* or the gathered input */
	float *to, *gathered;
	char *lanes;
} conv_run;

static invar_status run_piece(void *user, size_t i, unsigned thread)
{
	const conv_run *r = user;
	const inv_conv *p = r->p;
	size_t image = i / p->parts, part = i % p->parts;
	size_t cells = inv_maps_floats(p->spec.plain ? 1 : p->block, p->piece.from);
	const float *from = r->from + image * cells;
	float *to = r->to + i * inv_maps_floats(p->block, inv_conv_result(&p->piece));
	size_t filters = p->piece.outputs * p->piece.from.channels * p->piece.window.kernel *
	                 p->piece.window.kernel;

	if (p->onednn)
		return inv_onednn_conv_run(p->onednn, part, from, to,
		                           r->lanes + (p->spec.split ? thread : 0) * lane_bytes(p),
		                           thread);
	inv_conv_ref(&p->piece, from, p->weights + part * filters,
	             p->bias + part * p->piece.outputs, to);
	return INVAR_OK;
}

/* One block of channels. */
static invar_status gather_piece(void *user, size_t first, unsigned thread)
{
	const conv_run *r = user;
	const inv_conv_spec *s = &r->p->spec;
	const inv_maps to = inv_conv_result(s);
	size_t k = s->window.kernel, block = r->p->block;
	float *out = r->gathered + first * k * k * to.images * to.height * to.width * block;

	(void)thread;
	for (size_t i = 0; i < k * k; i++)
		for (size_t n = 0; n < to.images; n++)
			out = gather_plane(s, to, block,
			                   inv_maps_plane(s->from, block, n, first, r->from), i / k,
			                   i % k, out);
	return INVAR_OK;
}

/* On all threads, or one after the other on this one. */
static invar_status each_piece(const inv_conv *p, size_t count, inv_try_fn *fn, conv_run *r,
                               unsigned thread)
{
	if (p->spec.split)
		return inv_parallel_try(p->ctx, count, fn, r);
	for (size_t i = 0; i < count; i++)
		INV_TRY(fn(r, i, thread));
	return INVAR_OK;
}

invar_status inv_conv_run(const inv_conv *p, const float *from, float *to, void *scratch,
                          unsigned thread)
{
	conv_run r = {.p = p, .from = from, .to = to, .gathered = scratch};
	size_t blocks = inv_blocks(p->spec.from.channels, p->block);

	if (p->winograd)
		return inv_winograd_run(p->winograd, from, to, scratch, thread);
	r.lanes = (char *)scratch + p->gathered * sizeof(float);
	if (p->gathered) {
		INV_TRY(each_piece(p, blocks, gather_piece, &r, thread));
		r.from = r.gathered;
	}
	return each_piece(p, p->images * p->parts, run_piece, &r, thread);
}

/* ---- Pooling -------------------------------------------------------------------- */

/* Blocks of maps are maps with `block` numbers per pixel, padding channels included. */
static size_t planes_of(size_t block, inv_maps m)
{
	return m.images * ((m.channels + block - 1) / block);
}

static inline void largest(size_t block, const float *plane, size_t width,
                           const size_t y[2], const size_t x[2], float *to)
{
	float best[MAX_BLOCK];

	for (size_t c = 0; c < block; c++)
		best[c] = -INFINITY;
	for (size_t row = y[0]; row < y[1]; row++)
		for (size_t col = x[0]; col < x[1]; col++) {
			const float *at = plane + (row * width + col) * block;

			for (size_t c = 0; c < block; c++)
				best[c] = at[c] > best[c] ? at[c] : best[c];
		}
	memcpy(to, best, block * sizeof *to);
}

typedef struct pool_run {
	size_t block;
	inv_maps from;
	inv_window window;
	const float *x;
	float *to;
} pool_run;

static void pool_pixel(const pool_run *r, const float *plane, size_t row, size_t col,
                       float *to)
{
	const inv_window w = r->window;
	size_t y[2], x[2];

	clip(w, row, r->from.height, &y[0], &y[1]);
	clip(w, col, r->from.width, &x[0], &x[1]);
	for (int i = 0; i < 2; i++) {
		y[i] += row * w.stride - w.padding;
		x[i] += col * w.stride - w.padding;
	}
	if (r->block == 8) /* a constant, so that the loop is vectorised */
		largest(8, plane, r->from.width, y, x, to);
	else if (r->block == 16)
		largest(16, plane, r->from.width, y, x, to);
	else
		largest(r->block, plane, r->from.width, y, x, to);
}

static void pool_plane(void *user, size_t i, unsigned thread)
{
	const pool_run *r = user;
	size_t rows = inv_window_places(r->window, r->from.height);
	size_t cols = inv_window_places(r->window, r->from.width);
	const float *plane = r->x + i * r->from.height * r->from.width * r->block;
	float *to = r->to + i * rows * cols * r->block;

	(void)thread;
	for (size_t row = 0; row < rows; row++)
		for (size_t col = 0; col < cols; col++, to += r->block)
			pool_pixel(r, plane, row, col, to);
}

void inv_max_pool(const invar_context *ctx, size_t block, inv_maps from, inv_window w,
                  const float *x, float *to)
{
	pool_run r = {.block = block, .from = from, .window = w, .x = x, .to = to};

	if (ctx)
		inv_parallel(ctx, planes_of(block, from), pool_plane, &r);
	else
		for (size_t i = 0; i < planes_of(block, from); i++)
			pool_plane(&r, i, 0);
}

void inv_mean_pool(size_t block, inv_maps from, size_t count, const float *x, float *to)
{
	size_t pixels = from.height * from.width;

	assert(block <= MAX_BLOCK);
	for (size_t n = 0; n < count; n++)
		for (size_t first = 0; first < from.channels; first += block) {
			const float *plane = inv_maps_plane(from, block, n, first / block, x);
			double sum[MAX_BLOCK] = {0};

			for (size_t i = 0; i < pixels; i++)
				for (size_t c = 0; c < block; c++)
					sum[c] += (double)plane[i * block + c];
			for (size_t c = 0; c < block && first + c < from.channels; c++)
				*to++ = (float)(sum[c] / (double)pixels);
		}
}
