/* SPDX-License-Identifier: Apache-2.0 */
/* study_cost.c - estimates of time and disk space. See study_cost.h. */
#include "study/study_cost.h"
#include "base/options.h"
#include "measure/measurement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SPEED_ROWS = 512,
	SPEED_WIDTH = 512,
	SPEED_HIDDEN = 1024,
	TRAINED = 3 /* forward, and back twice */
};

enum { MAX_TRIES = 6 };

#define ENOUGH_SECONDS 0.5
#define UPDATE_BYTES_PER_SECOND 5e9 /* AdamW reads and writes its state once per step */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- An adapter and rows to try ---------------------------------------------------------
 */

/* Values do not matter, except that no two rows should be equal. */
static float *make_rows(size_t count)
{
	float *rows = malloc(count * sizeof *rows);
	uint32_t state = 1;

	for (size_t i = 0; rows && i < count; i++) {
		state = state * 1664525u + 1013904223u;
		rows[i] = (float)(state >> 8) / 8388608.0f - 1;
	}
	return rows;
}

static invar_adapter *make_adapter(invar_context *ctx, uint32_t d, uint32_t hidden,
                                   uint32_t w, bool residual)
{
	float *first = make_rows((size_t)d * hidden), *second = make_rows((size_t)hidden * w);
	float *bias = make_rows(hidden > w ? hidden : w);
	invar_adapter *e = NULL;

	if (first && second && bias)
		invar_adapter_new(ctx, d, hidden, w, residual, first, bias, second, bias, &e);
	free(first);
	free(second);
	free(bias);
	return e;
}

double inv_cost_speed(invar_context *ctx)
{
	uint32_t d = SPEED_WIDTH;
	invar_adapter *e = make_adapter(ctx, d, SPEED_HIDDEN, d, false);
	float *in = make_rows((size_t)SPEED_ROWS * d), *out = make_rows((size_t)SPEED_ROWS * d);
	double best = INFINITY;

	for (int i = 0; e && in && out && i < 5; i++) {
		double began = now();

		if (invar_adapter_apply(e, in, SPEED_ROWS, out) == INVAR_OK)
			best = fmin(best, now() - began);
	}
	invar_adapter_close(e);
	free(in);
	free(out);
	return isfinite(best) && best > 0 ? 4.0 * SPEED_ROWS * SPEED_HIDDEN * (double)d / best
	                                  : 0;
}

/* ---- A step of training
 * ------------------------------------------------------------------- */

typedef struct step {
	const char *loss;
	uint32_t N, s, d, hidden, w;
	bool residual;
} step;

static double number(const invar_options *o, const char *name)
{
	double value = inv_options_number(o, name);

	return isnan(value) ? 0 : value;
}

static step step_of(const inv_cost_rows *r, const invar_options *o)
{
	const char *loss = inv_options_text(o, "loss", 0);
	bool views = loss && strcmp(loss, "simclr") == 0;
	uint32_t batch = (uint32_t)number(o, "batch-size");
	uint32_t width = (uint32_t)number(o, "width");

	if (!batch)
		batch = views ? 1024 : 256;
	return (step){.loss = loss ? loss : "mawa",
	              .N = batch < r->train ? batch : (uint32_t)r->train,
	              .s = views ? 2 : (uint32_t)number(o, "samples"),
	              .d = r->d,
	              .hidden = (uint32_t)number(o, "hidden"),
	              .w = width ? width : r->d,
	              .residual = number(o, "residual") > 0 || number(o, "scaled") > 0};
}

/* The options of the loss that the training has too. */
static invar_status loss_options(const step *t, const invar_options *train,
                                 invar_options **out)
{
	invar_status st = invar_options_new("loss", out);

	if (st == INVAR_OK)
		st = invar_options_set(*out, "kind", t->loss);
	for (size_t i = 0; st == INVAR_OK && i < invar_options_count(*out); i++) {
		const char *name = invar_options_at(*out, i)->name;
		const char *text = inv_options_text(train, name, 0);

		if (!inv_options_is_set(train, name) || strcmp(name, "kind") == 0 ||
		    strcmp(name, "seed") == 0 || strcmp(name, "residual") == 0)
			continue;
		st = text ? invar_options_set(*out, name, text)
		          : invar_options_set_number(*out, name, number(train, name));
	}
	return st;
}

/* Seconds of the value and gradient of a loss; NaN if it cannot be computed. */
static double time_loss(invar_loss *l, const step *t, const float *clean,
                        const float *copies)
{
	bool views = strcmp(t->loss, "simclr") == 0;
	invar_status st =
		views ? invar_loss_set(l, "views", copies, 2, (uint64_t[]){2 * t->N, t->d})
			  : invar_loss_set(l, "clean", clean, 2, (uint64_t[]){t->N, t->d});
	double best = INFINITY, start = now();

	if (st == INVAR_OK && !views)
		st = invar_loss_set(l, "copies", copies, 3, (uint64_t[]){t->N, t->s, t->d});
	/* A busy machine may stop any of them for a while. */
	for (int i = 0; i < 2 || (i < MAX_TRIES && now() - start < ENOUGH_SECONDS); i++) {
		double began = now();

		if (st == INVAR_OK)
			st = invar_loss_compute(l);
		best = fmin(best, now() - began);
	}
	return st == INVAR_OK ? best : NAN;
}

