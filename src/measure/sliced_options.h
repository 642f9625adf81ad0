/* SPDX-License-Identifier: Apache-2.0 */
/* sliced_options.h - the options of sliced distances, checked once. */
#ifndef INV_SLICED_OPTIONS_H
#define INV_SLICED_OPTIONS_H

#include <stdbool.h>

#include "base/status.h"

/* Takes over what `given` has, and refuses what makes no sense for so many numbers. */
invar_status inv_sliced_check(const invar_sliced_opts *given, uint64_t rows, uint32_t width,
                              invar_sliced_opts *o);
/* What features near the largest float come to. */
invar_status inv_sliced_overflow(void);
bool inv_sliced_orthogonal(const invar_sliced_opts *o);

#endif
