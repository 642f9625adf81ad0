/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.c - invar_adapter_merge: the weighted mean of adapters, and their strength.
 *
 *     z + w (sum_i a_i E_i(z) - z),   sum_i a_i = 1
 *
 * is one MLP (compose.h). Of unit adapters this is the inner map, of unit rows: the merged
 * adapter is unit(… of unit(z)) again. Norms that were recorded are merged as those of all
 * training rows together, weighted like the adapters. Its metadata record what was merged:
 * weight, loss, augmentation, seed and options of each adapter; no paths, so that equal
 * adapters give equal bytes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/compatibility.h"
#include "adapter/compose.h"

/* ---- Metadata --------------------------------------------------------------------- */

static const char *known(const invar_adapter *e, const char *key)
{
	const char *text = invar_adapter_metadata(e, key);

	return text && *text ? text : NULL;
}

/* The distinct values of a key, "rotation & noise"; gives, NULL: no memory. */
static json_t *join_values(const invar_adapter *const *e, size_t count, const char *key)
{
	json_t *seen = json_object(), *joined;
	size_t size = 1, fill = 0;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += known(e[i], key) ? strlen(known(e[i], key)) + 3 : 0;
	if (!seen || !(text = inv_calloc(size, 1))) {
		json_decref(seen);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = known(e[i], key);

		if (!value || json_object_get(seen, value))
			continue;
		fill +=
			(size_t)snprintf(text + fill, size - fill, "%s%s", fill ? " & " : "", value);
		json_object_set_new(seen, value, json_true());
	}
	joined = json_string(text);
	inv_free(text);
	json_decref(seen);
	return joined;
}

/* The value of the first adapter that has one. */
static json_t *first_value(const invar_adapter *const *e, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (known(e[i], key))
			return json_string(known(e[i], key));
	return json_string("");
}

/* One of the merged adapters. */
static json_t *describe_part(const invar_adapter *e, double weight)
{
	static const char *const keys[] = {"loss", "augment", "seed", "options", "merged"};
	json_t *out = json_pack("{s:f}", "weight", weight);

	for (size_t i = 0; out && i < sizeof keys / sizeof *keys; i++) {
		char key[32];
		const char *text;
		json_t *value;

		snprintf(key, sizeof key, "invar.%s", keys[i]);
		if (!(text = known(e, key)))
			continue;
		value = json_loads(text, JSON_REJECT_DUPLICATES, NULL); /* an object, or text */
		json_object_set_new(out, keys[i], value ? value : json_string(text));
	}
	return out;
}

/* { "strength": …, "adapters": […] } as text. */
static json_t *describe_parts(const invar_adapter *const *e, const double *weight,
                              size_t count, double strength)
{
	json_t *parts = json_array(),
		   *all = json_pack("{s:f, s:o}", "strength", strength, "adapters", parts);
	json_t *text = NULL;
	char *line;

	for (size_t i = 0; all && i < count; i++)
		json_array_append_new(parts, describe_part(e[i], weight[i]));
	if (all && (line = inv_json_text(all, 0))) {
		text = json_string(line);
		inv_free(line);
	}
	json_decref(all);
	return text;
}

/* Those of all training rows together; nothing if one of the adapters has none. */
static void merge_norms(const invar_adapter *const *e, const double *weight, size_t count,
                        json_t *metadata)
{
	inv_norm_text text;
	double mean = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		double m, deviation;

		if (!inv_adapter_norms(e[i], &m, &deviation))
			return;
		mean += weight[i] * m;
		squares += weight[i] * (m * m + deviation * deviation);
	}
	inv_spell_norms(mean, sqrt(fmax(0, squares - mean * mean)), &text);
	json_object_set_new(metadata, "invar.norm_mean", json_string(text.mean));
	json_object_set_new(metadata, "invar.norm_deviation", json_string(text.deviation));
}

static invar_status describe(const invar_adapter *const *e, const double *weight,
                             size_t count, double strength, invar_adapter *out)
{
	out->metadata = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "format", "pt", "invar.version",
		INVAR_VERSION, "invar.residual", out->residual ? "1" : "0", "invar.loss",
		join_values(e, count, "invar.loss"), "invar.augment",
		join_values(e, count, "invar.augment"), "invar.encoder",
		first_value(e, count, "invar.encoder"), "invar.encoder_sha256",
		first_value(e, count, "invar.encoder_sha256"), "invar.input",
		first_value(e, count, "invar.input"), "invar.merged",
		describe_parts(e, weight, count, strength));
	if (out->unit)
		json_object_set_new(out->metadata, "invar.unit", json_string("1"));
	merge_norms(e, weight, count, out->metadata);
	return out->metadata ? INVAR_OK
	                     : inv_fail(INVAR_E_NOMEM,
	                                "not enough memory for the metadata of an adapter");
}

