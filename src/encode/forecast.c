/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forecast.c - what an encoding needs: rows and disk space are counted, and some seconds of
 * it are run for the time, of which nothing is kept.
 *
 * Every split is measured with the copies it will get, on images from all parts of it,
 * since sizes and the share of decoding differ. The first moments are left out: they
 * include filling caches, first use of memory and creating kernels. Writing is not
 * measured, and other programs come and go, so the answer is a range.
 */
#include "encode/forecast.h"

#include <pthread.h>

#include "bank/block_map.h"
#include "bank/row_names.h"
#include "bank/write.h"
#include "base/clock.h"
#include "base/figures.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/threads.h"
#include "encode/encode_pass.h"

enum { HEADER_BYTES = 128 }; /* of an npy file */
enum { SAMPLE = 4096 };      /* images of a split */
#define WARM_SECONDS 0.5
#define MEASURE_SECONDS 1.5 /* of each split */
#define MAX_SECONDS 20.0    /* if a single row takes long */
#define FASTER 0.7
#define SLOWER 1.5

/* One split, and what is missing of it. */
typedef struct split_work {
	const inv_images *images;
	uint64_t features; /* rows to be made */
	int64_t copy;      /* the first array that is missing; INVAR_CLEAN: all are */
	uint64_t copies;
	bool views; /* only views are missing, so they are measured */
} split_work;

/* ---- Some seconds of work ---------------------------------------------------------- */

/* Groups of consecutive images, as copies are made of groups, at equal distances. */
static invar_status take_sample(const inv_images *s, inv_images *out)
{
	uint64_t groups = inv_blocks(s->count, INV_GROUP), wanted = SAMPLE / INV_GROUP,
			 fill = 0;
	uint32_t *index;

	*out = *s;
	if (groups <= wanted)
		wanted = groups;
	INV_TRY(inv_new_array(&index, wanted * INV_GROUP));
	for (uint64_t g = 0; g < wanted; g++) {
		uint64_t row = g * groups / wanted * INV_GROUP, end = row + INV_GROUP;

		for (; row < end && row < s->count; row++)
			index[fill++] = (uint32_t)inv_images_index(s, row);
	}
	out->index = index;
	out->count = fill;
	return INVAR_OK;
}

typedef struct measurement {
	const invar_context *ctx;
	size_t views; /* features per row */
	pthread_mutex_t lock;
	double began, first, last; /* the first rows after warming up are the zero point */
	uint64_t all, rows, puts;  /* made: from the start, and after the zero point */
	bool enough;
} measurement;

static invar_status count_rows(void *user, size_t array, uint64_t row, size_t rows,
                               const float *out, const float *params)
{
	measurement *m = user;

	(void)array;
	(void)row;
	(void)out;
	(void)params;
	pthread_mutex_lock(&m->lock);
	m->all += rows * m->views;
	m->last = inv_wall_seconds();
	if (m->first > 0) {
		m->rows += rows * m->views;
		m->puts++;
	} else if (m->last - m->began >= WARM_SECONDS) {
		m->first = m->last;
	}
	pthread_mutex_unlock(&m->lock);
	return INVAR_OK;
}

static invar_status stop_in_time(void *user)
{
	measurement *m = user;
	double passed = inv_wall_seconds() - m->began;

	pthread_mutex_lock(&m->lock);
	m->enough = passed > MAX_SECONDS ||
	            (passed > WARM_SECONDS + MEASURE_SECONDS && m->puts >= m->ctx->threads);
	pthread_mutex_unlock(&m->lock);
	return m->enough ? INVAR_E_CANCELLED : inv_progress(m->ctx, "measure", 0, 1);
}

/* Adds the seconds of a split. Runs over a sample until time is up, or once over all. */
static invar_status measure_split(const inv_encoding *of, const split_work *w,
                                  inv_pipeline *walk, double *seconds)
{
	measurement m = {.ctx = of->ctx, .views = w->views ? INV_ROTATED : 1};
	inv_images sample;
	inv_pipeline_plan plan = {.images = &sample,
	                          .passes_over = of->dataset->opts.skip_broken,
	                          .views = w->views,
	                          .user = &m,
	                          .put = count_rows,
	                          .tick = stop_in_time};
	double rate;
	invar_status st;

	INV_TRY(take_sample(w->images, &sample));
	plan.count = sample.count;
	for (int64_t c = w->copy; c < (int64_t)w->copies && plan.arrays < INV_WALK_ARRAYS; c++)
		plan.copy[plan.arrays++] = (int32_t)c;
	pthread_mutex_init(&m.lock, NULL);
	m.began = inv_wall_seconds();
	do
		st = inv_pipeline_run(walk, &plan);
	while (st == INVAR_OK && sample.count < w->images->count && m.all);
	pthread_mutex_destroy(&m.lock);
	inv_free(sample.index);
	if (st != INVAR_OK && !m.enough)
		return st;

	rate = m.rows ? (double)m.rows / (m.last - m.first)
	              : (double)m.all / (inv_wall_seconds() - m.began);
	*seconds += rate > 0 ? (double)w->features / rate : 0;
	return INVAR_OK;
}

/* ---- What is missing -------------------------------------------------------------- */

