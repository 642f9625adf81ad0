/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed_form.h - adapters without training, one per file: identity, rigid, ridge,
 * features.
 *
 * Each is a map z -> z M + t, some with additional hidden units, fitted to the rows of a
 * bank in one or two passes. They are the baselines of training, and its optional starting
 * points. A new closed form is one file, with its name, its options and how it is fitted,
 * and its name in the list of meson.build.
 */
#ifndef INV_CLOSED_FORM_H
#define INV_CLOSED_FORM_H

#include "bank/bank.h"
#include "base/options.h"
#include "math/fit_pairs.h"
#include "nn/mlp.h"

/* What a closed form is fitted to. */
typedef struct inv_closed_form_spec {
	const invar_options *options; /* of training */
	const invar_bank *bank;
	const inv_split *split;
	uint32_t copies;        /* the first so many copies take part */
	const uint32_t *images; /* the rows of the split that take part, in order */
	uint32_t image_count;
	uint64_t seed;
} inv_closed_form_spec;

/* Added to the map: relu(z W^T + b) V. */
typedef struct inv_hidden_units {
	size_t count;
	float *W, *b; /* [count, d], [count] */
	double *V;    /* [count, d] */
} inv_hidden_units;

/* Free with inv_closed_form_clear. */
typedef struct inv_closed_form {
	inv_map_affine map;
	inv_hidden_units units; /* none: the map alone */
	json_t *about;          /* for run.json: { "kind": … } and what was chosen */
} inv_closed_form;

typedef struct inv_closed_form_kind {
	const char *name;
	bool needs_copies; /* is it fitted to augmented copies? */
	bool has_units;    /* the option hidden counts its units; 2d more hold the map */
	bool residual;     /* E is residual, with or without the option of that name */
	const invar_option *options; /* its own, ended by a NULL name; NULL: none */
	const char *shares; /* options of other parts that it uses, "a|b"; NULL: none */
	/* Fails for options that it cannot be fitted with; d features. NULL: accepts all. */
	invar_status (*check)(const invar_options *o, size_t d);
	/* Fills out->map and out->units, and adds to out->about what it chose. */
	invar_status (*fit)(const inv_closed_form_spec *s, inv_closed_form *out);
} inv_closed_form_kind;

const inv_closed_form_kind *inv_closed_form_find(const char *name); /* NULL: none */
const char *inv_closed_form_name_at(size_t i);                      /* NULL past the last */
/* Adds their options; `selector` is the option that names a closed form. */
invar_status inv_closed_form_declare(invar_options *o, const char *selector);

invar_status inv_closed_form_fit(const inv_closed_form_kind *kind,
                                 const inv_closed_form_spec *s, inv_closed_form *out);
void inv_closed_form_clear(inv_closed_form *c);
/* Adds to c->about; takes value, NULL: no memory. */
invar_status inv_closed_form_note(inv_closed_form *c, const char *key, json_t *value);
/* "held_out_error": those of the lambdas that were tried; NaN: not tried. */
invar_status inv_closed_form_note_errors(inv_closed_form *c, const double *lambda,
                                         const double *error, size_t count);

/* The hidden units of the MLP for such a closed form, if the option hidden is `hidden`. */
size_t inv_closed_form_hidden(const inv_closed_form_kind *kind, size_t d, size_t hidden);

/*
 * Writes the map into the first 2d hidden units of params, and the units of the closed form
 * into the next. params hold what inv_mlp_init drew with its last layer zero: further units
 * keep their first layer and have no effect until they are trained. s.h >= 2d +
 * c->units.count, s.w = d. With `residual` the MLP holds the map minus the identity. E
 * equals the closed form to the rounding of float32, and the identity exactly.
 */
void inv_closed_form_export(const inv_closed_form *c, inv_mlp_shape s, bool residual,
                            float *params);

#endif
