/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit.h - a vision transformer: its sizes, its switches and its weights.
 *
 * One forward pass serves DINO, timm, DINOv2 (layer scale, registers), Hugging Face's
 * ViT and DINOv2, and CLIP's image side. vit_names.c knows what each of them calls its
 * tensors, vit_shape.c finds out which network it is, vit_load.c reads the tensors, vit.c
 * runs it and vit_onnx.c writes it as ONNX.
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
	inv_vit_linear qkv, out, fc1, fc2;
} inv_vit_block;

typedef struct inv_vit {
	size_t patch, channels, width, depth, hidden, heads;
	size_t registers, grid; /* positions of grid x grid patches were trained */
	size_t other_positions; /* rows before them: the class token's, and the registers' */
	size_t projected;       /* features after a projection; 0: none */
	bool pre_norm;          /* a norm before the first block, as CLIP has */
	bool mean;              /* of the patches, then the norm; else the class token */
	bool quick;             /* GELU as x sigmoid(1.702 x) */
	bool one_size;          /* other sizes only with the user's option */
	float eps;
	inv_pos pos;

	inv_arena memory;
	float *class_token, *register_tokens, *positions;
	inv_panels projection;  /* [width, projected] */
	inv_vit_linear patches; /* weight [channels patch patch, width] */
	inv_vit_norm before, after;
	inv_vit_block *blocks;

	struct inv_kernels kernels;
	const char *scheme;
	char normalisation[200];
} inv_vit;

/* Whether these are the names of a vision transformer; of CLIP's. */
bool inv_vit_recognise(const inv_parameters *p);
bool inv_clip_recognise(const inv_parameters *p);
/* Fills all but kernels, which must be set, and the encoder's input and measures. */
invar_status inv_vit_load(inv_vit *v, invar_encoder *e, inv_parameters *p);

/*
 * The start of x, [tokens, width], to which the products of the patches are added: the
 * class token and registers with their positions, then positions fitted to the images and
 * the patches' bias. Views.
 */
const float *inv_vit_start(const inv_encoder_plan *p, size_t *tokens);
invar_status inv_vit_onnx(const invar_encoder *e, inv_encoder_onnx *to);

#endif
