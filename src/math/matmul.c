/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c - products cut into tiles, each computed by one thread.
 *
 * The larger side of C is cut into about two tiles per core of the machine;
 * a product too small to be worth a second thread is one tile. Rows of a tile
 * are whole sums over k, so no partial results are ever added up in an order
 * that threads could change.
 *
 * Which library computes a tile (measured on one core of a Zen 3, README):
 * oneDNN is faster where it fuses bias and ReLU and where k is short, but drops to half its
 * speed on narrow tiles; OpenBLAS is faster on long sums and does not slow down there.
 */
#include "math/matmul.h"

#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/onednn.h"
#include "math/openblas.h"

enum {
	TILE_STEP = 16,  /* a tile's width is a multiple of a vector or two */
	SHORT_SUM = 512, /* k below which oneDNN is faster */
	LONG_SUM = 2048, /* k from which fusing the ReLU no longer pays off */
	NARROW = 384,    /* the side from which oneDNN keeps its speed */
	MAX_TILES = 64
};

static const double tile_work = 5e7; /* multiplications worth a separate thread */

typedef struct tile {
	size_t row, rows, col, cols;
	inv_onednn *onednn; /* NULL: OpenBLAS */
	invar_status status;
} tile;

struct inv_matmul {
	const invar_context *ctx;
	inv_matmul_spec spec;
	size_t count;
	tile tiles[MAX_TILES];
	/* State of the current run: */
	const float *a, *b, *bias;
	float *c;
	inv_tile_fn *then;
	void *user;
};

/* ---- Planning ----------------------------------------------------------------- */

static size_t lda_of(const inv_matmul_spec *s)
{
	return s->transpose_a ? s->m : s->k;
}

static size_t ldb_of(const inv_matmul_spec *s)
{
	return s->transpose_b ? s->k : s->n;
}

static size_t tile_count(const inv_matmul_spec *s)
{
	double work = (double)s->m * (double)s->n * (double)s->k;
	/* All cores of the machine, not those that this process may use: bits must not change.
	 */
	size_t wanted = 2 * (size_t)sysconf(_SC_NPROCESSORS_CONF);
	size_t worth = (size_t)(work / tile_work);

	if (wanted > MAX_TILES)
		wanted = MAX_TILES;
	return worth < 1 ? 1 : worth < wanted ? worth : wanted;
}

static bool suits_onednn(const inv_matmul_spec *s)
{
	size_t narrow = s->m < s->n ? s->m : s->n;

	return inv_onednn_usable() &&
	       (s->relu ? s->k < LONG_SUM : s->k < SHORT_SUM && narrow >= NARROW);
}

static inv_matmul_spec spec_of_tile(const inv_matmul_spec *s, const tile *t)
{
	inv_matmul_spec part = *s;

	part.m = t->rows;
	part.n = t->cols;
	return part;
}

static void cut(inv_matmul *p)
{
	const inv_matmul_spec *s = &p->spec;
	bool by_rows = s->m >= s->n;
	size_t side = by_rows ? s->m : s->n, parts = tile_count(s);
	size_t step = inv_blocks(inv_blocks(side, parts), TILE_STEP) * TILE_STEP;

	for (size_t at = 0; at < side; at += step) {
		size_t now = side - at < step ? side - at : step;

		p->tiles[p->count++] = by_rows ? (tile){.row = at, .rows = now, .cols = s->n}
		                               : (tile){.rows = s->m, .col = at, .cols = now};
	}
}

