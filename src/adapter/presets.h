/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.h - named sets of training options: what an option is where it was not set.
 *
 * The option preset names one. Its values are defaults: an option that is set overrides
 * them, and counts as set; run.json and the adapter record the preset and every value.
 */
#ifndef INV_PRESETS_H
#define INV_PRESETS_H

#include "base/options.h"

/* The preset of trainings that do not name one. */
#define INV_DEFAULT_PRESET "paper"
/* That of runs from before there were presets. */
#define INV_FIRST_PRESET "paper"

const char *inv_preset_name_at(size_t i);    /* NULL past the last */
const char *inv_preset_summary_at(size_t i); /* a phrase */
/* Makes the values defaults under the option `selector`; after all options, and before
 * defaults that depend on them. */
invar_status inv_preset_declare(invar_options *o, const char *selector);

#endif
