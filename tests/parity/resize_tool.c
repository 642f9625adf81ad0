/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_tool.c - resizing as a program, for the checks against PyTorch and Pillow.
 *
 *     resize_tool float|bytes bilinear|bicubic 0|1 H W IN.npy OUT.npy
 *
 * float: [planes, h, w], the third word is antialias; bytes: [h, w, channels], as
 * Pillow, where the third word chooses the plain kernels (0) or the machine's (1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "formats/npy.h"
#include "images/resize.h"

static void die(invar_status st)
{
	if (st == INVAR_OK)
		return;
	fprintf(stderr, "resize_tool: %s\n", invar_last_error());
	exit(1);
}

static void resize_bytes(invar_context *ctx, inv_filter filter, bool fast, const float *x,
                         const uint64_t in[3], uint64_t to[3], float *out)
{
	size_t cells = in[0] * in[1] * in[2], result = to[0] * to[1] * in[2];
	uint8_t *bytes = malloc(cells), *small = malloc(result);
	inv_resizer *r;

	for (size_t i = 0; i < cells; i++)
		bytes[i] = (uint8_t)x[i];
	die(inv_resizer_new(fast ? ctx->cpu : 0, filter, &r));
	die(inv_resizer_run(r, bytes, in[0], in[1], in[2], to[0], to[1], small));
	for (size_t i = 0; i < result; i++)
		out[i] = small[i];
	inv_resizer_free(r);
	free(bytes);
	free(small);
}

int main(int argc, char **argv)
{
	invar_context *ctx;
	inv_npy *a;
	float *x, *out;
	inv_filter filter;
	uint64_t to[3];
	bool floats;

	if (argc != 8)
		return 2;
	die(invar_context_new(1, NULL, &ctx));
	die(inv_npy_open(argv[6], &a));
	floats = strcmp(argv[1], "float") == 0;
	filter = strcmp(argv[2], "bicubic") == 0 ? INV_BICUBIC : INV_BILINEAR;
	to[floats] = strtoull(argv[4], NULL, 10);
	to[floats + 1] = strtoull(argv[5], NULL, 10);
	to[floats ? 0 : 2] = a->h.shape[floats ? 0 : 2];
	x = malloc(a->h.cells * sizeof *x);
	out = malloc(to[0] * to[1] * to[2] * sizeof *out);
	die(inv_npy_read(a, 0, a->h.cells, x));
	if (floats)
		die(inv_resize(x, to[0], a->h.shape[1], a->h.shape[2], filter, argv[3][0] == '1',
		               to[1], to[2], out));
	else
		resize_bytes(ctx, filter, argv[3][0] == '1', x, a->h.shape, to, out);
	die(invar_array_write(ctx, argv[7], out, 3, to, INVAR_FLOAT32));
	inv_npy_close(a);
	invar_context_free(ctx);
	free(x);
	free(out);
	return 0;
}
