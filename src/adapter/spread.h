/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.h - gives adapted copies the spread of clean features.
 *
 * A regression shrinks toward the mean: adapted copies have 1.2 to 1.4 times less spread
 * than clean features, which worsens search by L2 distance. scale stretches E about the
 * clean mean, E'(z) = mu + c (E(z) - mu), with c the ratio of the root mean square spreads
 * of clean rows and of adapted copies, each about its own mean. It folds into the second
 * layer (compose.h).
 */
#ifndef INV_SPREAD_H
#define INV_SPREAD_H

#include "adapter/compose.h"
#include "base/options.h"
#include "encode/batches.h"

/* Adds the option spread. */
invar_status inv_spread_declare(invar_options *o);

typedef struct inv_spread_spec {
	const invar_options *options;
	inv_source *const *source; /* their clean rows are equal */
	uint32_t sources;
	const uint32_t *images; /* the rows of the split that train */
	uint32_t image_count;
} inv_spread_spec;

/* Is the option set to anything but none? */
bool inv_spread_wanted(const invar_options *o);

/*
 * out is E with its spread; gives out->params. `about` gets what run.json says of it.
 * INVAR_E_CANCELLED if a hook stops it.
 */
invar_status inv_spread_apply(const inv_spread_spec *s, const inv_mlp_form *e,
                              inv_mlp_form *out, json_t **about);

#endif