static double time_step(invar_context *ctx, const step *t, const invar_options *train)
{
	invar_adapter *e = make_adapter(ctx, t->d, t->hidden, t->w, t->residual);
	float *clean = make_rows((size_t)t->N * t->d);
	float *copies = make_rows((size_t)t->N * t->s * t->d);
	double parameters = (double)t->hidden * (t->d + t->w), seconds = NAN;
	invar_options *o = NULL;
	invar_loss *l = NULL;

	if (e && clean && copies && loss_options(t, train, &o) == INVAR_OK &&
	    invar_loss_new(e, o, &l) == INVAR_OK)
		seconds =
			time_loss(l, t, clean, copies) + 7 * 4 * parameters / UPDATE_BYTES_PER_SECOND;
	invar_loss_free(l);
	invar_options_free(o);
	invar_adapter_close(e);
	free(clean);
	free(copies);
	return seconds;
}

/* ---- Stages
 * ---------------------------------------------------------------------------------- */

/* A Gram matrix of all rows and its Cholesky factor. */
static double closed_form(const inv_cost_rows *r, const step *t, double speed)
{
	double rows = (double)r->train * (double)(r->copies + 1);
	double size = (double)t->d + t->hidden;

	return (2 * rows * size * size + size * size * size) / speed;
}

/* A trial fits as often as there are folds, to four fifths of the images (trial_rows.c). */
static double count_fits(const inv_cost_rows *rows)
{
	double held = floor((double)rows->train / 5);

	if (rows->train < 50)
		return 0;
	return fmin(5, ceil(250 / held));
}

static double train_seconds(invar_context *ctx, const inv_cost_rows *rows, double speed,
                            const step *t, const invar_options *train)
{
	if (strcmp(t->loss, "none") == 0)
		return closed_form(rows, t, speed);
	return number(train, "epochs") * fmax(1, floor((double)rows->train / t->N)) *
	       time_step(ctx, t, train);
}

inv_cost inv_cost_train(invar_context *ctx, const inv_cost_rows *rows, double speed,
                        const invar_options *train)
{
	step t = step_of(rows, train);
	double fits = 1 + (number(train, "trial") > 0 ? count_fits(rows) : 0), bytes;

	if (!rows->d || !rows->train || !t.N || !t.hidden || !speed)
		return (inv_cost){NAN, NAN};
	bytes = 4.0 * t.hidden * (t.d + t.w);
	if (strcmp(t.loss, "none") != 0)
		bytes *= 4; /* a checkpoint has it too, and the two moments of AdamW */
	return (inv_cost){fits * train_seconds(ctx, rows, speed, &t, train), bytes};
}

inv_cost inv_cost_eval(invar_context *ctx, const inv_cost_rows *r, double speed,
                       const invar_options *eval, const invar_options *train, bool cached)
{
	step t = step_of(r, train);
	const inv_eval_sizes sizes = {.size = sizeof sizes,
	                              .rows = r->test,
	                              .copies = r->test_copies,
	                              .train = r->train,
	                              .train_copies = r->copies,
	                              .all_rows = r->all,
	                              .classes = r->classes,
	                              .dim = r->d,
	                              .adapters = 1,
	                              .width = t.w,
	                              .hidden = t.hidden,
	                              .cached = cached,
	                              .speed = speed,
	                              .views = r->views};
	invar_figures *f;
	inv_cost cost;

	if (!r->d || !speed || inv_eval_forecast(ctx, &sizes, eval, &f) != INVAR_OK)
		return (inv_cost){NAN, NAN};
	/* The results are a file of the study, and are merged into the run's. */
	cost = (inv_cost){invar_figure(f, "seconds"), 2 * invar_figure(f, "bytes")};
	invar_figures_free(f);
	return cost;
}

inv_cost inv_cost_diagnose(invar_context *ctx, const inv_cost_rows *rows, double speed,
                           const invar_options *diagnose)
{
	static const char *const presets[] = {"instant", NULL}; /* NULL: the default */
	double hidden = number(diagnose, "hidden"), seconds = 0;

	if (!rows->d || !rows->train || !speed)
		return (inv_cost){NAN, NAN};
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
		invar_options *o = NULL;
		invar_status st = invar_options_new("train", &o);

		if (st == INVAR_OK && presets[i])
			st = invar_options_set(o, "preset", presets[i]);
		if (st == INVAR_OK && hidden)
			st = invar_options_set_number(o, "hidden", hidden);
		if (st == INVAR_OK) {
			step t = step_of(rows, o);

			seconds += count_fits(rows) * train_seconds(ctx, rows, speed, &t, o);
		}
		invar_options_free(o);
		if (st != INVAR_OK)
			return (inv_cost){NAN, NAN};
	}
	return (inv_cost){seconds, 3e4};
}
