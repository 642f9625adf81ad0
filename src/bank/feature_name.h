/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_name.h - the name of the encoder of features that another program made.
 *
 * A bank made with NumPy may have no bank.json. The option encoder-name says what made its
 * features, so that an adapter trained on them records it, and one that was trained on
 * other features warns.
 */
#ifndef INV_FEATURE_NAME_H
#define INV_FEATURE_NAME_H

#include "bank/bank.h"
#include "base/options.h"

/* The option encoder-name. */
invar_status inv_feature_name_declare(invar_options *o);

/* From now on the bank says this name; fails if bank.json says another one. */
invar_status inv_feature_name_apply(invar_bank *b, const char *name);

#endif
