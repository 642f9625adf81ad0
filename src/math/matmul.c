/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c - products cut into tiles, each computed by one thread.
 *
 * The larger side of C is cut into about two tiles per thread, or per core of the machine
 * where OpenBLAS computes them; a product too small to be worth a second thread is one
 * tile. Rows of a tile are whole sums over k, so no partial results are ever added up in an
 * order that threads could change. Of our own tiles, those that are cut by rows share the
 * panels of B; those that are cut by columns pack the rows of A, the smaller operand, once
 * each.
 */
#include "math/matmul.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/openblas.h"
#include "math/packed.h"

enum {
	TILE_STEP = 16, /* a tile's width is a multiple of a vector or two */
	MIN_ROWS = 6,   /* sides from which packing pays off without bias and ReLU */
	MIN_COLS = 16,
	GROUP = 2 * INV_PANEL_COLS, /* columns whose panels are made at once */
	MAX_TILES = 64
};

static const double tile_work = 5e7;   /* multiplications worth a separate thread */
static const double packed_work = 1e5; /* worth packing */

typedef struct tile {
	size_t row, rows, col, cols;
} tile;

struct inv_matmul {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_matmul_spec spec;
	bool packed; /* our own kernels */
	size_t count;
	tile tiles[MAX_TILES];
	inv_arena arena; /* scratch memory, if it has its own */
	float *scratch;  /* the panels of B, if tiles share them, then [threads, room] */
	size_t room;
	bool shares;
	inv_panels panels;
	/* State of the current run: */
	const float *a, *b, *bias;
	float *c;
	const float *mask; /* NULL: none */
	float *sums;
	inv_part_fn *take; /* NULL: c is kept */
	void *user;
};

/* ---- The plain loop, summing in double ------------------------------------------- */

void inv_matmul_ref(const inv_matmul_spec *s, const float *a, const float *b,
                    const float *bias, float *c)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			double sum = 0;
			float y;

			for (size_t l = 0; l < s->k; l++)
				sum += (double)(s->transpose_a ? a[l * s->m + i] : a[i * s->k + l]) *
				       (s->transpose_b ? b[j * s->k + l] : b[l * s->n + j]);
			y = (float)sum + (s->bias ? bias[j] : 0);
			y += s->add ? c[i * s->n + j] : 0;
			c[i * s->n + j] = s->relu && y < 0 ? 0 : y;
		}
}

/* ---- Planning ----------------------------------------------------------------- */

static size_t lda_of(const inv_matmul_spec *s)
{
	return s->transpose_a ? s->m : s->k;
}

static size_t ldb_of(const inv_matmul_spec *s)
{
	return s->transpose_b ? s->k : s->n;
}

static double work_of(const inv_matmul_spec *s)
{
	return (double)s->m * (double)s->n * (double)s->k;
}

bool inv_matmul_is_packed(const invar_context *ctx, const inv_matmul_spec *s)
{
	return (ctx->cpu & INV_CPU_PANELS) &&
	       (s->relu || (s->m >= MIN_ROWS && s->n >= MIN_COLS && work_of(s) >= packed_work));
}

invar_status inv_matmul_new(const invar_context *ctx, const inv_matmul_spec *spec,
                            inv_matmul **out)
{
	const size_t m = spec->m, n = spec->n, k = spec->k, side = m >= n ? m : n;
	const bool by_rows = m >= n, packed = inv_matmul_is_packed(ctx, spec);
	/* All cores of the machine, not only those of this process: bits must not change. */
	size_t cores = packed ? ctx->threads : (size_t)sysconf(_SC_NPROCESSORS_CONF);
	size_t wanted = 2 * cores < MAX_TILES ? 2 * cores : MAX_TILES;
	size_t worth = (size_t)(work_of(spec) / tile_work);
	size_t tiles = worth < 1 ? 1 : worth < wanted ? worth : wanted;
	size_t unit = packed && by_rows ? INV_STRIP_ROWS : TILE_STEP;
	size_t step = inv_blocks(inv_blocks(side, tiles), unit) * unit;
	inv_matmul *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	inv_kernels_init(&p->kernels, ctx->cpu);
	p->ctx = ctx;
	p->spec = *spec;
	p->packed = packed;
	for (size_t at = 0; at < side; at += step) {
		size_t now = side - at < step ? side - at : step;

		p->tiles[p->count++] = by_rows ? (tile){.row = at, .rows = now, .cols = n}
		                               : (tile){.rows = m, .col = at, .cols = now};
	}
	if (packed) {
		const tile *first = p->tiles; /* no other is larger */
		uint64_t floats;

		p->shares = first->cols == n;
		p->room = inv_packed_room(first->rows, first->cols, k, p->shares);
		floats =
			(uint64_t)ctx->threads * p->room + (p->shares ? inv_panels_floats(k, n) : 0);
		inv_arena_take(&p->arena, floats, sizeof(float));
		INV_TRY_OR(fail, inv_arena_commit(&p->arena));
		p->scratch = inv_arena_take(&p->arena, floats, sizeof(float));
	} else {
		INV_TRY_OR(fail, inv_openblas_need_for(ctx));
	}
	*out = p;
	return INVAR_OK;
fail:
	inv_matmul_free(p);
	return st;
}

