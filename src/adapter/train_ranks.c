/* SPDX-License-Identifier: Apache-2.0 */
/* train_ranks.c - see train_ranks.h. */
#include "adapter/train_ranks.h"
#include "bank/bank.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/step_ranks.h"
#include "bank/bank_ranks.h"
#include "base/memory.h"
#include "base/rank_compare.h"

enum { STEP = 1, COLLECT = 2, END = 3 };

/* What the other ranks need to know besides the options. */
typedef struct train_header {
	inv_mlp_shape shape;
	uint64_t residual, scaled, unit, has_frame, has_view;
	uint64_t N, s, images, epochs, seed, copies, rows;
	uint64_t epoch, step, t;
	inv_loss_frame frame; /* origin follows, if the training is scaled */
	double sigma, weight_decay;
} train_header;

typedef struct said_step {
	uint32_t word;
	double lr;
} said_step;

unsigned inv_train_ranks_count(const inv_trainer *t)
{
	unsigned ranks = inv_process_count(t->ctx);
	const char *why = NULL;

	if (ranks == 1 || !t->plan.loss || !t->run)
		return 1;
	if (t->plan.sources > 1)
		why = "there are several banks";
	else if (t->plan.source[0]->unlimited)
		why = "copies are made while it trains";
	else if (t->plan.source[0]->bank->in_memory)
		why = "the rows are in its memory";
	else if (t->plan.decoder.h)
		why = "it has a decoder";
	else if (t->plan.N < ranks)
		why = "a batch has fewer images than there are ranks";
	else if (t->plan.shape.h < ranks)
		why = "it has fewer hidden units than there are ranks";
	if (!why)
		return ranks;
	inv_log(t->ctx, INVAR_LOG_WARNING, "rank 0 trains alone: %s", why);
	return 1;
}

void inv_train_ranks_share(const inv_trainer *t, uint32_t *first, uint32_t *count)
{
	uint64_t N = t->plan.N, rank = inv_process_rank(t->ctx);

	*first = (uint32_t)(N * rank / t->ranks);
	*count = (uint32_t)(N * (rank + 1) / t->ranks) - *first;
}

/* ---- Rank 0 -------------------------------------------------------------------------- */

static train_header header_of(const inv_trainer *t)
{
	const inv_source *from = t->plan.source[0];

	return (train_header){.shape = t->plan.shape,
	                      .residual = t->plan.residual,
	                      .scaled = t->o.scaled,
	                      .unit = t->o.unit,
	                      .has_view = from->stored->row != NULL,
	                      .N = t->plan.N,
	                      .s = t->plan.s,
	                      .images = t->plan.images,
	                      .epochs = t->o.epochs,
	                      .seed = t->o.seed,
	                      .copies = from->copies,
	                      .rows = from->stored->rows,
	                      .epoch = t->at.epoch,
	                      .step = t->at.step,
	                      .t = t->step->t,
	                      .frame = t->step->spec.frame,
	                      .sigma = t->plan.statistics.sigma,
	                      .weight_decay = t->o.weight_decay};
}

static invar_status broadcast_texts(const inv_trainer *t)
{
	const inv_source *from = t->plan.source[0];
	json_t *json = inv_options_json(t->options, 0);
	char *options = json ? inv_json_text(json, 0) : NULL, *none;
	invar_status st = inv_broadcast_text(t->ctx, options ? options : "{}", &none);

	json_decref(json);
	inv_free(options);
	if (st == INVAR_OK)
		st = inv_broadcast_text(t->ctx, from->bank->path, &none);
	return st == INVAR_OK ? inv_broadcast_text(t->ctx, from->stored->name, &none) : st;
}

/* Both sides, in this order; the other ranks have the memory. */
static invar_status broadcast_arrays(const invar_context *ctx, const train_header *h,
                                     inv_trainer *t, uint32_t *view, double *mean)
{
	size_t bytes = t->step->floats * sizeof(float);
	invar_status st = INVAR_OK;

	if (h->has_view)
		st = inv_broadcast(ctx, view, h->rows * sizeof *view);
	if (st == INVAR_OK)
		st = inv_broadcast(ctx, t->images, h->images * sizeof *t->images);
	if (st == INVAR_OK && h->scaled)
		st = inv_broadcast(ctx, mean, h->shape.d * sizeof *mean);
	if (st == INVAR_OK && h->scaled)
		st = inv_broadcast(ctx, t->origin, h->shape.d * sizeof *t->origin);
	if (st == INVAR_OK)
		st = inv_broadcast(ctx, t->step->params, bytes);
	if (st == INVAR_OK)
		st = inv_broadcast(ctx, t->step->m, bytes);
	return st == INVAR_OK ? inv_broadcast(ctx, t->step->v, bytes) : st;
}

