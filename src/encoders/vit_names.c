/*
 * vit_names.c - what the authors of vision transformers call their tensors.
 *
 * A scheme is one entry of a table: DINO's names, which timm and DINOv2 share, Hugging
 * Face's for ViT, DINOv2 and CLIP, and OpenAI's own for CLIP. Sizes are those of the
 * tensors; what no shape tells (heads, eps, the way of fitting positions) comes from the
 * user or the model, else from config.json where the scheme has one, else from the scheme.
 *
 * Names of parts end where "weight" or "bias" follows.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "encoders/vit.h"

enum {
	MOST_LISTED = 10,
	MOST_CONSTANTS = 4,
	MOST_HEADS = 1024,
	MOST_BLOCKS = 1000, /* what is behind them is left over, and refused */
	MOST_SIZE = 1 << 16 /* of any side of a matrix */
};

/* Of what is taken from pixels and what divides them. */
static const double most_constant = 1e6, least_std = 1e-9;

typedef struct scheme {
	const char *name;
	const char *class_token, *positions, *patches, *registers, *before, *after, *mean;
	const char *projection;
	bool projection_turned; /* [in, out] in the file */
	const char *block;      /* with %zu */
	const char *norm1, *qkv, *query, *key, *value, *out, *scale1;
	const char *norm2, *fc1, *fc2, *scale2;
	double eps;
	inv_pos pos;
	bool clip, has_config;
	const char *own[MOST_LISTED], *ignored[MOST_LISTED];
} scheme;

#define HF_OWN                                                                      \
	{                                                                               \
		"embeddings.", "encoder.", "layernorm.", "pre_layrnorm.", "post_layernorm." \
	}
#define HF_IGNORED                                         \
	{                                                      \
		"embeddings.mask_token", "embeddings.position_ids" \
	}

static const scheme schemes[] = {
	{.name = "DINO",
     .class_token = "cls_token",
     .positions = "pos_embed",
     .patches = "patch_embed.proj.",
     .registers = "register_tokens",
     .before = "norm_pre.",
     .after = "norm.",
     .mean = "fc_norm.",
     .block = "blocks.%zu.",
     .norm1 = "norm1.",
     .qkv = "attn.qkv.",
     .out = "attn.proj.",
     .scale1 = "ls1.gamma",
     .norm2 = "norm2.",
     .fc1 = "mlp.fc1.",
     .fc2 = "mlp.fc2.",
     .scale2 = "ls2.gamma",
     .eps = 1e-6,
     .pos = INV_POS_DINO,
     .own = {"blocks.", "cls_token", "dist_token", "patch_embed.", "pos_embed", "reg",
             "norm.", "norm_pre.", "fc_norm."},
     .ignored = {"mask_token", "head"}},
	{.name = "Hugging Face ViT",
     .class_token = "embeddings.cls_token",
     .positions = "embeddings.position_embeddings",
     .patches = "embeddings.patch_embeddings.projection.",
     .after = "layernorm.",
     .block = "encoder.layer.%zu.",
     .norm1 = "layernorm_before.",
     .query = "attention.attention.query.",
     .key = "attention.attention.key.",
     .value = "attention.attention.value.",
     .out = "attention.output.dense.",
     .norm2 = "layernorm_after.",
     .fc1 = "intermediate.dense.",
     .fc2 = "output.dense.",
     .eps = 1e-12,
     .pos = INV_POS_HF,
     .has_config = true,
     .own = HF_OWN,
     .ignored = HF_IGNORED},
	{.name = "Hugging Face DINOv2",
     .class_token = "embeddings.cls_token",
     .positions = "embeddings.position_embeddings",
     .patches = "embeddings.patch_embeddings.projection.",
     .registers = "embeddings.register_tokens",
     .after = "layernorm.",
     .block = "encoder.layer.%zu.",
     .norm1 = "norm1.",
     .query = "attention.attention.query.",
     .key = "attention.attention.key.",
     .value = "attention.attention.value.",
     .out = "attention.output.dense.",
     .scale1 = "layer_scale1.lambda1",
     .norm2 = "norm2.",
     .fc1 = "mlp.fc1.",
     .fc2 = "mlp.fc2.",
     .scale2 = "layer_scale2.lambda1",
     .eps = 1e-6,
     .pos = INV_POS_HF,
     .has_config = true,
     .own = HF_OWN,
     .ignored = HF_IGNORED},
	{.name = "Hugging Face CLIP",
     .class_token = "embeddings.class_embedding",
     .positions = "embeddings.position_embedding.weight",
     .patches = "embeddings.patch_embedding.",
     .before = "pre_layrnorm.",
     .after = "post_layernorm.",
     .projection = "visual_projection.weight",
     .block = "encoder.layers.%zu.",
     .norm1 = "layer_norm1.",
     .query = "self_attn.q_proj.",
     .key = "self_attn.k_proj.",
     .value = "self_attn.v_proj.",
     .out = "self_attn.out_proj.",
     .norm2 = "layer_norm2.",
     .fc1 = "mlp.fc1.",
     .fc2 = "mlp.fc2.",
     .eps = 1e-5,
     .pos = INV_POS_HF,
     .clip = true,
     .has_config = true,
     .own = HF_OWN,
     .ignored = HF_IGNORED},
	{.name = "CLIP",
     .class_token = "class_embedding",
     .positions = "positional_embedding",
     .patches = "conv1.",
     .before = "ln_pre.",
     .after = "ln_post.",
     .projection = "proj",
     .projection_turned = true,
     .block = "transformer.resblocks.%zu.",
     .norm1 = "ln_1.",
     .qkv = "attn.in_proj_",
     .out = "attn.out_proj.",
     .norm2 = "ln_2.",
     .fc1 = "mlp.c_fc.",
     .fc2 = "mlp.c_proj.",
     .eps = 1e-5,
     .pos = INV_POS_TIMM,
     .clip = true,
     .own = {"transformer.", "conv1.", "ln_pre.", "ln_post.", "class_embedding",
             "positional_embedding"}},
};

