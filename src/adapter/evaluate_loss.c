/* evaluate_loss.c - invar_loss: value and gradients on given arrays, for checking. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/step.h"
#include "base/fields.h"

#define FIELD(member) offsetof(invar_loss_opts, member)

static const invar_field fields[] = {
	{"anchor", INVAR_FIELD_NUMBER, FIELD(anchor), 0, 1e9, 0, NULL, "W", "Loss",
     "weight of the clean term"},
	{"no-identity", INVAR_FIELD_FLAG, FIELD(no_identity), 0, 1, 0, NULL, NULL, "Loss",
     "drop the clean term"},
	{"residual", INVAR_FIELD_FLAG, FIELD(residual), 0, 1, 0, NULL, NULL, "Loss",
     "read the adapter as E(z) = z + MLP(z), whatever its file says"},
};

static const inv_fields table = {fields, sizeof fields / sizeof *fields};

void invar_loss_defaults(invar_loss_opts *o)
{
	*o = (invar_loss_opts){.size = sizeof *o, .kind = "mawa", .anchor = 1};
}

const invar_field *invar_loss_fields(size_t *count)
{
	*count = table.count;
	return fields;
}

static invar_status check(const invar_loss_input *in, const invar_loss_opts *o,
                          const inv_loss *loss)
{
	const invar_adapter *e = in->adapter;

	if (!loss)
		return inv_fail(INVAR_E_USE, "there is no loss '%s', only %s",
		                o->kind ? o->kind : "", INV_LOSS_KINDS);
	if (in->dim != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "the features are %" PRIu32 " wide but %s takes %zu", in->dim,
		                e->path, e->s.d);
	if (loss->same_width && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s needs codes as wide as the features, %s gives %zu for %zu",
		                loss->name, e->path, e->s.w, e->s.d);
	if (o->residual && e->s.w != e->s.d)
		return inv_fail(INVAR_E_MISMATCH, "%s: cannot be residual, it maps %zu to %zu",
		                e->path, e->s.d, e->s.w);
	if (!in->images)
		return inv_fail(INVAR_E_USE, "there are no rows to compute a loss of");
	if (in->samples < loss->fewest_samples || (!in->samples && o->no_identity))
		return inv_fail(INVAR_E_USE, "%s needs augmented rows", loss->name);
	return inv_fields_check(table, o);
}

/* [N, d] and [N, s, d] -> rows k N + i. */
static float *stack_rows(const invar_loss_input *in)
{
	size_t N = in->images, s = in->samples, d = in->dim;
	float *rows = inv_calloc((s + 1) * N * d, sizeof *rows);

	if (!rows)
		return NULL;
	memcpy(rows, in->clean, N * d * sizeof *rows);
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < s; k++)
			memcpy(rows + ((k + 1) * N + i) * d, in->aug + (i * s + k) * d,
			       d * sizeof *rows);
	return rows;
}

static bool add_grad(invar_loss_result *r, const char *name, unsigned rank,
                     const uint64_t *shape, const float *data, size_t count)
{
	invar_named_array *g = &r->grads[r->grad_count];
	char *copy = inv_strdup(name);

	g->data = inv_alloc(count * sizeof *data);
	g->name = copy;
	r->grad_count++;
	if (!copy || !g->data)
		return false;
	for (; *copy; copy++)
		if (*copy == '.')
			*copy = '_';
	g->rank = rank;
	memcpy(g->shape, shape, rank * sizeof *shape);
	memcpy(g->data, data, count * sizeof *data);
	return true;
}

static bool collect(const inv_step *p, const inv_loss_value *value, size_t code_rows,
                    invar_loss_result *r)
{
	uint64_t codes[2] = {code_rows, p->spec.shape.w};
	bool ok;

	r->value = value->value;
	r->terms = inv_calloc(INV_VALUE_TERMS, sizeof *r->terms);
	r->grads = inv_calloc(INV_MLP_BLOCKS + 1, sizeof *r->grads);
	if (!r->terms || !r->grads)
		return false;
	for (size_t i = 0; i < p->term_count; i++) {
		char *name = inv_strdup(p->terms[i]);

		r->terms[r->term_count++] = (invar_named_value){name, value->term[i]};
		if (!name)
			return false;
	}
	ok = add_grad(r, "codes", 2, codes, p->d_codes, code_rows * p->spec.shape.w);
	for (int i = 0; i < INV_MLP_BLOCKS && ok; i++)
		ok = add_grad(r, p->blocks[i].name, p->blocks[i].rank, p->blocks[i].shape,
		              p->grads + p->blocks[i].offset, p->blocks[i].count);
	return ok;
}

void invar_loss_result_clear(invar_loss_result *r)
{
	for (size_t i = 0; i < r->grad_count; i++) {
		inv_free((void *)(uintptr_t)r->grads[i].name);
		inv_free(r->grads[i].data);
	}
	for (size_t i = 0; i < r->term_count; i++)
		inv_free((void *)(uintptr_t)r->terms[i].name);
	inv_free(r->terms);
	inv_free(r->grads);
	*r = (invar_loss_result){.size = sizeof *r};
}

invar_status invar_loss(invar_context *ctx, const invar_loss_input *in,
                        const invar_loss_opts *o, invar_loss_result *out)
{
	const inv_loss *loss = o->kind ? inv_loss_find(o->kind) : NULL;
	inv_step_spec spec = {.loss = loss,
	                      .opts = {.anchor = o->anchor, .no_identity = o->no_identity},
	                      .N = in->images,
	                      .s = in->samples,
	                      .update = true};
	invar_status st = check(in, o, loss);
	inv_loss_value value;
	inv_step *p = NULL;
	float *rows = NULL;

	*out = (invar_loss_result){.size = sizeof *out};
	if (st != INVAR_OK)
		return st;
	spec.shape = in->adapter->s;
	spec.residual = o->residual || in->adapter->residual;
	rows = stack_rows(in);
	st = rows ? inv_step_new(ctx, &spec, &p)
	          : inv_fail(INVAR_E_NOMEM, "no memory for the rows");
	if (st == INVAR_OK) {
		memcpy(p->params, in->adapter->params, p->floats * sizeof(float));
		st = inv_step_gradients(p, rows, &value);
	}
	if (st == INVAR_OK && !collect(p, &value, inv_loss_rows(loss, &p->loss_shape), out)) {
		invar_loss_result_clear(out);
		st = inv_fail(INVAR_E_NOMEM, "no memory for the gradients");
	}
	inv_step_free(p);
	inv_free(rows);
	return st;
}
