/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forecast.c - what an encoding will take: some seconds of it are run, and nothing is kept.
 *
 * Every split is measured with the copies it will get, on images from all parts of it,
 * since sizes and the share of decoding differ. The first moments are left out: they
 * include filling caches, first use of memory and creating kernels. Rows go to an unnamed
 * file on the bank's disk, as writing them may take longer than making them.
 *
 * The answer is a range. Its ends follow from the fastest and the slowest part of what was
 * measured, with and without waiting for the disk at the end, and a margin for other
 * programs on the machine.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bank/block_map.h"
#include "bank/row_names.h"
#include "bank/write.h"
#include "base/clock.h"
#include "base/figures.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/threads.h"
#include "encode/encode_options.h"
#include "encode/encode_pass.h"
#include "images/prefetch.h"

enum { FILES_OF_A_SPLIT = 5 };               /* beside arrays: labels, names, the map … */
enum { HEADER_BYTES = 128 };                 /* of an npy file */
enum { SAMPLE = 4096, SLICES = 4, FEW = 8 }; /* images; parts of a measurement; puts */
#define MAX_BYTES ((uint64_t)256 << 20)      /* to the unnamed file */
#define WARM_SECONDS 0.7
#define MEASURE_SECONDS 3.0 /* of all splits together */
#define LEAST_SECONDS 0.6   /* of one */
#define CHECK_SECONDS 0.4   /* of decoding alone */
#define MAX_SECONDS 20.0    /* if a single row takes long */
/* Margin between the measurement and the encoding: other programs come and go. */
#define FASTER 0.8
#define SLOWER 1.3

/* One split, and what is missing of it. */
typedef struct split_work {
	const inv_images *images;
	uint64_t rows;     /* of an array */
	uint64_t features; /* rows to be made */
	int64_t copy;      /* the first array that is missing; INVAR_CLEAN: all are */
	uint64_t copies;
	bool views;     /* only views are missing, so they are measured */
	uint64_t files; /* to be written */
	bool unread;    /* every image is read once before (--skip-broken, several ranks) */
} split_work;

/* What the encoding would do now and what it takes. */
typedef struct inv_forecast {
	uint64_t images;     /* of all splits */
	uint64_t features;   /* rows to be made, of images and copies */
	uint64_t there;      /* rows that are in the bank */
	uint64_t width;      /* of a row */
	uint64_t bytes;      /* of the files to be written */
	uint64_t free_bytes; /* on the disk */
	double rate;         /* rows per second, measured; 0: nothing is to be made */
	double seconds;      /* at this rate, with the disk */
	double seconds_low, seconds_high; /* expected to take between these */
} inv_forecast;

/* Seconds of all that is missing, by the fastest, the mean and the slowest measured. */
typedef struct range {
	double low, mean, high;
} range;

/* ---- Images from all over a split ------------------------------------------------- */

