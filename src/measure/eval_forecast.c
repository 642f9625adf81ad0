/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_forecast.c - inv_eval_forecast: how long an evaluation takes, before there is a
 * bank.
 *
 * Every requested measurement estimates its own work (work.h) for F and for an adapter.
 * What all of them share is added here: the adapter's codes, and the fingerprint of the
 * bank.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/figures.h"
#include "base/memory.h"
#include "math/matmul.h"
#include "measure/eval_options.h"
#include "measure/measurement.h"

enum { SIDE = 512, TRIES = 5 };

static const double per_hashed_byte = 60;
static const double once = 3e9; /* to start, and to write the results */
static const double bytes_of_column = 2e3;

/* ---- Speed --------------------------------------------------------------------------- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static invar_status time_products(inv_matmul *p, float *rows, double *best)
{
	const float *a = rows, *b = rows + SIDE * SIDE;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < 2 * SIDE * SIDE; i++)
		rows[i] = (float)(i % 7) - 3;
	*best = INFINITY;
	for (int i = 0; i < TRIES && st == INVAR_OK; i++) {
		double began = now();

		st = inv_matmul_run(p, a, b, NULL, rows + 2 * SIDE * SIDE);
		*best = fmin(*best, now() - began);
	}
	return st;
}

/* Operations per second of products on the threads of the context. */
static invar_status measure_speed(const invar_context *ctx, double *speed)
{
	const inv_matmul_spec spec = {.m = SIDE, .n = SIDE, .k = SIDE, .transpose_b = true};
	float *rows = inv_calloc(3 * SIDE * SIDE, sizeof *rows);
	inv_matmul *p = NULL;
	double best = 1;
	invar_status st = rows ? inv_matmul_new(ctx, &spec, &p)
	                       : inv_fail(INVAR_E_NOMEM, "not enough memory for a product");

	if (st == INVAR_OK)
		st = time_products(p, rows, &best);
	*speed = 2.0 * SIDE * SIDE * SIDE / fmax(best, 1e-9);
	inv_matmul_free(p);
	inv_free(rows);
	return st;
}

/* ---- Work ---------------------------------------------------------------------------- */

static bool can_measure(const inv_eval_sizes *z, const inv_measurement *m)
{
	return !((m->needs & INV_NEEDS_LABELS && !z->classes) ||
	         (m->needs & INV_NEEDS_COPIES && !z->copies) ||
	         (m->needs & INV_NEEDS_TRAIN && !z->train));
}

static void add_work(inv_work *sum, inv_work more)
{
	sum->operations += more.operations;
	sum->bytes += more.bytes;
}

/* All measurements of a column, or those that take views. */
static inv_work column_work(const inv_eval_sizes *z, inv_work_sizes *s)
{
	inv_work sum = {0, bytes_of_column};

	for (size_t i = 0; inv_measurement_at(i); i++) {
		const inv_measurement *m = inv_measurement_at(i);

		if (inv_eval_wants(s->options, m) && can_measure(z, m) &&
		    !(s->adapter && m->needs & INV_ONLY_F) &&
		    (!s->views || m->needs & INV_TAKES_VIEWS))
			add_work(&sum, m->work(s));
	}
	return sum;
}

/* A column, and the one with views that follows it. */
static void add_columns(const inv_eval_sizes *z, inv_work_sizes *s, inv_work *sum)
{
	add_work(sum, column_work(z, s));
	s->views = z->views;
	if (s->views)
		add_work(sum, column_work(z, s));
	s->views = false;
}

/* E is applied once to every row; the bank is hashed once. */
static inv_work shared_work(const inv_eval_sizes *z)
{
	double rows = (double)z->rows * (double)(1 + z->copies);
	double train = (double)z->train;
	double hashed = 4.0 * z->dim * (rows + train * (double)(1 + z->train_copies));
	double applied = 2.0 * z->hidden * ((double)z->dim + z->width) * (rows + train);

	return (inv_work){once + per_hashed_byte * hashed + z->adapters * applied, 0};
}

static void evaluation_work(const inv_eval_sizes *z, const invar_options *o, inv_work *sum)
{
	double points = (double)inv_option_count(o, "points"), rows = (double)z->rows;
	inv_work_sizes s = {.options = o,
	                    .rows = rows,
	                    .copies = (double)z->copies,
	                    .points = points > 0 && points < rows ? points : rows,
	                    .train = (double)z->train,
	                    .train_copies = (double)z->train_copies,
	                    .gallery = (double)z->all_rows,
	                    .classes = (double)z->classes,
	                    .d = z->dim,
	                    .w = z->dim,
	                    .cached = z->cached,
	                    .linear = z->cached};

	*sum = shared_work(z);
	add_columns(z, &s, sum);
	s.adapter = true;
	s.w = z->width;
	for (uint32_t i = 0; i < z->adapters; i++) {
		s.outcomes = 0;
		add_columns(z, &s, sum);
	}
}

invar_status inv_eval_forecast(invar_context *ctx, const inv_eval_sizes *sizes,
                               const invar_options *o, invar_figures **out)
{
	inv_eval_sizes z = {0};
	inv_work work;
	invar_status st = inv_options_expect(o, "eval");

	*out = NULL;
	memcpy(&z, sizes, sizes->size < sizeof z ? sizes->size : sizeof z);
	if (st == INVAR_OK)
		st = inv_eval_check_metrics(o);
	if (st == INVAR_OK && !(z.speed > 0))
		st = measure_speed(ctx, &z.speed);
	if (st != INVAR_OK)
		return st;
	evaluation_work(&z, o, &work);
	return inv_figures_new(
		(const inv_figure[]){{"seconds", work.operations / z.speed}, {"bytes", work.bytes}},
		2, out);
}
