/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c - see winograd.h: the weights, and tiles in runs that stay in the cache.
 */
#include "math/winograd.h"

#include "base/memory.h"
#include "math/onednn_conv.h"

enum {
	BLOCK = INV_WINOGRAD_BLOCK,
	TILE = INV_WINOGRAD_TILE,
	WINDOW = INV_WINOGRAD_WINDOW,
	PRODUCTS = INV_WINOGRAD_PRODUCTS,
	RUN = 64,               /* tiles of a run at most */
	FEW_TILES = 16,         /* too few for the weights to be worth reading */
	FEW_CHANNELS = 32,      /* too few for the transforms to pay off */
	MAX_WEIGHTS = 256 * 320 /* beyond, their 36 forms do not fit the cache */
};

struct inv_winograd {
	inv_conv_spec spec;
	size_t tiles, run; /* of all images; of a run */
	inv_onednn_conv *products;
	float *bias;
	inv_winograd_in *in;
	inv_winograd_out *out;
};

static size_t tiles_across(size_t side)
{
	return (side + TILE - 1) / TILE;
}

static size_t tiles_of(const inv_maps *m)
{
	return tiles_across(m->height) * tiles_across(m->width);
}

bool inv_winograd_pays(const invar_context *ctx, const inv_conv_spec *s)
{
	size_t tiles = tiles_of(&s->from);

	if (!(ctx->cpu & INV_CPU_AVX2) || inv_maps_block(ctx) != BLOCK || s->plain)
		return false;
	if (s->window.kernel != 3 || s->window.stride != 1 || s->window.padding != 1)
		return false;
	return s->from.channels % BLOCK == 0 && s->outputs % BLOCK == 0 &&
	       s->from.channels >= FEW_CHANNELS && s->outputs >= FEW_CHANNELS &&
	       s->from.channels * s->outputs <= MAX_WEIGHTS &&
	       tiles * s->from.images >= FEW_TILES &&
	       2 * PRODUCTS * tiles <= 9 * s->from.height * s->from.width;
}

/* ---- Making --------------------------------------------------------------------- */

/* A row of G: 1, x, x^2 divided by the product of x minus each other point. */
static void fill_row(double x, double rest, double row[3])
{
	row[0] = 1 / rest;
	row[1] = x / rest;
	row[2] = x * x / rest;
}

/* The transform of 3 weights in a row. */
static void fill_g(double g[WINDOW][3])
{
	const double a = INV_WINOGRAD_A, b = INV_WINOGRAD_B, a2 = a * a, b2 = b * b;

	fill_row(0, a2 * b2, g[0]);
	fill_row(a, 2 * a2 * (a2 - b2), g[1]);
	fill_row(-a, 2 * a2 * (a2 - b2), g[2]);
	fill_row(b, 2 * b2 * (b2 - a2), g[3]);
	fill_row(-b, 2 * b2 * (b2 - a2), g[4]);
	g[5][0] = g[5][1] = 0;
	g[5][2] = 1;
}

/* G g Gt of one filter, each of the 36 numbers `apart` from the next. */
static void transform_filter(double g[WINDOW][3], const float *w, float *out, size_t apart)
{
	for (size_t y = 0; y < WINDOW; y++) {
		double row[3]; /* of G g */

		for (size_t j = 0; j < 3; j++)
			row[j] = g[y][0] * (double)w[j] + g[y][1] * (double)w[3 + j] +
			         g[y][2] * (double)w[6 + j];
		for (size_t x = 0; x < WINDOW; x++)
			out[(y * WINDOW + x) * apart] =
				(float)(row[0] * g[x][0] + row[1] * g[x][1] + row[2] * g[x][2]);
	}
}

static invar_status make_products(inv_winograd *p, const float *weights, unsigned threads)
{
	const inv_conv_spec *s = &p->spec;
	size_t filters = s->from.channels * s->outputs;
	const inv_conv_spec one = {
		.from = {.images = 1, .channels = s->from.channels, .height = 1, .width = p->run},
		.outputs = s->outputs,
		.window = {.kernel = 1, .stride = 1}};
	float *u = inv_alloc(PRODUCTS * filters * sizeof *u);
	float *zeros = inv_calloc(s->outputs, sizeof *zeros);
	double g[WINDOW][3];
	invar_status st;

	fill_g(g);
	if (u && zeros) {
		for (size_t i = 0; i < filters; i++)
			transform_filter(g, weights + i * 9, u + i, filters);
		st = inv_onednn_conv_new(&one, PRODUCTS, u, zeros, threads, &p->products);
	} else
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a convolution");
	inv_free(u);
	inv_free(zeros);
	return st;
}

