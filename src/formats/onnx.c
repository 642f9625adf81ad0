/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.c - see onnx.h. First the whole model is checked, then it is searched.
 */
#include "formats/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- Checking --------------------------------------------------------------------- */

/* What a message consists of: the fields that are messages themselves, and their kinds. */
typedef enum kind { NODE, ATTRIBUTE, GRAPH, TENSOR, SPARSE, FUNCTION, TRAINING, LEAF } kind;

typedef struct member {
	uint32_t field;
	kind kind;
} member;

enum { MEMBERS = 7 };

static const member members[][MEMBERS] = {
	[NODE] = {{ONNX_NODE_ATTRIBUTE, ATTRIBUTE}},
	[ATTRIBUTE] = {{ONNX_ATTRIBUTE_TENSOR, TENSOR},
                   {ONNX_ATTRIBUTE_TENSORS, TENSOR},
                   {ONNX_ATTRIBUTE_GRAPH, GRAPH},
                   {ONNX_ATTRIBUTE_GRAPHS, GRAPH},
                   {ONNX_ATTRIBUTE_SPARSE, SPARSE},
                   {ONNX_ATTRIBUTE_SPARSES, SPARSE}},
	[GRAPH] = {{ONNX_GRAPH_NODE, NODE},
               {ONNX_GRAPH_INITIALIZER, TENSOR},
               {ONNX_GRAPH_SPARSE, SPARSE},
               {ONNX_GRAPH_INPUT, LEAF},
               {ONNX_GRAPH_OUTPUT, LEAF},
               {ONNX_GRAPH_VALUE, LEAF}},
	[TENSOR] = {{0}},
	[SPARSE] = {{ONNX_SPARSE_VALUES, TENSOR}, {ONNX_SPARSE_INDICES, TENSOR}},
	[FUNCTION] = {{ONNX_FUNCTION_NODE, NODE}, {ONNX_FUNCTION_ATTRIBUTE, ATTRIBUTE}},
	[TRAINING] = {{1, GRAPH}, {2, GRAPH}},
	[LEAF] = {{0}},
};

static invar_status fail_broken(const char *name)
{
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is not an ONNX model, or is truncated: a field does not fit in "
	                "its message",
	                name);
}

/* depth counts graphs: a message can contain itself only through a graph. */
static invar_status check_fields(inv_bytes rest, kind k, unsigned depth, const char *name,
                                 bool beside)
{
	inv_field f;
	inv_field_status found;

	if (depth > INV_ONNX_DEPTH)
		return inv_fail(INVAR_E_FORMAT, "%s: its graphs are nested more than %d deep", name,
		                INV_ONNX_DEPTH);
	while ((found = inv_field_next(&rest, &f)) != INV_FIELD_END) {
		const member *m = members[k];

		while (m < members[k] + MEMBERS && m->field && m->field != f.number)
			m++;
		if (m == members[k] + MEMBERS || !m->field)
			m = NULL;
		if (found == INV_FIELD_BROKEN || (m && f.kind != INV_WIRE_BYTES))
			return fail_broken(name);
		if (!beside && k == TENSOR &&
		    (f.number == ONNX_TENSOR_EXTERNAL ||
		     (f.number == ONNX_TENSOR_LOCATION && f.value != 0)))
			return inv_fail(INVAR_E_FORMAT,
			                "%s: keeps weights in another file; save it as one file first "
			                "(onnx.save without save_as_external_data)",
			                name);
		if (m)
			INV_TRY(
				check_fields(f.part, m->kind, depth + (m->kind == GRAPH), name, beside));
	}
	return INVAR_OK;
}

