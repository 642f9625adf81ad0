/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convnet_plan.c - a convolutional network made ready for images of one shape.
 *
 * A group of images passes the layers together. It is as small as possible while the
 * weights of the last layers, whose maps are a few pixels, are still used often enough once
 * they are in the cache: the maps of the first layers, which are large, should stay there
 * too.
 *
 * Fewer images, a power of two, have a form of the network of their own: the same kernels
 * with the same bits for fewer pixels, and the same copy of the weights. A form either runs
 * on one thread, and on many at once, or splits each layer among all threads. Forms are
 * made when they are first needed: a program that encodes single images makes one.
 *
 * In bfloat16 the maps have a layout of their own (math/pair_conv.h), and all forms use the
 * same convolutions. In int8 so do they, but products are of bytes where the input is that
 * of a ReLU: everywhere but in the first layer.
 */
#include <pthread.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "encoders/convnet_steps.h"
#include "math/pair_conv.h"

enum {
	PIXELS = 64,   /* of the last maps of a group, at least */
	TOGETHER = 64, /* maps of at most this many pixels are stored together */
	ALIGN = INV_ALIGN / sizeof(float),
	LONGEST_SEARCH = 4096,
	SIZES = 5 /* powers of two up to INV_GROUP */
};

typedef struct value {
	inv_maps maps;
	size_t born, dead; /* the first step that writes it, the last that needs it */
	size_t at, floats; /* its place in the buffer */
} value;

typedef struct form {
	size_t images;
	bool split; /* among all threads */
	value *values;
	inv_conv **convs;       /* [steps], NULL for pools */
	size_t floats, scratch; /* of values; bytes beside them */
	unsigned count;         /* of buffers: one, or one per thread */
	char **buffers;
} form;

typedef struct plan {
	const inv_convnet *net;
	const invar_context *ctx;
	size_t block, group;
	inv_maps *maps;        /* [values], of one image */
	pthread_mutex_t lock;  /* of the forms */
	struct inv_kernels kernels;
	inv_pair_conv **pair_convs; /* [steps], NULL for pools; NULL in float32 */
	form *forms[2][SIZES]; /* [split][log2 of images]; NULL: not made yet */
	const form *first;     /* has the weights that the others share */
} plan;

/* ---- Shapes ----------------------------------------------------------------------- */

/* False if some window does not fit. */
static bool find_map_shapes(const inv_convnet *net, inv_maps image, inv_maps *maps)
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

static invar_status fail_small_images(const inv_encoder_plan *p, const inv_convnet *net,
                                      inv_maps *maps)
{
	size_t side = 1;

	while (side < LONGEST_SEARCH &&
	       !find_map_shapes(net, (inv_maps){1, net->channels[0], side, side, false}, maps))
		side++;
	return inv_fail(INVAR_E_USE,
	                "images of %zu x %zu are too small for this %s, which needs at least "
	                "%zu x %zu; use larger images, for example with @size N",
	                p->shape.h, p->shape.w, net->family, side, side);
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

static bool overlap(const value *a, const value *b)
{
	return a->born <= b->dead && b->born <= a->dead && a->at < b->at + b->floats &&
	       b->at < a->at + a->floats;
}

/* Each value gets the lowest offset that no other value occupies while it is alive; the
 * image stays with the caller. */
static void place_values(const plan *o, form *f)
{
	value *v = f->values;

	find_lives(o->net, v);
	for (size_t i = 1; i < o->net->value_count; i++) {
		v[i].floats = o->pair_convs ? inv_blocks(inv_pair_maps_cells(v[i].maps), 2)
		                            : inv_maps_floats(o->block, v[i].maps);
		v[i].floats = inv_blocks(v[i].floats, ALIGN) * ALIGN;
		for (size_t j = 1; j < i;)
			if (overlap(&v[i], &v[j])) {
				v[i].at = v[j].at + v[j].floats;
				j = 1;
			} else
				j++;
		if (v[i].at + v[i].floats > f->floats)
			f->floats = v[i].at + v[i].floats;
	}
}

/* ---- Forms ------------------------------------------------------------------------ */

static void free_form(const plan *o, form *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->convs && i < o->net->step_count; i++)
		inv_conv_free(f->convs[i]);
	for (unsigned t = 0; f->buffers && t < f->count; t++)
		inv_free(f->buffers[t]);
	inv_free(f->convs);
	inv_free(f->buffers);
	inv_free(f->values);
	inv_free(f);
}

static inv_conv_spec convolution_of(const inv_step *s, inv_maps from)
{
	return (inv_conv_spec){.from = from,
	                       .outputs = s->outputs,
	                       .window = s->window,
	                       .plain = s->from == 0,
	                       .add = s->add,
	                       .relu = s->relu};
}

