/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resnet.c - ResNets by torchvision's or Hugging Face's names, any width and depth, and
 * the small ones of CIFAR: 20, 32, 44, 56 … layers, 64 features.
 *
 * A 7x7 convolution and a max pool that quarter the image, then layers of blocks, all but
 * the first halving it again; torchvision's have four. A block adds its convolutions to its
 * input, or to a 1x1 convolution of it where the shape changes. Basic blocks have two 3x3
 * convolutions; bottlenecks have 1x1, 3x3, 1x1. In torchvision's the 3x3 halves the image;
 * in the original paper's and in Keras' the first 1x1 does.
 *
 * CIFAR's begin with a 3x3 convolution and have three layers of basic blocks. Where the
 * shape changes the shortcut has no weights (option A): every second pixel, padded with
 * zero channels, half of them before and half after. That is a 1x1 convolution whose
 * weights are 0 and 1, and it runs as one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet.h"

enum {
	LAYERS = 4, /* of torchvision's */
	CIFAR_LAYERS = 3,
	MAX_LAYERS = 8,
	BLOCK_NAME = 64,
	LAYER_NAME = BLOCK_NAME + 32
};

static const inv_window point = {1, 1, 0, false}, three = {3, 1, 1, false};
static const inv_window seven_by_two = {7, 2, 3, false}, pool = {3, 2, 1, false};

/* What the authors call their tensors. */
typedef struct resnet_names {
	const char *stem, *stem_norm;
	const char *layer;       /* its prefix; then its number, from `first` on */
	const char *blocks;      /* between the numbers of the layer and of the block */
	const char *conv, *norm; /* of a block, around the number of the convolution */
	const char *conv_end, *norm_end;
	const char *shortcut, *shortcut_norm; /* of a block */
	size_t first;                         /* number of layers and convolutions */
	const char *own[5];                   /* tensors that would change the network */
} resnet_names;

static const resnet_names torchvision = {.stem = "conv1",
                                         .stem_norm = "bn1",
                                         .layer = "layer",
                                         .blocks = ".",
                                         .conv = ".conv",
                                         .norm = ".bn",
                                         .conv_end = "",
                                         .norm_end = "",
                                         .shortcut = ".downsample.0",
                                         .shortcut_norm = ".downsample.1",
                                         .first = 1,
                                         .own = {"conv", "bn", "layer", "attnpool"}};
static const resnet_names hugging_face = {.stem = "embedder.embedder.convolution",
                                          .stem_norm = "embedder.embedder.normalization",
                                          .layer = "encoder.stages.",
                                          .blocks = ".layers.",
                                          .conv = ".layer.",
                                          .norm = ".layer.",
                                          .conv_end = ".convolution",
                                          .norm_end = ".normalization",
                                          .shortcut = ".shortcut.convolution",
                                          .shortcut_norm = ".shortcut.normalization",
                                          .own = {"embedder.", "encoder."}};

typedef struct block {
	const resnet_names *names;
	char name[BLOCK_NAME]; /* "layer1.0" */
	size_t stride;
	bool bottleneck, early; /* early: the stride is in the first convolution */
	bool padded;            /* CIFAR's: shortcuts have no weights */
} block;

static void name_block(const resnet_names *n, size_t layer, size_t i, char out[BLOCK_NAME])
{
	snprintf(out, BLOCK_NAME, "%s%zu%s%zu", n->layer, n->first + layer, n->blocks, i);
}

/* Whether convolution k of block i of a layer is there, all from 0. */
static bool has_convolution(const inv_parameters *p, const resnet_names *n, size_t layer,
                            size_t i, size_t k)
{
	char name[BLOCK_NAME];

	name_block(n, layer, i, name);
	return inv_parameters_find(p, "%s%s%zu%s.weight", name, n->conv, n->first + k,
	                           n->conv_end) != NULL;
}