/* What is being read: the scheme's entry and the file. */
typedef struct loader {
	const scheme *s;
	inv_vit *v;
	inv_parameters *p;
	char block[INV_PARAMETER_NAME]; /* "blocks.3." */
	bool qkv_bias, scales;
	float *stored; /* room for a matrix as the file has it, */
	float *gamma;  /* and behind it for a layer scale */
} loader;

/* ---- Recognising ------------------------------------------------------------------ */

/*
 * Where the names of block i begin. DINOv2 cuts long networks into chunks,
 * "blocks.CHUNK.i.", and goes on counting from chunk to chunk.
 */
static bool find_block(const scheme *s, const inv_parameters *p, size_t i,
                       char out[INV_PARAMETER_NAME])
{
	int root = (int)(strchr(s->block, '%') - s->block);
	char norm[INV_PARAMETER_NAME + 32];

	for (size_t chunk = 0; chunk <= i + 1; chunk++) {
		if (chunk == 0)
			snprintf(out, INV_PARAMETER_NAME, "%.*s%zu.", root, s->block, i);
		else
			snprintf(out, INV_PARAMETER_NAME, "%.*s%zu.%zu.", root, s->block, chunk - 1, i);
		snprintf(norm, sizeof norm, "%s%sweight", out, s->norm1);
		if (inv_parameters_find_inside(p, norm))
			return true;
	}
	return false;
}

static const scheme *find_scheme(const inv_parameters *p)
{
	char block[INV_PARAMETER_NAME];

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (inv_parameters_find(p, "%sweight", schemes[i].patches) &&
		    find_block(&schemes[i], p, 0, block))
			return &schemes[i];
	return NULL;
}

bool inv_vit_recognise(const inv_parameters *p)
{
	const scheme *s = find_scheme(p);

	return s && !s->clip;
}

bool inv_clip_recognise(const inv_parameters *p)
{
	const scheme *s = find_scheme(p);

	return s && s->clip;
}

