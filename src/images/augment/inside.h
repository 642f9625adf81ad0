/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - inside=1: pictures are prepared larger than they are seen.
 *
 * A warp of a picture shows corners that were never photographed. Aerial images and
 * slides under a microscope have none: what lies beyond the frame exists. So the picture
 * is prepared larger, warped, and its centre is cut out; the clean picture is the same
 * centre without the warp. Pictures are square, and the larger side differs from the
 * side that is seen by an even number, so that both have one centre and the cut needs
 * no resampling.
 *
 * In a chain, the centre is cut out by the last operation with inside=1, and those behind
 * it work on what is seen; each such operation before it leaves what the next one needs.
 * A chain that needs less than another one of its set begins with the centre it needs,
 * and one without such an operation with what is seen.
 */
#ifndef INV_INSIDE_H
#define INV_INSIDE_H

#include "images/spec.h"

/* Words of the key. */
#define INV_WORDS_INSIDE "0|1"

/* The least side of at least `least` that has the centre of `seen`. */
size_t inv_side_around(size_t seen, double least);

/* The result of an operation with inside=1 on a square; its sides are 0 if none fits. */
inv_extent inv_extent_inside(inv_around around, const inv_value *v, inv_extent in);

/* Of a set: the side to be prepared so that `seen` is seen, and the reverse; 0: none fits.
 */
size_t inv_spec_prepared_side(const inv_spec *s, size_t seen);
size_t inv_spec_seen_side(const inv_spec *s, size_t prepared);

/* What is seen of a prepared picture, which is checked; and what a chain begins with. */
inv_extent inv_spec_seen(const inv_spec *s, inv_extent prepared);
inv_extent inv_spec_start(const inv_spec *s, size_t chain, inv_extent prepared);

/* Refuses pictures of which inside=1 can make nothing. */
invar_status inv_inside_check(const inv_spec *s, inv_extent prepared);

/* The centre of [c, h, w]; `centre` is at most as large, by an even number. */
void inv_cut_centre(const float *in, inv_extent shape, inv_extent centre, float *out);

#endif
