/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strength.h - z + w (E(z) - z): an adapter made weaker or stronger.
 *
 * It is applied after spread, so that 0 is the identity whatever E is, and every strength
 * in between gives a point on the line from a feature to its code. The option belongs to
 * training; `invar apply` and `invar merge` have the same one for an existing adapter.
 */
#ifndef INV_STRENGTH_H
#define INV_STRENGTH_H

#include "adapter/compose.h"
#include "base/options.h"

/* Adds the option strength. */
invar_status inv_strength_declare(invar_options *o);

/* Gives out->params; w = d. */
invar_status inv_strength_apply(const invar_context *ctx, const inv_mlp_form *e,
                                double strength, inv_mlp_form *out);

#endif
