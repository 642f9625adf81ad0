/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_nodes.h - writing the nodes, tensors, inputs and outputs of an ONNX graph. */
#ifndef INV_ONNX_NODES_H
#define INV_ONNX_NODES_H

#include "formats/onnx.h"

enum { INV_ONNX_NDIM = 4 }; /* of tensors that are written */

inv_bytes inv_onnx_name(const char *text); /* views */

/* An attribute: one integer, with `list` several, or with `is_real` one real number. */
typedef struct inv_onnx_attribute {
	const char *name; /* NULL: past the last */
	uint64_t value[INV_ONNX_NDIM];
	size_t count;
	bool list, is_real;
	float real;
} inv_onnx_attribute;

/* The node is called as what it computes. b may be NULL; so may attributes. */
void inv_onnx_put_node(inv_message *graph, const char *operator, inv_bytes a, const char *b,
                       const inv_onnx_attribute *attributes, const char *output);
void inv_onnx_put_cast(inv_message *graph, inv_bytes from, uint64_t element,
                       const char *output);
/* The same with any number of inputs. */
void inv_onnx_put_joined(inv_message *graph, const char *operator,
                         const char * const * inputs, size_t count,
                         const inv_onnx_attribute *attributes, const char *output);

/* A tensor as an input or output of a graph; frees shape. */
void inv_onnx_put_value(inv_message *graph, uint32_t field, const char *name,
                        uint64_t element, inv_message *shape);
/* One axis of a shape: a name, or NULL and a size (0: unknown). */
void inv_onnx_put_axis(inv_message *shape, const char *name, uint64_t size);

/* Numbers of a model, row by row. */
typedef struct inv_onnx_floats {
	const char *name;
	const float *x;
	uint64_t shape[INV_ONNX_NDIM];
	unsigned ndim;
	bool transposed; /* x is [shape[1], shape[0]] */
	bool half;       /* stored as float16 */
	bool constant;   /* as a Constant node; else an initializer */
} inv_onnx_floats;

/*
 * `name` is float32 in any case: with `half`, a Cast follows. Fails if a number is too
 * large for float16; `where` is for that message. Missing memory shows in the graph.
 */
invar_status inv_onnx_put_floats(inv_message *graph, const inv_onnx_floats *f,
                                 const char *where);
/* A list of integers, such as a shape. */
void inv_onnx_put_integers(inv_message *graph, const char *name, const int64_t *x,
                           size_t count);

#endif