invar_status inv_matmul_new(const invar_context *ctx, const inv_matmul_spec *spec,
                            inv_matmul **out)
{
	invar_status st = inv_openblas_need_for(ctx);
	inv_matmul *p;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(p = inv_calloc(1, sizeof *p)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a matrix product");
	p->ctx = ctx;
	p->spec = *spec;
	cut(p);
	for (size_t i = 0; i < p->count && ctx->cpu && st == INVAR_OK; i++) {
		inv_matmul_spec part = spec_of_tile(spec, &p->tiles[i]);

		if (suits_onednn(&part))
			st = inv_onednn_new(&part, lda_of(spec), ldb_of(spec), spec->n,
			                    &p->tiles[i].onednn);
	}
	if (st != INVAR_OK) {
		inv_matmul_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_matmul_tiles(const inv_matmul *p)
{
	return p->count;
}

bool inv_matmul_tiles_are_columns(const inv_matmul *p)
{
	return p->tiles[0].rows == p->spec.m;
}

void inv_matmul_free(inv_matmul *p)
{
	for (size_t i = 0; p && i < p->count; i++)
		inv_onednn_free(p->tiles[i].onednn);
	inv_free(p);
}

/* ---- Running -------------------------------------------------------------------- */

static void add_bias_relu(const inv_matmul_spec *s, const float *bias, float *c, size_t ldc)
{
	for (size_t i = 0; i < s->m; i++) {
		float *row = c + i * ldc;

		for (size_t j = 0; s->bias && j < s->n; j++)
			row[j] += bias[j];
		for (size_t j = 0; s->relu && j < s->n; j++)
			row[j] = row[j] < 0 ? 0 : row[j]; /* NaN stays */
	}
}

static void run_openblas(const inv_matmul_spec *s, const float *a, size_t lda,
                         const float *b, size_t ldb, const float *bias, float *c,
                         size_t ldc)
{
	inv_openblas_get()->sgemm(CblasRowMajor, s->transpose_a ? CblasTrans : CblasNoTrans,
	                          s->transpose_b ? CblasTrans : CblasNoTrans, (int)s->m,
	                          (int)s->n, (int)s->k, 1, a, (int)lda, b, (int)ldb, 0, c,
	                          (int)ldc);
	add_bias_relu(s, bias, c, ldc);
}

static void run_tile(void *user, size_t index, unsigned thread)
{
	inv_matmul *p = user;
	const inv_matmul_spec *s = &p->spec;
	tile *t = &p->tiles[index];
	inv_matmul_spec part = spec_of_tile(s, t);
	const float *a = p->a + t->row * (s->transpose_a ? 1 : s->k);
	const float *b = p->b + t->col * (s->transpose_b ? s->k : 1);
	const float *bias = s->bias ? p->bias + t->col : NULL;
	float *c = p->c + t->row * s->n + t->col;

	(void)thread;
	t->status = INVAR_OK;
	if (t->onednn)
		t->status = inv_onednn_run(t->onednn, a, b, bias, c);
	else
		run_openblas(&part, a, lda_of(s), b, ldb_of(s), bias, c, s->n);
	if (p->then && t->status == INVAR_OK)
		p->then(p->user, t->row, t->rows, t->col, t->cols);
}

static invar_status run_plain(inv_matmul *p)
{
	inv_matmul_ref(&p->spec, p->a, p->b, p->bias, p->c);
	for (size_t i = 0; i < p->count && p->then; i++)
		p->then(p->user, p->tiles[i].row, p->tiles[i].rows, p->tiles[i].col,
		        p->tiles[i].cols);
	return INVAR_OK;
}

invar_status inv_matmul_run_then(inv_matmul *p, const float *a, const float *b,
                                 const float *bias, float *c, inv_tile_fn *then, void *user)
{
	p->a = a;
	p->b = b;
	p->bias = bias;
	p->c = c;
	p->then = then;
	p->user = user;
	if (!p->ctx->cpu)
		return run_plain(p);
	inv_parallel(p->ctx, p->count, run_tile, p);
	for (size_t i = 0; i < p->count; i++)
		if (p->tiles[i].status != INVAR_OK) /* the message is in the thread that failed */
			return inv_fail(p->tiles[i].status, "oneDNN failed to run a matrix product");
	return INVAR_OK;
}

invar_status inv_matmul_run(inv_matmul *p, const float *a, const float *b,
                            const float *bias, float *c)
{
	return inv_matmul_run_then(p, a, b, bias, c, NULL, NULL);
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
	int major, minor, patch;

	inv_onednn_version(&major, &minor, &patch);
	snprintf(text, bytes, "oneDNN %d.%d.%d, %.40s", major, minor, patch,
	         ready ? inv_openblas_get()->config() : "no OpenBLAS");
}
