/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.h - the parts of the ONNX schema that are written, and foreign models as views.
 *
 * A foreign model is not loaded into objects: it is checked field by field, and what is
 * needed to append nodes to it is noted as views of its bytes. Everything else is copied
 * as it is, so that nothing of a model can get lost that this program does not know.
 *
 * Invariants of what is accepted:
 *   1. At most INV_MESSAGE_MAX bytes, the limit of protocol buffers.
 *   2. Every message down to nodes, attributes, subgraphs and tensors is well formed
 *      (protobuf.h); subgraphs are nested at most INV_ONNX_DEPTH deep.
 *   3. One graph; one version of the default operators, at least INV_ONNX_OLDEST: Add
 *      broadcasts since then as it does today.
 *   4. No tensor keeps its data in another file, as that file would not be copied;
 *      inv_onnx_view_beside accepts it.
 */
#ifndef INV_ONNX_H
#define INV_ONNX_H

#include "formats/protobuf.h"

enum { INV_ONNX_DEPTH = 16, INV_ONNX_OLDEST = 7 };

/* Field numbers, by message. */
enum {
	ONNX_MODEL_IR = 1,
	ONNX_MODEL_PRODUCER = 2,
	ONNX_MODEL_PRODUCER_VERSION = 3,
	ONNX_MODEL_GRAPH = 7,
	ONNX_MODEL_OPSET = 8,
	ONNX_MODEL_METADATA = 14,
	ONNX_MODEL_TRAINING = 20,
	ONNX_MODEL_FUNCTION = 25,
	ONNX_OPSET_DOMAIN = 1,
	ONNX_OPSET_VERSION = 2,
	ONNX_ENTRY_KEY = 1,
	ONNX_ENTRY_VALUE = 2,
	ONNX_GRAPH_NODE = 1,
	ONNX_GRAPH_NAME = 2,
	ONNX_GRAPH_INITIALIZER = 5,
	ONNX_GRAPH_INPUT = 11,
	ONNX_GRAPH_OUTPUT = 12,
	ONNX_GRAPH_VALUE = 13,
	ONNX_GRAPH_SPARSE = 15,
	ONNX_SPARSE_VALUES = 1,
	ONNX_SPARSE_INDICES = 2,
	ONNX_FUNCTION_NODE = 7,
	ONNX_FUNCTION_ATTRIBUTE = 11,
	ONNX_NODE_INPUT = 1,
	ONNX_NODE_OUTPUT = 2,
	ONNX_NODE_NAME = 3,
	ONNX_NODE_OPERATOR = 4,
	ONNX_NODE_ATTRIBUTE = 5,
	ONNX_ATTRIBUTE_NAME = 1,
	ONNX_ATTRIBUTE_FLOAT = 2,
	ONNX_ATTRIBUTE_INT = 3,
	ONNX_ATTRIBUTE_TENSOR = 5,
	ONNX_ATTRIBUTE_GRAPH = 6,
	ONNX_ATTRIBUTE_INTS = 8,
	ONNX_ATTRIBUTE_TENSORS = 10,
	ONNX_ATTRIBUTE_GRAPHS = 11,
	ONNX_ATTRIBUTE_TYPE = 20,
	ONNX_ATTRIBUTE_SPARSE = 22,
	ONNX_ATTRIBUTE_SPARSES = 23,
	ONNX_TENSOR_DIM = 1,
	ONNX_TENSOR_TYPE = 2,
	ONNX_TENSOR_NAME = 8,
	ONNX_TENSOR_RAW = 9,
	ONNX_TENSOR_EXTERNAL = 13,
	ONNX_TENSOR_LOCATION = 14,
	ONNX_VALUE_NAME = 1,
	ONNX_VALUE_TYPE = 2,
	ONNX_TYPE_TENSOR = 1,
	ONNX_TENSOR_TYPE_ELEMENT = 1,
	ONNX_TENSOR_TYPE_SHAPE = 2,
	ONNX_SHAPE_DIM = 1,
	ONNX_DIM_VALUE = 1,
	ONNX_DIM_NAME = 2
};

/* Number types of tensors; kinds of attributes. */
enum {
	ONNX_FLOAT = 1,
	ONNX_INT64 = 7,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_BFLOAT16 = 16
};
enum {
	ONNX_ATTRIBUTE_IS_FLOAT = 1,
	ONNX_ATTRIBUTE_IS_INT = 2,
	ONNX_ATTRIBUTE_IS_TENSOR = 4,
	ONNX_ATTRIBUTE_IS_INTS = 7
};

typedef struct inv_onnx {
	inv_bytes bytes;       /* the file */
	inv_bytes graph;       /* the fields of its graph */
	inv_bytes graph_field; /* the same with tag and length */
	uint64_t ir, opset;
} inv_onnx;

/* Checks a model; views the bytes. `name` is for messages. */
invar_status inv_onnx_view(const unsigned char *bytes, uint64_t size, const char *name,
                           inv_onnx *out);

/* The same for a model that is run where it is: tensors may keep their data in other files.
 */
invar_status inv_onnx_view_beside(const unsigned char *bytes, uint64_t size,
                                  const char *name, inv_onnx *out);
/*
 * The next tensor with data in another file, and the name of that file, which may be
 * hostile; false past the last. *rest starts as m->graph.
 */
bool inv_onnx_next_external(inv_bytes *rest, inv_bytes *file);

/* A tensor of a graph, as far as the model describes it. */
typedef struct inv_onnx_value {
	inv_bytes name;
	uint64_t element; /* ONNX_FLOAT …; 0: unknown */
	inv_bytes shape;  /* the fields of its shape */
	bool has_shape;
	unsigned ndim;  /* if there is a shape */
	uint64_t width; /* of the last axis; 0: unknown */
	/* Maps of one pixel, [n, d, 1, 1]: d; else 0. */
	uint64_t pixel_width;
} inv_onnx_value;

/*
 * An output of the graph by its name, or the only one with NULL; or what a node computes.
 * Fails, and lists the outputs, if there is no such tensor.
 */
invar_status inv_onnx_find(const inv_onnx *m, const char *wanted, const char *name,
                           inv_onnx_value *out);
/* Sizes of the axes; 0: free, or the axis does not exist. */
void inv_onnx_axes(const inv_onnx_value *v, uint64_t *size, unsigned count);

enum { INV_ONNX_LISTED = 300 };
/*
 * The names of the outputs, or of the inputs that are not stored in the model, as "a, b",
 * shortened; returns their number..
 */
size_t inv_onnx_outputs(const inv_onnx *m, char out[INV_ONNX_LISTED]);
size_t inv_onnx_inputs(const inv_onnx *m, char out[INV_ONNX_LISTED], inv_onnx_value *first);
/* An output of the graph by its name, or the first with NULL; false if there is none. */
bool inv_onnx_output(const inv_onnx *m, const char *wanted, inv_onnx_value *out);

/* What the model's metadata has under this key; false if nothing. */
bool inv_onnx_metadata(const inv_onnx *m, const char *key, inv_bytes *value);
bool inv_onnx_has_key(const inv_onnx *m, const char *key);

#endif
