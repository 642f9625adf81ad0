/* SPDX-License-Identifier: Apache-2.0 */
/* check_rules.c - the verdict of `invar check`; the rules are in check.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure/check.h"

static const double beyond_chance = 1.5, least_shift = 0.1;

double inv_check_limit(const inv_shift *s, int which)
{
	return fmax(beyond_chance * s->chance[which], least_shift);
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
		add_reason(r, "clean features are shifted by %.2f of their spread, at most %.2f is "
		              "expected",
		           s->shift[0], inv_check_limit(s, 0));
	if (s->shift[1] > inv_check_limit(s, 1))
		add_reason(r, "norms are shifted by %.2f of their spread, at most %.2f is expected",
		           s->shift[1], inv_check_limit(s, 1));
}

/* A comparison with NaN is false: what is unknown is no reason. */
static void judge_adapter(const inv_behaviour *old, const inv_behaviour *now, reasons *r)
{
	if (now->r2 < old->r2 - 0.1)
		add_reason(r, "R² is %.3f, it was %.3f", now->r2, old->r2);
	if (now->cvrmsd > 1.5 * old->cvrmsd && now->cvrmsd > old->cvrmsd + 0.02)
		add_reason(r, "CVRMSD is %.3f, it was %.3f", now->cvrmsd, old->cvrmsd);
	if (now->moved > 1.5 * old->moved && now->moved > old->moved + 0.05)
		add_reason(r, "clean features are moved by %.2f of their spread, it was %.2f",
		           now->moved, old->moved);
	if (now->gone < old->gone - 0.15)
		add_reason(r, "%.0f %% of the displacement of copies is removed, it was %.0f %%",
		           100 * now->gone, 100 * old->gone);
}

bool inv_check_judge(const inv_check_facts *f, char why[INV_CHECK_WHY])
{
	reasons r = {.text = why};

	why[0] = '\0';
	judge_shift(&f->shift, &r);
	judge_adapter(&f->old, &f->now, &r);
	if (!r.count)
		snprintf(why, INV_CHECK_WHY,
		         "the features are like those that were certified: shifted by %.2f of "
		         "their spread, up to %.2f is expected of %llu rows",
		         f->shift.shift[0], inv_check_limit(&f->shift, 0),
		         (unsigned long long)f->shift.rows);
	return r.count > 0;
}
