/* SPDX-License-Identifier: Apache-2.0 */
/* encode_pass.c - see encode_pass.h. */
#include "encode/encode_pass.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/test_stop.h"

/* Flushing takes at most a fortieth of the time; doing it more often is unnecessary. */
#define FLUSH_SHARE 40
#define FLUSH_SECONDS 0.5

typedef struct filling {
	inv_pass *p;
	pthread_mutex_t lock;
	uint32_t *left; /* [blocks] rows of all arrays that are not written yet */
	bool *marked;   /* [blocks] in the map for all arrays */
	double flushed, took;
	uint64_t saved;           /* blocks in the map that were encoded in this pass */
	uint64_t before, missing; /* images done before, and missing for all ranks */
} filling;

uint64_t inv_pass_blocks(uint64_t rows)
{
	return (rows + INV_BLOCK_ROWS - 1) / INV_BLOCK_ROWS;
}

inv_rows_shape inv_pass_shape(const inv_pass *p, uint64_t rows)
{
	return (inv_rows_shape){p->of->dtype, rows, p->of->width, p->views ? INV_ROTATED : 0};
}

inv_rows_shape inv_pass_shape_beside(const inv_encoding *of, int32_t copy, uint64_t rows)
{
	return copy == INVAR_CLEAN ? (inv_rows_shape){INV_U8, rows, INV_FINGERPRINT, 0}
	                           : (inv_rows_shape){INV_F32, rows, of->columns, 0};
}

static size_t lost_rows(const inv_pass *p)
{
	return p->lost ? p->lost->count : 0;
}

/* Of `rows` rows, those of a block; the map may have more blocks than there are rows. */
static uint64_t rows_of_block(uint64_t rows, uint64_t block)
{
	uint64_t first = block * INV_BLOCK_ROWS, left = rows > first ? rows - first : 0;

	return left < INV_BLOCK_ROWS ? left : INV_BLOCK_ROWS;
}

static bool is_missing(const inv_pass *p, size_t array, uint64_t block)
{
	return !inv_block_map_has(p->map, (size_t)(p->array[array].copy + 1), block);
}

/* ---- Called by the pipeline ---------------------------------------------------------- */

/* The map changes meanwhile, but never its entry for a block that is not written yet. */
static bool wants(void *user, size_t array, uint64_t row)
{
	filling *f = user;
	bool missing;

	pthread_mutex_lock(&f->lock);
	missing = is_missing(f->p, array, row / INV_BLOCK_ROWS);
	pthread_mutex_unlock(&f->lock);
	return missing;
}

/* Checks the images against the known fingerprints, or records them. */
static invar_status see_images(void *user, uint64_t row, size_t rows,
                               const inv_fingerprint *print)
{
	const inv_pass *p = ((filling *)user)->p;

	for (size_t i = 0; i < rows && p->known; i++)
		INV_TRY(inv_fingerprints_compare(p->known, row + i, p->of->dataset, p->images,
		                                 row + i, &print[i]));
	return p->array[0].copy == INVAR_CLEAN && p->array[0].beside
	           ? inv_rows_put_bytes(p->array[0].beside, row, print->byte, rows)
	           : INVAR_OK;
}

static invar_status lose(void *user, uint64_t row)
{
	filling *f = user;
	inv_lost *l = f->p->lost;
	uint64_t *longer = l->row;

	if (l->count == l->capacity)
		INV_TRY(inv_new_array(&longer, 2 * l->capacity + 16));
	pthread_mutex_lock(&f->lock);
	if (longer != l->row) {
		if (l->count)
			memcpy(longer, l->row, l->count * sizeof *longer);
		inv_free(l->row);
		l->row = longer;
		l->capacity = 2 * l->capacity + 16;
	}
	l->row[l->count++] = row;
	pthread_mutex_unlock(&f->lock);
	return INVAR_OK;
}

