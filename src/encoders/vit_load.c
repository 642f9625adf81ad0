/* SPDX-License-Identifier: Apache-2.0 */
/* vit_load.c - the tensors of a vision transformer, and how its images are prepared. */
#include <stdio.h>
#include <string.h>

#include "encoders/vit_names.h"

static void place_panels(inv_arena *a, size_t in, size_t out, inv_panels *at)
{
	*at = inv_panels_of(in, out,
	                    inv_arena_take(a, inv_panels_floats(in, out), sizeof(float)));
}

static void place_linear(inv_arena *a, const inv_vit *v, size_t out, size_t in,
                         inv_vit_linear *at)
{
	if (v->bfloat16)
		at->weight = inv_pair_panels_of(
			in, out, inv_arena_take(a, inv_pair_panels_floats(in, out), sizeof(float)));
	else
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
	place_linear(a, v, 3 * d, d, &b->qkv);
	place_linear(a, v, d, d, &b->out);
	place_norm(a, d, &b->norm2);
	place_linear(a, v, v->gated ? v->hidden : 0, d, &b->gate);
	place_linear(a, v, v->hidden, d, &b->fc1);
	place_linear(a, v, d, v->hidden, &b->fc2);
}

/* Called twice: to sum up the size, then to hand out the memory. */
static void place_tensors(inv_vit *v)
{
	inv_arena *a = &v->memory;
	size_t d = v->width, blocks = v->depth + v->pooled;
	uint64_t positions = v->rotary > 0 ? 0 : (uint64_t)v->grid * v->grid;

	v->class_token = inv_arena_take(a, d, sizeof(float));
	v->register_tokens = inv_arena_take(a, (uint64_t)v->registers * d, sizeof(float));
	v->positions = inv_arena_take(a, (positions + v->other_positions) * d, sizeof(float));
	v->query = inv_arena_take(a, d, sizeof(float));
	place_linear(a, v, d, v->channels * v->patch * v->patch, &v->patches);
	place_norm(a, d, &v->before);
	place_norm(a, d, &v->after);
	place_panels(a, d, v->projected, &v->projection);
	v->blocks = inv_arena_take(a, blocks, sizeof *v->blocks);
	for (size_t i = 0; i < blocks; i++) {
		inv_vit_block none;

		place_block(a, v, a->base ? &v->blocks[i] : &none);
	}
}

static invar_status take_tensor(inv_vit_loader *l, const char *before, const char *layer,
                                const char *suffix, unsigned ndim, const uint64_t *shape,
                                float *out)
{
	char name[2 * INV_PARAMETER_NAME];

	snprintf(name, sizeof name, "%s%s%s", before, layer, suffix);
	return l->stored ? inv_parameters_take(l->p, name, ndim, shape, out)
	                 : inv_parameters_check(l->p, name, ndim, shape);
}

/* l->stored [n, k] as panels */
static void transpose_stored(const inv_vit_loader *l, const inv_panels *w)
{
	if (l->stored)
		inv_panels_fill_turned(&l->v->kernels, w, l->stored, w->k);
}

static invar_status take_layer_norm(inv_vit_loader *l, const char *before,
                                    const char *layer, inv_vit_norm *at)
{
	uint64_t shape[1] = {l->v->width};

	INV_TRY(take_tensor(l, before, layer, "weight", 1, shape, at->weight));
	return take_tensor(l, before, layer, "bias", 1, shape, at->bias);
}

/* A bias that the first block does not have is optional, and missing everywhere. */
static invar_status take_bias(inv_vit_loader *l, const char *layer, size_t out,
                              bool optional, float *bias)
{
	uint64_t shape[1] = {out};

	if (!optional || inv_parameters_find(l->p, "%s%sbias", l->first, layer))
		return take_tensor(l, l->block, layer, "bias", 1, shape, bias);
	if (l->stored)
		memset(bias, 0, out * sizeof *bias);
	return INVAR_OK;
}

/* `scale` is the name of a layer scale that follows, or NULL. */
static invar_status take_linear(inv_vit_loader *l, const char *layer, const char *scale,
                                inv_vit_linear at)
{
	size_t n = at.weight.n, k = at.weight.k;
	uint64_t shape[2] = {n, k};

	INV_TRY(take_tensor(l, l->block, layer, "weight", 2, shape, l->stored));
	INV_TRY(take_bias(l, layer, n, l->s->biases_optional, at.bias));
	if (scale && l->scales) {
		/* x + gamma (W h + b) is x + (gamma W) h + gamma b. */
		INV_TRY(take_tensor(l, l->block, scale, "", 1, shape, l->gamma));
		for (size_t o = 0; l->stored && o < n; o++) {
			for (size_t i = 0; i < k; i++)
				l->stored[o * k + i] *= l->gamma[o];
			at.bias[o] *= l->gamma[o];
		}
	}
	transpose_stored(l, &at.weight);
	return INVAR_OK;
}