invar_status inv_train_ranks_begin(inv_trainer *t)
{
	const inv_source *from = t->plan.source[0];
	train_header h;
	invar_status st;

	if (t->ranks == 1)
		return INVAR_OK;
	h = header_of(t);
	if ((st = inv_call(t->ctx, inv_train_service.name)) != INVAR_OK)
		return st;
	if ((st = inv_broadcast(t->ctx, &h, sizeof h)) == INVAR_OK)
		st = broadcast_texts(t);
	if (st == INVAR_OK)
		st = inv_bank_agree(t->ctx, from->stored, from->copies, INVAR_OK);
	if (st == INVAR_OK)
		st = broadcast_arrays(t->ctx, &h, t, from->stored->row, t->plan.statistics.mean);
	if (st == INVAR_OK)
		st = inv_agree(t->ctx, INVAR_OK);
	if (st == INVAR_OK)
		inv_step_ranks_take(t->step);
	t->ranks_train = st == INVAR_OK;
	return st;
}

invar_status inv_train_ranks_step(inv_trainer *t, double lr)
{
	said_step said = {STEP, lr};

	t->ranks_ahead = t->ranks_train;
	return t->ranks_train ? inv_broadcast(t->ctx, &said, sizeof said) : INVAR_OK;
}

invar_status inv_train_ranks_collect(inv_trainer *t)
{
	said_step said = {COLLECT, 0};
	invar_status st = INVAR_OK;

	if (t->ranks_ahead && (st = inv_broadcast(t->ctx, &said, sizeof said)) == INVAR_OK)
		st = inv_step_ranks_collect(t->step);
	t->ranks_ahead = t->ranks_ahead && st != INVAR_OK;
	return st;
}

void inv_train_ranks_end(inv_trainer *t)
{
	said_step said = {END, 0};

	if (t->ranks_train)
		inv_broadcast(t->ctx, &said, sizeof said);
	t->ranks_train = false;
}

/* ---- The other ranks ----------------------------------------------------------------- */

typedef struct trainee {
	inv_trainer t;
	invar_bank *bank;
	uint32_t *view;
	double *mean;
	inv_clean_statistics scale;
} trainee;

static invar_status open_options(trainee *e, const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	invar_status st = inv_options_begin("train", &e->t.options);

	if (st == INVAR_OK)
		st = inv_train_declare(e->t.options);
	if (st == INVAR_OK)
		st = inv_options_resume(e->t.options, json, "rank 0", true);
	json_decref(json);
	return st;
}

static invar_status open_source(trainee *e, const train_header *h, const char *path,
                                const char *split)
{
	const invar_context *ctx = e->t.ctx;
	invar_status st = inv_bank_open((invar_context *)(uintptr_t)ctx, path, &e->bank);

	if (st == INVAR_OK)
		st = inv_bank_source_open(e->bank, &e->t.source[0]);
	if (st != INVAR_OK)
		return st;
	e->t.sources = 1;
	e->t.plan.source[0] = e->t.source[0];
	e->t.plan.sources = 1;
	if ((st = inv_source_select(e->t.source[0], split, h->copies)) != INVAR_OK)
		return st;
	if (h->unit)
		inv_source_normalise(e->t.source[0]);
	if (e->bank->dim == h->shape.d && (h->has_view || e->t.source[0]->rows == h->rows))
		return INVAR_OK;
	return inv_fail_other_file(path);
}

/* Memory for what rank 0 sends, and the step. */
static invar_status build_step(trainee *e, const train_header *h)
{
	inv_trainer *t = &e->t;
	uint32_t first, count;
	inv_step_spec spec = {.shape = h->shape,
	                      .loss = inv_loss_find(inv_option_text(t->options, "loss")),
	                      .options = t->options,
	                      .s = h->s,
	                      .N_all = h->N,
	                      .groups = 1,
	                      .frame = h->frame,
	                      .residual = h->residual,
	                      .update = true,
	                      .weight_decay = h->weight_decay,
	                      .seed = h->seed};

	t->ranks = inv_process_count(t->ctx);
	t->plan.N = (uint32_t)h->N;
	inv_train_ranks_share(t, &first, &count);
	spec.share_first = first;
	spec.N = count;
	e->view = h->has_view ? inv_alloc(h->rows * sizeof *e->view) : NULL;
	e->mean = h->scaled ? inv_alloc(h->shape.d * sizeof *e->mean) : NULL;
	t->origin = h->scaled ? inv_alloc(h->shape.d * sizeof *t->origin) : NULL;
	t->images = inv_alloc(h->images * sizeof *t->images);
	if ((h->has_view && !e->view) || (h->scaled && (!e->mean || !t->origin)) || !t->images)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training");
	spec.frame.origin = t->origin;
	return inv_step_new(t->ctx, &spec, &t->step);
}

