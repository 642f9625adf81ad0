/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convnet_plan.c - a convolutional network made ready for images of one shape.
 *
 * A group of images passes the layers together. It is as small as possible while the
 * weights of the last layers, whose maps are a few pixels, are still used often enough once
 * they are in the cache: the maps of the first layers, which are large, should stay there
 * too.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet_steps.h"

enum {
	PIXELS = 64,   /* of the last maps of a group, at least */
	TOGETHER = 64, /* maps of at most this many pixels are stored together */
	ALIGN = INV_ALIGN / sizeof(float),
	LONGEST_SEARCH = 4096
};

typedef struct value {
	inv_maps maps;
	size_t born, dead; /* the first step that writes it, the last that needs it */
	size_t at, floats; /* its place in the buffer */
} value;

typedef struct plan {
	const inv_convnet *net;
	size_t block, group;
	value *values;
	inv_conv **convs;       /* [steps], NULL for pools */
	size_t floats, scratch; /* of values and images; bytes beside them */
	unsigned threads;
	char **buffers; /* [threads] */
} plan;

/* ---- Shapes --------------------------------------------------------------------- */

/* False if some window does not fit. */
static bool find_shapes(const inv_convnet *net, inv_maps image, inv_maps *maps)
{
	maps[0] = image;
	for (size_t i = 0; i < net->step_count; i++) {
		const inv_step *s = &net->steps[i];
		inv_maps *to = &maps[s->to];

		*to = maps[s->from];
		to->channels = net->channels[s->to];
		to->height = inv_window_places(s->window, maps[s->from].height);
		to->width = inv_window_places(s->window, maps[s->from].width);
		if (!to->height || !to->width)
			return false;
	}
	return true;
}

static invar_status refuse_small(const inv_encoder_plan *p, const inv_convnet *net,
                                 inv_maps *maps)
{
	size_t side = 1;

	while (side < LONGEST_SEARCH &&
	       !find_shapes(net, (inv_maps){1, net->channels[0], side, side, false}, maps))
		side++;
	return inv_fail(INVAR_E_USE,
	                "images of %zu x %zu are too small for this %s, which needs at least "
	                "%zu x %zu; use larger images, for example with @size N",
	                p->shape.h, p->shape.w, net->family, side, side);
}

static size_t choose_group(const inv_convnet *net, inv_maps last)
{
	size_t group = 1;

	while (!net->one_by_one && group < INV_GROUP &&
	       group * last.height * last.width < PIXELS)
		group *= 2;
	return group;
}

/* ---- The buffer ------------------------------------------------------------------- */

static void find_lives(const inv_convnet *net, value *values)
{
	for (size_t i = net->step_count; i-- > 0;)
		values[net->steps[i].to].born = i;
	for (size_t i = 0; i < net->step_count; i++) {
		values[net->steps[i].to].dead = i;
		values[net->steps[i].from].dead = i;
	}
	values[net->last].dead = net->step_count;
}

static bool in_the_way(const value *a, const value *b)
{
	return a->born <= b->dead && b->born <= a->dead && a->at < b->at + b->floats &&
	       b->at < a->at + a->floats;
}

/* Each value gets the lowest offset that no other value occupies while it is alive. */
static void place_values(plan *o)
{
	value *v = o->values;

	find_lives(o->net, v);
	for (size_t i = 0; i < o->net->value_count; i++) {
		v[i].floats =
			(inv_maps_floats(i ? o->block : 1, v[i].maps) + ALIGN - 1) / ALIGN * ALIGN;
		for (size_t j = 0; j < i;)
			if (in_the_way(&v[i], &v[j])) {
				v[i].at = v[j].at + v[j].floats;
				j = 0;
			} else
				j++;
		if (v[i].at + v[i].floats > o->floats)
			o->floats = v[i].at + v[i].floats;
	}
}

static invar_status give_buffers(plan *o)
{
	uint64_t bytes;

	if (inv_mul_overflow(o->floats, sizeof(float), &bytes) ||
	    inv_add_overflow(bytes, o->scratch, &bytes))
		bytes = SIZE_MAX;
	for (unsigned t = 0; t < o->threads; t++)
		if (!(o->buffers[t] = inv_alloc(bytes)))
			return inv_fail(INVAR_E_NOMEM,
			                "not enough memory for the maps of a %s; use smaller images or "
			                "fewer threads",
			                o->net->family);
	return INVAR_OK;
}

/* ---- Planning --------------------------------------------------------------------- */

static invar_status make_convolutions(plan *o, const invar_context *ctx)
{
	for (size_t i = 0; i < o->net->step_count; i++) {
		const inv_step *s = &o->net->steps[i];
		const inv_conv_spec spec = {.from = o->values[s->from].maps,
		                            .outputs = s->outputs,
		                            .window = s->window,
		                            .plain = s->from == 0,
		                            .together = o->values[s->to].maps.together,
		                            .add = s->add,
		                            .relu = s->relu};
		invar_status st;

		if (!s->weights)
			continue;
		if ((st = inv_conv_new(ctx, &spec, s->weights, s->bias, &o->convs[i])) != INVAR_OK)
			return st;
		if (inv_conv_scratch(o->convs[i]) > o->scratch)
			o->scratch = inv_conv_scratch(o->convs[i]);
	}
	return INVAR_OK;
}

