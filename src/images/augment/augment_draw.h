/* SPDX-License-Identifier: Apache-2.0 */
/* augment_draw.h - what every random draw of an augmentation follows from. */
#ifndef INV_AUGMENT_DRAW_H
#define INV_AUGMENT_DRAW_H

#include "base/options.h"

/* What every random draw follows from; the same for any threads and batches. */
typedef struct inv_draw {
	uint64_t seed;
	const char *split;
	uint64_t epoch; /* 0 in banks */
	uint64_t copy;
	uint64_t first; /* index of the first image */
} inv_draw;

invar_status inv_draw_declare(invar_options *o);
/* Reads what o has of them; the text is a view of *kept, which is given. */
invar_status inv_draw_read(const invar_options *o, invar_options **kept, inv_draw *out);

#endif