/* ---- Sizes ------------------------------------------------------------------------ */

static size_t side_of_square(uint64_t cells)
{
	size_t side = (size_t)(sqrt((double)cells) + 0.5);

	return side && (uint64_t)side * side == cells ? side : 0;
}

/* One row for the class token, or for registers as well, or for neither. */
static invar_status size_positions(loader *l, const invar_weight *pos)
{
	inv_vit *v = l->v;
	uint64_t rows = pos->rank >= 2 ? pos->shape[pos->rank - 2] : 0;
	const size_t others[] = {1, 1 + v->registers, 0};

	for (size_t i = 0; i < 3 && !v->grid; i++)
		if (rows > others[i] && (v->grid = side_of_square(rows - others[i])))
			v->other_positions = others[i];
	if (v->grid)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: its tensor '%s' has positions of %" PRIu64
	                " tokens, which are no square of patches and a class token",
	                inv_parameters_path(l->p), pos->name, rows);
}

static invar_status need(const loader *l, const invar_weight **out, unsigned rank,
                         const char *part, const char *rest)
{
	*out = inv_parameters_find(l->p, "%s%s", part, rest);
	if (!*out)
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s%s'",
		                inv_parameters_path(l->p), part, rest);
	if ((*out)->rank != rank || !(*out)->cells)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its tensor '%s%s' has %u dimensions and %" PRIu64
		                " values but must have %u and some",
		                inv_parameters_path(l->p), part, rest, (*out)->rank, (*out)->cells,
		                rank);
	return INVAR_OK;
}

/* "blocks.0.mlp.fc1.weight" [hidden, width] */
static invar_status size_mlp(loader *l)
{
	static const char *const gated[] = {"w12.weight", "weights_in.weight"};
	char name[2 * INV_PARAMETER_NAME];
	const invar_weight *fc1;
	invar_status st;

	for (size_t i = 0; i < 2; i++)
		if (inv_parameters_find(l->p, "%smlp.%s", l->block, gated[i]))
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: its tensor '%smlp.%s' belongs to a gated MLP (SwiGLU), "
			                "which is not supported; take a smaller DINOv2",
			                inv_parameters_path(l->p), l->block, gated[i]);
	snprintf(name, sizeof name, "%s%s", l->block, l->s->fc1);
	if ((st = need(l, &fc1, 2, name, "weight")) == INVAR_OK)
		l->v->hidden = (size_t)fc1->shape[0];
	return st;
}

/* A shape with a zero in it may claim anything, and sizes are multiplied. */
static invar_status check_sizes(const loader *l)
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
		if (sizes[i].is > MOST_SIZE)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: its %s is %zu, more than the %d of any ViT known here",
			                inv_parameters_path(l->p), sizes[i].what, sizes[i].is,
			                MOST_SIZE);
	return INVAR_OK;
}

static invar_status size_network(loader *l)
{
	const invar_weight *patches, *pos, *found;
	const scheme *s = l->s;
	inv_vit *v = l->v;
	invar_status st = need(l, &patches, 4, s->patches, "weight");

	if (st != INVAR_OK)
		return st;
	v->width = (size_t)patches->shape[0];
	v->channels = (size_t)patches->shape[1];
	v->patch = (size_t)patches->shape[2];
	while (v->depth < MOST_BLOCKS && find_block(s, l->p, v->depth, l->block))
		v->depth++;
	found = s->registers ? inv_parameters_find(l->p, "%s", s->registers) : NULL;
	if (!found && s->registers && !s->has_config)
		found = inv_parameters_find(l->p, "reg_token");
	v->registers = found && found->rank >= 2 ? (size_t)found->shape[found->rank - 2] : 0;
	v->pre_norm = s->before && inv_parameters_find(l->p, "%sweight", s->before);
	v->mean = s->mean && inv_parameters_find(l->p, "%sweight", s->mean);
	found = s->projection ? inv_parameters_find(l->p, "%s", s->projection) : NULL;
	if (found && found->rank == 2)
		v->projected = (size_t)found->shape[s->projection_turned];
	if (!(pos = inv_parameters_find(l->p, "%s", s->positions)))
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%s'",
		                inv_parameters_path(l->p), s->positions);
	if ((st = size_positions(l, pos)) != INVAR_OK)
		return st;
	find_block(s, l->p, 0, l->block);
	l->scales = s->scale1 && inv_parameters_find(l->p, "%s%s", l->block, s->scale1);
	l->qkv_bias =
		inv_parameters_find(l->p, "%s%sbias", l->block, s->qkv ? s->qkv : s->query);
	st = size_mlp(l);
	return st == INVAR_OK ? check_sizes(l) : st;
}

