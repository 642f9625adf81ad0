/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit.h - a vision transformer: its sizes, its switches and its weights.
 *
 * One forward pass serves DINO, timm, DINOv2 (layer scale, registers), DINOv3 (rotary
 * positions, gated MLPs), Hugging Face's ViT, and the image sides of CLIP and SigLIP.
 * vit_names.c knows what each of them calls its tensors, vit_shape.c finds out which
 * network it is, vit_load.c reads the tensors, vit.c runs it and vit_onnx.c writes it as
 * ONNX.
 */
#ifndef INV_VIT_H
#define INV_VIT_H

#include "base/memory.h"
#include "encoders/encoder.h"
#include "encoders/positions.h"
#include "math/panels.h"

typedef struct inv_vit_norm {
	float *weight, *bias; /* [width] */
} inv_vit_norm;

typedef struct inv_vit_linear {
	inv_panels weight; /* [in, out] */
	float *bias;       /* [out]; zeros if the file has none */
} inv_vit_linear;

/* Layer scale is not a separate step: it is multiplied into out and fc2. */
typedef struct inv_vit_block {
	inv_vit_norm norm1, norm2;
	inv_vit_linear qkv, out;
	inv_vit_linear gate, fc1, fc2; /* gate: only of gated MLPs */
} inv_vit_block;

/* GELU is t Phi(t), t sigmoid(1.702 t), or with a tanh for Phi; SiLU is t sigmoid(t). */
typedef enum inv_vit_activation {
	INV_VIT_GELU,
	INV_VIT_QUICK_GELU,
	INV_VIT_TANH_GELU,
	INV_VIT_SILU
} inv_vit_activation;

typedef struct inv_vit {
	size_t patch, channels, width, depth, hidden, heads;
	size_t registers, grid; /* it was trained on images of grid x grid patches */
	size_t other_positions; /* rows before theirs: the class token's, and the registers' */
	size_t projected;       /* features after a projection; 0: none */
	bool has_class;         /* a class token is the first */
	bool pre_norm;          /* a norm before the first block, as CLIP has */
	bool mean;              /* of the patches, then the norm; else the class token */
	bool pooled;   /* by attention: a last block, after the norm, with a query of its own */
	bool gated;    /* MLPs are fc2(activation(gate(x)) fc1(x)) */
	bool one_size; /* other sizes only with the user's option */
	bool bfloat16; /* products in it, all but the projection */
	inv_vit_activation activation;
	float eps;
	inv_pos pos;
	double rotary; /* the base of rotary positions; 0: a table of positions is added */

	inv_arena memory;
	float *class_token, *register_tokens, *positions;
	float *query;           /* [width], of the pooling block */
	inv_panels projection;  /* [width, projected] */
	inv_vit_linear patches; /* weight [channels patch patch, width] */
	inv_vit_norm before, after;
	inv_vit_block *blocks; /* [depth], then the pooling one, whose norm1 is `after` */

	struct inv_kernels kernels;
} inv_vit;

/* Tokens before the patches. */
static inline size_t inv_vit_others(const inv_vit *v)
{
	return v->has_class + v->registers;
}

/* Whether these are the names of a vision transformer; of CLIP's; of SigLIP's. */
bool inv_vit_recognise(const inv_parameters *p);
bool inv_clip_recognise(const inv_parameters *p);
bool inv_siglip_recognise(const inv_parameters *p);
/* Fills all but kernels, which must be set, and the encoder's input and measures. */
invar_status inv_vit_load(inv_vit *v, invar_encoder *e, inv_parameters *p);

/*
 * The start of x, [tokens, width], to which the products of the patches are added: the
 * class token and registers with their positions, then positions fitted to the images and
 * the patches' bias. Views.
 */
const float *inv_vit_start(const inv_encoder_plan *p, size_t *tokens);
/* Cosines, then sines, of rotary positions: [patches, head / 2] each; NULL: none. Views. */
const float *inv_vit_rotary(const inv_encoder_plan *p, const float **sines);
invar_status inv_vit_onnx(const invar_encoder *e, inv_encoder_onnx *to);

#endif
