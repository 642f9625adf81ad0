/* SPDX-License-Identifier: Apache-2.0 */
/* forecast.h - what an encoding would write now. */
#ifndef INV_FORECAST_H
#define INV_FORECAST_H

#include "encode/encoding.h"

typedef struct inv_encode_needs {
	uint64_t images;     /* of all splits */
	uint64_t features;   /* rows to be made, of images and copies */
	uint64_t existing;   /* rows that are in the bank */
	uint64_t width;      /* of a row */
	uint64_t bytes;      /* of the files to be written */
	uint64_t free_bytes; /* on the disk */
} inv_encode_needs;

/* invar_encode_forecast without the time, which it measures: counts alone. */
invar_status inv_encode_count(invar_encoder *e, const invar_dataset *d,
                              const invar_options *o, const char *bank,
                              inv_encode_needs *out);

#endif
