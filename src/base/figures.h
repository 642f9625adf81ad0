/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - a few numbers that a call found out, by name. */
#ifndef INV_BASE_FIGURES_H
#define INV_BASE_FIGURES_H

#include "base/status.h"

typedef struct inv_figure {
	const char *name; /* lives as long as the program */
	double value;
} inv_figure;

/* A copy of `count` figures. Gives, invar_figures_free. */
invar_status inv_figures_new(const inv_figure *figures, size_t count, invar_figures **out);

#endif