static invar_status take_field(inv_onnx *m, const inv_field *f, const char *name,
                               bool beside)
{
	bool message = f->kind == INV_WIRE_BYTES, is_default = true;
	inv_bytes rest = f->part;
	uint64_t version = 0;
	inv_field_status found;
	inv_field g;

	switch (f->number) {
	case ONNX_MODEL_IR:
		m->ir = f->value;
		return INVAR_OK;
	case ONNX_MODEL_GRAPH:
		if (!message)
			return fail_broken(name);
		if (m->graph_field.data)
			return inv_fail(INVAR_E_FORMAT, "%s: has more than one graph", name);
		m->graph = f->part;
		m->graph_field = f->whole;
		return check_fields(f->part, GRAPH, 1, name, beside);
	case ONNX_MODEL_OPSET:
		/* The version of the default operators, whose domain is "" or "ai.onnx". */
		while ((found = inv_field_next(&rest, &g)) == INV_FIELD) {
			if (g.number == ONNX_OPSET_DOMAIN)
				is_default = g.part.size == 0 || inv_bytes_are(g.part, "ai.onnx");
			if (g.number == ONNX_OPSET_VERSION)
				version = g.value;
		}
		if (!message || found == INV_FIELD_BROKEN)
			return fail_broken(name);
		if (is_default && m->opset)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: names two versions of the default operators", name);
		if (is_default)
			m->opset = version;
		return INVAR_OK;
	case ONNX_MODEL_FUNCTION:
		return message ? check_fields(f->part, FUNCTION, 1, name, beside)
		               : fail_broken(name);
	case ONNX_MODEL_TRAINING:
		return message ? check_fields(f->part, TRAINING, 0, name, beside)
		               : fail_broken(name);
	default:
		return INVAR_OK;
	}
}

static invar_status view_model(const unsigned char *bytes, uint64_t size, const char *name,
                               bool beside, inv_onnx *out)
{
	inv_bytes rest = {bytes, (size_t)size};
	inv_field_status found;
	inv_field f;

	*out = (inv_onnx){.bytes = rest};
	if (size > INV_MESSAGE_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %" PRIu64 " bytes, but an ONNX file can have at most 2 GB",
		                name, size);
	while ((found = inv_field_next(&rest, &f)) != INV_FIELD_END)
		INV_TRY(found == INV_FIELD_BROKEN ? fail_broken(name)
		                                  : take_field(out, &f, name, beside));

	if (!out->ir || !out->graph_field.data)
		return inv_fail(INVAR_E_FORMAT, "%s: is not an ONNX model: it has no %s", name,
		                out->ir ? "graph" : "version");
	if (!out->opset)
		return inv_fail(INVAR_E_FORMAT, "%s: does not say which operators it uses (opset)",
		                name);
	if (out->opset < INV_ONNX_OLDEST)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: uses opset %" PRIu64 "; convert it to %d or later first "
		                "(onnx.version_converter)",
		                name, out->opset, INV_ONNX_OLDEST);
	return INVAR_OK;
}

invar_status inv_onnx_view(const unsigned char *bytes, uint64_t size, const char *name,
                           inv_onnx *out)
{
	return view_model(bytes, size, name, false, out);
}

invar_status inv_onnx_view_beside(const unsigned char *bytes, uint64_t size,
                                  const char *name, inv_onnx *out)
{
	return view_model(bytes, size, name, true, out);
}

/* ---- Searching -------------------------------------------------------------------- */

/* The first field of this number, of bytes; the last counts in protocol buffers, but no
 * writer repeats it. */
static bool find_part(inv_bytes message, uint32_t number, inv_bytes *out)
{
	inv_field f;

	while (inv_field_next(&message, &f) == INV_FIELD)
		if (f.number == number && f.kind == INV_WIRE_BYTES) {
			*out = f.part;
			return true;
		}
	return false;
}

static uint64_t find_number(inv_bytes message, uint32_t number)
{
	inv_field f;

	while (inv_field_next(&message, &f) == INV_FIELD)
		if (f.number == number && f.kind == INV_WIRE_NUMBER)
			return f.value;
	return 0;
}

/* From a ValueInfoProto; *is_tensor stays true if its type is unknown. */
static void describe_value(inv_bytes info, inv_onnx_value *out, bool *is_tensor)
{
	inv_bytes type, tensor, rest;
	uint64_t second = 0;
	bool ones = true;
	inv_field f;

	*out = (inv_onnx_value){0};
	*is_tensor = true;
	find_part(info, ONNX_VALUE_NAME, &out->name);
	if (!find_part(info, ONNX_VALUE_TYPE, &type) || !type.size)
		return;
	*is_tensor = find_part(type, ONNX_TYPE_TENSOR, &tensor);
	if (!*is_tensor)
		return;
	out->element = find_number(tensor, ONNX_TENSOR_TYPE_ELEMENT);
	out->has_shape = find_part(tensor, ONNX_TENSOR_TYPE_SHAPE, &out->shape);
	if (!out->has_shape)
		return;
	for (rest = out->shape; inv_field_next(&rest, &f) == INV_FIELD;)
		if (f.number == ONNX_SHAPE_DIM && f.kind == INV_WIRE_BYTES) {
			out->width = find_number(f.part, ONNX_DIM_VALUE);
			if (out->ndim == 1)
				second = out->width;
			ones = ones && (out->ndim < 2 || out->width == 1);
			out->ndim++;
		}
	out->pixel_width = out->ndim > 2 && ones ? second : 0;
}

