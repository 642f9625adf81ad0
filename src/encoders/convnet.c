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
	inv_convnet *net;

	INV_TRY(inv_new(&net));
	*out = e->own = net;
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

/* ---- Weights ---------------------------------------------------------------------- */

/* One of a layer's tensors of shape [outputs]. */
static invar_status take_row(inv_convnet *net, const char *layer, const char *tensor,
                             size_t outputs, float *out)
{
	char name[INV_PARAMETER_NAME];
	const uint64_t shape[] = {outputs};

	snprintf(name, sizeof name, "%s.%s", layer, tensor);
	return inv_parameters_take(net->parameters, name, 1, shape, out);
}

/* y = gamma (x - mean) / sqrt(var + eps) + beta, as a scale and a shift. */
static invar_status fold_batch_norm(inv_convnet *net, const char *norm, size_t outputs,
                                    size_t filter, float *weights, float *bias)
{
	static const char *const tensors[] = {"weight", "bias", "running_mean", "running_var"};
	char counter[INV_PARAMETER_NAME];
	float *gamma, *beta, *mean, *var;
	invar_status st;

	INV_TRY(inv_new_zeros(&gamma, 4 * outputs));
	beta = gamma + outputs;
	mean = beta + outputs;
	var = mean + outputs;
	for (size_t i = 0; i < 4; i++)
		INV_TRY_OR(done, take_row(net, norm, tensors[i], outputs, gamma + i * outputs));
	for (size_t o = 0; o < outputs; o++) {
		double scale = (double)gamma[o] / sqrt((double)var[o] + net->eps);
		bool finite = isfinite(scale) &&
		              isfinite(bias[o] = (float)((double)beta[o] - mean[o] * scale));

		for (size_t i = 0; i < filter && finite; i++)
			finite = isfinite(weights[o * filter + i] =
			                      (float)(weights[o * filter + i] * scale));
		if (!finite)
			INV_TRY_OR(done, inv_fail(INVAR_E_NUMERIC,
			                          "%s: its batch norm '%s' has variance %g and scale "
			                          "%g in channel %zu, which cannot be folded into its "
			                          "convolution",
			                          inv_parameters_path(net->parameters), norm,
			                          (double)var[o], (double)gamma[o], o));
	}
	snprintf(counter, sizeof counter, "%s.num_batches_tracked", norm);
	inv_parameters_ignore(net->parameters, counter);
done:
	inv_free(gamma);
	return st;
}

invar_status inv_convnet_take(inv_convnet *net, const inv_layer *l, size_t *outputs,
                              float **weights, float **bias)
{
	inv_parameters *p = net->parameters;
	const inv_weight_about *w = inv_parameters_find(p, "%s.weight", l->conv);
	char name[2 * INV_PARAMETER_NAME];
	uint64_t shape[4];
	size_t filter;
	invar_status st;

	*weights = *bias = NULL;
	if (net->status != INVAR_OK)
		return net->status;
	/* The image has as many channels as the first convolution takes. */
	if (!net->channels[0])
		net->channels[0] =
			w && w->ndim == 4 && (w->shape[1] == 1 || w->shape[1] == 3) ? w->shape[1] : 3;
	*outputs = w && w->ndim == 4 && w->cells ? (size_t)w->shape[0] : 1;
	shape[0] = *outputs;
	shape[1] = net->channels[l->from];
	shape[2] = shape[3] = l->window.kernel;
	snprintf(name, sizeof name, "%s.weight", l->conv);
	INV_TRY_OR(fail, inv_parameters_check(p, name, 4, shape));

	filter = (size_t)(shape[1] * shape[2] * shape[3]);
	INV_TRY_OR(fail, inv_new_zeros(weights, *outputs * filter));
	INV_TRY_OR(fail, inv_new_zeros(bias, *outputs));
	INV_TRY_OR(fail, inv_parameters_take(p, name, 4, shape, *weights));
	INV_TRY_OR(fail, l->norm
	                     ? fold_batch_norm(net, l->norm, *outputs, filter, *weights, *bias)
	                     : take_row(net, l->conv, "bias", *outputs, *bias));
	return INVAR_OK;
fail:
	inv_free(*weights);
	inv_free(*bias);
	*weights = *bias = NULL;
	return net->status = st;
}

/* ---- Steps ------------------------------------------------------------------------ */

static void fail_too_deep(inv_convnet *net)
{
	net->status = inv_fail(INVAR_E_MISMATCH, "%s: has more than %d layers, the maximum",
	                       inv_parameters_path(net->parameters), INV_MAX_STEPS);
}

size_t inv_convnet_space(inv_convnet *net, size_t channels)
{
	if (net->status == INVAR_OK && net->value_count > INV_MAX_STEPS)
		fail_too_deep(net);
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
		fail_too_deep(net);
	if (net->status != INVAR_OK) {
		inv_free(s.weights);
		inv_free(s.bias);
		return 0;
	}
	s.channels = net->channels[s.from];
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
