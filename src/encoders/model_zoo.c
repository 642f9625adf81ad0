/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_zoo.c - the encoders known by name, one entry per encoder.
 *
 * An entry says how the authors prepare images, the sizes the network must have, what its
 * weights do not determine, and the file it is published as, with its hash if known: the
 * authors' own, the eight digits that torchvision writes into a file's name, or one on
 * which several who have the file agree. docs/reference/MODELS.md has the same in prose.
 */
#include <string.h>

#include "encoders/encoder.h"
#include "encoders/encoder_list.h" /* parts: the families that meson.build lists */

/* How authors prepare images: shorter side, centre, filter, constants. */
#define AS_DINO .resize = 256, .side = 224, .filter = "bicubic", .normalize = "imagenet"
#define AS_TIMM .resize = 248, .side = 224, .filter = "bicubic", .normalize = "half"
#define AS_CLIP .resize = 224, .side = 224, .filter = "bicubic", .normalize = "clip"
#define AS_TORCHVISION \
	.resize = 256, .side = 224, .filter = "bilinear", .normalize = "imagenet"
#define AS_TORCHVISION_2 \
	.resize = 232, .side = 224, .filter = "bilinear", .normalize = "imagenet"
#define AS_KERAS .resize = 256, .side = 224, .filter = "bilinear", .normalize = "keras"
/* At their native size. */
#define AS_CAFFE .filter = "bilinear", .normalize = "caffe"
#define AS_CIFAR .filter = "bilinear", .normalize = "imagenet"
#define AS_IT_IS .filter = "bilinear"

/* ...: the sizes its weights must have, of inv_measures. */
#define MODEL(NAME, FAMILY, ABOUT, WIDTH, AS, OPTIONS, FILE, BYTES, SHA256, ...) \
	{                                                                            \
		.of = {.name = NAME,                                                     \
		       .family = FAMILY,                                                 \
		       .about = ABOUT,                                                   \
		       .width = WIDTH,                                                   \
		       AS,                                                               \
		       .options = OPTIONS,                                               \
		       .file = FILE,                                                     \
		       .bytes = BYTES,                                                   \
		       .sha256 = SHA256},                                                \
		.is = {                                                                  \
			__VA_ARGS__                                                          \
		}                                                                        \
	}

