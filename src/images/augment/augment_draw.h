/* SPDX-License-Identifier: Apache-2.0 */
/* augment_draw.h - the key of the random draws of an augmentation. */
#ifndef INV_AUGMENT_DRAW_H
#define INV_AUGMENT_DRAW_H

#include "base/options.h"

/* A draw is a function of these and the image's index, whatever the threads and batches. */
typedef struct inv_draw {
	uint64_t seed;
	const char *split;
	uint64_t epoch; /* 0 in banks */
	uint64_t copy;
	uint64_t first; /* index of the first image */
} inv_draw;

invar_status inv_draw_declare(invar_options *o);
/* Reads them from o; out->split is a view of *kept, which is given. */
invar_status inv_draw_read(const invar_options *o, invar_options **kept, inv_draw *out);

#endif
