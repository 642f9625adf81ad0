/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_config.c - any bytes as config.json beside the weights of a small ViT and, after the
 * first newline, as preprocessor_config.json.
 *
 * Whatever they contain, the encoder is rejected or runs, and its normalisation can be
 * parsed.
 */
#include "encoders/encoder.h"
#include "formats/safetensors.h"
#include "fuzz_file.h"
#include "images/normalise.h"

enum { D = 4, HIDDEN = 6, PATCH = 2, SIDE = 4, MAX_CELLS = 64 };

#define BLOCK "encoder.layer.0."

static const inv_tensor_out parts[] = {
	{"embeddings.cls_token", 3, {1, 1, D}, NULL},
	{"embeddings.position_embeddings", 3, {1, 5, D}, NULL},
	{"embeddings.patch_embeddings.projection.weight", 4, {D, 3, PATCH, PATCH}, NULL},
	{"embeddings.patch_embeddings.projection.bias", 1, {D}, NULL},
	{BLOCK "layernorm_before.weight", 1, {D}, NULL},
	{BLOCK "layernorm_before.bias", 1, {D}, NULL},
	{BLOCK "attention.attention.query.weight", 2, {D, D}, NULL},
	{BLOCK "attention.attention.query.bias", 1, {D}, NULL},
	{BLOCK "attention.attention.key.weight", 2, {D, D}, NULL},
	{BLOCK "attention.attention.key.bias", 1, {D}, NULL},
	{BLOCK "attention.attention.value.weight", 2, {D, D}, NULL},
	{BLOCK "attention.attention.value.bias", 1, {D}, NULL},
	{BLOCK "attention.output.dense.weight", 2, {D, D}, NULL},
	{BLOCK "attention.output.dense.bias", 1, {D}, NULL},
	{BLOCK "layernorm_after.weight", 1, {D}, NULL},
	{BLOCK "layernorm_after.bias", 1, {D}, NULL},
	{BLOCK "intermediate.dense.weight", 2, {HIDDEN, D}, NULL},
	{BLOCK "intermediate.dense.bias", 1, {HIDDEN}, NULL},
	{BLOCK "output.dense.weight", 2, {D, HIDDEN}, NULL},
	{BLOCK "output.dense.bias", 1, {D}, NULL},
	{"layernorm.weight", 1, {D}, NULL},
	{"layernorm.bias", 1, {D}, NULL},
};

static void write_weights(const char *path)
{
	enum { PARTS = sizeof parts / sizeof *parts };
	static float values[MAX_CELLS];
	inv_tensor_out tensors[PARTS];

	for (size_t i = 0; i < MAX_CELLS; i++)
		values[i] = (float)(i % 7) / 4 - 0.5f;
	memcpy(tensors, parts, sizeof parts);
	for (size_t i = 0; i < PARTS; i++)
		tensors[i].data = values;
	require(inv_safetensors_save(path, tensors, PARTS, NULL, 0) == INVAR_OK);
}

static void run(invar_encoder *e)
{
	const uint64_t shape[4] = {1, 3, SIDE, SIDE};
	float x[3 * SIDE * SIDE] = {1}, out[D];
	inv_normalisation constants;

	require(e->measures.width == D);
	require(inv_normalisation_parse(e->input.normalisation, &constants) == INVAR_OK);
	require(invar_encoder_run(e, x, shape, out) == INVAR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[2 * FUZZ_PATH];
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t length = newline ? (size_t)(newline - data) : size;
	size_t rest = newline ? length + 1 : size;
	invar_context *ctx;
	invar_encoder *e;

	if (!*path) {
		snprintf(path, sizeof path, "%s/model.safetensors", memory_folder());
		write_weights(path);
	}
	put_file("config.json", data, length);
	put_file("preprocessor_config.json", rest < size ? data + rest : (const void *)"{}",
	         rest < size ? size - rest : 2);
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	if (invar_encoder_open(ctx, path, NULL, &e) == INVAR_OK)
		run(e);
	invar_encoder_close(e);
	invar_context_free(ctx);
	return 0;
}
