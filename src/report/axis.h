/* SPDX-License-Identifier: Apache-2.0 */
/*
 * axis.h - from numbers to pixels: the range of an axis, its ticks and their labels.
 *
 * A range is widened to whole ticks of 1, 2 or 5 times a power of ten, of angles (symbol °)
 * over much of a circle to 15, 30, 45 or 90 degrees. Numbers that are all
 * positive and span more than three powers of ten get a logarithmic axis.
 */
#ifndef INV_AXIS_H
#define INV_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "invar.h"
#include "run/results.h"

enum { INV_MAX_TICKS = 12, INV_TICK_TEXT = 32 };

typedef struct inv_scale {
	const inv_axis *axis;
	double low, high;   /* of the data, then of the ticks; logarithms if log */
	double start, size; /* pixels: where low is, and how far high is from it */
	bool log;
	double step;
} inv_scale;

/* Begins with no numbers; NaN, infinities and numbers beyond 1e100 are skipped. */
void inv_scale_begin(inv_scale *s, const inv_axis *axis);
void inv_scale_add(inv_scale *s, double value);
/* Widens the range and places it on `size` pixels from `start` (negative: upwards). */
void inv_scale_place(inv_scale *s, double start, double size, bool with_zero);
/* The same without ticks, for embeddings, whose numbers mean nothing. */
void inv_scale_place_bare(inv_scale *s, double start, double size, double margin);

/* Would these numbers flatten those of `first`, F and the first adapter, not yet placed? */
bool inv_is_off_chart(const inv_scale *first, const double *value, size_t count);

double inv_scale_at(const inv_scale *s, double value);
size_t inv_scale_ticks(const inv_scale *s, double values[INV_MAX_TICKS]);
void inv_scale_label(const inv_scale *s, double value, char text[INV_TICK_TEXT]);

#endif
