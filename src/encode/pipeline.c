/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - see pipeline.h. */
#include "encode/pipeline.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "base/memory.h"
#include "base/queue.h"
#include "base/threads.h"
#include "images/augment/inside.h"
#include "images/prefetch.h"
#include "images/prepare.h"

/* INV_GROUP images or fewer. */
typedef struct gathered {
	float *x;        /* [rows, c, h, w] */
	uint64_t *index; /* [rows], keys of the draws */
	uint64_t row;    /* of the first */
	size_t rows;
	uint64_t number;    /* in the queue of groups */
	atomic_size_t left; /* tasks that are not finished */
} gathered;

struct inv_pipeline {
	const inv_encoding *of;
	const inv_pipeline_plan *plan; /* of the pass that is running */
	inv_preparer **preparer;       /* one per prefetching thread */
	unsigned preparers;
	inv_arena arena;
	size_t group;    /* rows per call of the encoder */
	bool by_caller;  /* which only the calling thread may run */
	gathered *place; /* [places]: the slots of the queue, or the groups of a batch */
	size_t places;
	size_t lanes;   /* threads that encode */
	float *scratch; /* [lanes, group, cells], between augmenting and encoding */
	float *out;     /* [lanes, group, width] */
	float *rotated; /* [lanes, group, cells]; for views */
	float *views;   /* [lanes, group, INV_ROTATED, width] */
	float *params;  /* [lanes, group, columns] */
	size_t scratch_cells;

	inv_prefetch *ahead;
	uint64_t gathered_rows;
	uint64_t passed;      /* images that were read or skipped */
	bool ended;           /* there are no more images */
	inv_queue *groups;    /* gathered ahead of their use */
	atomic_bool stop;     /* nothing is left, or a task has failed */
	pthread_mutex_t lock; /* of what follows */
	gathered *now;        /* whose tasks are handed out; NULL: none */
	size_t next;          /* the next of them */
};

/* ---- Preparing ahead -------------------------------------------------------------- */

static invar_status prepare_image(void *user, inv_image *image,
                                  const inv_prefetch_item *item, unsigned worker)
{
	const inv_pipeline *k = user;
	const inv_encoding *of = k->of;
	char text[INV_ROW_TEXT];
	size_t h, w;

	INV_TRY(inv_prepared_size(&of->preparation, image->height, image->width,
	                          of->dataset->text, &h, &w));
	if (h != of->shape.h || w != of->shape.w)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: image %s of %s has %zu x %zu pixels but the first one has %zu x %zu; use "
			"@size N",
			of->dataset->text,
			inv_image_text(of->dataset, k->plan->images, item->row, text),
			k->plan->images->name, w, h, of->shape.w, of->shape.h);
	return inv_prepare(k->preparer[worker], image, of->dataset->text, item->data);
}

/* ---- Gathering -------------------------------------------------------------------- */

/* Reports the images skipped before number `next` of the pass. */
static invar_status report_lost(inv_pipeline *k, uint64_t next)
{
	const inv_pipeline_plan *p = k->plan;

	for (; k->passed < next; k->passed++)
		if (p->lose)
			INV_TRY(p->lose(p->user, p->first + k->passed));
	return INVAR_OK;
}

static invar_status gather_images(inv_pipeline *k, gathered *g)
{
	size_t cells = inv_extent_cells(k->of->shape);
	uint64_t left = k->plan->count - k->gathered_rows;
	const inv_prefetch_item *item = NULL;
	inv_fingerprint print[INV_GROUP];

	g->row = k->plan->first + k->gathered_rows;
	g->rows = left < INV_GROUP ? (size_t)left : INV_GROUP;
	for (size_t i = 0; i < g->rows; i++) {
		INV_TRY(inv_prefetch_next(k->ahead, &item));
		if (!item && k->plan->passes_over) {
			INV_TRY(report_lost(k, k->plan->count));
			k->ended = true;
			g->rows = i;
			break;
		}
		if (!item || (inv_prefetch_broken(k->ahead) && !k->plan->passes_over))
			return inv_fail(INVAR_E_IO, "%s: an image of %s can no longer be read",
			                k->of->dataset->text, k->plan->images->name);
		INV_TRY(report_lost(k, item->row - k->plan->first));
		k->passed++;
		memcpy(g->x + i * cells, item->data, cells * sizeof *g->x);
		g->index[i] = item->index;
		print[i] = item->print;
	}
	k->gathered_rows += g->rows;
	k->ended |= k->gathered_rows == k->plan->count;
	return g->rows && k->plan->see ? k->plan->see(k->plan->user, g->row, g->rows, print)
	                               : INVAR_OK;
}