/* The rows of rank 0's view, which draws are keyed by. */
static invar_status take_view(trainee *e, const train_header *h)
{
	inv_source *from = e->t.source[0];
	inv_split *split = (inv_split *)(uintptr_t)from->stored;

	for (uint64_t i = 0; i < h->rows && h->has_view; i++)
		if (e->view[i] >= inv_file_rows(split))
			return inv_fail(INVAR_E_MISMATCH, "%s: has fewer rows than on rank 0",
			                e->bank->path);
	if (h->has_view) {
		split->row = e->view; /* freed with the bank */
		split->rows = from->rows = h->rows;
		e->view = NULL;
	}
	for (uint64_t i = 0; i < h->images; i++)
		if (e->t.images[i] >= from->rows)
			return inv_fail(INVAR_E_MISMATCH, "%s: has fewer rows than on rank 0",
			                e->bank->path);
	return INVAR_OK;
}

static invar_status start_batches(trainee *e, const train_header *h)
{
	inv_trainer *t = &e->t;
	inv_batch_plan plan = {.sources = 1,
	                       .images = t->images,
	                       .image_count = (uint32_t)h->images,
	                       .N = (uint32_t)h->N,
	                       .s = (uint32_t)h->s,
	                       .seed = h->seed,
	                       .purpose = "train",
	                       .epochs = (uint32_t)h->epochs};
	invar_status st = take_view(e, h);

	inv_step_ranks_take(t->step);
	plan.source[0] = t->source[0];
	inv_train_ranks_share(t, &plan.share_first, &plan.share);
	e->scale = (inv_clean_statistics){.mean = e->mean, .sigma = h->sigma};
	plan.scale = h->scaled ? &e->scale : NULL;
	t->step->t = h->t;
	if (st == INVAR_OK)
		st = inv_batches_new(&plan, &t->batches);
	return st == INVAR_OK
	           ? inv_batches_start(t->batches, (uint32_t)h->epoch, (uint32_t)h->step)
	           : st;
}

static invar_status open_trainee(trainee *e)
{
	const invar_context *ctx = e->t.ctx;
	char *options = NULL, *path = NULL, *split = NULL;
	train_header h;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, NULL, &options);
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, NULL, &path);
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, NULL, &split);
	if (st != INVAR_OK)
		return st;
	st = open_options(e, options);
	if (st == INVAR_OK)
		st = open_source(e, &h, path, split);
	if (st == INVAR_OK)
		st = build_step(e, &h);
	inv_free(options);
	inv_free(path);
	inv_free(split);
	st = inv_bank_agree(ctx, e->t.sources ? e->t.source[0]->stored : NULL, h.copies, st);
	if (st != INVAR_OK)
		return st;
	st = broadcast_arrays(ctx, &h, &e->t, e->view, e->mean);
	return st == INVAR_OK ? inv_agree(ctx, start_batches(e, &h)) : st;
}

static void close_trainee(trainee *e)
{
	inv_trainer_clear(&e->t);
	invar_bank_close(e->bank);
	inv_free(e->view);
	inv_free(e->mean);
}

/* A failure to read is told where the ranks exchange their rows. */
static void make_step(trainee *e, double lr)
{
	const float *rows;
	inv_loss_value value;
	invar_status st = inv_batches_next(e->t.batches, &rows);

	if (st != INVAR_OK)
		inv_step_ranks_fail(e->t.step, st);
	else
		inv_step_run(e->t.step, rows, lr, &value);
}

static invar_status serve_train(const invar_context *ctx)
{
	trainee *e = inv_calloc(1, sizeof *e);
	said_step said = {STEP, 0};
	invar_status st;

	/* A rank without these few bytes cannot go on; rank 0 hears of its end. */
	if (!e)
		abort();
	e->t.ctx = ctx;
	st = open_trainee(e);
	while (st == INVAR_OK && said.word != END) {
		if ((st = inv_broadcast(ctx, &said, sizeof said)) != INVAR_OK)
			break;
		if (said.word == STEP)
			make_step(e, said.lr);
		else if (said.word == COLLECT)
			st = inv_step_ranks_collect(e->t.step);
	}
	close_trainee(e);
	inv_free(e);
	return st;
}

const inv_service inv_train_service = {.name = "train", .serve = serve_train};
