/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squeezenet.c - SqueezeNet 1.1 by torchvision's names.
 *
 * A 3x3 convolution with stride 2 and without padding, then fire modules with max pools
 * between them. A fire module squeezes its input to few channels and concatenates a 1x1 and
 * a 3x3 convolution of them. The features are the mean over the maps of the last one; the
 * classifier after it is a 1x1 convolution that F does not need.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet.h"
#include "formats/weights.h"

enum { POOL = 0, END = -1 };

/* features.0 is the first convolution and features.1 its ReLU; these come next. */
static const int modules[] = {POOL, 3, 4, POOL, 6, 7, POOL, 9, 10, 11, 12, END};

static const inv_window point = {1, 1, 0, false}, three = {3, 1, 1, false};
static const inv_window first = {3, 2, 0, false}, pool = {3, 2, 0, true};

static bool recognise_squeezenet(const inv_parameters *p)
{
	return inv_parameters_find(p, "features.0.weight") &&
	       inv_parameters_find(p, "features.3.squeeze.weight") &&
	       inv_parameters_find(p, "features.12.expand3x3.weight");
}

/* The 1x1 convolution as a 3x3 one with its weights in the middle, followed by the 3x3. */
static size_t join_filters(inv_convnet *net, const inv_layer *small, const inv_layer *large)
{
	size_t m = 0, n = 0, channels = inv_convnet_channels(net, small->from);
	float *a = NULL, *a_bias = NULL, *b = NULL, *b_bias = NULL, *w = NULL, *bias = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_convnet_take(net, small, &m, &a, &a_bias));
	INV_TRY_OR(done, inv_convnet_take(net, large, &n, &b, &b_bias));
	INV_TRY_OR(done, inv_new_zeros(&w, (m + n) * 9 * channels));
	INV_TRY_OR(done, inv_new_zeros(&bias, m + n));
	for (size_t i = 0; i < m * channels; i++)
		w[i * 9 + 4] = a[i];
	for (size_t i = 0; i < n * channels * 9; i++)
		w[m * channels * 9 + i] = b[i];
	for (size_t i = 0; i < m + n; i++)
		bias[i] = i < m ? a_bias[i] : b_bias[i - m];
done:
	inv_free(a);
	inv_free(a_bias);
	inv_free(b);
	inv_free(b_bias);
	inv_convnet_fail(net, st); /* OK changes nothing */
	return inv_convnet_filter(net, large, m + n, w, bias);
}

/* Results are concatenated in place if the second can start at a block of channels. */
static size_t add_fire(inv_convnet *net, const inv_parameters *p, int module, size_t x)
{
	char squeeze[64], small[64], large[64];
	inv_layer s = {.conv = squeeze, .from = x, .window = point, .relu = true};
	inv_layer a = {.conv = small, .window = point, .relu = true};
	inv_layer b = {.conv = large, .window = three, .relu = true};
	const inv_weight_about *wa, *wb;

	snprintf(squeeze, sizeof squeeze, "features.%d.squeeze", module);
	snprintf(small, sizeof small, "features.%d.expand1x1", module);
	snprintf(large, sizeof large, "features.%d.expand3x3", module);
	a.from = b.from = inv_convnet_conv(net, &s);
	wa = inv_parameters_find(p, "%s.weight", small);
	wb = inv_parameters_find(p, "%s.weight", large);
	if (!wa || !wb || wa->shape[0] % INV_JOIN || wa->ndim != 4 || wb->ndim != 4)
		return join_filters(net, &a, &b);
	a.to = b.to = inv_convnet_space(net, (size_t)(wa->shape[0] + wb->shape[0]));
	b.channel = (size_t)wa->shape[0];
	inv_convnet_conv(net, &a);
	return inv_convnet_conv(net, &b);
}

static invar_status open_squeezenet(invar_encoder *e, inv_parameters *p)
{
	/* A tensor with this name would change what the network computes. */
	static const char *const own[] = {"features.", NULL};
	const inv_layer stem = {.conv = "features.0", .window = first, .relu = true};
	inv_convnet *net;
	size_t x;

	INV_TRY(inv_convnet_new(e, p, "SqueezeNet", &net));
	inv_parameters_ignore(p, "classifier.");
	x = inv_convnet_conv(net, &stem);
	for (const int *m = modules; *m != END; m++)
		x = *m == POOL ? inv_convnet_pool(net, x, pool) : add_fire(net, p, *m, x);
	e->input = (inv_input){.filter = INV_BILINEAR,
	                       .normalisation = "caffe",
	                       .keeps_grey = inv_convnet_channels(net, 0) == 1};
	e->measures = (inv_measures){.width = inv_convnet_channels(net, x)};
	snprintf(e->about, sizeof e->about, "SqueezeNet 1.1, %" PRIu64 " %s", e->measures.width,
	         inv_noun(e->measures.width, "feature", "features"));
	return inv_convnet_finish(net, x, own);
}

const inv_encoder_kind inv_encoder_squeezenet = {
	.family = "squeezenet",
	.about = "SqueezeNet 1.1",
	.recognise = recognise_squeezenet,
	.open = open_squeezenet,
	.close = inv_convnet_close,
	.plan = inv_convnet_plan,
	.unplan = inv_convnet_unplan,
	.run = inv_convnet_run,
	.run_together = inv_convnet_run_together,
	.bfloat16 = true,
	.int8 = true,
	.onnx = inv_convnet_onnx,
};
