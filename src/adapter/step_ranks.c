/* SPDX-License-Identifier: Apache-2.0 */
/* step_ranks.c - see step_ranks.h. */
#include "adapter/step_ranks.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/test_stop.h"
#include "nn/mlp_ranks.h"

struct inv_step_ranks {
	inv_shares images;
	size_t kinds;   /* samples of an image in a batch: s + 1 */
	float *rows;    /* [kinds N, d] of all ranks, then vicinal rows, if any */
	int32_t *state; /* [ranks] how reading went on each */
	inv_mlp_ranks *mlp;
};

invar_status inv_step_ranks_new(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	inv_step_ranks *r = p->ranks = inv_calloc(1, sizeof *r);

	if (!r)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training with ranks");
	r->images = inv_shares_of(p->ctx, s->N_all, 1);
	r->kinds = s->groups * s->s + 1;
	r->rows = inv_alloc((r->kinds + (s->loss->draw_vicinal != NULL)) * s->N_all *
	                    s->shape.d * sizeof *r->rows);
	r->state = inv_calloc(r->images.ranks, sizeof *r->state);
	if (!r->rows || !r->state)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training with ranks");
	return inv_mlp_ranks_new(p->ctx, s->shape, inv_loss_rows(s->loss, &p->loss_shape),
	                         &r->mlp);
}

size_t inv_step_ranks_memory(const inv_step_ranks *r)
{
	return inv_mlp_ranks_memory(r->mlp);
}

void inv_step_ranks_free(inv_step_ranks *r)
{
	if (!r)
		return;
	inv_free(r->rows);
	inv_free(r->state);
	inv_mlp_ranks_free(r->mlp);
	inv_free(r);
}

void inv_step_ranks_take(inv_step *p)
{
	inv_mlp_ranks_take(p->ranks->mlp, p->params, p->m, p->v);
}

invar_status inv_step_ranks_collect(inv_step *p)
{
	return inv_mlp_ranks_collect(p->ranks->mlp, p->params, p->m, p->v);
}

/* ---- The batch ----------------------------------------------------------------------- */

/* Every rank gets the rows of all, or the message of the first that has none. */
static invar_status gather_batch(const inv_step *p, const float *own, invar_status st)
{
	inv_step_ranks *r = p->ranks;
	size_t row = p->spec.shape.d * sizeof(float), all = r->images.items * row;
	size_t first = inv_own_first(&r->images) * row, count = inv_own_count(&r->images) * row;
	inv_shares ranks = inv_shares_of(p->ctx, r->images.ranks, 1);
	invar_status sent;

	for (size_t k = 0; own && k < r->kinds; k++)
		memcpy((char *)r->rows + k * all + first, (const char *)own + k * count, count);
	r->state[r->images.rank] = (int32_t)st;
	sent = inv_rows_start(p->ctx, &r->images, r->rows, row, r->kinds, all);
	if (sent == INVAR_OK)
		sent = inv_rows_start(p->ctx, &ranks, r->state, sizeof *r->state, 1, 0);
	if (sent == INVAR_OK)
		sent = inv_exchange_finish(p->ctx);
	for (unsigned i = 0; i < r->images.ranks && sent == INVAR_OK; i++)
		if (r->state[i] != INVAR_OK)
			return inv_agree(p->ctx, st);
	return sent;
}

void inv_step_ranks_fail(inv_step *p, invar_status st)
{
	gather_batch(p, NULL, st);
}

/* ---- The step ------------------------------------------------------------------------ */

static invar_status evaluate(inv_step *p, const float *x, inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	inv_shares rows = inv_mlp_ranks_rows(p->ranks->mlp);
	inv_loss_batch batch = {
		.clean = p->ranks->rows, .codes = p->codes, .seed = s->seed, .step = p->t};
	invar_status st;

	*out = (inv_loss_value){0};
	if (s->loss->draw_vicinal) {
		inv_step_draw_vicinal(p, &batch, p->ranks->rows);
		batch.vicinal = p->ranks->rows + p->ranks->kinds * s->N_all * s->shape.d;
	}
	st = inv_mlp_ranks_forward(p->ranks->mlp, x, s->residual, p->codes);
	if (st == INVAR_OK)
		st = s->loss->evaluate(&p->loss_shape, p->loss_work.state, &batch, out, p->d_codes);
	if (st == INVAR_OK)
		st = inv_gather_rows(p->ctx, &rows, p->d_codes, s->shape.w * sizeof(float));
	return st;
}

invar_status inv_step_ranks_run(inv_step *p, const float *rows, double lr,
                                inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	const inv_adamw adamw = {0.9, 0.999, 1e-8, s->weight_decay};
	inv_step_ranks *r = p->ranks;
	size_t clean = s->loss->codes_clean(s->options) ? 0 : s->N_all;
	const float *x = r->rows + clean * s->shape.d;
	invar_status st = gather_batch(p, rows, INVAR_OK);

	if (st != INVAR_OK)
		return st;
	inv_test_stop("train:forward %" PRIu64, p->t + 1);
	if ((st = evaluate(p, x, out)) == INVAR_OK) {
		/* The same value on all ranks, so that all of them stop here or none. */
		if ((st = inv_step_check_loss(out)) != INVAR_OK)
			return st;
		st = inv_mlp_ranks_update(r->mlp, x, p->d_codes, &adamw, lr, ++p->t);
	}
	if (st != INVAR_OK)
		inv_processes_give_up(p->ctx); /* the others wait for this rank */
	return st;
}
