/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.h - the figures of a trial on standard output, for train and diagnose. */
#ifndef INV_TRIAL_TABLE_H
#define INV_TRIAL_TABLE_H

#include "cli/session.h"

/* What was measured, F beside the adapters, and the verdict with its reason. */
invar_status inv_print_trial(const invar_results *r);

#endif
