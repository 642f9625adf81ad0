/* SPDX-License-Identifier: Apache-2.0 */
/* rigid.c - the best orthogonal map and translation of copies onto their clean rows. */
#include "adapter/closed_forms/visit_pairs.h"

static invar_status fit_rigid(const inv_closed_form_spec *s, inv_closed_form *out)
{
	inv_pair_visitor v = {0};
	inv_pairs *p = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_pairs_new(s->bank->ctx, s->bank->dim, false, &p));
	INV_TRY_OR(done, inv_pair_visitor_open(s, false, &v));
	INV_TRY_OR(done, inv_visit_pairs(&v, s->images, s->image_count, inv_add_pairs, p));
	st = inv_fit_rigid(p, &out->map);
done:
	inv_pair_visitor_close(&v);
	inv_pairs_free(p);
	return st;
}

extern const inv_closed_form_kind inv_closed_form_rigid;
const inv_closed_form_kind inv_closed_form_rigid = {
	.name = "rigid",
	.needs_copies = true,
	.fit = fit_rigid,
};