/* Does one thread compute all rows of a column, from the first to the last? */
static bool tiles_are_columns(const inv_matmul *p)
{
	return p->tiles[0].rows == p->spec.m;
}

size_t inv_matmul_memory(const inv_matmul *p)
{
	return p->arena.size;
}

void inv_matmul_share(inv_matmul *const *plans, size_t count)
{
	inv_matmul *most = NULL;

	for (size_t i = 0; i < count; i++)
		if (plans[i] && (!most || plans[i]->arena.size > most->arena.size))
			most = plans[i];
	for (size_t i = 0; i < count; i++)
		if (plans[i] && plans[i] != most) {
			inv_arena_free(&plans[i]->arena);
			plans[i]->scratch = most->scratch;
		}
}

void inv_matmul_free(inv_matmul *p)
{
	if (!p)
		return;
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

static void run_openblas(const inv_matmul_spec *s, const float *a, size_t lda,
                         const float *b, size_t ldb, const float *bias, float *c,
                         size_t ldc)
{
	inv_openblas_get()->sgemm(CblasRowMajor, s->transpose_a ? CblasTrans : CblasNoTrans,
	                          s->transpose_b ? CblasTrans : CblasNoTrans, (int)s->m,
	                          (int)s->n, (int)s->k, 1, a, (int)lda, b, (int)ldb,
	                          s->add ? 1 : 0, c, (int)ldc);
	for (size_t i = 0; i < s->m; i++) {
		float *row = c + i * ldc;

		for (size_t j = 0; s->bias && j < s->n; j++)
			row[j] += bias[j];
		for (size_t j = 0; s->relu && j < s->n; j++)
			row[j] = row[j] < 0 ? 0 : row[j]; /* NaN stays */
	}
}

/* After a tile that OpenBLAS computed, or the loop. */
static void follow_tile(const inv_matmul *p, const tile *t, float *c)
{
	if (p->take)
		p->take(p->user, c, p->spec.n, t->row, t->rows, t->col, t->cols);
	else if (p->mask && tiles_are_columns(p))
		p->kernels.relu_backward(p->mask + t->col, t->rows, t->cols, p->spec.n, c,
		                         p->sums + t->col);
}

static void fill_group(void *user, size_t group, unsigned thread)
{
	const inv_matmul *p = user;
	const inv_matmul_spec *s = &p->spec;
	size_t first = group * GROUP, cols = s->n - first < GROUP ? s->n - first : GROUP;
	inv_panels panels = inv_panels_columns(&p->panels, first, cols);

	(void)thread;
	if (s->transpose_b)
		inv_panels_fill_turned(&p->kernels, &panels, p->b + first * s->k, s->k);
	else
		inv_panels_fill(&p->kernels, &panels, p->b + first, s->n);
}

typedef struct follow_up {
	const inv_matmul *p;
	const tile *t;
} follow_up;

/* After some rows and columns of a packed tile. */
static void hand_over(void *user, const float *c, size_t stride, size_t row, size_t rows,
                      size_t col, size_t cols)
{
	const follow_up *f = user;

	f->p->take(f->p->user, c, stride, f->t->row + row, rows, f->t->col + col, cols);
}

static void run_packed(void *user, size_t index, unsigned thread)
{
	const inv_matmul *p = user;
	const inv_matmul_spec *s = &p->spec;
	size_t before = p->shares ? inv_panels_floats(s->k, s->n) : 0;
	const tile *t = &p->tiles[index];
	follow_up next = {p, t};
	bool masked = p->mask && tiles_are_columns(p);
	const inv_packed_tile packed = {
		.kernels = &p->kernels,
		.m = t->rows,
		.n = t->cols,
		.k = s->k,
		.a = p->a + t->row * (s->transpose_a ? 1 : s->k),
		.b = p->b + t->col * (s->transpose_b ? s->k : 1),
		.a_stride = lda_of(s),
		.b_stride = ldb_of(s),
		.turned_a = s->transpose_a,
		.turned_b = s->transpose_b,
		.add = s->add,
		.bias = s->bias ? p->bias + t->col : NULL,
		.relu = s->relu,
		.mask = masked ? p->mask + t->col : NULL,
		.column_sums = masked ? p->sums + t->col : NULL,
		.panels = p->shares ? &p->panels : NULL,
		.c = p->take ? NULL : p->c + t->row * s->n + t->col,
		.c_stride = s->n,
		.then = p->take ? hand_over : NULL,
		.user = &next,
	};

	inv_packed_multiply(&packed, p->scratch + before + thread * p->room);
}

static void run_with_openblas(void *user, size_t index, unsigned thread)
{
	const inv_matmul *p = user;
	const inv_matmul_spec *s = &p->spec;
	const tile *t = &p->tiles[index];
	inv_matmul_spec one = *s;
	const float *a = p->a + t->row * (s->transpose_a ? 1 : s->k);
	const float *b = p->b + t->col * (s->transpose_b ? s->k : 1);
	const float *bias = s->bias ? p->bias + t->col : NULL;
	float *c = p->c + t->row * s->n + t->col;

	(void)thread;
	one.m = t->rows;
	one.n = t->cols;
	run_openblas(&one, a, lda_of(s), b, ldb_of(s), bias, c, s->n);
	follow_tile(p, t, c);
}

static invar_status run_tiles(inv_matmul *p, const float *a, const float *b,
                              const float *bias, float *c)
{
	p->a = a;
	p->b = b;
	p->bias = bias;
	p->c = c;
	if (!p->ctx->cpu) {
		inv_matmul_ref(&p->spec, a, b, bias, c);
		for (size_t i = 0; i < p->count; i++)
			follow_tile(p, &p->tiles[i], c + p->tiles[i].row * p->spec.n + p->tiles[i].col);
		return INVAR_OK;
	}
	if (p->packed && p->shares) {
		p->panels = inv_panels_of(p->spec.k, p->spec.n, p->scratch);
		inv_parallel(p->ctx, inv_blocks(p->spec.n, GROUP), fill_group, p);
	}
	inv_parallel(p->ctx, p->count, p->packed ? run_packed : run_with_openblas, p);
	return INVAR_OK;
}

invar_status inv_matmul_run(inv_matmul *p, const float *a, const float *b,
                            const float *bias, float *c)
{
	p->mask = NULL;
	p->take = NULL;
	return run_tiles(p, a, b, bias, c);
}

invar_status inv_matmul_run_masked(inv_matmul *p, const float *a, const float *b,
                                   const float *mask, float *c, float *sums)
{
	const inv_matmul_spec *s = &p->spec;

	assert(!s->bias && !s->relu && !s->add);
	p->mask = mask;
	p->sums = sums;
	p->take = NULL;
	INV_TRY(run_tiles(p, a, b, NULL, c));
	if (!tiles_are_columns(p)) /* the sums of some rows would not do */
		p->kernels.relu_backward(mask, s->m, s->n, s->n, c, sums);
	return INVAR_OK;
}

invar_status inv_matmul_run_parts(inv_matmul *p, const float *a, const float *b, float *c,
                                  inv_part_fn *take, void *user)
{
	assert(!p->spec.bias && !p->spec.relu && !p->spec.add);
	p->mask = NULL;
	p->take = take;
	p->user = user;
	return run_tiles(p, a, b, NULL, c);
}

void inv_gemm(const invar_context *ctx, const inv_matmul_spec *s, const float *a,
              const float *b, const float *bias, float *c)
{
	if (ctx->cpu)
		run_openblas(s, a, lda_of(s), b, ldb_of(s), bias, c, s->n);
	else
		inv_matmul_ref(s, a, b, bias, c);
}

void inv_matmul_version(char *text, size_t bytes)
{
	bool ready = inv_openblas_need(1) == INVAR_OK;

	snprintf(text, bytes, "own panels, %.40s",
	         ready ? inv_openblas_get()->config() : "no OpenBLAS");
}
