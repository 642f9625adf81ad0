/* SPDX-License-Identifier: Apache-2.0 */
/* step_ranks.c - see step_ranks.h. */
#include "adapter/step_ranks.h"

#include <string.h>

#include "base/memory.h"

/* What a rank says of its share of the loss. */
typedef struct said_loss {
	int64_t status;
	inv_loss_value value;
} said_loss;

struct inv_step_ranks {
	unsigned rank, ranks;
	size_t first, count, N; /* this rank's images, and all */
	size_t kinds;           /* samples of an image among the codes: R / N */
	float weight;           /* count / N */
	float *clean;           /* [N, d]; this and the next two not by rows */
	float *codes, *grad;    /* [R, w] */
	said_loss *said;        /* [ranks] */
	uint64_t *offset;       /* [ranks + 1] */
	inv_reduction *sum;
};

static bool allocate_gathered(const inv_step *p, inv_step_ranks *r)
{
	size_t codes = r->kinds * r->N * p->spec.shape.w;

	if (p->spec.loss->by_rows)
		return true;
	r->clean = inv_alloc(r->N * p->spec.shape.d * sizeof *r->clean);
	r->codes = inv_alloc(codes * sizeof *r->codes);
	r->grad = inv_alloc(codes * sizeof *r->grad);
	return r->clean && r->codes && r->grad;
}

invar_status inv_step_ranks_new(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	inv_step_ranks *r = p->ranks = inv_calloc(1, sizeof *r);

	if (!r)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training with ranks");
	r->rank = inv_process_rank(p->ctx);
	r->ranks = inv_process_count(p->ctx);
	r->first = s->share_first;
	r->count = s->N;
	r->N = s->N_all;
	r->kinds = s->groups * s->s + s->loss->codes_clean(s->options);
	r->weight = (float)((double)r->count / (double)r->N);
	r->said = inv_calloc(r->ranks, sizeof *r->said);
	r->offset = inv_calloc(r->ranks + 1, sizeof *r->offset);
	if (!r->said || !r->offset || !allocate_gathered(p, r))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training with ranks");
	return inv_reduction_new(p->ctx, p->floats, &r->sum);
}

void inv_step_ranks_free(inv_step_ranks *r)
{
	if (!r)
		return;
	inv_free(r->clean);
	inv_free(r->codes);
	inv_free(r->grad);
	inv_free(r->said);
	inv_free(r->offset);
	inv_reduction_free(r->sum);
	inv_free(r);
}

/* ---- The loss ------------------------------------------------------------------------ */

/* Rows of `width` floats: own [count] of all ranks' [N], which each of them gets. */
static invar_status gather_rows(const inv_step *p, const float *own, size_t width,
                                float *all)
{
	inv_step_ranks *r = p->ranks;

	for (unsigned i = 0; i <= r->ranks; i++)
		r->offset[i] = r->N * i / r->ranks * width * sizeof *all;
	memmove(all + r->first * width, own, r->count * width * sizeof *all);
	return inv_all_gather(p->ctx, all, r->offset);
}

static invar_status evaluate_gathered(inv_step *p, const inv_loss_batch *b,
                                      inv_loss_value *out, float *d_codes)
{
	inv_step_ranks *r = p->ranks;
	size_t w = p->spec.shape.w, own = r->count * w, all = r->N * w;
	inv_loss_batch whole = *b;
	invar_status st;

	whole.clean = r->clean;
	whole.codes = r->codes;
	st = p->spec.loss->evaluate(&p->loss_shape, p->loss_work.state, &whole, out, r->grad);
	for (size_t k = 0; k < r->kinds && st == INVAR_OK; k++)
		memcpy(d_codes + k * own, r->grad + k * all + r->first * w, own * sizeof *d_codes);
	return st;
}

static invar_status evaluate_share(inv_step *p, const inv_loss_batch *b,
                                   inv_loss_value *out, float *d_codes)
{
	inv_step_ranks *r = p->ranks;
	size_t codes = r->kinds * r->count * p->spec.shape.w;
	invar_status st =
		p->spec.loss->evaluate(&p->loss_shape, p->loss_work.state, b, out, d_codes);

	for (size_t i = 0; i < codes && st == INVAR_OK; i++)
		d_codes[i] *= r->weight;
	return st;
}

/* Every rank learns how the others fared, and the loss of all of them. */
static invar_status exchange_losses(const inv_step *p, invar_status st, inv_loss_value *out)
{
	inv_step_ranks *r = p->ranks;
	bool failed = false, by_rows = p->spec.loss->by_rows;
	invar_status sent;

	r->said[r->rank] = (said_loss){(int64_t)st, *out};
	for (unsigned i = 0; i <= r->ranks; i++)
		r->offset[i] = i * sizeof *r->said;
	if ((sent = inv_all_gather(p->ctx, r->said, r->offset)) != INVAR_OK)
		return sent;
	for (unsigned i = 0; i < r->ranks; i++)
		failed = failed || r->said[i].status != INVAR_OK;
	if (failed)
		return inv_agree(p->ctx, st);
	*out = by_rows ? (inv_loss_value){0} : r->said[0].value;
	for (unsigned i = 0; i < r->ranks && by_rows; i++) {
		double share = (double)(r->N * (i + 1) / r->ranks - r->N * i / r->ranks);

		out->value += share / (double)r->N * r->said[i].value.value;
		for (size_t j = 0; j < p->term_count; j++)
			out->term[j] += share / (double)r->N * r->said[i].value.term[j];
	}
	return INVAR_OK;
}

invar_status inv_step_ranks_evaluate(inv_step *p, invar_status st, const inv_loss_batch *b,
                                     inv_loss_value *out, float *d_codes)
{
	const inv_step_spec *s = &p->spec;
	inv_step_ranks *r = p->ranks;
	size_t own = r->count * s->shape.w, all = r->N * s->shape.w;
	invar_status sent = INVAR_OK;

	if (!s->loss->by_rows) {
		sent = gather_rows(p, b->clean, s->shape.d, r->clean);
		for (size_t k = 0; k < r->kinds && sent == INVAR_OK; k++)
			sent = gather_rows(p, b->codes + k * own, s->shape.w, r->codes + k * all);
	}
	if (sent != INVAR_OK)
		return sent;
	if (st == INVAR_OK)
		st = s->loss->by_rows ? evaluate_share(p, b, out, d_codes)
		                      : evaluate_gathered(p, b, out, d_codes);
	return exchange_losses(p, st, out);
}

/* Takes part in the exchanges of a step, with its failure as the only contents. */
void inv_step_ranks_fail(inv_step *p)
{
	inv_loss_value none = {0};
	inv_loss_batch b = {.clean = p->ranks->clean, .codes = p->ranks->codes};
	char text[1024];

	invar_last_error_spelled(INV_MARKED, text, sizeof text);
	inv_step_ranks_evaluate(p, inv_fail(INVAR_E_IO, "%s", text), &b, &none, NULL);
}

/* ---- Gradients ----------------------------------------------------------------------- */

invar_status inv_step_ranks_send(inv_step *p, size_t from, size_t end)
{
	return inv_reduction_start(p->ranks->sum, p->grads + from, end - from);
}

invar_status inv_step_ranks_receive(inv_step *p)
{
	return inv_reduction_finish(p->ranks->sum);
}
