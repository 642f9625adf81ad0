/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_ranks.h - the sums of ridge and rigid (fit_pairs.h), made by several processes
 * (row_ranks.h). Sums of a chunk: 2 d² + 2 d doubles; of rigid d² + 2 d.
 */
#ifndef INV_PAIR_RANKS_H
#define INV_PAIR_RANKS_H

#include "adapter/closed_forms/row_ranks.h"

/* *out is NULL if there is a single rank or if rows are too few: the caller adds them. */
invar_status inv_pair_ranks_open(const inv_closed_form_spec *s, bool with_clean,
                                 inv_pairs *p, inv_row_ranks **out);

extern const inv_service inv_pair_service;

#endif
