/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - see conv.h: the choice of kernel, the plain kernel, and pooling. */
#include "math/conv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/onednn.h"
#include "math/onednn_conv.h"
#include "math/winograd.h"

enum { MAX_BLOCK = 16, ALIGN = INV_ALIGN / sizeof(float) };

struct inv_conv {
	inv_conv_spec spec;
	const float *weights, *bias;
	size_t block, gathered;  /* floats of the gathered input */
	inv_winograd *winograd;  /* else */
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

static inv_conv_spec as_product(const inv_conv_spec *s, size_t block)
{
	const inv_maps to = inv_conv_result(s);
	size_t channels = (s->from.channels + block - 1) / block * block;
	inv_conv_spec product = *s;

	product.window = (inv_window){.kernel = 1, .stride = 1};
	product.from = (inv_maps){.images = 1,
	                          .channels = channels * s->window.kernel * s->window.kernel,
	                          .height = to.images * to.height,
	                          .width = to.width};
	return product;
}

/* [outputs, channels / block, kernel, kernel, block] from conv.h's order. */
static float *product_weights(const inv_conv_spec *s, size_t block, const float *weights)
{
	size_t area = s->window.kernel * s->window.kernel, channels = s->from.channels;
	size_t row = (channels + block - 1) / block * block * area;
	float *w = inv_calloc(s->outputs, row * sizeof *w);

	for (size_t o = 0; w && o < s->outputs; o++)
		for (size_t c = 0; c < channels; c++)
			for (size_t k = 0; k < area; k++)
				w[o * row + (c / block * area + k) * block + c % block] =
					weights[(o * channels + c) * area + k];
	return w;
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

	for (size_t row = 0; row < to.height; row++)
		for (size_t col = 0; col < to.width; col++, out += block) {
			size_t top = row * w.stride + y - w.padding; /* wraps around if outside */
			size_t left = col * w.stride + x - w.padding;

			if (top < s->from.height && left < s->from.width)
				memcpy(out, plane + (top * s->from.width + left) * block,
				       block * sizeof *out);
			else
				memset(out, 0, block * sizeof *out);
		}
	return out;
}

static void gather(const inv_conv_spec *s, size_t block, const float *from, float *out)
{
	const inv_maps to = inv_conv_result(s);
	size_t k = s->window.kernel;

	for (size_t first = 0; first * block < s->from.channels; first++)
		for (size_t i = 0; i < k * k; i++)
			for (size_t n = 0; n < to.images; n++)
				out = gather_plane(s, to, block,
				                   inv_maps_plane(s->from, block, n, first, from), i / k,
				                   i % k, out);
}

/* ---- Which kernel ----------------------------------------------------------------- */

static invar_status new_onednn(inv_conv *p, unsigned threads)
{
	inv_conv_spec product;
	invar_status st;
	float *w;

	if (!p->spec.together)
		return inv_onednn_conv_new(&p->spec, 1, p->weights, p->bias, threads, &p->onednn);
	product = as_product(&p->spec, p->block);
	if (!(w = product_weights(&p->spec, p->block, p->weights)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a convolution");
	if (!is_product(&p->spec))
		p->gathered = (inv_maps_floats(p->block, product.from) + ALIGN - 1) / ALIGN * ALIGN;
	st = inv_onednn_conv_new(&product, 1, w, p->bias, threads, &p->onednn);
	inv_free(w);
	return st;
}

invar_status inv_conv_new(const invar_context *ctx, const inv_conv_spec *s,
                          const float *weights, const float *bias, inv_conv **out)
{
	inv_conv *p = inv_calloc(1, sizeof *p);
	invar_status st = INVAR_OK;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a convolution");
	*p = (inv_conv){.spec = *s, .weights = weights, .bias = bias};
	p->block = inv_maps_block(ctx);
	if (inv_winograd_pays(ctx, s))
		st = inv_winograd_new(s, weights, bias, ctx->threads, &p->winograd);
	else if (has_onednn(ctx))
		st = new_onednn(p, ctx->threads);
	if (st != INVAR_OK) {
		inv_conv_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_conv_scratch(const inv_conv *p)
{
	if (p->winograd)
		return inv_winograd_scratch(p->winograd);
	return p->gathered * sizeof(float) +
	       (p->onednn ? inv_onednn_conv_scratch(p->onednn) : 0);
}

invar_status inv_conv_run(const inv_conv *p, const float *from, float *to, void *scratch,
                          unsigned thread)
{
	float *space = scratch;

	if (p->winograd)
		return inv_winograd_run(p->winograd, from, to, scratch, thread);
	if (!p->onednn) {
		inv_conv_ref(&p->spec, from, p->weights, p->bias, to);
		return INVAR_OK;
	}
	if (p->gathered)
		gather(&p->spec, p->block, from, space);
	return inv_onednn_conv_run(p->onednn, 0, p->gathered ? space : from, to,
	                           space + p->gathered, thread);
}

void inv_conv_free(inv_conv *p)
{
	if (!p)
		return;
	inv_winograd_free(p->winograd);
	inv_onednn_conv_free(p->onednn);
	inv_free(p);
}

/* ---- Pooling -------------------------------------------------------------------- */

/* Blocks of maps are maps with `block` numbers per pixel, padding channels included. */
static size_t planes_of(size_t block, inv_maps m)
{
	return m.images * ((m.channels + block - 1) / block);
}

static void largest(size_t block, const float *plane, size_t width, const size_t y[2],
                    const size_t x[2], float *restrict to)
{
	for (size_t c = 0; c < block; c++)
		to[c] = -INFINITY;
	for (size_t row = y[0]; row < y[1]; row++)
		for (size_t col = x[0]; col < x[1]; col++) {
			const float *at = plane + (row * width + col) * block;

			for (size_t c = 0; c < block; c++)
				to[c] = at[c] > to[c] ? at[c] : to[c];
		}
}

static void pool_plane(size_t block, inv_maps from, inv_window w, const float *plane,
                       float *to)
{
	size_t rows = inv_window_places(w, from.height);
	size_t cols = inv_window_places(w, from.width);

	for (size_t row = 0; row < rows; row++)
		for (size_t col = 0; col < cols; col++, to += block) {
			size_t y[2], x[2];

			clip(w, row, from.height, &y[0], &y[1]);
			clip(w, col, from.width, &x[0], &x[1]);
			for (int i = 0; i < 2; i++) {
				y[i] += row * w.stride - w.padding;
				x[i] += col * w.stride - w.padding;
			}
			if (block == 8) /* a constant, so that the loop is vectorised */
				largest(8, plane, from.width, y, x, to);
			else
				largest(block, plane, from.width, y, x, to);
		}
}

void inv_max_pool(size_t block, inv_maps from, inv_window w, const float *x, float *to)
{
	size_t planes = planes_of(block, from);
	size_t results = inv_window_places(w, from.height) * inv_window_places(w, from.width);

	for (size_t i = 0; i < planes; i++)
		pool_plane(block, from, w, x + i * from.height * from.width * block,
		           to + i * results * block);
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
