/* SPDX-License-Identifier: Apache-2.0 */
/* vit_load.c - the tensors of a vision transformer, and how its images are prepared. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "encoders/vit_names.h"

enum { MAX_CONSTANTS = 4 };

/* The mean subtracted from pixels and the deviation they are divided by. */
static const double max_constant = 1e6, least_std = 1e-9;

/* ---- Tensors ---------------------------------------------------------------------- */

static void place_panels(inv_arena *a, size_t in, size_t out, inv_panels *at)
{
	*at = inv_panels_of(in, out,
	                    inv_arena_take(a, inv_panels_floats(in, out), sizeof(float)));
}

static void place_linear(inv_arena *a, size_t out, size_t in, inv_vit_linear *at)
{
	place_panels(a, in, out, &at->weight);
	at->bias = inv_arena_take(a, out, sizeof(float));
}

static void place_norm(inv_arena *a, size_t width, inv_vit_norm *at)
{
	at->weight = inv_arena_take(a, width, sizeof(float));
	at->bias = inv_arena_take(a, width, sizeof(float));
}

static void place_block(inv_arena *a, const inv_vit *v, inv_vit_block *b)
{
	size_t d = v->width;

	place_norm(a, d, &b->norm1);
	place_linear(a, 3 * d, d, &b->qkv);
	place_linear(a, d, d, &b->out);
	place_norm(a, d, &b->norm2);
	place_linear(a, v->hidden, d, &b->fc1);
	place_linear(a, d, v->hidden, &b->fc2);
}

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_tensors(inv_vit *v)
{
	inv_arena *a = &v->memory;
	size_t d = v->width;

	v->class_token = inv_arena_take(a, d, sizeof(float));
	v->register_tokens = inv_arena_take(a, (uint64_t)v->registers * d, sizeof(float));
	v->positions = inv_arena_take(a, ((uint64_t)v->grid * v->grid + v->other_positions) * d,
	                              sizeof(float));
	place_linear(a, d, v->channels * v->patch * v->patch, &v->patches);
	place_norm(a, d, &v->before);
	place_norm(a, d, &v->after);
	place_panels(a, d, v->projected, &v->projection);
	v->blocks = inv_arena_take(a, v->depth, sizeof *v->blocks);
	for (size_t i = 0; i < v->depth; i++) {
		inv_vit_block none;

		place_block(a, v, a->base ? &v->blocks[i] : &none);
	}
}

static invar_status take_tensor(inv_vit_loader *l, const char *before, const char *layer,
                                const char *suffix, unsigned rank, const uint64_t *shape,
                                float *out)
{
	char name[2 * INV_PARAMETER_NAME];

	snprintf(name, sizeof name, "%s%s%s", before, layer, suffix);
	return l->stored ? inv_parameters_take(l->p, name, rank, shape, out)
	                 : inv_parameters_check(l->p, name, rank, shape);
}

/* l->stored [n, k] as panels */
static void transpose_stored(const inv_vit_loader *l, const inv_panels *w)
{
	if (l->stored)
		inv_panels_fill_turned(&l->v->kernels, w, l->stored, w->k);
}

static void no_bias(const inv_vit_loader *l, size_t out, float *bias)
{
	if (l->stored)
		memset(bias, 0, out * sizeof *bias);
}

static invar_status take_layer_norm(inv_vit_loader *l, const char *before,
                                    const char *layer, inv_vit_norm *at)
{
	uint64_t shape[1] = {l->v->width};

	INV_TRY(take_tensor(l, before, layer, "weight", 1, shape, at->weight));
	return take_tensor(l, before, layer, "bias", 1, shape, at->bias);
}

static invar_status take_bias(inv_vit_loader *l, const char *layer, size_t out,
                              bool is_there, float *bias)
{
	uint64_t shape[1] = {out};

	if (is_there)
		return take_tensor(l, l->block, layer, "bias", 1, shape, bias);
	no_bias(l, out, bias);
	return INVAR_OK;
}

/* x + gamma (W h + b) is x + (gamma W) h + gamma b; W is in l->stored. */
static invar_status scale_stored(inv_vit_loader *l, const char *layer, inv_vit_linear at)
{
	uint64_t shape[1] = {at.weight.n};

	INV_TRY(take_tensor(l, l->block, layer, "", 1, shape, l->gamma));
	for (size_t o = 0; l->stored && o < at.weight.n; o++) {
		for (size_t i = 0; i < at.weight.k; i++)
			l->stored[o * at.weight.k + i] *= l->gamma[o];
		at.bias[o] *= l->gamma[o];
	}
	return INVAR_OK;
}

