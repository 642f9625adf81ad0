/* encode_pass.c - see encode_pass.h. */
#include "bank/encode_pass.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "images/ahead.h"

enum { BATCH_BYTES = 64 << 20, MOST_GROUPS = 64 };

typedef struct walk {
	inv_pass *p;
	const inv_encoding *of;
	inv_preparer **preparer; /* one for each thread that reads ahead */
	unsigned preparers;
	inv_ahead *ahead;
	size_t room, rows; /* rows of a batch; of this one */
	uint64_t first;    /* row of the batch */
	float *x;          /* [room, c, h, w] */
	uint64_t *index;   /* [room], keys of the draws */
	float *out;        /* [arrays, room, width] */
	float *params;     /* [arrays, room, columns] */
	size_t group;      /* rows of a block of work */
	float *scratch;    /* [threads, group, cells], between augmenting and encoding */
	size_t scratch_cells;
} walk;

/* ---- Preparing ahead ------------------------------------------------------------------
 */

static invar_status prepare(void *user, inv_image *image, const inv_ahead_item *item,
                            unsigned worker)
{
	const walk *k = user;
	const inv_encoding *of = k->of;
	size_t h, w;
	invar_status st = inv_prepared_size(&of->preparation, image->height, image->width,
	                                    of->dataset->text, &h, &w);

	if (st == INVAR_OK && (h != of->shape.h || w != of->shape.w))
		st =
			inv_fail(INVAR_E_MISMATCH,
		             "%s: image %" PRIu64
		             " of %s has %zu x %zu pixels but the first one %zu x %zu; give --size "
		             "N",
		             of->dataset->text, item->row, k->p->images->name, w, h, of->shape.w,
		             of->shape.h);
	return st == INVAR_OK
	           ? inv_prepare(k->preparer[worker], image, of->dataset->text, item->data)
	           : st;
}

/* ---- One group of one array ------------------------------------------------------------
 */

static void normalise(const inv_normalisation *n, inv_extent shape, size_t images, float *x)
{
	size_t plane = shape.h * shape.w;

	for (size_t i = 0; i < images * shape.c; i++) {
		float mean = n->mean[i % shape.c], std = n->std[i % shape.c];

		for (size_t j = 0; j < plane; j++)
			x[i * plane + j] = (x[i * plane + j] - mean) / std;
	}
}

/* Draws are keyed by index, so a call takes images whose indices follow each other. */
static invar_status augment(const walk *k, const inv_pass_array *a, size_t row, size_t rows,
                            float *params, float *out)
{
	const inv_encoding *of = k->of;
	size_t cells = inv_extent_cells(of->shape), result = inv_extent_cells(of->augmented);
	invar_status st = INVAR_OK;

	for (size_t from = 0, to; from < rows && st == INVAR_OK; from = to) {
		const uint64_t *index = k->index + row;
		invar_draw draw = {.size = sizeof draw,
		                   .seed = of->seed,
		                   .split = k->p->images->name,
		                   .copy = (uint32_t)a->copy,
		                   .first = index[from]};
		uint64_t shape[4] = {0, of->shape.c, of->shape.h, of->shape.w};

		for (to = from + 1; to < rows && index[to] == index[to - 1] + 1;)
			to++;
		shape[0] = to - from;
		st = invar_augment_draw(of->augment, &draw, shape, params + from * of->columns);
		if (st == INVAR_OK)
			st = invar_augment_apply(of->augment, &draw, k->x + (row + from) * cells, shape,
			                         params + from * of->columns, out + from * result);
	}
	return st;
}

static invar_status encode_rows(const walk *k, const inv_pass_array *a, size_t row,
                                size_t rows, float *params, unsigned thread, float *out)
{
	const inv_encoding *of = k->of;
	const float *x = k->x + row * inv_extent_cells(of->shape);
	float *scratch = k->scratch + thread * k->scratch_cells;
	const inv_encoder_plan *plan = of->plan;
	invar_status st = INVAR_OK;

	if (a->copy != INVAR_CLEAN) {
		st = augment(k, a, row, rows, params, scratch);
		plan = of->copy_plan;
		x = scratch;
	} else if (of->pixel_space) {
		memcpy(scratch, x, rows * inv_extent_cells(of->shape) * sizeof *x);
		x = scratch;
	}
	if (st == INVAR_OK && of->pixel_space)
		normalise(&of->pending, plan->shape, rows, scratch);
	return st == INVAR_OK ? inv_encoder_plan_run(plan, x, rows, thread, out) : st;
}

static invar_status encode_group(void *user, size_t block, unsigned thread)
{
	walk *k = user;
	size_t groups = inv_blocks(k->rows, k->group);
	size_t array = block / groups, row = block % groups * k->group;
	size_t left = k->rows - row, rows = left < k->group ? left : k->group;
	size_t at = array * k->room + row;

	return encode_rows(k, &k->p->array[array], row, rows, k->params + at * k->of->columns,
	                   thread, k->out + at * k->of->width);
}

/* ---- Batches ----------------------------------------------------------------------------
 */

/*
 * Clean rows that are there must come out again, or the copies would belong to other
 * images. The first group tells; float16 and other processors move the last digits.
 */