static invar_status put_rows(void *user, size_t array, uint64_t row, size_t rows,
                             const float *out, const float *params)
{
	filling *f = user;
	const inv_pass *p = f->p;
	const inv_pass_array *a = &p->array[array];
	invar_status st = inv_rows_put(a->rows, row, out, rows);

	/* The message names the element; if images are files, the file is more useful. */
	if (st == INVAR_E_NUMERIC && p->of->dataset->kind->file) {
		uint64_t width = p->of->width * (p->views ? INV_ROTATED : 1), i = 0;
		char text[INV_ROW_TEXT];

		while (i + 1 < rows * width && isfinite(out[i]))
			i++;
		row += i / width;
		pthread_mutex_lock(&f->lock);
		for (i = 0; i < lost_rows(p) && p->lost->row[i] <= row; i++)
			row++;
		pthread_mutex_unlock(&f->lock);
		return inv_context(st, "row %s",
		                   inv_image_text(p->of->dataset, p->images, row, text));
	}
	INV_TRY(st);
	if (a->beside && a->copy != INVAR_CLEAN)
		INV_TRY(inv_rows_put(a->beside, row, params, rows));
	pthread_mutex_lock(&f->lock);
	f->left[row / INV_BLOCK_ROWS] -= (uint32_t)rows;
	f->p->done += rows;
	f->p->encoded += rows;
	pthread_mutex_unlock(&f->lock);
	return INVAR_OK;
}

/* A copy is saved, as the list grows meanwhile. */
static invar_status save_lost(filling *f)
{
	inv_lost *l = f->p->lost, now;
	invar_status st = INVAR_OK;

	if (!l)
		return INVAR_OK;
	pthread_mutex_lock(&f->lock);
	now = *l;
	now.row = NULL;
	if (now.count > l->kept)
		st = inv_new_array(&now.row, now.count);
	if (now.row)
		memcpy(now.row, l->row, now.count * sizeof *now.row);
	pthread_mutex_unlock(&f->lock);
	if (!now.row)
		return st;
	st = l->keep(l->user, &now);
	inv_free(now.row);
	INV_TRY(st);
	l->kept = now.count;
	return INVAR_OK;
}

/* The rows first, then the map; rows made with other weights are never marked. */
static invar_status flush(filling *f)
{
	const inv_pass *p = f->p;
	uint64_t blocks = inv_block_map_blocks(p->map);
	double began = inv_wall_seconds();
	bool *complete, any = false;
	invar_status st;

	INV_TRY(inv_new_zeros(&complete, blocks));
	pthread_mutex_lock(&f->lock);
	for (uint64_t b = 0; b < blocks; b++) {
		complete[b] = !f->left[b] && !f->marked[b];
		any = any || complete[b];
	}
	pthread_mutex_unlock(&f->lock);
	st = INVAR_OK;
	if (!any)
		goto end;
	for (size_t i = 0; i < p->arrays; i++) {
		INV_TRY_OR(end, inv_rows_sync(p->array[i].rows));
		if (p->array[i].beside)
			INV_TRY_OR(end, inv_rows_sync(p->array[i].beside));
	}
	INV_TRY_OR(end, inv_encoding_check_weights(p->of));
	INV_TRY_OR(end, save_lost(f));

	pthread_mutex_lock(&f->lock);
	for (uint64_t b = 0; b < blocks; b++) {
		for (size_t i = 0; complete[b] && i < p->arrays; i++)
			inv_block_map_mark(p->map, (size_t)(p->array[i].copy + 1), b);
		f->marked[b] = f->marked[b] || complete[b];
	}
	pthread_mutex_unlock(&f->lock);
	/* Of a map that others write to as well, the bytes of these blocks alone. */
	for (uint64_t b = 0; p->ranks && b < blocks; b++)
		for (size_t i = 0; complete[b] && i < p->arrays; i++)
			INV_TRY_OR(end,
			           inv_block_map_save_one(p->map, (size_t)(p->array[i].copy + 1), b));
	st = p->ranks ? inv_block_map_sync(p->map) : inv_block_map_save(p->map);
	inv_test_stop("encode:flush %s", p->stage);
	for (uint64_t b = 0; b < blocks; b++)
		if (complete[b])
			inv_test_stop("encode:block %" PRIu64, ++f->saved);
end:
	inv_free(complete);
	f->flushed = inv_wall_seconds();
	f->took = f->flushed - began;
	return st;
}

