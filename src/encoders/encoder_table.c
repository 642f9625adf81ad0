/* SPDX-License-Identifier: Apache-2.0 */
/* encoder_table.c - the families of encoders: one line each. */
#include "encoders/encoder.h"

extern const inv_encoder_kind inv_pixels, inv_vit_kind, inv_clip_kind;
extern const inv_encoder_kind inv_resnet, inv_cifar_resnet, inv_squeezenet;

const inv_encoder_kind *const inv_encoder_kinds[] = {
	&inv_pixels,       /* no network: the tensor itself */
	&inv_resnet,       /* torchvision's, of any width and depth */
	&inv_cifar_resnet, /* the small ones */
	&inv_squeezenet,   /* 1.1 */
	&inv_vit_kind,     /* DINO, timm, DINOv2 */
	&inv_clip_kind,    /* CLIP's image side */
	NULL,
};
