/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_graph.h - E as nodes of an ONNX graph.
 *
 *     x W0 + b0, Relu, … W2 + b2, and + x if E is residual
 *
 * A unit adapter has x / Sqrt(x x 1 + tiny) before and after it, with 1 a column of ones:
 * operators that reduce an axis changed with opsets, and this sum did not. tiny, the
 * smallest normal float, keeps rows of zeros at zero.
 *
 * W0 [d, h] and W2 [h, w] are transposed, as MatMul takes them; MatMul and Add work on the
 * last axis of tensors of any number of dimensions, so E can follow an encoder that gives
 * one feature per patch too; maps of one pixel, and what has no known shape, pass through
 * Flatten. All operators mean the same since opset 7. The arithmetic is that of float32:
 * weights in float16 and features of another type pass through Cast.
 */
#ifndef INV_ONNX_GRAPH_H
#define INV_ONNX_GRAPH_H

#include "adapter/adapter.h"
#include "formats/onnx_nodes.h"

typedef struct inv_onnx_place {
	inv_bytes input;    /* the tensor of features */
	const char *output; /* the tensor of codes */
	const char *prefix; /* of all other names */
	bool half;          /* weights in float16 */
	bool constants;   /* weights as Constant nodes: before IR 4, initializers are inputs */
	bool flatten;     /* the features to [n, d] first */
	bool cast;        /* the features are not float32 */
	uint64_t element; /* of the codes: ONNX_FLOAT … */
} inv_onnx_place;

/*
 * Appends fields to a graph. Fails if a weight is too large for float16; missing memory
 * shows in the graph.
 */
invar_status inv_onnx_append_adapter(const invar_adapter *e, const inv_onnx_place *p,
                                     inv_message *graph);
#endif
