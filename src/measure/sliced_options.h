/* SPDX-License-Identifier: Apache-2.0 */
/* sliced_options.h - the options of sliced distances, checked once. */
#ifndef INV_SLICED_OPTIONS_H
#define INV_SLICED_OPTIONS_H

#include "base/options.h"

typedef struct inv_sliced_settings {
	double p;
	uint64_t projections;
	uint64_t permutations; /* shuffled pairings; of invar_dependence alone */
	uint64_t seed;
	bool orthogonal;
} inv_sliced_settings;

invar_status inv_sliced_declare(invar_options *o);
/* Fails for options of another purpose, and for sizes that make no sense. */
invar_status inv_sliced_read(const invar_options *o, uint64_t rows, uint32_t width,
                             inv_sliced_settings *out);
/* The error for features so large that distances overflow. */
invar_status inv_sliced_overflow(void);

#endif
