/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - invar_check: new data against an adapter's certificate; see check.h. */
#include "measure/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "adapter/compatibility.h"
#include "bank/bank.h"
#include "measure/measurement.h"

static const invar_option rows_of_options[] = {
	{"split", INVAR_OPTION_TEXT, .meta = "NAME", .group = "Data",
     .help = "split of the bank to check; default: test, or the only one"},
	{"points", INVAR_OPTION_COUNT, "1000", .min = 20, .max = 10000, .meta = "N",
     .group = "Data",
     .help = "rows, spread evenly, on which the structure is measured; the shift uses up "
             "to 10000"},
	{0},
};

invar_status inv_check_declare(invar_options *o)
{
	return inv_options_add_rows(o, rows_of_options);
}

/* Shifts of features and of norms that are fine however many rows there are. */
static const double fine[2] = {0.2, 0.3};

/* Squared limits add up, as squared distances do; twice the spread of chance is fine. */
double inv_check_limit(const inv_shift *s, int which)
{
	return hypot(fine[which], 2 * s->chance[which]);
}

/* Reasons are joined by "; ". */
typedef struct reasons {
	char *text;
	size_t used, count;
} reasons;

static void add_drift_reason(reasons *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_drift_reason(reasons *r, const char *format, ...)
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

/*
 * Few rows make every figure uncertain, so tolerances grow: to twice as much at 133 rows. A
 * comparison with NaN is false: what is unknown is no reason.
 */
bool inv_check_judge(const inv_check_facts *f, char why[INV_CHECK_WHY])
{
	const inv_shift *s = &f->shift;
	const inv_behaviour *old = &f->old, *now = &f->now;
	double wide = sqrt(1 + 400 / (double)f->points), half = 1 + 0.5 * wide;
	reasons r = {.text = why};

	why[0] = '\0';
	if (s->shift[0] > inv_check_limit(s, 0))
		add_drift_reason(
			&r,
			"clean features are shifted by %.2f of their spread, at most %.2f is "
			"expected",
			s->shift[0], inv_check_limit(s, 0));
	if (s->shift[1] > inv_check_limit(s, 1))
		add_drift_reason(
			&r, "norms are shifted by %.2f of their spread, at most %.2f is expected",
			s->shift[1], inv_check_limit(s, 1));
	if (now->r2 < old->r2 - 0.1 * wide)
		add_drift_reason(&r, "R² is %.3f, it was %.3f", now->r2, old->r2);
	if (now->cvrmsd > half * old->cvrmsd && now->cvrmsd > old->cvrmsd + 0.02 * wide)
		add_drift_reason(&r, "CVRMSD is %.3f, it was %.3f", now->cvrmsd, old->cvrmsd);
	if (now->moved > half * old->moved && now->moved > old->moved + 0.05 * wide)
		add_drift_reason(&r,
		                 "clean features are moved by %.2f of their spread, it was %.2f",
		                 now->moved, old->moved);
	if (now->gone < old->gone - 0.15 * wide)
		add_drift_reason(&r,
		                 "%.0f %% of the displacement of copies is removed, it was %.0f %%",
		                 100 * now->gone, 100 * old->gone);
	if (!r.count)
		snprintf(why, INV_CHECK_WHY,
		         "the features are like those that were certified: shifted by %.2f of "
		         "their spread, up to %.2f is expected of %" PRIu64 " rows",
		         s->shift[0], inv_check_limit(s, 0), s->rows);
	return r.count > 0;
}

#define METRIC(ID, ROW, BETTER, DIGITS) \
	INV_NUMBER_METRIC("check", "check." ID, ROW, NULL, BETTER, DIGITS)

static const invar_metric metrics[] = {
	METRIC("shift", "shift of clean features", -1, 3),
	METRIC("norms", "shift of norms", -1, 3),
	METRIC("norm", "median norm", 0, 3),
	METRIC("R2", "R²", 1, 4),
	METRIC("CVRMSD", "CVRMSD", -1, 4),
	METRIC("moved", "clean features moved", -1, 3),
	METRIC("gone", "displacement removed", 1, 3),
	{0},
};

enum { METRICS = sizeof metrics / sizeof *metrics - 1 };

static invar_status put_check_column(invar_results *r, const char *column,
                                     const double value[METRICS], uint64_t rows)
{
	INV_TRY(inv_results_add_column(r, column, column, NULL));
	for (size_t i = 0; i < METRICS; i++)
		if (isfinite(value[i]))
			INV_TRY(inv_put_number(r, metrics[i].id, column, value[i], rows));
	return INVAR_OK;
}

/* In the rows of shifts, "certified" has the limit that the new value is held against. */
static invar_status put_check(invar_results *r, const inv_certificate *c,
                              const inv_check_facts *f, const char *bank)
{
	const inv_shift *s = &f->shift;
	const inv_behaviour *o = &f->old, *n = &f->now;
	const double old[METRICS] = {inv_check_limit(s, 0),
	                             inv_check_limit(s, 1),
	                             1,
	                             o->r2,
	                             o->cvrmsd,
	                             o->moved,
	                             o->gone};
	const double now[METRICS] = {s->shift[0], s->shift[1], s->norm, n->r2,
	                             n->cvrmsd,   n->moved,    n->gone};
	char why[INV_CHECK_WHY];
	bool drift = inv_check_judge(f, why);

	INV_TRY(inv_results_declare(r, "check", "check", metrics));
	INV_TRY(put_check_column(r, "certified", old, c->clean.rows));
	INV_TRY(put_check_column(r, "new", now, s->rows));
	INV_TRY(inv_results_describe_all(r, json_pack("{s:s, s:s, s:I, s:o*}", "verdict",
	                                              drift ? "drift" : "fine", "why", why,
	                                              "rows", (json_int_t)s->rows, "bank",
	                                              bank ? inv_json_path(bank) : NULL)));
	return inv_results_note(
		r, "in the rows of shifts, 'certified' is the largest shift that is fine");
}

static const inv_split *choose_split(const invar_bank *b, const char *name)
{
	if (name)
		return inv_bank_split(b, name);
	if (b->split_count == 1)
		return &b->splits[0];
	if (inv_bank_has_split(b, "test"))
		return inv_bank_split(b, "test");
	inv_fail(INVAR_E_USE, "%s: has several splits but no test; choose one with @split",
	         b->path);
	return NULL;
}

/* Copies of another augmentation are displaced otherwise, so they are not compared. */
static bool is_same_augment(const invar_bank *b, const inv_certificate *c)
{
	const char *now = invar_bank_field(b, "augment");
	const char *old =
		json_string_value(json_object_get(json_object_get(c->document, "bank"), "augment"));

	return now && old && strcmp(now, old) == 0;
}

invar_status invar_check(const invar_adapter *e, const invar_bank *bank,
                         const invar_options *o, invar_results **out)
{
	const invar_bank view = inv_unit_view(bank), *rows = e->unit ? &view : bank;
	inv_certificate c = {0};
	inv_check_facts f = {.points = 0};
	inv_pool scratch = {0};
	const inv_split *s;
	float *x, *points, *copies = NULL; /* for the shift; for the structure */
	uint64_t n, max;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_expect(o, "check"));
	INV_TRY_OR(end, inv_certificate_of(e, &c));
	INV_TRY_OR(end, inv_check_width(e, e->path, bank));
	if (!(s = choose_split(bank, inv_option_text(o, "split"))))
		INV_TRY_OR(end, INVAR_E_USE);
	inv_compatibility_warn(e, bank);
	INV_TRY_OR(end, inv_compatibility_warn_split(e, bank, s));

	max = inv_option_count(o, "points");
	INV_TRY_OR(end,
	           inv_take_rows(rows, s, INVAR_CLEAN, INV_PROFILE_MAX_ROWS, &scratch, &x, &n));
	INV_TRY_OR(end, inv_take_rows(rows, s, INVAR_CLEAN, max, &scratch, &points, &f.points));
	if (s->copies && is_same_augment(bank, &c))
		INV_TRY_OR(end, inv_take_rows(rows, s, 0, max, &scratch, &copies, &f.points));
	INV_TRY_OR(end, inv_clean_profile_compare(e->ctx, &c.clean, x, n, &f.shift));
	f.old = c.adapter;
	INV_TRY_OR(end, inv_behaviour_measure(e, points, copies, f.points, &f.now));

	INV_TRY_OR(end, inv_results_new(out));
	st = put_check(*out, &c, &f, bank->in_memory ? NULL : bank->path);
end:
	inv_pool_free(&scratch);
	inv_certificate_clear(&c);
	return inv_results_give(st, out);
}