static const inv_model models[] = {
	MODEL("pixels", "pixels", "no network: the normalised pixels themselves", 0, AS_IT_IS,
          NULL, NULL, 0, NULL, 0),

	/* DINO. */
	MODEL("dino_vits8", "vit", "DINO, ViT-S/8", 384, AS_DINO, "heads=6,eps=1e-6,pos=dino",
          "dino_deitsmall8_pretrain.pth", 86728949, NULL, .patch = 8, .depth = 12),
	MODEL("dino_vits16", "vit", "DINO, ViT-S/16", 384, AS_DINO, "heads=6,eps=1e-6,pos=dino",
          "dino_deitsmall16_pretrain.pth", 0, NULL, .patch = 16, .depth = 12),
	MODEL("dino_vitb8", "vit", "DINO, ViT-B/8", 768, AS_DINO, "heads=12,eps=1e-6,pos=dino",
          "dino_vitbase8_pretrain.pth", 0, NULL, .patch = 8, .depth = 12),
	MODEL("dino_vitb16", "vit", "DINO, ViT-B/16", 768, AS_DINO,
          "heads=12,eps=1e-6,pos=dino", "dino_vitbase16_pretrain.pth", 0, NULL, .patch = 16,
          .depth = 12),
	MODEL("dino_resnet50", "resnet", "DINO, ResNet-50", 2048, AS_DINO,
          "bn-eps=1e-5,stride=3x3", "dino_resnet50_pretrain.pth", 0, NULL, .depth = 16),

	/* DINOv2; with registers its authors fit positions as timm does. */
	MODEL("dinov2_vits14", "vit", "DINOv2, ViT-S/14", 384, AS_DINO,
          "heads=6,eps=1e-6,pos=dino", "dinov2_vits14_pretrain.pth", 88283115,
          "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9", .patch = 14,
          .depth = 12),
	MODEL("dinov2_vitb14", "vit", "DINOv2, ViT-B/14", 768, AS_DINO,
          "heads=12,eps=1e-6,pos=dino", "dinov2_vitb14_pretrain.pth", 0,
          "0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73", .patch = 14,
          .depth = 12),
	MODEL("dinov2_vits14_reg", "vit", "DINOv2, ViT-S/14, 4 registers", 384, AS_DINO,
          "heads=6,eps=1e-6,pos=timm", "dinov2_vits14_reg4_pretrain.pth", 0,
          "f433177089a681826f849f194ece3bb48f4d63fb38d32fc837e3dc7a4e5641fb", .patch = 14,
          .depth = 12, .registers = 4),
	MODEL("dinov2_vitb14_reg", "vit", "DINOv2, ViT-B/14, 4 registers", 768, AS_DINO,
          "heads=12,eps=1e-6,pos=timm", "dinov2_vitb14_reg4_pretrain.pth", 346393545,
          "73182a088cf94833c94b1666d1c99e02fe87e2007bff57b564fb6206e25dba71", .patch = 14,
          .depth = 12, .registers = 4),

	/* timm's ViTs, supervised on ImageNet-21k and tuned on ImageNet (augreg). */
	MODEL("vit_tiny_patch16_224", "vit", "timm, ViT-Ti/16, augreg_in21k_ft_in1k", 192,
          AS_TIMM, "heads=3,eps=1e-6,pos=timm", "model.safetensors", 0, NULL, .patch = 16,
          .depth = 12),
	MODEL("vit_small_patch16_224", "vit", "timm, ViT-S/16, augreg_in21k_ft_in1k", 384,
          AS_TIMM, "heads=6,eps=1e-6,pos=timm", "model.safetensors", 0, NULL, .patch = 16,
          .depth = 12),
	MODEL("vit_base_patch16_224", "vit", "timm, ViT-B/16, augreg2_in21k_ft_in1k", 768,
          AS_TIMM, "heads=12,eps=1e-6,pos=timm", "model.safetensors", 0, NULL, .patch = 16,
          .depth = 12),

	/* CLIP's visual towers; the width is the projection's. */
	MODEL("clip_vitb16", "clip", "CLIP, ViT-B/16", 512, AS_CLIP, "heads=12,eps=1e-5",
          "ViT-B-16.pt", 0,
          "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f", .patch = 16,
          .depth = 12),
	MODEL("clip_vitb32", "clip", "CLIP, ViT-B/32", 512, AS_CLIP, "heads=12,eps=1e-5",
          "ViT-B-32.pt", 0,
          "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af", .patch = 32,
          .depth = 12),
	MODEL("clip_vitl14", "clip", "CLIP, ViT-L/14", 768, AS_CLIP, "heads=16,eps=1e-5",
          "ViT-L-14.pt", 0,
          "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836", .patch = 14,
          .depth = 24),

	/* ResNets. */
	MODEL("swav_resnet50", "resnet", "SwAV, ResNet-50, 800 epochs", 2048, AS_TORCHVISION,
          "bn-eps=1e-5,stride=3x3", "swav_800ep_pretrain.pth.tar", 0, NULL, .depth = 16),
	MODEL("resnet50", "resnet", "torchvision, ResNet-50, first weights (V1)", 2048,
          AS_TORCHVISION, "bn-eps=1e-5,stride=3x3", "resnet50-0676ba61.pth", 102530333,
          "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a", .depth = 16),
	MODEL("resnet50_v2", "resnet", "torchvision, ResNet-50, second weights (V2)", 2048,
          AS_TORCHVISION_2, "bn-eps=1e-5,stride=3x3", "resnet50-11ad3fa6.pth", 102540417,
          "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca", .depth = 16),
	MODEL("resnet18", "resnet", "torchvision, ResNet-18", 512, AS_TORCHVISION,
          "bn-eps=1e-5", "resnet18-f37072fd.pth", 46830571,
          "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec", .depth = 8),
	MODEL("resnet34", "resnet", "torchvision, ResNet-34", 512, AS_TORCHVISION,
          "bn-eps=1e-5", "resnet34-b627a593.pth", 0, "b627a593", .depth = 16),
	MODEL("resnet101", "resnet", "torchvision, ResNet-101, first weights (V1)", 2048,
          AS_TORCHVISION, "bn-eps=1e-5,stride=3x3", "resnet101-63fe2227.pth", 0, "63fe2227",
          .depth = 33),
	MODEL("resnet152", "resnet", "torchvision, ResNet-152, first weights (V1)", 2048,
          AS_TORCHVISION, "bn-eps=1e-5,stride=3x3", "resnet152-394f9c45.pth", 0, "394f9c45",
          .depth = 50),
	MODEL("resnet50_keras", "resnet",
          "Keras, ResNet-50 as first published, with torchvision's tensor names", 2048,
          AS_KERAS, "bn-eps=1e-3,stride=1x1", "resnet50_keras.f16.safetensors", 51458928,
          "efc00626c9ae153316ec36d978709ff6f55bedc11cb0014a1b0741e28b85c7dc", .depth = 16),

	/* Small networks, run at the images' native size. */
	MODEL("squeezenet1_1", "squeezenet",
          "SqueezeNet 1.1, its authors' weights with torchvision's tensor names", 512,
          AS_CAFFE, NULL, "squeezenet1_1_caffe.f16.safetensors", 2483856,
          "d4d1355983bab496399a26075e2d9bfe72c242306b3287482e3fc9664b402a72", 0),
	MODEL("cifar10_resnet20", "cifar_resnet", "ResNet-20 for CIFAR-10", 64, AS_CIFAR,
          "bn-eps=1e-5", "cifar10_resnet20-12fca82f.th", 1099231,
          "12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8", .depth = 9),
	MODEL("cifar10_resnet56", "cifar_resnet", "ResNet-56 for CIFAR-10", 64, AS_CIFAR,
          "bn-eps=1e-5", "cifar10_resnet56-4bfd9763.th", 3471733,
          "4bfd97631478d6b638d2764fd2baff3edb1d7d82252d54439343b6596b9b5367", .depth = 27),
};

size_t inv_model_count(void)
{
	return sizeof models / sizeof *models;
}

const inv_known_model *inv_model_at(size_t i)
{
	return i < inv_model_count() ? &models[i].of : NULL;
}

const inv_model *inv_model_find(const char *name)
{
	for (size_t i = 0; i < inv_model_count(); i++)
		if (strcmp(models[i].of.name, name) == 0)
			return &models[i];
	return NULL;
}

/* In the order of the table; a test checks that they match. */
const char *inv_encoder_names(void)
{
	return "pixels|dino_vits8|dino_vits16|dino_vitb8|dino_vitb16|dino_resnet50|"
		   "dinov2_vits14|dinov2_vitb14|dinov2_vits14_reg|dinov2_vitb14_reg|"
		   "vit_tiny_patch16_224|vit_small_patch16_224|vit_base_patch16_224|"
		   "clip_vitb16|clip_vitb32|clip_vitl14|swav_resnet50|resnet50|resnet50_v2|"
		   "resnet18|resnet34|resnet101|resnet152|resnet50_keras|squeezenet1_1|"
		   "cifar10_resnet20|cifar10_resnet56";
}

const inv_encoder_kind *inv_encoder_kind_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}
