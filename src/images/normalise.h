/* SPDX-License-Identifier: Apache-2.0 */
/* normalise.h - (pixel - mean) / std by channel, by name or by numbers. */
#ifndef INV_NORMALISE_H
#define INV_NORMALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { INV_NORMALISED = 4 }; /* max channels */

typedef struct inv_normalisation {
	size_t channels; /* 1: the same for all channels */
	float mean[INV_NORMALISED], std[INV_NORMALISED];
} inv_normalisation;

/*
 * A name ("imagenet", "mnist", …; "none" is mean 0, std 1) or "MEANS/STDS", each one
 * number or one per channel, separated by commas: "0.5/0.5",
 * "0.48,0.46,0.41/0.23,0.22,0.23".
 */
invar_status inv_normalisation_parse(const char *text, inv_normalisation *out);
const char *inv_normalisation_names(void); /* "none|imagenet|…" */

/*
 * Bytes [h, stride, channels] to floats [channels, h, w]: byte / 255, minus mean, by
 * std, each rounded to float, as PyTorch does it.
 */
void inv_normalise_bytes(const inv_normalisation *n, const uint8_t *in, size_t h, size_t w,
                         size_t stride, size_t channels, float *out);

#endif
