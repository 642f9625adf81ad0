/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vit_names.h - reading a vision transformer: by its scheme of names (vit_names.c), what
 * network it is (vit_shape.c), and its tensors (vit_load.c).
 */
#ifndef INV_VIT_NAMES_H
#define INV_VIT_NAMES_H

#include "encoders/vit.h"

enum { INV_VIT_LISTED = 10 };

/* The authors' names of the tensors; "weight" or "bias" is appended to those with a dot. */
typedef struct inv_vit_scheme {
	const char *name;
	const char *class_token, *positions, *patches, *registers, *before, *after, *mean;
	const char *projection;
	bool projection_in_out; /* [in, out] in the file */
	const char *block;      /* with %zu */
	const char *norm1, *qkv, *query, *key, *value, *out, *scale1;
	const char *norm2, *fc1, *fc2, *scale2;
	double eps;
	inv_pos pos;
	bool clip, has_config;
	const char *own[INV_VIT_LISTED], *ignored[INV_VIT_LISTED];
} inv_vit_scheme;

/* State of reading: the scheme's entry and the file. */
typedef struct inv_vit_loader {
	const inv_vit_scheme *s;
	inv_vit *v;
	inv_parameters *p;
	char block[INV_PARAMETER_NAME]; /* "blocks.3." */
	bool qkv_bias, scales;
	float *stored; /* a matrix as it is in the file; NULL while shapes are checked */
	float *gamma;  /* a layer scale, in the same buffer */
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

#endif
