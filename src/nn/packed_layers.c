/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_layers.c - see packed_layers.h.
 *
 * Many rows are cut into blocks, each of which goes through all layers on one thread. Of a
 * few rows, each layer is cut by its columns: the weights are then read by all threads, and
 * only once. What takes a few milliseconds is done by the calling thread alone: threads
 * wait for each other after every layer, and beside another busy process each wait takes as
 * long as the scheduler lets that process run, 100 times the work of one row.
 */
#include "nn/packed_layers.h"

#include <string.h>

#include "base/threads.h"
#include "math/panels.h"

/* FEW: rows per thread below which layers are cut by columns. */
enum { MAX_ROWS = 128, FEW = 32, GROUP = INV_SIDE_PANELS * INV_PANEL_COLS };

/*
 * Multiplications that the calling thread does alone: one row through 2048 x 4096 x 2048,
 * 3 ms, or ten through 384 x 4096 x 384, 1 ms; two idle cores would take half of that.
 */
static const uint64_t alone = 1 << 25;

struct inv_packed_layers {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_layers_shape s;
	const float *params;
	inv_panels weight[INV_MAX_LAYERS];
	inv_arena arena;
};

/* ---- Packing ------------------------------------------------------------------------ */

bool inv_packed_layers_usable(const invar_context *ctx)
{
	return (ctx->cpu & INV_CPU_PANELS) != 0;
}

static void take_panels(inv_packed_layers *p)
{
	for (size_t l = 0; l < p->s.count; l++) {
		size_t k = p->s.width[l], n = p->s.width[l + 1];

		p->weight[l] = inv_panels_of(
			k, n, inv_arena_take(&p->arena, inv_panels_floats(k, n), sizeof(float)));
	}
}

static uint64_t count_weights(const inv_layers_shape *s)
{
	uint64_t sum = 0;

	for (size_t l = 0; l < s->count; l++)
		sum += (uint64_t)s->width[l] * s->width[l + 1];
	return sum;
}

typedef struct fill_job {
	const inv_packed_layers *p;
	size_t layer;
} fill_job;

static void fill_layer_panels(void *user, size_t group, unsigned thread)
{
	const fill_job *j = user;
	const inv_panels *w = &j->p->weight[j->layer];
	size_t first = group * GROUP, n = w->n - first < GROUP ? w->n - first : GROUP;
	inv_panels part = inv_panels_columns(w, first, n);

	(void)thread;
	inv_panels_fill_turned(
		&j->p->kernels, &part,
		j->p->params + inv_layers_place(&j->p->s, j->layer).weight + first * w->k, w->k);
}

