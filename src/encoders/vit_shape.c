/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_shape.c - which vision transformer a file contains.
 *
 * Sizes come from the tensors' shapes; what no shape determines (heads, eps, GELU, how
 * positions are fitted) comes from the user or the model, else from config.json if the
 * scheme has one, or open_clip_config.json, else from the scheme.
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
static invar_status size_positions(inv_vit_loader *l)
{
	inv_vit *v = l->v;
	const inv_weight_about *pos = inv_parameters_find(l->p, "%s", l->s->positions);
	bool timm = inv_parameters_find(l->p, "reg_token") != NULL;
	const size_t others[] = {timm ? 0 : 1, 1 + v->registers, timm ? 1 : 0};
	uint64_t rows;

	if (!pos)
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s'",
		                inv_parameters_path(l->p), l->s->positions);
	rows = pos->ndim >= 2 ? pos->shape[pos->ndim - 2] : 0;
	if (!v->has_class)
		v->grid = side_of_square(rows);
	for (size_t i = 0; i < 3 && v->has_class && !v->grid; i++)
		if (rows > others[i] && (v->grid = side_of_square(rows - others[i])))
			v->other_positions = others[i];
	if (v->grid)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: its tensor '%s' has positions for %" PRIu64
	                " tokens, which is not a square of patches%s",
	                inv_parameters_path(l->p), pos->name, rows,
	                v->has_class ? " plus a class token" : "");
}

static invar_status need_tensor(const inv_vit_loader *l, const inv_weight_about **out,
                                unsigned ndim, const char *layer, const char *suffix)
{
	*out = inv_parameters_find(l->p, "%s%s", layer, suffix);
	if (!*out)
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s%s'",
		                inv_parameters_path(l->p), layer, suffix);
	if ((*out)->ndim != ndim || !(*out)->cells)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its tensor '%s%s' has %u %s and %" PRIu64
		                " %s but must have %u and at least 1",
		                inv_parameters_path(l->p), layer, suffix, (*out)->ndim,
		                inv_noun((*out)->ndim, "dimension", "dimensions"), (*out)->cells,
		                inv_noun((*out)->cells, "value", "values"), ndim);
	return INVAR_OK;
}

invar_status inv_vit_size(inv_vit_loader *l)
{
	const inv_weight_about *patches, *fc1, *found;
	const inv_vit_scheme *s = l->s;
	char name[2 * INV_PARAMETER_NAME];
	inv_vit *v = l->v;

	found = inv_parameters_find(l->p, "%sweight", s->patches);
	if (s->family == INV_SIGLIP && found && found->ndim == 2)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: is a SigLIP 2 NaFlex model, whose images have any shape, which "
			"is not supported; use a SigLIP 2 of fixed resolution, such as "
			"siglip2-base-patch16-224",
			inv_parameters_path(l->p));
	INV_TRY(need_tensor(l, &patches, 4, s->patches, "weight"));
	v->width = (size_t)patches->shape[0];
	v->channels = (size_t)patches->shape[1];
	v->patch = (size_t)patches->shape[2];
	v->has_class = s->class_token != NULL;
	v->pooled = s->pool != NULL;
	while (v->depth < MAX_BLOCKS && inv_vit_find_block(s, l->p, v->depth, l->block))
		v->depth++;
	found = s->registers ? inv_parameters_find(l->p, "%s", s->registers) : NULL;
	if (!found && s->registers && !s->has_config)
		found = inv_parameters_find(l->p, "reg_token");
	v->registers = found && found->ndim >= 2 ? (size_t)found->shape[found->ndim - 2] : 0;
	v->pre_norm = s->before && inv_parameters_find(l->p, "%sweight", s->before);
	v->mean = s->mean && inv_parameters_find(l->p, "%sweight", s->mean);
	found = s->projection ? inv_parameters_find(l->p, "%s", s->projection) : NULL;
	if (found && found->ndim == 2)
		v->projected = (size_t)found->shape[s->projection_in_out];
	if (s->positions)
		INV_TRY(size_positions(l));
	inv_vit_find_block(s, l->p, 0, l->first);
	l->scales = s->scale1 && inv_parameters_find(l->p, "%s%s", l->first, s->scale1);

	/* "blocks.0.mlp.fc1.weight" [hidden, width], or gate and fc1 as one [2 hidden, width]
	 */
	if (s->gate_fc1 && inv_parameters_find(l->p, "%s%sweight", l->first, s->gate_fc1))
		l->gate_fc1 = s->gate_fc1;
	v->gated = l->gate_fc1 ||
	           (s->gate && inv_parameters_find(l->p, "%s%sweight", l->first, s->gate));
	snprintf(name, sizeof name, "%s%s", l->first, l->gate_fc1 ? l->gate_fc1 : s->fc1);
	INV_TRY(need_tensor(l, &fc1, 2, name, "weight"));
	v->hidden = (size_t)fc1->shape[0] / (l->gate_fc1 ? 2 : 1);

	/* A shape that contains a zero may claim any other size, and sizes are multiplied. */
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

