/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_shape.c - which vision transformer a file contains.
 *
 * Sizes come from the tensors' shapes; what no shape determines (heads, eps, how positions
 * are fitted) comes from the user or the model, else from config.json if the scheme has
 * one, else from the scheme.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "encoders/vit_names.h"
#include "formats/weights.h"

enum {
	MAX_HEADS = 1024,
	MAX_BLOCKS = 1000, /* any beyond these stay unused and are an error */
	MAX_SIZE = 1 << 16 /* of any side of a matrix */
};

/* ---- Sizes ------------------------------------------------------------------------ */

static size_t side_of_square(uint64_t cells)
{
	size_t side = (size_t)(sqrt((double)cells) + 0.5);

	return side && (uint64_t)side * side == cells ? side : 0;
}

/*
 * Rows before the patches': one for the class token, or also the registers', or none, as in
 * timm's networks with registers. (9 rows and 4 registers can be 3 x 3 patches or 2 x 2.)
 */
static invar_status size_positions(inv_vit_loader *l, const inv_weight_about *pos)
{
	inv_vit *v = l->v;
	uint64_t rows = pos->rank >= 2 ? pos->shape[pos->rank - 2] : 0;
	bool timm = inv_parameters_find(l->p, "reg_token") != NULL;
	const size_t others[] = {timm ? 0 : 1, 1 + v->registers, timm ? 1 : 0};

	for (size_t i = 0; i < 3 && !v->grid; i++)
		if (rows > others[i] && (v->grid = side_of_square(rows - others[i])))
			v->other_positions = others[i];
	if (v->grid)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: its tensor '%s' has positions for %" PRIu64
	                " tokens, which is not a square of patches plus a class token",
	                inv_parameters_path(l->p), pos->name, rows);
}

static invar_status need_tensor(const inv_vit_loader *l, const inv_weight_about **out,
                                unsigned rank, const char *layer, const char *suffix)
{
	*out = inv_parameters_find(l->p, "%s%s", layer, suffix);
	if (!*out)
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s%s'",
		                inv_parameters_path(l->p), layer, suffix);
	if ((*out)->rank != rank || !(*out)->cells)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its tensor '%s%s' has %u %s and %" PRIu64
		                " %s but must have %u and at least 1",
		                inv_parameters_path(l->p), layer, suffix, (*out)->rank,
		                inv_noun((*out)->rank, "dimension", "dimensions"), (*out)->cells,
		                inv_noun((*out)->cells, "value", "values"), rank);
	return INVAR_OK;
}

/* "blocks.0.mlp.fc1.weight" [hidden, width] */
static invar_status size_mlp(inv_vit_loader *l)
{
	static const char *const gated[] = {"w12.weight", "weights_in.weight"};
	char name[2 * INV_PARAMETER_NAME];
	const inv_weight_about *fc1;

	for (size_t i = 0; i < 2; i++)
		if (inv_parameters_find(l->p, "%smlp.%s", l->block, gated[i]))
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: its tensor '%smlp.%s' belongs to a gated MLP (SwiGLU), "
			                "which is not supported; use a smaller DINOv2",
			                inv_parameters_path(l->p), l->block, gated[i]);
	snprintf(name, sizeof name, "%s%s", l->block, l->s->fc1);
	INV_TRY(need_tensor(l, &fc1, 2, name, "weight"));
	l->v->hidden = (size_t)fc1->shape[0];
	return INVAR_OK;
}

/* A shape that contains a zero may claim any other size, and sizes are multiplied. */
static invar_status check_vit_sizes(const inv_vit_loader *l)
{
	const inv_vit *v = l->v;
	const struct {
		const char *what;
		size_t is;
	} sizes[] = {{"width", v->width},
	             {"width of an MLP", v->hidden},
	             {"width of a projection", v->projected},
	             {"number of registers", v->registers},
	             {"side of its table of positions", v->grid}};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].is > MAX_SIZE)
			return inv_fail(
				INVAR_E_MISMATCH, "%s: its %s is %zu, more than the supported %d",
				inv_parameters_path(l->p), sizes[i].what, sizes[i].is, MAX_SIZE);
	return INVAR_OK;
}

