/* SPDX-License-Identifier: Apache-2.0 */
/* convnet.c - describing a convolutional network from its weights. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "encoders/convnet_steps.h"
#include "formats/weights.h"

static const double usual_eps = 1e-5; /* of batch norms */

invar_status inv_convnet_new(invar_encoder *e, inv_parameters *p, const char *family,
                             inv_convnet **out)
{
	double eps = inv_option_number(e->options, "bn-eps");
	inv_convnet *net = *out = e->own = inv_calloc(1, sizeof *net);

	if (!net)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for a network",
		                inv_parameters_path(p));
	net->family = family;
	net->parameters = p;
	net->eps = eps > 0 ? eps : usual_eps;
	net->value_count = 1;
	return INVAR_OK;
}

void inv_convnet_close(invar_encoder *e)
{
	inv_convnet *net = e->own;

	for (size_t i = 0; net && i < net->step_count; i++) {
		inv_free(net->steps[i].weights);
		inv_free(net->steps[i].bias);
	}
	inv_free(net);
	e->own = NULL;
}

size_t inv_convnet_channels(const inv_convnet *net, size_t value)
{
	return net->status == INVAR_OK ? net->channels[value] : 0;
}

void inv_convnet_fail(inv_convnet *net, invar_status st)
{
	if (net->status == INVAR_OK)
		net->status = st;
}

/* ---- Weights -------------------------------------------------------------------- */

/* One of a layer's tensors of shape [outputs]. */
static invar_status take_row(inv_convnet *net, const char *layer, const char *part,
                             size_t outputs, float *out)
{
	char name[INV_PARAMETER_NAME];
	const uint64_t shape[] = {outputs};

	snprintf(name, sizeof name, "%s.%s", layer, part);
	return inv_parameters_take(net->parameters, name, 1, shape, out);
}

/* y = gamma (x - mean) / sqrt(var + eps) + beta, as a scale and a shift. */
static invar_status fold(inv_convnet *net, const char *norm, size_t outputs, size_t filter,
                         const float *rows, float *weights, float *bias)
{
	const float *gamma = rows, *beta = rows + outputs;
	const float *mean = rows + 2 * outputs, *var = rows + 3 * outputs;

	for (size_t o = 0; o < outputs; o++) {
		double scale = (double)gamma[o] / sqrt((double)var[o] + net->eps);
		bool finite = isfinite(scale) &&
		              isfinite(bias[o] = (float)((double)beta[o] - mean[o] * scale));

		for (size_t i = 0; i < filter && finite; i++)
			finite = isfinite(weights[o * filter + i] =
			                      (float)(weights[o * filter + i] * scale));
		if (!finite)
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: its batch norm '%s' has variance %g and scale %g in "
			                "channel %zu, which cannot be folded into its convolution",
			                inv_parameters_path(net->parameters), norm, (double)var[o],
			                (double)gamma[o], o);
	}
	return INVAR_OK;
}

static invar_status take_norm(inv_convnet *net, const char *norm, size_t outputs,
                              size_t filter, float *weights, float *bias)
{
	static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
	char counter[INV_PARAMETER_NAME];
	float *rows = inv_calloc(4 * outputs, sizeof *rows);
	invar_status st = INVAR_OK;

	if (!rows)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for '%s'",
		                inv_parameters_path(net->parameters), norm);
	for (size_t i = 0; i < 4 && st == INVAR_OK; i++)
		st = take_row(net, norm, parts[i], outputs, rows + i * outputs);
	if (st == INVAR_OK)
		st = fold(net, norm, outputs, filter, rows, weights, bias);
	snprintf(counter, sizeof counter, "%s.num_batches_tracked", norm);
	inv_parameters_ignore(net->parameters, counter);
	inv_free(rows);
	return st;
}

/* The number of outputs in the file, if its tensor has a shape at all. */
static size_t outputs_of(const inv_convnet *net, const char *conv)
{
	const inv_weight_about *w = inv_parameters_find(net->parameters, "%s.weight", conv);

	return w && w->rank == 4 && w->cells ? (size_t)w->shape[0] : 1;
}

static invar_status check_filters(const inv_convnet *net, const inv_layer *l,
                                  size_t outputs)
{
	char name[2 * INV_PARAMETER_NAME];
	size_t k = l->window.kernel;
	const uint64_t shape[] = {outputs, net->channels[l->from], k, k};

	snprintf(name, sizeof name, "%s.weight", l->conv);
	return inv_parameters_check(net->parameters, name, 4, shape);
}

static invar_status take_filters(inv_convnet *net, const inv_layer *l, size_t outputs,
                                 float *weights, float *bias)
{
	char name[INV_PARAMETER_NAME];
	size_t channels = net->channels[l->from], k = l->window.kernel;
	const uint64_t shape[] = {outputs, channels, k, k};
	invar_status st;

	snprintf(name, sizeof name, "%s.weight", l->conv);
	st = inv_parameters_take(net->parameters, name, 4, shape, weights);
	if (st != INVAR_OK)
		return st;
	if (!l->norm)
		return take_row(net, l->conv, "bias", outputs, bias);
	return take_norm(net, l->norm, outputs, channels * k * k, weights, bias);
}