static invar_status make_convolution(const plan *o, form *f, size_t i)
{
	const inv_step *s = &o->net->steps[i];
	const inv_maps from = f->values[s->from].maps;
	inv_conv_spec spec = convolution_of(s, from);
	size_t scratch;

	if (o->pair_convs) {
		scratch = inv_pair_conv_scratch(o->pair_convs[i], from,
		                                f->split ? o->ctx->threads : 1);
	} else {
		spec.together = f->values[s->to].maps.together;
		spec.split = f->split;
		spec.group = o->group;
		INV_TRY(inv_conv_new(o->ctx, &spec, s->weights, s->bias,
		                     o->first ? o->first->convs[i] : NULL, &f->convs[i]));
		scratch = inv_conv_scratch(f->convs[i]);
	}
	if (scratch > f->scratch)
		f->scratch = scratch;
	return INVAR_OK;
}

static invar_status make_form(const plan *o, size_t images, bool split, form **out)
{
	const inv_convnet *net = o->net;
	uint64_t bytes;
	form *f;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&f));
	f->images = images;
	f->split = split;
	f->count = split ? 1 : o->ctx->threads;
	INV_TRY_OR(fail, inv_new_zeros(&f->values, net->value_count));
	INV_TRY_OR(fail, inv_new_zeros(&f->convs, net->step_count));
	INV_TRY_OR(fail, inv_new_zeros(&f->buffers, f->count));

	for (size_t i = 0; i < net->value_count; i++) {
		f->values[i].maps = o->maps[i];
		f->values[i].maps.images = images;
	}
	place_values(o, f);
	for (size_t i = 0; i < net->step_count; i++)
		if (net->steps[i].weights)
			INV_TRY_OR(fail, make_convolution(o, f, i));

	if (inv_add_overflow(inv_array_bytes(f->floats, sizeof(float)), f->scratch, &bytes))
		bytes = SIZE_MAX;
	for (unsigned t = 0; t < f->count; t++)
		INV_TRY_OR(fail, inv_new_array(&f->buffers[t], bytes));
	*out = f;
	return INVAR_OK;
fail:
	free_form(o, f);
	if (st == INVAR_E_NOMEM)
		inv_context(st, "use smaller images or fewer threads for this %s", net->family);
	return st;
}

/* The form for the largest power of two that is at most n and the group. */
static invar_status find_form(plan *o, size_t n, bool split, const form **out)
{
	invar_status st = INVAR_OK;
	size_t size = 0;
	form **f;

	while (2u << size <= n && 2u << size <= o->group)
		size++;
	f = &o->forms[split][size];
	pthread_mutex_lock(&o->lock);
	if (!*f)
		st = make_form(o, (size_t)1 << size, split, f);
	if (!o->first)
		o->first = *f;
	*out = *f;
	pthread_mutex_unlock(&o->lock);
	return st;
}

/* ---- Planning --------------------------------------------------------------------- */

/* Clears `together` if a step cannot read or write it; true if any changed. */
static bool keep_apart(const plan *o, const inv_step *s)
{
	inv_maps *from = &o->maps[s->from], *to = &o->maps[s->to];
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
		inv_maps *m = &o->maps[i];

		m->together = i && m->height * m->width <= TOGETHER;
	}
	while (changed) {
		changed = false;
		for (size_t i = o->net->step_count; i-- > 0;)
			changed = keep_apart(o, &o->net->steps[i]) || changed;
	}
}

/*
 * Whether a value has no negative numbers when step i reads it. The last step that wrote it
 * decides: layers that are concatenated all have a ReLU, or none has.
 */
static bool is_rectified(const inv_convnet *net, size_t from, size_t i)
{
	while (i-- > 0)
		if (net->steps[i].to == from)
			return net->steps[i].weights ? net->steps[i].relu
			                             : is_rectified(net, net->steps[i].from, i);
	return false; /* the image */
}

static invar_status make_pair_convolutions(plan *o, bool bytes)
{
	inv_kernels_init(&o->kernels, o->ctx->cpu);
	INV_TRY(inv_new_zeros(&o->pair_convs, o->net->step_count));
	for (size_t i = 0; i < o->net->step_count; i++) {
		const inv_step *s = &o->net->steps[i];
		const inv_conv_spec spec = convolution_of(s, o->maps[s->from]);

		if (s->weights)
			INV_TRY(inv_pair_conv_new(&o->kernels, &spec,
			                          bytes && is_rectified(o->net, s->from, i), s->weights,
			                          s->bias, &o->pair_convs[i]));
	}
	return INVAR_OK;
}

