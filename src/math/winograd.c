/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c - see winograd.h: the weights, and tiles in runs that stay in the cache.
 *
 * All threads at once compute a run each if there are enough tiles. Otherwise they divide
 * the work on each run: its blocks of channels, then its 36 products, then its blocks of
 * outputs; so that the weights, which are larger than a few tiles, are read once.
 */
#include "math/winograd.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/onednn_conv.h"

enum {
	BLOCK = INV_WINOGRAD_BLOCK,
	TILE = INV_WINOGRAD_TILE,
	WINDOW = INV_WINOGRAD_WINDOW,
	PRODUCTS = INV_WINOGRAD_PRODUCTS,
	RUN = 64,               /* tiles of a run at most */
	SHORT_RUN = 24,         /* and at least, if each thread has its own runs */
	FEW_TILES = 16,         /* too few for the weights to be worth reading */
	FEW_CHANNELS = 32,      /* too few for the transforms to pay off */
	MAX_WEIGHTS = 256 * 320 /* beyond, their 36 forms do not fit the cache */
};

struct inv_winograd {
	const invar_context *ctx;
	inv_conv_spec spec;
	size_t tiles, run; /* of all images; of a run */
	size_t runs;
	bool divided; /* all threads work on one run */
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
	size_t tiles = tiles_of(&s->from), images = s->group ? s->group : s->from.images;

	if (!(ctx->cpu & INV_CPU_AVX2) || inv_maps_block(ctx) != BLOCK || s->plain)
		return false;
	if (s->window.kernel != 3 || s->window.stride != 1 || s->window.padding != 1)
		return false;
	return s->from.channels % BLOCK == 0 && s->outputs % BLOCK == 0 &&
	       s->from.channels >= FEW_CHANNELS && s->outputs >= FEW_CHANNELS &&
	       s->from.channels * s->outputs <= MAX_WEIGHTS && tiles * images >= FEW_TILES &&
	       2 * PRODUCTS * tiles <= 9 * s->from.height * s->from.width;
}

/* ---- Making --------------------------------------------------------------------- */

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

/* The 36 forms of the weights, [36, outputs, channels]. Gives. */
static invar_status transform_weights(const inv_conv_spec *s, const float *weights,
                                      float **out)
{
	const double a = INV_WINOGRAD_A, b = INV_WINOGRAD_B, a2 = a * a, b2 = b * b;
	const double x[WINDOW - 1] = {0, a, -a, b, -b};
	/* The product of x minus each other point. */
	const double rest[WINDOW - 1] = {a2 * b2, 2 * a2 * (a2 - b2), 2 * a2 * (a2 - b2),
	                                 2 * b2 * (b2 - a2), 2 * b2 * (b2 - a2)};
	size_t filters = s->from.channels * s->outputs;
	double g[WINDOW][3] = {[WINDOW - 1] = {0, 0, 1}}; /* rows 1, x, x^2 over the product */

	INV_TRY(inv_new_array(out, PRODUCTS * filters));
	for (size_t i = 0; i + 1 < WINDOW; i++) {
		g[i][0] = 1 / rest[i];
		g[i][1] = x[i] / rest[i];
		g[i][2] = x[i] * x[i] / rest[i];
	}
	for (size_t i = 0; i < filters; i++)
		transform_filter(g, weights + i * 9, *out + i, filters);
	return INVAR_OK;
}

static invar_status make_products(inv_winograd *p, const float *weights,
                                  const inv_winograd *like)
{
	const inv_conv_spec *s = &p->spec;
	const inv_conv_spec one = {
		.from = {.images = 1, .channels = s->from.channels, .height = 1, .width = p->run},
		.outputs = s->outputs,
		.window = {.kernel = 1, .stride = 1}};
	const inv_onednn_conv *same = like ? like->products : NULL;
	float *zeros, *u = NULL;
	invar_status st;

	INV_TRY(inv_new_zeros(&zeros, PRODUCTS * s->outputs));
	if (same)
		INV_TRY_OR(done, inv_onednn_conv_new(&one, PRODUCTS, NULL, zeros, p->ctx->threads,
		                                     same, &p->products));
	if (!p->products) {
		INV_TRY_OR(done, transform_weights(s, weights, &u));
		INV_TRY_OR(done, inv_onednn_conv_new(&one, PRODUCTS, u, zeros, p->ctx->threads,
		                                     same, &p->products));
	}
	st = INVAR_OK;
done:
	inv_free(u);
	inv_free(zeros);
	return st;
}

