/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_format.c - E as an ONNX model of its own, or at the end of a foreign one.
 *
 * Of its own: input "features" [batch, d], output "codes" [batch, w], opset 17.
 *
 * At the end of a foreign model: repeated fields of a message may stand anywhere in it, so
 * the bytes of the graph are copied as they are and E's nodes, weights and output follow
 * them; only the length in front of the graph changes. All names begin with a prefix that
 * occurs nowhere in the file, so they cannot collide with any, also in subgraphs. The
 * outputs of the model stay: the codes are one more, the last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/export/export.h"
#include "adapter/export/onnx_graph.h"
#include "base/file.h"
#include "encoders/encoder.h"

enum { IR = 8, OPSET = 17, IR_WITHOUT_INPUTS = 4, PREFIXES = 1000 };

static const invar_option options[] = {
	{"dtype", INVAR_OPTION_TEXT, "float32", .choices = "float32|float16", .meta = "WORD",
     .group = "ONNX",
     .help = "number type of the weights in the file; inputs, outputs and "
             "arithmetic stay float32"},
	{"onto", INVAR_OPTION_TEXT, .meta = "MODEL.onnx", .group = "ONNX",
     .help = "append the adapter to this model, whose outputs stay; the codes "
             "become one more output"},
	{"onto-output", INVAR_OPTION_TEXT, .meta = "NAME", .group = "ONNX",
     .help = "the output, or any tensor inside the model, that has the features; "
             "default: the only output"},
	{"image-size", INVAR_OPTION_COUNT, "0", .max = INV_MAX_SIDE, .meta = "N",
     .group = "ONNX",
     .help = "side of the images of a model with its encoder; 0: for vision "
             "transformers the size that the adapter was trained on, or else the "
             "encoder's own; any size for other encoders"},
	{0},
};

static bool is_half(const invar_options *o)
{
	return inv_option_is(o, "dtype", "float16");
}

static invar_status too_large(const invar_adapter *e)
{
	return inv_fail(
		INVAR_E_USE,
		"%s: would make an ONNX file of more than 2 GB, the limit of the format; "
		"try @dtype float16, or export the adapter without an encoder",
		e->path);
}

/* Why a message could not be made, if it could not. */
static invar_status check_message(const invar_adapter *e, const inv_message *m)
{
	if (m->too_large)
		return too_large(e);
	return m->failed ? inv_no_memory() : INVAR_OK;
}

/* The pieces of a file, one after the other. */
static invar_status save_pieces(const invar_adapter *e, const char *path,
                               const inv_bytes *pieces, size_t count)
{
	uint64_t bytes = 0;
	inv_writer *w;
	invar_status st;

	for (size_t i = 0; i < count; i++)
		bytes += pieces[i].size;
	if (bytes > INV_MESSAGE_MAX)
		return too_large(e);
	INV_TRY(inv_writer_open(path, 0, &w));
	for (size_t i = 0; i < count; i++)
		if (pieces[i].size)
			INV_TRY_OR(fail, inv_writer_put(w, pieces[i].data, pieces[i].size));
	return inv_writer_commit(w);
fail:
	inv_writer_abort(w);
	return st;
}

/* ---- Metadata --------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const inv_metadata *)a)->key, ((const inv_metadata *)b)->key);
}

/* The rows "invar.…" of the adapter, by key, without those that a foreign model has. */
static invar_status put_metadata(const invar_adapter *e, const inv_onnx *foreign,
                                 inv_message *model)
{
	inv_metadata *rows;
	size_t count;

	INV_TRY(inv_adapter_all_metadata(e, &rows, &count));
	qsort(rows, count, sizeof *rows, by_key);
	for (size_t i = 0; i < count; i++) {
		inv_message entry = {0};

		if (strncmp(rows[i].key, "invar.", 6) != 0 ||
		    (foreign && inv_onnx_has_key(foreign, rows[i].key)))
			continue;
		inv_message_put_text(&entry, ONNX_ENTRY_KEY, rows[i].key);
		inv_message_put_text(&entry, ONNX_ENTRY_VALUE, rows[i].value);
		inv_message_put(model, ONNX_MODEL_METADATA, &entry);
	}
	inv_free(rows);
	return check_message(e, model);
}

