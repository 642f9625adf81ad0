/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed_form.c - the closed forms that meson.build lists, and their way into an MLP.
 *
 * relu(z) - relu(-z) = z carries any linear map through a ReLU:
 *
 *     W0 = [I; -I; drawn]   b0 = [0; 0; drawn]   W2 = [M^T, -M^T, 0]   b2 = t
 *
 * One of the two units of a feature is always 0, so the sum over hidden units
 * has no more terms, and no more rounding, than z M itself. The ones in W0 are
 * exact, so no scaling could make it better.
 */
#include "adapter/closed_forms/closed_form.h"

#include <string.h>

#include "adapter/closed_form_list.h"

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
	json_decref(c->about);
	c->about = NULL;
}

/* ---- As an MLP ---------------------------------------------------------------------- */

void inv_closed_form_export(const inv_map_affine *m, inv_mlp_shape s, bool residual,
                            float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	size_t d = s.d, h = s.h;
	float *W0, *b0, *W2, *b2;

	inv_mlp_layout(s, blocks);
	W0 = params + blocks[0].offset;
	b0 = params + blocks[1].offset;
	W2 = params + blocks[2].offset;
	b2 = params + blocks[3].offset;
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
	for (size_t j = 0; j < d; j++)
		b2[j] = (float)m->t[j];
}
