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

/* How authors prepare images: shorter side, centre, filter, constants. */
#define AS_DINO .resize = 256, .side = 224, .filter = "bicubic", .normalize = "imagenet"
#define AS_TIMM .resize = 248, .side = 224, .filter = "bicubic", .normalize = "half"
#define AS_CLIP .resize = 224, .side = 224, .filter = "bicubic", .normalize = "clip"
#define AS_TORCHVISION \
	.resize = 256, .side = 224, .filter = "bilinear", .normalize = "imagenet"
#define AS_TORCHVISION_2 \
	.resize = 232, .side = 224, .filter = "bilinear", .normalize = "imagenet"
#define AS_CIFAR .filter = "bilinear", .normalize = "imagenet" /* native size */

static const inv_model models[] = {
	{.of = {.name = "pixels",
            .family = "pixels",
            .about = "no network: the normalised pixels themselves",
            .filter = "bilinear"}},

	/* DINO. */
	{.of = {.name = "dino_vits8",
            .family = "vit",
            .about = "DINO, ViT-S/8",
            .width = 384,
            AS_DINO,
            .file = "dino_deitsmall8_pretrain.pth",
            .bytes = 86728949,
            .options = "heads=6,eps=1e-6,pos=dino"},
     .is = {.patch = 8, .depth = 12}},
	{.of = {.name = "dino_vits16",
            .family = "vit",
            .about = "DINO, ViT-S/16",
            .width = 384,
            AS_DINO,
            .file = "dino_deitsmall16_pretrain.pth",
            .options = "heads=6,eps=1e-6,pos=dino"},
     .is = {.patch = 16, .depth = 12}},
	{.of = {.name = "dino_vitb8",
            .family = "vit",
            .about = "DINO, ViT-B/8",
            .width = 768,
            AS_DINO,
            .file = "dino_vitbase8_pretrain.pth",
            .options = "heads=12,eps=1e-6,pos=dino"},
     .is = {.patch = 8, .depth = 12}},
	{.of = {.name = "dino_vitb16",
            .family = "vit",
            .about = "DINO, ViT-B/16",
            .width = 768,
            AS_DINO,
            .file = "dino_vitbase16_pretrain.pth",
            .options = "heads=12,eps=1e-6,pos=dino"},
     .is = {.patch = 16, .depth = 12}},
	{.of = {.name = "dino_resnet50",
            .family = "resnet",
            .about = "DINO, ResNet-50",
            .width = 2048,
            AS_DINO,
            .file = "dino_resnet50_pretrain.pth",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 16}},

	/* DINOv2; with registers its authors fit positions as timm does. */
	{.of = {.name = "dinov2_vits14",
            .family = "vit",
            .about = "DINOv2, ViT-S/14",
            .width = 384,
            AS_DINO,
            .file = "dinov2_vits14_pretrain.pth",
            .bytes = 88283115,
            .sha256 = "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9",
            .options = "heads=6,eps=1e-6,pos=dino"},
     .is = {.patch = 14, .depth = 12}},
	{.of = {.name = "dinov2_vitb14",
            .family = "vit",
            .about = "DINOv2, ViT-B/14",
            .width = 768,
            AS_DINO,
            .file = "dinov2_vitb14_pretrain.pth",
            .sha256 = "0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73",
            .options = "heads=12,eps=1e-6,pos=dino"},
     .is = {.patch = 14, .depth = 12}},
	{.of = {.name = "dinov2_vits14_reg",
            .family = "vit",
            .about = "DINOv2, ViT-S/14, 4 registers",
            .width = 384,
            AS_DINO,
            .file = "dinov2_vits14_reg4_pretrain.pth",
            .sha256 = "f433177089a681826f849f194ece3bb48f4d63fb38d32fc837e3dc7a4e5641fb",
            .options = "heads=6,eps=1e-6,pos=timm"},
     .is = {.patch = 14, .depth = 12, .registers = 4}},
	{.of = {.name = "dinov2_vitb14_reg",
            .family = "vit",
            .about = "DINOv2, ViT-B/14, 4 registers",
            .width = 768,
            AS_DINO,
            .file = "dinov2_vitb14_reg4_pretrain.pth",
            .bytes = 346393545,
            .sha256 = "73182a088cf94833c94b1666d1c99e02fe87e2007bff57b564fb6206e25dba71",
            .options = "heads=12,eps=1e-6,pos=timm"},
     .is = {.patch = 14, .depth = 12, .registers = 4}},

	/* timm's ViTs, supervised on ImageNet-21k and tuned on ImageNet (augreg). */
	{.of = {.name = "vit_tiny_patch16_224",
            .family = "vit",
            .about = "timm, ViT-Ti/16, augreg_in21k_ft_in1k",
            .width = 192,
            AS_TIMM,
            .file = "model.safetensors",
            .options = "heads=3,eps=1e-6,pos=timm"},
     .is = {.patch = 16, .depth = 12}},
	{.of = {.name = "vit_small_patch16_224",
            .family = "vit",
            .about = "timm, ViT-S/16, augreg_in21k_ft_in1k",
            .width = 384,
            AS_TIMM,
            .file = "model.safetensors",
            .options = "heads=6,eps=1e-6,pos=timm"},
     .is = {.patch = 16, .depth = 12}},
	{.of = {.name = "vit_base_patch16_224",
            .family = "vit",
            .about = "timm, ViT-B/16, augreg2_in21k_ft_in1k",
            .width = 768,
            AS_TIMM,
            .file = "model.safetensors",
            .options = "heads=12,eps=1e-6,pos=timm"},
     .is = {.patch = 16, .depth = 12}},

	/* CLIP's visual towers; the width is the projection's. */
	{.of = {.name = "clip_vitb16",
            .family = "clip",
            .about = "CLIP, ViT-B/16",
            .width = 512,
            AS_CLIP,
            .file = "ViT-B-16.pt",
            .sha256 = "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f",
            .options = "heads=12,eps=1e-5"},
     .is = {.patch = 16, .depth = 12}},
	{.of = {.name = "clip_vitb32",
            .family = "clip",
            .about = "CLIP, ViT-B/32",
            .width = 512,
            AS_CLIP,
            .file = "ViT-B-32.pt",
            .sha256 = "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af",
            .options = "heads=12,eps=1e-5"},
     .is = {.patch = 32, .depth = 12}},
	{.of = {.name = "clip_vitl14",
            .family = "clip",
            .about = "CLIP, ViT-L/14",
            .width = 768,
            AS_CLIP,
            .file = "ViT-L-14.pt",
            .sha256 = "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836",
            .options = "heads=16,eps=1e-5"},
     .is = {.patch = 14, .depth = 24}},

	/* ResNets. */
	{.of = {.name = "swav_resnet50",
            .family = "resnet",
            .about = "SwAV, ResNet-50, 800 epochs",
            .width = 2048,
            AS_TORCHVISION,
            .file = "swav_800ep_pretrain.pth.tar",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 16}},
	{.of = {.name = "resnet50",
            .family = "resnet",
            .about = "torchvision, ResNet-50, first weights (V1)",
            .width = 2048,
            AS_TORCHVISION,
            .file = "resnet50-0676ba61.pth",
            .bytes = 102530333,
            .sha256 = "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 16}},
	{.of = {.name = "resnet50_v2",
            .family = "resnet",
            .about = "torchvision, ResNet-50, second weights (V2)",
            .width = 2048,
            AS_TORCHVISION_2,
            .file = "resnet50-11ad3fa6.pth",
            .bytes = 102540417,
            .sha256 = "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 16}},
	{.of = {.name = "resnet18",
            .family = "resnet",
            .about = "torchvision, ResNet-18",
            .width = 512,
            AS_TORCHVISION,
            .file = "resnet18-f37072fd.pth",
            .bytes = 46830571,
            .sha256 = "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
            .options = "bn-eps=1e-5"},
     .is = {.depth = 8}},
	{.of = {.name = "resnet34",
            .family = "resnet",
            .about = "torchvision, ResNet-34",
            .width = 512,
            AS_TORCHVISION,
            .file = "resnet34-b627a593.pth",
            .sha256 = "b627a593",
            .options = "bn-eps=1e-5"},
     .is = {.depth = 16}},
	{.of = {.name = "resnet101",
            .family = "resnet",
            .about = "torchvision, ResNet-101, first weights (V1)",
            .width = 2048,
            AS_TORCHVISION,
            .file = "resnet101-63fe2227.pth",
            .sha256 = "63fe2227",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 33}},
	{.of = {.name = "resnet152",
            .family = "resnet",
            .about = "torchvision, ResNet-152, first weights (V1)",
            .width = 2048,
            AS_TORCHVISION,
            .file = "resnet152-394f9c45.pth",
            .sha256 = "394f9c45",
            .options = "bn-eps=1e-5,stride=3x3"},
     .is = {.depth = 50}},
	{.of = {.name = "resnet50_keras",
            .family = "resnet",
            .about = "Keras, ResNet-50 as first published, with torchvision's tensor names",
            .width = 2048,
            .resize = 256,
            .side = 224,
            .filter = "bilinear",
            .normalize = "keras",
            .file = "resnet50_keras.f16.safetensors",
            .bytes = 51458928,
            .sha256 = "efc00626c9ae153316ec36d978709ff6f55bedc11cb0014a1b0741e28b85c7dc",
            .options = "bn-eps=1e-3,stride=1x1"},
     .is = {.depth = 16}},

	/* Small networks, run at the images' native size. */
	{.of = {.name = "squeezenet1_1",
            .family = "squeezenet",
            .about = "SqueezeNet 1.1, its authors' weights with torchvision's tensor names",
            .width = 512,
            .filter = "bilinear",
            .normalize = "caffe",
            .file = "squeezenet1_1_caffe.f16.safetensors",
            .bytes = 2483856,
            .sha256 = "d4d1355983bab496399a26075e2d9bfe72c242306b3287482e3fc9664b402a72"}},
	{.of = {.name = "cifar10_resnet20",
            .family = "cifar_resnet",
            .about = "ResNet-20 for CIFAR-10",
            .width = 64,
            AS_CIFAR,
            .file = "cifar10_resnet20-12fca82f.th",
            .bytes = 1099231,
            .sha256 = "12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8",
            .options = "bn-eps=1e-5"},
     .is = {.depth = 9}},
	{.of = {.name = "cifar10_resnet56",
            .family = "cifar_resnet",
            .about = "ResNet-56 for CIFAR-10",
            .width = 64,
            AS_CIFAR,
            .file = "cifar10_resnet56-4bfd9763.th",
            .bytes = 3471733,
            .sha256 = "4bfd97631478d6b638d2764fd2baff3edb1d7d82252d54439343b6596b9b5367",
            .options = "bn-eps=1e-5"},
     .is = {.depth = 27}},
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
