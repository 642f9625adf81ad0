/*
 * forecast.c - what an encoding will take: a second of it is done, and nothing written.
 */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "bank/done.h"
#include "bank/encode_options.h"
#include "bank/row_names.h"
#include "bank/walk.h"
#include "bank/write.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

enum { HEADER_BYTES = 128 }; /* of an npy file */
#define MEASURE_SECONDS 1.0

/* ---- A second of work ------------------------------------------------------------- */

typedef struct measurement {
	const inv_encoding *of;
	pthread_mutex_t lock;
	double began;
	uint64_t rows;
	bool enough;
} measurement;

static invar_status count(void *user, size_t array, uint64_t row, size_t rows,
                          const float *out, const float *params)
{
	measurement *m = user;

	(void)array;
	(void)row;
	(void)out;
	(void)params;
	pthread_mutex_lock(&m->lock);
	m->rows += rows;
	pthread_mutex_unlock(&m->lock);
	return INVAR_OK;
}

static invar_status stop_in_time(void *user)
{
	measurement *m = user;

	m->enough = inv_wall_seconds() - m->began > MEASURE_SECONDS;
	if (m->enough)
		return INVAR_E_CANCELLED;
	return inv_progress(m->of->ctx, "measure", 0, 1);
}

/* Images of the first split, with as many copies of each as it gets. */
static invar_status measure(const inv_encoding *of, double *rate)
{
	const inv_images *s = &of->dataset->splits[0];
	uint64_t copies = inv_encode_copies(&of->opts, s->name);
	measurement m = {.of = of};
	inv_walk_plan plan = {.images = s,
	                      .passes_over = of->dataset->opts.skip_broken,
	                      .count = s->count,
	                      .user = &m,
	                      .put = count,
	                      .tick = stop_in_time};
	inv_walk *walk;
	invar_status st = inv_walk_new(of, &walk);

	for (int32_t c = INVAR_CLEAN; c < (int64_t)copies && plan.arrays < INV_WALK_ARRAYS; c++)
		plan.copy[plan.arrays++] = c;
	pthread_mutex_init(&m.lock, NULL);
	m.began = inv_wall_seconds();
	if (st == INVAR_OK)
		st = inv_walk_run(walk, &plan);
	if (m.enough)
		st = INVAR_OK;
	*rate = (double)m.rows / (inv_wall_seconds() - m.began);
	pthread_mutex_destroy(&m.lock);
	inv_walk_free(walk);
	return st;
}

/* ---- What is missing -------------------------------------------------------------- */

/* Rows of finished blocks of arrays that are not finished. */
static invar_status count_begun(const inv_bank_writer *w, const char *split,
                                uint64_t images, size_t from, uint64_t copies,
                                uint64_t *rows)
{
	char *path = inv_bank_writer_path(w, split, "done.part");
	inv_done *map = NULL;
	invar_status st = INVAR_OK;

	*rows = 0;
	if (path && inv_done_is_begun(path))
		st = inv_done_open(path, images, copies + 1, &map);
	for (size_t i = from; map && i <= copies; i++)
		for (uint64_t b = 0; b < inv_done_blocks(map); b++) {
			uint64_t left = images - b * INV_BLOCK_ROWS;

			if (inv_done_has(map, i, b))
				*rows += left < INV_BLOCK_ROWS ? left : INV_BLOCK_ROWS;
		}
	inv_done_close(map, false);
	inv_free(path);
	return st;
}

/* Without those that were left out when the split was begun. */
static uint64_t rows_of(const inv_bank_writer *w, const inv_images *s)
{
	const json_t *entry = w ? inv_bank_writer_entry(w, s->name) : NULL;
	size_t left_out = json_array_size(json_object_get(entry, "left_out"));

	return left_out < s->count ? s->count - left_out : s->count;
}

static invar_status add_split(const inv_encoding *of, const inv_bank_writer *w,
                              const inv_images *s, invar_forecast *out)
{
	uint64_t copies = inv_encode_copies(&of->opts, s->name), from = 0, begun = 0, arrays;
	uint64_t row = of->width * inv_dtype_size(of->dtype), rows = rows_of(w, s);
	inv_finished there = {0};
	invar_status st = w ? inv_bank_writer_find(w, s->name, &there) : INVAR_OK;

	if (there.clean)
		from = there.copies + 1;
	if (st == INVAR_OK && w)
		st = count_begun(w, s->name, rows, from, copies, &begun);
	arrays = copies + 1 > from ? copies + 1 - from : 0;
	out->images += rows;
	out->features += arrays * rows - begun;
	out->there += begun + from * rows;
	out->bytes += arrays * (HEADER_BYTES + rows * row);
	if (!there.clean && s->labels)
		out->bytes += HEADER_BYTES + rows * sizeof(int64_t);
	if (!there.clean)
		out->bytes += HEADER_BYTES + rows * INV_FINGERPRINT;
	if (!there.clean && of->dataset->kind->file)
		out->bytes += inv_row_names_bytes(of->dataset, s);
	if (of->columns)
		out->bytes +=
			(arrays - !there.clean) * (HEADER_BYTES + rows * of->columns * sizeof(float));
	return st;
}

/* Of the nearest folder above the bank that is there. */
static uint64_t free_bytes(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs disk;
	char *slash;

	if (snprintf(folder, sizeof folder, "%s", path) >= PATH_MAX)
		return 0;
	while (!inv_exists(folder)) {
		if (!(slash = strrchr(folder, '/')))
			snprintf(folder, sizeof folder, ".");
		else
			slash[slash == folder] = '\0';
	}
	return statvfs(folder, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

static invar_status look_ahead(const inv_encoding *of, const char *bank,
                               invar_forecast *out)
{
	json_t *about = inv_encoding_json(of);
	inv_bank_writer *w = NULL;
	invar_status st = about ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "no memory to plan");

	if (st == INVAR_OK && inv_exists(bank))
		st = inv_bank_writer_open(bank, about, &w);
	for (size_t i = 0; i < of->dataset->split_count && st == INVAR_OK; i++)
		st = add_split(of, w, &of->dataset->splits[i], out);
	if (st == INVAR_OK && out->features)
		st = measure(of, &out->rate);
	if (out->rate > 0)
		out->seconds = (double)out->features / out->rate;
	out->width = of->width;
	out->free_bytes = free_bytes(bank);
	inv_bank_writer_close(w);
	json_decref(about);
	return st;
}

invar_status invar_encode_forecast(invar_encoder *e, const invar_dataset *d,
                                   const invar_encode_opts *o, const char *bank,
                                   invar_forecast *out)
{
	invar_forecast all = {.size = sizeof all};
	inv_encoding of;
	invar_status st = inv_encoding_open(e, d, o, &of);

	if (st == INVAR_OK)
		st = look_ahead(&of, bank, &all);
	inv_encoding_close(&of);
	all.size = out->size < sizeof all ? out->size : sizeof all;
	memcpy(out, &all, all.size);
	return st;
}