invar_status inv_winograd_new(const invar_context *ctx, const inv_conv_spec *s,
                              const float *weights, const float *bias,
                              const inv_winograd *like, inv_winograd **out)
{
	size_t threads = s->split ? ctx->threads : 1;
	inv_winograd *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	INV_TRY_OR(fail, inv_new_array(&p->bias, s->outputs));
	memcpy(p->bias, bias, s->outputs * sizeof *bias);
	p->ctx = ctx;
	p->spec = *s;
#if defined(__x86_64__)
	p->in = inv_winograd_in_avx2;
	p->out = inv_winograd_out_avx2;
#endif
	p->tiles = s->from.images * tiles_of(&s->from);
	p->runs = inv_blocks(p->tiles, RUN);
	if (p->tiles / threads >= SHORT_RUN)
		p->runs = inv_blocks(p->runs, threads) * threads;
	p->divided = p->runs < threads;
	p->run = inv_blocks(p->tiles, p->runs);
	p->runs = inv_blocks(p->tiles, p->run);
	INV_TRY_OR(fail, make_products(p, weights, like));
	*out = p;
	return INVAR_OK;
fail:
	inv_winograd_free(p);
	return st;
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

/* Bytes that oneDNN needs, and that a thread needs for a run of its own. */
static size_t rest_bytes(const inv_winograd *p)
{
	return (inv_onednn_conv_scratch(p->products) + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
}

static size_t lane_bytes(const inv_winograd *p)
{
	size_t floats = space_of(p, p->spec.from.channels) + space_of(p, p->spec.outputs);

	return (floats * sizeof(float) + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN + rest_bytes(p);
}

size_t inv_winograd_scratch(const inv_winograd *p)
{
	return lane_bytes(p) * (p->spec.split ? p->ctx->threads : 1);
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

/* A run of tiles under way. */
typedef struct tile_run {
	const inv_winograd *p;
	const float *from;
	float *to;
	char *scratch;       /* of all threads that have runs of their own */
	size_t first, count; /* tiles */
	float *v, *m;        /* 36 numbers per tile and channel, before and after products */
	char *rest;          /* what oneDNN needs */
} tile_run;

/* A block of channels, on its way in. */
static void transform_in(void *user, size_t b, unsigned thread)
{
	const tile_run *r = user;
	const inv_winograd *p = r->p;
	const inv_maps *m = &p->spec.from;

	(void)thread;
	for (size_t i = 0; i < r->count; i++) {
		size_t image;
		inv_winograd_tile t = find_tile(m, r->first + i, &image);

		t.top--; /* the padding */
		t.left--;
		p->in(inv_maps_plane(*m, BLOCK, image, b, r->from), t,
		      r->v + (b * p->run + i) * BLOCK, m->channels * p->run);
	}
}

/* A block of outputs. */
static void transform_out(void *user, size_t b, unsigned thread)
{
	const tile_run *r = user;
	const inv_winograd *p = r->p;
	const inv_maps m = inv_conv_result(&p->spec);

	(void)thread;
	for (size_t i = 0; i < r->count; i++) {
		size_t image;
		inv_winograd_tile t = find_tile(&m, r->first + i, &image);
		size_t plane = (size_t)(inv_maps_plane(m, BLOCK, image, b, r->to) - r->to);

		p->out(r->m + (b * p->run + i) * BLOCK, m.channels * p->run, p->bias + b * BLOCK,
		       p->spec.add, p->spec.relu, t, r->to + plane);
	}
}

static invar_status multiply_product(const tile_run *r, size_t i, char *rest,
                                     unsigned thread)
{
	const inv_winograd *p = r->p;

	return inv_onednn_conv_run(p->products, i, r->v + i * p->spec.from.channels * p->run,
	                           r->m + i * p->spec.outputs * p->run, rest, thread);
}

static void place_run(tile_run *r, size_t run, char *scratch)
{
	const inv_winograd *p = r->p;
	size_t left = p->tiles - run * p->run;

	r->first = run * p->run;
	r->count = left < p->run ? left : p->run;
	r->v = (float *)(void *)scratch;
	r->m = r->v + space_of(p, p->spec.from.channels);
	r->rest = scratch + lane_bytes(p) - rest_bytes(p);
}

/* A whole run on one thread. */
static invar_status run_whole(const tile_run *all, size_t run, char *scratch,
                              unsigned thread)
{
	const inv_conv_spec *s = &all->p->spec;
	tile_run r = *all;

	place_run(&r, run, scratch);
	for (size_t b = 0; b < s->from.channels / BLOCK; b++)
		transform_in(&r, b, thread);
	for (size_t i = 0; i < PRODUCTS; i++)
		INV_TRY(multiply_product(&r, i, r.rest, thread));
	for (size_t b = 0; b < s->outputs / BLOCK; b++)
		transform_out(&r, b, thread);
	return INVAR_OK;
}

static invar_status run_own_tiles(void *user, size_t run, unsigned thread)
{
	const tile_run *r = user;

	return run_whole(r, run, r->scratch + thread * lane_bytes(r->p), thread);
}

/* Of a run that all threads divide. */
static invar_status divide_products(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;

	return multiply_product(
		r, i, r->scratch + (thread + 1) * lane_bytes(r->p) - rest_bytes(r->p), thread);
}

invar_status inv_winograd_run(const inv_winograd *p, const float *from, float *to,
                              void *scratch, unsigned thread)
{
	tile_run r = {.p = p, .from = from, .to = to, .scratch = scratch};

	if (p->spec.split && !p->divided)
		return inv_parallel_try(p->ctx, p->runs, run_own_tiles, &r);
	for (size_t i = 0; i < p->runs && !p->divided; i++)
		INV_TRY(run_whole(&r, i, scratch, thread));
	for (size_t i = 0; i < p->runs && p->divided; i++) {
		place_run(&r, i, scratch);
		inv_parallel(p->ctx, p->spec.from.channels / BLOCK, transform_in, &r);
		INV_TRY(inv_parallel_try(p->ctx, PRODUCTS, divide_products, &r));
		inv_parallel(p->ctx, p->spec.outputs / BLOCK, transform_out, &r);
	}
	return INVAR_OK;
}
