/* SPDX-License-Identifier: Apache-2.0 */
/* gram.c - the tiles of a symmetric product, one thread per tile. */
#include "math/gram.h"

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"
#include "math/openblas.h"

/* Tiles on the diagonal are computed whole: smaller ones waste less, larger ones run
 * faster. */
enum { TILE = 192 };

typedef struct tile {
	size_t row, rows, col, cols;
} tile;

struct inv_gram {
	const invar_context *ctx;
	struct inv_kernels kernels;
	size_t m, k, count;
	/* State of the current run: */
	const float *a;
	float *c;
	inv_tile_fn *then;
	void *user;
	tile tiles[];
};

static size_t at_most(size_t rest)
{
	return rest < TILE ? rest : TILE;
}

invar_status inv_gram_new(const invar_context *ctx, size_t m, size_t k, inv_gram **out)
{
	size_t side = inv_blocks(m, TILE), count = side * (side + 1) / 2;
	invar_status st = inv_openblas_need_for(ctx);
	inv_gram *p;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(p = inv_calloc(1, sizeof *p + count * sizeof *p->tiles)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a matrix product");
	*out = p;
	inv_kernels_init(&p->kernels, ctx->cpu);
	p->ctx = ctx;
	p->m = m;
	p->k = k;
	for (size_t row = 0; row < m; row += TILE)
		for (size_t col = row; col < m; col += TILE)
			p->tiles[p->count++] = (tile){row, at_most(m - row), col, at_most(m - col)};
	return INVAR_OK;
}

static void multiply(const inv_gram *p, const tile *t, float *c)
{
	inv_openblas_get()->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)t->rows,
	                          (int)t->cols, (int)p->k, 1, p->a + t->row * p->k, (int)p->k,
	                          p->a + t->col * p->k, (int)p->k, 0, c, (int)p->m);
}

static void multiply_ref(const inv_gram *p, const tile *t, float *c)
{
	for (size_t i = 0; i < t->rows; i++)
		for (size_t j = 0; j < t->cols; j++) {
			float sum = 0;

			for (size_t l = 0; l < p->k; l++)
				sum += p->a[(t->row + i) * p->k + l] * p->a[(t->col + j) * p->k + l];
			c[i * p->m + j] = sum;
		}
}

static void mirror_within(float *c, size_t side, size_t stride)
{
	for (size_t i = 1; i < side; i++)
		for (size_t j = 0; j < i; j++)
			c[i * stride + j] = c[j * stride + i];
}

static void run_tile(void *user, size_t index, unsigned thread)
{
	const inv_gram *p = user;
	const tile *t = &p->tiles[index];
	float *c = p->c + t->row * p->m + t->col;

	(void)thread;
	if (p->ctx->cpu)
		multiply(p, t, c);
	else
		multiply_ref(p, t, c);
	if (p->then)
		p->then(p->user, t->row, t->rows, t->col, t->cols);
	if (t->row == t->col)
		mirror_within(c, t->rows, p->m);
	else
		p->kernels.transpose(c, t->rows, t->cols, p->m, p->m,
		                     p->c + t->col * p->m + t->row);
}

void inv_gram_run_then(inv_gram *p, const float *a, float *c, inv_tile_fn *then, void *user)
{
	p->a = a;
	p->c = c;
	p->then = then;
	p->user = user;
	inv_parallel(p->ctx, p->count, run_tile, p);
}

void inv_gram_run(inv_gram *p, const float *a, float *c)
{
	inv_gram_run_then(p, a, c, NULL, NULL);
}

void inv_gram_free(inv_gram *p)
{
	inv_free(p);
}
