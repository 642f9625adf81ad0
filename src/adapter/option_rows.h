/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_rows.h - what rows of options of losses, closed forms and training have in common:
 * they change the result, and so are recorded with it.
 */
#ifndef INV_OPTION_ROWS_H
#define INV_OPTION_ROWS_H

#include "base/options.h"

#define INV_RESULT_ROW(option, kind, value, where, text) \
	INV_OPTION_ROW(option, kind, value, INVAR_OPTION_RESULT, where, text)

/* Shown by --help-all only. */
#define INV_EXPERT_ROW(option, kind, value, where, text)                                  \
	INV_OPTION_ROW(option, kind, value, INVAR_OPTION_RESULT | INVAR_OPTION_EXPERT, where, \
	               text)

/* The weight of a term, 0 or more. */
#define INV_WEIGHT_ROW(option, value, where, text) \
	{INV_RESULT_ROW(option, NUMBER, value, where, text), .max = 1e9, .meta = "W"}

#endif
