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
	SHORT_RUN = 24,            /* fewer tiles per thread: they divide runs */
	MIN_TILES = 32,            /* fewer are not worth reading the weights */
	MIN_CHANNELS = 32          /* fewer are not worth the transforms */
};

struct inv_winograd {
	const struct inv_kernels *kernels;
	inv_conv_spec spec;
	size_t number; /* bytes of a number of the maps and of the products' inputs */
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

bool inv_winograd_pays(const inv_conv_spec *s)
{
	size_t tiles = tiles_of(&s->from);

	if (s->plain)
		return false;
	if (s->window.kernel != 3 || s->window.stride != 1 || s->window.padding != 1)
		return false;
	return s->from.channels % INV_MAP_BLOCK == 0 && s->outputs % INV_MAP_BLOCK == 0 &&
	       s->from.channels >= MIN_CHANNELS && s->outputs >= MIN_CHANNELS &&
	       tiles * s->from.images >= MIN_TILES &&
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
	bool halves = p->spec.precision != INV_FLOAT32;

	for (size_t i = 0; i < PRODUCTS; i++) {
		float *at = inv_arena_take(
			&p->memory, inv_panels_floats(k, n) * p->number / sizeof(float), sizeof(float));

		p->weights[i] = halves ? inv_pair_panels_of(k, n, at) : inv_panels_of(k, n, at);
	}
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
	p->number = inv_map_number(s->precision);
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
	const char *x;
	char *to;
	size_t to_channels;
	size_t tiles, run, runs; /* of all images; of a run; how many */
	bool divided;            /* all threads work on one run */
	char *scratch;           /* of all threads */
	size_t first, count;     /* of this run */
	char *v;  /* 36 numbers per tile and channel: the products' inputs, like the maps, */
	float *m; /* and their results */
} tile_run;

/* Numbers from one product's rows to the next's. 4 KB apart, they would share lines of the
 * cache. */
static size_t inputs_apart(const tile_run *r)
{
	return r->run * r->p->spec.from.channels + INV_ALIGN / r->p->number;
}

static size_t results_apart(const tile_run *r)
{
	return r->run * r->p->spec.outputs + INV_ALIGN / sizeof(float);
}

static size_t run_bytes(const tile_run *r)
{
	return PRODUCTS * (inputs_apart(r) * r->p->number + results_apart(r) * sizeof(float));
}

/* Bytes of a thread that has a run of its own. */
static size_t lane_bytes(const tile_run *r)
{
	return inv_blocks(run_bytes(r) + inv_panels_room() * sizeof(float), INV_ALIGN) *
	       INV_ALIGN;
}

static tile_run cut_runs(const inv_winograd *p, size_t images, size_t threads)
{
	tile_run r = {.p = p, .tiles = images * tiles_of(&p->spec.from)};

	r.runs = inv_blocks(r.tiles, RUN);
	if (r.tiles / threads >= SHORT_RUN)
		r.runs = inv_blocks(r.runs, threads) * threads;
	r.run = inv_blocks(r.tiles, r.runs);
	/* For one thread whole steps; for several, the longest run determines the time. */
	if (threads == 1)
		r.run = inv_blocks(r.run, STEP) * STEP;
	r.runs = inv_blocks(r.tiles, r.run);
	r.divided = r.runs < threads;
	return r;
}

uint64_t inv_winograd_scratch(const inv_winograd *p, size_t images, unsigned threads)
{
	tile_run r = {.p = p, .tiles = images * tiles_of(&p->spec.from)};

	/* Fewer images may have longer runs. */
	r.run = inv_blocks(r.tiles, STEP) * STEP < RUN ? inv_blocks(r.tiles, STEP) * STEP : RUN;
	return (uint64_t)lane_bytes(&r) * threads;
}

/* Tile number i of the run: its image, and its position there. */
static inv_tile find_tile(const tile_run *r, size_t i, size_t *image)
{
	const inv_maps *m = &r->p->spec.from;
	size_t across = tiles_across(m->width), each = tiles_of(m);

	i += r->first;
	*image = i / each;
	return (inv_tile){.top = (long)(i % each / across * TILE),
	                  .left = (long)(i % each % across * TILE),
	                  .height = (long)m->height,
	                  .width = (long)m->width,
	                  .halves = r->p->spec.precision != INV_FLOAT32};
}

static void transform_in(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;
	const inv_maps *m = &r->p->spec.from;
	size_t image;
	inv_tile t = find_tile(r, i, &image);

	(void)thread;
	t.top--; /* the padding */
	t.left--;
	t.step = m->channels;
	r->p->kernels->tile_in(
		&t, r->x + image * m->height * m->width * m->channels * r->p->number, m->channels,
		r->v + i * m->channels * r->p->number, inputs_apart(r));
}

static void transform_out(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;
	const inv_conv_spec *s = &r->p->spec;
	size_t image;
	inv_tile t = find_tile(r, i, &image);

	(void)thread;
	t.step = r->to_channels;
	r->p->kernels->tile_out(&t, r->m + i * s->outputs, results_apart(r), s->outputs,
	                        r->p->bias, s->add, s->relu,
	                        r->to + image * s->from.height * s->from.width *
	                                    r->to_channels * r->p->number);
}

/* The inputs of one product, cells of 32 bits. */
typedef struct tile_rows {
	const struct inv_kernels *kernels;
	const float *v;
	size_t cells; /* of a row */
} tile_rows;

/* Strips of rows [first, first + rows); a missing row is a copy of the last. */
static void pack_tiles(const void *user, size_t first, size_t cell, size_t rows,
                       size_t cells, float *strips)
{
	const tile_rows *from = user;

	for (size_t i = 0; i < rows; i += INV_STRIP_ROWS) {
		const float *at[INV_STRIP_ROWS];

		for (size_t j = 0; j < INV_STRIP_ROWS; j++)
			at[j] =
				from->v + (first + (i + j < rows ? i + j : rows - 1)) * from->cells + cell;
		from->kernels->pack_strip(at, cells, strips + i * cells);
	}
}

static void multiply(const tile_run *r, size_t i, float *scratch)
{
	const inv_winograd *p = r->p;
	const tile_rows from = {
		p->kernels, (const float *)(const void *)(r->v + i * inputs_apart(r) * p->number),
		p->spec.from.channels * p->number / sizeof(float)};
	const inv_panels_rows product = {.rows = r->count,
	                                 .pack = pack_tiles,
	                                 .user = &from,
	                                 .c = r->m + i * results_apart(r),
	                                 .c_stride = p->spec.outputs};

	inv_panels_multiply_rows(p->kernels, &p->weights[i], &product, scratch);
}

static void place_run(tile_run *r, size_t run, char *scratch)
{
	size_t left = r->tiles - run * r->run;

	r->first = run * r->run;
	r->count = left < r->run ? left : r->run;
	r->v = scratch;
	r->m = (float *)(void *)(scratch + PRODUCTS * inputs_apart(r) * r->p->number);
}

/* A whole run on one thread. */
static void run_tiles(void *user, size_t run, unsigned thread)
{
	tile_run r = *(const tile_run *)user;

	place_run(&r, run, r.scratch + thread * lane_bytes(&r));
	for (size_t i = 0; i < r.count; i++)
		transform_in(&r, i, thread);
	for (size_t i = 0; i < PRODUCTS; i++)
		multiply(&r, i, (float *)(void *)(r.v + run_bytes(&r)));
	for (size_t i = 0; i < r.count; i++)
		transform_out(&r, i, thread);
}

/* Of a run that all threads divide. */
static void divide_products(void *user, size_t i, unsigned thread)
{
	const tile_run *r = user;

	multiply(r, i, (float *)(void *)(r->scratch + thread * lane_bytes(r) + run_bytes(r)));
}

void inv_winograd_run(const inv_winograd *p, const invar_context *ctx, size_t images,
                      const void *x, size_t to_channels, void *to, void *scratch)
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
