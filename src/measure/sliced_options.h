/* sliced_options.h - the options of sliced distances, checked once. */
#ifndef INV_SLICED_OPTIONS_H
#define INV_SLICED_OPTIONS_H

#include <stdbool.h>

#include "base/status.h"

/* Takes over what `given` has, and refuses what makes no sense for so many rows. */
invar_status inv_sliced_check(const invar_sliced_opts *given, uint64_t rows,
                              invar_sliced_opts *o);
bool inv_sliced_orthogonal(const invar_sliced_opts *o);

#endif
