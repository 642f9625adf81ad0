/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.h - resizing as PyTorch does it on floats and as Pillow does it on bytes.
 *
 * Both weigh the pixels under a filter around the centre of each result: position
 * (i + 1/2) in / out, filter of width 1 (bilinear) or 2 (bicubic) in pixels of the
 * source, widened by in / out when shrinking with antialias, as Pillow always does.
 * The cubic's constant is -1/2 with antialias and in Pillow, -3/4 without, as in
 * torch.nn.functional.interpolate (align_corners=False).
 *
 * Each of Pillow's two passes is rounded and clamped to 8 bits, with weights in units of
 * 2^-22; our results equal it byte for byte. Rows come first; columns do if the height
 * shrinks by more than twice as many pixels as the width, as in Pillow since 13.
 */
#ifndef INV_RESIZE_H
#define INV_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum inv_filter { INV_BILINEAR, INV_BICUBIC } inv_filter;

/* PyTorch's two, with positions in float, and Pillow's, with positions in double. */
typedef enum inv_taps_kind {
	INV_TAPS_PLAIN,
	INV_TAPS_ANTIALIAS,
	INV_TAPS_PILLOW
} inv_taps_kind;

/* Result i of an axis is the sum of weight[i * max + j] source[first[i] + j]. */
typedef struct inv_taps {
	size_t in, out, max;
	int32_t *first, *count; /* [out] each */
	double *weight;         /* [out, max], zeros beyond the count */
} inv_taps;

/*
 * `scale`: source pixels per pixel of the result; 0: in / out. (Some encoders resize
 * tables of positions by a different one.) Start from {0}; clear accepts that.
 */
invar_status inv_taps_make(size_t in, size_t out, double scale, inv_filter filter,
                           inv_taps_kind kind, inv_taps *taps);
void inv_taps_clear(inv_taps *taps);

/* Planes [planes, h, w] to [planes, out_h, out_w]. */
invar_status inv_resize(const float *in, size_t planes, size_t h, size_t w,
                        inv_filter filter, bool antialias, size_t out_h, size_t out_w,
                        float *out);

/*
 * Bytes [h, w, channels], channels 1 to 4. Keeps weights and memory from call to call,
 * so it is fastest on images of one size; for one thread. cpu: INV_CPU_* flags.
 */
typedef struct inv_resizer inv_resizer;

invar_status inv_resizer_new(unsigned cpu, inv_filter filter, inv_resizer **out);
invar_status inv_resizer_run(inv_resizer *r, const uint8_t *in, size_t h, size_t w,
                             size_t channels, size_t out_h, size_t out_w, uint8_t *out);
void inv_resizer_free(inv_resizer *r);

/* The shorter side becomes `target`, the longer floor(target long / short). */
void inv_shorter_side(size_t h, size_t w, size_t target, size_t *out_h, size_t *out_w);

/* The start of a centred crop in `side` >= crop; halves are rounded to even. */
size_t inv_centre_offset(size_t side, size_t crop);

#endif
