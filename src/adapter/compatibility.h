/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compatibility.h - which features an adapter was trained on: encoder, weights, images.
 *
 * invar.input in an adapter's metadata is a JSON object, "" if the bank does not say:
 * "preprocess" of bank.json (channels, size, resize, mean, std), "augment_space" if there
 * were copies, and "precision" if that is not float32. Different features may have the same
 * width; E can then be applied, so that is a warning and not an error: trying an adapter on
 * features it was not made for is a legitimate experiment.
 *
 * Features of one encoder may be raw or divided by their norms. An adapter that does not
 * normalise records mean and deviation of the norms of its training rows, clean ones and
 * copies. Other rows do not fit if their mean norm is further from the recorded mean than
 * 20 % of it, and further than k deviations: k = 2 if all of them have norm 1, else
 * 8 / sqrt(n) for n rows, at least 3. Single clean rows of test splits were up to 6.7
 * deviations off, all rows of a class 2.5, and unit rows 3.1 to 5.9: docs/ADAPTERS.md.
 */
#ifndef INV_COMPATIBILITY_H
#define INV_COMPATIBILITY_H

#include "adapter/adapter.h"
#include "bank/row_norms.h"

/* The text of invar.input for adapters trained on a bank; gives. NULL: no memory. */
char *inv_compatibility_input(const invar_bank *bank);

/* Warns if the features of a bank are not those that an adapter was made for. */
void inv_compatibility_warn(const invar_adapter *e, const invar_bank *bank);
/* The same for a NumPy file: SPLIT/clean.npy, aug.npy or aug/NNN.npy of a bank. */
void inv_compatibility_warn_file(const invar_adapter *e, const char *path);

/* The norms that an adapter records; false: none, or it normalises its features. */
bool inv_adapter_norms(const invar_adapter *e, double *mean, double *deviation);
/* As they are written. */
typedef struct inv_norm_text {
	char mean[32], deviation[32];
} inv_norm_text;
void inv_spell_norms(double mean, double deviation, inv_norm_text *out);

/* Warns, and returns true, if rows of such norms do not fit; `what` names them. */
bool inv_compatibility_warn_norms(const invar_adapter *e, const inv_row_norms *n,
                                  const char *what);
/* The same for the clean rows of a split. */
invar_status inv_compatibility_warn_split(const invar_adapter *e, const invar_bank *bank,
                                          const inv_split *s);

/*
 * The same for another adapter that is to be merged with e: a mean of maps for different
 * encoders is meaningless, so that is an error; different images are a warning.
 */
invar_status inv_compatibility_same_features(const invar_adapter *e,
                                             const invar_adapter *other);

#endif