/* ---- One group of one array ------------------------------------------------------- */

/* Draws are keyed by index, so a call takes images with consecutive indices. */
static invar_status augment(const inv_pipeline *k, int32_t copy, const float *x,
                            const uint64_t *index, size_t rows, float *params, float *out)
{
	const inv_encoding *of = k->of;
	size_t cells = inv_extent_cells(of->shape), result = inv_extent_cells(of->augmented);

	for (size_t from = 0, to; from < rows; from = to) {
		inv_draw draw = {.seed = of->opts.seed,
		                 .split = k->plan->images->name,
		                 .epoch = k->plan->epoch,
		                 .copy = (uint32_t)copy,
		                 .first = index[from]};
		uint64_t shape[4] = {0, of->shape.c, of->shape.h, of->shape.w};

		for (to = from + 1; to < rows && index[to] == index[to - 1] + 1;)
			to++;
		shape[0] = to - from;
		INV_TRY(inv_augment_draw(of->augment, &draw, shape, params + from * of->columns));
		INV_TRY(inv_augment_apply(of->augment, &draw, x + from * cells, shape,
		                          params + from * of->columns, out + from * result));
	}
	return INVAR_OK;
}

static const inv_encoder_plan *plan_of(const inv_pipeline *k, int32_t copy)
{
	return copy == INVAR_CLEAN ? k->of->plan : k->of->copy_plan;
}

/* The tensor that the encoder sees: *x, which is `scratch` if anything had to be done. */
static invar_status make_tensor(const inv_pipeline *k, int32_t copy, const gathered *g,
                                size_t from, size_t rows, float *params, float *scratch,
                                const float **x)
{
	const inv_encoding *of = k->of;
	size_t cells = inv_extent_cells(of->shape);

	*x = g->x + from * cells;
	if (copy != INVAR_CLEAN) {
		INV_TRY(augment(k, copy, *x, g->index + from, rows, params, scratch));
		*x = scratch;
	} else if (of->pixel_space || inv_extent_cells(of->clean) < cells) {
		for (size_t i = 0; i < rows; i++)
			inv_cut_centre(*x + i * cells, of->shape, of->clean,
			               scratch + i * inv_extent_cells(of->clean));
		*x = scratch;
	}
	if (of->pixel_space) {
		const inv_extent s = plan_of(k, copy)->shape;
		float *at = scratch;

		for (size_t i = 0; i < rows * s.c; i++) {
			float mean = of->pending.mean[i % s.c], std = of->pending.std[i % s.c];

			for (size_t j = 0; j < s.h * s.w; j++, at++)
				*at = (*at - mean) / std;
		}
	}
	return INVAR_OK;
}

/*
 * Encodes tensors of an array, or their rotated versions; *out is where the features are,
 * [rows, width] or [rows, INV_ROTATED, width].
 */
static invar_status encode_tensor(const inv_pipeline *k, int32_t copy, const float *x,
                                  size_t rows, unsigned thread, const float **out)
{
	const inv_encoder_plan *plan = plan_of(k, copy);
	size_t width = k->of->width, side = plan->shape.h;
	float *plain = k->out + thread * k->group * width, *rotated, *views;

	*out = plain;
	if (!k->plan->views)
		return inv_encoder_plan_run(plan, x, rows, thread, plain);
	rotated = k->rotated + thread * k->scratch_cells;
	views = k->views + thread * k->group * INV_ROTATED * width;
	*out = views;
	for (unsigned v = 0; v < INV_ROTATED; v++) {
		inv_rot90(x, rows * plan->shape.c, side, v + 1, rotated);
		INV_TRY(inv_encoder_plan_run(plan, rotated, rows, thread, plain));
		for (size_t i = 0; i < rows; i++)
			memcpy(views + (i * INV_ROTATED + v) * width, plain + i * width,
			       width * sizeof *views);
	}
	return INVAR_OK;
}