/* Appends a name to "a, b"; what does not fit is left out. */
static void list_name(char out[INV_ONNX_LISTED], inv_bytes name)
{
	size_t used = strlen(out);

	snprintf(out + used, INV_ONNX_LISTED - used, "%s%.*s", used ? ", " : "",
	         (int)(name.size < 60 ? name.size : 60),
	         name.size ? (const char *)name.data : "");
}

size_t inv_onnx_outputs(const inv_onnx *m, char out[INV_ONNX_LISTED])
{
	inv_bytes rest = m->graph, name;
	size_t count = 0;
	inv_field f;

	out[0] = '\0';
	while (inv_field_next(&rest, &f) == INV_FIELD) {
		if (f.number != ONNX_GRAPH_OUTPUT)
			continue;
		name = (inv_bytes){0};
		find_part(f.part, ONNX_VALUE_NAME, &name);
		list_name(out, name);
		count++;
	}
	return count;
}

/* Among the outputs (or value_info) of the graph; wanted NULL: the first. */
static bool find_described(const inv_onnx *m, uint32_t number, const char *wanted,
                           inv_onnx_value *out, bool *is_tensor)
{
	inv_bytes rest = m->graph;
	inv_field f;

	while (inv_field_next(&rest, &f) == INV_FIELD)
		if (f.number == number) {
			describe_value(f.part, out, is_tensor);
			if (!wanted || inv_bytes_are(out->name, wanted))
				return true;
		}
	return false;
}

static invar_status find_computed(const inv_onnx *m, const char *wanted, const char *name,
                                  inv_onnx_value *out, bool *is_tensor)
{
	inv_bytes rest = m->graph, node, computed = {0};
	char listed[INV_ONNX_LISTED];
	inv_field f, g;

	while (*wanted && !computed.size && inv_field_next(&rest, &f) == INV_FIELD)
		for (node = f.part; f.number == ONNX_GRAPH_NODE && !computed.size &&
		                    inv_field_next(&node, &g) == INV_FIELD;)
			if (g.number == ONNX_NODE_OUTPUT && inv_bytes_are(g.part, wanted))
				computed = g.part;
	if (!computed.size) {
		inv_onnx_outputs(m, listed);
		return inv_fail(INVAR_E_USE, "%s: computes no tensor '%.200s'; its outputs are %s",
		                name, wanted, listed);
	}
	if (!find_described(m, ONNX_GRAPH_VALUE, wanted, out, is_tensor)) {
		*out = (inv_onnx_value){0};
		*is_tensor = true;
	}
	out->name = computed;
	return INVAR_OK;
}

static bool same_name(inv_bytes a, inv_bytes b)
{
	return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

/* Does a node, a stored tensor or an input of the graph give the tensor of this name? */
static bool is_given(const inv_onnx *m, inv_bytes wanted)
{
	inv_bytes rest = m->graph, part, text;
	inv_field f, g;

	while (inv_field_next(&rest, &f) == INV_FIELD) {
		text = (inv_bytes){0};
		part = f.part;
		if (f.number == ONNX_GRAPH_NODE) {
			while (inv_field_next(&part, &g) == INV_FIELD)
				if (g.number == ONNX_NODE_OUTPUT && same_name(g.part, wanted))
					return true;
		} else if (f.number == ONNX_GRAPH_INPUT) {
			find_part(part, ONNX_VALUE_NAME, &text);
		} else if (f.number == ONNX_GRAPH_INITIALIZER ||
		           (f.number == ONNX_GRAPH_SPARSE &&
		            find_part(part, ONNX_SPARSE_VALUES, &part))) {
			find_part(part, ONNX_TENSOR_NAME, &text);
		}
		if (text.size && same_name(text, wanted))
			return true;
	}
	return false;
}

invar_status inv_onnx_find(const inv_onnx *m, const char *wanted, const char *name,
                           inv_onnx_value *out)
{
	char listed[INV_ONNX_LISTED];
	size_t count = inv_onnx_outputs(m, listed);
	bool is_tensor = true;

	if (!wanted && count != 1)
		return inv_fail(INVAR_E_USE, "%s: has %zu %s (%s); choose one with @onto-output",
		                name, count, inv_noun(count, "output", "outputs"), listed);
	if (!find_described(m, ONNX_GRAPH_OUTPUT, wanted, out, &is_tensor))
		INV_TRY(find_computed(m, wanted, name, out, &is_tensor));
	if (!out->name.size)
		return inv_fail(INVAR_E_FORMAT, "%s: its output has no name", name);
	if (!is_given(m, out->name))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: no node computes its output '%.*s'; export the model again",
		                name, (int)(out->name.size < 200 ? out->name.size : 200),
		                out->name.data);
	if (!is_tensor)
		return inv_fail(INVAR_E_MISMATCH, "%s: '%.*s' is not a tensor", name,
		                (int)(out->name.size < 200 ? out->name.size : 200), out->name.data);
	return INVAR_OK;
}

