/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_codes.c - codes of the rows that candidates are compared on.
 *
 * A candidate is a base, a spread and a strength, and each has its own arrays, so that
 * another strength does not apply the base again. The dial looks for a strength: R2 falls
 * as it grows, and codes are all that is needed to measure it.
 */
#include <math.h>
#include <string.h>

#include "adapter/spread.h"
#include "recipe/choose.h"

enum { BISECTIONS = 12 };

invar_status inv_choice_code(inv_choice_maker *m, const inv_mlp_form *e)
{
	const inv_choice_rows *r = &m->rows;
	invar_status st = inv_mlp_apply(r->ctx, e->s, e->params, e->residual, r->query,
	                                r->queries, m->code_q);

	return st == INVAR_OK ? inv_mlp_apply(r->ctx, e->s, e->params, e->residual, r->clean,
	                                      inv_choice_clean_rows(r, &m->goal), m->code_c)
	                      : st;
}

inv_spread_kind inv_choice_own_spread(const inv_choice_maker *m)
{
	int s = INV_SPREADS - 1;

	while (s > 0 && !inv_option_is(m->options, "spread", inv_spread_name[s]))
		s--;
	return (inv_spread_kind)s;
}

/* On fitted images, as it would be on all. */
invar_status inv_choice_spread(inv_choice_maker *m, const inv_mlp_form *e,
                               inv_spread_kind kind)
{
	const inv_choice_rows *r = &m->rows;
	uint64_t clean = inv_choice_clean_rows(r, &m->goal);
	const inv_spread_spec spec = {.options = m->options,
	                              .source = &r->source,
	                              .sources = 1,
	                              .images = m->sample,
	                              .image_count = m->sampled};
	inv_map_affine map = {0};
	json_t *about = NULL;
	invar_status st;

	if (kind == INV_SPREAD_NONE) {
		memcpy(m->spread_q, m->code_q, r->queries * r->d * sizeof *m->spread_q);
		memcpy(m->spread_c, m->code_c, clean * r->d * sizeof *m->spread_c);
		return INVAR_OK;
	}
	st = inv_spread_fit(&spec, e, kind == INV_SPREAD_TRANSPORT, &map, &about);
	if (st == INVAR_OK)
		st = inv_map_rows(r->ctx, &map, m->code_q, r->queries, m->spread_q);
	if (st == INVAR_OK)
		st = inv_map_rows(r->ctx, &map, m->code_c, clean, m->spread_c);
	inv_map_clear(&map);
	json_decref(about);
	return st;
}

void inv_choice_move_rows(const float *z, const float *code, uint64_t cells,
                          double strength, float *out)
{
	for (uint64_t i = 0; i < cells; i++)
		out[i] = (float)(z[i] + strength * ((double)code[i] - z[i]));
}

void inv_choice_move(inv_choice_maker *m, double strength)
{
	const inv_choice_rows *r = &m->rows;

	inv_choice_move_rows(r->query, m->spread_q, r->queries * r->d, strength, m->moved_q);
	inv_choice_move_rows(r->clean, m->spread_c, inv_choice_clean_rows(r, &m->goal) * r->d,
	                     strength, m->moved_c);
}

invar_status inv_choice_land(const inv_goal *g, inv_structure_at *structure, void *user,
                             double *w)
{
	double low = 0, high = *w, r2;
	invar_status st = structure(user, *w, &r2);

	if (st != INVAR_OK || r2 >= g->keep)
		return st;
	for (int i = 0; i < BISECTIONS && st == INVAR_OK; i++) {
		double middle = (low + high) / 2;

		st = structure(user, middle, &r2);
		if (r2 >= g->keep)
			low = middle;
		else
			high = middle;
	}
	*w = floor(low * 1e4) / 1e4; /* short in run.json, and no stronger */
	return st;
}
