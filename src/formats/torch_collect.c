/* SPDX-License-Identifier: Apache-2.0 */
/* torch_collect.c - see torch.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/torch.h"
#include "formats/weights.h"

enum {
	MAX_DEPTH = 100,
	MAX_STEPS = 1000000,
	MAX_TENSORS = 100000,
	MAX_NAME = 1000,
	MAX_KEYS = 1000 /* bytes of the list of dictionaries */
};

enum { UNSEEN, WITHIN, SEEN }; /* mark of a value */

/* ---- All values, once: no cycles, not too deep, and which hold tensors ------------ */

static bool is_dictionary(const inv_py *v)
{
	return v->kind == INV_PY_DICT || v->kind == INV_PY_BAG;
}

/* A dictionary or bag with tensors in it. */
static bool holds_tensors(const inv_py *v)
{
	return v && is_dictionary(v) && v->holds;
}

static invar_status check_nesting(const inv_weights *w, inv_py *v, unsigned depth)
{
	uint32_t step = v->kind == INV_PY_DICT ? 2 : 1;
	uint32_t count = v->kind == INV_PY_BAG ? v->of.inside != NULL : v->count;
	inv_py **items = v->kind == INV_PY_BAG ? &v->of.inside : v->of.items;

	if (v->kind != INV_PY_TUPLE && v->kind != INV_PY_LIST && !is_dictionary(v))
		return INVAR_OK;
	if (v->mark == WITHIN)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: one of its dictionaries or lists contains itself", w->path);
	if (depth + v->height > MAX_DEPTH)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its dictionaries or lists are nested more than %d deep",
		                w->path, MAX_DEPTH);
	if (v->mark == SEEN)
		return INVAR_OK;
	v->mark = WITHIN;
	for (uint32_t i = step - 1; i < count; i += step) {
		INV_TRY(check_nesting(w, items[i], depth + 1));
		if (items[i]->height >= v->height)
			v->height = items[i]->height + 1;
		v->holds |= items[i]->kind == INV_PY_TENSOR || holds_tensors(items[i]);
	}
	v->mark = SEEN;
	return INVAR_OK;
}

/* ---- Which dictionary ------------------------------------------------------------- */

static inv_py *insides(inv_py *v)
{
	return v->kind == INV_PY_BAG ? v->of.inside : v;
}

inv_py *inv_torch_find(const inv_py *dict, const char *key)
{
	inv_py *found = NULL;

	for (uint32_t i = 0; dict->kind == INV_PY_DICT && i + 1 < dict->count; i += 2) {
		const inv_py *k = dict->of.items[i];

		if (k->kind == INV_PY_TEXT && k->count == strlen(key) &&
		    memcmp(k->of.text, key, k->count) == 0)
			found = dict->of.items[i + 1];
	}
	return found;
}

/* "a|b" of the dictionaries in root that hold tensors; *only is one of their names. */
static size_t list_keys(const inv_py *root, char keys[MAX_KEYS + 1], const inv_py **only)
{
	size_t count = 0, at = 0;

	for (uint32_t i = 0; i + 1 < root->count; i += 2) {
		const inv_py *k = root->of.items[i];

		if (k->kind != INV_PY_TEXT || !holds_tensors(root->of.items[i + 1]))
			continue;
		*only = k;
		count++;
		if (k->count + 1 > MAX_KEYS - at)
			continue;
		if (at)
			keys[at++] = '|';
		for (uint32_t c = 0; c < k->count; c++, at++)
			keys[at] = (unsigned char)k->of.text[c] < ' ' ? '?' : k->of.text[c];
	}
	keys[at] = 0;
	return count;
}

static invar_status set_keys(inv_weights *w, const char *key, size_t length,
                             const char *keys)
{
	INV_TRY(inv_new_zeros(&w->key, length + 1));
	memcpy(w->key, key, length);
	return inv_new_text(&w->keys, keys);
}

/* The wanted one; else the teacher's, one that is named like a model, or the only one. */
static invar_status pick_dictionary(inv_weights *w, inv_py *root, inv_py **out)
{
	static const char *const usual[] = {"teacher",          "state_dict",  "model",
	                                    "model_state_dict", "model_state", "net",
	                                    "network",          "student",     NULL};
	char keys[MAX_KEYS + 1];
	const inv_py *only = NULL;
	size_t count;

	if (!is_dictionary(root))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: contains a single value, expected a dictionary of tensors",
		                w->path);
	if (!root->holds)
		return inv_fail(INVAR_E_FORMAT, "%s: has no dictionary of tensors", w->path);
	*out = root;
	if (root->kind == INV_PY_BAG) { /* a module is one dictionary, with its submodules */
		if (!w->wanted_key)
			return set_keys(w, "", 0, "");
		return inv_fail(INVAR_E_USE, "%s: contains a single module; leave out @key %.60s",
		                w->path, w->wanted_key);
	}

	count = list_keys(root, keys, &only);
	if (w->wanted_key) {
		*out = inv_torch_find(root, w->wanted_key);
		if (holds_tensors(*out))
			return set_keys(w, w->wanted_key, strlen(w->wanted_key), keys);
		if (!*keys)
			return inv_fail(INVAR_E_USE,
			                "%s: has only one dictionary of tensors; leave out @key %.60s",
			                w->path, w->wanted_key);
		return inv_fail(INVAR_E_USE, "%s: has no dictionary of tensors '%.60s'; it has %s",
		                w->path, w->wanted_key, keys);
	}
	for (size_t i = 0; usual[i]; i++)
		if (holds_tensors(*out = inv_torch_find(root, usual[i])))
			return set_keys(w, usual[i], strlen(usual[i]), keys);
	*out = root;
	for (uint32_t i = 1; i < root->count; i += 2)
		if (root->of.items[i]->kind == INV_PY_TENSOR)
			return set_keys(w, "", 0, keys);
	if (count > 1)
		return inv_fail(INVAR_E_USE,
		                "%s: has several dictionaries of tensors; choose one with @key: %s",
		                w->path, keys);
	for (uint32_t i = 0; only && i < root->count; i += 2)
		if (root->of.items[i] == only)
			*out = root->of.items[i + 1];
	return only ? set_keys(w, only->of.text, only->count, keys) : set_keys(w, "", 0, keys);
}