/* ---- Switches --------------------------------------------------------------------- */

/* config.json of Hugging Face; that of a whole CLIP has one inside for images. */
static const json_t *config_of(const loader *l)
{
	const json_t *config = l->s->has_config ? inv_parameters_config(l->p) : NULL;
	const json_t *inside = json_object_get(config, "vision_config");

	return inside ? inside : config;
}

static invar_status refuse_config(const loader *l, const char *name, const char *expected)
{
	return inv_fail(INVAR_E_MISMATCH, "%s: the config.json beside it has no fit %s: %s",
	                inv_parameters_path(l->p), name, expected);
}

static invar_status set_heads(loader *l, const invar_encoder *e)
{
	inv_vit *v = l->v;
	const json_t *given = json_object_get(config_of(l), "num_attention_heads");
	json_int_t said = json_integer_value(given);

	if (given && !e->opts.heads && (said < 1 || said > MOST_HEADS))
		return refuse_config(l, "num_attention_heads",
		                     "1 to 1024 were expected; mend it, or give --heads N");
	v->heads = e->opts.heads ? (size_t)e->opts.heads : given ? (size_t)said : v->width / 64;
	if (v->heads && v->width % v->heads == 0 &&
	    (e->opts.heads || said > 0 || v->width % 64 == 0))
		return INVAR_OK;
	if (v->heads && (e->opts.heads || said > 0))
		return inv_fail(INVAR_E_USE,
		                "%s: its width %zu cannot be cut into %zu heads; give --heads N",
		                inv_parameters_path(l->p), v->width, v->heads);
	return inv_fail(INVAR_E_USE,
	                "%s: its width %zu is no multiple of 64, so it does not tell the "
	                "number of heads; give --heads N",
	                inv_parameters_path(l->p), v->width);
}

static invar_status set_activation(loader *l)
{
	const json_t *given = json_object_get(config_of(l), "hidden_act");
	const char *said = json_string_value(given);

	l->v->quick = l->s->clip;
	if (given && !said)
		return refuse_config(l, "hidden_act", "gelu or quick_gelu was expected; mend it");
	if (said && strcmp(said, "gelu") != 0 && strcmp(said, "quick_gelu") != 0)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: the config.json beside it has hidden_act '%.60s' but only gelu "
			"and quick_gelu are known",
			inv_parameters_path(l->p), said);
	if (said)
		l->v->quick = strcmp(said, "quick_gelu") == 0;
	return INVAR_OK;
}

/* timm shares DINO's names but not its way with positions; its files have a head. */
static bool is_timm(const loader *l)
{
	return !l->s->has_config && !l->s->clip &&
	       (inv_parameters_find(l->p, "head.weight") || l->v->mean || l->v->pre_norm ||
	        inv_parameters_find(l->p, "reg_token"));
}

static invar_status set_switches(loader *l, const invar_encoder *e)
{
	inv_vit *v = l->v;
	json_t *eps = json_object_get(config_of(l), "layer_norm_eps");
	double said = json_number_value(eps);
	bool timm = is_timm(l);
	invar_status st;

	v->eps = (float)(timm && v->pre_norm ? 1e-5 : l->s->eps);
	if (eps && !(e->opts.eps > 0) && !(said > 0 && said <= 1))
		return refuse_config(l, "layer_norm_eps",
		                     "a number above 0 and up to 1 was expected; mend it, or give "
		                     "--eps F");
	if (eps)
		v->eps = (float)said;
	if (e->opts.eps > 0)
		v->eps = (float)e->opts.eps;
	v->pos = timm || (v->registers && !l->s->clip) ? INV_POS_TIMM : l->s->pos;
	v->one_size = l->s->clip && !e->opts.pos;
	if (e->opts.pos)
		v->pos = inv_pos_of(e->opts.pos);
	v->scheme = timm ? "timm" : l->s->name;
	if ((st = set_activation(l)) != INVAR_OK)
		return st;
	return set_heads(l, e);
}

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

