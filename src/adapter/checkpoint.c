/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saving and loading the state between two steps. */
#include "adapter/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"

enum { SETS = 4, PARTS = 2, COUNTERS = 4, NUMBERS = 2 + INV_VALUE_TERMS, VALUE = 40 };

#define MADE_WITH "invar.made_with"

static const char *const prefixes[SETS] = {"", "m.", "v.", "best."};

/* E, and the decoder if there is one: the layout of each set. */
typedef struct part {
	const char *prefix;
	inv_mlp_shape shape;
	size_t offset;
} part;

static size_t parts_of(const inv_step *p, part out[PARTS])
{
	out[0] = (part){"", p->spec.shape, 0};
	out[1] = (part){"dec.", p->spec.decoder, p->adapter_floats};
	return p->decoder ? 2 : 1;
}

static void spell_prefix(const part *at, int set, char out[16])
{
	snprintf(out, 16, "%s%s", prefixes[set], at->prefix);
}

typedef struct entry {
	char key[32], value[VALUE];
} entry;

static void counters_of(inv_progress_state *at, uint64_t *c[COUNTERS],
                        const char *name[COUNTERS])
{
	c[0] = &at->epoch, name[0] = "epoch";
	c[1] = &at->step, name[1] = "step";
	c[2] = &at->t, name[2] = "t";
	c[3] = &at->best_epoch, name[3] = "best_epoch";
}

/* Returns how many there are: two, and one sum per term of the loss. */
static int numbers_of(inv_progress_state *at, size_t terms, double *n[NUMBERS],
                      char name[NUMBERS][32])
{
	n[0] = &at->loss_sum;
	n[1] = &at->best;
	snprintf(name[0], 32, "loss_sum");
	snprintf(name[1], 32, "best");
	for (size_t i = 0; i < terms; i++) {
		n[2 + i] = &at->term_sum[i];
		snprintf(name[2 + i], 32, "term_sum.%zu", i);
	}
	return 2 + (int)terms;
}

static size_t describe(const inv_progress_state *at, size_t terms, entry *e,
                       inv_metadata *m)
{
	inv_progress_state copy = *at;
	uint64_t *counter[COUNTERS];
	double *number[NUMBERS];
	const char *counter_name[COUNTERS];
	char number_name[NUMBERS][32];
	size_t count = 0;
	int numbers = numbers_of(&copy, terms, number, number_name);

	counters_of(&copy, counter, counter_name);
	for (int i = 0; i < COUNTERS; i++, count++) {
		snprintf(e[count].key, sizeof e->key, "%s", counter_name[i]);
		snprintf(e[count].value, VALUE, "%" PRIu64, *counter[i]);
	}
	for (int i = 0; i < numbers; i++, count++) {
		snprintf(e[count].key, sizeof e->key, "%.31s", number_name[i]);
		snprintf(e[count].value, VALUE, "%a", *number[i]);
	}
	for (size_t i = 0; i < count; i++)
		m[i] = (inv_metadata){e[i].key, e[i].value};
	m[count++] = (inv_metadata){"invar.checkpoint", "1"};
	return count;
}

invar_status inv_checkpoint_save(const char *path, const inv_step *p, const float *best,
                                 const inv_progress_state *at, const char *made_with)
{
	const float *sets[SETS] = {p->params, p->m, p->v, best};
	char names[PARTS * SETS][INV_MLP_BLOCKS][32], prefix[16];
	inv_tensor_out tensors[PARTS * SETS * INV_MLP_BLOCKS];
	part net[PARTS];
	entry entries[COUNTERS + NUMBERS];
	inv_metadata metadata[COUNTERS + NUMBERS + 2];
	size_t count = describe(at, p->term_count, entries, metadata);
	size_t parts = parts_of(p, net), used = 0;

	if (made_with)
		metadata[count++] = (inv_metadata){MADE_WITH, made_with};
	for (size_t k = 0; k < parts; k++)
		for (int i = 0; i < SETS; i++) {
			if (!sets[i])
				continue;
			spell_prefix(&net[k], i, prefix);
			inv_mlp_tensors(net[k].shape, sets[i] + net[k].offset, prefix, names[used],
			                tensors + used * INV_MLP_BLOCKS);
			used++;
		}
	return inv_safetensors_save(path, tensors, used * INV_MLP_BLOCKS, metadata, count);
}

static invar_status read_state(const inv_safetensors *f, const char *path, size_t terms,
                               inv_progress_state *at)
{
	uint64_t *counter[COUNTERS];
	double *number[NUMBERS];
	const char *counter_name[COUNTERS];
	char number_name[NUMBERS][32];
	int numbers = numbers_of(at, terms, number, number_name);

	counters_of(at, counter, counter_name);
	for (int i = 0; i < COUNTERS + numbers; i++) {
		const char *key = i < COUNTERS ? counter_name[i] : number_name[i - COUNTERS];
		const char *text = inv_safetensors_metadata(f, key);
		char *end = NULL;

		if (!text && i < COUNTERS && counter[i] == &at->best_epoch)
			continue; /* older checkpoints do not have it */
		if (text && i < COUNTERS)
			*counter[i] = strtoull(text, &end, 10);
		else if (text)
			*number[i - COUNTERS] = strtod(text, &end);
		if (!text || end == text || *end)
			return inv_fail(INVAR_E_FORMAT, "%s: its %s is missing or not a number", path,
			                key);
	}
	return INVAR_OK;
}

invar_status inv_checkpoint_load(const char *path, inv_step *p, float *best,
                                 inv_progress_state *at)
{
	float *sets[SETS] = {p->params, p->m, p->v, best};
	part net[PARTS];
	size_t parts = parts_of(p, net);
	char prefix[16];
	inv_safetensors *f;
	invar_status st = inv_safetensors_open(path, &f);

	if (st != INVAR_OK)
		return st;
	if (!inv_safetensors_metadata(f, "invar.checkpoint"))
		st = inv_fail(INVAR_E_FORMAT, "%s: is not a checkpoint", path);
	else
		st = read_state(f, path, p->term_count, at);
	for (size_t k = 0; k < parts; k++)
		for (int i = 0; i < SETS && st == INVAR_OK; i++) {
			spell_prefix(&net[k], i, prefix);
			if (sets[i])
				st = inv_mlp_read(f, path, prefix, net[k].shape, sets[i] + net[k].offset);
		}
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

static invar_status compare(const json_t *then, const json_t *now, const char *says)
{
	difference d = find_difference("it", then, now);
	char was[INV_SPELLED], is[INV_SPELLED];

	if (!d.field)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s has %s %s, but the checkpoint was made with %s; restore the old "
	                "value, or start again with @force",
	                says, d.field, inv_json_spell(d.now, is), inv_json_spell(d.then, was));
}

invar_status inv_checkpoint_check(const char *path, const json_t *now, const char *says)
{
	inv_safetensors *f;
	invar_status st = INVAR_OK;
	const char *text;
	json_t *then = NULL;

	if (inv_safetensors_open(path, &f) != INVAR_OK)
		return INVAR_OK; /* loading it reports what is wrong */
	if ((text = inv_safetensors_metadata(f, MADE_WITH)) &&
	    !(then = json_loads(text, JSON_REJECT_DUPLICATES, NULL)))
		st = inv_fail(INVAR_E_FORMAT, "%s: its " MADE_WITH " is not JSON", path);
	if (st == INVAR_OK && then)
		st = compare(then, now, says);
	json_decref(then);
	inv_safetensors_close(f);
	return st;
}
