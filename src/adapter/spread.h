/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.h - an affine map after E that gives adapted features the spread of clean ones.
 *
 * A regression shrinks toward the mean: adapted copies have 1.2 to 1.4 times less spread
 * than clean features, which worsens search by L2 distance.
 *
 *   scale      E'(z) = mu + c (E(z) - mu), mu the mean of clean rows, c the ratio of the
 *              root mean square spreads of clean rows and of adapted copies, each about its
 *              own mean.
 *   transport  E'(z) = mu + T (E(z) - m), T the optimal transport map between the Gaussians
 *              of adapted rows (copies and clean ones, mean m) and of clean rows. To both
 *              covariances 0.3 of the mean variance of a clean feature is added, so that
 *              directions in which E leaves almost no variance are not amplified.
 *
 * Both fold into the second layer (compose.h). They are measured on at most 10,000 training
 * images, number floor(i n / 10000), with all their copies.
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

/* The map that follows E for one kind of spread; gives, inv_map_clear, and `about`. */
invar_status inv_spread_fit(const inv_spread_spec *s, const inv_mlp_form *e, bool transport,
                            inv_map_affine *map, json_t **about);
/*
 * out is E with its spread; gives out->params. `about` gets what run.json says of it.
 * INVAR_E_CANCELLED if a hook stops it.
 */
invar_status inv_spread_apply(const inv_spread_spec *s, const inv_mlp_form *e,
                              inv_mlp_form *out, json_t **about);

#endif
