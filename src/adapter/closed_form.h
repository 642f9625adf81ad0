/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed_form.h - adapters without training: identity, rigid, ridge.
 *
 * Each is a map z -> z M + t fitted to the rows of a bank in one pass or two.
 * identity leaves z alone; rigid is the best orthogonal map and translation of
 * the copies onto their clean rows; ridge regresses the clean rows on the copies
 * and on themselves, with intercept. They are what a training has to beat, and
 * where it may begin.
 */
#ifndef INV_CLOSED_H
#define INV_CLOSED_H

#include "nn/mlp.h"
#include "bank/bank.h"
#include "base/options.h"
#include "math/rigid.h"

const char *inv_closed_form_name_at(size_t i); /* NULL past the last */
/* Adds their options; `selector` is the option that names a closed form. */
invar_status inv_closed_form_declare(invar_options *o, const char *selector);

enum { INV_RIDGE_CHOICES = 6 };

/* What lambda is chosen from: 1e-4 to 10 by tens. */
extern const double inv_ridge_choices[INV_RIDGE_CHOICES];

typedef struct inv_closed_form_spec {
	const char *kind;
	double lambda; /* of ridge; 0 = choose */
	const invar_bank *bank;
	const inv_split *split;
	uint32_t copies;        /* the first so many copies take part */
	const uint32_t *images; /* the rows of the split that take part, in order */
	uint32_t image_count;
	uint64_t seed; /* draws the images that choose lambda */
} inv_closed_form_spec;

/* Free with inv_closed_form_clear. */
typedef struct inv_closed_form {
	const char *kind; /* borrowed from the spec */
	inv_map_affine map;
	double lambda; /* of ridge */
	bool chosen;   /* and not given */
	/*
	 * Where chosen: the squared error per feature of the held-out copies and
	 * clean rows, mapped onto clean, by choice.
	 */
	double error[INV_RIDGE_CHOICES];
} inv_closed_form;

/* Does this kind learn from augmented copies? */
bool inv_closed_form_needs_copies(const char *kind);

invar_status inv_closed_form_fit(const inv_closed_form_spec *s, inv_closed_form *out);
json_t *inv_closed_form_json(const inv_closed_form *c); /* for run.json */
void inv_closed_form_clear(inv_closed_form *c);

/*
 * Writes the map into the first 2d hidden units of params, which hold what
 * inv_mlp_init drew with its last layer zero: the other units keep their first
 * layer and say nothing until they are trained. s.h >= 2d, s.w = d. With
 * `residual` the MLP holds the map minus the identity. E equals the map to the
 * rounding of float32, and the identity exactly.
 */
void inv_closed_form_export(const inv_map_affine *m, inv_mlp_shape s, bool residual,
                       float *params);

#endif