/* Rows of finished blocks of arrays that are not finished. */
static invar_status count_begun(const inv_bank_writer *w, const inv_images *s,
                                uint64_t images, size_t from, uint64_t copies,
                                uint64_t *rows)
{
	char *path = inv_bank_writer_path(w, s->name, "done.part");
	inv_block_map *map = NULL;
	invar_status st = INVAR_OK;

	*rows = 0;
	if (path && inv_block_map_is_begun(path))
		st = inv_block_map_open(path, s->count, copies + 1, &map);
	for (size_t i = from; map && i <= copies; i++)
		for (uint64_t b = 0; b < inv_pass_blocks(images); b++) {
			uint64_t left = images - b * INV_BLOCK_ROWS;

			if (inv_block_map_has(map, i, b))
				*rows += left < INV_BLOCK_ROWS ? left : INV_BLOCK_ROWS;
		}
	inv_block_map_close(map, false);
	inv_free(path);
	return st;
}

static invar_status add_split_needs(const inv_encoding *of, const inv_bank_writer *w,
                                    const inv_images *s, split_work *work,
                                    inv_encode_needs *out)
{
	uint64_t copies = inv_encode_copies(&of->opts, s->name), from = 0, begun = 0, arrays;
	uint64_t row = of->width * inv_dtype_size(of->dtype), rows = s->count;
	uint64_t views = 0, views_begun = 0;
	const json_t *entry = w ? inv_bank_writer_entry(w, s->name) : NULL;
	size_t left_out = json_array_size(json_object_get(entry, "left_out"));
	inv_finished there = {0};

	if (left_out < rows) /* when the split was started */
		rows -= left_out;
	if (w)
		INV_TRY(inv_bank_writer_find(w, s->name, &there));
	if (there.clean)
		from = there.copies + 1;
	if (w)
		INV_TRY(count_begun(w, s, rows, from, copies, &begun));
	arrays = copies + 1 > from ? copies + 1 - from : 0;
	/* Views are started once all copies are finished; then the map has their blocks. */
	if (inv_encode_views(&of->opts, s->name))
		views = from + arrays - (there.clean ? there.views : 0);
	if (w && views && !arrays)
		INV_TRY(count_begun(w, s, rows, there.views, from - 1, &views_begun));
	*work = (split_work){.images = s,
	                     .features = arrays * rows - begun +
	                                 INV_ROTATED * (views * rows - views_begun),
	                     .copy = (int64_t)(arrays ? from : there.views) - 1,
	                     .copies = arrays ? copies : from - 1,
	                     .views = !arrays && views};

	out->images += rows;
	out->features += work->features;
	out->existing += begun + from * rows + INV_ROTATED * (there.views * rows + views_begun);
	out->bytes += arrays * (HEADER_BYTES + rows * row);
	out->bytes += views * (HEADER_BYTES + INV_ROTATED * rows * row);
	if (!there.clean && s->labels)
		out->bytes += HEADER_BYTES + rows * sizeof(int64_t);
	if (!there.clean)
		out->bytes += HEADER_BYTES + rows * INV_FINGERPRINT;
	if (!there.clean && of->dataset->kind->file)
		out->bytes += inv_row_names_bytes(of->dataset, s);
	if (of->columns)
		out->bytes +=
			(arrays - !there.clean) * (HEADER_BYTES + rows * of->columns * sizeof(float));
	return INVAR_OK;
}

/* The time is measured only if `seconds` is not NULL. */
static invar_status look_ahead(invar_encoder *e, const invar_dataset *d,
                               const invar_options *o, const char *bank,
                               inv_encode_needs *out, double *seconds)
{
	split_work work[INV_MAX_SPLITS] = {0};
	inv_encode_settings settings;
	invar_options *kept;
	inv_pipeline *walk = NULL;
	inv_bank_writer *w = NULL;
	inv_encoding of = {0};
	json_t *about = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_encode_read(o, &kept, &settings));
	INV_TRY_OR(end, inv_encoding_open(e, d, &settings, &of));
	*out = (inv_encode_needs){.width = of.width, .free_bytes = inv_free_bytes(bank)};
	about = inv_encoding_json(&of);
	INV_TRY_OR(end, about ? INVAR_OK : inv_no_memory());
	if (inv_exists(bank))
		INV_TRY_OR(end, inv_bank_writer_open(bank, about, &w));
	for (size_t i = 0; i < d->split_count; i++)
		INV_TRY_OR(end, add_split_needs(&of, w, &d->splits[i], &work[i], out));
	inv_bank_writer_close(w); /* it is unlocked while time is measured */
	w = NULL;
	if (!seconds || !out->features)
		goto end;
	INV_TRY_OR(end, inv_pipeline_new(&of, &walk));
	for (size_t i = 0; i < d->split_count; i++)
		if (work[i].features)
			INV_TRY_OR(end, measure_split(&of, &work[i], walk, seconds));
end:
	inv_pipeline_free(walk);
	inv_bank_writer_close(w);
	json_decref(about);
	inv_encoding_close(&of);
	invar_options_free(kept);
	return st;
}

invar_status inv_encode_count(invar_encoder *e, const invar_dataset *d,
                              const invar_options *o, const char *bank,
                              inv_encode_needs *out)
{
	return look_ahead(e, d, o, bank, out, NULL);
}

invar_status invar_encode_forecast(invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank,
                                   invar_figures **out)
{
	inv_encode_needs n;
	double seconds = 0;

	*out = NULL;
	INV_TRY(look_ahead(e, d, o, bank, &n, &seconds));
	return inv_figures_new(
		(const inv_figure[]){{"images", (double)n.images},
	                         {"features", (double)n.features},
	                         {"existing", (double)n.existing},
	                         {"width", (double)n.width},
	                         {"bytes", (double)n.bytes},
	                         {"free-bytes", (double)n.free_bytes},
	                         {"rate", seconds > 0 ? (double)n.features / seconds : 0},
	                         {"seconds", seconds},
	                         {"seconds-low", seconds * FASTER},
	                         {"seconds-high", seconds * SLOWER}},
		10, out);
}
