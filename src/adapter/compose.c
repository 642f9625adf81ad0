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
	inv_composition *c;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&c));
	c->ctx = ctx;
	c->d = d;
	c->w = w;
	INV_TRY_OR(fail, inv_new_zeros(&c->L, d * w));
	INV_TRY_OR(fail, inv_new_zeros(&c->t, w));
	INV_TRY_OR(fail, inv_new_array(&c->W, units * d));
	INV_TRY_OR(fail, inv_new_array(&c->b, units));
	INV_TRY_OR(fail, inv_new_array(&c->V, units * w));
	*out = c;
	return INVAR_OK;
fail:
	inv_composition_free(c);
	return st;
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

void inv_composition_add(inv_composition *c, const inv_mlp_form *e, double weight)
{
	const layers l = layers_of(e);
	bool linear = has_linear_units(e, &l);
	size_t d = c->d, w = c->w, h = e->s.h, first = linear ? 2 * d : 0, count = h - first;

	for (size_t i = 0; i < d && linear; i++)
		for (size_t k = 0; k < w; k++)
			c->L[i * w + k] += weight * l.W2[k * h + i];
	for (size_t k = 0; k < w; k++)
		c->t[k] += weight * l.b2[k];
	memcpy(c->W + c->h * d, l.W0 + first * d, count * d * sizeof *c->W);
	memcpy(c->b + c->h, l.b0 + first, count * sizeof *c->b);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < w; k++)
			c->V[(c->h + i) * w + k] = weight * l.W2[k * h + first + i];
	c->h += count;
	if (e->residual)
		inv_composition_add_identity(c, weight);
}

void inv_composition_add_identity(inv_composition *c, double weight)
{
	for (size_t i = 0; i < c->d; i++)
		c->L[i * c->w + i] += weight;
}

/* ---- Mapping ---------------------------------------------------------------------- */

/* Is A a multiple of the identity, as for --spread scale? */
static bool is_multiple(const double *A, size_t w)
{
	for (size_t i = 0; i < w; i++)
		for (size_t k = 0; k < w; k++)
			if (A[i * w + k] != (i == k ? A[0] : 0))
				return false;
	return true;
}

/* rows [n, w] become rows times A; *rows is replaced. */
static invar_status map_rows(const inv_composition *c, const double *A, size_t n,
                             double **rows)
{
	inv_dgemm_spec s = {n, c->w, c->w, .add = false};
	double *product;

	if (is_multiple(A, c->w)) {
		for (size_t i = 0; i < n * c->w; i++)
			(*rows)[i] *= A[0];
		return INVAR_OK;
	}
	INV_TRY(inv_new_array(&product, n * c->w + 1));
	if (n)
		inv_dgemm_tiled(c->ctx, &s, *rows, A, product);
	inv_free(*rows);
	*rows = product;
	return INVAR_OK;
}

invar_status inv_composition_map(inv_composition *c, const inv_map_affine *after)
{
	INV_TRY(inv_openblas_need_for(c->ctx));
	INV_TRY(map_rows(c, after->M, c->d, &c->L));
	INV_TRY(map_rows(c, after->M, c->h, &c->V));
	INV_TRY(map_rows(c, after->M, 1, &c->t));
	for (size_t k = 0; k < c->w; k++)
		c->t[k] += after->t[k];
	return INVAR_OK;
}

/* ---- As an MLP -------------------------------------------------------------------- */

/* Sum of the squares of L - identity I. */
static double squares(const inv_composition *c, double identity)
{
	double sum = 0;

	for (size_t i = 0; i < c->d; i++)
		for (size_t k = 0; k < c->w; k++) {
			double x = c->L[i * c->w + k] - (i == k ? identity : 0);

			sum += x * x;
		}
	return sum;
}

/* Residual if that leaves less of L to the linear units; an MLP has at least one unit. */
invar_status inv_composition_finish(const inv_composition *c, inv_mlp_form *out)
{
	bool residual = c->d == c->w && squares(c, 1) < squares(c, 0);
	bool linear = squares(c, residual) > 0 || !c->h;
	size_t d = c->d, w = c->w, first = linear ? 2 * d : 0, h = first + c->h;
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	struct inv_kernels kernels;
	float *W0, *b0, *W2, *b2;

	*out = (inv_mlp_form){.s = {d, h, w}, .residual = residual};
	INV_TRY(inv_new_zeros(&out->params, inv_mlp_floats(out->s)));
	inv_mlp_layout(out->s, blocks);
	W0 = out->params + blocks[0].offset;
	b0 = out->params + blocks[1].offset;
	W2 = out->params + blocks[2].offset;
	b2 = out->params + blocks[3].offset;
	for (size_t i = 0; i < d && linear; i++) {
		W0[i * d + i] = 1;
		W0[(d + i) * d + i] = -1;
		for (size_t k = 0; k < w; k++) {
			float value = (float)(c->L[i * w + k] - (residual && i == k));

			W2[k * h + i] = value;
			W2[k * h + d + i] = -value;
		}
	}
	memcpy(W0 + first * d, c->W, c->h * d * sizeof *W0);
	memcpy(b0 + first, c->b, c->h * sizeof *b0);
	for (size_t k = 0; k < w; k++) {
		for (size_t i = 0; i < c->h; i++)
			W2[k * h + first + i] = (float)c->V[i * w + k];
		b2[k] = (float)c->t[k];
	}

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

invar_status inv_compose_strength(const invar_context *ctx, const inv_mlp_form *e,
                                  double strength, inv_mlp_form *out)
{
	inv_composition *c;
	invar_status st;

	INV_TRY(inv_composition_new(ctx, e->s.d, e->s.w, e->s.h, &c));
	inv_composition_add(c, e, strength);
	inv_composition_add_identity(c, 1 - strength);
	st = inv_composition_finish(c, out);
	inv_composition_free(c);
	return st;
}
