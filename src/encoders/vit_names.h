/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_names.h - reading a vision transformer: by its scheme of names (vit_names.c), what
 * network it is (vit_shape.c), and its tensors (vit_load.c).
 */
#ifndef INV_VIT_NAMES_H
#define INV_VIT_NAMES_H

#include "encoders/vit.h"

enum { INV_VIT_LISTED = 10 };

typedef enum inv_vit_family { INV_VIT, INV_CLIP, INV_SIGLIP } inv_vit_family;

/* The authors' names of the tensors; "weight" or "bias" is appended to those with a dot. */
typedef struct inv_vit_scheme {
	const char *name;
	inv_vit_family family;
	const char *without;     /* a tensor that it must not have: that of a similar scheme */
	const char *class_token; /* NULL: none */
	const char *positions;   /* NULL: rotary */
	const char *patches, *registers, *before, *after, *mean;
	const char *projection;
	bool projection_in_out; /* [in, out] in the file */
	const char *block;      /* with %zu */
	const char *norm1, *qkv, *query, *key, *value, *out, *scale1;
	const char *norm2, *gate, *fc1, *fc2, *scale2;
	const char *gate_fc1, *gated_fc2; /* gate and fc1 as one matrix, and the fc2 after it */
	const char *pool;     /* the prefix of an attention that pools the patches */
	bool biases_optional; /* of the blocks' layers */
	double eps;
	inv_pos pos;
	inv_vit_activation activation;
	bool has_config;
	const char *own[INV_VIT_LISTED], *ignored[INV_VIT_LISTED];
} inv_vit_scheme;

/* State of reading: the scheme's entry and the file. */
typedef struct inv_vit_loader {
	const inv_vit_scheme *s;
	inv_vit *v;
	inv_parameters *p;
	json_t *open_clip;              /* open_clip_config.json; NULL: none */
	char first[INV_PARAMETER_NAME]; /* "blocks.0.", which shows what all blocks have */
	char block[INV_PARAMETER_NAME]; /* "blocks.3." */
	bool scales;
	const char *gate_fc1; /* of the scheme, if this network has it */
	float *stored;        /* a matrix as it is in the file; NULL while shapes are checked */
	float *gamma;         /* a layer scale, in the same buffer */
} inv_vit_loader;

/* NULL: the names match no scheme. */
const inv_vit_scheme *inv_vit_find_scheme(const inv_parameters *p);
/*
 * The prefix of the names of block i. DINOv2 cuts long networks into chunks,
 * "blocks.CHUNK.i.", where i continues from chunk to chunk.
 */
bool inv_vit_find_block(const inv_vit_scheme *s, const inv_parameters *p, size_t i,
                        char out[INV_PARAMETER_NAME]);

/* Its sizes, from the tensors' shapes; then what no shape determines. */
invar_status inv_vit_size(inv_vit_loader *l);
invar_status inv_vit_switch(inv_vit_loader *l, const invar_encoder *e);
/* The side of the images that it was trained on. */
size_t inv_vit_side(const inv_vit_loader *l);

#endif