static const resnet_names *find_names(const inv_parameters *p)
{
	if (inv_parameters_find(p, "conv1.weight") && inv_parameters_find(p, "bn1.weight") &&
	    has_convolution(p, &torchvision, 0, 0, 0) &&
	    has_convolution(p, &torchvision, LAYERS - 1, 0, 0))
		return &torchvision;
	if (inv_parameters_find(p, "embedder.embedder.convolution.weight") &&
	    has_convolution(p, &hugging_face, 0, 0, 0))
		return &hugging_face;
	return NULL;
}

static bool recognise_resnet(const inv_parameters *p)
{
	return find_names(p) != NULL;
}

static bool recognise_cifar_resnet(const inv_parameters *p)
{
	return inv_parameters_find(p, "conv1.weight") && inv_parameters_find(p, "bn1.weight") &&
	       has_convolution(p, &torchvision, 2, 0, 1) &&
	       !has_convolution(p, &torchvision, 2, 0, 2) &&
	       !has_convolution(p, &torchvision, 3, 0, 0);
}

static size_t add_padded_shortcut(inv_convnet *net, const char *name, size_t x,
                                  size_t outputs)
{
	const inv_layer l = {.conv = name, .from = x, .window = {1, 2, 0, false}};
	size_t channels = inv_convnet_channels(net, x), before;
	float *weights = NULL, *bias = NULL;
	invar_status st;

	if (!channels) /* it has failed before */
		return 0;
	if (outputs < channels)
		INV_TRY_OR(fail, inv_fail(INVAR_E_MISMATCH,
		                          "the weights of '%s' turn %zu %s into %zu, which a "
		                          "shortcut without weights cannot do",
		                          name, outputs, inv_noun(outputs, "channel", "channels"),
		                          channels));
	before = (outputs - channels) / 2;
	INV_TRY_OR(fail, inv_new_zeros(&weights, outputs * channels));
	INV_TRY_OR(fail, inv_new_zeros(&bias, outputs));
	for (size_t c = 0; c < channels; c++)
		weights[(before + c) * channels + c] = 1;
	return inv_convnet_filter(net, &l, outputs, weights, bias);
fail:
	inv_convnet_fail(net, st);
	inv_free(weights);
	inv_free(bias);
	return 0;
}

/* The k-th convolution of a block, from 0. */
static size_t add_convolution(inv_convnet *net, const block *b, size_t k, inv_layer l)
{
	const resnet_names *n = b->names;
	char conv[LAYER_NAME], norm[LAYER_NAME];

	snprintf(conv, sizeof conv, "%s%s%zu%s", b->name, n->conv, n->first + k, n->conv_end);
	snprintf(norm, sizeof norm, "%s%s%zu%s", b->name, n->norm, n->first + k, n->norm_end);
	l.conv = conv;
	l.norm = norm;
	return inv_convnet_conv(net, &l);
}

static size_t add_resnet_block(inv_convnet *net, const inv_parameters *p, const block *b,
                               size_t x)
{
	char conv[LAYER_NAME], norm[LAYER_NAME];
	inv_layer shortcut = {.conv = conv, .norm = norm, .from = x, .window = point};
	inv_layer first = {.from = x, .window = b->bottleneck ? point : three, .relu = true};
	inv_layer middle = {.window = three, .relu = true};
	inv_layer last = {.to = x, .window = first.window, .add = true, .relu = true};

	/* The shortcut is the block's input, or a projection of it. */
	snprintf(conv, sizeof conv, "%s%s", b->name, b->names->shortcut);
	snprintf(norm, sizeof norm, "%s%s", b->name, b->names->shortcut_norm);
	shortcut.window.stride = b->stride;
	if (!b->padded && (b->stride > 1 || inv_parameters_find(p, "%s.weight", conv)))
		last.to = inv_convnet_conv(net, &shortcut);

	if (b->early || !b->bottleneck)
		first.window.stride = b->stride;
	else
		middle.window.stride = b->stride;
	last.from = add_convolution(net, b, 0, first);
	if (b->padded && b->stride > 1)
		last.to =
			add_padded_shortcut(net, b->name, x, inv_convnet_channels(net, last.from));
	if (b->bottleneck) {
		middle.from = last.from;
		last.from = add_convolution(net, b, 1, middle);
	}
	return add_convolution(net, b, b->bottleneck ? 2 : 1, last);
}

