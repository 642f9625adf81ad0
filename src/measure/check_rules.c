/* SPDX-License-Identifier: Apache-2.0 */
/* check_rules.c - the verdict of `invar check`; the rules are in check.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure/check.h"

/* Of features, of norms: shifts of the old spread that are fine however many rows there
 * are. */
static const double fine[2] = {0.2, 0.3};

/* Squared distances add up, and so do squared limits; twice the spread of chance is fine.
 */
double inv_check_limit(const inv_shift *s, int which)
{
	return hypot(fine[which], 2 * s->chance[which]);
}

/* Reasons are joined by "; ". */
typedef struct reasons {
	char *text;
	size_t used, count;
} reasons;

static void add_reason(reasons *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_reason(reasons *r, const char *format, ...)
{
	va_list args;
	int more;

	if (r->count++)
		r->used += (size_t)snprintf(r->text + r->used, INV_CHECK_WHY - r->used, "; ");
	if (r->used >= INV_CHECK_WHY)
		return;
	va_start(args, format);
	more = vsnprintf(r->text + r->used, INV_CHECK_WHY - r->used, format, args);
	va_end(args);
	r->used += more > 0 ? (size_t)more : 0;
	if (r->used >= INV_CHECK_WHY)
		r->used = INV_CHECK_WHY - 1;
}

static void judge_shift(const inv_shift *s, reasons *r)
{
	if (s->shift[0] > inv_check_limit(s, 0))
		add_reason(r,
		           "clean features are shifted by %.2f of their spread, at most %.2f is "
		           "expected",
		           s->shift[0], inv_check_limit(s, 0));
	if (s->shift[1] > inv_check_limit(s, 1))
		add_reason(r, "norms are shifted by %.2f of their spread, at most %.2f is expected",
		           s->shift[1], inv_check_limit(s, 1));
}

/*
 * Few rows make every figure uncertain, so tolerances grow: to twice as much at 133 rows. A
 * comparison with NaN is false: what is unknown is no reason.
 */
static void judge_adapter(const inv_check_facts *f, reasons *r)
{
	const inv_behaviour *old = &f->old, *now = &f->now;
	double wide = sqrt(1 + 400 / (double)f->points), half = 1 + 0.5 * wide;

	if (now->r2 < old->r2 - 0.1 * wide)
		add_reason(r, "R² is %.3f, it was %.3f", now->r2, old->r2);
	if (now->cvrmsd > half * old->cvrmsd && now->cvrmsd > old->cvrmsd + 0.02 * wide)
		add_reason(r, "CVRMSD is %.3f, it was %.3f", now->cvrmsd, old->cvrmsd);
	if (now->moved > half * old->moved && now->moved > old->moved + 0.05 * wide)
		add_reason(r, "clean features are moved by %.2f of their spread, it was %.2f",
		           now->moved, old->moved);
	if (now->gone < old->gone - 0.15 * wide)
		add_reason(r, "%.0f %% of the displacement of copies is removed, it was %.0f %%",
		           100 * now->gone, 100 * old->gone);
}

bool inv_check_judge(const inv_check_facts *f, char why[INV_CHECK_WHY])
{
	reasons r = {.text = why};

	why[0] = '\0';
	judge_shift(&f->shift, &r);
	judge_adapter(f, &r);
	if (!r.count)
		snprintf(why, INV_CHECK_WHY,
		         "the features are like those that were certified: shifted by %.2f of "
		         "their spread, up to %.2f is expected of %llu rows",
		         f->shift.shift[0], inv_check_limit(&f->shift, 0),
		         (unsigned long long)f->shift.rows);
	return r.count > 0;
}