/* Clears `together` where a step cannot read or write it; true if any changed.
 */
static bool keep_apart(const plan *o, const inv_step *s)
{
	inv_maps *from = &o->values[s->from].maps, *to = &o->values[s->to].maps;
	bool before = from->together, then = to->together;

	if (!s->from || (!s->weights && !from->together))
		to->together = false; /* of the image; a pool keeps the layout of its maps */
	if (!to->together)
		from->together = false; /* a convolution can put maps together but not apart */
	return before != from->together || then != to->together;
}

/*
 * Small maps are stored together if all steps that read and write them support it. A value
 * that is added to has two writers, of which one may be a pool.
 */
static void put_together(const plan *o)
{
	bool changed = true;

	for (size_t i = 0; i < o->net->value_count; i++) {
		inv_maps *m = &o->values[i].maps;

		m->together = i && m->height * m->width <= TOGETHER;
	}
	while (changed) {
		changed = false;
		for (size_t i = o->net->step_count; i-- > 0;)
			changed = keep_apart(o, &o->net->steps[i]) || changed;
	}
}

static invar_status find_maps(inv_encoder_plan *p, plan *o)
{
	const inv_convnet *net = o->net;
	inv_maps *maps = inv_calloc(net->value_count, sizeof *maps);
	inv_maps image = {1, p->shape.c, p->shape.h, p->shape.w, false};
	invar_status st = INVAR_OK;

	if (!maps)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to plan a %s", net->family);
	if (!find_shapes(net, image, maps))
		st = refuse_small(p, net, maps);
	o->group = choose_group(net, maps[net->last]);
	for (size_t i = 0; i < net->value_count; i++) {
		o->values[i].maps = maps[i];
		o->values[i].maps.images = o->group;
	}
	if (o->block > 1 && o->group > 1)
		put_together(o);
	inv_free(maps);
	return st;
}

static invar_status allocate_plan(inv_encoder_plan *p, plan **out)
{
	const inv_convnet *net = p->encoder->own;
	plan *o = p->own = *out = inv_calloc(1, sizeof *o);

	if (o) {
		o->net = net;
		o->threads = p->encoder->ctx->threads;
		o->block = inv_maps_block(p->encoder->ctx);
		o->values = inv_calloc(net->value_count, sizeof *o->values);
		o->convs = inv_calloc(net->step_count, sizeof *o->convs);
		o->buffers = inv_calloc(o->threads, sizeof *o->buffers);
	}
	if (!o || !o->values || !o->convs || !o->buffers)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to plan a %s", net->family);
	return INVAR_OK;
}

invar_status inv_convnet_plan(inv_encoder_plan *p)
{
	const inv_convnet *net = p->encoder->own;
	plan *o;
	invar_status st;

	if (p->shape.c != net->channels[0])
		return inv_fail(
			INVAR_E_MISMATCH,
			"images have %zu %s but this %s takes %zu; use other images or weights",
			p->shape.c, inv_noun(p->shape.c, "channel", "channels"), net->family,
			net->channels[0]);
	if ((st = allocate_plan(p, &o)) != INVAR_OK || (st = find_maps(p, o)) != INVAR_OK)
		return st;
	place_values(o);
	if ((st = make_convolutions(o, p->encoder->ctx)) != INVAR_OK)
		return st;
	p->width = net->channels[net->last];
	p->group = o->group;
	return give_buffers(o);
}

void inv_convnet_unplan(inv_encoder_plan *p)
{
	plan *o = p->own;

	if (!o)
		return;
	for (size_t i = 0; o->convs && i < o->net->step_count; i++)
		inv_conv_free(o->convs[i]);
	for (unsigned t = 0; o->buffers && t < o->threads; t++)
		inv_free(o->buffers[t]);
	inv_free(o->convs);
	inv_free(o->buffers);
	inv_free(o->values);
	inv_free(o);
}

/* ---- Running ---------------------------------------------------------------------- */

/* An incomplete group is padded with black images. */
static const float *fill_up(const plan *o, const float *x, size_t n, float *buffer)
{
	float *to = buffer + o->values[0].at;
	size_t cells = inv_maps_floats(1, o->values[0].maps) / o->group;

	if (n == o->group)
		return x;
	memcpy(to, x, n * cells * sizeof *x);
	memset(to + n * cells, 0, (o->group - n) * cells * sizeof *x);
	return to;
}

invar_status inv_convnet_run(const inv_encoder_plan *p, const float *x, size_t n,
                             unsigned thread, float *out)
{
	const plan *o = p->own;
	const inv_convnet *net = o->net;
	float *buffer = (float *)(void *)o->buffers[thread];
	const float *image = fill_up(o, x, n, buffer);
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < net->step_count && st == INVAR_OK; i++) {
		const inv_step *s = &net->steps[i];
		const value *v = &o->values[s->to];
		const float *from = s->from ? buffer + o->values[s->from].at : image;
		float *to = buffer + v->at + s->channel * v->maps.height * v->maps.width;

		if (o->convs[i])
			st = inv_conv_run(o->convs[i], from, to, buffer + o->floats, thread);
		else
			inv_max_pool(o->block, o->values[s->from].maps, s->window, from, to);
	}
	if (st == INVAR_OK)
		inv_mean_pool(o->block, o->values[net->last].maps, n,
		              buffer + o->values[net->last].at, out);
	return st;
}
