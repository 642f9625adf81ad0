/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_adapter.c - any bytes as an adapter: what opens can be applied.
 */
#include "adapter/adapter.h"
#include "fuzz_file.h"

enum { ROWS = 2, MAX_WIDTH = 4096 };

static void apply(const invar_adapter *e)
{
	size_t d = invar_adapter_input(e), w = invar_adapter_output(e);
	float *z, *out;

	require(d && w && invar_adapter_hidden(e));
	require(!invar_adapter_residual(e) || d == w);
	if (d > MAX_WIDTH || w > MAX_WIDTH)
		return;
	z = calloc(ROWS * d, sizeof *z);
	out = malloc(ROWS * w * sizeof *out);
	require(invar_adapter_apply(e, z, ROWS, out) == INVAR_OK);
	require(memcmp(out, out + w, w * sizeof *out) == 0); /* of equal rows */
	free(z);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	int fd = memory_file(data, size, path);
	invar_context *ctx;
	invar_adapter *e;

	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (invar_adapter_open(ctx, path, &e) == INVAR_OK) {
		invar_adapter_metadata(e, "invar.options");
		apply(e);
	}
	invar_adapter_close(e);
	invar_context_free(ctx);
	close(fd);
	return 0;
}
