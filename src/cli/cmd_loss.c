/*
 * cmd_loss.c - invar loss: value and gradients on given arrays.
 *
 * Meant for checking: another implementation computes the same loss on the same
 * arrays and the two are compared.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arrays.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/term.h"

typedef struct loss_values {
	inv_common common;
	const char *adapter, *clean, *aug, *grad;
	invar_loss_opts loss;
} loss_values;

static const inv_example examples[] = {
	{"invar loss mawa --adapter run --clean clean.npy --aug aug.npy",
     "the loss and its terms on these rows"},
	{"invar loss mawa --adapter run --clean x.npy --aug a.npy --json --grad g",
     "for a program: JSON, and g/0_weight.npy, g/codes.npy … beside it"},
	{0},
};

static const inv_argument arguments[] = {
	{"KIND", "which loss: mawa", 1, 1},
	{0},
};

static const invar_field own_table[] = {
	{"adapter", INVAR_FIELD_TEXT, offsetof(loss_values, adapter), 0, 0, 0, NULL, "FILE",
     "Arrays", "the adapter E: a safetensors file or a run folder"},
	{"clean", INVAR_FIELD_TEXT, offsetof(loss_values, clean), 0, 0, 0, NULL, "X.npy",
     "Arrays", "clean features [N, d]"},
	{"aug", INVAR_FIELD_TEXT, offsetof(loss_values, aug), 0, 0, 0, NULL, "A.npy", "Arrays",
     "augmented features [N, s, d]; without it s = 0"},
	{"grad", INVAR_FIELD_TEXT, offsetof(loss_values, grad), 0, 0, 0, NULL, "DIR", "Arrays",
     "folder that gets the gradient of every block as NAME.npy"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{invar_loss_fields, offsetof(loss_values, loss)},
	{0},
};

static void defaults(void *values)
{
	invar_loss_defaults(&((loss_values *)values)->loss);
}

/* ---- Arrays ---------------------------------------------------------------- */

static invar_status check_clean(inv_session *s, const inv_given_array *clean,
                                const loss_values *v, const invar_adapter *e)
{
	uint32_t d = invar_adapter_input(e);

	if (invar_array_rank(clean->array) != 2)
		return inv_fault(s, INVAR_E_MISMATCH, "%s has shape %s, but [N, %u] is needed",
		                 clean->path, clean->shape, d);
	if (invar_array_shape(clean->array)[1] != d)
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s, but the adapter %s takes features of width %u",
		                 clean->path, clean->shape, v->adapter, d);
	return INVAR_OK;
}

static invar_status check_aug(inv_session *s, const inv_given_array *clean,
                              const inv_given_array *aug)
{
	const uint64_t *x = invar_array_shape(clean->array), *a;

	if (!aug->array)
		return INVAR_OK;
	a = invar_array_shape(aug->array);
	if (invar_array_rank(aug->array) == 3 && a[0] == x[0] && a[2] == x[1] &&
	    a[1] <= 1 << 20)
		return INVAR_OK;
	return inv_fault(s, INVAR_E_MISMATCH,
	                 "%s has shape %s, but with %s of shape %s it must be [%llu, s, %llu]",
	                 aug->path, aug->shape, clean->path, clean->shape,
	                 (unsigned long long)x[0], (unsigned long long)x[1]);
}

/* ---- Results --------------------------------------------------------------- */

static invar_status write_gradients(inv_session *s, const char *folder,
                                    const invar_loss_result *r)
{
	invar_status st = inv_folder_make(s, folder);

	for (size_t i = 0; i < r->grad_count && st == INVAR_OK; i++) {
		const invar_named_array *g = &r->grads[i];
		char *name, *path = NULL;

		if (asprintf(&name, "%s.npy", g->name) < 0)
			return inv_no_memory(s);
		path = inv_path(folder, name);
		free(name);
		st = path ? invar_array_write(s->ctx, path, g->data, g->rank, g->shape,
		                              INVAR_FLOAT32)
		          : inv_no_memory(s);
		free(path);
	}
	return st;
}

static invar_status print_result(inv_session *s, const invar_loss_result *r)
{
	json_t *terms;

	if (!s->common->json) {
		printf("value  %.9g\n", r->value);
		for (size_t i = 0; i < r->term_count; i++)
			printf("%s  %.9g\n", r->terms[i].name, r->terms[i].value);
		return INVAR_OK;
	}
	terms = json_object();
	for (size_t i = 0; i < r->term_count; i++)
		json_object_set_new(terms, r->terms[i].name, json_real(r->terms[i].value));
	return inv_print_json(s, json_pack("{s:f, s:o}", "value", r->value, "terms", terms));
}

static invar_status compute(inv_session *s, const loss_values *v, const invar_adapter *e,
                            const inv_given_array *clean, const inv_given_array *aug)
{
	const uint64_t *shape = invar_array_shape(clean->array);
	invar_loss_result result = {.size = sizeof result};
	invar_loss_input in = {
		.size = sizeof in,
		.adapter = e,
		.clean = clean->data,
		.aug = aug->data,
		.images = shape[0],
		.dim = (uint32_t)shape[1],
		.samples = aug->array ? (uint32_t)invar_array_shape(aug->array)[1] : 0,
	};
	invar_status st = invar_loss(s->ctx, &in, &v->loss, &result);

	if (st == INVAR_OK && v->grad)
		st = write_gradients(s, v->grad, &result);
	if (st == INVAR_OK)
		st = print_result(s, &result);
	invar_loss_result_clear(&result);
	return st;
}

static invar_status load_and_compute(inv_session *s, const loss_values *v,
                                     const invar_adapter *e)
{
	inv_given_array clean = {0}, aug = {0};
	invar_status st = inv_array_look(s, v->clean, &clean);

	if (st == INVAR_OK)
		st = inv_array_look(s, v->aug, &aug);
	if (st == INVAR_OK)
		st = check_clean(s, &clean, v, e);
	if (st == INVAR_OK)
		st = check_aug(s, &clean, &aug);
	if (st == INVAR_OK)
		st = inv_array_take(s, &clean);
	if (st == INVAR_OK)
		st = inv_array_take(s, &aug);
	if (st == INVAR_OK)
		st = compute(s, v, e, &clean, &aug);
	inv_array_drop(&clean);
	inv_array_drop(&aug);
	return st;
}

static invar_status run(inv_session *s, void *values)
{
	loss_values *v = values;
	invar_adapter *adapter = NULL;
	invar_status st;

	if ((st = inv_check_word(s, "KIND", invar_loss_kinds(), s->argument[0])) != INVAR_OK ||
	    (st = inv_need(s, v->adapter, "the adapter is missing: --adapter FILE")) !=
	        INVAR_OK ||
	    (st = inv_need(s, v->clean, "the clean features are missing: --clean X.npy")) !=
	        INVAR_OK ||
	    (st = inv_session_start(s)) != INVAR_OK ||
	    (st = invar_adapter_open(s->ctx, v->adapter, &adapter)) != INVAR_OK)
		return st;
	v->loss.kind = s->argument[0];
	st = load_and_compute(s, v, adapter);
	invar_adapter_close(adapter);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_loss = {
	.name = "loss",
	.purpose = "computes a loss and its gradients on given arrays",
	.usage = "KIND --adapter FILE --clean X.npy [--aug A.npy] [options]",
	.about = "For checking against other implementations. With --json it prints "
			 "{\"value\": …, \"terms\": {…}}; --grad writes the gradients of the adapter's "
			 "blocks (0_weight, 0_bias, 2_weight, 2_bias) and of the codes.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(loss_values),
	.defaults = defaults,
	.run = run,
};
