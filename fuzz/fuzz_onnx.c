/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_onnx.c - any bytes as a foreign model: what an adapter was appended to is a model
 * again, which begins and ends as it did and has one output more; and what is read of a
 * model that is an encoder.
 */
#include "adapter/adapter.h"
#include "formats/onnx.h"
#include "fuzz_file.h"

enum { D = 4 };

static size_t count_outputs(const inv_onnx *m)
{
	inv_bytes rest = m->graph;
	size_t count = 0;
	inv_field f;

	while (inv_field_next(&rest, &f) == INV_FIELD)
		count += f.number == ONNX_GRAPH_OUTPUT;
	return count;
}

static void compare(const uint8_t *data, size_t size, const char *made)
{
	inv_onnx before, after;
	inv_onnx_value codes;
	FILE *f = fopen(made, "rb");
	unsigned char *bytes;
	size_t length;

	require(f && fseek(f, 0, SEEK_END) == 0);
	length = (size_t)ftell(f);
	bytes = malloc(length);
	rewind(f);
	require(bytes && fread(bytes, 1, length, f) == length);
	fclose(f);
	require(inv_onnx_view(data, size, "before", &before) == INVAR_OK);
	require(inv_onnx_view(bytes, length, "after", &after) == INVAR_OK);
	require(after.graph.size > before.graph.size);
	require(memcmp(after.graph.data, before.graph.data, before.graph.size) == 0);
	require(count_outputs(&after) == count_outputs(&before) + 1);
	if (!memmem(data, size, "invar/", 6))
		require(inv_onnx_find(&after, "invar/codes", "after", &codes) == INVAR_OK);
	free(bytes);
}

/* What an encoder reads of a model stays within its bytes. */
static void read_as_encoder(const uint8_t *data, size_t size)
{
	char listed[INV_ONNX_LISTED];
	inv_bytes rest, text;
	uint64_t axes[4];
	inv_onnx_value v;
	inv_onnx m;

	if (inv_onnx_view_beside(data, size, "model", &m) != INVAR_OK)
		return;
	if (inv_onnx_inputs(&m, listed, &v))
		inv_onnx_axes(&v, axes, 4);
	if (inv_onnx_outputs(&m, listed))
		inv_onnx_output(&m, NULL, &v);
	for (rest = m.graph; inv_onnx_next_external(&rest, &text);)
		require(text.size == 0 ||
		        (text.data > data && text.data + text.size <= data + size));
	if (inv_onnx_metadata(&m, "invar.input", &text))
		require(text.size == 0 ||
		        (text.data > data && text.data + text.size <= data + size));
}

static void append(const uint8_t *data, size_t size, const char *tensor)
{
	static const float weight[D * D], bias[D];
	char path[FUZZ_PATH], made[2 * FUZZ_PATH];
	int fd = memory_file(data, size, path);
	invar_context *ctx;
	invar_adapter *e;
	invar_options *o;

	snprintf(made, sizeof made, "%s/made.onnx", memory_folder());
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	require(invar_adapter_new(ctx, D, D, D, 1, weight, bias, weight, bias, &e) == INVAR_OK);
	require(invar_options_new("export", &o) == INVAR_OK);
	require(invar_options_set(o, "onto", path) == INVAR_OK);
	if (tensor)
		require(invar_options_set(o, "onto-output", tensor) == INVAR_OK);
	if (invar_adapter_export(e, NULL, o, made) == INVAR_OK)
		compare(data, size, made);
	invar_options_free(o);
	invar_adapter_close(e);
	invar_context_free(ctx);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as_encoder(data, size);
	append(data, size, NULL);
	append(data, size, "features");
	return 0;
}
