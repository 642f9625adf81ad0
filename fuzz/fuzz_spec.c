/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_spec.c - any bytes as a SPEC and, after the first newline, as its parameters.
 *
 * What is accepted has a canonical form that reads back as itself, and rows of
 * parameters that are accepted can be applied to a picture.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "images/augment/augment.h"

enum { IMAGES = 2, SIDE = 9, MAX_RESULT = 1 << 16 };

static void apply(const invar_augment *a, const float *params)
{
	const uint64_t shape[4] = {IMAGES, 3, SIDE, SIDE + 2};
	uint64_t to[4];
	float *x, *out;

	if (invar_augment_result(a, shape, to) != INVAR_OK ||
	    to[1] * to[2] * to[3] > MAX_RESULT)
		return;
	x = calloc(IMAGES * 3 * SIDE * (SIDE + 2), sizeof *x);
	out = malloc(to[0] * to[1] * to[2] * to[3] * sizeof *out);
	require(invar_augment_apply(a, NULL, x, shape, params, out) == INVAR_OK);
	free(x);
	free(out);
}

static void read_params(const invar_augment *a, const char *json, size_t bytes)
{
	const uint64_t shape[4] = {IMAGES, 3, SIDE, SIDE + 2};
	float *rows = malloc(IMAGES * invar_augment_columns(a) * sizeof *rows + 1);

	if (inv_augment_params_parse(a, json, bytes, "fuzz.json", shape, rows) == INVAR_OK)
		apply(a, rows);
	free(rows);
}

static void read_back(invar_context *ctx, const invar_augment *a)
{
	invar_augment *again;

	require(invar_augment_parse(ctx, inv_augment_spec(a), &again) == INVAR_OK);
	require(strcmp(inv_augment_spec(a), inv_augment_spec(again)) == 0);
	require(invar_augment_columns(a) == invar_augment_columns(again));
	invar_augment_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t length = newline ? (size_t)(newline - data) : size;
	char *text = malloc(length + 1);
	invar_context *ctx;
	invar_augment *a;

	memcpy(text, data, length);
	text[length] = '\0';
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (invar_augment_parse(ctx, text, &a) == INVAR_OK) {
		read_back(ctx, a);
		apply(a, NULL);
		if (newline)
			read_params(a, (const char *)newline + 1, size - length - 1);
	}
	invar_augment_close(a);
	invar_context_free(ctx);
	free(text);
	return 0;
}
