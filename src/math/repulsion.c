/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repulsion.c - repulsion of all pairs of points by one convolution on a grid.
 *
 * K(r)^2 r is -1/2 of the gradient of K. So one potential, P(y) = sum_j K(y - y_j),
 * gives everything: F_i = -1/2 grad P(y_i), and Z = sum_i P(y_i) - n. (FIt-SNE, the
 * usual way, convolves four charges with two kernels.)
 *
 * The potential is a tensor product of quintic B-splines on an even grid: points are spread
 * onto the nodes with spline weights, the nodes are convolved with K, and value and slope
 * are read with the same weights and their derivatives. Splines of samples do not
 * interpolate, so K is first filtered by the inverse of the spline's own samples, once for
 * each side; the filter decays by 0.43 per node and is cut where it is below rounding.
 * Instead of K we convolve K - 1: while all points are close together, as at the start, K
 * is 1 up to some 1e-8, and this part is the one that matters.
 *
 * Points that are not on a torus would need a grid of twice the side in both directions.
 * Across, the sums wrap with a change of sign instead (x^2M = -1): for real data this is
 * one complex transform of M values after a twist, and wrapped sums of a kernel whose
 * wrapped half is negated are the plain ones. Down, the transform of 2M values whose second
 * half is zero is two transforms of M.
 *
 * A few points have no grid: all pairs of them are added one by one.
 *
 * Nodes are SPACING apart, closer where all points fit the smallest grid. K filtered and
 * transformed is kept until side or spacing change; both come from ladders, so that they
 * seldom do.
 *
 * Order of sums: points are sorted into bands of rows, in the order of points; a band adds
 * to nodes of its own, and the overlap of two bands is added in their order.
 */
#include "math/repulsion.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"

enum {
	LANES = INV_LANES,
	TAPS = INV_SPLINE_TAPS,
	WIDE = INV_SPLINE_WIDE,
	BAND = 8,                /* rows of nodes */
	STRIP = BAND + TAPS - 1, /* rows that the points of a band touch */
	REACH = 48,              /* of the inverse filter, in nodes */
	SMALLEST = 128,
	LARGEST = 2048,
	FEW = 256 /* points: all pairs take less time than the smallest grid */
};

static const double pi = 3.14159265358979323846;
static const double spacing = 0.35;
static const double farthest = 1e4; /* beyond, even the largest grid sees nothing */

struct inv_repulsion {
	const invar_context *ctx;
	struct inv_kernels kernels;
	size_t n, M, stride;
	double h, low[2];  /* of the nodes: spacing, where they begin */
	uint32_t *order;   /* [n] points by band */
	size_t *bands;     /* [LARGEST / BAND + 1] where each band begins */
	double *sums;      /* [LARGEST / BAND] of the potential, by band */
	inv_arena arena;   /* of the grid: */
	double *strips;    /* [M / BAND][STRIP][stride] */
	double *potential; /* [M][stride] */
	double *spectrum;  /* [M][M / LANES][re, im][LANES] */
	double *kernel;    /* [M / LANES][even, odd][M][re, im][LANES] */
	double *roots, *twist_across, *twist_down; /* [M][re, im] */
	double *scratch;                           /* [threads][2][M][re, im][LANES] */
	const float *y;                            /* of the running call */
	double *force;
};

static double *scratch_of(const inv_repulsion *p, unsigned thread)
{
	return p->scratch + (size_t)thread * 4 * p->M * LANES;
}

/* The definition: every pair of points. */
void inv_repulsion_ref(const float *y, size_t n, double *force, double *z)
{
	*z = 0;
	for (size_t i = 0; i < n; i++) {
		double f[2] = {0, 0};

		for (size_t j = 0; j < n; j++) {
			double dx = (double)y[2 * i] - y[2 * j];
			double dy = (double)y[2 * i + 1] - y[2 * j + 1];
			double k = 1 / (1 + dx * dx + dy * dy);

			*z += i == j ? 0 : k;
			f[0] += k * k * dx;
			f[1] += k * k * dy;
		}
		force[2 * i] = f[0];
		force[2 * i + 1] = f[1];
	}
}

/* ---- Splines ------------------------------------------------------------------------ */

