/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_safetensors.c - any bytes as a safetensors file.
 *
 * What is accepted must keep the invariants of safetensors.h: tensors in name
 * order, found by their names, their bytes within the file.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "fuzz.h"

static void read_tensor(const inv_safetensors *f, const inv_tensor *t, size_t size)
{
	invar_status st;
	float *out;

	require(inv_safetensors_find(f, t->name) == t);
	require(t->cells <= 2 * size); /* no type is smaller than 4 bits */
	out = malloc(t->cells * sizeof *out + 1);
	st = inv_safetensors_read(f, t, out);
	require(st == INVAR_OK || st == INVAR_E_FORMAT || st == INVAR_E_NUMERIC);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_safetensors *f;
	bool accepted = inv_safetensors_view(data, size, "fuzz.safetensors", &f) == INVAR_OK;

	require(accepted == (f != NULL));
	for (size_t i = 0; accepted && i < inv_safetensors_count(f); i++) {
		const inv_tensor *t = inv_safetensors_at(f, i);

		require(i == 0 || strcmp(inv_safetensors_at(f, i - 1)->name, t->name) < 0);
		read_tensor(f, t, size);
	}
	if (accepted)
		inv_safetensors_metadata(f, "format");
	inv_safetensors_close(f);
	return 0;
}