/* ---- Names ------------------------------------------------------------------------ */

typedef struct walk {
	inv_weights *w;
	inv_pickle *p;
	inv_torch_place *place;
	void *user;
	size_t capacity, steps;
	char name[MAX_NAME + 1];
} walk;

static invar_status add_tensor(walk *k, size_t length, const inv_torch_tensor *t)
{
	inv_torch_storage *s = t->storage;
	inv_weights *w = k->w;
	inv_weight *to;
	char *name;

	if (w->count >= k->capacity) {
		size_t capacity = k->capacity ? 2 * k->capacity : 64;
		inv_weight *list;

		if (w->count >= MAX_TENSORS)
			return inv_fail(INVAR_E_FORMAT, "%s: has more than %d tensors", w->path,
			                MAX_TENSORS);
		INV_TRY(inv_new_zeros(&list, capacity));
		if (w->count)
			memcpy(list, w->list, w->count * sizeof *list);
		inv_free(w->list);
		w->list = list;
		k->capacity = capacity;
	}
	if (!s->data)
		INV_TRY(k->place(k->user, s));
	if (!(name = inv_pickle_take(k->p, length + 1, 1)))
		return inv_pickle_full(k->p);
	memcpy(name, k->name, length);
	to = &w->list[w->count++];
	to->of = (inv_weight_about){
		.name = name, .type = t->type->type, .ndim = t->ndim, .cells = t->cells};
	memcpy(to->of.shape, t->shape, sizeof t->shape);
	memcpy(to->stride, t->stride, sizeof t->stride);
	to->data = s->data + (s->type ? s->first * s->type->bytes : s->first) +
	           (t->cells ? t->offset * t->type->bytes : 0);
	return INVAR_OK;
}

/* The name of the dictionary has `length` bytes; those in it append their keys. */
static invar_status add_dictionary(walk *k, inv_py *dict, size_t length)
{
	for (uint32_t i = 0; i + 1 < dict->count; i += 2) {
		const inv_py *key = dict->of.items[i];
		inv_py *value = dict->of.items[i + 1];
		const char *text = key->of.text;
		size_t bytes = key->count, dot = length > 0, longer;
		char number[32];

		if (++k->steps > MAX_STEPS)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: its dictionaries have more than %d names, which no real "
			                "weight file has",
			                k->w->path, MAX_STEPS);
		if ((key->kind != INV_PY_TEXT && key->kind != INV_PY_INT) ||
		    (value->kind != INV_PY_TENSOR && !holds_tensors(value)))
			continue;
		if (key->kind == INV_PY_INT) {
			bytes = (size_t)snprintf(number, sizeof number, "%lld", (long long)key->of.i);
			text = number;
		}
		if (memchr(text, 0, bytes))
			return inv_fail(INVAR_E_FORMAT, "%s: a name contains a NUL", k->w->path);
		if (bytes + dot > MAX_NAME - length)
			return inv_fail(INVAR_E_FORMAT, "%s: a name is longer than %d bytes",
			                k->w->path, MAX_NAME);
		if (dot)
			k->name[length] = '.';
		memcpy(k->name + length + dot, text, bytes);
		longer = length + dot + bytes;
		INV_TRY(value->kind == INV_PY_TENSOR ? add_tensor(k, longer, value->of.tensor)
		                                     : add_dictionary(k, insides(value), longer));
	}
	return INVAR_OK;
}

static int compare_weight_names(const void *a, const void *b)
{
	return strcmp(((const inv_weight *)a)->of.name, ((const inv_weight *)b)->of.name);
}

invar_status inv_torch_collect(inv_weights *w, inv_pickle *p, inv_py *root,
                               inv_torch_place *place, void *user)
{
	walk k = {.w = w, .p = p, .place = place, .user = user};
	inv_py *dict = NULL;

	INV_TRY(check_nesting(w, root, 0));
	INV_TRY(pick_dictionary(w, root, &dict));
	INV_TRY(add_dictionary(&k, insides(dict), 0));
	if (w->count)
		qsort(w->list, w->count, sizeof *w->list, compare_weight_names);
	for (size_t i = 1; i < w->count; i++)
		if (compare_weight_names(&w->list[i - 1], &w->list[i]) == 0)
			return inv_fail(INVAR_E_FORMAT, "%s: has two tensors '%.200s'", w->path,
			                w->list[i].of.name);
	return INVAR_OK;
}
