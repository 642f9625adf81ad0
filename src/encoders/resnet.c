/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resnet.c - ResNets by torchvision's names, any width and number of blocks.
 *
 * A 7x7 convolution and a max pool that quarter the image, then four layers of blocks, the
 * last three halving it again. A block adds its convolutions to its input, or to a 1x1
 * convolution of it where the shape changes. Basic blocks have two 3x3 convolutions;
 * bottlenecks have 1x1, 3x3, 1x1. In torchvision's the 3x3 halves the image; in the
 * original paper's and in Keras' the first 1x1 does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "encoders/convnet.h"

enum { LAYERS = 4 };

static const inv_window point = {1, 1, 0, false}, three = {3, 1, 1, false};
static const inv_window seven_by_two = {7, 2, 3, false}, pool = {3, 2, 1, false};

typedef struct block {
	char name[32]; /* "layer1.0" */
	size_t stride;
	bool bottleneck, early; /* early: the stride is in the first convolution */
} block;

static bool recognise_resnet(const inv_parameters *p)
{
	return inv_parameters_find(p, "conv1.weight") && inv_parameters_find(p, "bn1.weight") &&
	       inv_parameters_find(p, "layer1.0.conv1.weight") &&
	       inv_parameters_find(p, "layer4.0.conv1.weight");
}

/* The shortcut of a block: its input, or a projection of it. */
static size_t add_projection(inv_convnet *net, const inv_parameters *p, const block *b,
                             size_t x)
{
	char conv[64], norm[64];
	inv_layer l = {.conv = conv, .norm = norm, .from = x, .window = point};

	snprintf(conv, sizeof conv, "%s.downsample.0", b->name);
	snprintf(norm, sizeof norm, "%s.downsample.1", b->name);
	l.window.stride = b->stride;
	if (b->stride == 1 && !inv_parameters_find(p, "%s.weight", conv))
		return x;
	return inv_convnet_conv(net, &l);
}

static size_t add_resnet_block(inv_convnet *net, const inv_parameters *p, const block *b,
                               size_t x)
{
	size_t shortcut = add_projection(net, p, b, x);
	inv_layer first = {.from = x, .window = b->bottleneck ? point : three, .relu = true};
	inv_layer middle = {.window = three, .relu = true};
	inv_layer last = {.to = shortcut, .add = true, .relu = true};

	if (b->early || !b->bottleneck)
		first.window.stride = b->stride;
	else
		middle.window.stride = b->stride;
	last.from = inv_convnet_numbered(net, b->name, 1, first);
	if (b->bottleneck) {
		middle.from = last.from;
		last.from = inv_convnet_numbered(net, b->name, 2, middle);
	}
	last.window = b->bottleneck ? point : three;
	return inv_convnet_numbered(net, b->name, b->bottleneck ? 3 : 2, last);
}

static size_t describe_resnet(inv_convnet *net, const inv_parameters *p, block b,
                              const size_t blocks[LAYERS])
{
	const inv_layer stem = {
		.conv = "conv1", .norm = "bn1", .window = seven_by_two, .relu = true};
	size_t x = inv_convnet_pool(net, inv_convnet_conv(net, &stem), pool);

	for (int layer = 0; layer < LAYERS; layer++)
		for (size_t i = 0; i < blocks[layer]; i++) {
			snprintf(b.name, sizeof b.name, "layer%d.%zu", layer + 1, i);
			b.stride = layer && i == 0 ? 2 : 1;
			x = add_resnet_block(net, p, &b, x);
		}
	return x;
}

static invar_status open_resnet(invar_encoder *e, inv_parameters *p)
{
	/* Tensors with these names would change what the network computes. */
	static const char *const own[] = {"conv", "bn", "layer", "attnpool", NULL};
	static const char *const heads[] = {"fc.", "projection_head.", "prototypes", NULL};
	const char *stride = inv_option_text(e->options, "stride");
	const block b = {.bottleneck = inv_parameters_find(p, "layer1.0.conv3.weight") != NULL,
	                 .early = stride && strcmp(stride, "1x1") == 0};
	size_t blocks[LAYERS], last;
	inv_convnet *net;

	INV_TRY(inv_convnet_new(e, p, "ResNet", &net));
	for (int i = 0; i < LAYERS; i++) {
		char format[64];

		snprintf(format, sizeof format, "layer%d.%%zu.conv1.weight", i + 1);
		blocks[i] = inv_parameters_in_a_row(p, format);
	}
	if (b.early && !b.bottleneck)
		inv_convnet_fail(
			net,
			inv_fail(
				INVAR_E_USE,
				"%s: has basic blocks, but @stride 1x1 is for bottlenecks; leave it out",
				inv_parameters_path(p)));
	for (size_t i = 0; heads[i]; i++)
		inv_parameters_ignore(p, heads[i]);
	last = describe_resnet(net, p, b, blocks);
	e->input = (inv_input){.resize = 256,
	                       .side = 224,
	                       .filter = INV_BILINEAR,
	                       .normalisation = "imagenet",
	                       .keeps_grey = inv_convnet_channels(net, 0) == 1};
	e->measures = (inv_measures){.width = inv_convnet_channels(net, last),
	                             .depth = blocks[0] + blocks[1] + blocks[2] + blocks[3]};
	snprintf(e->about, sizeof e->about, "ResNet, %s blocks %zu %zu %zu %zu, %" PRIu64 " %s",
	         b.bottleneck ? "bottleneck" : "basic", blocks[0], blocks[1], blocks[2],
	         blocks[3], e->measures.width,
	         inv_noun(e->measures.width, "feature", "features"));
	return inv_convnet_finish(net, last, own);
}

static const invar_option rows[] = {
	{INV_BN_EPS_ROW},
	{.name = "stride",
     .type = INVAR_OPTION_TEXT,
     .choices = "3x3|1x1",
     .meta = "WORD",
     .group = "Encoder",
     .help = "which convolution of a ResNet's bottleneck has the stride; default: the "
             "model's, else 3x3 as in torchvision"},
	{0},
};

const inv_encoder_kind inv_encoder_resnet = {
	.family = "resnet",
	.about = "torchvision's ResNets, of any width and depth",
	.options = rows,
	.recognise = recognise_resnet,
	.open = open_resnet,
	.close = inv_convnet_close,
	.plan = inv_convnet_plan,
	.unplan = inv_convnet_unplan,
	.run = inv_convnet_run,
	.run_together = inv_convnet_run_together,
	.onnx = inv_convnet_onnx,
};