/* Tasks of a gathered group: for each array, each group of the encoder. */
static invar_status run_task(inv_pipeline *k, const gathered *g, size_t task,
                             unsigned thread)
{
	const inv_pipeline_plan *p = k->plan;
	size_t groups = inv_blocks(g->rows, k->group);
	size_t array = task / groups, from = task % groups * k->group;
	size_t left = g->rows - from, rows = left < k->group ? left : k->group;
	float *params = k->params + thread * k->group * k->of->columns;
	const float *x, *out = NULL;

	if (p->wants && !p->wants(p->user, array, g->row))
		return INVAR_OK;
	INV_TRY(make_tensor(k, p->copy[array], g, from, rows, params,
	                    k->scratch + thread * k->scratch_cells, &x));
	INV_TRY(encode_tensor(k, p->copy[array], x, rows, thread, &out));
	return p->put(p->user, array, g->row + from, rows, out, params);
}

/* ---- All threads ------------------------------------------------------------------ */

/* Groups after a failure are empty; so may the last ones be if images are left out. */
static invar_status gather_group(void *user, uint64_t number, unsigned thread)
{
	inv_pipeline *k = user;
	gathered *g = &k->place[number % k->places];
	invar_status st = INVAR_OK;

	(void)thread;
	g->number = number;
	g->rows = 0;
	if (!k->ended)
		st = gather_images(k, g);
	k->ended |= st != INVAR_OK;
	g->left = k->plan->arrays * inv_blocks(g->rows, k->group);
	return st;
}

static invar_status run_tasks(void *user, size_t block, unsigned thread)
{
	inv_pipeline *k = user;
	invar_status st = INVAR_OK;

	(void)block;
	for (;;) {
		gathered *g;
		size_t task;

		/*
		 * It may wait for the next group with the lock held, as no other thread has a task
		 * to take then, and none needs the lock to end one.
		 */
		pthread_mutex_lock(&k->lock);
		if (!k->now && !k->stop) {
			uint64_t number;

			st = inv_queue_next(k->groups, &number);
			k->now = &k->place[number % k->places];
			k->next = 0;
			if (st != INVAR_OK || number == inv_blocks(k->plan->count, INV_GROUP) ||
			    !k->now->rows)
				k->stop = true;
		}
		g = k->stop ? NULL : k->now;
		task = k->next++;
		if (g && k->next == k->plan->arrays * inv_blocks(g->rows, k->group))
			k->now = NULL;
		pthread_mutex_unlock(&k->lock);
		if (!g)
			return st;

		st = run_task(k, g, task, thread);
		if (st == INVAR_OK && thread == 0 && k->plan->tick)
			st = k->plan->tick(k->plan->user);
		if (st != INVAR_OK)
			k->stop = true;
		if (--g->left == 0)
			inv_queue_release(k->groups, g->number);
		INV_TRY(st);
	}
}

/* ---- Batches for an encoder that only the caller runs ----------------------------- */

typedef struct batch {
	inv_pipeline *k;
	int32_t copy;
} batch;

/* Group i of the batch, at its place in the batch's tensor. */
static invar_status make_part(void *user, size_t i, unsigned thread)
{
	const batch *b = user;
	inv_pipeline *k = b->k;
	const gathered *g = &k->place[i];
	size_t cells = inv_extent_cells(plan_of(k, b->copy)->shape);
	float *at = k->scratch + i * INV_GROUP * cells;
	const float *x;

	(void)thread;
	INV_TRY(make_tensor(k, b->copy, g, 0, g->rows,
	                    k->params + i * INV_GROUP * k->of->columns, at, &x));
	if (x != at)
		memcpy(at, x, g->rows * cells * sizeof *at);
	return INVAR_OK;
}

/* Batches lie within blocks, so an array wants all of a batch or nothing. */
static invar_status run_batches(inv_pipeline *k)
{
	const inv_pipeline_plan *p = k->plan;
	batch b = {.k = k};

	for (;;) {
		size_t groups = 0, rows = 0;
		uint64_t first;

		while (groups < k->places && !k->ended) {
			INV_TRY(gather_images(k, &k->place[groups]));
			rows += k->place[groups].rows;
			groups += k->place[groups].rows > 0;
		}
		if (!rows)
			return INVAR_OK;
		first = k->place[0].row;
		for (size_t a = 0; a < p->arrays; a++) {
			const float *out = NULL;

			b.copy = p->copy[a];
			if (p->wants && !p->wants(p->user, a, first))
				continue;
			INV_TRY(inv_parallel_try(k->of->ctx, groups, make_part, &b));
			INV_TRY(encode_tensor(k, b.copy, k->scratch, rows, 0, &out));
			INV_TRY(p->put(p->user, a, first, rows, out, k->params));
			if (p->tick)
				INV_TRY(p->tick(p->user));
		}
	}
}

