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

/* An axis of one number, or of none, still has a width. */
static void ensure_width(inv_scale *s)
{
	double margin = fabs(s->low) > 0 ? 0.1 * fabs(s->low) : 0.5;

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

void inv_scale_place(inv_scale *s, double start, double size, bool with_zero)
{
	bool percent = s->axis->unit == INVAR_UNIT_SHARE, negative = s->low < 0;

	/* A bar that is cut off, or a curve far above nothing, misleads. */
	if (s->low <= s->high && s->low > 0 && (with_zero || s->low < 0.4 * s->high) &&
	    !suits_log(s))
		s->low = 0;
	ensure_width(s);
	if (suits_log(s)) { /* powers of ten; every second or third of them if there are many */
		s->low = floor(log10(s->low) + 1e-9);
		s->high = ceil(log10(s->high) - 1e-9);
		s->step = ceil((s->high - s->low) / (INV_MAX_TICKS - 1));
		s->log = true;
	} else {
		double rough = (s->high - s->low) / wanted_ticks,
			   power = pow(10, floor(log10(rough)));
		double mantissa = rough / power;
		bool angle = s->axis->symbol && strcmp(s->axis->symbol, "°") == 0;

		s->step = power * (mantissa < 1.5   ? 1
		                   : mantissa < 3.5 ? 2
		                   : mantissa < 7.5 ? 5
		                                    : 10);
		if (angle && rough >= 10 && rough < 135) /* fractions of a circle */
			s->step = rough < 22 ? 15 : rough < 38 ? 30 : rough < 70 ? 45 : 90;
		s->low = floor(s->low / s->step + 1e-9) * s->step;
		s->high = ceil(s->high / s->step - 1e-9) * s->step;
	}
	if (percent && s->low < 0 && !negative)
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

bool inv_is_off_chart(const inv_scale *first, const double *value, size_t count)
{
	double beyond = 3 * (first->high - first->low);

	for (size_t i = 0; i < count && beyond > 0; i++)
		if (value[i] > first->high + beyond || value[i] < first->low - beyond)
			return true;
	return false;
}

double inv_scale_at(const inv_scale *s, double value)
{
	double place = s->log ? log10(value) : value;
	double fraction = (place - s->low) / (s->high - s->low);

	/* Far outside, where it does not show, and where drawers of SVG still can count. */
	return s->start + s->size * (fraction > -far && fraction < far ? fraction
	                             : fraction > 0                    ? far
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

/* As many digits as distinguish neighbouring ticks. */
void inv_scale_label(const inv_scale *s, double value, char text[INV_TICK_TEXT])
{
	bool percent = s->axis->unit == INVAR_UNIT_SHARE;
	double step = percent ? 100 * s->step : s->step;
	double number = percent ? 100 * value : value;
	int digits = step < 1 && !s->log ? (int)ceil(-log10(step) - 1e-9) : 0;
	const char *symbol = percent ? " %" : s->axis->symbol ? s->axis->symbol : "";

	if (s->log || digits > 6 || fabs(number) >= 1e6)
		snprintf(text, INV_TICK_TEXT, "%.3g%.8s", number, symbol);
	else
		snprintf(text, INV_TICK_TEXT, "%.*f%.8s", digits, number, symbol);
}