/* The spline of point i; *row and *column are its first node. */
static void find_spline(const inv_repulsion *p, size_t i, inv_spline *s, size_t *row,
                        size_t *column)
{
	double u = (p->y[2 * i] - p->low[0]) / p->h, v = (p->y[2 * i + 1] - p->low[1]) / p->h;

	*column = (size_t)u;
	*row = (size_t)v;
	p->kernels.spline_weights(u - (double)*column, s->across, s->across_slope);
	p->kernels.spline_weights(v - (double)*row, s->down, s->down_slope);
}

/* ---- The kernel on the grid ------------------------------------------------------ */

typedef struct kernel_job {
	inv_repulsion *p;
	double filter[REACH + 1]; /* f[j] for |j| <= REACH */
	double *across;           /* [M + REACH][M]: K - 1, filtered across */
	double *both;             /* [M][M]: and down */
} kernel_job;

static void filter_across(void *user, size_t row, unsigned thread)
{
	const kernel_job *j = user;
	size_t M = j->p->M;
	double *k = scratch_of(j->p, thread); /* values from column -REACH on */

	for (size_t c = 0; c < M + 2 * REACH; c++) {
		double dx = j->p->h * (double)(c < REACH ? REACH - c : c - REACH);
		double dy = j->p->h * (double)row, square = dx * dx + dy * dy;

		k[c] = -square / (1 + square); /* K - 1 */
	}
	for (size_t c = 0; c < M; c++) {
		const double *at = k + c + REACH;
		double sum = j->filter[0] * at[0];

		for (size_t a = 1; a <= REACH; a++)
			sum += j->filter[a] * (at[a] + *(at - a));
		j->across[row * M + c] = sum;
	}
}

static void filter_down(void *user, size_t row, unsigned thread)
{
	const kernel_job *j = user;
	size_t M = j->p->M;
	double *out = j->both + row * M;

	(void)thread;
	for (size_t c = 0; c < M; c++)
		out[c] = j->filter[0] * j->across[row * M + c];
	for (size_t a = 1; a <= REACH; a++) {
		const double *below = j->across + (row + a) * M;
		const double *above = j->across + (row < a ? a - row : row - a) * M;

		for (size_t c = 0; c < M; c++)
			out[c] += j->filter[a] * (below[c] + above[c]);
	}
}

/* LANES rows that were transformed, x [M][re, im][LANES], go to their places. */
static void store_rows(const inv_repulsion *p, size_t first, const double *x)
{
	for (size_t l = 0; l < LANES; l++) {
		double *row = p->spectrum + (first + l) * 2 * p->M;

		for (size_t m = 0; m < p->M; m++) {
			double *at = row + m / LANES * 2 * LANES + m % LANES;

			at[0] = x[2 * m * LANES + l];
			at[LANES] = x[(2 * m + 1) * LANES + l];
		}
	}
}

static void set_turned(double re, double im, const double *root, double *at)
{
	at[0] = re * root[0] - im * root[1];
	at[LANES] = re * root[1] + im * root[0];
}

/* Rows of the kernel: k(-c) stands at 2M - c, negated, and x^M = -i. */
static void transform_kernel_rows(void *user, size_t block, unsigned thread)
{
	const kernel_job *j = user;
	const inv_repulsion *p = j->p;
	double *x = scratch_of(p, thread);

	for (size_t l = 0; l < LANES; l++) {
		const double *k = j->both + (block * LANES + l) * p->M;

		for (size_t m = 0; m < p->M; m++)
			set_turned(k[m], m ? k[p->M - m] : 0, p->twist_across + 2 * m,
			           x + 2 * m * LANES + l);
	}
	p->kernels.fft(p->M, p->roots, x);
	store_rows(p, block * LANES, x);
}

