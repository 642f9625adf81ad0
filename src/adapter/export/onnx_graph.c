/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_graph.c - see onnx_graph.h. */
#include "adapter/export/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/dtype.h"

enum { NAME = 160 };

/* ---- Weights ---------------------------------------------------------------------- */

/* Element i of a block as it is stored: matrices transposed. */
static float stored(const inv_mlp_block *b, const float *params, size_t i)
{
	const float *x = params + b->offset;
	size_t rows = b->shape[0], columns = b->rank == 2 ? b->shape[1] : 1;

	return b->rank == 1 ? x[i] : x[i % rows * columns + i / rows];
}

static invar_status fill(const inv_mlp_block *b, const invar_adapter *e, bool half,
                         unsigned char *to)
{
	for (size_t i = 0; i < b->count; i++) {
		float x = stored(b, e->params, i);
		uint16_t h = inv_float_to_half(x);

		if (half && !isfinite(inv_half_to_float(h)))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: a number of %s is %g, too large for float16; use "
			                "@dtype float32",
			                e->path, b->name, x);
		if (half)
			memcpy(to + 2 * i, &h, 2);
		else
			memcpy(to + 4 * i, &x, 4);
	}
	return INVAR_OK;
}

/* A TensorProto. */
static invar_status make_tensor(const inv_mlp_block *b, const invar_adapter *e,
                                const inv_onnx_place *p, const char *name, inv_message *out)
{
	unsigned char *raw;

	for (unsigned i = b->rank; i-- > 0;)
		inv_message_put_number(out, ONNX_TENSOR_DIM, b->shape[i]);
	inv_message_put_number(out, ONNX_TENSOR_TYPE, p->half ? ONNX_FLOAT16 : ONNX_FLOAT);
	inv_message_put_text(out, ONNX_TENSOR_NAME, name);
	raw = inv_message_put_space(out, ONNX_TENSOR_RAW, b->count * (p->half ? 2 : 4));
	return raw ? fill(b, e, p->half, raw)
	           : inv_fail(INVAR_E_NOMEM, "%s: not enough memory to export it", e->path);
}

/* The weights in float32 are called prefix + "0.weight" … */
static invar_status put_weights(const invar_adapter *e, const inv_onnx_place *p,
                                inv_message *graph)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	invar_status st = INVAR_OK;

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS && st == INVAR_OK; i++) {
		char name[NAME], kept[NAME];
		inv_message tensor = {0};

		snprintf(name, sizeof name, "%s%s", p->prefix, blocks[i].name);
		snprintf(kept, sizeof kept, "%s%s%s", p->prefix, blocks[i].name,
		         p->half ? ".float16" : "");
		st = make_tensor(&blocks[i], e, p, kept, &tensor);
		if (st != INVAR_OK)
			inv_message_free(&tensor);
		else if (p->constants)
			inv_onnx_put_constant(graph, &tensor, kept);
		else
			inv_message_put(graph, ONNX_GRAPH_INITIALIZER, &tensor);
		if (p->half)
			inv_onnx_put_cast(graph, inv_onnx_name(kept), ONNX_FLOAT, name);
	}
	return st;
}

/* The features as float32 [n, d] or [n, …, d]; `name` is space for the name. */
static inv_bytes put_features(const inv_onnx_place *p, inv_message *graph,
                              char name[2][NAME])
{
	static const inv_onnx_ints axis[] = {{.name = "axis", .value = {1}, .count = 1}, {0}};
	inv_bytes x = p->input;

	snprintf(name[0], NAME, "%sflat", p->prefix);
	snprintf(name[1], NAME, "%sfeatures", p->prefix);
	if (p->flatten) {
		inv_onnx_put_node(graph, "Flatten", x, NULL, axis, name[0]);
		x = inv_onnx_name(name[0]);
	}
	if (p->cast) {
		inv_onnx_put_cast(graph, x, ONNX_FLOAT, name[1]);
		x = inv_onnx_name(name[1]);
	}
	return x;
}

/* step[i] is what the i-th operator computes; the last computes p->output. */
static void put_steps(const invar_adapter *e, const inv_onnx_place *p, inv_message *graph)
{
	char name[2][NAME], weight[INV_MLP_BLOCKS][NAME], step[6][NAME];
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	bool back = p->element != ONNX_FLOAT; /* a Cast ends it */
	const char *last = back ? step[5] : p->output;
	inv_bytes x = put_features(p, graph, name);

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		snprintf(weight[i], NAME, "%s%s", p->prefix, blocks[i].name);
	for (int i = 0; i < 6; i++)
		snprintf(step[i], NAME, "%sstep%d", p->prefix, i);
	inv_onnx_put_node(graph, "MatMul", x, weight[0], NULL, step[0]);
	inv_onnx_put_node(graph, "Add", inv_onnx_name(step[0]), weight[1], NULL, step[1]);
	inv_onnx_put_node(graph, "Relu", inv_onnx_name(step[1]), NULL, NULL, step[2]);
	inv_onnx_put_node(graph, "MatMul", inv_onnx_name(step[2]), weight[2], NULL, step[3]);
	inv_onnx_put_node(graph, "Add", inv_onnx_name(step[3]), weight[3], NULL,
	                  e->residual ? step[4] : last);
	if (e->residual)
		inv_onnx_put_node(graph, "Add", x, step[4], NULL, last);
	if (back)
		inv_onnx_put_cast(graph, inv_onnx_name(last), p->element, p->output);
}

invar_status inv_onnx_append_adapter(const invar_adapter *e, const inv_onnx_place *p,
                                     inv_message *graph)
{
	invar_status st = put_weights(e, p, graph);

	if (st != INVAR_OK)
		return st;
	put_steps(e, p, graph);
	return graph->failed
	           ? inv_fail(INVAR_E_NOMEM, "%s: not enough memory to export it", e->path)
	           : INVAR_OK;
}