/* ---- Merging ---------------------------------------------------------------------- */

static invar_status check_adapters(const invar_adapter *const *e, size_t count,
                                   double strength)
{
	invar_status st = INVAR_OK;

	if (!count)
		return inv_fail(INVAR_E_USE, "there is no adapter to merge");
	if (!(strength >= 0) || !isfinite(strength))
		return inv_fail(INVAR_E_USE, "@strength must be 0 or more, not %g", strength);
	if (strength != 1 && e[0]->s.w != e[0]->s.d)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: maps %zu features to %zu, but a @strength of %g needs codes as "
			"wide as the features",
			e[0]->path, e[0]->s.d, e[0]->s.w, strength);
	for (size_t i = 1; i < count && st == INVAR_OK; i++) {
		if (e[i]->s.d != e[0]->s.d || e[i]->s.w != e[0]->s.w)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: maps %zu features to %zu but %s maps %zu to %zu, so they "
			                "cannot be merged",
			                e[i]->path, e[i]->s.d, e[i]->s.w, e[0]->path, e[0]->s.d,
			                e[0]->s.w);
		if (e[i]->unit != e[0]->unit)
			return inv_fail(INVAR_E_MISMATCH,
			                "%s: normalises features and codes but %s does not, so they "
			                "cannot be merged; train both with @unit or both without",
			                e[e[i]->unit ? i : 0]->path, e[e[i]->unit ? 0 : i]->path);
		st = inv_compatibility_same_features(e[0], e[i]);
	}
	return st;
}

/* The weights as shares of 1, equal ones for NULL; gives. */
static invar_status share_weights(const double *weights, size_t count, double **out)
{
	double sum = 0;

	if (!(*out = inv_calloc(count, sizeof **out)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu weights", count);
	for (size_t i = 0; i < count; i++) {
		(*out)[i] = weights ? weights[i] : 1;
		if (!((*out)[i] > 0) || !isfinite((*out)[i]))
			return inv_fail(INVAR_E_USE, "a weight must be above 0, not %g", (*out)[i]);
		sum += (*out)[i];
	}
	if (!isfinite(sum))
		return inv_fail(INVAR_E_USE,
		                "the sum of the weights is too large; give smaller ones");
	for (size_t i = 0; i < count; i++)
		(*out)[i] /= sum;
	return INVAR_OK;
}

static invar_status compose(const invar_adapter *const *e, const double *weight,
                            size_t count, double strength, inv_mlp_form *out)
{
	inv_composition *c;
	size_t units = 0;
	invar_status st;

	for (size_t i = 0; i < count; i++)
		units += e[i]->s.h;
	if ((st = inv_composition_new(e[0]->ctx, e[0]->s.d, e[0]->s.w, units, &c)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < count; i++) {
		const inv_mlp_form form = {e[i]->s, e[i]->residual, e[i]->params};

		inv_composition_add(c, &form, strength * weight[i]);
	}
	if (strength != 1)
		inv_composition_add_identity(c, 1 - strength);
	st = inv_composition_finish(c, out);
	inv_composition_free(c);
	return st;
}

static invar_status merge(const invar_adapter *const *e, const double *weights,
                          size_t count, double strength, invar_adapter *out)
{
	double *weight = NULL;
	inv_mlp_form form;
	invar_status st = share_weights(weights, count, &weight);

	if (st == INVAR_OK && (st = compose(e, weight, count, strength, &form)) == INVAR_OK) {
		out->s = form.s;
		out->residual = form.residual;
		out->unit = e[0]->unit;
		out->params = form.params;
		st = describe(e, weight, count, strength, out);
	}
	inv_free(weight);
	return st;
}

invar_status invar_adapter_merge(const invar_adapter *const *adapters,
                                 const double *weights, size_t count, double strength,
                                 invar_adapter **out)
{
	invar_adapter *e = NULL;
	invar_status st = check_adapters(adapters, count, strength);

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_adapter_begin(adapters[0]->ctx, &e);
	if (st == INVAR_OK)
		st = merge(adapters, weights, count, strength, e);
	if (st == INVAR_OK)
		*out = e;
	else
		invar_adapter_close(e);
	return st;
}