/* Columns of the kernel: k(-r) stands at 2M - r. The factor undoes what fft_back adds. */
static void transform_kernel_columns(void *user, size_t block, unsigned thread)
{
	const kernel_job *j = user;
	const inv_repulsion *p = j->p;
	size_t M = p->M, step = 2 * LANES;
	double *even = p->kernel + block * 2 * M * step, *odd = even + M * step;
	double scale = 1 / (2 * (double)M * (double)M);

	(void)thread;
	for (size_t m = 0; m < M; m++) {
		const double *low = p->spectrum + m * 2 * M + block * step;
		const double *high = p->spectrum + (M - m) % M * 2 * M + block * step;
		double mirror = m ? scale : 0;

		for (size_t l = 0; l < LANES; l++) {
			double re = mirror * high[l], im = mirror * high[LANES + l];

			even[m * step + l] = scale * low[l] + re;
			even[m * step + LANES + l] = scale * low[LANES + l] + im;
			set_turned(scale * low[l] - re, scale * low[LANES + l] - im,
			           p->twist_down + 2 * m, odd + m * step + l);
		}
	}
	p->kernels.fft(M, p->roots, even);
	p->kernels.fft(M, p->roots, odd);
}

static invar_status make_kernel(inv_repulsion *p)
{
	enum { PERIOD = 512 };
	size_t M = p->M;
	kernel_job j = {.p = p};
	invar_status st;

	INV_TRY_OR(done, inv_new_array(&j.across, (M + REACH) * M));
	INV_TRY_OR(done, inv_new_array(&j.both, M * M));
	/* The inverse of the spline's samples, applied twice. */
	for (size_t a = 0; a <= REACH; a++)
		for (size_t k = 0; k < PERIOD; k++) {
			double angle = 2 * pi * (double)k / PERIOD;
			double samples = (66 + 52 * cos(angle) + 2 * cos(2 * angle)) / 120;

			j.filter[a] += cos(angle * (double)a) / (samples * samples) / PERIOD;
		}
	inv_parallel(p->ctx, M + REACH, filter_across, &j);
	inv_parallel(p->ctx, M, filter_down, &j);
	inv_parallel(p->ctx, M / LANES, transform_kernel_rows, &j);
	inv_parallel(p->ctx, M / LANES, transform_kernel_columns, &j);
done:
	inv_free(j.across);
	inv_free(j.both);
	return st;
}

/* ---- Size and place of the grid --------------------------------------------------- */

static invar_status allocate_grid(inv_repulsion *p)
{
	inv_arena *a = &p->arena;
	size_t M = p->M;

	inv_arena_free(a);
	*a = (inv_arena){0};
	p->stride = M + WIDE;
	for (int round = 0; round < 2; round++) {
		p->strips = inv_arena_take(a, M / BAND * STRIP * p->stride, sizeof(double));
		p->potential = inv_arena_take(a, M * p->stride, sizeof(double));
		p->spectrum = inv_arena_take(a, 2 * M * M, sizeof(double));
		p->kernel = inv_arena_take(a, 4 * M * M, sizeof(double));
		p->roots = inv_arena_take(a, 2 * M, sizeof(double));
		p->twist_across = inv_arena_take(a, 2 * M, sizeof(double));
		p->twist_down = inv_arena_take(a, 2 * M, sizeof(double));
		p->scratch = inv_arena_take(a, p->ctx->threads, 4 * M * LANES * sizeof(double));
		if (!round)
			INV_TRY(inv_arena_commit(a));
	}
	memset(p->potential, 0, M * p->stride * sizeof *p->potential);
	for (size_t m = 0; m < M; m++) {
		double fraction = (double)m / (double)M;

		p->roots[2 * m] = cos(2 * pi * fraction);
		p->roots[2 * m + 1] = -sin(2 * pi * fraction);
		p->twist_down[2 * m] = cos(pi * fraction);
		p->twist_down[2 * m + 1] = -sin(pi * fraction);
		p->twist_across[2 * m] = cos(pi / 2 * fraction);
		p->twist_across[2 * m + 1] = -sin(pi / 2 * fraction);
	}
	return INVAR_OK;
}