invar_status inv_pipeline_run(inv_pipeline *k, const inv_pipeline_plan *plan)
{
	invar_status st;

	k->plan = plan;
	k->gathered_rows = k->passed = 0;
	k->now = NULL;
	k->ended = !plan->count;
	k->stop = false;
	/* Here, as the other threads may take all jobs of a short pass. */
	if (plan->tick)
		INV_TRY(plan->tick(plan->user));
	INV_TRY_OR(end,
	           inv_prefetch_new(k->of->ctx, k->of->dataset, plan->images, plan->first,
	                            plan->count, prepare_image, k,
	                            inv_extent_cells(k->of->shape) * sizeof(float), &k->ahead));
	if (k->by_caller) {
		st = run_batches(k);
	} else {
		const inv_queue_spec groups = {.end = inv_blocks(plan->count, INV_GROUP),
		                               .slots = k->places,
		                               .threads = 1,
		                               .fill = gather_group,
		                               .user = k};

		INV_TRY_OR(end, inv_queue_new(&groups, &k->groups));
		st = inv_parallel_try(k->of->ctx, k->of->ctx->threads, run_tasks, k);
		inv_queue_free(k->groups);
	}
end:
	inv_prefetch_free(k->ahead);
	k->ahead = NULL;
	return st;
}

/* ---- Making and freeing ----------------------------------------------------------- */

static void take_pieces(inv_pipeline *k)
{
	const inv_encoding *of = k->of;
	size_t lanes = k->lanes, cells = inv_extent_cells(of->shape);

	for (size_t i = 0; i < k->places; i++) {
		gathered *g = &k->place[i];

		g->x = inv_arena_take(&k->arena, INV_GROUP * cells, sizeof *g->x);
		g->index = inv_arena_take(&k->arena, INV_GROUP, sizeof *g->index);
	}
	k->scratch = inv_arena_take(&k->arena, lanes * k->scratch_cells, sizeof *k->scratch);
	k->out = inv_arena_take(&k->arena, lanes * k->group * of->width, sizeof *k->out);
	if (of->views) {
		k->rotated =
			inv_arena_take(&k->arena, lanes * k->scratch_cells, sizeof *k->rotated);
		k->views = inv_arena_take(&k->arena, lanes * k->group * INV_ROTATED * of->width,
		                          sizeof *k->views);
	}
	k->params =
		inv_arena_take(&k->arena, lanes * k->group * of->columns + 1, sizeof *k->params);
}

invar_status inv_pipeline_new(const inv_encoding *of, inv_pipeline **out)
{
	unsigned workers = inv_prefetch_workers(of->ctx);
	size_t cells = inv_extent_cells(of->shape), result = inv_extent_cells(of->augmented);
	inv_pipeline *k;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&k));
	k->of = of;
	k->group =
		of->plan->group < of->copy_plan->group ? of->plan->group : of->copy_plan->group;
	k->scratch_cells = k->group * (cells > result ? cells : result);
	k->by_caller = of->encoder->kind->by_caller;
	k->lanes = k->by_caller ? 1 : of->ctx->threads;
	k->places = k->by_caller ? inv_blocks(k->group, INV_GROUP) : of->ctx->threads + 2;
	pthread_mutex_init(&k->lock, NULL);
	INV_TRY_OR(fail, inv_new_zeros(&k->place, k->places));
	take_pieces(k);
	INV_TRY_OR(fail, inv_arena_commit(&k->arena));
	take_pieces(k);
	INV_TRY_OR(fail, inv_new_zeros(&k->preparer, workers));
	for (; k->preparers < workers; k->preparers++)
		INV_TRY_OR(fail, inv_preparer_new(of->ctx->cpu, &of->preparation,
		                                  &k->preparer[k->preparers]));
	*out = k;
	return INVAR_OK;
fail:
	inv_pipeline_free(k);
	return st;
}

void inv_pipeline_free(inv_pipeline *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < k->preparers; i++)
		inv_preparer_free(k->preparer[i]);
	inv_free(k->preparer);
	pthread_mutex_destroy(&k->lock);
	inv_arena_free(&k->arena);
	inv_free(k->place);
	inv_free(k);
}
