/* SPDX-License-Identifier: Apache-2.0 */
/* compose.c - see compose.h. */
#include "adapter/compose.h"

#include <string.h>

#include "base/memory.h"
#include "math/kernels.h"
#include "math/linalg.h"
#include "math/openblas.h"

struct inv_composition {
	const invar_context *ctx;
	size_t d, w, h; /* h: hidden units so far, without those for L */
	double *L, *t;  /* [d, w], [w] */
	float *W, *b;   /* [units, d], [units] */
	double *V;      /* [units, w] */
};

/* The blocks of an adapter. */
typedef struct layers {
	const float *W0, *b0, *W2, *b2;
} layers;

static layers layers_of(const inv_mlp_form *e)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	inv_mlp_layout(e->s, blocks);
	return (layers){e->params + blocks[0].offset, e->params + blocks[1].offset,
	                e->params + blocks[2].offset, e->params + blocks[3].offset};
}

/* ---- Making and freeing ----------------------------------------------------------- */

invar_status inv_composition_new(const invar_context *ctx, size_t d, size_t w, size_t units,
                                 inv_composition **out)
{
	inv_composition *c = inv_calloc(1, sizeof *c);

	*out = c;
	if (c) {
		*c = (inv_composition){.ctx = ctx,
		                       .d = d,
		                       .w = w,
		                       .L = inv_calloc(d * w, sizeof *c->L),
		                       .t = inv_calloc(w, sizeof *c->t),
		                       .W = inv_alloc(units * d * sizeof *c->W),
		                       .b = inv_alloc(units * sizeof *c->b),
		                       .V = inv_alloc(units * w * sizeof *c->V)};
		if (c->L && c->t && c->W && c->b && c->V)
			return INVAR_OK;
	}
	inv_composition_free(c);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for an adapter of %zu hidden units",
	                units);
}

void inv_composition_free(inv_composition *c)
{
	if (!c)
		return;
	inv_free(c->L);
	inv_free(c->t);
	inv_free(c->W);
	inv_free(c->b);
	inv_free(c->V);
	inv_free(c);
}

/* ---- Adding ----------------------------------------------------------------------- */

/* Is row i of W0 a unit vector of feature `at` with this sign? */
static bool is_feature(const layers *l, size_t d, size_t i, size_t at, float sign)
{
	if (l->b0[i] != 0)
		return false;
	for (size_t j = 0; j < d; j++)
		if (l->W0[i * d + j] != (j == at ? sign : 0))
			return false;
	return true;
}

/* Are the first 2d units those of a closed form, unchanged by training? */
static bool has_linear_units(const inv_mlp_form *e, const layers *l)
{
	size_t d = e->s.d, h = e->s.h;

	if (h < 2 * d)
		return false;
	for (size_t i = 0; i < d; i++)
		if (!is_feature(l, d, i, i, 1) || !is_feature(l, d, d + i, i, -1))
			return false;
	for (size_t k = 0; k < e->s.w; k++)
		for (size_t i = 0; i < d; i++)
			if (l->W2[k * h + i] != -l->W2[k * h + d + i])
				return false;
	return true;
}

static void add_units(inv_composition *c, const inv_mlp_form *e, const layers *l,
                      size_t first, double weight)
{
	size_t d = c->d, w = c->w, count = e->s.h - first;

	memcpy(c->W + c->h * d, l->W0 + first * d, count * d * sizeof *c->W);
	memcpy(c->b + c->h, l->b0 + first, count * sizeof *c->b);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < w; k++)
			c->V[(c->h + i) * w + k] = weight * l->W2[k * e->s.h + first + i];
	c->h += count;
}

void inv_composition_add(inv_composition *c, const inv_mlp_form *e, double weight)
{
	const layers l = layers_of(e);
	bool linear = has_linear_units(e, &l);

	for (size_t i = 0; i < c->d && linear; i++)
		for (size_t k = 0; k < c->w; k++)
			c->L[i * c->w + k] += weight * l.W2[k * e->s.h + i];
	for (size_t k = 0; k < c->w; k++)
		c->t[k] += weight * l.b2[k];
	add_units(c, e, &l, linear ? 2 * c->d : 0, weight);
	if (e->residual)
		inv_composition_add_identity(c, weight);
}

void inv_composition_add_identity(inv_composition *c, double weight)
{
	for (size_t i = 0; i < c->d; i++)
		c->L[i * c->w + i] += weight;
}

/* ---- Mapping ---------------------------------------------------------------------- */

