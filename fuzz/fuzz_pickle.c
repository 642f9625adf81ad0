/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pickle.c - any bytes as a pickle, as in a TorchScript archive.
 *
 * Every storage gets memory of its size, so that all resulting tensors can be read; every
 * value must be of a kind that pickle.h lists.
 */
#include <string.h>

#include "base/memory.h"
#include "formats/pickle.h"
#include "formats/weights.h"
#include "fuzz.h"

enum { MOST = 1 << 20 };

static const unsigned char zeros[MOST];

static invar_status place(void *user, inv_torch_storage *s)
{
	uint64_t bytes = s->all * (s->type ? s->type->bytes : 1);

	(void)user;
	if (bytes > MOST)
		return inv_fail(INVAR_E_FORMAT, "fuzz.pkl: a storage is larger than the file");
	s->data = zeros + MOST - bytes; /* the sanitizer guards the end */
	return INVAR_OK;
}

static void read_all(const inv_weights *w)
{
	for (size_t i = 0; i < w->count && i < 50; i++) {
		const inv_weight_about *t = &w->list[i].of;
		float *out;

		require(t->cells <= MOST);
		out = malloc(t->cells * sizeof *out + 1);
		inv_weights_read(w, t, out);
		free(out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_pickle p = {.path = "fuzz.pkl", .modules = true, .has_storages = true};
	inv_weights w = {.path = (char[]){"fuzz.pkl"}};
	inv_py *root;

	if (inv_pickle_run(&p, data, size, &root) == INVAR_OK) {
		require(root && root->kind <= INV_PY_TENSOR && p.at <= size);
		if (inv_torch_collect(&w, &p, root, place, NULL) == INVAR_OK)
			read_all(&w);
	}
	inv_free(w.list);
	inv_free(w.key);
	inv_free(w.keys);
	inv_pickle_free(&p);
	return 0;
}