/* The image has as many channels as the first convolution takes. */
static void find_image_channels(inv_convnet *net, const char *conv)
{
	const inv_weight_about *w = inv_parameters_find(net->parameters, "%s.weight", conv);

	if (!net->channels[0])
		net->channels[0] =
			w && w->rank == 4 && (w->shape[1] == 1 || w->shape[1] == 3) ? w->shape[1] : 3;
}

invar_status inv_convnet_take(inv_convnet *net, const inv_layer *l, size_t *outputs,
                              float **weights, float **bias)
{
	size_t filter;

	*weights = *bias = NULL;
	if (net->status != INVAR_OK)
		return net->status;
	find_image_channels(net, l->conv);
	*outputs = outputs_of(net, l->conv);
	if ((net->status = check_filters(net, l, *outputs)) != INVAR_OK)
		return net->status;
	filter = net->channels[l->from] * l->window.kernel * l->window.kernel;
	*weights = inv_calloc(*outputs, filter * sizeof **weights);
	*bias = inv_calloc(*outputs, sizeof **bias);
	if (!*weights || !*bias)
		net->status = inv_fail(INVAR_E_NOMEM, "%s: not enough memory for '%s'",
		                       inv_parameters_path(net->parameters), l->conv);
	else
		net->status = take_filters(net, l, *outputs, *weights, *bias);
	if (net->status != INVAR_OK) {
		inv_free(*weights);
		inv_free(*bias);
		*weights = *bias = NULL;
	}
	return net->status;
}

/* ---- Steps ---------------------------------------------------------------------- */

static void refuse_deep(inv_convnet *net)
{
	net->status = inv_fail(INVAR_E_MISMATCH, "%s: has more than %d layers, the maximum",
	                       inv_parameters_path(net->parameters), INV_MAX_STEPS);
}

size_t inv_convnet_space(inv_convnet *net, size_t channels)
{
	if (net->status == INVAR_OK && net->value_count > INV_MAX_STEPS)
		refuse_deep(net);
	if (net->status != INVAR_OK)
		return 0;
	net->channels[net->value_count] = channels;
	return net->value_count++;
}

static size_t add_step(inv_convnet *net, inv_step s)
{
	if (s.to == 0)
		s.to = inv_convnet_space(net, s.outputs);
	if (net->status == INVAR_OK && net->step_count == INV_MAX_STEPS)
		refuse_deep(net);
	if (net->status != INVAR_OK) {
		inv_free(s.weights);
		inv_free(s.bias);
		return 0;
	}
	s.channels = net->channels[s.from];
	net->one_by_one = net->one_by_one || s.channel;
	net->steps[net->step_count++] = s;
	return s.to;
}

size_t inv_convnet_filter(inv_convnet *net, const inv_layer *l, size_t outputs,
                          float *weights, float *bias)
{
	const inv_step s = {.from = l->from,
	                    .to = l->to,
	                    .channel = l->channel,
	                    .window = l->window,
	                    .outputs = outputs,
	                    .add = l->add,
	                    .relu = l->relu,
	                    .weights = weights,
	                    .bias = bias};

	if (l->to && net->status == INVAR_OK && l->add && net->channels[l->to] != outputs)
		inv_convnet_fail(net, inv_fail(INVAR_E_MISMATCH,
		                               "%s: '%s' has %zu %s but is added to %zu, so the "
		                               "tensors of a shortcut are missing",
		                               inv_parameters_path(net->parameters), l->conv,
		                               outputs, inv_noun(outputs, "channel", "channels"),
		                               net->channels[l->to]));
	return add_step(net, s);
}

size_t inv_convnet_conv(inv_convnet *net, const inv_layer *l)
{
	float *weights, *bias;
	size_t outputs;

	if (inv_convnet_take(net, l, &outputs, &weights, &bias) != INVAR_OK)
		return 0;
	return inv_convnet_filter(net, l, outputs, weights, bias);
}

size_t inv_convnet_numbered(inv_convnet *net, const char *block, int k, inv_layer l)
{
	char conv[INV_PARAMETER_NAME], norm[INV_PARAMETER_NAME];

	snprintf(conv, sizeof conv, "%s.conv%d", block, k);
	snprintf(norm, sizeof norm, "%s.bn%d", block, k);
	l.conv = conv;
	l.norm = norm;
	return inv_convnet_conv(net, &l);
}

size_t inv_convnet_pool(inv_convnet *net, size_t from, inv_window w)
{
	return add_step(net,
	                (inv_step){.from = from, .window = w, .outputs = net->channels[from]});
}

invar_status inv_convnet_finish(inv_convnet *net, size_t last, const char *const *own)
{
	if (net->status == INVAR_OK)
		net->status = inv_parameters_finish(net->parameters, net->family, own);
	net->parameters = NULL;
	net->last = last;
	return net->status;
}