/* Twice: to add up, and to give out. */
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
		inv_vit_block none, *b = a->base ? &v->blocks[i] : &none;

		place_norm(a, d, &b->norm1);
		place_linear(a, 3 * d, d, &b->qkv);
		place_linear(a, d, d, &b->out);
		place_norm(a, d, &b->norm2);
		place_linear(a, v->hidden, d, &b->fc1);
		place_linear(a, d, v->hidden, &b->fc2);
	}
}

static invar_status take(loader *l, const char *before, const char *part, const char *rest,
                         unsigned rank, const uint64_t *shape, float *out)
{
	char name[2 * INV_PARAMETER_NAME];

	snprintf(name, sizeof name, "%s%s%s", before, part, rest);
	return inv_parameters_take(l->p, name, rank, shape, out);
}

static invar_status take_norm(loader *l, const char *before, const char *part,
                              inv_vit_norm *at)
{
	uint64_t shape[1] = {l->v->width};
	invar_status st = take(l, before, part, "weight", 1, shape, at->weight);

	return st == INVAR_OK ? take(l, before, part, "bias", 1, shape, at->bias) : st;
}

static invar_status take_bias(loader *l, const char *part, size_t out, bool is_there,
                              float *bias)
{
	uint64_t shape[1] = {out};

	if (is_there)
		return take(l, l->block, part, "bias", 1, shape, bias);
	memset(bias, 0, out * sizeof *bias);
	return INVAR_OK;
}

/* x + gamma (W h + b) is x + (gamma W) h + gamma b; W is in l->stored. */
static invar_status scale_stored(loader *l, const char *part, inv_vit_linear at)
{
	uint64_t shape[1] = {at.weight.n};
	invar_status st = take(l, l->block, part, "", 1, shape, l->gamma);

	for (size_t o = 0; st == INVAR_OK && o < at.weight.n; o++) {
		for (size_t i = 0; i < at.weight.k; i++)
			l->stored[o * at.weight.k + i] *= l->gamma[o];
		at.bias[o] *= l->gamma[o];
	}
	return st;
}

/* `scale` is the name of a layer scale that follows, or NULL. */
static invar_status take_linear(loader *l, const char *part, const char *scale,
                                inv_vit_linear at)
{
	uint64_t shape[2] = {at.weight.n, at.weight.k};
	invar_status st = take(l, l->block, part, "weight", 2, shape, l->stored);

	if (st == INVAR_OK)
		st = take_bias(l, part, at.weight.n, true, at.bias);
	if (st == INVAR_OK && scale && l->scales)
		st = scale_stored(l, scale, at);
	if (st == INVAR_OK)
		inv_panels_fill_turned(&l->v->kernels, &at.weight, l->stored, at.weight.k);
	return st;
}

/* Queries, keys and values as one matrix, whether the file has them so or apart. */
static invar_status take_qkv(loader *l, inv_vit_linear at)
{
	const scheme *s = l->s;
	const char *const names[3] = {s->qkv ? s->qkv : s->query, s->key, s->value};
	size_t d = l->v->width, parts = s->qkv ? 1 : 3, out = 3 * d / parts;
	uint64_t shape[2] = {out, d};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < parts && st == INVAR_OK; i++) {
		st = take(l, l->block, names[i], "weight", 2, shape, l->stored + i * out * d);
		if (st == INVAR_OK)
			st = take_bias(l, names[i], out, l->qkv_bias, at.bias + i * out);
	}
	if (st == INVAR_OK)
		inv_panels_fill_turned(&l->v->kernels, &at.weight, l->stored, d);
	return st;
}