static invar_status place_grid(inv_repulsion *p, double span)
{
	double h = spacing;
	size_t M = SMALLEST; /* the least side of 2^a or 3 2^a nodes that holds them */
	invar_status st;

	while (M < LARGEST && (double)M < span / h + TAPS + 1)
		M = M % 3 ? M / 2 * 3 : M / 3 * 4;
	while (M == SMALLEST && span / (h / 2) + TAPS + 1 <= (double)M && h > 1e-20)
		h /= 2;
	while (span / h + TAPS + 1 > (double)M) /* sparse, and larger than the largest */
		h *= 1.125;
	if (M == p->M && h == p->h)
		return INVAR_OK;
	p->h = h;
	if (M != p->M) {
		p->M = M;
		if ((st = allocate_grid(p)) != INVAR_OK) {
			p->M = 0;
			return st;
		}
	}
	if ((st = make_kernel(p)) != INVAR_OK)
		p->h = 0;
	return st;
}

/* Points by band, in their order: count, then place. */
static void sort_points(inv_repulsion *p)
{
	size_t bands = p->M / BAND, begin = 0;

	memset(p->bands, 0, (bands + 1) * sizeof *p->bands);
	for (size_t i = 0; i < p->n; i++)
		p->bands[(size_t)((p->y[2 * i + 1] - p->low[1]) / p->h) / BAND]++;
	for (size_t b = 0; b <= bands; b++) {
		size_t count = p->bands[b];

		p->bands[b] = begin;
		begin += count;
	}
	for (size_t i = 0; i < p->n; i++)
		p->order[p->bands[(size_t)((p->y[2 * i + 1] - p->low[1]) / p->h) / BAND]++] =
			(uint32_t)i;
	for (size_t b = bands; b > 0; b--)
		p->bands[b] = p->bands[b - 1];
	p->bands[0] = 0;
}

/* ---- The convolution ---------------------------------------------------------------- */

static void spread_band(void *user, size_t band, unsigned thread)
{
	const inv_repulsion *p = user;
	double *strip = p->strips + band * STRIP * p->stride;

	(void)thread;
	memset(strip, 0, STRIP * p->stride * sizeof *strip);
	for (size_t k = p->bands[band]; k < p->bands[band + 1]; k++) {
		inv_spline s;
		size_t row, column;

		find_spline(p, p->order[k], &s, &row, &column);
		p->kernels.spread_spline(&s, strip + row % BAND * p->stride + column, p->stride);
	}
}

static void forward_rows(void *user, size_t block, unsigned thread)
{
	const inv_repulsion *p = user;
	double *x = scratch_of(p, thread);

	for (size_t l = 0; l < LANES; l++) {
		size_t row = block * LANES + l, band = row / BAND, at = row % BAND;
		const double *own = p->strips + (band * STRIP + at) * p->stride;
		const double *before = own - (STRIP - BAND) * p->stride; /* row BAND + at */
		bool both = band && at + BAND < STRIP;

		for (size_t m = 0; m < p->M; m++) {
			double charge = both ? before[m] + own[m] : own[m];

			x[2 * m * LANES + l] = charge * p->twist_across[2 * m];
			x[(2 * m + 1) * LANES + l] = charge * p->twist_across[2 * m + 1];
		}
	}
	p->kernels.fft(p->M, p->roots, x);
	store_rows(p, block * LANES, x);
}

/* LANES columns: forward, times the kernel, back. */
static void convolve_columns(void *user, size_t block, unsigned thread)
{
	const inv_repulsion *p = user;
	size_t M = p->M, step = 2 * LANES;
	double *even = scratch_of(p, thread), *odd = even + M * step;

	for (size_t m = 0; m < M; m++) {
		const double *at = p->spectrum + m * 2 * M + block * step;

		memcpy(even + m * step, at, step * sizeof *at);
		for (size_t l = 0; l < LANES; l++)
			set_turned(at[l], at[LANES + l], p->twist_down + 2 * m, odd + m * step + l);
	}
	p->kernels.fft(M, p->roots, even);
	p->kernels.fft(M, p->roots, odd);
	p->kernels.multiply_spectra(p->kernel + block * 2 * M * step, 2 * M, even);
	p->kernels.fft_back(M, p->roots, even);
	p->kernels.fft_back(M, p->roots, odd);
	for (size_t m = 0; m < M; m++) {
		double *at = p->spectrum + m * 2 * M + block * step;
		const double *root = p->twist_down + 2 * m;

		for (size_t l = 0; l < LANES; l++) {
			double re = odd[m * step + l], im = odd[m * step + LANES + l];

			at[l] = even[m * step + l] + (re * root[0] + im * root[1]);
			at[LANES + l] = even[m * step + LANES + l] + (im * root[0] - re * root[1]);
		}
	}
}