invar_status inv_winograd_new(const inv_conv_spec *s, const float *weights,
                              const float *bias, unsigned threads, inv_winograd **out)
{
	inv_winograd *p = inv_calloc(1, sizeof *p);
	invar_status st;
	size_t runs;

	*out = NULL;
	if (!p || !(p->bias = inv_alloc(s->outputs * sizeof *bias))) {
		inv_free(p);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a convolution");
	}
	p->spec = *s;
#if defined(__x86_64__)
	p->in = inv_winograd_in_avx2;
	p->out = inv_winograd_out_avx2;
#endif
	p->tiles = s->from.images * tiles_of(&s->from);
	runs = (p->tiles + RUN - 1) / RUN;
	p->run = (p->tiles + runs - 1) / runs;
	for (size_t i = 0; i < s->outputs; i++)
		p->bias[i] = bias[i];
	if ((st = make_products(p, weights, threads)) != INVAR_OK) {
		inv_winograd_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

void inv_winograd_free(inv_winograd *p)
{
	if (!p)
		return;
	inv_onednn_conv_free(p->products);
	inv_free(p->bias);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

/* Floats of the tiles of a run: 36 numbers per tile and channel. */
static size_t space_of(const inv_winograd *p, size_t channels)
{
	return PRODUCTS * channels * p->run + (size_t)INV_ALIGN; /* whatever the rest is */
}

size_t inv_winograd_scratch(const inv_winograd *p)
{
	return (space_of(p, p->spec.from.channels) + space_of(p, p->spec.outputs)) *
	           sizeof(float) +
	       inv_onednn_conv_scratch(p->products);
}

/* Tile number i of all: its image, and its position there. */
static inv_winograd_tile find_tile(const inv_maps *m, size_t i, size_t *image)
{
	size_t across = tiles_across(m->width), each = tiles_of(m);

	*image = i / each;
	return (inv_winograd_tile){.top = (long)(i % each / across * TILE),
	                           .left = (long)(i % each % across * TILE),
	                           .height = (long)m->height,
	                           .width = (long)m->width};
}

static void transform_in(const inv_winograd *p, size_t first, size_t count,
                         const float *from, float *v)
{
	const inv_maps *m = &p->spec.from;
	size_t blocks = m->channels / BLOCK, apart = m->channels * p->run;

	for (size_t b = 0; b < blocks; b++)
		for (size_t i = 0; i < count; i++) {
			size_t image;
			inv_winograd_tile t = find_tile(m, first + i, &image);

			t.top--; /* the padding */
			t.left--;
			p->in(inv_maps_plane(*m, BLOCK, image, b, from), t,
			      v + (b * p->run + i) * BLOCK, apart);
		}
}

static void transform_out(const inv_winograd *p, size_t first, size_t count,
                          const float *products, float *to)
{
	const inv_maps m = inv_conv_result(&p->spec);
	size_t blocks = m.channels / BLOCK, apart = m.channels * p->run;

	for (size_t b = 0; b < blocks; b++)
		for (size_t i = 0; i < count; i++) {
			size_t image;
			inv_winograd_tile t = find_tile(&m, first + i, &image);
			size_t plane =
				(size_t)(inv_maps_plane(m, BLOCK, image, b, to) - (const float *)to);

			p->out(products + (b * p->run + i) * BLOCK, apart, p->bias + b * BLOCK,
			       p->spec.add, p->spec.relu, t, to + plane);
		}
}

invar_status inv_winograd_run(const inv_winograd *p, const float *from, float *to,
                              void *scratch, unsigned thread)
{
	float *v = scratch, *m = v + space_of(p, p->spec.from.channels);
	float *rest = m + space_of(p, p->spec.outputs);

	for (size_t first = 0; first < p->tiles; first += p->run) {
		size_t left = p->tiles - first, count = left < p->run ? left : p->run;
		invar_status st = INVAR_OK;

		transform_in(p, first, count, from, v);
		for (size_t i = 0; i < PRODUCTS && st == INVAR_OK; i++)
			st = inv_onednn_conv_run(p->products, i, v + i * p->spec.from.channels * p->run,
			                         m + i * p->spec.outputs * p->run, rest, thread);
		if (st != INVAR_OK)
			return st;
		transform_out(p, first, count, m, to);
	}
	return INVAR_OK;
}