static invar_status check_known(const walk *k)
{
	const inv_pass_array clean = {.copy = INVAR_CLEAN};
	size_t rows = k->rows < k->group ? k->rows : k->group, width = k->of->width;
	float *there = inv_alloc(2 * rows * width * sizeof *there);
	float *now = there ? there + rows * width : NULL;
	invar_status st = there ? inv_npy_read(k->p->known, 0, rows * width, there)
	                        : inv_fail(INVAR_E_NOMEM, "no memory to compare rows");

	if (st == INVAR_OK)
		st = encode_rows(k, &clean, 0, rows, NULL, 0, now);
	for (size_t i = 0; i < rows && st == INVAR_OK; i++) {
		float most = 0, gap = 0;

		for (size_t j = i * width; j < (i + 1) * width; j++) {
			most = fmaxf(most, fabsf(there[j]));
			gap = fmaxf(gap, fabsf(there[j] - now[j]));
		}
		if (gap > 2e-3f * most)
			st = inv_fail(INVAR_E_MISMATCH,
			              "%s: its row %zu is another than that of the images now; copies "
			              "can only be added with the same images",
			              k->p->known->path, i);
	}
	inv_free(there);
	return st;
}

static invar_status gather(walk *k)
{
	size_t cells = inv_extent_cells(k->of->shape);
	const inv_ahead_item *item = NULL;
	invar_status st = INVAR_OK;

	k->first += k->rows;
	k->rows = 0;
	while (k->rows < k->room && (st = inv_ahead_next(k->ahead, &item)) == INVAR_OK &&
	       item) {
		memcpy(k->x + k->rows * cells, item->data, cells * sizeof *k->x);
		k->index[k->rows++] = item->index;
	}
	if (st == INVAR_OK && inv_ahead_broken(k->ahead))
		st = inv_fail(INVAR_E_IO,
		              "%s: %" PRIu64
		              " images that could be read a moment ago cannot be read now",
		              k->of->dataset->text, inv_ahead_broken(k->ahead));
	return st;
}

static invar_status put_batch(walk *k)
{
	const inv_encoding *of = k->of;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < k->p->arrays && st == INVAR_OK; i++) {
		const inv_pass_array *a = &k->p->array[i];

		st = inv_rows_put(a->rows, k->out + i * k->room * of->width, k->rows);
		if (st == INVAR_OK && a->params)
			st = inv_rows_put(a->params, k->params + i * k->room * of->columns, k->rows);
	}
	k->p->done += k->rows * k->p->arrays;
	return st;
}

static invar_status walk_on(walk *k)
{
	invar_status st;

	for (;;) {
		st = inv_progress(k->of->ctx, k->p->stage, k->p->done, k->p->total);
		if (st != INVAR_OK || (st = gather(k)) != INVAR_OK || !k->rows)
			return st;
		if (k->p->known && !k->first && (st = check_known(k)) != INVAR_OK)
			return st;
		st = inv_parallel_try(k->of->ctx, k->p->arrays * inv_blocks(k->rows, k->group),
		                      encode_group, k);
		if (st != INVAR_OK || (st = put_batch(k)) != INVAR_OK)
			return st;
	}
}

/* ---- Memory -----------------------------------------------------------------------------
 */

/* Whole groups within BATCH_BYTES, one at least. */
static size_t choose_room(const inv_pass *p)
{
	const inv_encoding *of = p->of;
	size_t bytes = sizeof(float) * (inv_extent_cells(of->shape) +
	                                p->arrays * ((size_t)of->width + of->columns));
	size_t groups = BATCH_BYTES / INV_GROUP / bytes;

	groups = groups < 1 ? 1 : groups > MOST_GROUPS ? MOST_GROUPS : groups;
	return groups * INV_GROUP;
}

static void take_pieces(walk *k, inv_arena *a)
{
	const inv_encoding *of = k->of;
	size_t arrays = k->p->arrays;

	k->x = inv_arena_take(a, k->room * inv_extent_cells(of->shape), sizeof *k->x);
	k->index = inv_arena_take(a, k->room, sizeof *k->index);
	k->out = inv_arena_take(a, arrays * k->room * of->width, sizeof *k->out);
	k->params = inv_arena_take(a, arrays * k->room * of->columns + 1, sizeof *k->params);
	k->scratch = inv_arena_take(a, of->ctx->threads * k->scratch_cells, sizeof *k->scratch);
}

static invar_status make_preparers(walk *k)
{
	unsigned workers = inv_ahead_workers(k->of->ctx);
	invar_status st = INVAR_OK;

	if (!(k->preparer = inv_calloc(workers, sizeof *k->preparer)))
		return inv_fail(INVAR_E_NOMEM, "no memory to prepare images");
	for (; k->preparers < workers && st == INVAR_OK; k->preparers++)
		st = inv_preparer_new(k->of->ctx->cpu, &k->of->preparation,
		                      &k->preparer[k->preparers]);
	return st;
}

static size_t greater(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

invar_status inv_pass_run(inv_pass *p)
{
	walk k = {.p = p, .of = p->of, .room = choose_room(p)};
	size_t cells = inv_extent_cells(p->of->shape);
	inv_arena arena = {0};
	invar_status st;

	k.group = smaller(p->of->plan->group, p->of->copy_plan->group);
	k.scratch_cells = k.group * greater(cells, inv_extent_cells(p->of->augmented));
	take_pieces(&k, &arena);
	st = inv_arena_commit(&arena);
	if (st == INVAR_OK) {
		take_pieces(&k, &arena);
		st = make_preparers(&k);
	}
	if (st == INVAR_OK)
		st = inv_ahead_new(p->of->ctx, p->of->dataset, p->images, 0, p->images->count,
		                   prepare, &k, cells * sizeof(float), &k.ahead);
	if (st == INVAR_OK)
		st = walk_on(&k);
	inv_ahead_free(k.ahead);
	for (unsigned i = 0; i < k.preparers; i++)
		inv_preparer_free(k.preparer[i]);
	inv_free(k.preparer);
	inv_arena_free(&arena);
	return st;
}
