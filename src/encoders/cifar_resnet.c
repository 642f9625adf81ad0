/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cifar_resnet.c - the small ResNets of CIFAR: 20, 32, 44, 56 … layers, 64 features.
 *
 * A 3x3 convolution, then three layers of basic blocks, the last two halving the image.
 * Where the shape changes the shortcut has no weights (option A): every second pixel,
 * padded with zero channels, half of them before and half after. That is a 1x1 convolution
 * whose weights are 0 and 1, and it runs as one.
 */
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet.h"

enum { LAYERS = 3 };

static const inv_window three = {3, 1, 1, false};

static bool recognise_cifar_resnet(const inv_parameters *p)
{
	return inv_parameters_find(p, "conv1.weight") && inv_parameters_find(p, "bn1.weight") &&
	       inv_parameters_find(p, "layer3.0.conv2.weight") &&
	       !inv_parameters_find(p, "layer3.0.conv3.weight") &&
	       !inv_parameters_find(p, "layer4.0.conv1.weight");
}

static size_t add_padded_shortcut(inv_convnet *net, const char *block, size_t x,
                                  size_t outputs)
{
	const inv_layer l = {.conv = block, .from = x, .window = {1, 2, 0, false}};
	size_t channels = inv_convnet_channels(net, x), before;
	float *weights = NULL, *bias = NULL;
	invar_status st;

	if (!channels) /* it has failed before */
		return 0;
	if (outputs < channels) {
		inv_convnet_fail(net, inv_fail(INVAR_E_MISMATCH,
		                               "the weights of '%s' turn %zu %s into %zu, which a "
		                               "shortcut without weights cannot do",
		                               block, outputs,
		                               inv_noun(outputs, "channel", "channels"), channels));
		return 0;
	}
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

static size_t add_basic_block(inv_convnet *net, const char *block, size_t stride, size_t x)
{
	inv_layer first = {.from = x, .window = three, .relu = true};
	inv_layer last = {.window = three, .add = true, .relu = true};

	first.window.stride = stride;
	last.from = inv_convnet_numbered(net, block, 1, first);
	last.to = x;
	if (stride > 1)
		last.to = add_padded_shortcut(net, block, x, inv_convnet_channels(net, last.from));
	return inv_convnet_numbered(net, block, 2, last);
}

static size_t describe_cifar_resnet(inv_convnet *net, const inv_parameters *p,
                                    size_t *blocks)
{
	const inv_layer stem = {.conv = "conv1", .norm = "bn1", .window = three, .relu = true};
	size_t x = inv_convnet_conv(net, &stem);

	for (int layer = 0; layer < LAYERS; layer++) {
		char name[64];

		snprintf(name, sizeof name, "layer%d.%%zu.conv1.weight", layer + 1);
		blocks[layer] = inv_parameters_in_a_row(p, name);
		for (size_t i = 0; i < blocks[layer]; i++) {
			snprintf(name, sizeof name, "layer%d.%zu", layer + 1, i);
			x = add_basic_block(net, name, layer && !i ? 2 : 1, x);
		}
	}
	return x;
}

static invar_status open_cifar(invar_encoder *e, inv_parameters *p)
{
	/* Tensors with these names would change what the network computes. */
	static const char *const own[] = {"conv", "bn", "layer", NULL};
	size_t blocks[LAYERS], last;
	inv_convnet *net;

	INV_TRY(inv_convnet_new(e, p, "ResNet for CIFAR", &net));
	inv_parameters_ignore(p, "linear.");
	inv_parameters_ignore(p, "fc.");
	last = describe_cifar_resnet(net, p, blocks);
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
	return inv_convnet_finish(net, last, own);
}

static const invar_option rows[] = {{INV_BN_EPS_ROW}, {0}};

const inv_encoder_kind inv_encoder_cifar_resnet = {
	.family = "cifar_resnet",
	.about = "small ResNets for CIFAR-10",
	.options = rows,
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
