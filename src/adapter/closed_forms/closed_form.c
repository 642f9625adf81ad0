/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed_form.c - the closed forms that meson.build lists, and their form as an MLP.
 *
 * As relu(z) - relu(-z) = z, two hidden units per feature express any linear map:
 *
 *     W0 = [I; -I; W; drawn]   b0 = [0; 0; b; drawn]   W2 = [M^T, -M^T, V^T, 0]   b2 = t
 *
 * with W, b and V the hidden units of the closed form itself, if it has any.
 *
 * One of the two units of a feature is always 0, so the sum over hidden units
 * has no more terms, and no more rounding, than z M itself. The ones in W0 are
 * exact, so scaling them would gain nothing.
 */
#include "adapter/closed_forms/closed_form.h"

#include <string.h>

#include "adapter/closed_form_list.h"
#include "base/memory.h"

enum { KINDS = sizeof parts / sizeof *parts };

const char *inv_closed_form_name_at(size_t i)
{
	return i < KINDS ? parts[i]->name : NULL;
}

const inv_closed_form_kind *inv_closed_form_find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(parts[i]->name, name) == 0)
			return parts[i];
	return NULL;
}

invar_status inv_closed_form_declare(invar_options *o, const char *selector)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < KINDS && st == INVAR_OK; i++)
		st = inv_options_add_part(o, selector, parts[i]->name, parts[i]->options);
	for (size_t i = 0; i < KINDS && st == INVAR_OK; i++)
		if (parts[i]->shares)
			st = inv_options_share(o, selector, parts[i]->name, parts[i]->shares);
	return st;
}

invar_status inv_closed_form_fit(const inv_closed_form_kind *kind,
                                 const inv_closed_form_spec *s, inv_closed_form *out)
{
	invar_status st;

	*out = (inv_closed_form){.about = json_pack("{s:s}", "kind", kind->name)};
	if (!out->about)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a closed form");
	if ((st = kind->fit(s, out)) != INVAR_OK)
		inv_closed_form_clear(out);
	return st;
}

void inv_closed_form_clear(inv_closed_form *c)
{
	inv_map_clear(&c->map);
	inv_free(c->units.W);
	inv_free(c->units.b);
	inv_free(c->units.V);
	json_decref(c->about);
	*c = (inv_closed_form){0};
}

/* ---- As an MLP ---------------------------------------------------------------------- */

size_t inv_closed_form_hidden(const inv_closed_form_kind *kind, size_t d, size_t hidden)
{
	return kind && kind->has_units ? 2 * d + hidden : hidden;
}

/* W2 of an MLP is [d, h]: the column of a unit is its row of V. */
static void export_units(const inv_hidden_units *u, inv_mlp_shape s, float *W0, float *b0,
                         float *W2)
{
	size_t d = s.d, first = 2 * d;

	if (!u->count)
		return;
	memcpy(W0 + first * d, u->W, u->count * d * sizeof *W0);
	memcpy(b0 + first, u->b, u->count * sizeof *b0);
	for (size_t j = 0; j < d; j++)
		for (size_t i = 0; i < u->count; i++)
			W2[j * s.h + first + i] = (float)u->V[i * d + j];
}

static void export_map(const inv_map_affine *m, inv_mlp_shape s, bool residual, float *W0,
                       float *b0, float *W2)
{
	size_t d = s.d, h = s.h;

	memset(W0, 0, 2 * d * d * sizeof *W0);
	memset(b0, 0, 2 * d * sizeof *b0);
	for (size_t i = 0; i < d; i++) {
		W0[i * d + i] = 1;
		W0[(d + i) * d + i] = -1;
		for (size_t j = 0; j < d; j++) {
			float value = (float)(m->M[i * d + j] - (residual && i == j));

			W2[j * h + i] = value;
			W2[j * h + d + i] = -value;
		}
	}
}

void inv_closed_form_export(const inv_closed_form *c, inv_mlp_shape s, bool residual,
                            float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	float *W0, *b0, *W2, *b2;

	inv_mlp_layout(s, blocks);
	W0 = params + blocks[0].offset;
	b0 = params + blocks[1].offset;
	W2 = params + blocks[2].offset;
	b2 = params + blocks[3].offset;
	export_map(&c->map, s, residual, W0, b0, W2);
	export_units(&c->units, s, W0, b0, W2);
	for (size_t j = 0; j < s.d; j++)
		b2[j] = (float)c->map.t[j];
}
