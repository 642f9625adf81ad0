/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - invar_check: new data against an adapter's certificate; see check.h. */
#include "measure/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "adapter/compatibility.h"
#include "bank/bank.h"
#include "base/memory.h"
#include "run/results.h"

static const invar_option rows_of_options[] = {
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .meta = "NAME",
     .group = "Data",
     .help = "split of the bank to check; default: test, or the only one"},
	{.name = "points",
     .type = INVAR_OPTION_COUNT,
     .initial = "1000",
     .min = 20,
     .max = 10000,
     .meta = "N",
     .group = "Data",
     .help = "rows, spread evenly, on which the structure is measured; the shift uses up "
             "to 10000"},
	{0},
};

invar_status inv_check_declare(invar_options *o)
{
	return inv_options_add_rows(o, rows_of_options);
}

/* ---- The data --------------------------------------------------------------------- */

typedef struct new_data {
	const invar_adapter *e;
	const char *name; /* of a folder; NULL: none */
	float *x;         /* [rows, d] for the shift */
	uint64_t rows;
	float *points, *copies; /* [n, d] for the structure; copies may be NULL */
	uint64_t n;
} new_data;

static void drop_data(new_data *w)
{
	inv_free(w->x);
	inv_free(w->points);
	inv_free(w->copies);
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

static invar_status read_bank(const invar_bank *b, const inv_split *s, uint64_t points,
                              bool copies, new_data *w)
{
	invar_status st =
		inv_take_rows(b, s, INVAR_CLEAN, INV_PROFILE_MAX_ROWS, &w->x, &w->rows);

	if (st == INVAR_OK)
		st = inv_take_rows(b, s, INVAR_CLEAN, points, &w->points, &w->n);
	return st == INVAR_OK && copies ? inv_take_rows(b, s, 0, points, &w->copies, &w->n)
	                                : st;
}

/* ---- The results ------------------------------------------------------------------ */

#define METRIC(id_, row_, better_, digits_)                                \
	{                                                                      \
		.id = id_, .measurement = "check", .row = row_, .better = better_, \
		.digits = digits_                                                  \
	}

static const invar_metric metrics[] = {
	METRIC("check.shift", "shift of clean features", -1, 3),
	METRIC("check.norms", "shift of norms", -1, 3),
	METRIC("check.norm", "median norm", 0, 3),
	METRIC("check.R2", "R²", 1, 4),
	METRIC("check.CVRMSD", "CVRMSD", -1, 4),
	METRIC("check.moved", "clean features moved", -1, 3),
	METRIC("check.gone", "displacement removed", 1, 3),
};

enum { METRICS = sizeof metrics / sizeof *metrics };

/* The column "limit" has what the new value is held against. */
static invar_status put_column(invar_results *r, const char *column,
                               const double value[METRICS], uint64_t rows)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < METRICS && st == INVAR_OK; i++) {
		const invar_value v = {.value = value[i], .low = NAN, .high = NAN, .count = rows};

		if (isfinite(value[i]))
			st = inv_results_put(r, metrics[i].id, column, &v);
	}
	return st;
}

static invar_status begin_results(invar_results *r)
{
	invar_status st = inv_results_add_column(r, "certified", "certified", NULL);

	if (st == INVAR_OK)
		st = inv_results_add_column(r, "new", "new", NULL);
	if (st == INVAR_OK)
		st = inv_results_add_measurement(r, "check", "check");
	for (size_t i = 0; i < METRICS && st == INVAR_OK; i++)
		st = inv_results_add_metric(r, &metrics[i]);
	return st;
}

static invar_status put_facts(invar_results *r, const inv_certificate *c,
                              const inv_check_facts *f)
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
	invar_status st = put_column(r, "certified", old, c->clean.rows);

	return st == INVAR_OK ? put_column(r, "new", now, s->rows) : st;
}

static invar_status put_verdict(invar_results *r, const new_data *w,
                                const inv_check_facts *f)
{
	char why[INV_CHECK_WHY];
	bool drift = inv_check_judge(f, why);
	invar_status st =
		inv_results_describe(r, "verdict", json_string(drift ? "drift" : "fine"));

	if (st == INVAR_OK)
		st = inv_results_describe(r, "why", json_string(why));
	if (st == INVAR_OK)
		st = inv_results_describe(r, "rows", json_integer((json_int_t)w->rows));
	if (st == INVAR_OK && w->name)
		st = inv_results_describe(r, "bank", inv_json_path(w->name));
	return st == INVAR_OK ? inv_results_note(r, "in the rows of shifts, 'certified' is the "
	                                            "largest shift that is fine")
	                      : st;
}

static invar_status compare(const inv_certificate *c, const new_data *w,
                            invar_results **out)
{
	inv_check_facts f = {.old = c->adapter, .points = w->n};
	invar_results *r = NULL;
	invar_status st =
		inv_clean_profile_compare(w->e->ctx, &c->clean, w->x, w->rows, &f.shift);

	if (st == INVAR_OK)
		st = inv_behaviour_measure(w->e, w->points, w->copies, w->n, &f.now);
	if (st == INVAR_OK)
		st = inv_results_new(&r);
	if (st == INVAR_OK && (st = begin_results(r)) == INVAR_OK &&
	    (st = put_facts(r, c, &f)) == INVAR_OK)
		st = put_verdict(r, w, &f);
	if (st == INVAR_OK)
		*out = r;
	else
		invar_results_free(r);
	return st;
}

/* ---- Calls ------------------------------------------------------------------------ */

invar_status invar_check(const invar_adapter *e, const invar_bank *bank,
                         const invar_options *o, invar_results **out)
{
	new_data w = {.e = e, .name = bank->in_memory ? NULL : bank->path};
	inv_certificate c = {0};
	const inv_split *s;
	invar_status st = inv_options_expect(o, "check");

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_certificate_of(e, &c);
	if (st == INVAR_OK && bank->dim != e->s.d)
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s takes features of width %zu, but those of %s have width %" PRIu32,
		              e->path, e->s.d, bank->path, bank->dim);
	if (st == INVAR_OK && !(s = choose_split(bank, inv_option_text(o, "split"))))
		st = INVAR_E_USE;
	if (st == INVAR_OK) {
		const invar_bank view = inv_unit_view(bank);

		inv_compatibility_warn(e, bank);
		if ((st = inv_compatibility_warn_split(e, bank, s)) == INVAR_OK)
			st = read_bank(e->unit ? &view : bank, s, inv_option_count(o, "points"),
			               s->copies && is_same_augment(bank, &c), &w);
	}
	if (st == INVAR_OK)
		st = compare(&c, &w, out);
	drop_data(&w);
	inv_certificate_clear(&c);
	return st;
}