invar_status inv_packed_layers_new(const invar_context *ctx, const inv_layers_shape *s,
                                   const float *params, inv_packed_layers **out)
{
	inv_packed_layers *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->s = *s;
	p->params = params;
	inv_kernels_init(&p->kernels, ctx->cpu);
	take_panels(p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	take_panels(p);
	for (size_t l = 0; l < s->count; l++) {
		fill_job j = {p, l};
		size_t groups = inv_blocks(s->width[l + 1], GROUP);

		if (count_weights(s) > alone)
			inv_parallel(ctx, groups, fill_layer_panels, &j);
		else
			for (size_t i = 0; i < groups; i++)
				fill_layer_panels(&j, i, 0);
	}
	*out = p;
	return INVAR_OK;
fail:
	inv_packed_layers_free(p);
	return st;
}

void inv_packed_layers_free(inv_packed_layers *p)
{
	if (p)
		inv_arena_free(&p->arena);
	inv_free(p);
}

/* ---- Applying ----------------------------------------------------------------------- */

typedef struct apply_job {
	const inv_packed_layers *p;
	const float *x;
	float *y;
	uint64_t rows;
	bool residual;
	size_t widest, height; /* of hidden layers; rows of a block */
	float *strips;         /* [threads, inv_panels_room()] */
	float *hidden;         /* [threads or 1, 2, height, widest] */
	/* Of few rows, the layer under way: */
	size_t layer, columns; /* columns of a part */
	const float *in;
	float *out;
} apply_job;

/* Columns [first, first + n) of a layer. */
static void multiply_columns(const apply_job *j, size_t layer, size_t first, size_t n,
                             size_t rows, const float *in, float *out, unsigned thread)
{
	const inv_packed_layers *p = j->p;
	const inv_panels part = inv_panels_columns(&p->weight[layer], first, n);
	const inv_panels_rows r = {.rows = rows,
	                           .a = in,
	                           .a_stride = p->s.width[layer],
	                           .bias =
	                               p->params + inv_layers_place(&p->s, layer).bias + first,
	                           .relu = layer + 1 < p->s.count,
	                           .c = out + first,
	                           .c_stride = p->s.width[layer + 1]};

	inv_panels_multiply_rows(&p->kernels, &part, &r,
	                         j->strips + thread * inv_panels_room());
}

static float *hidden_of(const apply_job *j, unsigned thread, size_t layer)
{
	return j->hidden + (2 * (size_t)thread + layer % 2) * j->height * j->widest;
}

static void apply_packed_rows(void *user, size_t block, unsigned thread)
{
	const apply_job *j = user;
	const inv_layers_shape *s = &j->p->s;
	size_t last = s->count - 1;
	uint64_t from = block * j->height;
	size_t rows = j->rows - from < j->height ? j->rows - from : j->height;
	const float *x = j->x + from * s->width[0], *in = x;
	float *y = j->y + from * s->width[last + 1];

	for (size_t l = 0; l <= last; l++) {
		float *out = l < last ? hidden_of(j, thread, l) : y;

		multiply_columns(j, l, 0, s->width[l + 1], rows, in, out, thread);
		in = out;
	}
	if (j->residual)
		j->p->kernels.add(x, rows * s->width[0], y);
}

static void apply_columns(void *user, size_t part, unsigned thread)
{
	const apply_job *j = user;
	size_t width = j->p->s.width[j->layer + 1], first = part * j->columns;
	size_t n = width - first < j->columns ? width - first : j->columns;

	multiply_columns(j, j->layer, first, n, j->rows, j->in, j->out, thread);
}

invar_status inv_packed_layers_apply(const inv_packed_layers *p, bool residual,
                                     const float *x, uint64_t rows, float *y)
{
	bool small = rows <= MAX_ROWS && rows * count_weights(&p->s) <= alone;
	size_t threads = small ? 1 : p->ctx->threads;
	bool few = small || rows < FEW * threads;
	uint64_t even = inv_blocks(inv_blocks(rows, 2 * threads), INV_STRIP_ROWS);
	apply_job j = {.p = p, .x = x, .y = y, .rows = rows, .residual = residual, .widest = 1};
	size_t strips = threads * inv_panels_room();

	if (!rows)
		return INVAR_OK;
	j.height = few                                ? rows
	           : even * INV_STRIP_ROWS < MAX_ROWS ? even * INV_STRIP_ROWS
	                                              : MAX_ROWS;
	for (size_t l = 1; l < p->s.count; l++)
		j.widest = p->s.width[l] > j.widest ? p->s.width[l] : j.widest;
	INV_TRY(
		inv_new_array(&j.strips, strips + (few ? 1 : threads) * 2 * j.height * j.widest));
	j.hidden = j.strips + strips;
	if (small)
		apply_packed_rows(&j, 0, 0);
	else if (!few)
		inv_parallel(p->ctx, inv_blocks(rows, j.height), apply_packed_rows, &j);
	j.in = x;
	for (; few && !small && j.layer < p->s.count; j.layer++, j.in = j.out) {
		size_t width = p->s.width[j.layer + 1], groups = width / (2 * threads) / GROUP;

		/* At least two parts per thread, if each is wide enough for a fast product. */
		j.columns = groups ? groups * GROUP : GROUP;
		j.out = j.layer + 1 < p->s.count ? hidden_of(&j, 0, j.layer) : y;
		inv_parallel(p->ctx, inv_blocks(width, j.columns), apply_columns, &j);
	}
	if (few && !small && residual)
		p->kernels.add(x, rows * p->s.width[0], y);
	inv_free(j.strips);
	return INVAR_OK;
}
