/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_ranks.h - the sums of a feature ridge, made by several processes (row_ranks.h).
 *
 * Clean rows and copies are streams of their own. Sums of a chunk: p (p + 1) / 2 + p d + p
 * + d doubles, p = d + h.
 */
#ifndef INV_FEATURE_RANKS_H
#define INV_FEATURE_RANKS_H

#include "adapter/closed_forms/feature_ridge.h"
#include "adapter/closed_forms/row_ranks.h"

typedef struct inv_feature_ranks inv_feature_ranks;

/* What the other ranks need to know of a fit. */
typedef struct inv_feature_task {
	const inv_closed_form_spec *s;
	size_t units;
	const inv_clean_statistics *scale;
	inv_feature_ridge *ridge; /* of rank 0; gets the totals */
} inv_feature_task;

/* *out is NULL if there is a single rank or if rows are too few: the caller adds them. */
invar_status inv_feature_ranks_open(const inv_feature_task *t, inv_feature_ranks **out);
/* inv_visit_pairs for sums; the visitor, with clean rows, counts the images. */
invar_status inv_feature_ranks_add(inv_feature_ranks *r, inv_pair_visitor *v,
                                   const uint32_t *images, uint32_t count);
/* The ridge gets the totals; before each solution. */
invar_status inv_feature_ranks_settle(inv_feature_ranks *r);
void inv_feature_ranks_close(inv_feature_ranks *r); /* accepts NULL */

extern const inv_service inv_feature_service;

#endif