/* Groups of consecutive images, as copies are made of groups, at equal distances. */
static invar_status take_sample(const inv_images *s, inv_images *out)
{
	uint64_t groups = inv_blocks(s->count, INV_GROUP), wanted = SAMPLE / INV_GROUP,
			 fill = 0;
	uint32_t *index;

	*out = *s;
	if (groups <= wanted)
		wanted = groups;
	if (!(index = inv_alloc(wanted * INV_GROUP * sizeof *index)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory to plan");
	for (uint64_t g = 0; g < wanted; g++) {
		uint64_t row = g * groups / wanted * INV_GROUP, end = row + INV_GROUP;

		for (; row < end && row < s->count; row++)
			index[fill++] = (uint32_t)inv_images_index(s, row);
	}
	out->index = index;
	out->count = fill;
	return INVAR_OK;
}

/* ---- The disk ---------------------------------------------------------------------- */

typedef struct disk_trial {
	int fd; /* of an unnamed file; -1: not possible */
	uint64_t bytes, max;
	double sync_seconds; /* after `bytes` were put */
	double file_seconds; /* to finish a small file */
} disk_trial;

static void open_disk(disk_trial *k, const char *folder, uint64_t free_bytes)
{
	double began = inv_wall_seconds();

	*k = (disk_trial){.fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600),
	                  .max = free_bytes / 4 < MAX_BYTES ? free_bytes / 4 : MAX_BYTES};
	if (k->fd < 0 || pwrite(k->fd, "", 1, 0) != 1 || fdatasync(k->fd) != 0)
		return;
	k->file_seconds = inv_wall_seconds() - began;
}

/* A failure is not an error: then it is unknown how long writing takes. */
static void put_to_disk(disk_trial *k, uint64_t at, const void *data, uint64_t bytes)
{
	if (k->fd >= 0 && at + bytes <= k->max)
		(void)!pwrite(k->fd, data, bytes, (off_t)at);
}

static void close_disk(disk_trial *k)
{
	double began = inv_wall_seconds();

	if (k->fd < 0)
		return;
	if (k->bytes && fdatasync(k->fd) == 0)
		k->sync_seconds = inv_wall_seconds() - began;
	close(k->fd);
}

/* ---- Some seconds of work ---------------------------------------------------------- */

typedef struct measurement {
	const inv_encoding *of;
	disk_trial *disk;
	size_t row_bytes; /* as they will be written */
	bool views;       /* rows are views, each of which counts */
	pthread_mutex_t lock;
	double began, warm, seconds; /* when; how long without and with counting */
	uint64_t from, budget;       /* bytes on the disk: at the start, and from there on */
	uint64_t all;                /* rows that were written, from the start */
	uint64_t cold;               /* of these, up to the first that counts */
	double first, last;          /* written that count: the first is the zero point */
	uint64_t puts, rows;
	uint64_t slice[SLICES];
	bool enough;
} measurement;

static void note(measurement *m, double now, size_t rows)
{
	double part;

	m->all += rows;
	if (now - m->began < m->warm && m->disk->bytes - m->from < m->budget / 4)
		return;
	if (!m->first) {
		m->first = m->last = now;
		m->cold = m->all;
		return;
	}
	part = (now - m->first) / m->seconds * SLICES;
	m->slice[part < SLICES ? (size_t)part : SLICES - 1] += rows;
	m->rows += rows;
	m->puts++;
	m->last = now;
}

static invar_status count(void *user, size_t array, uint64_t row, size_t rows,
                          const float *out, const float *params)
{
	measurement *m = user;
	size_t encoded = rows * (m->views ? INV_ROTATED : 1);
	uint64_t bytes = encoded * m->row_bytes, at;

	(void)array;
	(void)row;
	(void)params;
	pthread_mutex_lock(&m->lock);
	at = m->disk->bytes;
	m->disk->bytes += m->disk->fd < 0 ? 0 : bytes;
	pthread_mutex_unlock(&m->lock);
	put_to_disk(m->disk, at, out, bytes);
	pthread_mutex_lock(&m->lock);
	note(m, inv_wall_seconds(), encoded);
	pthread_mutex_unlock(&m->lock);
	return INVAR_OK;
}

static invar_status stop_in_time(void *user)
{
	measurement *m = user;
	double passed = inv_wall_seconds() - m->began;

	pthread_mutex_lock(&m->lock);
	m->enough = passed > MAX_SECONDS || m->disk->bytes - m->from > m->budget ||
	            (passed > m->warm + m->seconds && m->puts >= FEW * m->of->ctx->threads);
	pthread_mutex_unlock(&m->lock);
	return m->enough ? INVAR_E_CANCELLED : inv_progress(m->of->ctx, "measure", 0, 1);
}

/* The slowest and the fastest slice, if each has enough rows to be meaningful. */
static void find_spread(const measurement *m, double *slowest, double *fastest)
{
	double length = m->seconds / SLICES, mean = (double)m->rows / (m->last - m->first);

	*slowest = *fastest = mean;
	if (m->last - m->first < m->seconds || m->puts < FEW * SLICES)
		return;
	for (size_t i = 0; i + 1 < SLICES; i++) { /* the last one may be longer */
		double rate = (double)m->slice[i] / length;

		rate = rate < mean / 4 ? mean / 4 : rate; /* it was stopped, not slow */
		*slowest = rate < *slowest ? rate : *slowest;
		*fastest = rate > *fastest ? rate : *fastest;
	}
}

/* Rows per second. A measurement that ends during warm-up counts as a whole. */
static range find_rates(const measurement *m)
{
	range r;
	double passed = inv_wall_seconds() - m->began;

	if (m->puts < FEW || m->last <= m->first) {
		r.mean = (double)m->all / (passed > 0 ? passed : 1e-9);
		r.low = r.high = r.mean;
		return r;
	}
	r.mean = (double)m->rows / (m->last - m->first);
	find_spread(m, &r.low, &r.high);
	return r;
}

/* Extra seconds of the first moments; they occur once. */
static double find_delay(const measurement *m, double rate)
{
	double delay = m->first - m->began - (double)m->cold / rate;

	return m->first > 0 && delay > 0 ? delay : 0;
}

/* Runs over the sample until time is up; over the whole split at most once. */
static invar_status visit_sample(const split_work *w, const inv_images *sample,
                                 measurement *m, inv_pipeline *walk)
{
	inv_pipeline_plan plan = {.images = sample,
	                          .passes_over = m->of->dataset->opts.skip_broken,
	                          .count = sample->count,
	                          .views = w->views,
	                          .user = m,
	                          .put = count,
	                          .tick = stop_in_time};
	invar_status st;

	for (int64_t c = w->copy; c < (int64_t)w->copies && plan.arrays < INV_WALK_ARRAYS; c++)
		plan.copy[plan.arrays++] = (int32_t)c;
	do
		st = inv_pipeline_run(walk, &plan);
	while (st == INVAR_OK && sample->count < w->images->count && m->all);
	return m->enough ? INVAR_OK : st;
}

/* Decoding alone, in images per second. */
static invar_status measure_reading(const inv_encoding *of, const inv_images *sample,
                                    double *rate)
{
	double began = inv_wall_seconds(), passed = 0;
	const inv_prefetch_item *item = NULL;
	uint64_t read = 0;
	inv_prefetch *ahead;
	invar_status st = inv_prefetch_new(of->ctx, of->dataset, sample, 0, sample->count, NULL,
	                                   NULL, 0, &ahead);

	while (st == INVAR_OK && passed < CHECK_SECONDS &&
	       (st = inv_prefetch_next(ahead, &item)) == INVAR_OK && item) {
		read++;
		passed = inv_wall_seconds() - began;
	}
	inv_prefetch_free(ahead);
	*rate = (double)(read ? read : 1) / (passed > 0 ? passed : 1e-9);
	return st;
}

/* Adds the seconds of a split to those of the others. */
static invar_status measure_split(const inv_encoding *of, const split_work *w,
                                  measurement *m, inv_pipeline *walk, range *sum)
{
	inv_images sample;
	invar_status st = take_sample(w->images, &sample);
	double reading = 0;
	range rate;

	if (st != INVAR_OK)
		return st;
	m->began = inv_wall_seconds();
	st = visit_sample(w, &sample, m, walk);
	rate = find_rates(m);
	if (st == INVAR_OK && rate.low > 0) {
		sum->low += (double)w->features / rate.high;
		sum->mean += (double)w->features / rate.mean + find_delay(m, rate.mean);
		sum->high += (double)w->features / rate.low + find_delay(m, rate.mean);
	}
	if (st == INVAR_OK && w->unread) {
		st = measure_reading(of, &sample, &reading);
		sum->low += (double)w->images->count / reading;
		sum->mean += (double)w->images->count / reading;
		sum->high += (double)w->images->count / reading;
	}
	inv_free((void *)(uintptr_t)sample.index);
	return st;
}

static invar_status measure_splits(const inv_encoding *of, const split_work *work,
                                   size_t splits, uint64_t features, disk_trial *disk,
                                   range *sum)
{
	double warm = WARM_SECONDS;
	inv_pipeline *walk;
	invar_status st = inv_pipeline_new(of, &walk);

	for (size_t i = 0; i < splits && st == INVAR_OK; i++) {
		double share = (double)work[i].features / (double)features;
		double seconds = share * MEASURE_SECONDS;
		measurement m = {.of = of,
		                 .disk = disk,
		                 .row_bytes = of->width * inv_dtype_size(of->dtype),
		                 .views = work[i].views,
		                 .warm = warm,
		                 .from = disk->bytes,
		                 .budget = (uint64_t)(share * (double)disk->max),
		                 .seconds = seconds > LEAST_SECONDS ? seconds : LEAST_SECONDS};

		if (!work[i].features)
			continue;
		pthread_mutex_init(&m.lock, NULL);
		st = measure_split(of, &work[i], &m, walk, sum);
		pthread_mutex_destroy(&m.lock);
		warm = WARM_SECONDS / 4; /* the shared parts are warm now */
	}
	inv_pipeline_free(walk);
	return st;
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

/* Without the images left out when the split was started. */
static uint64_t rows_of(const inv_bank_writer *w, const inv_images *s)
{
	const json_t *entry = w ? inv_bank_writer_entry(w, s->name) : NULL;
	size_t left_out = json_array_size(json_object_get(entry, "left_out"));

	return left_out < s->count ? s->count - left_out : s->count;
}

static invar_status add_split(const inv_encoding *of, const inv_bank_writer *w,
                              const inv_images *s, split_work *work, inv_forecast *out)
{
	uint64_t copies = inv_encode_copies(&of->opts, s->name), from = 0, begun = 0, arrays;
	uint64_t row = of->width * inv_dtype_size(of->dtype), rows = rows_of(w, s);
	uint64_t views = 0, views_begun = 0;
	inv_finished there = {0};
	invar_status st = w ? inv_bank_writer_find(w, s->name, &there) : INVAR_OK;

	if (there.clean)
		from = there.copies + 1;
	if (st == INVAR_OK && w)
		st = count_begun(w, s, rows, from, copies, &begun);
	arrays = copies + 1 > from ? copies + 1 - from : 0;
	/* Views are started once all copies are finished; then the map has their blocks. */
	if (inv_encode_views(&of->opts, s->name))
		views = from + arrays - (there.clean ? there.views : 0);
	if (st == INVAR_OK && w && views && !arrays)
		st = count_begun(w, s, rows, there.views, from - 1, &views_begun);
	*work = (split_work){
		.images = s,
		.rows = rows,
		.features = arrays * rows - begun + INV_ROTATED * (views * rows - views_begun),
		.copy = (int64_t)(arrays ? from : there.views) - 1,
		.copies = arrays ? copies : from - 1,
		.views = !arrays && views,
		.files =
			arrays || views ? FILES_OF_A_SPLIT + arrays * (of->columns ? 2 : 1) + views : 0,
		.unread = !there.clean && !begun && of->dataset->opts.skip_broken &&
	              inv_process_count(of->ctx) > 1};
	out->images += rows;
	out->features += work->features;
	out->there += begun + from * rows + INV_ROTATED * (there.views * rows + views_begun);
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
	return st;
}

/* The nearest folder above the bank that exists, or the bank itself. */
static bool find_folder(const char *path, char folder[PATH_MAX])
{
	char *slash;

	if (snprintf(folder, PATH_MAX, "%s", path) >= PATH_MAX)
		return false;
	while (!inv_exists(folder)) {
		if (!(slash = strrchr(folder, '/')))
			snprintf(folder, PATH_MAX, ".");
		else
			slash[slash == folder] = '\0';
	}
	return true;
}

static uint64_t free_bytes(const char *folder)
{
	struct statvfs disk;

	return statvfs(folder, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

/* Low: the disk keeps up. High: all that is written is waited for at the end. */
static void add_disk(const disk_trial *k, uint64_t bytes, uint64_t files, range *sum)
{
	double put = (double)(k->bytes < k->max ? k->bytes : k->max);
	double sync = put > 0 ? k->sync_seconds / put * (double)bytes : 0;
	double finish = (double)files * k->file_seconds;

	sum->low += finish / 2;
	sum->mean += sync / 2 + finish;
	sum->high += sync + 3 * finish;
}

static invar_status measure_speed(const inv_encoding *of, const char *folder,
                                  const split_work *work, inv_forecast *out)
{
	range sum = {0};
	uint64_t files = 0;
	disk_trial k;
	invar_status st;

	open_disk(&k, folder, out->free_bytes);
	st = measure_splits(of, work, of->dataset->split_count, out->features, &k, &sum);
	close_disk(&k);
	if (st != INVAR_OK || sum.mean <= 0)
		return st;
	out->rate = (double)out->features / sum.mean;
	for (size_t i = 0; i < of->dataset->split_count; i++)
		files += work[i].files;
	add_disk(&k, out->bytes, files, &sum);
	out->seconds = sum.mean;
	out->seconds_low = sum.low * FASTER;
	out->seconds_high = sum.high * (k.fd < 0 ? SLOWER * SLOWER : SLOWER);
	return st;
}

static invar_status look_ahead(const inv_encoding *of, const char *bank, inv_forecast *out)
{
	json_t *about = inv_encoding_json(of);
	split_work work[INV_MAX_SPLITS] = {0};
	char folder[PATH_MAX];
	inv_bank_writer *w = NULL;
	invar_status st =
		about ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory to plan");

	if (st == INVAR_OK && inv_exists(bank))
		st = inv_bank_writer_open(bank, about, &w);
	for (size_t i = 0; i < of->dataset->split_count && st == INVAR_OK; i++)
		st = add_split(of, w, &of->dataset->splits[i], &work[i], out);
	out->width = of->width;
	out->free_bytes = find_folder(bank, folder) ? free_bytes(folder) : 0;
	if (st == INVAR_OK && out->features)
		st = measure_speed(of, folder, work, out);
	inv_bank_writer_close(w);
	json_decref(about);
	return st;
}

static invar_status give(const inv_forecast *f, invar_figures **out)
{
	const inv_figure figures[] = {
		{"images", (double)f->images},
		{"features", (double)f->features},
		{"existing", (double)f->there},
		{"width", (double)f->width},
		{"bytes", (double)f->bytes},
		{"free-bytes", (double)f->free_bytes},
		{"rate", f->rate},
		{"seconds", f->seconds},
		{"seconds-low", f->seconds_low},
		{"seconds-high", f->seconds_high},
	};

	return inv_figures_new(figures, sizeof figures / sizeof *figures, out);
}

invar_status invar_encode_forecast(invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank,
                                   invar_figures **out)
{
	inv_forecast all = {0};
	inv_encode_settings settings;
	invar_options *kept;
	inv_encoding of = {0};
	invar_status st = inv_encode_read(o, &kept, &settings);

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_encoding_open(e, d, &settings, &of);
	if (st == INVAR_OK)
		st = look_ahead(&of, bank, &all);
	inv_encoding_close(&of);
	invar_options_free(kept);
	return st == INVAR_OK ? give(&all, out) : st;
}
