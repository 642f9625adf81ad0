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

#include <math.h>
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
	for (size_t i = 0; i < KINDS; i++)
		INV_TRY(inv_options_add_part(o, selector, parts[i]->name, parts[i]->options));
	for (size_t i = 0; i < KINDS; i++)
		if (parts[i]->shares)
			INV_TRY(inv_options_share(o, selector, parts[i]->name, parts[i]->shares));
	return INVAR_OK;
}

invar_status inv_closed_form_fit(const inv_closed_form_kind *kind,
                                 const inv_closed_form_spec *s, inv_closed_form *out)
{
	invar_status st;

	*out = (inv_closed_form){.about = json_pack("{s:s}", "kind", kind->name)};
	if (!out->about)
		return inv_no_memory();
	if ((st = kind->fit(s, out)) != INVAR_OK)
		inv_closed_form_clear(out);
	return st;
}

invar_status inv_closed_form_note(inv_closed_form *c, const char *key, json_t *value)
{
	return json_object_set_new(c->about, key, value) == 0 ? INVAR_OK : inv_no_memory();
}

invar_status inv_closed_form_note_errors(inv_closed_form *c, const double *lambda,
                                         const double *error, size_t count)
{
	json_t *errors = json_array();

	INV_TRY(inv_closed_form_note(c, "held_out_error", errors));
	for (size_t i = 0; i < count; i++)
		if (!isnan(error[i]) &&
		    json_array_append_new(errors,
		                          json_pack("{s:f, s:o}", "lambda", lambda[i], "error",
		                                    inv_json_number(error[i]))) != 0)
			return inv_no_memory();
	return INVAR_OK;
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

void inv_closed_form_export(const inv_closed_form *c, inv_mlp_shape s, bool residual,
                            float *params)
{
	const inv_hidden_units *u = &c->units;
	size_t d = s.d, h = s.h, first = 2 * d;
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	float *W0, *b0, *W2, *b2;

	inv_mlp_layout(s, blocks);
	W0 = params + blocks[0].offset;
	b0 = params + blocks[1].offset;
	W2 = params + blocks[2].offset;
	b2 = params + blocks[3].offset;
	memset(W0, 0, first * d * sizeof *W0);
	memset(b0, 0, first * sizeof *b0);
	for (size_t i = 0; i < d; i++) {
		W0[i * d + i] = 1;
		W0[(d + i) * d + i] = -1;
		for (size_t j = 0; j < d; j++) {
			float value = (float)(c->map.M[i * d + j] - (residual && i == j));

			W2[j * h + i] = value;
			W2[j * h + d + i] = -value;
		}
	}
	if (u->count) {
		memcpy(W0 + first * d, u->W, u->count * d * sizeof *W0);
		memcpy(b0 + first, u->b, u->count * sizeof *b0);
	}
	for (size_t j = 0; j < d; j++) {
		for (size_t i = 0; i < u->count; i++)
			W2[j * h + first + i] = (float)u->V[i * d + j];
		b2[j] = (float)c->map.t[j];
	}
}
