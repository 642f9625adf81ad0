/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preprocessor.h - how images are prepared, from the JSON files that are published beside
 * weights: Hugging Face's preprocessor_config.json and OpenCLIP's open_clip_config.json.
 *
 * What a file leaves open stays as the family has set it in e->input. A value that would
 * give other tensors and is not supported is an error.
 */
#ifndef INV_PREPROCESSOR_H
#define INV_PREPROCESSOR_H

#include "encoders/encoder.h"

/* preprocessor_config.json, if there is one. */
invar_status inv_preprocessor_read(invar_encoder *e, const inv_parameters *p,
                                   size_t channels);
/* preprocess_cfg in open_clip_config.json. */
invar_status inv_preprocessor_open_clip(invar_encoder *e, const inv_parameters *p,
                                        const json_t *config, size_t channels);

#endif