/* ---- Switches --------------------------------------------------------------------- */

/* Hugging Face's config.json; a whole CLIP's has one for images inside it. */
static const json_t *config_of(const inv_vit_loader *l)
{
	const json_t *config = l->s->has_config ? inv_parameters_config(l->p) : NULL;
	const json_t *inside = json_object_get(config, "vision_config");

	if (l->open_clip)
		return json_object_get(json_object_get(l->open_clip, "model_cfg"), "vision_cfg");
	return inside ? inside : config;
}

static invar_status fail_config(const inv_vit_loader *l, const char *name,
                                const char *expected, const char *option)
{
	const char *file = l->open_clip ? "open_clip_config.json" : "config.json";

	if (!option)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: the %s beside it has an invalid %s: %s; fix it",
		                inv_parameters_path(l->p), file, name, expected);
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: the %s beside it has an invalid %s: %s; fix it, or set @%s",
	                inv_parameters_path(l->p), file, name, expected, option);
}

static invar_status set_heads(inv_vit_loader *l, const invar_encoder *e)
{
	/* Heads are 64 wide but for these, whose files may come without a config. */
	static const struct {
		inv_vit_family family;
		size_t width, head;
	} unusual[] = {{INV_SIGLIP, 1152, 72}, /* So400m */
	               {INV_CLIP, 1280, 80},   /* OpenCLIP's ViT-H, ViT-g, ViT-bigG */
	               {INV_CLIP, 1408, 88},
	               {INV_CLIP, 1664, 104}};
	inv_vit *v = l->v;
	uint64_t asked = inv_option_count(e->options, "heads");
	const json_t *config = config_of(l);
	const json_t *given = json_object_get(config, "num_attention_heads");
	const json_t *wide = json_object_get(config, "head_width"); /* OpenCLIP's */
	json_int_t said = json_integer_value(given), width = json_integer_value(wide);
	size_t head = 64;

	if (given && !asked && (said < 1 || said > MAX_HEADS))
		return fail_config(l, "num_attention_heads", "expected 1 to 1024", "heads N");
	if (wide && !asked && (width < 1 || width > MAX_SIZE))
		return fail_config(l, "head_width", "expected 1 to 65536", "heads N");
	for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
		if (unusual[i].family == l->s->family && unusual[i].width == v->width)
			head = unusual[i].head;
	if (wide)
		head = (size_t)width;
	v->heads = asked ? (size_t)asked : given ? (size_t)said : v->width / head;
	if (v->heads && v->width % v->heads == 0 &&
	    (asked || said > 0 || v->width % head == 0)) {
		if (v->rotary > 0 && v->width / v->heads % 4)
			return inv_fail(INVAR_E_USE,
			                "%s: its heads are %zu wide, but rotary positions need a "
			                "multiple of 4; set @heads N",
			                inv_parameters_path(l->p), v->width / v->heads);
		return INVAR_OK;
	}
	if (v->heads && (asked || said > 0))
		return inv_fail(INVAR_E_USE,
		                "%s: its width %zu cannot be divided into %zu heads; set @heads N",
		                inv_parameters_path(l->p), v->width, v->heads);
	return inv_fail(INVAR_E_USE,
	                "%s: its width %zu is not a multiple of %zu, so the number of heads is "
	                "unknown; set @heads N",
	                inv_parameters_path(l->p), v->width, head);
}