/* `scale` is the name of a layer scale that follows, or NULL. */
static invar_status take_linear(inv_vit_loader *l, const char *layer, const char *scale,
                                inv_vit_linear at)
{
	uint64_t shape[2] = {at.weight.n, at.weight.k};

	INV_TRY(take_tensor(l, l->block, layer, "weight", 2, shape, l->stored));
	INV_TRY(take_bias(l, layer, at.weight.n, true, at.bias));
	if (scale && l->scales)
		INV_TRY(scale_stored(l, scale, at));
	transpose_stored(l, &at.weight);
	return INVAR_OK;
}

/* Queries, keys and values as one matrix, whether the file has one or three. */
static invar_status take_qkv(inv_vit_loader *l, inv_vit_linear at)
{
	const inv_vit_scheme *s = l->s;
	const char *const names[3] = {s->qkv ? s->qkv : s->query, s->key, s->value};
	size_t d = l->v->width, matrices = s->qkv ? 1 : 3, out = 3 * d / matrices;
	uint64_t shape[2] = {out, d};

	for (size_t i = 0; i < matrices; i++) {
		float *rows = l->stored ? l->stored + i * out * d : NULL;
		float *bias = l->stored ? at.bias + i * out : NULL;

		INV_TRY(take_tensor(l, l->block, names[i], "weight", 2, shape, rows));
		INV_TRY(take_bias(l, names[i], out, l->qkv_bias, bias));
	}
	transpose_stored(l, &at.weight);
	return INVAR_OK;
}

static invar_status take_block(inv_vit_loader *l, size_t i)
{
	const inv_vit_scheme *s = l->s;
	inv_arena nowhere = {0};
	inv_vit_block claimed, *b = l->stored ? &l->v->blocks[i] : &claimed;

	if (!l->stored)
		place_block(&nowhere, l->v, b);
	inv_vit_find_block(s, l->p, i, l->block);
	INV_TRY(take_layer_norm(l, l->block, s->norm1, &b->norm1));
	INV_TRY(take_qkv(l, b->qkv));
	INV_TRY(take_linear(l, s->out, s->scale1, b->out));
	INV_TRY(take_layer_norm(l, l->block, s->norm2, &b->norm2));
	INV_TRY(take_linear(l, s->fc1, NULL, b->fc1));
	return take_linear(l, s->fc2, s->scale2, b->fc2);
}

static invar_status take_patches(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	const uint64_t shape[4] = {v->width, v->channels, v->patch, v->patch};

	INV_TRY(take_tensor(l, "", l->s->patches, "weight", 4, shape, l->stored));
	transpose_stored(l, &v->patches.weight);
	/* CLIP has none, as a norm follows; the others require it. */
	if (v->pre_norm && !inv_parameters_find(l->p, "%sbias", l->s->patches)) {
		no_bias(l, v->width, v->patches.bias);
		return INVAR_OK;
	}
	return take_tensor(l, "", l->s->patches, "bias", 1, shape, v->patches.bias);
}

static invar_status take_tokens(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	const uint64_t one[1] = {v->width}, some[2] = {v->registers, v->width};
	const uint64_t all[2] = {(uint64_t)v->grid * v->grid + v->other_positions, v->width};
	const char *registers = l->s->registers;

	INV_TRY(take_tensor(l, "", l->s->class_token, "", 1, one, v->class_token));
	INV_TRY(take_tensor(l, "", l->s->positions, "", 2, all, v->positions));
	if (!v->registers)
		return INVAR_OK;
	if (!inv_parameters_find(l->p, "%s", registers))
		registers = "reg_token";
	/* A single register is [1, 1, d]; the leading ones are ignored. */
	return v->registers == 1
	           ? take_tensor(l, "", registers, "", 1, one, v->register_tokens)
	           : take_tensor(l, "", registers, "", 2, some, v->register_tokens);
}

static invar_status take_projection(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	const uint64_t in_out[2] = {v->width, v->projected};
	const uint64_t out_in[2] = {v->projected, v->width};
	bool as_used = l->s->projection_in_out;

	if (!v->projected)
		return INVAR_OK;
	INV_TRY(
		take_tensor(l, "", l->s->projection, "", 2, as_used ? in_out : out_in, l->stored));
	if (as_used && l->stored)
		inv_panels_fill(&v->kernels, &v->projection, l->stored, v->projected);
	else
		transpose_stored(l, &v->projection);
	return INVAR_OK;
}

