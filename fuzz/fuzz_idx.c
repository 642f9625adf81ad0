/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_idx.c - any bytes as an idx file, plain or compressed.
 *
 * What is accepted has as many bytes as its shape says, all of them readable.
 */
#include "formats/idx.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_idx *x;
	bool accepted = inv_idx_view(data, size, "fuzz.idx", &x) == INVAR_OK;
	unsigned sum = 0;

	require(accepted == (x != NULL));
	if (accepted) {
		require(x->cells == x->shape[0] * x->shape[1] * x->shape[2]);
		for (uint64_t i = 0; i < x->cells; i++)
			sum += x->data[i];
		require(sum <= 255 * x->cells);
	}
	inv_idx_close(x);
	return 0;
}
