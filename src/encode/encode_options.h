/* SPDX-License-Identifier: Apache-2.0 */
/* encode_options.h - what the options of invar_encode mean for one data set. */
#ifndef INV_ENCODE_OPTIONS_H
#define INV_ENCODE_OPTIONS_H

#include "base/json.h"
#include "encoders/encoder.h"
#include "images/dataset.h"

/*
 * Values of the options; texts view the list that they were read from. A new option needs
 * no member: `all` has it by name.
 */
typedef struct inv_encode_settings {
	const invar_options *all;  /* NULL on ranks other than 0 */
	const char *augment;       /* SPEC of the copies; NULL: no copies */
	const char *copies;        /* "10", or "train=10,test=5"; NULL: 4 of each */
	const char *views;         /* "4", for test, or "val=4,test=4"; NULL: none */
	const char *augment_space; /* "normalized", or "pixel": augmented before that */
	const char *side;          /* "native" or N; NULL: the encoder's */
	const char *normalize;     /* NULL: the encoder's, or the data set's */
	const char *mean, *std;    /* "0.5" or "0.48,0.46,0.41"; NULL: as above */
	const char *dtype;         /* "float32" or "float16" */
	uint64_t seed;
	uint64_t resize; /* the shorter side before the centre crop; 0: as `side`, else the
	                    encoder's */
} inv_encode_settings;

/* The options of encoding; of those, the ones that make tensors of images and augment. */
invar_status inv_encode_declare(invar_options *o);
invar_status inv_encode_declare_part(invar_options *o, const char *selector);

/* Reads those that o has into `out`, whose texts view *kept. Gives *kept. */
invar_status inv_encode_read(const invar_options *o, invar_options **kept,
                             inv_encode_settings *out);
/*
 * { name: value, … } of those that make tensors of images and augment and have all of these
 * flags; gives. With INVAR_OPTION_RESULT: those that bank.json records by name.
 */
json_t *inv_encode_json(const inv_encode_settings *o, unsigned flags);

invar_status inv_encode_check_copies(const inv_encode_settings *o, const invar_dataset *d);
/* Number of copies requested for a split; 0 without a SPEC. */
uint64_t inv_encode_copies(const inv_encode_settings *o, const char *split);
invar_status inv_encode_check_views(const inv_encode_settings *o, const invar_dataset *d);
/* Whether rows of a split also get the features of their rotated images. */
bool inv_encode_views(const inv_encode_settings *o, const char *split);

/*
 * How images become tensors: the options, else the encoder's rule, else the data set's. The
 * normalisation has a value for every channel.
 */
invar_status inv_encode_preparation(const inv_encode_settings *o, const invar_encoder *e,
                                    const invar_dataset *d, inv_preparation *out);

/*
 * invar_encode with options that were read. With `again`, for callers that will read the
 * images again, existing rows are compared with the images even if nothing is missing.
 */
invar_status inv_encode_into(invar_encoder *e, const invar_dataset *d,
                             const inv_encode_settings *o, const char *bank, bool again);

#endif