static size_t largest_matrix(const inv_vit *v)
{
	size_t in = v->channels * v->patch * v->patch;

	in = in < 3 * v->width ? 3 * v->width : in;
	in = in < v->hidden ? v->hidden : in;
	in = in < v->projected ? v->projected : in;
	return in * v->width;
}

static invar_status take_tensors(inv_vit_loader *l)
{
	inv_vit *v = l->v;

	INV_TRY(take_patches(l));
	INV_TRY(take_tokens(l));
	if (v->pre_norm)
		INV_TRY(take_layer_norm(l, "", l->s->before, &v->before));
	INV_TRY(take_layer_norm(l, "", v->mean ? l->s->mean : l->s->after, &v->after));
	for (size_t i = 0; i < v->depth; i++)
		INV_TRY(take_block(l, i));
	return take_projection(l);
}

/* All shapes are checked before memory is allocated: a file may claim any size. */
static invar_status take_all(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	invar_status st;

	place_tensors(v);
	INV_TRY(take_tensors(l));
	if ((st = inv_arena_commit(&v->memory)) != INVAR_OK)
		return inv_context(st, "%s", inv_parameters_path(l->p));
	place_tensors(v);
	INV_TRY(inv_new_array(&l->stored, largest_matrix(v) + v->width));
	l->gamma = l->stored + largest_matrix(v);
	INV_TRY(take_tensors(l));
	for (size_t i = 0; i < INV_VIT_LISTED && l->s->ignored[i]; i++)
		inv_parameters_ignore(l->p, l->s->ignored[i]);
	return inv_parameters_finish(l->p, l->s->clip ? "CLIP" : "ViT", l->s->own);
}

/* ---- Preparation of images -------------------------------------------------------- */

static size_t print_constants(const json_t *list, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < json_array_size(list) && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%.9g", i ? "," : "",
		                         json_number_value(json_array_get(list, i)));
	return used;
}

/* As many numbers as channels, above `low`. */
static bool are_constants(const json_t *list, size_t channels, double low)
{
	bool fine = json_array_size(list) == channels && channels <= MAX_CONSTANTS;

	for (size_t i = 0; fine && i < channels; i++) {
		const json_t *one = json_array_get(list, i);

		fine = json_is_number(one) && json_number_value(one) > low &&
		       json_number_value(one) < max_constant;
	}
	return fine;
}

/* image_mean and image_std of preprocessor_config.json beside the weights. */
static invar_status read_preprocessor(inv_vit_loader *l, const char **normalisation)
{
	char *text = l->v->normalisation;
	size_t size = sizeof l->v->normalisation, used, channels = l->v->channels;
	json_t *said;
	const json_t *mean, *std;
	invar_status st = INVAR_OK;

	INV_TRY(inv_parameters_beside(l->p, "preprocessor_config.json", &said));
	if (!said)
		return INVAR_OK;
	mean = json_object_get(said, "image_mean");
	std = json_object_get(said, "image_std");
	/* A number takes at most 16 characters, so all of them fit. */
	if ((mean || std) && !(are_constants(mean, channels, -max_constant) &&
	                       are_constants(std, channels, least_std))) {
		st = inv_fail(
			INVAR_E_MISMATCH,
			"%s: the preprocessor_config.json beside it has no valid image_mean and "
			"image_std: %zu %s each %s expected, the latter above 0; fix or remove the "
			"file",
			inv_parameters_path(l->p), channels, inv_noun(channels, "number", "numbers"),
			inv_noun(channels, "was", "were"));
	} else if (mean) {
		used = print_constants(mean, text, size);
		used += (size_t)snprintf(text + used, size - used, "/");
		print_constants(std, text + used, size - used);
		*normalisation = text;
	}
	json_decref(said);
	return st;
}

invar_status inv_vit_load(inv_vit *v, invar_encoder *e, inv_parameters *p)
{
	inv_vit_loader l = {.s = inv_vit_find_scheme(p), .v = v, .p = p};
	invar_status st;

	INV_TRY(inv_vit_size(&l));
	e->measures = (inv_measures){.width = v->projected ? v->projected : v->width,
	                             .patch = v->patch,
	                             .depth = v->depth,
	                             .registers = v->registers};
	INV_TRY(inv_vit_switch(&l, e));
	st = take_all(&l);
	inv_free(l.stored);
	INV_TRY(st);
	e->input.resize = e->input.side = v->patch * v->grid;
	e->input.filter = INV_BICUBIC;
	e->input.keeps_grey = v->channels == 1;
	e->input.normalisation = l.s->clip ? "clip" : "imagenet";
	return l.s->has_config ? read_preprocessor(&l, &e->input.normalisation) : INVAR_OK;
}
