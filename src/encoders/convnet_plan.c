/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convnet_plan.c - a convolutional network made ready for images of one shape.
 *
 * A group of images passes the last layers together, whose maps are a few pixels: so many
 * that the weights are used often enough once they are in the cache. The first layers,
 * whose maps are large and should stay there instead, take the group a few images at a
 * time. Fewer images use the beginning of each map.
 *
 * In int8, products are of bytes where the input is that of a ReLU, so not in the first
 * layer, and the convolution does not run in tiles (winograd.h). The others are in
 * bfloat16, as all maps are.
 */
#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet_steps.h"

/* Features depend on these: tiles are used for enough images. */
enum {
	PIXELS =
		384,     /* of the maps that a step computes at once, unless INV_GROUP have fewer */
	LARGE = 100, /* pixels of a map that is not one of the last */
	LONGEST_SEARCH = 4096
};

typedef struct value {
	inv_maps maps;      /* of one image */
	size_t born, dead;  /* the first step that writes it, the last that needs it */
	bool late;          /* needed by the last layers */
	uint64_t at, bytes; /* its place in the buffer of one image, of those as late */
} value;

typedef struct plan {
	const inv_convnet *net;
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_precision precision; /* of the maps */
	size_t first_late;       /* step */
	size_t few, group;       /* images that the steps before and after take at once */
	value *values;
	inv_conv **convs;  /* [steps], NULL for pools */
	uint64_t bytes[2]; /* of the values of one image: early, late */
	char **buffers;    /* of each thread, and of all together; NULL: not needed yet */
} plan;

/* ---- Shapes ----------------------------------------------------------------------- */

/* False if some window does not fit. */
static bool find_map_shapes(const inv_convnet *net, inv_maps image, value *values)
{
	values[0].maps = image;
	for (size_t i = 0; i < net->step_count; i++) {
		const inv_step *s = &net->steps[i];
		const inv_maps from = values[s->from].maps;
		const inv_maps to = {1, net->channels[s->to],
		                     inv_window_places(s->window, from.height),
		                     inv_window_places(s->window, from.width)};

		if (!to.height || !to.width)
			return false;
		values[s->to].maps = to;
	}
	return true;
}

static invar_status fail_small_images(const inv_encoder_plan *p, const inv_convnet *net,
                                      value *values)
{
	size_t side = 1;

	while (side < LONGEST_SEARCH &&
	       !find_map_shapes(net, (inv_maps){1, net->channels[0], side, side}, values))
		side++;
	return inv_fail(INVAR_E_USE,
	                "images of %zu x %zu are too small for this %s, which needs at least "
	                "%zu x %zu; use larger images, for example with @size N",
	                p->shape.h, p->shape.w, net->family, side, side);
}

/* ---- The buffer ------------------------------------------------------------------- */

static size_t images_at_once(const plan *o, size_t step)
{
	return step < o->first_late ? o->few : o->group;
}

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
	return a->late == b->late && a->born <= b->dead && b->born <= a->dead &&
	       a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* Each value gets the lowest offset that no other value occupies while it is alive; the
 * image stays with the caller. */
static void place_values(plan *o)
{
	value *v = o->values;

	find_lives(o->net, v);
	for (size_t i = 1; i < o->net->value_count; i++) {
		uint64_t *end = &o->bytes[v[i].late = v[i].dead >= o->first_late];

		v[i].bytes = (inv_map_bytes(o->precision, v[i].maps) + INV_ALIGN - 1) / INV_ALIGN *
		             INV_ALIGN;
		for (size_t j = 1; j < i;)
			if (overlap(&v[i], &v[j])) {
				v[i].at = v[j].at + v[j].bytes;
				j = 1;
			} else
				j++;
		if (v[i].at + v[i].bytes > *end)
			*end = v[i].at + v[i].bytes;
	}
}

/* The late values of a group, the others of a few images, and the scratch memory of a step
 * behind them. */
static invar_status find_buffer(const plan *o, unsigned number, char **out)
{
	unsigned threads = number < o->ctx->threads ? 1 : o->ctx->threads;
	uint64_t scratch = 0, bytes = inv_array_bytes(o->group, (size_t)o->bytes[true]);
	invar_status st = INVAR_OK;

	if (inv_add_overflow(bytes, inv_array_bytes(o->few, (size_t)o->bytes[false]), &bytes))
		bytes = SIZE_MAX;
	for (size_t i = 0; i < o->net->step_count && !o->buffers[number]; i++) {
		uint64_t needed =
			o->convs[i] ? inv_conv_scratch(o->convs[i], images_at_once(o, i), threads) : 0;

		scratch = needed > scratch ? needed : scratch;
	}
	if (inv_add_overflow(bytes, scratch, &bytes))
		bytes = SIZE_MAX;
	if (!o->buffers[number])
		st = inv_new_array(&o->buffers[number], bytes);
	if (st != INVAR_OK)
		inv_context(st, "use smaller images or fewer threads for this %s", o->net->family);
	*out = o->buffers[number];
	return st;
}

/* ---- Planning --------------------------------------------------------------------- */

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