static invar_status tick(void *user)
{
	filling *f = user;
	double since = inv_wall_seconds() - f->flushed;
	uint64_t done;

	pthread_mutex_lock(&f->lock);
	done = f->p->done;
	pthread_mutex_unlock(&f->lock);
	if ((since > FLUSH_SECONDS && since > FLUSH_SHARE * f->took) || inv_test_stop_is_set())
		INV_TRY(flush(f));
	if (f->p->ranks) /* the others are taken to be as far as this one */
		done = f->before + (done - f->before) * f->p->ranks;
	return inv_progress(f->p->of->ctx, f->p->stage, done, f->p->total);
}

/* ---- Blocks that are missing ------------------------------------------------------ */
/*
 * Runs over each range of blocks in which something is missing. Images can be lost in the
 * last one only, as they would move the rows of later blocks.
 */
static invar_status walk_stretches(filling *f)
{
	inv_pass *p = f->p;
	uint64_t blocks = inv_block_map_blocks(p->map), rows = p->images->count;
	inv_pipeline_plan plan = {.images = p->images,
	                          .arrays = p->arrays,
	                          .views = p->views,
	                          .user = f,
	                          .lose = p->lost ? lose : NULL,
	                          .wants = wants,
	                          .see = see_images,
	                          .put = put_rows,
	                          .tick = tick};

	for (size_t i = 0; i < p->arrays; i++)
		plan.copy[i] = p->array[i].copy;
	for (uint64_t from = 0, to; from < blocks; from = to) {
		for (to = from; to < blocks && f->marked[to] == f->marked[from];)
			to++;
		if (f->marked[from])
			continue;
		plan.first = from * INV_BLOCK_ROWS;
		plan.count =
			(to * INV_BLOCK_ROWS >= rows ? rows : to * INV_BLOCK_ROWS) - plan.first;
		plan.passes_over = p->lost && plan.first + plan.count == rows;
		INV_TRY(inv_pipeline_run(p->walk, &plan));
		/* Rows that lost images would have had are not missing. */
		for (uint64_t b = from; plan.passes_over && lost_rows(p) && b < blocks; b++) {
			uint64_t left = rows_of_block(rows - lost_rows(p), b);
			uint64_t gone = rows_of_block(rows, b) - left;

			for (size_t i = 0; i < p->arrays; i++)
				f->left[b] -= is_missing(p, i, b) ? (uint32_t)gone : 0;
			f->marked[b] = f->marked[b] || !left;
		}
	}
	return INVAR_OK;
}

invar_status inv_pass_run(inv_pass *p)
{
	uint64_t blocks = inv_block_map_blocks(p->map), unmarked = 0, at = 0;
	filling f = {.p = p, .flushed = inv_wall_seconds()};
	char text[1024];
	invar_status st;

	INV_TRY_OR(end, inv_new_zeros(&f.left, blocks));
	INV_TRY_OR(end, inv_new_zeros(&f.marked, blocks));
	pthread_mutex_init(&f.lock, NULL);
	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t rows = rows_of_block(p->images->count, b);

		for (size_t i = 0; i < p->arrays; i++)
			if (is_missing(p, i, b))
				f.left[b] += (uint32_t)rows;
			else
				p->done += rows;
		f.marked[b] = !f.left[b];
		f.missing += f.left[b];
		unmarked += !f.marked[b];
	}
	f.before = p->done;
	/*
	 * The missing blocks in `ranks` ranges of equal length, one for each rank: neighbouring
	 * images are read together. The others' blocks count as marked here.
	 */
	for (uint64_t b = 0; p->ranks && b < blocks; b++) {
		if (f.marked[b])
			continue;
		f.marked[b] =
			at < unmarked * p->rank / p->ranks || at >= unmarked * (p->rank + 1) / p->ranks;
		at++;
	}
	inv_test_stop("encode:pass %s", p->stage);
	/* Complete blocks are saved whatever happened; the first message is kept. */
	if ((st = walk_stretches(&f)) == INVAR_OK) {
		st = flush(&f);
	} else {
		inv_last_error_spelled(INV_MARKED, text, sizeof text);
		flush(&f);
		inv_fail(st, "%s", text);
	}
	if (p->ranks) {
		p->encoded += f.missing - (p->done - f.before);
		p->done = f.before + f.missing;
	}
	pthread_mutex_destroy(&f.lock);
end:
	inv_free(f.left);
	inv_free(f.marked);
	return st;
}
