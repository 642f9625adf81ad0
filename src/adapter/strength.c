/* SPDX-License-Identifier: Apache-2.0 */
/* strength.c - see strength.h. */
#include "adapter/strength.h"

static const invar_option rows[] = {
	{.name = "strength",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .max = 10,
     .flags = INVAR_OPTION_RESULT,
     .meta = "W",
     .group = "Method",
     .help = "how far features move: z + W (E(z) - z); 1 is E itself, less keeps more of "
             "the structure"},
	{0},
};

invar_status inv_strength_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, rows);

	return st == INVAR_OK ? inv_options_idle(o, "strength", "1", "strength") : st;
}

invar_status inv_strength_apply(const invar_context *ctx, const inv_mlp_form *e,
                                double strength, inv_mlp_form *out)
{
	inv_composition *c;
	invar_status st = inv_composition_new(ctx, e->s.d, e->s.w, e->s.h, &c);

	if (st != INVAR_OK)
		return st;
	inv_composition_add(c, e, strength);
	inv_composition_add_identity(c, 1 - strength);
	st = inv_composition_finish(c, out);
	inv_composition_free(c);
	return st;
}
