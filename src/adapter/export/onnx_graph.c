/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_graph.c - see onnx_graph.h. */
#include "adapter/export/onnx_graph.h"

#include <float.h>
#include <stdio.h>

enum { NAME = 160 };

/* Weights are called prefix + "0.weight" …; matrices are [in, out], as MatMul takes them.
 */
static invar_status put_weights(const invar_adapter *e, const inv_onnx_place *p,
                                inv_message *graph)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++) {
		const inv_mlp_block *b = &blocks[i];
		bool matrix = b->ndim == 2;
		char name[NAME];
		const inv_onnx_floats f = {.name = name,
		                           .x = e->params + b->offset,
		                           .shape = {b->shape[matrix], b->shape[0]},
		                           .ndim = b->ndim,
		                           .transposed = matrix,
		                           .half = p->half,
		                           .constant = p->constants};

		snprintf(name, sizeof name, "%s%s", p->prefix, b->name);
		INV_TRY(inv_onnx_put_floats(graph, &f, e->path));
	}
	return INVAR_OK;
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

/* The constants of unit rows: ones [width, 1], called prefix + "ones" or "ones.codes". */
static invar_status put_ones(const invar_adapter *e, const inv_onnx_place *p,
                             const char *called, size_t width, inv_message *graph)
{
	char name[NAME];
	inv_onnx_floats ones = {
		.name = name, .shape = {width, 1}, .ndim = 2, .constant = p->constants};
	invar_status st;
	float *one;

	INV_TRY(inv_new_array(&one, width));
	for (size_t i = 0; i < width; i++)
		one[i] = 1;
	ones.x = one;
	snprintf(name, sizeof name, "%s%s", p->prefix, called);
	st = inv_onnx_put_floats(graph, &ones, e->path);
	inv_free(one);
	return st;
}

static invar_status put_unit_constants(const invar_adapter *e, const inv_onnx_place *p,
                                       inv_message *graph)
{
	static const float tiny = FLT_MIN;
	char name[NAME];
	const inv_onnx_floats least = {
		.name = name, .x = &tiny, .shape = {1}, .ndim = 1, .constant = p->constants};

	INV_TRY(put_ones(e, p, "ones", e->s.d, graph));
	if (e->s.w != e->s.d)
		INV_TRY(put_ones(e, p, "ones.codes", e->s.w, graph));
	snprintf(name, sizeof name, "%stiny", p->prefix);
	return inv_onnx_put_floats(graph, &least, e->path);
}

/* output = x / |x|. Abs gives x a name of ours, whatever the foreign one is. */
static void put_unit(const inv_onnx_place *p, inv_bytes x, const char *called,
                     const char *ones, const char *output, inv_message *graph)
{
	static const char *const last[] = {"size", "square", "sum", "positive", "norm"};
	char step[5][NAME], column[NAME], tiny[NAME];

	for (int i = 0; i < 5; i++)
		snprintf(step[i], NAME, "%s%s.%s", p->prefix, called, last[i]);
	snprintf(column, NAME, "%s%s", p->prefix, ones);
	snprintf(tiny, NAME, "%stiny", p->prefix);
	inv_onnx_put_node(graph, "Abs", x, NULL, NULL, step[0]);
	inv_onnx_put_node(graph, "Mul", inv_onnx_name(step[0]), step[0], NULL, step[1]);
	inv_onnx_put_node(graph, "MatMul", inv_onnx_name(step[1]), column, NULL, step[2]);
	inv_onnx_put_node(graph, "Add", inv_onnx_name(step[2]), tiny, NULL, step[3]);
	inv_onnx_put_node(graph, "Sqrt", inv_onnx_name(step[3]), NULL, NULL, step[4]);
	inv_onnx_put_node(graph, "Div", x, step[4], NULL, output);
}

/*
 * step[i] is what the i-th operator computes; the last computes p->output. A unit adapter
 * has two more names: features and codes of norm 1.
 */
static void put_steps(const invar_adapter *e, const inv_onnx_place *p, inv_message *graph)
{
	char name[2][NAME], weight[INV_MLP_BLOCKS][NAME], step[6][NAME], unit[2][NAME];
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	bool back = p->element != ONNX_FLOAT; /* a Cast ends it */
	const char *last = back ? unit[1] : p->output;
	const char *code = e->unit ? step[5] : last; /* before it is normalised */
	inv_bytes x = put_features(p, graph, name);

	inv_mlp_layout(e->s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS; i++)
		snprintf(weight[i], NAME, "%s%s", p->prefix, blocks[i].name);
	for (int i = 0; i < 6; i++)
		snprintf(step[i], NAME, "%sstep%d", p->prefix, i);
	snprintf(unit[0], NAME, "%sunit", p->prefix);
	snprintf(unit[1], NAME, e->unit ? "%sunit.codes" : "%sstep5", p->prefix);
	if (e->unit) {
		put_unit(p, x, "features", "ones", unit[0], graph);
		x = inv_onnx_name(unit[0]);
	}
	inv_onnx_put_node(graph, "MatMul", x, weight[0], NULL, step[0]);
	inv_onnx_put_node(graph, "Add", inv_onnx_name(step[0]), weight[1], NULL, step[1]);
	inv_onnx_put_node(graph, "Relu", inv_onnx_name(step[1]), NULL, NULL, step[2]);
	inv_onnx_put_node(graph, "MatMul", inv_onnx_name(step[2]), weight[2], NULL, step[3]);
	inv_onnx_put_node(graph, "Add", inv_onnx_name(step[3]), weight[3], NULL,
	                  e->residual ? step[4] : code);
	if (e->residual)
		inv_onnx_put_node(graph, "Add", x, step[4], NULL, code);
	if (e->unit)
		put_unit(p, inv_onnx_name(code), "codes", e->s.w == e->s.d ? "ones" : "ones.codes",
		         last, graph);
	if (back)
		inv_onnx_put_cast(graph, inv_onnx_name(last), p->element, p->output);
}

invar_status inv_onnx_append_adapter(const invar_adapter *e, const inv_onnx_place *p,
                                     inv_message *graph)
{
	INV_TRY(put_weights(e, p, graph));
	if (e->unit)
		INV_TRY(put_unit_constants(e, p, graph));
	put_steps(e, p, graph);
	return INVAR_OK;
}