bool inv_onnx_output(const inv_onnx *m, const char *wanted, inv_onnx_value *out)
{
	bool is_tensor;

	return find_described(m, ONNX_GRAPH_OUTPUT, wanted, out, &is_tensor) && is_tensor;
}

size_t inv_onnx_inputs(const inv_onnx *m, char out[INV_ONNX_LISTED], inv_onnx_value *first)
{
	inv_bytes rest = m->graph, others, text;
	inv_onnx_value v;
	size_t count = 0;
	bool is_tensor, stored;
	inv_field f, g;

	out[0] = '\0';
	*first = (inv_onnx_value){0};
	while (inv_field_next(&rest, &f) == INV_FIELD) {
		if (f.number != ONNX_GRAPH_INPUT)
			continue;
		describe_value(f.part, &v, &is_tensor);
		/* Before IR 4 every stored tensor is an input as well. */
		stored = false;
		for (others = m->graph; !stored && inv_field_next(&others, &g) == INV_FIELD;)
			stored = g.number == ONNX_GRAPH_INITIALIZER &&
			         find_part(g.part, ONNX_TENSOR_NAME, &text) && same_name(text, v.name);
		if (stored)
			continue;
		list_name(out, v.name);
		if (count++ == 0)
			*first = v;
	}
	return count;
}

void inv_onnx_axes(const inv_onnx_value *v, uint64_t *size, unsigned count)
{
	inv_bytes rest = v->shape;
	unsigned axis = 0;
	inv_field f;

	memset(size, 0, count * sizeof *size);
	while (axis < count && inv_field_next(&rest, &f) == INV_FIELD)
		if (f.number == ONNX_SHAPE_DIM && f.kind == INV_WIRE_BYTES) {
			uint64_t value = find_number(f.part, ONNX_DIM_VALUE);

			size[axis++] = value > INT64_MAX ? 0 : value; /* some writers say -1 */
		}
}

bool inv_onnx_next_external(inv_bytes *rest, inv_bytes *file)
{
	inv_bytes tensor, key;
	inv_field f, g;

	while (inv_field_next(rest, &f) == INV_FIELD) {
		if (f.number != ONNX_GRAPH_INITIALIZER)
			continue;
		for (tensor = f.part; inv_field_next(&tensor, &g) == INV_FIELD;)
			if (g.number == ONNX_TENSOR_EXTERNAL && g.kind == INV_WIRE_BYTES &&
			    find_part(g.part, ONNX_ENTRY_KEY, &key) && inv_bytes_are(key, "location") &&
			    find_part(g.part, ONNX_ENTRY_VALUE, file))
				return true;
	}
	return false;
}

bool inv_onnx_metadata(const inv_onnx *m, const char *key, inv_bytes *value)
{
	inv_bytes rest = m->bytes, text;
	inv_field f;

	*value = (inv_bytes){0};
	while (inv_field_next(&rest, &f) == INV_FIELD)
		if (f.number == ONNX_MODEL_METADATA && f.kind == INV_WIRE_BYTES &&
		    find_part(f.part, ONNX_ENTRY_KEY, &text) && inv_bytes_are(text, key)) {
			find_part(f.part, ONNX_ENTRY_VALUE, value);
			return true;
		}
	return false;
}

bool inv_onnx_has_key(const inv_onnx *m, const char *key)
{
	inv_bytes value;

	return inv_onnx_metadata(m, key, &value);
}
