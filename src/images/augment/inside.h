/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - inside=1: pictures are prepared larger than the part that stays visible.
 *
 * A warped picture has empty corners. Aerial images and microscope slides need not have
 * them, as the picture continues beyond the frame. So the picture is prepared larger,
 * warped, and its centre is cut out; the clean picture is the same centre without the
 * warp. Pictures are square, and the larger side exceeds the visible side by an even
 * number, so that both have the same centre and the cut needs no resampling.
 *
 * In a chain, the last operation with inside=1 cuts out the centre, and the operations
 * after it work on the visible part; each earlier one with inside=1 leaves what the next
 * one needs. A chain that needs less than another one of its set starts with the centre
 * that it needs, and a chain without such an operation with the visible part.
 */
#ifndef INV_INSIDE_H
#define INV_INSIDE_H

#include "images/spec.h"

/* Words of the key. */
#define INV_WORDS_INSIDE "0|1"

/* The smallest side >= `least` with the same centre as `seen`: of the same parity. */
size_t inv_side_around(size_t seen, double least);

/* The result of an operation with inside=1 on a square; its sides are 0 if none fits. */
inv_extent inv_extent_inside(inv_around around, const inv_value *v, inv_extent in);

/* Of a set: the side to prepare so that `seen` stays visible, and the reverse; 0: none. */
size_t inv_spec_prepared_side(const inv_spec *s, size_t seen);
size_t inv_spec_seen_side(const inv_spec *s, size_t prepared);

/* The visible part of a prepared (and checked) picture; and what a chain starts with. */
inv_extent inv_spec_seen(const inv_spec *s, inv_extent prepared);
inv_extent inv_spec_start(const inv_spec *s, size_t chain, inv_extent prepared);

/* Fails for pictures that are not square or too small for inside=1. */
invar_status inv_inside_check(const inv_spec *s, inv_extent prepared);

/* The centre of [c, h, w]; `centre` is at most as large, by an even number. */
void inv_cut_centre(const float *in, inv_extent shape, inv_extent centre, float *out);

#endif
