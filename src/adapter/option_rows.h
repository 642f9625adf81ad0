/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_rows.h - what rows of options of losses, closed forms and training have in common:
 * they change the result, and so are recorded with it.
 */
#ifndef INV_OPTION_ROWS_H
#define INV_OPTION_ROWS_H

#include "base/options.h"

/* Further fields may follow: {INV_RESULT_ROW("p", NUMBER, "2", …), .min = 1}. */
#define INV_RESULT_ROW(option, kind, value, where, text)                    \
	.name = option, .type = INVAR_OPTION_##kind, .initial = value,          \
	.flags = INVAR_OPTION_RESULT, .group = where, .help = text

/* The weight of a term, 0 or more. */
#define INV_WEIGHT_ROW(option, value, where, text) \
	{INV_RESULT_ROW(option, NUMBER, value, where, text), .max = 1e9, .meta = "W"}

#endif
