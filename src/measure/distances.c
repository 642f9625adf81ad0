/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distances.c - distances from copies to the gallery, compared with clean queries.
 *
 * Queries are the copies of the measured split; the gallery is 1,000 clean rows of the
 * bank (all, if there are fewer), number floor(i n / 1000) of all splits. In the old index
 * it is F(x), in the new one E(F(x)); both are compared with the distances of F. What is
 * reported is the relative root mean square error (distances.h).
 *
 * 1 - cos(a, b) is half the squared distance of the unit vectors, so both metrics use
 * the kernel that sums squared differences in double. A row of zeros has no unit vector
 * and stays zero.
 */
#include "measure/distances.h"

#include <math.h>
#include <stdio.h>

#include "base/threads.h"
#include "measure/measurement.h"

enum { BLOCK = 1024, GALLERY = 1000, ROWS = 16 }; /* ROWS: queries of a parallel block */
enum { OLD, NEW, INDEXES };

static const char *const index_name[] = {"old", "new"};
static const char *const distance_name[] = {"l2", "cosine"};

/* ---- On arrays ---------------------------------------------------------------------- */

/* The rows that are compared: as given, or as unit vectors. */
typedef struct side {
	const float *query, *gallery;
	size_t width;
	float *units; /* ours; NULL: as given */
} side;

typedef struct distance_errors {
	const inv_distance_pairs *p;
	struct inv_kernels kernels;
	bool cosine;
	side before, after;
	double *error, *whole;
} distance_errors;

static void make_units(const float *rows, uint64_t count, size_t width, float *out)
{
	for (uint64_t i = 0; i < count; i++) {
		const float *row = rows + i * width;
		double sum = 0;

		for (size_t l = 0; l < width; l++)
			sum += (double)row[l] * row[l];
		for (size_t l = 0; l < width; l++)
			out[i * width + l] = sum > 0 ? (float)(row[l] / sqrt(sum)) : 0;
	}
}

static invar_status open_side(const distance_errors *j, const float *query,
                              const float *gallery, size_t width, side *out)
{
	uint64_t n = j->p->n, m = j->p->m;

	*out = (side){query, gallery, width, NULL};
	if (!j->cosine)
		return INVAR_OK;
	INV_TRY(inv_new_array(&out->units, (n + m) * width));
	make_units(query, n, width, out->units);
	make_units(gallery, m, width, out->units + n * width);
	out->query = out->units;
	out->gallery = out->units + n * width;
	return INVAR_OK;
}

static bool is_zero(const float *row, size_t width)
{
	for (size_t l = 0; l < width; l++)
		if (row[l] != 0)
			return false;
	return true;
}

static double pair_distance(const distance_errors *t, const side *s, uint64_t i, uint64_t j)
{
	const float *a = s->query + i * s->width, *b = s->gallery + j * s->width;
	double square = t->kernels.squared_distance(a, b, s->width);

	if (!t->cosine)
		return sqrt(square);
	/* Unit vectors have a squared distance of 1 to zeros, and zeros 0 to themselves. */
	if (square <= 1.0001 && (is_zero(a, s->width) || is_zero(b, s->width)))
		return 1;
	return square / 2;
}

static void add_queries(void *user, size_t block, unsigned thread)
{
	const distance_errors *t = user;
	const inv_distance_pairs *p = t->p;
	uint64_t end = (block + 1) * ROWS < p->n ? (block + 1) * ROWS : p->n;

	(void)thread;
	for (uint64_t i = block * ROWS; i < end; i++)
		for (uint64_t j = 0; j < p->m; j++) {
			double d, gap;

			if (j == p->own[i])
				continue;
			d = pair_distance(t, &t->before, i, j);
			gap = pair_distance(t, &t->after, i, j) - d;
			t->error[i] += gap * gap;
			t->whole[i] += d * d;
		}
}

invar_status inv_distance_errors(const invar_context *ctx, inv_distance distance,
                                 const inv_distance_pairs *p, double *error, double *whole)
{
	distance_errors j = {
		.p = p, .cosine = distance == INV_COSINE, .error = error, .whole = whole};
	invar_status st;

	inv_kernels_init(&j.kernels, ctx->cpu);
	INV_TRY_OR(end, open_side(&j, p->query, p->gallery, p->d, &j.before));
	INV_TRY_OR(end, open_side(&j, p->after, p->indexed, p->w, &j.after));
	inv_parallel(ctx, inv_blocks(p->n, ROWS), add_queries, &j);
end:
	inv_free(j.before.units);
	inv_free(j.after.units);
	return st;
}

/* ---- The column --------------------------------------------------------------------- */

typedef struct distance_table {
	const inv_measure_input *in;
	inv_selection asked;
	uint64_t images, gallery;
	uint64_t first_row;    /* where the measured split begins among all rows */
	uint64_t *row;         /* [gallery]: number among all rows of the bank */
	float *old, *new;      /* [gallery, d], [gallery, w] */
	float *query, *code;   /* [BLOCK, d], [BLOCK, w] */
	uint64_t *own;         /* [BLOCK] */
	double *error, *whole; /* [images] */
	uint64_t done, total;
} distance_table;

