/* checkpoint.c - saving and loading the state between two steps. */
#include "adapter/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"

enum { SETS = 4, COUNTERS = 3, NUMBERS = 2 + INV_VALUE_TERMS, VALUE = 40 };

static const char *const prefixes[SETS] = {"", "m.", "v.", "best."};

typedef struct entry {
	char key[32], value[VALUE];
} entry;

static void counters_of(inv_progress_state *at, uint64_t *c[COUNTERS],
                        const char *name[COUNTERS])
{
	c[0] = &at->epoch, name[0] = "epoch";
	c[1] = &at->step, name[1] = "step";
	c[2] = &at->t, name[2] = "t";
}

/* Their number: two, and the sums of as many terms as the loss has. */
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
                                 const inv_progress_state *at)
{
	const float *sets[SETS] = {p->params, p->m, p->v, best};
	char names[SETS][INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[SETS * INV_MLP_BLOCKS];
	entry entries[COUNTERS + NUMBERS];
	inv_metadata metadata[COUNTERS + NUMBERS + 1];
	size_t count = describe(at, p->term_count, entries, metadata);
	size_t used = best ? SETS : SETS - 1;

	for (size_t i = 0; i < used; i++)
		inv_mlp_tensors(p->spec.shape, sets[i], prefixes[i], names[i],
		                tensors + i * INV_MLP_BLOCKS);
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
	inv_safetensors *f;
	invar_status st = inv_safetensors_open(path, &f);

	if (st != INVAR_OK)
		return st;
	if (!inv_safetensors_metadata(f, "invar.checkpoint"))
		st = inv_fail(INVAR_E_FORMAT, "%s: is not a checkpoint", path);
	else
		st = read_state(f, path, p->term_count, at);
	for (int i = 0; i < SETS && st == INVAR_OK; i++)
		if (sets[i])
			st = inv_mlp_read(f, path, prefixes[i], p->spec.shape, sets[i]);
	p->t = at->t;
	inv_safetensors_close(f);
	return st;
}