static invar_status set_activation(inv_vit_loader *l, const invar_encoder *e)
{
	static const struct {
		const char *name;
		inv_vit_activation is;
	} known[] = {{"gelu", INV_VIT_GELU},
	             {"quick_gelu", INV_VIT_QUICK_GELU},
	             {"gelu_pytorch_tanh", INV_VIT_TANH_GELU},
	             {"gelu_new", INV_VIT_TANH_GELU},
	             {"silu", INV_VIT_SILU},
	             {"exact", INV_VIT_GELU}, /* the words of the option */
	             {"quick", INV_VIT_QUICK_GELU},
	             {"tanh", INV_VIT_TANH_GELU}};
	const json_t *given = json_object_get(config_of(l), "hidden_act");
	const json_t *quick =
		json_object_get(json_object_get(l->open_clip, "model_cfg"), "quick_gelu");
	const char *asked = inv_option_text(e->options, "gelu"), *said;

	l->v->activation = l->gate_fc1 ? INV_VIT_SILU : l->s->activation;
	if (quick && !json_is_boolean(quick))
		return fail_config(l, "quick_gelu", "expected true or false", "gelu WORD");
	if (l->open_clip)
		l->v->activation = json_is_true(quick) ? INV_VIT_QUICK_GELU : INV_VIT_GELU;
	if (given && !asked && !json_is_string(given))
		return fail_config(l, "hidden_act", "expected a name such as gelu", "gelu WORD");
	if (asked && l->gate_fc1)
		return inv_fail(INVAR_E_USE, "%s: its MLPs are gated by SiLU; leave @gelu out",
		                inv_parameters_path(l->p));
	said = asked ? asked : json_string_value(given);
	if (!said || l->gate_fc1)
		return INVAR_OK;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(said, known[i].name) == 0) {
			l->v->activation = known[i].is;
			return INVAR_OK;
		}
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: the config.json beside it has hidden_act '%.60s', but only gelu, "
	                "quick_gelu, gelu_pytorch_tanh and silu are supported",
	                inv_parameters_path(l->p), said);
}

/* A side in pixels, or two equal ones; 0: there is none, or it is invalid. */
static size_t side_in_config(const inv_vit_loader *l)
{
	const json_t *given = json_object_get(config_of(l), "image_size");
	json_int_t side =
		json_integer_value(json_is_array(given) ? json_array_get(given, 0) : given);

	if (json_is_array(given) &&
	    (json_array_size(given) != 2 ||
	     !json_equal(json_array_get(given, 0), json_array_get(given, 1))))
		return 0;
	return side < 1 || side > INV_MAX_SIDE ? 0 : (size_t)side;
}

/* 384 for patches of 14, although only 378 pixels are used. */
size_t inv_vit_side(const inv_vit_loader *l)
{
	size_t side = side_in_config(l);

	return side / l->v->patch == l->v->grid ? side : l->v->patch * l->v->grid;
}

invar_status inv_vit_switch(inv_vit_loader *l, const invar_encoder *e)
{
	static const size_t usual_side = 224;
	static const double usual_base = 100; /* of rotary positions */
	inv_vit *v = l->v;
	const json_t *config = config_of(l), *base = json_object_get(config, "rope_theta");
	const json_t *eps = json_object_get(config, "layer_norm_eps");
	double said = json_number_value(eps), asked = inv_option_number(e->options, "eps");
	const char *pos = inv_option_text(e->options, "pos");
	size_t side = side_in_config(l);
	/* It shares DINO's names but not how positions are fitted; its files have a head. */
	bool timm = !l->s->has_config && l->s->family == INV_VIT &&
	            (inv_parameters_find(l->p, "head.weight") || v->mean || v->pre_norm ||
	             inv_parameters_find(l->p, "reg_token"));

	if (eps && !(asked > 0) && !(said > 0 && said <= 1))
		return fail_config(l, "layer_norm_eps", "expected a number above 0 and up to 1",
		                   "eps F");
	v->eps = (float)(asked > 0             ? asked
	                 : eps                 ? said
	                 : timm && v->pre_norm ? 1e-5
	                                       : l->s->eps);
	v->pos = timm || (v->registers && l->s->family == INV_VIT) ? INV_POS_TIMM : l->s->pos;
	v->one_size = l->s->family != INV_VIT && !pos;
	if (pos && !l->s->positions)
		return inv_fail(INVAR_E_USE,
		                "%s: its positions are rotary and fit any size; leave @pos out",
		                inv_parameters_path(l->p));
	if (pos)
		v->pos = strcmp(pos, "timm") == 0 ? INV_POS_TIMM
		         : strcmp(pos, "hf") == 0 ? INV_POS_HF
		                                  : INV_POS_DINO;

	/* No tensor shows the base, or the size of the images that it was trained on. */
	if (!l->s->positions) {
		if (!base) /* newer files have it here */
			base =
				json_object_get(json_object_get(config, "rope_parameters"), "rope_theta");
		v->rotary = base ? json_number_value(base) : usual_base;
		if (!(v->rotary > 0 && v->rotary < 1e9))
			return fail_config(l, "rope_theta", "expected a number above 0", NULL);
		if (json_object_get(config, "image_size") && side < v->patch)
			return fail_config(l, "image_size", "expected the side of square images", NULL);
		v->grid = (side ? side : usual_side) / v->patch;
		v->grid += !v->grid;
	}
	INV_TRY(set_activation(l, e));
	return set_heads(l, e);
}
