/*
 * closed_form.c - fitting the closed forms to a bank, and writing them as an MLP.
 *
 * Rows are read in blocks of images, the clean block first and then the same
 * images of each copy, so a bank larger than memory streams through.
 *
 * Ridge has one free number, lambda, in units of the mean diagonal of the
 * centred Gram matrix. Unless it is given, a tenth of the images is held out,
 * each candidate is fitted to the others and judged by the mean squared error
 * of the held-out copies and clean rows; the best is then fitted to all images.
 * Whole images are held out, as the copies of one image resemble each other.
 *
 * relu(z) - relu(-z) = z carries any linear map through a ReLU:
 *
 *     W0 = [I; -I; drawn]   b0 = [0; 0; drawn]   W2 = [M^T, -M^T, 0]   b2 = t
 *
 * One of the two units of a feature is always 0, so the sum over hidden units
 * has no more terms, and no more rounding, than z M itself. The ones in W0 are
 * exact, so no scaling could make it better.
 */
#include "adapter/closed_form.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { BLOCK = 1024, HELD_OUT = 10 /* one image in so many */ };

const double inv_ridge_choices[INV_RIDGE_CHOICES] = {1e-4, 1e-3, 1e-2, 1e-1, 1, 10};

static const char *const names[] = {"identity", "rigid", "ridge"};

static const invar_option ridge_rows[] = {
	{.name = "ridge",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1e9,
     .flags = INVAR_OPTION_RESULT,
     .meta = "F",
     .group = "Method",
     .help = "strength of the ridge regression, in mean diagonals of the Gram matrix; 0 "
             "chooses it on held-out images"},
	{0},
};

const char *inv_closed_form_name_at(size_t i)
{
	return i < sizeof names / sizeof *names ? names[i] : NULL;
}

invar_status inv_closed_form_declare(invar_options *o, const char *selector)
{
	return inv_options_add_part(o, selector, "ridge", ridge_rows);
}

bool inv_closed_form_needs_copies(const char *kind)
{
	return strcmp(kind, "identity") != 0;
}

/* ---- Walking over the rows ----------------------------------------------- */

typedef struct walk {
	const inv_closed_form_spec *s;
	size_t d;
	bool with_clean;              /* clean rows pair with themselves */
	float *clean, *copy, *mapped; /* [BLOCK, d] */
	uint64_t done, total;         /* images, over all walks; for progress */
} walk;

/* Called with sources a and targets b, [rows, d] each. */
typedef invar_status visit_fn(void *user, const float *a, const float *b, uint64_t rows);

static invar_status read_images(const walk *w, int32_t copy, const uint32_t *images,
                                uint32_t count, float *out)
{
	invar_status st = INVAR_OK;

	for (uint32_t i = 0; i < count && st == INVAR_OK; i++)
		st = inv_bank_row(w->s->bank, w->s->split, copy, images[i], out + i * w->d);
	return st;
}

static invar_status visit_block(walk *w, const uint32_t *images, uint32_t count,
                                visit_fn *fn, void *user)
{
	invar_status st = read_images(w, INVAR_CLEAN, images, count, w->clean);

	if (st == INVAR_OK && w->with_clean)
		st = fn(user, w->clean, w->clean, count);
	for (uint32_t k = 0; k < w->s->copies && st == INVAR_OK; k++) {
		st = read_images(w, (int32_t)k, images, count, w->copy);
		if (st == INVAR_OK)
			st = fn(user, w->copy, w->clean, count);
	}
	return st;
}

static invar_status visit_images(walk *w, const uint32_t *images, uint32_t count,
                                 visit_fn *fn, void *user)
{
	invar_status st = INVAR_OK;

	for (uint32_t at = 0; at < count && st == INVAR_OK; at += BLOCK) {
		uint32_t now = count - at < BLOCK ? count - at : BLOCK;

		st = visit_block(w, images + at, now, fn, user);
		w->done += now;
		if (st == INVAR_OK)
			st = inv_progress(w->s->bank->ctx, "fit", w->done, w->total);
	}
	return st;
}

static invar_status add_pairs(void *user, const float *a, const float *b, uint64_t rows)
{
	inv_pairs_add(user, a, b, rows);
	return INVAR_OK;
}