static invar_status take_block(loader *l, size_t i)
{
	const scheme *s = l->s;
	inv_vit_block *b = &l->v->blocks[i];
	invar_status st;

	find_block(s, l->p, i, l->block);
	if ((st = take_norm(l, l->block, s->norm1, &b->norm1)) != INVAR_OK ||
	    (st = take_qkv(l, b->qkv)) != INVAR_OK ||
	    (st = take_linear(l, s->out, s->scale1, b->out)) != INVAR_OK ||
	    (st = take_norm(l, l->block, s->norm2, &b->norm2)) != INVAR_OK ||
	    (st = take_linear(l, s->fc1, NULL, b->fc1)) != INVAR_OK)
		return st;
	return take_linear(l, s->fc2, s->scale2, b->fc2);
}

static invar_status take_patches(loader *l)
{
	inv_vit *v = l->v;
	const uint64_t shape[4] = {v->width, v->channels, v->patch, v->patch};
	invar_status st = take(l, "", l->s->patches, "weight", 4, shape, l->stored);

	if (st == INVAR_OK)
		inv_panels_fill_turned(&v->kernels, &v->patches.weight, l->stored,
		                       v->patches.weight.k);
	/* CLIP's have none, as a norm follows; others need theirs. */
	if (v->pre_norm && !inv_parameters_find(l->p, "%sbias", l->s->patches)) {
		memset(v->patches.bias, 0, v->width * sizeof *v->patches.bias);
		return st;
	}
	return st == INVAR_OK ? take(l, "", l->s->patches, "bias", 1, shape, v->patches.bias)
	                      : st;
}

static invar_status take_tokens(loader *l)
{
	inv_vit *v = l->v;
	const uint64_t one[1] = {v->width}, some[2] = {v->registers, v->width};
	const uint64_t all[2] = {(uint64_t)v->grid * v->grid + v->other_positions, v->width};
	invar_status st = take(l, "", l->s->class_token, "", 1, one, v->class_token);
	const char *registers = l->s->registers;

	if (st == INVAR_OK)
		st = take(l, "", l->s->positions, "", 2, all, v->positions);
	if (st != INVAR_OK || !v->registers)
		return st;
	if (!inv_parameters_find(l->p, "%s", registers))
		registers = "reg_token";
	/* A single register is [1, 1, d], whose ones in front are nothing. */
	return v->registers == 1 ? take(l, "", registers, "", 1, one, v->register_tokens)
	                         : take(l, "", registers, "", 2, some, v->register_tokens);
}

static invar_status take_projection(loader *l)
{
	inv_vit *v = l->v;
	const uint64_t as_used[2] = {v->width, v->projected};
	const uint64_t turned[2] = {v->projected, v->width};
	bool used = l->s->projection_turned;
	invar_status st;

	if (!v->projected)
		return INVAR_OK;
	st = take(l, "", l->s->projection, "", 2, used ? as_used : turned, l->stored);
	if (st == INVAR_OK && used)
		inv_panels_fill(&v->projection, l->stored, v->projected);
	else if (st == INVAR_OK)
		inv_panels_fill_turned(&v->kernels, &v->projection, l->stored, v->width);
	return st;
}

static size_t largest_matrix(const inv_vit *v)
{
	size_t in = v->channels * v->patch * v->patch;

	in = in < 3 * v->width ? 3 * v->width : in;
	in = in < v->hidden ? v->hidden : in;
	in = in < v->projected ? v->projected : in;
	return in * v->width;
}

