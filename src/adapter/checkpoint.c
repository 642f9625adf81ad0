/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saving and loading the state between two steps. */
#include "adapter/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"

enum { SETS = 4, NETWORKS = 2, FIELDS = 6 + INV_VALUE_TERMS, NAME = 32, VALUE = 40 };

#define MADE_WITH "invar.made_with"

static const char *const prefixes[SETS] = {"", "m.", "v.", "best."};

/* E, and the decoder if there is one: the layout of each set. */
typedef struct network {
	const char *prefix;
	inv_mlp_shape shape;
	size_t offset;
} network;

static size_t networks_of(const inv_step *p, network out[NETWORKS])
{
	out[0] = (network){"", p->spec.shape, 0};
	out[1] = (network){"dec.", p->spec.decoder, p->adapter_floats};
	return p->decoder ? 2 : 1;
}

/* A number of the state and its key. */
typedef struct state_field {
	char name[NAME];
	uint64_t *counter; /* NULL: it is a sum */
	double *sum;
	bool optional; /* older checkpoints do not have it */
} state_field;

/* Returns how many there are: six, and one sum per term of the loss. */
static size_t fields_of(inv_progress_state *at, size_t terms, state_field out[FIELDS])
{
	const state_field own[] = {{"epoch", &at->epoch, NULL, false},
	                     {"step", &at->step, NULL, false},
	                     {"t", &at->t, NULL, false},
	                     {"best_epoch", &at->best_epoch, NULL, true},
	                     {"loss_sum", NULL, &at->loss_sum, false},
	                     {"best", NULL, &at->best, false}};
	size_t count = sizeof own / sizeof *own;

	memcpy(out, own, sizeof own);
	for (size_t i = 0; i < terms; i++, count++) {
		out[count] = (state_field){.sum = &at->term_sum[i]};
		snprintf(out[count].name, NAME, "term_sum.%zu", i);
	}
	return count;
}

invar_status inv_checkpoint_save(const char *path, const inv_step *p, const float *best,
                                 const inv_progress_state *at, const char *made_with)
{
	const float *sets[SETS] = {p->params, p->m, p->v, best};
	char names[NETWORKS * SETS][INV_MLP_BLOCKS][32], prefix[16], values[FIELDS][VALUE];
	inv_tensor_out tensors[NETWORKS * SETS * INV_MLP_BLOCKS];
	inv_metadata metadata[FIELDS + 2];
	inv_progress_state state = *at;
	network net[NETWORKS];
	state_field fields[FIELDS];
	size_t count = fields_of(&state, p->term_count, fields);
	size_t networks = networks_of(p, net), used = 0;

	for (size_t i = 0; i < count; i++) {
		const state_field *f = &fields[i];

		if (f->counter)
			snprintf(values[i], VALUE, "%" PRIu64, *f->counter);
		else
			snprintf(values[i], VALUE, "%a", *f->sum);
		metadata[i] = (inv_metadata){f->name, values[i]};
	}
	metadata[count++] = (inv_metadata){"invar.checkpoint", "1"};
	if (made_with)
		metadata[count++] = (inv_metadata){MADE_WITH, made_with};
	for (size_t k = 0; k < networks; k++)
		for (int i = 0; i < SETS; i++) {
			if (!sets[i])
				continue;
			snprintf(prefix, sizeof prefix, "%s%s", prefixes[i], net[k].prefix);
			inv_mlp_tensors(net[k].shape, sets[i] + net[k].offset, prefix, names[used],
			                tensors + used * INV_MLP_BLOCKS);
			used++;
		}
	return inv_safetensors_save(path, tensors, used * INV_MLP_BLOCKS, metadata, count);
}

invar_status inv_checkpoint_load(const char *path, inv_step *p, float *best,
                                 inv_progress_state *at)
{
	float *sets[SETS] = {p->params, p->m, p->v, best};
	network net[NETWORKS];
	state_field fields[FIELDS];
	size_t networks = networks_of(p, net), count = fields_of(at, p->term_count, fields);
	inv_safetensors *f;
	invar_status st;

	INV_TRY(inv_safetensors_open(path, &f));
	if (!inv_safetensors_metadata(f, "invar.checkpoint"))
		INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT, "%s: is not a checkpoint", path));
	for (size_t i = 0; i < count; i++) {
		const char *text = inv_safetensors_metadata(f, fields[i].name);
		char *end = NULL;

		if (!text && fields[i].optional)
			continue;
		if (text && fields[i].counter)
			*fields[i].counter = strtoull(text, &end, 10);
		else if (text)
			*fields[i].sum = strtod(text, &end);
		if (!text || end == text || *end)
			INV_TRY_OR(done,
			           inv_fail(INVAR_E_FORMAT, "%s: its %s is missing or not a number",
			                    path, fields[i].name));
	}
	for (size_t k = 0; k < networks; k++)
		for (int i = 0; i < SETS; i++) {
			char prefix[16];

			if (!sets[i])
				continue;
			snprintf(prefix, sizeof prefix, "%s%s", prefixes[i], net[k].prefix);
			INV_TRY_OR(done, inv_mlp_read(f, path, prefix, net[k].shape,
			                              sets[i] + net[k].offset));
		}
done:
	p->t = at->t;
	inv_safetensors_close(f);
	return st;
}

/* ---- What it was made with -------------------------------------------------------- */

typedef struct difference {
	const char *field; /* NULL: none */
	const json_t *then, *now;
} difference;

static difference find_difference(const char *field, const json_t *then, const json_t *now)
{
	difference d = {0};
	const char *key;
	json_t *value;

	if (json_is_object(then) && json_is_object(now)) {
		json_object_foreach ((json_t *)(uintptr_t)then, key, value)
			if (!d.field && json_object_get(now, key))
				d = find_difference(key, value, json_object_get(now, key));
		return d;
	}
	return json_equal(then, now) ? d : (difference){field, then, now};
}

invar_status inv_checkpoint_check(const char *path, const json_t *now, const char *says)
{
	char was[INV_SPELLED], is[INV_SPELLED];
	invar_status st = INVAR_OK;
	json_t *then = NULL;
	inv_safetensors *f;
	const char *text;
	difference d;

	if (inv_safetensors_open(path, &f) != INVAR_OK)
		return INVAR_OK; /* loading it reports what is wrong */
	if (!(text = inv_safetensors_metadata(f, MADE_WITH)))
		goto done;
	if (!(then = json_loads(text, JSON_REJECT_DUPLICATES, NULL)))
		INV_TRY_OR(done,
		           inv_fail(INVAR_E_FORMAT, "%s: its " MADE_WITH " is not JSON", path));
	d = find_difference("it", then, now);
	if (d.field)
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s has %s %s, but the checkpoint was made with %s; restore the old "
		              "value, or start again with @force",
		              says, d.field, inv_json_spell(d.now, is), inv_json_spell(d.then, was));
done:
	json_decref(then);
	inv_safetensors_close(f);
	return st;
}