/* rows [n, w] become rows times A; *rows is replaced. */
static bool multiply(const inv_composition *c, const double *A, size_t n, double **rows)
{
	inv_dgemm_spec s = {n, c->w, c->w, .add = false};
	double *product = inv_alloc((n * c->w + 1) * sizeof *product);

	if (!product)
		return false;
	if (n)
		inv_dgemm_tiled(c->ctx, &s, *rows, A, product);
	inv_free(*rows);
	*rows = product;
	return true;
}

/* Is A a multiple of the identity, as for --spread scale? */
static bool is_multiple(const double *A, size_t w)
{
	for (size_t i = 0; i < w; i++)
		for (size_t k = 0; k < w; k++)
			if (A[i * w + k] != (i == k ? A[0] : 0))
				return false;
	return true;
}

static bool map_rows(const inv_composition *c, const double *A, bool multiple, size_t n,
                     double **rows)
{
	if (!multiple)
		return multiply(c, A, n, rows);
	for (size_t i = 0; i < n * c->w; i++)
		(*rows)[i] *= A[0];
	return true;
}

invar_status inv_composition_map(inv_composition *c, const inv_map_affine *after)
{
	bool multiple = is_multiple(after->M, c->w);
	invar_status st = inv_openblas_need_for(c->ctx);

	if (st != INVAR_OK)
		return st;
	if (!map_rows(c, after->M, multiple, c->d, &c->L) ||
	    !map_rows(c, after->M, multiple, c->h, &c->V) ||
	    !map_rows(c, after->M, multiple, 1, &c->t))
		return inv_fail(INVAR_E_NOMEM, "not enough memory to map the codes of an adapter");
	for (size_t k = 0; k < c->w; k++)
		c->t[k] += after->t[k];
	return INVAR_OK;
}

/* ---- As an MLP -------------------------------------------------------------------- */

/* Sum of the squares of L - share I. */
static double squares(const inv_composition *c, double share)
{
	double sum = 0;

	for (size_t i = 0; i < c->d; i++)
		for (size_t k = 0; k < c->w; k++) {
			double x = c->L[i * c->w + k] - (i == k ? share : 0);

			sum += x * x;
		}
	return sum;
}

static void write_linear(const inv_composition *c, const inv_mlp_form *e, float *W0,
                         float *b0, float *W2)
{
	size_t d = c->d, h = e->s.h;

	memset(W0, 0, 2 * d * d * sizeof *W0);
	memset(b0, 0, 2 * d * sizeof *b0);
	for (size_t i = 0; i < d; i++) {
		W0[i * d + i] = 1;
		W0[(d + i) * d + i] = -1;
		for (size_t k = 0; k < c->w; k++) {
			float value = (float)(c->L[i * c->w + k] - (e->residual && i == k));

			W2[k * h + i] = value;
			W2[k * h + d + i] = -value;
		}
	}
}

static void write_units(const inv_composition *c, const inv_mlp_form *e, size_t first)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	float *W2, *b2;

	inv_mlp_layout(e->s, blocks);
	W2 = e->params + blocks[2].offset;
	b2 = e->params + blocks[3].offset;
	if (first)
		write_linear(c, e, e->params + blocks[0].offset, e->params + blocks[1].offset, W2);
	memcpy(e->params + blocks[0].offset + first * c->d, c->W,
	       c->h * c->d * sizeof *e->params);
	memcpy(e->params + blocks[1].offset + first, c->b, c->h * sizeof *e->params);
	for (size_t k = 0; k < c->w; k++) {
		for (size_t i = 0; i < c->h; i++)
			W2[k * e->s.h + first + i] = (float)c->V[i * c->w + k];
		b2[k] = (float)c->t[k];
	}
}

/* Residual if that leaves less of L to the linear units; an MLP has at least one unit. */
invar_status inv_composition_finish(const inv_composition *c, inv_mlp_form *out)
{
	bool residual = c->d == c->w && squares(c, 1) < squares(c, 0);
	bool linear = squares(c, residual) > 0 || !c->h;
	size_t first = linear ? 2 * c->d : 0;
	struct inv_kernels kernels;

	*out = (inv_mlp_form){.s = {c->d, first + c->h, c->w}, .residual = residual};
	if (!(out->params = inv_calloc(inv_mlp_floats(out->s), sizeof *out->params)))
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for an adapter of %zu hidden units", out->s.h);
	write_units(c, out, first);
	inv_kernels_init(&kernels, c->ctx->cpu);
	if (kernels.all_finite(out->params, inv_mlp_floats(out->s)))
		return INVAR_OK;
	inv_free(out->params);
	out->params = NULL;
	return inv_fail(
		INVAR_E_NUMERIC,
		"the weights of the adapter would exceed the range of 32-bit numbers; a "
		"smaller @strength may help");
}