static invar_status take_block(inv_vit_loader *l, size_t block)
{
	const inv_vit_scheme *s = l->s;
	const char *const names[3] = {s->qkv ? s->qkv : s->query, s->key, s->value};
	size_t D = l->v->width, H = l->v->hidden, matrices = s->qkv ? 1 : 3;
	size_t out = 3 * D / matrices;
	const uint64_t qkv[2] = {out, D}, both[2] = {2 * H, D};
	inv_arena nowhere = {0};
	inv_vit_block claimed, *b = l->stored ? &l->v->blocks[block] : &claimed;

	if (!l->stored)
		place_block(&nowhere, l->v, b);
	inv_vit_find_block(s, l->p, block, l->block);
	INV_TRY(take_layer_norm(l, l->block, s->norm1, &b->norm1));

	/* Queries, keys and values as one matrix, whether the file has one or three. */
	for (size_t i = 0; i < matrices; i++) {
		float *rows = l->stored ? l->stored + i * out * D : NULL;
		float *bias = l->stored ? b->qkv.bias + i * out : NULL;

		INV_TRY(take_tensor(l, l->block, names[i], "weight", 2, qkv, rows));
		INV_TRY(take_bias(l, names[i], out, true, bias));
	}
	transpose_stored(l, &b->qkv.weight);
	INV_TRY(take_linear(l, s->out, s->scale1, b->out));
	INV_TRY(take_layer_norm(l, l->block, s->norm2, &b->norm2));

	/* DINOv2's gate and fc1 are the upper and the lower half of one matrix. */
	if (l->gate_fc1) {
		float *bias = l->stored ? l->stored + 2 * H * D : NULL;

		INV_TRY(take_tensor(l, l->block, l->gate_fc1, "weight", 2, both, l->stored));
		INV_TRY(take_bias(l, l->gate_fc1, 2 * H, false, bias));
		if (l->stored) {
			transpose_stored(l, &b->gate.weight);
			inv_panels_fill_turned(&l->v->kernels, &b->fc1.weight, l->stored + H * D, D);
			memcpy(b->gate.bias, bias, H * sizeof *bias);
			memcpy(b->fc1.bias, bias + H, H * sizeof *bias);
		}
		return take_linear(l, s->gated_fc2, s->scale2, b->fc2);
	}
	if (l->v->gated)
		INV_TRY(take_linear(l, s->gate, NULL, b->gate));
	INV_TRY(take_linear(l, s->fc1, NULL, b->fc1));
	return take_linear(l, s->fc2, s->scale2, b->fc2);
}

/*
 * The block that pools by attention. Its query is the same for all images: the product of
 * the queries' matrix, the first D rows of three, and the learnt probe.
 */
static invar_status take_pooling(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	inv_arena nowhere = {0};
	inv_vit_block claimed, *b = l->stored ? &v->blocks[v->depth] : &claimed;
	size_t D = v->width;
	const uint64_t one[1] = {D}, matrix[2] = {3 * D, D};

	if (!l->stored)
		place_block(&nowhere, v, b);
	snprintf(l->block, sizeof l->block, "%s", l->s->pool);
	INV_TRY(take_layer_norm(l, "", l->s->after, &b->norm1));
	INV_TRY(take_tensor(l, l->block, "probe", "", 1, one, l->gamma));
	INV_TRY(take_tensor(l, l->block, "attention.in_proj_", "weight", 2, matrix, l->stored));
	INV_TRY(take_tensor(l, l->block, "attention.in_proj_", "bias", 1, matrix, b->qkv.bias));
	for (size_t i = 0; l->stored && i < D; i++) {
		double sum = b->qkv.bias[i];

		for (size_t j = 0; j < D; j++)
			sum += (double)l->stored[i * D + j] * l->gamma[j];
		v->query[i] = (float)sum;
	}
	transpose_stored(l, &b->qkv.weight);
	INV_TRY(take_linear(l, "attention.out_proj.", NULL, b->out));
	INV_TRY(take_layer_norm(l, l->block, "layernorm.", &b->norm2));
	INV_TRY(take_linear(l, "mlp.fc1.", NULL, b->fc1));
	return take_linear(l, "mlp.fc2.", NULL, b->fc2);
}