/* Returns the last value; counts the blocks of each layer. */
static size_t describe_resnet(inv_convnet *net, const inv_parameters *p, block b,
                              size_t first_stride, size_t layers, size_t *blocks)
{
	const inv_layer stem = {.conv = b.names->stem,
	                        .norm = b.names->stem_norm,
	                        .window = b.padded ? three : seven_by_two,
	                        .relu = true};
	size_t x = inv_convnet_conv(net, &stem);

	if (!b.padded)
		x = inv_convnet_pool(net, x, pool);
	for (size_t i = 0; i < layers; i++)
		while (has_convolution(p, b.names, i, blocks[i], 0)) {
			name_block(b.names, i, blocks[i], b.name);
			b.stride = blocks[i] ? 1 : i ? 2 : first_stride;
			x = add_resnet_block(net, p, &b, x);
			blocks[i]++;
		}
	return x;
}

static invar_status fail_resnet_config(const inv_parameters *p, const char *name,
                                       const char *expected)
{
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: the config.json beside it has an invalid %s: expected %s; fix it",
	                inv_parameters_path(p), name, expected);
}

/* What Hugging Face's config.json has and no tensor shows. */
static invar_status read_resnet_config(const inv_parameters *p, bool *early,
                                       size_t *first_stride)
{
	const json_t *config = inv_parameters_config(p);
	const json_t *act = json_object_get(config, "hidden_act");
	const json_t *in_first = json_object_get(config, "downsample_in_first_stage");
	const json_t *in_1x1 = json_object_get(config, "downsample_in_bottleneck");

	if (act && !(json_is_string(act) && strcmp(json_string_value(act), "relu") == 0))
		return fail_resnet_config(p, "hidden_act", "relu, the only one supported");
	if (in_first && !json_is_boolean(in_first))
		return fail_resnet_config(p, "downsample_in_first_stage", "true or false");
	if (in_1x1 && !json_is_boolean(in_1x1))
		return fail_resnet_config(p, "downsample_in_bottleneck", "true or false");
	*first_stride = json_is_true(in_first) ? 2 : 1;
	*early = json_is_true(in_1x1);
	return INVAR_OK;
}

static invar_status open_resnet(invar_encoder *e, inv_parameters *p)
{
	static const char *const heads[] = {"fc.", "projection_head.", "prototypes", NULL};
	const char *stride = inv_option_text(e->options, "stride");
	const resnet_names *names = find_names(p);
	block b = {.names = names, .bottleneck = has_convolution(p, names, 0, 0, 2)};
	size_t blocks[MAX_LAYERS] = {0}, last, first_stride = 1;
	char counts[MAX_LAYERS * 8] = "";
	inv_convnet *net;

	INV_TRY(inv_convnet_new(e, p, "ResNet", &net));
	if (names == &hugging_face)
		INV_TRY(read_resnet_config(p, &b.early, &first_stride));
	if (stride)
		b.early = strcmp(stride, "1x1") == 0;
	if (stride && b.early && !b.bottleneck)
		inv_convnet_fail(
			net,
			inv_fail(
				INVAR_E_USE,
				"%s: has basic blocks, but @stride 1x1 is for bottlenecks; leave it out",
				inv_parameters_path(p)));
	for (size_t i = 0; heads[i]; i++)
		inv_parameters_ignore(p, heads[i]);
	last = describe_resnet(net, p, b, first_stride,
	                       names == &torchvision ? LAYERS : MAX_LAYERS, blocks);
	for (size_t i = 0; i < MAX_LAYERS; i++) {
		e->measures.depth += blocks[i];
		if (blocks[i])
			snprintf(counts + strlen(counts), sizeof counts - strlen(counts), " %zu",
			         blocks[i]);
	}
	e->input = (inv_input){.resize = 256,
	                       .side = 224,
	                       .filter = names == &torchvision ? INV_BILINEAR : INV_BICUBIC,
	                       .normalisation = "imagenet",
	                       .keeps_grey = inv_convnet_channels(net, 0) == 1};
	e->measures.width = inv_convnet_channels(net, last);
	snprintf(e->about, sizeof e->about, "ResNet, %s blocks%s, %" PRIu64 " %s",
	         b.bottleneck ? "bottleneck" : "basic", counts, e->measures.width,
	         inv_noun(e->measures.width, "feature", "features"));
	if (names == &hugging_face && inv_convnet_channels(net, last))
		INV_TRY(inv_preprocessor_read(e, p, inv_convnet_channels(net, 0)));
	return inv_convnet_finish(net, last, names->own);
}

