/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_legacy.c - PyTorch checkpoints before 1.6.
 *
 * Five pickles: a magic number, a protocol, a word about the machine, the object, and a
 * list of the keys of its storages. Then for each key, in the list's order, the number of
 * elements (int64) and the elements. There is no checksum; the two numbers of elements
 * must agree, and the file ends after the last storage.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/torch.h"
#include "formats/weights.h"

enum { PROTOCOL = 1001, LENGTH_BYTES = 8 };

static const unsigned char magic[10] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                        0x20, 0x6a, 0xa8, 0x50, 0x19};

typedef struct legacy {
	inv_pickle pickle;
	uint64_t at;
	inv_torch_storage **storages; /* by key */
	size_t count;
} legacy;

/*
 * PROTO 2 to 5 and any opcode. The first bytes of a safetensors file may be the same, but
 * its ninth opens the header, after its length.
 */
static bool is_legacy_pickle(const inv_map *file)
{
	const unsigned char *b = file->data;

	if (file->size < 3 || b[0] != 0x80 || b[1] < 2 || b[1] > 5 || b[2] < ' ')
		return false;
	return file->size < 9 || b[8] != '{' || b[7] || b[6];
}

static invar_status next_pickle(inv_weights *w, legacy *l, inv_py **out)
{
	invar_status st =
		inv_pickle_run(&l->pickle, w->map.data + l->at, (size_t)(w->map.size - l->at), out);

	l->at += l->pickle.at;
	return st;
}

/* ---- Storages by key -------------------------------------------------------------- */

static int compare_key(const inv_torch_storage *a, const char *key, size_t length)
{
	int order = memcmp(a->key, key, a->key_length < length ? a->key_length : length);

	return order ? order : (a->key_length > length) - (a->key_length < length);
}

static int compare_storages(const void *a, const void *b)
{
	const inv_torch_storage *x = *(inv_torch_storage *const *)a,
							*y = *(inv_torch_storage *const *)b;

	return compare_key(x, y->key, y->key_length);
}

/* Storages of one key must agree. */
static invar_status sort_storages(const inv_weights *w, legacy *l)
{
	for (inv_torch_storage *s = l->pickle.storages; s; s = s->next)
		l->count++;
	l->storages = inv_pickle_take(&l->pickle, l->count, sizeof(inv_torch_storage *));
	if (!l->storages)
		return inv_pickle_full(&l->pickle);
	l->count = 0;
	for (inv_torch_storage *s = l->pickle.storages; s; s = s->next)
		l->storages[l->count++] = s;
	qsort(l->storages, l->count, sizeof *l->storages, compare_storages);
	for (size_t i = 1; i < l->count; i++) {
		const inv_torch_storage *a = l->storages[i - 1], *b = l->storages[i];

		if (compare_storages(&a, &b) == 0 && (a->type != b->type || a->all != b->all))
			return inv_fail(INVAR_E_FORMAT,
			                "%s: a storage has two different types or sizes in its pickle",
			                w->path);
	}
	return INVAR_OK;
}

static invar_status place_storage(inv_weights *w, legacy *l, const inv_py *key)
{
	size_t i = 0, end = l->count; /* i: the first storage of this key */
	inv_torch_storage *s;
	uint64_t count, bytes;

	while (key->kind == INV_PY_TEXT && i < end) {
		size_t middle = i + (end - i) / 2;

		if (compare_key(l->storages[middle], key->of.text, key->count) < 0)
			i = middle + 1;
		else
			end = middle;
	}
	if (key->kind != INV_PY_TEXT || i == l->count ||
	    compare_key(l->storages[i], key->of.text, key->count) != 0 || l->storages[i]->data)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: its list of storages has one that no tensor uses, or one twice", w->path);
	s = l->storages[i];
	bytes = s->all * (s->type ? s->type->bytes : 1); /* checked where it was made */
	if (w->map.size - l->at < LENGTH_BYTES)
		return inv_fail(INVAR_E_FORMAT, "%s: ends before its last storage", w->path);
	memcpy(&count, w->map.data + l->at, LENGTH_BYTES);
	l->at += LENGTH_BYTES;
	if (count != s->all)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: a storage has %" PRIu64 " %s, but %" PRIu64
		                " according to the pickle",
		                w->path, count, inv_noun(count, "element", "elements"), s->all);
	if (bytes > w->map.size - l->at)
		return inv_fail(INVAR_E_FORMAT, "%s: ends inside a storage", w->path);
	for (; i < l->count && compare_storages(&l->storages[i], &s) == 0; i++)
		l->storages[i]->data = w->map.data + l->at;
	l->at += bytes;
	return INVAR_OK;
}

/* Called for a storage without data: all that are listed have been placed. */
static invar_status fail_unlisted_storage(void *user, inv_torch_storage *s)
{
	(void)s;
	return inv_fail(INVAR_E_FORMAT, "%s: a tensor's storage is not in its list of storages",
	                (const char *)user);
}

static invar_status open_legacy(inv_weights *w)
{
	const inv_py *little;
	inv_py *v, *root, *keys;
	legacy *l;

	INV_TRY(inv_new(&l));
	w->own = l;
	l->pickle.path = w->path;
	INV_TRY(next_pickle(w, l, &v));
	if (v->kind != INV_PY_BIG || v->count != sizeof magic ||
	    memcmp(v->of.text, magic, sizeof magic) != 0)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: is a pickle without PyTorch's magic number; a checkpoint written "
			"by torch.save was expected",
			w->path);
	INV_TRY(next_pickle(w, l, &v));
	if (v->kind != INV_PY_INT || v->of.i != PROTOCOL)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: does not use PyTorch's protocol %d, the only one supported",
		                w->path, PROTOCOL);
	INV_TRY(next_pickle(w, l, &v));
	little = inv_torch_find(v, "little_endian");
	if (!little || little->kind != INV_PY_BOOL || !little->of.i)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: does not say that it is little-endian; only little-endian "
		                "files are supported",
		                w->path);

	l->pickle.has_storages = true;
	INV_TRY(next_pickle(w, l, &root));
	l->pickle.has_storages = false;
	INV_TRY(sort_storages(w, l));
	INV_TRY(next_pickle(w, l, &keys));
	if (keys->kind != INV_PY_LIST)
		return inv_fail(INVAR_E_FORMAT, "%s: has no list of storages", w->path);
	for (uint32_t i = 0; i < keys->count; i++)
		INV_TRY(place_storage(w, l, keys->of.items[i]));
	if (l->at != w->map.size)
		return inv_fail(INVAR_E_FORMAT, "%s: has extra data after its last storage",
		                w->path);
	return inv_torch_collect(w, &l->pickle, root, fail_unlisted_storage, w->path);
}

static void close_legacy(inv_weights *w)
{
	legacy *l = w->own;

	if (l)
		inv_pickle_free(&l->pickle);
	inv_free(l);
}

const inv_weights_format inv_weights_torch_legacy = {
	.name = "torch legacy",
	.recognise = is_legacy_pickle,
	.open = open_legacy,
	.close = close_legacy,
};
