/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compatibility.h - which features an adapter was trained on: encoder, weights, images.
 *
 * invar.input in an adapter's metadata is a JSON object, "" if the bank does not say:
 * "preprocess" of bank.json (channels, size, resize, mean, std), and "augment_space" if
 * there were copies. Different features may have the same width; E can then be applied, so
 * that is a warning and not an error: trying an adapter on features it was not made for is
 * a legitimate experiment.
 */
#ifndef INV_COMPATIBILITY_H
#define INV_COMPATIBILITY_H

#include "adapter/adapter.h"
#include "bank/bank.h"

/* The text of invar.input for adapters trained on a bank; gives. NULL: no memory. */
char *inv_compatibility_input(const invar_bank *bank);

/* Warns if the features of a bank are not those that an adapter was made for. */
void inv_compatibility_warn(const invar_adapter *e, const invar_bank *bank);
/* The same for a NumPy file: SPLIT/clean.npy, aug.npy or aug/NNN.npy of a bank. */
void inv_compatibility_warn_file(const invar_adapter *e, const char *path);

/*
 * The same for another adapter that is to be merged with e: a mean of maps for different
 * encoders is meaningless, so that is an error; different images are a warning.
 */
invar_status inv_compatibility_same_features(const invar_adapter *e,
                                             const invar_adapter *other);

#endif
