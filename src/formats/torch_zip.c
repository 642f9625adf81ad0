/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_zip.c - PyTorch checkpoints since 1.6 and TorchScript archives.
 *
 * Both are zip archives with a pickle and an entry a storage. A stored entry is used
 * where the file is mapped; its CRC-32 is checked when the first tensor needs it.
 * TorchScript's code is never looked at.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/torch.h"
#include "formats/weights.h"
#include "formats/zip.h"

enum { MAX_KEY = 100 };

typedef struct archive {
	inv_zip zip;
	inv_pickle pickle;
	const unsigned char **data; /* of each entry that was read */
	void **own;                 /* what had to be inflated */
} archive;

static const inv_weights_format torchscript;

static bool recognise(const inv_map *file)
{
	return inv_zip_recognise(file->data, file->size);
}

/* Once, however many storages ask for it. */
static invar_status read_entry(archive *a, const inv_zip_entry *e,
                               const unsigned char **data)
{
	size_t i = (size_t)(e - a->zip.entries);
	invar_status st = INVAR_OK;

	if (!a->data[i])
		st = inv_zip_read(&a->zip, e, &a->data[i], &a->own[i]);
	if (st != INVAR_OK)
		a->data[i] = NULL;
	*data = a->data[i];
	return st;
}

static bool is_plain(const char *key, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)key[i] <= ' ' || key[i] == '/' || (unsigned char)key[i] > 126)
			return false;
	return length <= MAX_KEY;
}

static invar_status place(void *user, inv_torch_storage *s)
{
	archive *a = user;
	char name[MAX_KEY + 16];
	const inv_zip_entry *e;

	if (!is_plain(s->key, s->key_length))
		return inv_fail(INVAR_E_FORMAT, "%s: a storage's key is not the name of an entry",
		                a->zip.path);
	snprintf(name, sizeof name, "data/%.*s", (int)s->key_length, s->key);
	if (!(e = inv_zip_find(&a->zip, name)))
		return inv_fail(INVAR_E_FORMAT, "%s: has no entry %s, which a tensor needs",
		                a->zip.path, name);
	if (e->size != s->all * (s->type ? s->type->bytes : 1))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: the size of its entry %s differs from its pickle", a->zip.path,
		                name);
	return read_entry(a, e, &s->data);
}

static invar_status check_byte_order(archive *a)
{
	const inv_zip_entry *e = inv_zip_find(&a->zip, "byteorder");
	const unsigned char *data;
	invar_status st;

	if (!e)
		return INVAR_OK;
	if ((st = read_entry(a, e, &data)) != INVAR_OK)
		return st;
	if (e->size != strlen("little") || memcmp(data, "little", e->size) != 0)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: its byteorder is not little; save it on a little-endian machine",
			a->zip.path);
	return INVAR_OK;
}

static invar_status read_pickle(inv_weights *w, archive *a)
{
	const inv_zip_entry *e = inv_zip_find(&a->zip, "data.pkl");
	const unsigned char *data;
	inv_py *root;
	invar_status st;

	if (!e)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a zip archive without data.pkl, not a PyTorch checkpoint",
		                w->path);
	if ((st = read_entry(a, e, &data)) != INVAR_OK)
		return st;
	a->pickle = (inv_pickle){
		.path = w->path, .has_storages = true, .modules = w->format == &torchscript};
	if ((st = inv_pickle_run(&a->pickle, data, e->size, &root)) != INVAR_OK)
		return st;
	if (a->pickle.at != e->size)
		return inv_fail(INVAR_E_FORMAT, "%s: has extra data after its pickle", w->path);
	return inv_torch_collect(w, &a->pickle, root, place, a);
}

static invar_status open_file(inv_weights *w)
{
	archive *a = w->own = inv_calloc(1, sizeof *a);
	invar_status st;

	if (!a)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its directory", w->path);
	if ((st = inv_zip_open(w->map.data, w->map.size, w->path, &a->zip)) != INVAR_OK)
		return st;
	a->data = inv_calloc(a->zip.count, sizeof *a->data);
	a->own = inv_calloc(a->zip.count, sizeof *a->own);
	if (!a->data || !a->own)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its directory", w->path);
	if (inv_zip_find(&a->zip, "constants.pkl"))
		w->format = &torchscript;
	st = check_byte_order(a);
	return st == INVAR_OK ? read_pickle(w, a) : st;
}

static void close_file(inv_weights *w)
{
	archive *a = w->own;

	if (!a)
		return;
	for (size_t i = 0; a->own && i < a->zip.count; i++)
		inv_free(a->own[i]);
	inv_free(a->own);
	inv_free(a->data);
	inv_pickle_free(&a->pickle);
	inv_zip_close(&a->zip);
	inv_free(a);
}

const inv_weights_format inv_weights_torch_zip = {
	.name = "torch zip",
	.recognise = recognise,
	.open = open_file,
	.close = close_file,
};

static const inv_weights_format torchscript = {
	.name = "torchscript",
	.recognise = recognise,
	.open = open_file,
	.close = close_file,
};