/* Row `number` among all rows of the bank, as feature and as code. */
static invar_status read_row(const distance_table *t, uint64_t number, float *feature,
                             float *code)
{
	const invar_bank *bank = t->in->bank;
	size_t s = 0;
	inv_selection all;

	while (number >= bank->splits[s].rows)
		number -= bank->splits[s++].rows;
	all = inv_select_all(&bank->splits[s]);
	INV_TRY(inv_measure_rows(t->in, &all, INVAR_CLEAN, true, number, 1, feature));
	return inv_measure_rows(t->in, &all, INVAR_CLEAN, false, number, 1, code);
}

static invar_status measure_index(distance_table *t, int index, inv_distance distance)
{
	const inv_measure_input *in = t->in;
	inv_distance_pairs pairs = {.query = t->query,
	                            .gallery = t->old,
	                            .after = t->code,
	                            .indexed = index == OLD ? t->old : t->new,
	                            .own = t->own,
	                            .m = t->gallery,
	                            .d = in->d,
	                            .w = in->w};
	inv_interval found;
	double whole = 0;
	char id[64];

	for (uint64_t i = 0; i < t->images; i++)
		t->error[i] = t->whole[i] = 0;
	for (uint32_t copy = 0; copy < in->split->copies; copy++)
		for (uint64_t first = 0; first < t->images; first += BLOCK) {
			uint64_t now = pairs.n = inv_min(t->images - first, BLOCK);

			INV_TRY(inv_progress(in->ctx, "distances", t->done, t->total));
			t->done += now;
			for (uint64_t i = 0; i < now; i++) { /* t->gallery: not in the gallery */
				uint64_t row = t->first_row + inv_selected_row(&t->asked, first + i),
						 at = 0;

				while (at < t->gallery && t->row[at] < row)
					at++;
				t->own[i] = at < t->gallery && t->row[at] == row ? at : t->gallery;
			}
			INV_TRY(
				inv_measure_rows(in, &t->asked, INVAR_CLEAN, true, first, now, t->query));
			INV_TRY(
				inv_measure_rows(in, &t->asked, (int32_t)copy, false, first, now, t->code));
			INV_TRY(inv_distance_errors(in->ctx, distance, &pairs, t->error + first,
			                            t->whole + first));
		}
	for (uint64_t i = 0; i < t->images; i++)
		whole += t->whole[i];
	if (!(whole > 0)) /* all rows are equal */
		return INVAR_OK;
	INV_TRY(inv_bootstrap_ratio(in->ctx, t->error, t->whole, t->images, in->seed, &found));
	found =
		(inv_interval){sqrt(found.value), sqrt(found.low), sqrt(found.high), found.images};
	snprintf(id, sizeof id, "distances.%s.%s.error", index_name[index],
	         distance_name[distance]);
	return inv_put_interval(in->results, id, in->column, &found);
}

/* Codes of another width than features cannot be looked up in the old index. */
static invar_status measure_distances(const inv_measure_input *in)
{
	const bool measured[INDEXES] = {in->w == in->d, in->adapter != NULL};
	distance_table t = {.in = in,
	                    .asked = inv_select_points(in, inv_select_all(in->split))};
	inv_pool *s = in->scratch;
	uint64_t all;

	INV_TRY(inv_gallery_count(in, &all, &t.first_row));
	t.images = t.asked.points;
	t.gallery = inv_min(all, GALLERY);
	t.total = (uint64_t)(measured[OLD] + measured[NEW]) * INV_DISTANCES * t.images *
	          in->split->copies;
	INV_TRY(inv_pool_zeros(s, &t.row, t.gallery));
	INV_TRY(inv_pool_zeros(s, &t.old, t.gallery * in->d));
	INV_TRY(inv_pool_zeros(s, &t.new, t.gallery * in->w));
	INV_TRY(inv_pool_zeros(s, &t.query, BLOCK * (size_t)in->d));
	INV_TRY(inv_pool_zeros(s, &t.code, BLOCK * (size_t)in->w));
	INV_TRY(inv_pool_zeros(s, &t.own, BLOCK));
	INV_TRY(inv_pool_zeros(s, &t.error, t.images));
	INV_TRY(inv_pool_zeros(s, &t.whole, t.images));

	for (uint64_t i = 0; i < t.gallery; i++) {
		t.row[i] = i * all / t.gallery;
		INV_TRY(read_row(&t, t.row[i], t.old + i * in->d, t.new + i * in->w));
	}
	for (int index = 0; index < INDEXES; index++)
		for (int d = 0; d < INV_DISTANCES && measured[index]; d++)
			INV_TRY(measure_index(&t, index, (inv_distance)d));
	return INVAR_OK;
}

#define ERROR(ID, INDEX, PART)                               \
	INV_NUMBER_METRIC("distances", "distances." ID ".error", \
	                  "error of distances, " INDEX " index, L2 | cosine", PART, -1, 3)

static const invar_metric metrics[] = {
	ERROR("old.l2", "old", "L2"),
	ERROR("old.cosine", "old", "cosine"),
	ERROR("new.l2", "new", "L2"),
	ERROR("new.cosine", "new", "cosine"),
	{0},
};

const inv_measurement inv_measurement_distances = {
	.name = "distances",
	.title = "distances",
	.about = "how far distances from a copy to other images are from those of its clean "
			 "image, relative root mean square",
	.needs = INV_NEEDS_COPIES,
	.on_request = true,
	.shares = "points|seed",
	.metrics = metrics,
	.measure = measure_distances};
