/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structure.c - structure statistics over all distinct pairs, streaming.
 *
 * For n points there are n (n - 1) / 2 pairs (d, e) of distances before and
 * after E; none is kept. Rows are cut into bands of BAND; a band is compared
 * with every later point, INV_PAIR_ROWS rows with STRIP points at a time, packed so
 * that a vector holds the same coordinate of several points. Distances come
 * from differences, never from |x|^2 + |y|^2 - 2xy: equal rows must give an
 * exact 0, and L1 and L2 depend on the smallest distances.
 *
 * Sums are in double about a shift near the mean, one set per band, added in
 * band order: the result does not depend on the threads. Bands are dealt out to ranks.
 * Equations 34 to 39; tests/measure/test_structure.c has the definition as plain loops.
 */
#include "measure/structure.h"

#include <math.h>
#include <string.h>

#include "base/processes.h"
#include "base/threads.h"
#include "math/kernels.h"
#include "measure/measurement.h"

enum {
	BAND = 96,   /* a multiple of INV_PAIR_ROWS */
	STRIP = 128, /* points at a time; a multiple of INV_PAIR_COLS */
	PROBE = 64,  /* points whose mean distance is the shift */
	CHUNK = 64,  /* bands between two checks for cancellation */
	TILE = INV_PAIR_ROWS * INV_PAIR_COLS
};

typedef struct space {
	const float *rows;
	size_t width;
} space;

typedef struct band_scratch {
	float *packed[2]; /* [STRIP / COLS][width][COLS], clean and coded */
	float *edge[2];   /* [ROWS, width]: the last rows, filled up with copies */
	float squared[2][INV_PAIR_ROWS * STRIP];
} band_scratch;

typedef struct structure_job {
	struct inv_kernels kernels;
	space in[2]; /* clean features, codes */
	uint64_t n;
	double shift[2];
	size_t rank, ranks;    /* that measure the bands; band b is one of rank b % ranks, */
	size_t per_rank;       /* which has so many */
	size_t chunk;          /* the first band of this rank that is measured now */
	inv_pair_sums *sums;   /* [ranks, per_rank] */
	band_scratch *scratch; /* [threads] */
} structure_job;

/* ---- Packing ------------------------------------------------------------------------ */

/* Points first … first+STRIP-1; past the last one, it is repeated. */
static void pack_point_strip(const structure_job *j, int which, uint64_t first,
                             float *packed)
{
	const space *in = &j->in[which];

	for (size_t c = 0; c < STRIP; c += INV_PAIR_COLS) {
		const float *points[INV_PAIR_COLS];

		for (size_t i = 0; i < INV_PAIR_COLS; i++) {
			uint64_t point = first + c + i < j->n ? first + c + i : j->n - 1;

			points[i] = in->rows + point * in->width;
		}
		j->kernels.pack_points(points, in->width, packed + c * in->width);
	}
}

/* ROWS rows from `first`; a short last group is filled up in `edge`. */
static const float *row_group(const space *in, uint64_t n, uint64_t first, float *edge)
{
	if (first + INV_PAIR_ROWS <= n)
		return in->rows + first * in->width;
	for (uint64_t i = 0; i < INV_PAIR_ROWS; i++)
		memcpy(edge + i * in->width,
		       in->rows + (first + i < n ? first + i : n - 1) * in->width,
		       in->width * sizeof *edge);
	return edge;
}

/* ---- One band ------------------------------------------------------------ */

/* Squared distances of one group of rows to a strip, as [ROWS][STRIP]. */
static void measure_row_group(const structure_job *j, band_scratch *s, int which,
                              uint64_t row)
{
	const space *in = &j->in[which];
	const float *rows = row_group(in, j->n, row, s->edge[which]);
	float tile[TILE];

	for (size_t c = 0; c < STRIP / INV_PAIR_COLS; c++) {
		j->kernels.pair_distances(rows, s->packed[which] + c * in->width * INV_PAIR_COLS,
		                          in->width, in->width, tile);
		for (size_t i = 0; i < INV_PAIR_ROWS; i++)
			memcpy(s->squared[which] + i * STRIP + c * INV_PAIR_COLS,
			       tile + i * INV_PAIR_COLS, INV_PAIR_COLS * sizeof *tile);
	}
}

