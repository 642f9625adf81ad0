/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.h - named sets of defaults for the options of training.
 *
 * The option preset names one. Its values are defaults: an option that is set overrides
 * them, and counts as set; run.json and the adapter record the preset and every value.
 * If the option is not set, the preset is INV_DEFAULT_PRESET if it fits the requested
 * method, else another one for the loss that was set, else INV_FIRST_PRESET: so `loss waco`
 * or `width 96` alone train as they did before presets existed.
 */
#ifndef INV_PRESETS_H
#define INV_PRESETS_H

#include "base/options.h"

/* The preset of trainings that do not name one, if it fits what was set. */
#define INV_DEFAULT_PRESET "keep"
/* The preset if none fits, and for runs from before presets existed. */
#define INV_FIRST_PRESET "paper"

const char *inv_preset_name_at(size_t i);    /* NULL past the last */
const char *inv_preset_summary_at(size_t i); /* a phrase */
/*
 * An option that was set to a different value than in the default preset, or none:
 * loss, init, residual, scaled or width, which say what is trained. NULL: it fits.
 */
const char *inv_preset_conflict(const invar_options *o);
/* Makes the values defaults under the option `selector`, and the preset that fits what was
 * set the default of that; after all options, and before defaults that depend on them. */
invar_status inv_preset_declare(invar_options *o, const char *selector);

#endif
