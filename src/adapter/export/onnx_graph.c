/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_graph.c - see onnx_graph.h. */
#include "adapter/export/onnx_graph.h"

#include <stdio.h>

enum { NAME = 160 };

/* Weights are called prefix + "0.weight" …; matrices are [in, out], as MatMul takes them.
 */
static invar_status put_weights(const invar_adapter *e, const inv_onnx_place *p,
                                inv_message *graph)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	invar_status st = INVAR_OK;

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS && st == INVAR_OK; i++) {
		const inv_mlp_block *b = &blocks[i];
		bool matrix = b->rank == 2;
		char name[NAME];
		const inv_onnx_floats f = {.name = name,
		                           .x = e->params + b->offset,
		                           .shape = {b->shape[matrix], b->shape[0]},
		                           .rank = b->rank,
		                           .transposed = matrix,
		                           .half = p->half,
		                           .constant = p->constants};

		snprintf(name, sizeof name, "%s%s", p->prefix, b->name);
		st = inv_onnx_put_floats(graph, &f, e->path);
	}
	return st;
}

/* The features as float32 [n, d] or [n, …, d]; `name` is space for the name. */
static inv_bytes put_features(const inv_onnx_place *p, inv_message *graph,
                              char name[2][NAME])
{
	static const inv_onnx_attribute axis[] = {{.name = "axis", .value = {1}, .count = 1},
	                                          {0}};
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

	if (st == INVAR_OK)
		put_steps(e, p, graph);
	return st;
}