invar_status inv_vit_size(inv_vit_loader *l)
{
	const inv_weight_about *patches, *pos, *found;
	const inv_vit_scheme *s = l->s;
	inv_vit *v = l->v;

	INV_TRY(need_tensor(l, &patches, 4, s->patches, "weight"));
	v->width = (size_t)patches->shape[0];
	v->channels = (size_t)patches->shape[1];
	v->patch = (size_t)patches->shape[2];
	while (v->depth < MAX_BLOCKS && inv_vit_find_block(s, l->p, v->depth, l->block))
		v->depth++;
	found = s->registers ? inv_parameters_find(l->p, "%s", s->registers) : NULL;
	if (!found && s->registers && !s->has_config)
		found = inv_parameters_find(l->p, "reg_token");
	v->registers = found && found->rank >= 2 ? (size_t)found->shape[found->rank - 2] : 0;
	v->pre_norm = s->before && inv_parameters_find(l->p, "%sweight", s->before);
	v->mean = s->mean && inv_parameters_find(l->p, "%sweight", s->mean);
	found = s->projection ? inv_parameters_find(l->p, "%s", s->projection) : NULL;
	if (found && found->rank == 2)
		v->projected = (size_t)found->shape[s->projection_in_out];
	if (!(pos = inv_parameters_find(l->p, "%s", s->positions)))
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s'",
		                inv_parameters_path(l->p), s->positions);
	INV_TRY(size_positions(l, pos));
	inv_vit_find_block(s, l->p, 0, l->block);
	l->scales = s->scale1 && inv_parameters_find(l->p, "%s%s", l->block, s->scale1);
	l->qkv_bias =
		inv_parameters_find(l->p, "%s%sbias", l->block, s->qkv ? s->qkv : s->query);
	INV_TRY(size_mlp(l));
	return check_vit_sizes(l);
}

/* ---- Switches --------------------------------------------------------------------- */

/* Hugging Face's config.json; a whole CLIP's has one for images inside it. */
static const json_t *config_of(const inv_vit_loader *l)
{
	const json_t *config = l->s->has_config ? inv_parameters_config(l->p) : NULL;
	const json_t *inside = json_object_get(config, "vision_config");

	return inside ? inside : config;
}

static invar_status fail_config(const inv_vit_loader *l, const char *name,
                                const char *expected, const char *option)
{
	if (!option)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: the config.json beside it has an invalid %s: %s; fix it",
		                inv_parameters_path(l->p), name, expected);
	return inv_fail(
		INVAR_E_MISMATCH,
		"%s: the config.json beside it has an invalid %s: %s; fix it, or set @%s",
		inv_parameters_path(l->p), name, expected, option);
}

static invar_status set_heads(inv_vit_loader *l, const invar_encoder *e)
{
	inv_vit *v = l->v;
	uint64_t asked = inv_option_count(e->options, "heads");
	const json_t *given = json_object_get(config_of(l), "num_attention_heads");
	json_int_t said = json_integer_value(given);

	if (given && !asked && (said < 1 || said > MAX_HEADS))
		return fail_config(l, "num_attention_heads", "expected 1 to 1024", "heads N");
	v->heads = asked ? (size_t)asked : given ? (size_t)said : v->width / 64;
	if (v->heads && v->width % v->heads == 0 && (asked || said > 0 || v->width % 64 == 0))
		return INVAR_OK;
	if (v->heads && (asked || said > 0))
		return inv_fail(INVAR_E_USE,
		                "%s: its width %zu cannot be divided into %zu heads; set @heads N",
		                inv_parameters_path(l->p), v->width, v->heads);
	return inv_fail(INVAR_E_USE,
	                "%s: its width %zu is not a multiple of 64, so the number of heads is "
	                "unknown; set @heads N",
	                inv_parameters_path(l->p), v->width);
}

static invar_status set_activation(inv_vit_loader *l)
{
	const json_t *given = json_object_get(config_of(l), "hidden_act");
	const char *said = json_string_value(given);

	l->v->quick = l->s->clip;
	if (given && !said)
		return fail_config(l, "hidden_act", "expected gelu or quick_gelu", NULL);
	if (said && strcmp(said, "gelu") != 0 && strcmp(said, "quick_gelu") != 0)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: the config.json beside it has hidden_act '%.60s', but only "
		                "gelu and quick_gelu are supported",
		                inv_parameters_path(l->p), said);
	if (said)
		l->v->quick = strcmp(said, "quick_gelu") == 0;
	return INVAR_OK;
}

/* timm shares DINO's names but not how positions are fitted; its files have a head. */
static bool is_timm(const inv_vit_loader *l)
{
	return !l->s->has_config && !l->s->clip &&
	       (inv_parameters_find(l->p, "head.weight") || l->v->mean || l->v->pre_norm ||
	        inv_parameters_find(l->p, "reg_token"));
}

invar_status inv_vit_switch(inv_vit_loader *l, const invar_encoder *e)
{
	inv_vit *v = l->v;
	json_t *eps = json_object_get(config_of(l), "layer_norm_eps");
	double said = json_number_value(eps), asked = inv_option_number(e->options, "eps");
	const char *pos = inv_option_text(e->options, "pos");
	bool timm = is_timm(l);

	v->eps = (float)(timm && v->pre_norm ? 1e-5 : l->s->eps);
	if (eps && !(asked > 0) && !(said > 0 && said <= 1))
		return fail_config(l, "layer_norm_eps", "expected a number above 0 and up to 1",
		                   "eps F");
	if (eps)
		v->eps = (float)said;
	if (asked > 0)
		v->eps = (float)asked;
	v->pos = timm || (v->registers && !l->s->clip) ? INV_POS_TIMM : l->s->pos;
	v->one_size = l->s->clip && !pos;
	if (pos)
		v->pos = inv_pos_of(pos);
	v->scheme = timm ? "timm" : l->s->name;
	INV_TRY(set_activation(l));
	return set_heads(l, e);
}