/* ---- Choosing lambda
 * --------------------------------------------------------------------- */

typedef struct judge {
	walk *w;
	const inv_map_affine *map;
	double sum; /* of squared errors */
	uint64_t cells;
} judge;

static invar_status add_error(void *user, const float *a, const float *b, uint64_t rows)
{
	judge *j = user;
	size_t d = j->w->d;
	float *mapped = j->w->mapped;
	invar_status st = inv_map_rows(j->w->s->bank->ctx, j->map, a, rows, mapped);

	for (uint64_t i = 0; i < rows && st == INVAR_OK; i++) {
		double sum = 0; /* a row each, so that long sums keep their digits */

		for (size_t l = i * d; l < (i + 1) * d; l++)
			sum += ((double)mapped[l] - b[l]) * ((double)mapped[l] - b[l]);
		j->sum += sum;
	}
	j->cells += rows * d;
	return st;
}

/* Splits the images into `kept` and, behind them, those held out; returns how many kept. */
static uint32_t hold_out(const inv_closed_form_spec *s, uint32_t *shuffled, uint32_t *out)
{
	uint32_t n = s->image_count, held = (n + HELD_OUT - 1) / HELD_OUT;
	uint32_t kept = 0, last = n - held;
	inv_stream stream = inv_stream_of(s->seed, "closed/images", 0);

	inv_permutation(&stream, 0, shuffled, n);
	for (uint32_t i = 0; i < n; i++)
		out[shuffled[i] < held ? last++ : kept++] = s->images[i];
	return kept;
}

static invar_status judge_choice(walk *w, const inv_pairs *p, const uint32_t *held,
                                 uint32_t count, double lambda, double *error)
{
	inv_map_affine map;
	judge j = {.w = w, .map = &map};
	invar_status st = inv_fit_ridge(p, lambda, &map);

	if (st != INVAR_OK)
		return st;
	st = visit_images(w, held, count, add_error, &j);
	*error = j.sum / (double)j.cells;
	inv_log(w->s->bank->ctx, INVAR_LOG_DETAIL, "ridge %g: held-out error %.6g", lambda,
	        *error);
	inv_map_clear(&map);
	return st;
}

/* Leaves in p the sums of all images, first those kept and then those held out. */
static invar_status choose_lambda(walk *w, inv_pairs *p, uint32_t *order, uint32_t kept,
                                  inv_closed_form *out)
{
	uint32_t held = w->s->image_count - kept;
	invar_status st = visit_images(w, order, kept, add_pairs, p);
	int best = 0;

	for (int i = 0; i < INV_RIDGE_CHOICES && st == INVAR_OK; i++) {
		st = judge_choice(w, p, order + kept, held, inv_ridge_choices[i], &out->error[i]);
		if (out->error[i] < out->error[best])
			best = i;
	}
	out->lambda = inv_ridge_choices[best];
	out->chosen = true;
	return st == INVAR_OK ? visit_images(w, order + kept, held, add_pairs, p) : st;
}

static invar_status sum_and_choose(walk *w, inv_pairs *p, inv_closed_form *out)
{
	uint32_t n = w->s->image_count, kept;
	uint32_t *order = inv_calloc(2 * (size_t)n, sizeof *order);
	invar_status st;

	if (!order)
		return inv_fail(INVAR_E_NOMEM, "no memory for a list of %" PRIu32 " images", n);
	kept = hold_out(w->s, order + n, order);
	w->total = n + (uint64_t)INV_RIDGE_CHOICES * (n - kept);
	st = choose_lambda(w, p, order, kept, out);
	inv_free(order);
	return st;
}

/* ---- Fitting
 * ------------------------------------------------------------------------------- */

static invar_status fit_identity(size_t d, inv_map_affine *m)
{
	*m = (inv_map_affine){
		.d = d, .M = inv_calloc(d * d, sizeof(double)), .t = inv_calloc(d, sizeof(double))};
	if (!m->M || !m->t)
		return inv_fail(INVAR_E_NOMEM, "no memory for a map of %zu features", d);
	for (size_t i = 0; i < d; i++)
		m->M[i * d + i] = 1;
	return INVAR_OK;
}

