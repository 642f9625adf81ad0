/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_nodes.c - see onnx_nodes.h. */
#include "formats/onnx_nodes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/dtype.h"

enum { NAME = 200 };

inv_bytes inv_onnx_name(const char *text)
{
	return (inv_bytes){(const unsigned char *)text, strlen(text)};
}

/* ---- Nodes ------------------------------------------------------------------------ */

static void put_attribute(inv_message *node, const inv_onnx_ints *a)
{
	inv_message m = {0};

	inv_message_put_text(&m, ONNX_ATTRIBUTE_NAME, a->name);
	for (size_t i = 0; i < a->count; i++)
		inv_message_put_number(&m, a->list ? ONNX_ATTRIBUTE_INTS : ONNX_ATTRIBUTE_INT,
		                       a->value[i]);
	inv_message_put_number(&m, ONNX_ATTRIBUTE_TYPE,
	                       a->list ? ONNX_ATTRIBUTE_IS_INTS : ONNX_ATTRIBUTE_IS_INT);
	inv_message_put(node, ONNX_NODE_ATTRIBUTE, &m);
}

static void finish_node(inv_message *graph, inv_message *node, const char *operator,
                        const inv_onnx_ints * attributes, const char *output)
{
	inv_message_put_text(node, ONNX_NODE_OUTPUT, output);
	inv_message_put_text(node, ONNX_NODE_NAME, output);
	inv_message_put_text(node, ONNX_NODE_OPERATOR, operator);
	for (; attributes && attributes->name; attributes++)
		put_attribute(node, attributes);
	inv_message_put(graph, ONNX_GRAPH_NODE, node);
}

void inv_onnx_put_node(inv_message *graph, const char *operator, inv_bytes a, const char *b,
                       const inv_onnx_ints *attributes, const char *output)
{
	inv_message node = {0};

	inv_message_put_bytes(&node, ONNX_NODE_INPUT, a.data, a.size);
	if (b)
		inv_message_put_text(&node, ONNX_NODE_INPUT, b);
	finish_node(graph, &node, operator, attributes, output);
}

void inv_onnx_put_joined(inv_message *graph, const char *operator,
                         const char * const * inputs, size_t count,
                         const inv_onnx_ints *attributes, const char *output)
{
	inv_message node = {0};

	for (size_t i = 0; i < count; i++)
		inv_message_put_text(&node, ONNX_NODE_INPUT, inputs[i]);
	finish_node(graph, &node, operator, attributes, output);
}

void inv_onnx_put_cast(inv_message *graph, inv_bytes from, uint64_t element,
                       const char *output)
{
	const inv_onnx_ints to[] = {{.name = "to", .value = {element}, .count = 1}, {0}};

	inv_onnx_put_node(graph, "Cast", from, NULL, to, output);
}

void inv_onnx_put_constant(inv_message *graph, inv_message *tensor, const char *output)
{
	inv_message node = {0}, attribute = {0};

	inv_message_put_text(&attribute, ONNX_ATTRIBUTE_NAME, "value");
	inv_message_put(&attribute, ONNX_ATTRIBUTE_TENSOR, tensor);
	inv_message_put_number(&attribute, ONNX_ATTRIBUTE_TYPE, ONNX_ATTRIBUTE_IS_TENSOR);
	inv_message_put(&node, ONNX_NODE_ATTRIBUTE, &attribute);
	finish_node(graph, &node, "Constant", NULL, output);
}

/* ---- Tensors ---------------------------------------------------------------------- */

static bool fill(const float *x, size_t count, bool half, unsigned char *to)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t h = inv_float_to_half(x[i]);

		if (half && !isfinite(inv_half_to_float(h)))
			return false;
		if (half)
			memcpy(to + 2 * i, &h, 2);
		else
			memcpy(to + 4 * i, &x[i], 4);
	}
	return true;
}

bool inv_onnx_put_floats(inv_message *graph, const char *name, const float *x,
                         const uint64_t *shape, unsigned rank, bool half)
{
	inv_message tensor = {0};
	unsigned char *raw;
	size_t count = 1;
	char kept[NAME];
	bool fits;

	snprintf(kept, sizeof kept, "%.150s%s", name, half ? ".float16" : "");
	for (unsigned i = 0; i < rank; i++) {
		inv_message_put_number(&tensor, ONNX_TENSOR_DIM, shape[i]);
		count *= shape[i];
	}
	inv_message_put_number(&tensor, ONNX_TENSOR_TYPE, half ? ONNX_FLOAT16 : ONNX_FLOAT);
	inv_message_put_text(&tensor, ONNX_TENSOR_NAME, kept);
	raw = inv_message_put_space(&tensor, ONNX_TENSOR_RAW, count * (half ? 2 : 4));
	fits = !raw || fill(x, count, half, raw); /* without memory, the message has failed */
	inv_message_put(graph, ONNX_GRAPH_INITIALIZER, &tensor);
	if (half)
		inv_onnx_put_cast(graph, inv_onnx_name(kept), ONNX_FLOAT, name);
	return fits;
}

/* ---- Inputs and outputs ------------------------------------------------------------- */

void inv_onnx_put_axis(inv_message *shape, const char *name, uint64_t size)
{
	inv_message axis = {0};

	if (name)
		inv_message_put_text(&axis, ONNX_DIM_NAME, name);
	else if (size)
		inv_message_put_number(&axis, ONNX_DIM_VALUE, size);
	inv_message_put(shape, ONNX_SHAPE_DIM, &axis);
}

void inv_onnx_put_value(inv_message *graph, uint32_t field, const char *name,
                        uint64_t element, inv_message *shape)
{
	inv_message value = {0}, type = {0}, tensor = {0};

	inv_message_put_number(&tensor, ONNX_TENSOR_TYPE_ELEMENT, element);
	inv_message_put(&tensor, ONNX_TENSOR_TYPE_SHAPE, shape);
	inv_message_put(&type, ONNX_TYPE_TENSOR, &tensor);
	inv_message_put_text(&value, ONNX_VALUE_NAME, name);
	inv_message_put(&value, ONNX_VALUE_TYPE, &type);
	inv_message_put(graph, field, &value);
}
