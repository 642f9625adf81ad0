/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compose.h - sums of adapters and affine maps after them, as one MLP again.
 *
 * A composition is
 *
 *     C(z) = z L + relu(z W^T + b) V + t
 *
 * with W and b of the adapters, in float, and L, V and t in double. One can add a E(z) for
 * an adapter E and a z for the identity, or replace it by C(z) A + c for a map. The result
 * is rounded to float once:
 *
 *   strength   z + w (E(z) - z)   is (1 - w) z + w E(z);
 *   mean       sum_i a_i E_i(z)   has the hidden layers side by side;
 *   spread     E(z) A + c         changes only the second layer.
 *
 * L is expressed by the residual flag if it is the identity, else by 2d linear units,
 * relu(z) - relu(-z) = z, as in closed forms. If an adapter already has such units,
 * untrained, they are recognised and merged into L: no composition has two sets of them.
 */
#ifndef INV_COMPOSE_H
#define INV_COMPOSE_H

#include "math/fit_pairs.h"
#include "nn/mlp.h"

/* E by its parameters. */
typedef struct inv_mlp_form {
	inv_mlp_shape s;
	bool residual;
	float *params;
} inv_mlp_form;

typedef struct inv_composition inv_composition;

/* C = 0, d -> w, with space for `units` hidden units. */
invar_status inv_composition_new(const invar_context *ctx, size_t d, size_t w, size_t units,
                                 inv_composition **out);
void inv_composition_free(inv_composition *c);

/* The units of all adapters together must fit. */
void inv_composition_add(inv_composition *c, const inv_mlp_form *e, double weight);
void inv_composition_add_identity(inv_composition *c, double weight); /* w = d */
invar_status inv_composition_map(inv_composition *c, const inv_map_affine *after);

/* Gives out->params, inv_free. */
invar_status inv_composition_finish(const inv_composition *c, inv_mlp_form *out);

/*
 * z + w (E(z) - z): E made weaker or stronger, w the strength. Applied after spread, 0 is
 * the identity whatever E is, and every strength in between gives a point on the line from
 * a feature to its code. Gives out->params; w = d.
 */
invar_status inv_compose_strength(const invar_context *ctx, const inv_mlp_form *e,
                                  double strength, inv_mlp_form *out);

#endif