static invar_status fit_rigid(walk *w, inv_pairs *p, inv_closed_form *out)
{
	invar_status st = visit_images(w, w->s->images, w->s->image_count, add_pairs, p);

	return st == INVAR_OK ? inv_fit_rigid(p, &out->map) : st;
}

static invar_status fit_ridge(walk *w, inv_pairs *p, inv_closed_form *out)
{
	const inv_closed_form_spec *s = w->s;
	invar_status st;

	if (s->lambda == 0 && s->image_count < 2)
		return inv_fail(INVAR_E_USE,
		                "@init ridge cannot choose from %" PRIu32
		                " image; give @ridge a number",
		                s->image_count);
	out->lambda = s->lambda;
	st = s->lambda > 0 ? visit_images(w, s->images, s->image_count, add_pairs, p)
	                   : sum_and_choose(w, p, out);
	return st == INVAR_OK ? inv_fit_ridge(p, out->lambda, &out->map) : st;
}

static invar_status fit_to_rows(walk *w, bool ridge, inv_closed_form *out)
{
	inv_pairs *p = NULL;
	invar_status st = inv_pairs_new(w->s->bank->ctx, w->d, ridge, &p);

	if (st == INVAR_OK)
		st = ridge ? fit_ridge(w, p, out) : fit_rigid(w, p, out);
	inv_pairs_free(p);
	return st;
}

invar_status inv_closed_form_fit(const inv_closed_form_spec *s, inv_closed_form *out)
{
	bool ridge = strcmp(s->kind, "ridge") == 0;
	size_t d = s->bank->dim;
	walk w = {.s = s, .d = d, .with_clean = ridge, .total = s->image_count};
	invar_status st;

	*out = (inv_closed_form){.kind = s->kind};
	if (!inv_closed_form_needs_copies(s->kind)) {
		st = fit_identity(d, &out->map);
	} else if (!(w.clean = inv_alloc(3 * BLOCK * d * sizeof *w.clean))) {
		st = inv_fail(INVAR_E_NOMEM, "no memory for a block of rows");
	} else {
		w.copy = w.clean + BLOCK * d;
		w.mapped = w.copy + BLOCK * d;
		st = fit_to_rows(&w, ridge, out);
	}
	inv_free(w.clean);
	if (st != INVAR_OK)
		inv_closed_form_clear(out);
	return st;
}

json_t *inv_closed_form_json(const inv_closed_form *c)
{
	json_t *json = json_pack("{s:s}", "kind", c->kind), *errors;

	if (!json || strcmp(c->kind, "ridge") != 0)
		return json;
	json_object_set_new(json, "lambda", inv_json_number(c->lambda));
	if (!c->chosen)
		return json;
	errors = json_array();
	for (int i = 0; i < INV_RIDGE_CHOICES; i++)
		json_array_append_new(errors,
		                      json_pack("{s:f, s:o}", "lambda", inv_ridge_choices[i],
		                                "error", inv_json_number(c->error[i])));
	json_object_set_new(json, "held_out_error", errors);
	return json;
}

void inv_closed_form_clear(inv_closed_form *c)
{
	inv_map_clear(&c->map);
}

/* ---- As an MLP
 * -------------------------------------------------------------------------------- */

void inv_closed_form_export(const inv_map_affine *m, inv_mlp_shape s, bool residual,
                            float *params)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	size_t d = s.d, h = s.h;
	float *W0, *b0, *W2, *b2;

	inv_mlp_layout(s, blocks);
	W0 = params + blocks[0].offset;
	b0 = params + blocks[1].offset;
	W2 = params + blocks[2].offset;
	b2 = params + blocks[3].offset;
	memset(W0, 0, 2 * d * d * sizeof *W0);
	memset(b0, 0, 2 * d * sizeof *b0);
	for (size_t i = 0; i < d; i++) {
		W0[i * d + i] = 1;
		W0[(d + i) * d + i] = -1;
		for (size_t j = 0; j < d; j++) {
			float value = (float)(m->M[i * d + j] - (residual && i == j));

			W2[j * h + i] = value;
			W2[j * h + d + i] = -value;
		}
	}
	for (size_t j = 0; j < d; j++)
		b2[j] = (float)m->t[j];
}