/* ---- Of its own ------------------------------------------------------------------- */

static void put_shape(inv_message *graph, uint32_t field, const char *name, size_t width)
{
	inv_message shape = {0};

	inv_onnx_put_axis(&shape, "batch", 0);
	inv_onnx_put_axis(&shape, NULL, width);
	inv_onnx_put_value(graph, field, name, ONNX_FLOAT, &shape);
}

/* The graph comes last, so that it is not copied once more. */
static invar_status save_model(const invar_adapter *e, const inv_message *graph,
                               const char *path)
{
	inv_message model = {0}, opset = {0};
	inv_bytes pieces[2];
	invar_status st;

	inv_message_put_number(&model, ONNX_MODEL_IR, IR);
	inv_message_put_text(&model, ONNX_MODEL_PRODUCER, "invar");
	inv_message_put_text(&model, ONNX_MODEL_PRODUCER_VERSION, INVAR_VERSION);
	inv_message_put_text(&opset, ONNX_OPSET_DOMAIN, "");
	inv_message_put_number(&opset, ONNX_OPSET_VERSION, OPSET);
	inv_message_put(&model, ONNX_MODEL_OPSET, &opset);
	INV_TRY_OR(done, put_metadata(e, NULL, &model));
	inv_message_put_header(&model, ONNX_MODEL_GRAPH, graph->size);
	INV_TRY_OR(done, check_message(e, &model));
	pieces[0] = (inv_bytes){model.data, model.size};
	pieces[1] = (inv_bytes){graph->data, graph->size};
	st = save_pieces(e, path, pieces, 2);
done:
	inv_message_free(&model);
	return st;
}

/* ---- With its encoder ------------------------------------------------------------- */

static invar_status make_pair(const invar_adapter *e, const invar_encoder *F,
                              const invar_options *o, inv_message *out)
{
	size_t side = (size_t)inv_option_count(o, "image-size");
	const inv_onnx_place place = {.input = inv_onnx_name("features"),
	                              .output = "codes",
	                              .prefix = "",
	                              .half = is_half(o),
	                              .element = ONNX_FLOAT};
	inv_encoder_onnx encoder = {.graph = out,
	                            .input = "images",
	                            .output = "features",
	                            .half = is_half(o),
	                            .images = {.h = side, .w = side}};
	inv_message shape = {0};

	if (!side && F->measures.patch) { /* what it was trained on: preprocess of its bank */
		const char *text = invar_adapter_metadata(e, "invar.input");
		json_t *input = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
		const json_t *size = json_object_get(input, "size");
		json_int_t h = json_integer_value(json_array_get(size, 0));
		json_int_t w = json_integer_value(json_array_get(size, 1));

		if (h > 0 && w > 0 && h <= INV_MAX_SIDE && w <= INV_MAX_SIDE)
			encoder.images = (inv_extent){.h = (size_t)h, .w = (size_t)w};
		json_decref(input);
	}
	INV_TRY(F->kind->onnx(F, &encoder));
	INV_TRY(inv_onnx_append_adapter(e, &place, out));
	inv_message_put_text(out, ONNX_GRAPH_NAME, "invar");
	inv_onnx_put_axis(&shape, "batch", 0);
	inv_onnx_put_axis(&shape, NULL, encoder.images.c);
	inv_onnx_put_axis(&shape, encoder.images.h ? NULL : "height", encoder.images.h);
	inv_onnx_put_axis(&shape, encoder.images.w ? NULL : "width", encoder.images.w);
	inv_onnx_put_value(out, ONNX_GRAPH_INPUT, "images", ONNX_FLOAT, &shape);
	put_shape(out, ONNX_GRAPH_OUTPUT, "codes", e->s.w);
	put_shape(out, ONNX_GRAPH_OUTPUT, "features", e->s.d);
	return check_message(e, out);
}

