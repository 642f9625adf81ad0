/* SPDX-License-Identifier: Apache-2.0 */
/* visit_pairs.h - pairs of rows for a closed form: copies and their clean rows. */
#ifndef INV_VISIT_PAIRS_H
#define INV_VISIT_PAIRS_H

#include "adapter/closed_forms/closed_form.h"

typedef struct inv_pair_visitor {
	const inv_closed_form_spec *s;
	size_t d;
	bool with_clean;              /* clean rows pair with themselves */
	float *clean, *copy, *mapped; /* [block, d]; mapped is for the caller */
	uint64_t done, total;         /* images, over all visits; for progress */
} inv_pair_visitor;

/* Called with sources a and targets b, [rows, d] each; a is b if the rows are clean. */
typedef invar_status inv_pair_fn(void *user, const float *a, const float *b, uint64_t rows);

invar_status inv_pair_visitor_open(const inv_closed_form_spec *s, bool with_clean,
                                   inv_pair_visitor *out);
void inv_pair_visitor_close(inv_pair_visitor *v);
invar_status inv_visit_pairs(inv_pair_visitor *v, const uint32_t *images, uint32_t count,
                             inv_pair_fn *fn, void *user);

/*
 * A list of the images of s: first the `kept` ones, then a tenth drawn by the seed, on
 * which a free parameter is chosen. Both lists keep their order. Whole images are held out,
 * as the copies of one image resemble each other. Gives, inv_free.
 */
invar_status inv_hold_out(const inv_closed_form_spec *s, uint32_t **order, uint32_t *kept);

/* An inv_pair_fn that adds the rows to an inv_pairs. */
invar_status inv_add_pairs(void *user, const float *a, const float *b, uint64_t rows);

#endif
