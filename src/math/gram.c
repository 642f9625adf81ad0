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

invar_status inv_gram_new(const invar_context *ctx, size_t m, size_t k, inv_gram **out)
{
	size_t side = inv_blocks(m, TILE), count = side * (side + 1) / 2;
	size_t bytes = sizeof(inv_gram) + count * sizeof(tile);
	inv_gram *p;

	*out = NULL;
	INV_TRY(inv_openblas_need_for(ctx));
	INV_TRY(inv_check_memory(*out = p = inv_calloc(1, bytes), bytes));
	inv_kernels_init(&p->kernels, ctx->cpu);
	p->ctx = ctx;
	p->m = m;
	p->k = k;
	for (size_t row = 0; row < m; row += TILE)
		for (size_t col = row; col < m; col += TILE)
			p->tiles[p->count++] = (tile){row, m - row < TILE ? m - row : TILE, col,
			                              m - col < TILE ? m - col : TILE};
	return INVAR_OK;
}

static void gram_tile(void *user, size_t index, unsigned thread)
{
	const inv_gram *p = user;
	const tile *t = &p->tiles[index];
	const float *a = p->a + t->row * p->k, *b = p->a + t->col * p->k;
	float *c = p->c + t->row * p->m + t->col;

	(void)thread;
	if (p->ctx->cpu)
		inv_openblas_get()->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)t->rows,
		                          (int)t->cols, (int)p->k, 1, a, (int)p->k, b, (int)p->k, 0,
		                          c, (int)p->m);
	for (size_t i = 0; !p->ctx->cpu && i < t->rows; i++) /* the same in plain C */
		for (size_t j = 0; j < t->cols; j++) {
			float sum = 0;

			for (size_t l = 0; l < p->k; l++)
				sum += a[i * p->k + l] * b[j * p->k + l];
			c[i * p->m + j] = sum;
		}
	if (p->then)
		p->then(p->user, t->row, t->rows, t->col, t->cols);
	if (t->row != t->col)
		p->kernels.transpose(c, t->rows, t->cols, p->m, p->m,
		                     p->c + t->col * p->m + t->row);
	for (size_t i = 1; t->row == t->col && i < t->rows; i++)
		for (size_t j = 0; j < i; j++)
			c[i * p->m + j] = c[j * p->m + i];
}

void inv_gram_run(inv_gram *p, const float *a, float *c, inv_tile_fn *then, void *user)
{
	p->a = a;
	p->c = c;
	p->then = then;
	p->user = user;
	inv_parallel(p->ctx, p->count, gram_tile, p);
}

void inv_gram_free(inv_gram *p)
{
	inv_free(p);
}