/* Another encoder of the same width would compute something, so that is a warning. */
invar_status inv_onnx_save_with(const invar_adapter *e, invar_encoder *F,
                                const invar_options *o, const char *path)
{
	const char *known = invar_adapter_metadata(e, "invar.encoder_sha256"), *now;
	inv_message graph = {0};
	invar_status st;

	if (!F->kind->onnx)
		return inv_fail(INVAR_E_USE,
		                "networks of the family %s cannot be written as ONNX; export the "
		                "encoder from PyTorch and append the adapter with @onto",
		                F->kind->family);
	if (F->measures.width != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s takes features of width %zu, but those of %s have width "
		                "%" PRIu64,
		                e->path, e->s.d, F->weights, F->measures.width);
	INV_TRY(inv_encoder_sha256(F, &now));
	if (known && *known && now && strcmp(known, now) != 0)
		inv_log(e->ctx, INVAR_LOG_WARNING,
		        "%s: was trained on features of other weights than %s", e->path,
		        F->weights);
	if ((st = make_pair(e, F, o, &graph)) == INVAR_OK)
		st = save_model(e, &graph, path);
	inv_message_free(&graph);
	return st;
}

/* ---- Onto a foreign model --------------------------------------------------------- */

static invar_status check_foreign_features(const invar_adapter *e, const char *path,
                                           const inv_onnx_value *v)
{
	int shown = (int)(v->name.size < 200 ? v->name.size : 200);

	if (v->element && v->element != ONNX_FLOAT && v->element != ONNX_FLOAT16 &&
	    v->element != ONNX_DOUBLE && v->element != ONNX_BFLOAT16)
		return inv_fail(INVAR_E_MISMATCH, "%s: '%.*s' does not have floating point numbers",
		                path, shown, v->name.data);
	if (v->has_shape && v->ndim < 2)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: '%.*s' has %u dimensions, but features have at least 2", path,
		                shown, v->name.data, v->ndim);
	if (v->has_shape && v->width && v->width != e->s.d && v->pixel_width != e->s.d)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: '%.*s' has width %" PRIu64
		                ", but the adapter takes features of width %zu; choose another "
		                "tensor with @onto-output",
		                path, shown, v->name.data, v->width, e->s.d);
	return INVAR_OK;
}

/* E's nodes, weights and output, which follow the fields of the graph. */
static invar_status append_to_foreign(const invar_adapter *e, bool half, const inv_onnx *m,
                                      const inv_onnx_value *v, const char *prefix,
                                      inv_message *graph)
{
	char output[48];
	const inv_onnx_place place = {
		.input = v->name,
		.output = output,
		.prefix = prefix,
		.half = half,
		.constants = m->ir < IR_WITHOUT_INPUTS,
		/* [n, d] is what Flatten makes of features of shape unknown or [n, d, 1, 1]. */
		.flatten = !v->has_shape || (v->ndim > 2 && v->pixel_width == e->s.d),
		.cast = v->element != ONNX_FLOAT,
		.element = v->element ? v->element : ONNX_FLOAT};
	unsigned axes = place.flatten ? 1 : v->ndim - 1, axis = 0;
	inv_bytes rest = v->shape;
	inv_message shape = {0};
	inv_field field;

	snprintf(output, sizeof output, "%scodes", prefix);
	INV_TRY(inv_onnx_append_adapter(e, &place, graph));
	/* The shape of the features with the width of the codes. */
	while (v->has_shape && inv_field_next(&rest, &field) == INV_FIELD)
		if (field.number == ONNX_SHAPE_DIM && field.kind == INV_WIRE_BYTES && axis++ < axes)
			inv_message_put_bytes(&shape, ONNX_SHAPE_DIM, field.part.data, field.part.size);
	if (!v->has_shape)
		inv_onnx_put_axis(&shape, NULL, 0);
	inv_onnx_put_axis(&shape, NULL, e->s.w);
	inv_onnx_put_value(graph, ONNX_GRAPH_OUTPUT, output, place.element, &shape);
	return check_message(e, graph);
}