/* Of a row, only later points count, and only those that exist. */
static void add_pair_group(const structure_job *j, const band_scratch *s, uint64_t row,
                           uint64_t strip, inv_pair_sums *sums)
{
	uint64_t end = j->n - strip < STRIP ? j->n - strip : STRIP;

	for (uint64_t i = 0; i < INV_PAIR_ROWS && row + i < j->n; i++) {
		uint64_t from = row + i + 1 > strip ? row + i + 1 - strip : 0;

		if (from < end)
			j->kernels.pair_sums(s->squared[0] + i * STRIP + from,
			                     s->squared[1] + i * STRIP + from, end - from, j->shift[0],
			                     j->shift[1], sums);
	}
}

static inv_pair_sums *sums_of(const structure_job *j, size_t band)
{
	return &j->sums[band % j->ranks * j->per_rank + band / j->ranks];
}

/* Bands get shorter, so that every rank takes each `ranks`th. */
static void measure_band(void *user, size_t block, unsigned thread)
{
	const structure_job *j = user;
	band_scratch *s = &j->scratch[thread];
	size_t band = (j->chunk + block) * j->ranks + j->rank;
	uint64_t first = band * BAND;
	uint64_t end = first + BAND < j->n ? first + BAND : j->n;
	inv_pair_sums *sums = sums_of(j, band);

	*sums = (inv_pair_sums){.d_min = INFINITY, .ratio_min = INFINITY};
	for (uint64_t strip = first; strip < j->n; strip += STRIP) {
		for (int which = 0; which < 2; which++)
			pack_point_strip(j, which, strip, s->packed[which]);
		for (uint64_t row = first; row < end; row += INV_PAIR_ROWS) {
			measure_row_group(j, s, 0, row);
			measure_row_group(j, s, 1, row);
			add_pair_group(j, s, row, strip, sums);
		}
	}
}

/* CHUNK bands at a time, so that a cancellation takes effect soon. */
static invar_status measure_bands(const invar_context *ctx, structure_job *j)
{
	size_t bands = (inv_blocks(j->n, BAND) + j->ranks - 1 - j->rank) / j->ranks;
	inv_shares shares = inv_shares_of(ctx, j->ranks * j->per_rank, j->per_rank);

	for (j->chunk = 0; j->chunk < bands; j->chunk += CHUNK) {
		INV_TRY(inv_progress(ctx, "structure", j->chunk, bands));
		inv_parallel(ctx, (size_t)inv_min(bands - j->chunk, CHUNK), measure_band, j);
	}
	return j->ranks > 1 ? inv_gather(ctx, &shares, j->sums, sizeof *j->sums) : INVAR_OK;
}

/* ---- Before and after ------------------------------------------------------------ */

/* Mean distance among a few points spread over the set; any value near it serves. */
static double shift_of(const space *in, uint64_t n)
{
	uint64_t points = n < PROBE ? n : PROBE, pairs = 0;
	double sum = 0;

	for (uint64_t a = 0; a < points; a++)
		for (uint64_t b = a + 1; b < points; b++, pairs++) {
			const float *p = in->rows + a * n / points * in->width;
			const float *q = in->rows + b * n / points * in->width;
			double square = 0;

			for (size_t k = 0; k < in->width; k++)
				square += ((double)p[k] - q[k]) * ((double)p[k] - q[k]);
			sum += sqrt(square);
		}
	return sum / (double)pairs;
}

static void add_pair_sums(const inv_pair_sums *from, inv_pair_sums *to)
{
	to->pairs += from->pairs;
	to->zero_pairs += from->zero_pairs;
	to->d += from->d;
	to->e += from->e;
	to->dd += from->dd;
	to->ee += from->ee;
	to->de += from->de;
	to->gap += from->gap;
	to->d_min = fmin(to->d_min, from->d_min);
	to->d_max = fmax(to->d_max, from->d_max);
	to->ratio_min = fmin(to->ratio_min, from->ratio_min);
	to->ratio_max = fmax(to->ratio_max, from->ratio_max);
}