invar_status inv_convnet_plan(inv_encoder_plan *p)
{
	const inv_convnet *net = p->encoder->own;
	const inv_maps image = {1, p->shape.c, p->shape.h, p->shape.w, false};
	const inv_maps *last;
	plan *o;

	if (p->shape.c != net->channels[0])
		return inv_fail(
			INVAR_E_MISMATCH,
			"images have %zu %s but this %s takes %zu; use other images or weights",
			p->shape.c, inv_noun(p->shape.c, "channel", "channels"), net->family,
			net->channels[0]);
	INV_TRY(inv_new(&o));
	p->own = o;
	o->net = net;
	o->ctx = p->encoder->ctx;
	o->block = inv_maps_block(o->ctx);
	pthread_mutex_init(&o->lock, NULL);
	INV_TRY(inv_new_zeros(&o->maps, net->value_count));
	if (!find_map_shapes(net, image, o->maps))
		return fail_small_images(p, net, o->maps);

	last = &o->maps[net->last];
	o->group = 1;
	if (!inv_encoder_is_in(p->encoder, "float32"))
		INV_TRY(make_pair_convolutions(o, inv_encoder_is_in(p->encoder, "int8")));
	while ((o->pair_convs || !net->one_by_one) && o->group < INV_GROUP &&
	       o->group * last->height * last->width < PIXELS)
		o->group *= 2;
	if (o->block > 1 && o->group > 1 && !o->pair_convs)
		put_together(o);
	p->width = net->channels[net->last];
	p->group = o->group;
	return INVAR_OK;
}

void inv_convnet_unplan(inv_encoder_plan *p)
{
	plan *o = p->own;

	if (!o)
		return;
	for (size_t i = 0; i < 2 * (size_t)SIZES; i++)
		if (o->forms[i / SIZES][i % SIZES] != o->first)
			free_form(o, o->forms[i / SIZES][i % SIZES]);
	free_form(o, (form *)(uintptr_t)o->first);
	for (size_t i = 0; o->pair_convs && i < o->net->step_count; i++)
		inv_pair_conv_free(o->pair_convs[i]);
	inv_free(o->pair_convs);
	pthread_mutex_destroy(&o->lock);
	inv_free(o->maps);
	inv_free(o);
}

/* ---- Running ---------------------------------------------------------------------- */

static void run_pair_form(const plan *o, const form *f, const float *images,
                          unsigned thread, float *out)
{
	const inv_convnet *net = o->net;
	const invar_context *split = f->split ? o->ctx : NULL;
	float *buffer = (float *)(void *)f->buffers[f->split ? 0 : thread];

	for (size_t i = 0; i < net->step_count; i++) {
		const inv_step *s = &net->steps[i];
		const inv_maps from = f->values[s->from].maps, maps = f->values[s->to].maps;
		const float *x = s->from ? buffer + f->values[s->from].at : images;
		uint16_t *to = (uint16_t *)(void *)(buffer + f->values[s->to].at);

		if (o->pair_convs[i])
			inv_pair_conv_run(o->pair_convs[i], split, from, x, maps.channels, s->channel,
			                  to, buffer + f->floats);
		else
			inv_pair_max_pool(split, from, s->window, (const uint16_t *)(const void *)x,
			                  to);
	}
	inv_pair_mean_pool(
		f->values[net->last].maps,
		(const uint16_t *)(const void *)(buffer + f->values[net->last].at), out);
}

/* As many images as the form has. */
static invar_status run_form(const plan *o, const form *f, const float *images,
                             unsigned thread, float *out)
{
	const inv_convnet *net = o->net;
	float *buffer = (float *)(void *)f->buffers[f->split ? 0 : thread];

	if (o->pair_convs) {
		run_pair_form(o, f, images, thread, out);
		return INVAR_OK;
	}
	for (size_t i = 0; i < net->step_count; i++) {
		const inv_step *s = &net->steps[i];
		const value *v = &f->values[s->to];
		const float *from = s->from ? buffer + f->values[s->from].at : images;
		float *to = buffer + v->at + s->channel * v->maps.height * v->maps.width;

		if (f->convs[i])
			INV_TRY(inv_conv_run(f->convs[i], from, to, buffer + f->floats, thread));
		else
			inv_max_pool(f->split ? o->ctx : NULL, o->block, f->values[s->from].maps,
			             s->window, from, to);
	}
	inv_mean_pool(o->block, f->values[net->last].maps, f->images,
	              buffer + f->values[net->last].at, out);
	return INVAR_OK;
}

static invar_status run_images(const inv_encoder_plan *p, const float *x, size_t n,
                               bool split, unsigned thread, float *out)
{
	plan *o = p->own;
	const form *f;

	for (size_t done = 0; done < n; done += f->images) {
		INV_TRY(find_form(o, n - done, split, &f));
		INV_TRY(run_form(o, f, x + done * inv_extent_cells(p->shape), thread,
		                 out + done * p->width));
	}
	return INVAR_OK;
}

invar_status inv_convnet_run(const inv_encoder_plan *p, const float *x, size_t n,
                             unsigned thread, float *out)
{
	return run_images(p, x, n, false, thread, out);
}

invar_status inv_convnet_run_together(const inv_encoder_plan *p, const float *x, size_t n,
                                      float *out)
{
	return run_images(p, x, n, true, 0, out);
}
