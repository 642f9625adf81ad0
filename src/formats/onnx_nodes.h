/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_nodes.h - nodes, tensors, inputs and outputs of an ONNX graph, as they are written.
 */
#ifndef INV_ONNX_NODES_H
#define INV_ONNX_NODES_H

#include "formats/onnx.h"

inv_bytes inv_onnx_name(const char *text); /* views */

/* An attribute of integers: one, or with `list` several. */
typedef struct inv_onnx_ints {
	const char *name; /* NULL: past the last */
	uint64_t value[4];
	size_t count;
	bool list;
} inv_onnx_ints;

/* The node is called as what it computes. b may be NULL; so may attributes. */
void inv_onnx_put_node(inv_message *graph, const char *operator, inv_bytes a, const char *b,
                       const inv_onnx_ints *attributes, const char *output);
void inv_onnx_put_cast(inv_message *graph, inv_bytes from, uint64_t element,
                       const char *output);
/* The same with any number of inputs. */
void inv_onnx_put_joined(inv_message *graph, const char *operator,
                         const char * const * inputs, size_t count,
                         const inv_onnx_ints *attributes, const char *output);
/* A tensor as a Constant; frees it. */
void inv_onnx_put_constant(inv_message *graph, inv_message *tensor, const char *output);

/* A tensor as an input or output of a graph; frees shape. */
void inv_onnx_put_value(inv_message *graph, uint32_t field, const char *name,
                        uint64_t element, inv_message *shape);
/* One axis of a shape: a name, or NULL and a size (0: unknown). */
void inv_onnx_put_axis(inv_message *shape, const char *name, uint64_t size);

/*
 * Numbers as an initializer `name`, in float32; or with `half` in float16, followed by a
 * Cast to float32, so that `name` is float32 in any case. False if one is too large for
 * float16.
 */
bool inv_onnx_put_floats(inv_message *graph, const char *name, const float *x,
                         const uint64_t *shape, unsigned rank, bool half);

#endif
