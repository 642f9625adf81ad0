/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_zip.c - PyTorch checkpoints since 1.6 and TorchScript archives.
 *
 * Both are zip archives with a pickle and one entry per storage. An uncompressed entry is
 * used where the file is mapped; its CRC-32 is checked when the first tensor needs it.
 * TorchScript's code is never read.
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

static bool is_zip(const inv_map *file)
{
	return inv_zip_recognise(file->data, file->size);
}

/* Once, however many storages ask for it. */
static invar_status read_entry_once(archive *a, const inv_zip_entry *e,
                                    const unsigned char **data)
{
	size_t i = (size_t)(e - a->zip.entries);

	*data = NULL;
	if (!a->data[i]) {
		const unsigned char *read;

		INV_TRY(inv_zip_read(&a->zip, e, &read, &a->own[i]));
		a->data[i] = read;
	}
	*data = a->data[i];
	return INVAR_OK;
}

static invar_status place_entry(void *user, inv_torch_storage *s)
{
	archive *a = user;
	char name[MAX_KEY + 16];
	const inv_zip_entry *e;
	bool plain = s->key_length <= MAX_KEY;

	for (size_t i = 0; plain && i < s->key_length; i++)
		plain = s->key[i] > ' ' && s->key[i] <= '~' && s->key[i] != '/';
	if (!plain)
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
	return read_entry_once(a, e, &s->data);
}

static invar_status open_archive(inv_weights *w)
{
	const inv_zip_entry *e;
	const unsigned char *data;
	inv_py *root;
	archive *a;

	INV_TRY(inv_new(&a));
	w->own = a;
	INV_TRY(inv_zip_open(w->map.data, w->map.size, w->path, &a->zip));
	INV_TRY(inv_new_zeros(&a->data, a->zip.count));
	INV_TRY(inv_new_zeros(&a->own, a->zip.count));
	if (inv_zip_find(&a->zip, "constants.pkl"))
		w->format = &torchscript;
	if ((e = inv_zip_find(&a->zip, "byteorder"))) {
		INV_TRY(read_entry_once(a, e, &data));
		if (e->size != strlen("little") || memcmp(data, "little", e->size) != 0)
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: its byteorder is not little; save it on a little-endian machine",
				w->path);
	}
	if (!(e = inv_zip_find(&a->zip, "data.pkl")))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a zip archive without data.pkl, not a PyTorch checkpoint",
		                w->path);
	INV_TRY(read_entry_once(a, e, &data));
	a->pickle = (inv_pickle){
		.path = w->path, .has_storages = true, .modules = w->format == &torchscript};
	INV_TRY(inv_pickle_run(&a->pickle, data, e->size, &root));
	if (a->pickle.at != e->size)
		return inv_fail(INVAR_E_FORMAT, "%s: has extra data after its pickle", w->path);
	return inv_torch_collect(w, &a->pickle, root, place_entry, a);
}

static void close_archive(inv_weights *w)
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
	.recognise = is_zip,
	.open = open_archive,
	.close = close_archive,
};

static const inv_weights_format torchscript = {
	.name = "torchscript",
	.recognise = is_zip,
	.open = open_archive,
	.close = close_archive,
};
