/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier.c - a classifier on frozen rows.
 *
 * The rows fit in memory (they are the codes of a training split), so a batch is
 * gathered by copying; the order of an epoch is a permutation drawn from (seed,
 * epoch). As in step.c, a layer is updated while its gradient is still in the cache.
 *
 * Inputs are standardised while they are gathered. One number for the spread keeps the
 * geometry of the rows; a spread per dimension would weigh a unit that is almost never
 * active as much as any other.
 */
#include "nn/classifier.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "math/softmax.h"
#include "nn/adamw.h"

enum { BATCH = INV_CLASSIFIER_BATCH, PREDICT_ROWS = 4096 };

static const double rate = 1e-3, rate_min = 4e-4;

uint64_t inv_classifier_steps(uint64_t rows)
{
	return rows < BATCH ? 1 : rows / BATCH;
}

inv_layers_shape inv_classifier_shape(const inv_classifier_spec *spec)
{
	inv_layers_shape s = {spec->hidden_layers + 1, {spec->inputs}};

	for (size_t l = 1; l < s.count; l++)
		s.width[l] = spec->hidden;
	s.width[s.count] = spec->classes;
	return s;
}

size_t inv_classifier_floats(const inv_classifier_spec *spec)
{
	inv_layers_shape s = inv_classifier_shape(spec);

	return inv_layers_floats(&s);
}

/* ---- One step ------------------------------------------------------------------- */

invar_status inv_fit_new(const invar_context *ctx, const inv_classifier_spec *spec,
                         size_t N, inv_fit **out)
{
	size_t logits;
	inv_fit *f;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&f));
	f->ctx = ctx;
	f->shape = inv_classifier_shape(spec);
	f->N = N;
	f->floats = inv_layers_floats(&f->shape);
	inv_kernels_init(&f->kernels, ctx->cpu);
	logits = N * spec->classes;
	for (int round = 0; round < 2; round++) {
		f->grads = inv_arena_take(&f->arena, f->floats, sizeof(float));
		f->m = inv_arena_take(&f->arena, f->floats, sizeof(float));
		f->v = inv_arena_take(&f->arena, f->floats, sizeof(float));
		f->logits = inv_arena_take(&f->arena, logits, sizeof(float));
		f->d_logits = inv_arena_take(&f->arena, logits, sizeof(float));
		f->row_loss = inv_arena_take(&f->arena, N, sizeof(double));
		if (!round)
			INV_TRY_OR(fail, inv_arena_commit(&f->arena));
	}
	memset(f->grads, 0, f->floats * sizeof *f->grads);
	memset(f->m, 0, f->floats * sizeof *f->m);
	memset(f->v, 0, f->floats * sizeof *f->v);
	INV_TRY_OR(fail, inv_layers_new(ctx, &f->shape, N, true, &f->pass));
	*out = f;
	return INVAR_OK;
fail:
	inv_fit_free(f);
	return st;
}

void inv_fit_free(inv_fit *f)
{
	if (!f)
		return;
	inv_layers_free(f->pass);
	inv_arena_free(&f->arena);
	inv_free(f);
}

static invar_status forward_fit(inv_fit *f, const float *params, const float *x,
                                const uint32_t *labels, double *loss)
{
	INV_TRY(inv_layers_forward(f->pass, params, x, false, f->logits));
	*loss = inv_cross_entropy(f->ctx, f->logits, labels, f->N,
	                          f->shape.width[f->shape.count], f->d_logits, f->row_loss);
	return isfinite(*loss) ? INVAR_OK
	                       : inv_fail(INVAR_E_NUMERIC,
	                                  "the loss of a classifier is not finite after "
	                                  "%" PRIu64 " steps; the codes may be too large",
	                                  f->t);
}

invar_status inv_fit_gradients(inv_fit *f, const float *params, const float *x,
                               const uint32_t *labels, double *loss)
{
	INV_TRY(forward_fit(f, params, x, labels, loss));
	for (size_t l = f->shape.count; l-- > 0;)
		INV_TRY(inv_layers_backward(f->pass, l, params, x, f->d_logits, f->grads));
	return INVAR_OK;
}

invar_status inv_fit_step(inv_fit *f, float *params, const float *x, const uint32_t *labels,
                          double lr, double *loss)
{
	const inv_adamw adam = {0.9, 0.999, 1e-8, 0};
	inv_adamw_update u;

	INV_TRY(forward_fit(f, params, x, labels, loss));
	u = inv_adamw_begin(&f->kernels, &adam, lr, ++f->t, params, f->m, f->v);
	for (size_t l = f->shape.count; l-- > 0;)
		INV_TRY(inv_layers_backward_take(f->pass, l, params, x, f->d_logits, f->grads,
		                                 inv_adamw_take, &u));
	return INVAR_OK;
}

/* ---- Training ------------------------------------------------------------------------ */

/* A batch, and the order it is taken in. */
typedef struct batches {
	const float *x;
	size_t width;
	uint32_t rows, N;
	uint32_t *order;        /* [rows] */
	float *batch;           /* [N, width] */
	uint32_t *batch_labels; /* [N] */
	double *mean;           /* [width]: 0 for inputs as they are */
	double scale;           /* 1 / spread; 1 for inputs as they are, and for equal rows */
	inv_arena arena;
} batches;