static invar_status save_onto(const invar_adapter *e, const invar_options *o,
                              const char *path)
{
	const char *onto = inv_option_text(o, "onto");
	inv_message graph = {0}, after = {0}, header = {0}; /* after: follows the model */
	char prefix[24] = "invar/";
	inv_onnx_value features;
	inv_onnx m;
	invar_status st;
	inv_map map;

	INV_TRY(inv_map_open(onto, &map));
	INV_TRY_OR(done, inv_onnx_view(map.data, map.size, onto, &m));
	INV_TRY_OR(done, inv_onnx_find(&m, inv_option_text(o, "onto-output"), onto, &features));
	INV_TRY_OR(done, check_foreign_features(e, onto, &features));
	for (int i = 1; memmem(m.bytes.data, m.bytes.size, prefix, strlen(prefix)); i++) {
		if (i == PREFIXES)
			INV_TRY_OR(done, inv_fail(INVAR_E_FORMAT,
			                          "%s: already has %d adapters appended to it", onto,
			                          PREFIXES));
		snprintf(prefix, sizeof prefix, "invar%d/", i);
	}
	INV_TRY_OR(done, append_to_foreign(e, is_half(o), &m, &features, prefix, &graph));
	INV_TRY_OR(done, put_metadata(e, &m, &after));

	/* The bytes of the file with the longer graph in the place of the old one. */
	inv_message_put_header(&header, ONNX_MODEL_GRAPH, m.graph.size + graph.size);
	if ((st = check_message(e, &header)) == INVAR_OK) {
		size_t before = (size_t)(m.graph_field.data - m.bytes.data);
		size_t behind = before + m.graph_field.size;
		const inv_bytes pieces[] = {{m.bytes.data, before},
		                            {header.data, header.size},
		                            m.graph,
		                            {graph.data, graph.size},
		                            {m.bytes.data + behind, m.bytes.size - behind},
		                            {after.data, after.size}};

		st = save_pieces(e, path, pieces, sizeof pieces / sizeof *pieces);
	}
done:
	inv_message_free(&graph);
	inv_message_free(&after);
	inv_message_free(&header);
	inv_map_close(&map);
	return st;
}

static invar_status save_onnx(const invar_adapter *e, const invar_options *o,
                              const char *path)
{
	const inv_onnx_place place = {.input = inv_onnx_name("features"),
	                              .output = "codes",
	                              .prefix = "",
	                              .half = is_half(o),
	                              .element = ONNX_FLOAT};
	inv_message graph = {0};
	invar_status st;

	if (inv_option_count(o, "image-size"))
		return inv_fail(INVAR_E_USE,
		                "@image-size is about the images of an encoder, and none is "
		                "written; leave it out");
	if (inv_option_text(o, "onto"))
		return save_onto(e, o, path);
	if (inv_option_text(o, "onto-output"))
		return inv_fail(INVAR_E_USE,
		                "@onto-output names a tensor of a model: give that model with "
		                "@onto");
	INV_TRY_OR(done, inv_onnx_append_adapter(e, &place, &graph));
	inv_message_put_text(&graph, ONNX_GRAPH_NAME, "invar");
	put_shape(&graph, ONNX_GRAPH_INPUT, "features", e->s.d);
	put_shape(&graph, ONNX_GRAPH_OUTPUT, "codes", e->s.w);
	INV_TRY_OR(done, check_message(e, &graph));
	st = save_model(e, &graph, path);
done:
	inv_message_free(&graph);
	return st;
}

const inv_export_format inv_export_onnx = {
	.name = "onnx",
	.about = "an ONNX model, for ONNX Runtime and others",
	.file = "an ONNX model",
	.begins = "\x08", /* the version of the format comes first in every writer's models */
	.options = options,
	.save = save_onnx,
};
