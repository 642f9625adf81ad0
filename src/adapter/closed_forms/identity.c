/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - E(z) = z, the baseline of every other adapter. */
#include "adapter/closed_forms/closed_form.h"
#include "base/memory.h"

static invar_status fit_identity(const inv_closed_form_spec *s, inv_closed_form *out)
{
	size_t d = s->bank->dim;
	inv_map_affine *m = &out->map;

	m->d = d;
	INV_TRY(inv_new_zeros(&m->M, d * d));
	INV_TRY(inv_new_zeros(&m->t, d));
	for (size_t i = 0; i < d; i++)
		m->M[i * d + i] = 1;
	return INVAR_OK;
}

extern const inv_closed_form_kind inv_closed_form_identity;
const inv_closed_form_kind inv_closed_form_identity = {
	.name = "identity",
	.fit = fit_identity,
};