static void rows_back(void *user, size_t block, unsigned thread)
{
	const inv_repulsion *p = user;
	double *x = scratch_of(p, thread);
	size_t M = p->M;

	for (size_t l = 0; l < LANES; l++) {
		const double *row = p->spectrum + (block * LANES + l) * 2 * M;

		for (size_t m = 0; m < M; m++) {
			const double *at = row + m / LANES * 2 * LANES + m % LANES;

			x[2 * m * LANES + l] = at[0];
			x[(2 * m + 1) * LANES + l] = at[LANES];
		}
	}
	p->kernels.fft_back(M, p->roots, x);
	for (size_t l = 0; l < LANES; l++) {
		double *row = p->potential + (block * LANES + l) * p->stride;

		for (size_t m = 0; m < M; m++)
			row[m] = x[2 * m * LANES + l] * p->twist_across[2 * m] +
			         x[(2 * m + 1) * LANES + l] * p->twist_across[2 * m + 1];
	}
}

static void gather_band(void *user, size_t band, unsigned thread)
{
	const inv_repulsion *p = user;
	double sum = 0, half = -0.5 / p->h;

	(void)thread;
	for (size_t k = p->bands[band]; k < p->bands[band + 1]; k++) {
		size_t i = p->order[k], row, column;
		double found[3];
		inv_spline s;

		find_spline(p, i, &s, &row, &column);
		p->kernels.gather_spline(&s, p->potential + row * p->stride + column, p->stride,
		                         found);
		sum += found[0] + (double)(p->n - 1); /* K - 1 was convolved; not with itself */
		p->force[2 * i] = half * found[1];
		p->force[2 * i + 1] = half * found[2];
	}
	p->sums[band] = sum;
}

invar_status inv_repulsion_find(inv_repulsion *p, const float *y, double *force, double *z)
{
	float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
	double span, sum = 0;

	p->y = y;
	p->force = force;
	for (size_t i = 0; i < 2 * p->n; i++) {
		low[i % 2] = fminf(low[i % 2], y[i]);
		high[i % 2] = fmaxf(high[i % 2], y[i]);
		sum += y[i];
	}
	span = fmax((double)high[0] - low[0], (double)high[1] - low[1]);
	if (!isfinite(sum) || span > farthest)
		return inv_fail(INVAR_E_NUMERIC,
		                "points of the plane are not finite or more than %g apart",
		                farthest);
	p->low[0] = low[0];
	p->low[1] = low[1];
	if (p->n <= FEW) {
		inv_repulsion_ref(y, p->n, force, z);
		return INVAR_OK;
	}
	INV_TRY(place_grid(p, span));
	sort_points(p);
	inv_parallel(p->ctx, p->M / BAND, spread_band, p);
	inv_parallel(p->ctx, p->M / LANES, forward_rows, p);
	inv_parallel(p->ctx, p->M / LANES, convolve_columns, p);
	inv_parallel(p->ctx, p->M / LANES, rows_back, p);
	inv_parallel(p->ctx, p->M / BAND, gather_band, p);
	*z = inv_sum_in_order(p->sums, p->M / BAND);
	return INVAR_OK;
}

/* ---- Making and freeing ----------------------------------------------------------- */

invar_status inv_repulsion_new(const invar_context *ctx, size_t n, inv_repulsion **out)
{
	inv_repulsion *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->n = n;
	inv_kernels_init(&p->kernels, ctx->cpu);
	INV_TRY_OR(fail, inv_new_zeros(&p->order, n));
	INV_TRY_OR(fail, inv_new_zeros(&p->bands, LARGEST / BAND + 1));
	INV_TRY_OR(fail, inv_new_zeros(&p->sums, LARGEST / BAND));
	*out = p;
	return INVAR_OK;
fail:
	inv_repulsion_free(p);
	return st;
}

void inv_repulsion_free(inv_repulsion *p)
{
	if (!p)
		return;
	inv_arena_free(&p->arena);
	inv_free(p->order);
	inv_free(p->bands);
	inv_free(p->sums);
	inv_free(p);
}
