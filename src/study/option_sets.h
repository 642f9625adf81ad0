/* SPDX-License-Identifier: Apache-2.0 */
/* option_sets.h - do the options of a command fit together? */
#ifndef INV_OPTION_SETS_H
#define INV_OPTION_SETS_H

#include "base/options.h"

/*
 * Do the options fit together? Finds before any work what the command itself would refuse:
 * an option of a loss that is not chosen, a measurement that does not exist.
 */
invar_status inv_options_check(const invar_options *o);

#endif
