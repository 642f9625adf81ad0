/* SPDX-License-Identifier: Apache-2.0 */
/* axis.c - ranges, ticks and labels of axes. */
#include "report/axis.h"
#include "run/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double wanted_ticks = 6;
static const double max_shown = 1e100; /* so that widths and their squares are finite */
static const double far = 1000;        /* widths of the axis */
static const double log_from = 1000;   /* ratio of the greatest number to the least */

void inv_scale_begin(inv_scale *s, const inv_axis *axis)
{
	*s = (inv_scale){.axis = axis, .low = INFINITY, .high = -INFINITY};
}

void inv_scale_add(inv_scale *s, double value)
{
	if (!(fabs(value) <= max_shown))
		return;
	s->low = value < s->low ? value : s->low;
	s->high = value > s->high ? value : s->high;
}

/* 1, 2 or 5 times a power of ten, about `width` / wanted_ticks. */
static double nice_step(double width)
{
	double rough = width / wanted_ticks, power = pow(10, floor(log10(rough)));
	double mantissa = rough / power;

	return power * (mantissa < 1.5 ? 1 : mantissa < 3.5 ? 2 : mantissa < 7.5 ? 5 : 10);
}

/* Parts of a circle that people read: 15, 30, 45 or 90 degrees. */
static double nice_angle(double width)
{
	double rough = width / wanted_ticks;

	if (rough < 10 || rough >= 135)
		return nice_step(width);
	return rough < 22 ? 15 : rough < 38 ? 30 : rough < 70 ? 45 : 90;
}

/* An axis of one number, or of none, still has a width. */
static void ensure_width(inv_scale *s)
{
	double margin = s->low > s->high ? 0 : fabs(s->low) > 0 ? 0.1 * fabs(s->low) : 0.5;

	if (s->low > s->high) {
		s->low = 0;
		s->high = 1;
	} else if (!(s->high - s->low > 1e-9 * fabs(s->high))) {
		s->low -= margin;
		s->high += margin;
	}
}

static bool suits_log(const inv_scale *s)
{
	return s->axis->unit == INVAR_UNIT_NUMBER && s->low > 0 && s->high / s->low >= log_from;
}

static void widen_to_ticks(inv_scale *s)
{
	bool angle = s->axis->symbol && strcmp(s->axis->symbol, "°") == 0;

	s->step = angle ? nice_angle(s->high - s->low) : nice_step(s->high - s->low);
	s->low = floor(s->low / s->step + 1e-9) * s->step;
	s->high = ceil(s->high / s->step - 1e-9) * s->step;
}

/* Powers of ten; every second or third of them where there are many. */
static void widen_to_powers(inv_scale *s)
{
	s->low = floor(log10(s->low) + 1e-9);
	s->high = ceil(log10(s->high) - 1e-9);
	s->step = ceil((s->high - s->low) / (INV_MAX_TICKS - 1));
	s->log = true;
}

void inv_scale_place(inv_scale *s, double start, double size, bool with_zero)
{
	bool share = s->axis->unit == INVAR_UNIT_SHARE, negative = s->low < 0;

	/* Part of a bar that is cut off, or a curve far above nothing, misleads. */
	if (s->low <= s->high && s->low > 0 && (with_zero || s->low < 0.4 * s->high) &&
	    !suits_log(s))
		s->low = 0;
	ensure_width(s);
	if (suits_log(s))
		widen_to_powers(s);
	else
		widen_to_ticks(s);
	if (share && s->low < 0 && !negative)
		s->low = 0;
	s->start = start;
	s->size = size;
}

void inv_scale_place_bare(inv_scale *s, double start, double size, double margin)
{
	double width;

	ensure_width(s);
	width = s->high - s->low;
	s->low -= margin * width;
	s->high += margin * width;
	s->start = start;
	s->size = size;
}

double inv_scale_at(const inv_scale *s, double value)
{
	double place = s->log ? log10(value) : value;
	double share = (place - s->low) / (s->high - s->low);

	/* Far outside, where it does not show, and where drawers of SVG still can count. */
	return s->start + s->size * (share > -far && share < far ? share
	                             : share > 0                 ? far
	                                                         : -far);
}

size_t inv_scale_ticks(const inv_scale *s, double values[INV_MAX_TICKS])
{
	size_t count = 0;

	for (double k = 0; count < INV_MAX_TICKS; k++) {
		double tick = s->low + k * s->step;

		if (tick > s->high + 1e-9 * s->step)
			break;
		tick = fabs(tick) < 1e-9 * s->step ? 0 : tick;
		values[count++] = s->log ? pow(10, tick) : tick;
	}
	return count;
}

/* As many digits as tell neighbouring ticks apart. */
void inv_scale_label(const inv_scale *s, double value, char text[INV_TICK_TEXT])
{
	bool share = s->axis->unit == INVAR_UNIT_SHARE;
	double step = share ? 100 * s->step : s->step, number = share ? 100 * value : value;
	int digits = step < 1 && !s->log ? (int)ceil(-log10(step) - 1e-9) : 0;
	const char *symbol = share ? " %" : s->axis->symbol ? s->axis->symbol : "";

	if (s->log || digits > 6 || fabs(number) >= 1e6)
		snprintf(text, INV_TICK_TEXT, "%.3g%.8s", number, symbol);
	else
		snprintf(text, INV_TICK_TEXT, "%.*f%.8s", digits, number, symbol);
}
