/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convnet_onnx.c - a described convolutional network as nodes of an ONNX graph.
 *
 * A step becomes Conv or MaxPool, then Add and Relu. Steps overwrite values, nodes cannot,
 * so each value has the name of what was computed for it last; a value that several steps
 * write side by side is joined by Concat when it is complete.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "encoders/convnet_steps.h"
#include "formats/onnx_nodes.h"

enum { NAME = 48 };

typedef struct named_value {
	char now[NAME];   /* what it is called; "" before all of it is computed */
	char first[NAME]; /* the half that waits for the other */
} named_value;

typedef struct writing {
	const inv_convnet *net;
	const char *where; /* for messages */
	inv_message *graph;
	bool half;
	invar_status status; /* the first failure */
	named_value *values;
} writing;

static const inv_onnx_attribute axis[] = {{.name = "axis", .value = {1}, .count = 1}, {0}};

static void put_step(writing *w, const inv_step *s, size_t i)
{
	const inv_window v = s->window;
	const uint64_t k = v.kernel, t = v.stride, p = v.padding;
	const inv_onnx_attribute attributes[] = {
		{.name = "kernel_shape", .value = {k, k}, .count = 2, .list = true},
		{.name = "strides", .value = {t, t}, .count = 2, .list = true},
		{.name = "pads", .value = {p, p, p, p}, .count = 4, .list = true},
		{.name = s->weights ? NULL : "ceil_mode", .value = {v.ceil}, .count = 1},
		{0}};
	char weight[NAME], bias[NAME], result[NAME], next[NAME];
	const inv_onnx_floats both[2] = {
		{.name = weight,
	     .x = s->weights,
	     .shape = {s->outputs, s->channels, k, k},
	     .ndim = 4,
	     .half = w->half},
		{.name = bias, .x = s->bias, .shape = {s->outputs}, .ndim = 1, .half = w->half}};
	const char *inputs[3] = {w->values[s->from].now, weight, bias};
	named_value *to = &w->values[s->to];

	snprintf(weight, NAME, "encoder/%zu.weight", i);
	snprintf(bias, NAME, "encoder/%zu.bias", i);
	snprintf(result, NAME, "encoder/%zu", i);
	for (size_t j = 0; s->weights && j < 2 && w->status == INVAR_OK; j++)
		w->status = inv_onnx_put_floats(w->graph, &both[j], w->where);
	inv_onnx_put_joined(w->graph, s->weights ? "Conv" : "MaxPool", inputs,
	                    s->weights ? 3 : 1, attributes, result);
	if (s->add) {
		snprintf(next, NAME, "encoder/%zu.sum", i);
		inv_onnx_put_node(w->graph, "Add", inv_onnx_name(result), to->now, NULL, next);
		memcpy(result, next, NAME);
	}
	if (s->relu) {
		snprintf(next, NAME, "encoder/%zu.relu", i);
		inv_onnx_put_node(w->graph, "Relu", inv_onnx_name(result), NULL, NULL, next);
		memcpy(result, next, NAME);
	}

	/* The result becomes the value, or one of the two halves of it. */
	if (s->outputs == w->net->channels[s->to]) {
		memcpy(to->now, result, NAME);
	} else if (!*to->first) {
		memcpy(to->first, result, NAME);
	} else {
		snprintf(to->now, NAME, "encoder/%zu.joined", i);
		inv_onnx_put_node(w->graph, "Concat",
		                  inv_onnx_name(s->channel ? to->first : result),
		                  s->channel ? result : to->first, axis, to->now);
	}
}

invar_status inv_convnet_onnx(const invar_encoder *e, inv_encoder_onnx *to)
{
	const inv_convnet *net = e->own;
	writing w = {.net = net,
	             .where = e->weights ? e->weights : net->family,
	             .graph = to->graph,
	             .half = to->half};

	to->images.c = net->channels[0];
	INV_TRY(inv_new_zeros(&w.values, net->value_count));
	snprintf(w.values[0].now, NAME, "%s", to->input);
	for (size_t i = 0; i < net->step_count && w.status == INVAR_OK; i++)
		put_step(&w, &net->steps[i], i);
	inv_onnx_put_node(to->graph, "GlobalAveragePool",
	                  inv_onnx_name(w.values[net->last].now), NULL, NULL, "encoder/mean");
	inv_onnx_put_node(to->graph, "Flatten", inv_onnx_name("encoder/mean"), NULL, axis,
	                  to->output);
	inv_free(w.values);
	return w.status;
}