/* Called twice: to check all shapes, then, with l->stored, to read the tensors. */
static invar_status take_tensors(inv_vit_loader *l)
{
	const inv_vit_scheme *s = l->s;
	inv_vit *v = l->v;
	const uint64_t kernel[4] = {v->width, v->channels, v->patch, v->patch};
	const uint64_t positions[2] = {(uint64_t)v->grid * v->grid + v->other_positions,
	                               v->width};
	const uint64_t one[1] = {v->width}, registers[2] = {v->registers, v->width};
	const uint64_t in_out[2] = {v->width, v->projected};
	const uint64_t out_in[2] = {v->projected, v->width};

	INV_TRY(take_tensor(l, "", s->patches, "weight", 4, kernel, l->stored));
	transpose_stored(l, &v->patches.weight);
	/* CLIP has no bias, as a norm follows, and OpenCLIP's without that norm neither. */
	if ((!v->pre_norm && s->family != INV_CLIP) ||
	    inv_parameters_find(l->p, "%sbias", s->patches))
		INV_TRY(take_tensor(l, "", s->patches, "bias", 1, one, v->patches.bias));
	else if (l->stored)
		memset(v->patches.bias, 0, v->width * sizeof(float));

	if (v->has_class)
		INV_TRY(take_tensor(l, "", s->class_token, "", 1, one, v->class_token));
	if (s->positions)
		INV_TRY(take_tensor(l, "", s->positions, "", 2, positions, v->positions));
	if (v->registers) {
		bool timm = !inv_parameters_find(l->p, "%s", s->registers);
		unsigned ndim = v->registers == 1 ? 1 : 2; /* leading ones are ignored */

		INV_TRY(take_tensor(l, "", timm ? "reg_token" : s->registers, "", ndim,
		                    ndim == 1 ? one : registers, v->register_tokens));
	} else if (s->registers) {
		inv_parameters_ignore(l->p, s->registers); /* [1, 0, d] */
	}

	if (v->pre_norm)
		INV_TRY(take_layer_norm(l, "", s->before, &v->before));
	INV_TRY(take_layer_norm(l, "", v->mean ? s->mean : s->after, &v->after));
	for (size_t i = 0; i < v->depth; i++)
		INV_TRY(take_block(l, i));
	if (v->pooled)
		INV_TRY(take_pooling(l));

	if (!v->projected)
		return INVAR_OK;
	INV_TRY(take_tensor(l, "", s->projection, "", 2, s->projection_in_out ? in_out : out_in,
	                    l->stored));
	if (s->projection_in_out && l->stored)
		inv_panels_fill(&v->kernels, &v->projection, l->stored, v->projected);
	else
		transpose_stored(l, &v->projection);
	return INVAR_OK;
}

/* All shapes are checked before memory is allocated: a file may claim any size. */
static invar_status take_all(inv_vit_loader *l)
{
	static const char *const names[] = {"ViT", "CLIP", "SigLIP"};
	inv_vit *v = l->v;
	size_t rows = v->channels * v->patch * v->patch, floats;
	invar_status st;

	place_tensors(v);
	INV_TRY(take_tensors(l));
	if ((st = inv_arena_commit(&v->memory)) != INVAR_OK)
		return inv_context(st, "%s", inv_parameters_path(l->p));
	place_tensors(v);

	/* The largest matrix; the bias of a gate and its fc1 follows theirs. */
	rows = rows < 3 * v->width ? 3 * v->width : rows;
	rows = rows < 2 * v->hidden ? 2 * v->hidden : rows;
	rows = rows < v->projected ? v->projected : rows;
	floats = rows * v->width + 2 * v->hidden;
	INV_TRY(inv_new_array(&l->stored, floats + v->width));
	l->gamma = l->stored + floats;
	INV_TRY(take_tensors(l));
	for (size_t i = 0; i < INV_VIT_LISTED && l->s->ignored[i]; i++)
		inv_parameters_ignore(l->p, l->s->ignored[i]);
	return inv_parameters_finish(l->p, names[l->s->family], l->s->own);
}

invar_status inv_vit_load(inv_vit *v, invar_encoder *e, inv_parameters *p)
{
	static const char *const normalisations[] = {"imagenet", "clip", "half"};
	const inv_vit_scheme *s = inv_vit_find_scheme(p);
	inv_vit_loader l = {.s = s, .v = v, .p = p};
	invar_status st;

	INV_TRY(inv_vit_size(&l));
	e->measures = (inv_measures){.width = v->projected ? v->projected : v->width,
	                             .patch = v->patch,
	                             .depth = v->depth,
	                             .registers = v->registers};
	if (s->family == INV_CLIP && !s->has_config)
		INV_TRY(inv_parameters_beside(p, "open_clip_config.json", &l.open_clip));
	INV_TRY_OR(done, inv_vit_switch(&l, e));
	INV_TRY_OR(done, take_all(&l));

	/* As the family's authors prepare images, unless a file beside the weights says how. */
	e->input.resize = e->input.side = inv_vit_side(&l);
	e->input.stretch = s->family == INV_SIGLIP || !s->positions;
	e->input.filter = s->positions ? INV_BICUBIC : INV_BILINEAR;
	e->input.keeps_grey = v->channels == 1;
	e->input.normalisation = normalisations[s->family];
	if (s->has_config)
		st = inv_preprocessor_read(e, p, v->channels);
	else if (l.open_clip)
		st = inv_preprocessor_open_clip(e, p, l.open_clip, v->channels);
done:
	inv_free(l.stored);
	json_decref(l.open_clip);
	return st;
}
