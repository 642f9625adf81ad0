/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_encoder.c - any bytes as the weights of an encoder: recognised, loaded, planned for
 * small images and run.
 *
 * What is accepted must run, twice with the same result, which would reveal memory that was
 * never written. A ViT without a number of heads gets one.
 */
#include "encoders/encoder.h"
#include "fuzz_file.h"

enum { IMAGES = 2, SIDE = 33, MAX_SIDE = 64, MAX_PATCHES = 100, MAX_WIDTH = 4096 };

/* The model's own image size if it is small; SIDE otherwise. */
static size_t choose_side(const invar_encoder *e)
{
	size_t side = invar_encoder_side(e), patch = e->measures.patch;

	if (!side || side > MAX_SIDE)
		side = SIDE;
	return patch && (side / patch) * (side / patch) > MAX_PATCHES ? patch : side;
}

static void run(invar_encoder *e)
{
	size_t side = choose_side(e), cells;
	const uint64_t shape[4] = {IMAGES, e->input.keeps_grey ? 1 : 3, side, side};
	uint64_t width;
	float *x, *out;

	if (side > MAX_SIDE || invar_encoder_width(e, shape, &width) != INVAR_OK ||
	    width > MAX_WIDTH)
		return;
	cells = (size_t)(shape[0] * shape[1] * side * side);
	x = malloc(cells * sizeof *x);
	out = malloc(2 * IMAGES * width * sizeof *out + 1);
	for (size_t i = 0; i < cells; i++)
		x[i] = (float)(i % 17) / 8 - 1;
	require(invar_encoder_run(e, x, shape, out) == INVAR_OK);
	require(invar_encoder_run(e, x, shape, out + IMAGES * width) == INVAR_OK);
	require(memcmp(out, out + IMAGES * width, IMAGES * width * sizeof *out) == 0);
	free(x);
	free(out);
}

static invar_status open_and_run(invar_context *ctx, const char *path, uint64_t heads)
{
	invar_options *o;
	invar_encoder *e;
	invar_status st;

	require(invar_options_new("features", &o) == INVAR_OK);
	require(invar_options_set_number(o, "heads", (double)heads) == INVAR_OK);
	st = invar_encoder_open(ctx, path, o, &e);
	invar_options_free(o);
	require((st == INVAR_OK) == (e != NULL));
	if (e)
		run(e);
	invar_encoder_close(e);
	return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	int fd = memory_file(data, size, path);
	invar_context *ctx;

	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (open_and_run(ctx, path, 0) == INVAR_E_USE)
		open_and_run(ctx, path, 1);
	invar_context_free(ctx);
	close(fd);
	return 0;
}