static invar_status open_cifar(invar_encoder *e, inv_parameters *p)
{
	size_t blocks[CIFAR_LAYERS] = {0}, last;
	inv_convnet *net;

	INV_TRY(inv_convnet_new(e, p, "ResNet for CIFAR", &net));
	inv_parameters_ignore(p, "linear.");
	inv_parameters_ignore(p, "fc.");
	last = describe_resnet(net, p, (block){.names = &torchvision, .padded = true}, 1,
	                       CIFAR_LAYERS, blocks);
	e->input = (inv_input){.side = 32,
	                       .resize = 32,
	                       .filter = INV_BILINEAR,
	                       .normalisation = "imagenet",
	                       .keeps_grey = inv_convnet_channels(net, 0) == 1};
	e->measures = (inv_measures){.width = inv_convnet_channels(net, last),
	                             .depth = blocks[0] + blocks[1] + blocks[2]};
	snprintf(e->about, sizeof e->about,
	         "ResNet for CIFAR, basic blocks %zu %zu %zu, shortcuts without weights, %zu "
	         "features",
	         blocks[0], blocks[1], blocks[2], inv_convnet_channels(net, last));
	return inv_convnet_finish(net, last, torchvision.own);
}

static const invar_option rows[] = {
	{INV_BN_EPS_ROW},
	{"stride", INVAR_OPTION_TEXT, .flags = INVAR_OPTION_EXPERT, .choices = "3x3|1x1",
     .meta = "WORD", .group = "Encoder",
     .help = "which convolution of a ResNet's bottleneck has the stride; default: the "
             "model's, else 3x3 as in torchvision"},
	{0},
};

const inv_encoder_kind inv_encoder_resnet = {
	.family = "resnet",
	.about = "ResNets of torchvision and Hugging Face, of any width and depth",
	.options = rows,
	.recognise = recognise_resnet,
	.open = open_resnet,
	.close = inv_convnet_close,
	.plan = inv_convnet_plan,
	.unplan = inv_convnet_unplan,
	.run = inv_convnet_run,
	.run_together = inv_convnet_run_together,
	.bfloat16 = true,
	.int8 = true,
	.onnx = inv_convnet_onnx,
};

static const invar_option cifar_rows[] = {{INV_BN_EPS_ROW}, {0}};

const inv_encoder_kind inv_encoder_cifar_resnet = {
	.family = "cifar_resnet",
	.about = "small ResNets for CIFAR-10",
	.options = cifar_rows,
	.recognise = recognise_cifar_resnet,
	.open = open_cifar,
	.close = inv_convnet_close,
	.plan = inv_convnet_plan,
	.unplan = inv_convnet_unplan,
	.run = inv_convnet_run,
	.run_together = inv_convnet_run_together,
	.bfloat16 = true,
	.int8 = true,
	.onnx = inv_convnet_onnx,
};
