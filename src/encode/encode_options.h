/* SPDX-License-Identifier: Apache-2.0 */
/* encode_options.h - what the options of invar_encode mean for one data set. */
#ifndef INV_ENCODE_OPTIONS_H
#define INV_ENCODE_OPTIONS_H

#include "encoders/encoder.h"
#include "images/dataset.h"

/* Fills what o leaves out and checks it against the table. */
invar_status inv_encode_take(const invar_encode_opts *o, invar_encode_opts *all);

invar_status inv_encode_check_copies(const invar_encode_opts *o, const invar_dataset *d);
/* How many copies of a split are wanted; 0 without a SPEC. */
uint64_t inv_encode_copies(const invar_encode_opts *o, const char *split);

/*
 * How images become tensors: what was asked for, else the encoder's rule, else the
 * data set's. The normalisation has numbers for every channel.
 */
invar_status inv_encode_preparation(const invar_encode_opts *o, const invar_encoder *e,
                                    const invar_dataset *d, inv_preparation *out);

/*
 * invar_encode for those who will read the images once more: what is there already is
 * compared with them even if nothing is missing.
 */
invar_status inv_encode_again(invar_encoder *e, const invar_dataset *d,
                              const invar_encode_opts *o, const char *bank);

#endif
