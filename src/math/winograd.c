/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.c - see winograd.h: the weights, and tiles in runs that stay in the cache.
 *
 * All threads at once compute a run each if there are enough tiles. Otherwise they divide
 * the work on each run: its tiles, then its 36 products, then its tiles again; so that the
 * weights, which are larger than a few tiles, are read once.
 */
#include "math/winograd.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/panels.h"

enum {
	TILE = INV_WINOGRAD_TILE,
	WINDOW = INV_WINOGRAD_WINDOW,
	PRODUCTS = INV_WINOGRAD_PRODUCTS,
	STEP = 2 * INV_STRIP_ROWS, /* tiles that a product computes at once */
	RUN = 60,                  /* tiles of a run at most */
	SHORT_RUN = 24,            /* and at least, if each thread has its own runs */
	FEW_TILES = 16,            /* too few for the weights to be worth reading */
	FEW_CHANNELS = 32,         /* too few for the transforms to pay off */
	MAX_WEIGHTS = 256 * 320    /* beyond, their 36 forms do not fit the cache */
};

struct inv_winograd {
	const struct inv_kernels *kernels;
	inv_conv_spec spec;
	inv_arena memory;
	inv_panels weights[PRODUCTS];
	float *bias;
};

static size_t tiles_across(size_t side)
{
	return (side + TILE - 1) / TILE;
}

static size_t tiles_of(const inv_maps *m)
{
	return tiles_across(m->height) * tiles_across(m->width);
}

bool inv_winograd_pays(const struct inv_kernels *kernels, const inv_conv_spec *s)
{
	size_t tiles = tiles_of(&s->from);

	if (!kernels->tile_in || s->precision != INV_FLOAT32 || s->plain)
		return false;
	if (s->window.kernel != 3 || s->window.stride != 1 || s->window.padding != 1)
		return false;
	return s->from.channels % INV_MAP_BLOCK == 0 && s->outputs % INV_MAP_BLOCK == 0 &&
	       s->from.channels >= FEW_CHANNELS && s->outputs >= FEW_CHANNELS &&
	       s->from.channels * s->outputs <= MAX_WEIGHTS &&
	       tiles * s->from.images >= FEW_TILES &&
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

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_weights(inv_winograd *p)
{
	size_t k = p->spec.from.channels, n = p->spec.outputs;

	for (size_t i = 0; i < PRODUCTS; i++)
		p->weights[i] = inv_panels_of(
			k, n, inv_arena_take(&p->memory, inv_panels_floats(k, n), sizeof(float)));
	p->bias = inv_arena_take(&p->memory, n, sizeof(float));
}

invar_status inv_winograd_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                              const float *weights, const float *bias, inv_winograd **out)
{
	size_t filters = s->from.channels * s->outputs;
	float *forms = NULL;
	inv_winograd *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->kernels = kernels;
	p->spec = *s;
	place_weights(p);
	INV_TRY_OR(fail, inv_arena_commit(&p->memory));
	place_weights(p);
	INV_TRY_OR(fail, transform_weights(s, weights, &forms));
	for (size_t i = 0; i < PRODUCTS; i++)
		inv_panels_fill_turned(kernels, &p->weights[i], forms + i * filters,
		                       s->from.channels);
	memcpy(p->bias, bias, s->outputs * sizeof *bias);
	inv_free(forms);
	*out = p;
	return INVAR_OK;
fail:
	inv_winograd_free(p);
	return st;
}