static invar_status take_all(loader *l)
{
	inv_vit *v = l->v;
	invar_status st;

	place_tensors(v);
	if ((st = inv_arena_commit(&v->memory)) != INVAR_OK)
		return st;
	place_tensors(v);
	if (!(l->stored = inv_alloc((largest_matrix(v) + v->width) * sizeof *l->stored)))
		return inv_fail(INVAR_E_NOMEM, "%s: no memory to read it",
		                inv_parameters_path(l->p));
	l->gamma = l->stored + largest_matrix(v);
	if ((st = take_patches(l)) != INVAR_OK || (st = take_tokens(l)) != INVAR_OK)
		return st;
	if (v->pre_norm)
		st = take_norm(l, "", l->s->before, &v->before);
	if (st == INVAR_OK)
		st = take_norm(l, "", v->mean ? l->s->mean : l->s->after, &v->after);
	for (size_t i = 0; i < v->depth && st == INVAR_OK; i++)
		st = take_block(l, i);
	if (st == INVAR_OK)
		st = take_projection(l);
	for (size_t i = 0; i < MOST_LISTED && l->s->ignored[i]; i++)
		inv_parameters_ignore(l->p, l->s->ignored[i]);
	return st == INVAR_OK
	           ? inv_parameters_finish(l->p, l->s->clip ? "CLIP" : "ViT", l->s->own)
	           : st;
}

/* ---- What images it wants --------------------------------------------------------- */

static size_t print_numbers(const json_t *list, char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < json_array_size(list) && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%.9g", i ? "," : "",
		                         json_number_value(json_array_get(list, i)));
	return used;
}

/* As many numbers as channels, above `low`. */
static bool are_constants(const json_t *list, size_t channels, double low)
{
	bool fine = json_array_size(list) == channels && channels <= MOST_CONSTANTS;

	for (size_t i = 0; fine && i < channels; i++) {
		const json_t *one = json_array_get(list, i);

		fine = json_is_number(one) && json_number_value(one) > low &&
		       json_number_value(one) < most_constant;
	}
	return fine;
}

static invar_status refuse_constants(const loader *l)
{
	return inv_fail(
		INVAR_E_MISMATCH,
		"%s: the preprocessor_config.json beside it has no fit image_mean and "
		"image_std: %zu numbers each were expected, the latter above 0; mend or "
		"remove it",
		inv_parameters_path(l->p), l->v->channels);
}

/* image_mean and image_std of preprocessor_config.json beside the weights. */
static invar_status read_preprocessor(loader *l, const char **normalisation)
{
	char *text = l->v->normalisation;
	size_t room = sizeof l->v->normalisation, used;
	json_t *said;
	const json_t *mean, *std;
	invar_status st = inv_parameters_beside(l->p, "preprocessor_config.json", &said);

	if (st != INVAR_OK || !said)
		return st;
	mean = json_object_get(said, "image_mean");
	std = json_object_get(said, "image_std");
	/* A number takes 16 characters at most, so all of them fit. */
	if ((mean || std) && !(are_constants(mean, l->v->channels, -most_constant) &&
	                       are_constants(std, l->v->channels, least_std))) {
		st = refuse_constants(l);
	} else if (mean) {
		used = print_numbers(mean, text, room);
		used += (size_t)snprintf(text + used, room - used, "/");
		print_numbers(std, text + used, room - used);
		*normalisation = text;
	}
	json_decref(said);
	return st;
}

invar_status inv_vit_load(inv_vit *v, invar_encoder *e, inv_parameters *p)
{
	loader l = {.s = find_scheme(p), .v = v, .p = p};
	invar_status st;

	if ((st = size_network(&l)) != INVAR_OK)
		return st;
	e->measures = (inv_measures){.width = v->projected ? v->projected : v->width,
	                             .patch = v->patch,
	                             .depth = v->depth,
	                             .registers = v->registers};
	if ((st = set_switches(&l, e)) != INVAR_OK)
		return st;
	st = take_all(&l);
	inv_free(l.stored);
	if (st != INVAR_OK)
		return st;
	e->input.resize = e->input.side = v->patch * v->grid;
	e->input.filter = INV_BICUBIC;
	e->input.keeps_grey = v->channels == 1;
	e->input.normalisation = l.s->clip ? "clip" : "imagenet";
	return l.s->has_config ? read_preprocessor(&l, &e->input.normalisation) : INVAR_OK;
}
