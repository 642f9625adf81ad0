/* conv.c - see conv.h: which kernel a convolution takes, the plain one, and pooling. */
#include "math/conv.h"

#include <assert.h>
#include <math.h>

#include "base/memory.h"
#include "math/onednn.h"
#include "math/onednn_conv.h"

enum { MOST_BLOCK = 16 };

struct inv_conv {
	inv_conv_spec spec;
	const float *weights, *bias;
	inv_onednn_conv *onednn; /* NULL: the plain loop */
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
	/* One more may reach out, as long as it begins inside. */
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

/* ---- Convolution ---------------------------------------------------------------- */

invar_status inv_conv_new(const invar_context *ctx, const inv_conv_spec *s,
                          const float *weights, const float *bias, inv_conv **out)
{
	inv_conv *p = inv_calloc(1, sizeof *p);
	invar_status st = INVAR_OK;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "no memory for a convolution");
	*p = (inv_conv){.spec = *s, .weights = weights, .bias = bias};
	if (has_onednn(ctx))
		st = inv_onednn_conv_new(s, weights, bias, ctx->threads, &p->onednn);
	if (st != INVAR_OK) {
		inv_conv_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_conv_scratch(const inv_conv *p)
{
	return p->onednn ? inv_onednn_conv_scratch(p->onednn) : 0;
}

invar_status inv_conv_run(const inv_conv *p, const float *from, float *to, void *scratch,
                          unsigned thread)
{
	if (p->onednn)
		return inv_onednn_conv_run(p->onednn, from, to, scratch, thread);
	inv_conv_ref(&p->spec, from, p->weights, p->bias, to);
	return INVAR_OK;
}

void inv_conv_free(inv_conv *p)
{
	if (!p)
		return;
	inv_onednn_conv_free(p->onednn);
	inv_free(p);
}

/* The part of a window at `place` that lies on a side: [*first, *end) of the kernel. */
static void clip(inv_window w, size_t place, size_t side, size_t *first, size_t *end)
{
	size_t at = place * w.stride; /* counted from the padding */

	*first = at < w.padding ? w.padding - at : 0;
	*end = at + w.kernel > side + w.padding ? side + w.padding - at : w.kernel;
}

/* One value: the window at (row, col) of one image, under the weights of one output. */
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

/* ---- Pooling -------------------------------------------------------------------- */

/* Blocks of maps are maps of `block` numbers a pixel; the padding channels among them. */
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
			if (block == 8) /* a constant, so that it becomes vectors */
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

void inv_mean_pool(size_t block, inv_maps from, const float *x, float *to)
{
	size_t pixels = from.height * from.width;

	assert(block <= MOST_BLOCK);
	for (size_t n = 0; n < from.images; n++)
		for (size_t first = 0; first < from.channels; first += block, x += pixels * block) {
			double sum[MOST_BLOCK] = {0};

			for (size_t i = 0; i < pixels; i++)
				for (size_t c = 0; c < block; c++)
					sum[c] += (double)x[i * block + c];
			for (size_t c = 0; c < block && first + c < from.channels; c++)
				*to++ = (float)(sum[c] / (double)pixels);
		}
}
