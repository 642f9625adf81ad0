/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_names.c - what the authors of vision transformers call their tensors.
 *
 * A scheme is one entry of a table: DINO's names, which timm and DINOv2 share, Hugging
 * Face's for ViT, DINOv2, DINOv3, CLIP and SigLIP, and OpenAI's own for CLIP, which
 * OpenCLIP shares.
 */
#include "encoders/vit_names.h"

#include <stdio.h>
#include <string.h>

/* What several of Hugging Face's have in common. */
#define HF_FILE                                                           \
	.has_config = true,                                                   \
	.own = {"embeddings.",     "encoder.", "layernorm.", "pre_layrnorm.", \
	        "post_layernorm.", "layer.",   "norm.",      "head."},        \
	.ignored = {"embeddings.mask_token", "embeddings.position_ids"}
#define HF_VIT                                                                            \
	.class_token = "embeddings.cls_token", .positions = "embeddings.position_embeddings", \
	.patches = "embeddings.patch_embeddings.projection.", .after = "layernorm.",          \
	.block = "encoder.layer.%zu.", .query = "attention.attention.query.",                 \
	.key = "attention.attention.key.", .value = "attention.attention.value.",             \
	.out = "attention.output.dense.", .pos = INV_POS_HF, HF_FILE
#define HF_CLIP                                                                            \
	.positions = "embeddings.position_embedding.weight",                                   \
	.patches = "embeddings.patch_embedding.", .after = "post_layernorm.",                  \
	.block = "encoder.layers.%zu.", .norm1 = "layer_norm1.", .query = "self_attn.q_proj.", \
	.key = "self_attn.k_proj.", .value = "self_attn.v_proj.",                              \
	.out = "self_attn.out_proj.", .norm2 = "layer_norm2.", .fc1 = "mlp.fc1.",              \
	.fc2 = "mlp.fc2.", .pos = INV_POS_HF, HF_FILE

static const inv_vit_scheme schemes[] = {
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
     .gate_fc1 = "mlp.w12.",
     .gated_fc2 = "mlp.w3.",
     .scale2 = "ls2.gamma",
     .eps = 1e-6,
     .pos = INV_POS_DINO,
     .own = {"blocks.", "cls_token", "dist_token", "patch_embed.", "pos_embed", "reg",
             "norm.", "norm_pre.", "fc_norm."},
     .ignored = {"mask_token", "head"}},
	{.name = "Hugging Face ViT",
     .norm1 = "layernorm_before.",
     .norm2 = "layernorm_after.",
     .fc1 = "intermediate.dense.",
     .fc2 = "output.dense.",
     .eps = 1e-12,
     HF_VIT},
	{.name = "Hugging Face DINOv2",
     .registers = "embeddings.register_tokens",
     .norm1 = "norm1.",
     .scale1 = "layer_scale1.lambda1",
     .norm2 = "norm2.",
     .fc1 = "mlp.fc1.",
     .fc2 = "mlp.fc2.",
     .gate_fc1 = "mlp.weights_in.",
     .gated_fc2 = "mlp.weights_out.",
     .scale2 = "layer_scale2.lambda1",
     .eps = 1e-6,
     HF_VIT},
	{.name = "Hugging Face DINOv3",
     .class_token = "embeddings.cls_token",
     .patches = "embeddings.patch_embeddings.",
     .registers = "embeddings.register_tokens",
     .after = "norm.",
     .block = "layer.%zu.",
     .norm1 = "norm1.",
     .query = "attention.q_proj.",
     .key = "attention.k_proj.",
     .value = "attention.v_proj.",
     .out = "attention.o_proj.",
     .scale1 = "layer_scale1.lambda1",
     .norm2 = "norm2.",
     .gate = "mlp.gate_proj.",
     .fc1 = "mlp.up_proj.",
     .fc2 = "mlp.down_proj.",
     .scale2 = "layer_scale2.lambda1",
     .biases_optional = true,
     .eps = 1e-5,
     HF_FILE},
	{.name = "Hugging Face SigLIP",
     .family = INV_SIGLIP,
     .without = "embeddings.class_embedding",
     .pool = "head.",
     .eps = 1e-6,
     .activation = INV_VIT_TANH_GELU,
     HF_CLIP},
	{.name = "Hugging Face CLIP",
     .family = INV_CLIP,
     .class_token = "embeddings.class_embedding",
     .before = "pre_layrnorm.",
     .projection = "visual_projection.weight",
     .eps = 1e-5,
     .activation = INV_VIT_QUICK_GELU,
     HF_CLIP},
	{.name = "CLIP",
     .family = INV_CLIP,
     .class_token = "class_embedding",
     .positions = "positional_embedding",
     .patches = "conv1.",
     .before = "ln_pre.",
     .after = "ln_post.",
     .projection = "proj",
     .projection_in_out = true,
     .block = "transformer.resblocks.%zu.",
     .norm1 = "ln_1.",
     .qkv = "attn.in_proj_",
     .out = "attn.out_proj.",
     .scale1 = "ls_1.gamma",
     .norm2 = "ln_2.",
     .fc1 = "mlp.c_fc.",
     .fc2 = "mlp.c_proj.",
     .scale2 = "ls_2.gamma",
     .eps = 1e-5,
     .pos = INV_POS_TIMM,
     .activation = INV_VIT_QUICK_GELU,
     .own = {"transformer.", "conv1.", "ln_pre.", "ln_post.", "class_embedding",
             "positional_embedding", "attn_pool"}},
};

/* ---- Recognising ------------------------------------------------------------------ */

bool inv_vit_find_block(const inv_vit_scheme *s, const inv_parameters *p, size_t i,
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

const inv_vit_scheme *inv_vit_find_scheme(const inv_parameters *p)
{
	char block[INV_PARAMETER_NAME];

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (inv_parameters_find(p, "%sweight", schemes[i].patches) &&
		    inv_vit_find_block(&schemes[i], p, 0, block) &&
		    !(schemes[i].without && inv_parameters_find(p, "%s", schemes[i].without)))
			return &schemes[i];
	return NULL;
}

static bool has_family(const inv_parameters *p, inv_vit_family family)
{
	const inv_vit_scheme *s = inv_vit_find_scheme(p);

	return s && s->family == family;
}

bool inv_vit_recognise(const inv_parameters *p)
{
	return has_family(p, INV_VIT);
}

bool inv_clip_recognise(const inv_parameters *p)
{
	return has_family(p, INV_CLIP);
}

bool inv_siglip_recognise(const inv_parameters *p)
{
	return has_family(p, INV_SIGLIP);
}
