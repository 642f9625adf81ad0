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

static void put_attribute(inv_message *node, const inv_onnx_attribute *a)
{
	inv_message m = {0};
	unsigned char bytes[4];
	unsigned kind = a->is_real ? ONNX_ATTRIBUTE_IS_FLOAT
	                : a->list  ? ONNX_ATTRIBUTE_IS_INTS
	                           : ONNX_ATTRIBUTE_IS_INT;

	inv_message_put_text(&m, ONNX_ATTRIBUTE_NAME, a->name);
	if (a->is_real) {
		memcpy(bytes, &a->real, sizeof bytes); /* little-endian, as this machine is */
		inv_message_put_fixed(&m, ONNX_ATTRIBUTE_FLOAT, bytes);
	}
	for (size_t i = 0; i < a->count; i++)
		inv_message_put_number(&m, a->list ? ONNX_ATTRIBUTE_INTS : ONNX_ATTRIBUTE_INT,
		                       a->value[i]);
	inv_message_put_number(&m, ONNX_ATTRIBUTE_TYPE, kind);
	inv_message_put(node, ONNX_NODE_ATTRIBUTE, &m);
}

static void finish_node(inv_message *graph, inv_message *node, const char *operator,
                        const inv_onnx_attribute * attributes, const char *output)
{
	inv_message_put_text(node, ONNX_NODE_OUTPUT, output);
	inv_message_put_text(node, ONNX_NODE_NAME, output);
	inv_message_put_text(node, ONNX_NODE_OPERATOR, operator);
	for (; attributes && attributes->name; attributes++)
		put_attribute(node, attributes);
	inv_message_put(graph, ONNX_GRAPH_NODE, node);
}

void inv_onnx_put_node(inv_message *graph, const char *operator, inv_bytes a, const char *b,
                       const inv_onnx_attribute *attributes, const char *output)
{
	inv_message node = {0};

	inv_message_put_bytes(&node, ONNX_NODE_INPUT, a.data, a.size);
	if (b)
		inv_message_put_text(&node, ONNX_NODE_INPUT, b);
	finish_node(graph, &node, operator, attributes, output);
}

void inv_onnx_put_joined(inv_message *graph, const char *operator,
                         const char * const * inputs, size_t count,
                         const inv_onnx_attribute *attributes, const char *output)
{
	inv_message node = {0};

	for (size_t i = 0; i < count; i++)
		inv_message_put_text(&node, ONNX_NODE_INPUT, inputs[i]);
	finish_node(graph, &node, operator, attributes, output);
}

void inv_onnx_put_cast(inv_message *graph, inv_bytes from, uint64_t element,
                       const char *output)
{
	const inv_onnx_attribute to[] = {{.name = "to", .value = {element}, .count = 1}, {0}};

	inv_onnx_put_node(graph, "Cast", from, NULL, to, output);
}

/* A tensor as a Constant; frees it. */
static void put_constant(inv_message *graph, inv_message *tensor, const char *output)
{
	inv_message node = {0}, attribute = {0};

	inv_message_put_text(&attribute, ONNX_ATTRIBUTE_NAME, "value");
	inv_message_put(&attribute, ONNX_ATTRIBUTE_TENSOR, tensor);
	inv_message_put_number(&attribute, ONNX_ATTRIBUTE_TYPE, ONNX_ATTRIBUTE_IS_TENSOR);
	inv_message_put(&node, ONNX_NODE_ATTRIBUTE, &attribute);
	finish_node(graph, &node, "Constant", NULL, output);
}

/* ---- Tensors ---------------------------------------------------------------------- */

static void begin_tensor(inv_message *m, const char *name, uint64_t type,
                         const uint64_t *shape, unsigned ndim)
{
	for (unsigned i = 0; i < ndim; i++)
		inv_message_put_number(m, ONNX_TENSOR_DIM, shape[i]);
	inv_message_put_number(m, ONNX_TENSOR_TYPE, type);
	inv_message_put_text(m, ONNX_TENSOR_NAME, name);
}

invar_status inv_onnx_put_floats(inv_message *graph, const inv_onnx_floats *f,
                                 const char *where)
{
	inv_message tensor = {0};
	invar_status st = INVAR_OK;
	unsigned char *raw;
	size_t count = 1;
	char stored[NAME];

	snprintf(stored, sizeof stored, "%.150s%s", f->name, f->half ? ".float16" : "");
	for (unsigned i = 0; i < f->ndim; i++)
		count *= (size_t)f->shape[i];
	begin_tensor(&tensor, stored, f->half ? ONNX_FLOAT16 : ONNX_FLOAT, f->shape, f->ndim);
	raw = inv_message_put_space(&tensor, ONNX_TENSOR_RAW, count * (f->half ? 2 : 4));
	for (size_t i = 0; raw && st == INVAR_OK && i < count; i++) {
		size_t columns = f->transposed ? (size_t)f->shape[1] : 1;
		float x =
			f->transposed ? f->x[i % columns * (size_t)f->shape[0] + i / columns] : f->x[i];
		uint16_t h = inv_float_to_half(x);

		if (!f->half)
			memcpy(raw + 4 * i, &x, 4);
		else if (isfinite(inv_half_to_float(h)))
			memcpy(raw + 2 * i, &h, 2);
		else
			st = inv_fail(INVAR_E_NUMERIC,
			              "%s: a number of %s is %g, too large for float16; use @dtype "
			              "float32",
			              where, f->name, x);
	}
	if (f->constant)
		put_constant(graph, &tensor, stored);
	else
		inv_message_put(graph, ONNX_GRAPH_INITIALIZER, &tensor);
	if (f->half)
		inv_onnx_put_cast(graph, inv_onnx_name(stored), ONNX_FLOAT, f->name);
	return st;
}

void inv_onnx_put_integers(inv_message *graph, const char *name, const int64_t *x,
                           size_t count)
{
	const uint64_t shape[1] = {count};
	inv_message tensor = {0};
	unsigned char *raw;

	begin_tensor(&tensor, name, ONNX_INT64, shape, 1);
	raw = inv_message_put_space(&tensor, ONNX_TENSOR_RAW, 8 * count);
	for (size_t i = 0; raw && i < 8 * count; i++)
		raw[i] = (unsigned char)((uint64_t)x[i / 8] >> i % 8 * 8);
	inv_message_put(graph, ONNX_GRAPH_INITIALIZER, &tensor);
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