static invar_status conclude_structure(const structure_job *j, const inv_pair_sums *s,
                                       inv_structure *out)
{
	double pairs = (double)s->pairs;
	double d_mean = j->shift[0] + s->d / pairs, e_mean = j->shift[1] + s->e / pairs;
	double dd = s->dd - s->d * s->d / pairs, ee = s->ee - s->e * s->e / pairs;
	double de = s->de - s->d * s->e / pairs;

	if (!s->pairs)
		return inv_fail(
			INVAR_E_NUMERIC,
			"%s at distance 0 (in float32), so there is no structure to measure",
			s->zero_pairs == 1 ? "both rows are" : "all pairs of rows are");
	if (!isfinite(s->gap) || !isfinite(s->dd) || !isfinite(s->ee))
		return inv_fail(INVAR_E_NUMERIC,
		                "distances are too large for float32; scale the features");
	*out = (inv_structure){.pairs = s->pairs,
	                       .zero_pairs = s->zero_pairs,
	                       .l1 = s->ratio_min,
	                       .l2 = s->ratio_max,
	                       .m = de / dd,
	                       .b = e_mean - de / dd * d_mean,
	                       .r2 = de * de / (dd * ee),
	                       .rmsd = sqrt(s->gap / pairs)};
	out->nrmsd = out->rmsd / (s->d_max - s->d_min);
	out->cvrmsd = out->rmsd / d_mean;
	return INVAR_OK;
}

/* ---- The whole ------------------------------------------------------------------- */

invar_status inv_structure_measure(const invar_context *ctx, const float *x, uint32_t d,
                                   const float *e, uint32_t w, uint64_t n,
                                   inv_structure *out)
{
	structure_job j = {.in = {{x, d}, {e, w}}, .n = n, .ranks = 1};
	double products = (double)n * (double)n / 2 * ((double)d + (double)w);
	size_t bands = inv_blocks(n, BAND);
	inv_pair_sums total = {.d_min = INFINITY, .ratio_min = INFINITY};
	inv_pool scratch = {0};
	invar_status st;

	*out = (inv_structure){0};
	if (n < 2)
		return inv_fail(INVAR_E_USE, "structure needs at least 2 rows, but there is %s",
		                n ? "only 1" : "none");
	if (products >= INV_WORTH_DEALING) {
		j.rank = inv_process_rank(ctx);
		j.ranks = inv_process_count(ctx);
	}
	j.per_rank = inv_blocks(bands, j.ranks);
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &j.sums, j.ranks * j.per_rank));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &j.scratch, ctx->threads));
	for (unsigned t = 0; t < ctx->threads; t++)
		for (int which = 0; which < 2; which++) {
			size_t width = j.in[which].width;
			band_scratch *s = &j.scratch[t];

			INV_TRY_OR(end, inv_pool_zeros(&scratch, &s->packed[which], STRIP * width));
			INV_TRY_OR(end,
			           inv_pool_zeros(&scratch, &s->edge[which], INV_PAIR_ROWS * width));
		}

	inv_kernels_init(&j.kernels, ctx->cpu);
	for (int i = 0; i < 2; i++)
		j.shift[i] = shift_of(&j.in[i], n);
	INV_TRY_OR(end, measure_bands(ctx, &j));
	for (size_t band = 0; band < bands; band++)
		add_pair_sums(sums_of(&j, band), &total);
	st = conclude_structure(&j, &total, out);
end:
	inv_pool_free(&scratch);
	return st;
}

invar_status inv_structure_try(const invar_context *ctx, const float *x, uint32_t d,
                               const float *e, uint32_t w, uint64_t n, inv_structure *out)
{
	invar_status st = inv_structure_measure(ctx, x, d, e, w, n, out);

	if (!inv_is_unmeasurable(st))
		return st;
	*out = (inv_structure){.l1 = NAN,
	                       .l2 = NAN,
	                       .m = NAN,
	                       .b = NAN,
	                       .r2 = NAN,
	                       .rmsd = NAN,
	                       .nrmsd = NAN,
	                       .cvrmsd = NAN};
	return INVAR_OK;
}