static void standardise_inputs(batches *b, bool standardise)
{
	double squares = 0;

	memset(b->mean, 0, b->width * sizeof *b->mean);
	b->scale = 1;
	if (!standardise)
		return;
	for (size_t i = 0; i < b->rows; i++)
		for (size_t j = 0; j < b->width; j++)
			b->mean[j] += b->x[i * b->width + j];
	for (size_t j = 0; j < b->width; j++)
		b->mean[j] /= b->rows;
	for (size_t i = 0; i < b->rows; i++)
		for (size_t j = 0; j < b->width; j++) {
			double gap = b->x[i * b->width + j] - b->mean[j];

			squares += gap * gap;
		}
	if (squares > 0)
		b->scale = sqrt((double)b->rows * (double)b->width / squares);
}

/* W (x - mean) / spread + b as W' x + b': what the rest of the program applies to rows. */
static void take_inputs_as_they_are(const batches *b, const inv_layers_shape *shape,
                                    float *params)
{
	const inv_layer_place place = inv_layers_place(shape, 0);

	for (size_t i = 0; i < shape->width[1]; i++) {
		float *w = params + place.weight + i * b->width;
		double bias = params[place.bias + i];

		for (size_t j = 0; j < b->width; j++) {
			double scaled = w[j] * b->scale;

			bias -= scaled * b->mean[j];
			w[j] = (float)scaled;
		}
		params[place.bias + i] = (float)bias;
	}
}

invar_status inv_classifier_train(const invar_context *ctx, const inv_classifier_spec *spec,
                                  const float *x, const uint32_t *labels, uint32_t rows,
                                  float *params)
{
	const inv_layers_shape shape = inv_classifier_shape(spec);
	const inv_stream start = inv_stream_of(spec->seed, "probe/init", 0);
	batches b = {x, spec->inputs, rows, rows < BATCH ? rows : BATCH, .arena = {0}};
	inv_fit *f = NULL;
	invar_status st;

	for (int round = 0; round < 2; round++) {
		b.order = inv_arena_take(&b.arena, rows, sizeof *b.order);
		b.batch = inv_arena_take(&b.arena, b.N * b.width, sizeof *b.batch);
		b.batch_labels = inv_arena_take(&b.arena, b.N, sizeof *b.batch_labels);
		b.mean = inv_arena_take(&b.arena, b.width, sizeof *b.mean);
		if (!round)
			INV_TRY_OR(end, inv_arena_commit(&b.arena));
	}
	standardise_inputs(&b, spec->standardise);
	INV_TRY_OR(end, inv_fit_new(ctx, spec, b.N, &f));
	inv_layers_init(&shape, &start, params);
	for (uint64_t epoch = 0; epoch < spec->epochs; epoch++) {
		const inv_stream stream = inv_stream_of(spec->seed, "probe/order", (uint32_t)epoch);
		const double lr = inv_cosine_rate(rate, rate_min, epoch, spec->epochs);
		const uint32_t steps = rows / b.N;

		inv_permutation(&stream, 0, b.order, rows);
		for (uint32_t step = 0; step < steps; step++) {
			double loss;

			for (size_t i = 0; i < b.N; i++) {
				uint32_t row = b.order[(size_t)step * b.N + i];

				for (size_t j = 0; j < b.width; j++)
					b.batch[i * b.width + j] =
						(float)((x[row * b.width + j] - b.mean[j]) * b.scale);
				b.batch_labels[i] = labels[row];
			}
			INV_TRY_OR(end, inv_fit_step(f, params, b.batch, b.batch_labels, lr, &loss));
			INV_TRY_OR(end, inv_progress(ctx, spec->stage, epoch * steps + step + 1,
			                             spec->epochs * steps));
		}
	}
	if (spec->standardise)
		take_inputs_as_they_are(&b, &shape, params);
end:
	inv_fit_free(f);
	inv_arena_free(&b.arena);
	return st;
}

/* ---- Predicting ------------------------------------------------------------------ */

invar_status inv_classifier_predict(const invar_context *ctx,
                                    const inv_classifier_spec *spec, const float *params,
                                    const float *x, uint64_t rows, uint32_t *classes)
{
	const inv_layers_shape shape = inv_classifier_shape(spec);
	const size_t k = spec->classes;
	float *logits;
	invar_status st;

	INV_TRY(inv_new_array(&logits, PREDICT_ROWS * k));
	for (uint64_t at = 0; at < rows; at += PREDICT_ROWS) {
		uint64_t now = rows - at < PREDICT_ROWS ? rows - at : PREDICT_ROWS;

		INV_TRY_OR(end, inv_layers_apply(ctx, &shape, params, false, x + at * spec->inputs,
		                                 now, logits));
		for (uint64_t i = 0; i < now; i++) {
			const float *of = logits + i * k;
			uint32_t best = 0;

			for (uint32_t j = 1; j < k; j++)
				if (of[j] > of[best])
					best = j;
			classes[at + i] = best;
		}
	}
	st = INVAR_OK;
end:
	inv_free(logits);
	return st;
}