void inv_winograd_free(inv_winograd *p)
{
	if (p)
		inv_arena_free(&p->memory);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

/* Tiles under way: all of them, and a run. */
typedef struct tile_run {
	const inv_winograd *p;
	const float *x;
	float *to;
	size_t to_channels;
	size_t tiles, run, runs; /* of all images; of a run; how many */
	bool divided;            /* all threads work on one run */
	float *scratch;          /* of all threads */
	size_t first, count;     /* of this run */
	float *v, *m; /* 36 numbers per tile and channel, before and after products */
} tile_run;

/* Rows of a run that start multiples of 4 KB apart would share lines of the cache. */
static size_t product_floats(const tile_run *r, size_t channels)
{
	return r->run * channels + INV_MAP_BLOCK;
}

static size_t tile_floats(const tile_run *r)
{
	const inv_conv_spec *s = &r->p->spec;

	return PRODUCTS * (product_floats(r, s->from.channels) + product_floats(r, s->outputs));
}

/* Floats of a thread that has a run of its own. */
static size_t lane_floats(const tile_run *r)
{
	return (tile_floats(r) + inv_panels_room() + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
}

static tile_run cut_runs(const inv_winograd *p, size_t images, size_t threads)
{
	tile_run r = {.p = p, .tiles = images * tiles_of(&p->spec.from)};

	r.runs = inv_blocks(r.tiles, RUN);
	if (r.tiles / threads >= SHORT_RUN)
		r.runs = inv_blocks(r.runs, threads) * threads;
	r.divided = r.runs < threads;
	r.run = inv_blocks(inv_blocks(r.tiles, r.runs), STEP) * STEP;
	r.runs = inv_blocks(r.tiles, r.run);
	return r;
}

uint64_t inv_winograd_scratch(const inv_winograd *p, size_t images, unsigned threads)
{
	tile_run r = {.p = p, .tiles = images * tiles_of(&p->spec.from)};

	/* Fewer images may have longer runs. */
	r.run = inv_blocks(r.tiles, STEP) * STEP < RUN ? inv_blocks(r.tiles, STEP) * STEP : RUN;
	return (uint64_t)lane_floats(&r) * threads * sizeof(float);
}

/* Tile number i of all: its image, and its position there. */
static inv_tile find_tile(const inv_maps *m, size_t step, size_t i, size_t *image)
{
	size_t across = tiles_across(m->width), each = tiles_of(m);

	*image = i / each;
	return (inv_tile){.top = (long)(i % each / across * TILE),
	                  .left = (long)(i % each % across * TILE),
	                  .height = (long)m->height,
	                  .width = (long)m->width,
	                  .step = step};
}

static void transform_in(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;
	const inv_maps *m = &r->p->spec.from;
	size_t image;
	inv_tile t = find_tile(m, m->channels, r->first + i, &image);

	(void)thread;
	t.top--; /* the padding */
	t.left--;
	r->p->kernels->tile_in(&t, r->x + image * m->height * m->width * m->channels,
	                       m->channels, r->v + i * m->channels,
	                       product_floats(r, m->channels));
}

static void transform_out(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;
	const inv_conv_spec *s = &r->p->spec;
	size_t image;
	const inv_tile t = find_tile(&s->from, r->to_channels, r->first + i, &image);

	(void)thread;
	r->p->kernels->tile_out(
		&t, r->m + i * s->outputs, product_floats(r, s->outputs), s->outputs, r->p->bias,
		s->add, s->relu, r->to + image * s->from.height * s->from.width * r->to_channels);
}

static void multiply(const tile_run *r, size_t i, float *scratch)
{
	const inv_conv_spec *s = &r->p->spec;

	inv_panels_multiply(r->p->kernels, &r->p->weights[i], r->count,
	                    r->v + i * product_floats(r, s->from.channels), s->from.channels,
	                    false, r->m + i * product_floats(r, s->outputs), s->outputs,
	                    scratch);
}

static void place_run(tile_run *r, size_t run, float *scratch)
{
	size_t left = r->tiles - run * r->run;

	r->first = run * r->run;
	r->count = left < r->run ? left : r->run;
	r->v = scratch;
	r->m = r->v + PRODUCTS * product_floats(r, r->p->spec.from.channels);
}

/* A whole run on one thread. */
static void run_tiles(void *user, size_t run, unsigned thread)
{
	tile_run r = *(const tile_run *)user;

	place_run(&r, run, r.scratch + thread * lane_floats(&r));
	for (size_t i = 0; i < r.count; i++)
		transform_in(&r, i, thread);
	for (size_t i = 0; i < PRODUCTS; i++)
		multiply(&r, i, r.v + tile_floats(&r));
	for (size_t i = 0; i < r.count; i++)
		transform_out(&r, i, thread);
}

/* Of a run that all threads divide. */
static void divide_products(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;

	multiply(r, i, r->scratch + thread * lane_floats(r) + tile_floats(r));
}

void inv_winograd_run(const inv_winograd *p, const invar_context *ctx, size_t images,
                      const float *x, size_t to_channels, float *to, void *scratch)
{
	tile_run r = cut_runs(p, images, ctx ? ctx->threads : 1);

	r.x = x;
	r.to = to;
	r.to_channels = to_channels;
	r.scratch = scratch;
	for (size_t i = 0; i < r.runs && (!ctx || r.divided); i++) {
		if (!ctx) {
			run_tiles(&r, i, 0);
			continue;
		}
		place_run(&r, i, scratch);
		inv_parallel(ctx, r.count, transform_in, &r);
		inv_parallel(ctx, PRODUCTS, divide_products, &r);
		inv_parallel(ctx, r.count, transform_out, &r);
	}
	if (ctx && !r.divided)
		inv_parallel(ctx, r.runs, run_tiles, &r);
}