static invar_status make_convolutions(plan *o, bool bytes)
{
	INV_TRY(inv_new_zeros(&o->convs, o->net->step_count));
	for (size_t i = 0; i < o->net->step_count; i++) {
		const inv_step *s = &o->net->steps[i];
		inv_conv_spec spec = {.from = o->values[s->from].maps,
		                      .outputs = s->outputs,
		                      .window = s->window,
		                      .precision = bytes && is_rectified(o->net, s->from, i)
		                                       ? INV_INT8
		                                       : o->precision,
		                      .plain = s->from == 0,
		                      .add = s->add,
		                      .relu = s->relu};

		spec.from.images = images_at_once(o, i);
		if (s->weights)
			INV_TRY(inv_conv_new(&o->kernels, &spec, s->weights, s->bias, &o->convs[i]));
	}
	return INVAR_OK;
}

/* The smallest power of two of images whose maps have enough pixels. */
static size_t enough_images(inv_maps m)
{
	size_t images = 1;

	while (images < INV_GROUP && images * m.height * m.width < PIXELS)
		images *= 2;
	return images;
}

invar_status inv_convnet_plan(inv_encoder_plan *p)
{
	const inv_convnet *net = p->encoder->own;
	const inv_maps image = {1, p->shape.c, p->shape.h, p->shape.w};
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
	o->precision = inv_encoder_is_in(p->encoder, "float32") ? INV_FLOAT32 : INV_BFLOAT16;
	inv_kernels_init(&o->kernels, o->ctx->cpu);
	INV_TRY(inv_new_zeros(&o->values, net->value_count));
	INV_TRY(inv_new_zeros(&o->buffers, o->ctx->threads + 1));
	if (!find_map_shapes(net, image, o->values))
		return fail_small_images(p, net, o->values);

	o->few = o->group = enough_images(o->values[net->last].maps);
	for (o->first_late = net->step_count; o->first_late > 0; o->first_late--) {
		const inv_maps from = o->values[net->steps[o->first_late - 1].from].maps;

		if (from.height * from.width > LARGE) {
			o->few = enough_images(from);
			break;
		}
	}
	place_values(o);
	p->width = net->channels[net->last];
	p->group = o->group;
	return make_convolutions(o, inv_encoder_is_in(p->encoder, "int8"));
}

void inv_convnet_unplan(inv_encoder_plan *p)
{
	plan *o = p->own;

	if (!o)
		return;
	for (size_t i = 0; o->convs && i < o->net->step_count; i++)
		inv_conv_free(o->convs[i]);
	for (unsigned t = 0; o->buffers && t <= o->ctx->threads; t++)
		inv_free(o->buffers[t]);
	inv_free(o->convs);
	inv_free(o->buffers);
	inv_free(o->values);
	inv_free(o);
}

/* ---- Running ---------------------------------------------------------------------- */

/* A value of the images of a group from `first` on; an early one has no others. */
static char *find_value(const plan *o, const value *v, size_t first, char *buffer)
{
	return v->late
	           ? buffer + o->group * v->at + first * inv_map_bytes(o->precision, v->maps)
	           : buffer + o->group * o->bytes[true] + o->few * v->at;
}

/* n images of a group, from `first` on, pass steps [step, end). ctx: on all its threads, or
 * NULL. */
static void run_steps(const plan *o, const invar_context *ctx, size_t step, size_t end,
                      size_t first, size_t n, const float *images, char *buffer)
{
	char *scratch = buffer + o->group * o->bytes[true] + o->few * o->bytes[false];

	for (; step < end; step++) {
		const inv_step *s = &o->net->steps[step];
		const value *from = &o->values[s->from], *to = &o->values[s->to];
		const void *x = s->from ? find_value(o, from, first, buffer) : (const void *)images;
		char *result = find_value(o, to, first, buffer);
		inv_maps maps = from->maps;

		maps.images = n;
		if (o->convs[step])
			inv_conv_run(o->convs[step], ctx, n, x, to->maps.channels, s->channel, result,
			             scratch);
		else
			inv_max_pool(&o->kernels, ctx, o->precision, maps, s->window, x, result);
	}
}

static void run_group(const plan *o, const invar_context *ctx, const float *images,
                      size_t n, char *buffer, float *out)
{
	const value *last = &o->values[o->net->last];
	const inv_maps *image = &o->values[0].maps;
	inv_maps maps = last->maps;
	size_t now;

	for (size_t i = 0; i < n; i += now) {
		now = n - i < o->few ? n - i : o->few;
		run_steps(o, ctx, 0, o->first_late, i, now,
		          images + i * image->channels * image->height * image->width, buffer);
	}
	run_steps(o, ctx, o->first_late, o->net->step_count, 0, n, images, buffer);
	maps.images = n;
	inv_mean_pool(o->precision, maps, find_value(o, last, 0, buffer), out);
}

invar_status inv_convnet_run(const inv_encoder_plan *p, const float *x, size_t n,
                             unsigned thread, float *out)
{
	const plan *o = p->own;
	char *buffer;

	INV_TRY(find_buffer(o, thread, &buffer));
	run_group(o, NULL, x, n, buffer, out);
	return INVAR_OK;
}

invar_status inv_convnet_run_together(const inv_encoder_plan *p, const float *x, size_t n,
                                      float *out)
{
	const plan *o = p->own;
	char *buffer;

	INV_TRY(find_buffer(o, o->ctx->threads, &buffer));
	run_group(o, o->ctx, x, n, buffer, out);
	return INVAR_OK;
}
