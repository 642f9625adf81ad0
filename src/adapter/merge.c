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

static const char *known_metadata(const invar_adapter *e, const char *key)
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
		size += known_metadata(e[i], key) ? strlen(known_metadata(e[i], key)) + 3 : 0;
	if (!seen || !(text = inv_calloc(size, 1))) {
		json_decref(seen);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = known_metadata(e[i], key);

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
		if (known_metadata(e[i], key))
			return json_string(known_metadata(e[i], key));
	return json_string("");
}

/* { "strength": …, "adapters": […] } as text; NULL: no memory. */
static json_t *describe_merged(const invar_adapter *const *e, const double *weight,
                               size_t count, double strength)
{
	static const char *const keys[] = {"loss", "augment", "seed", "options", "merged"};
	json_t *adapters = json_array(), *text = NULL;
	json_t *all = json_pack("{s:f, s:o}", "strength", strength, "adapters", adapters);
	char *line;

	for (size_t i = 0; all && i < count; i++) {
		json_t *one = json_pack("{s:f}", "weight", weight[i]);

		for (size_t k = 0; one && k < sizeof keys / sizeof *keys; k++) {
			char key[32];
			const char *value;
			json_t *parsed;

			snprintf(key, sizeof key, "invar.%s", keys[k]);
			if (!(value = known_metadata(e[i], key)))
				continue;
			parsed = json_loads(value, JSON_REJECT_DUPLICATES, NULL); /* an object, or text */
			json_object_set_new(one, keys[k], parsed ? parsed : json_string(value));
		}
		json_array_append_new(adapters, one);
	}
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

static invar_status describe_merge(const invar_adapter *const *e, const double *weight,
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
		describe_merged(e, weight, count, strength));
	if (out->unit)
		json_object_set_new(out->metadata, "invar.unit", json_string("1"));
	merge_norms(e, weight, count, out->metadata);
	return out->metadata ? INVAR_OK : inv_no_memory();
}

/* ---- Merging ---------------------------------------------------------------------- */

static invar_status check_mergeable(const invar_adapter *const *e, size_t count,
                                   double strength)
{
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
	for (size_t i = 1; i < count; i++) {
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
		INV_TRY(inv_compatibility_same_features(e[0], e[i]));
	}
	return INVAR_OK;
}

/* The weights, equal ones for NULL, divided by their sum; gives. */
static invar_status normalise_weights(const double *weights, size_t count, double **out)
{
	double sum = 0;

	INV_TRY(inv_new_array(out, count));
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

invar_status invar_adapter_merge(const invar_adapter *const *adapters,
                                 const double *weights, size_t count, double strength,
                                 invar_adapter **out)
{
	invar_adapter *e = NULL;
	inv_composition *c = NULL;
	inv_mlp_form form;
	double *weight = NULL;
	size_t units = 0;
	invar_status st;

	*out = NULL;
	INV_TRY(check_mergeable(adapters, count, strength));
	INV_TRY_OR(done, inv_adapter_begin(adapters[0]->ctx, &e));
	INV_TRY_OR(done, normalise_weights(weights, count, &weight));
	for (size_t i = 0; i < count; i++)
		units += adapters[i]->s.h;
	INV_TRY_OR(done, inv_composition_new(e->ctx, adapters[0]->s.d, adapters[0]->s.w, units,
	                                     &c));
	for (size_t i = 0; i < count; i++) {
		const invar_adapter *a = adapters[i];
		const inv_mlp_form one = {a->s, a->residual, a->params};

		inv_composition_add(c, &one, strength * weight[i]);
	}
	if (strength != 1)
		inv_composition_add_identity(c, 1 - strength);
	INV_TRY_OR(done, inv_composition_finish(c, &form));
	e->s = form.s;
	e->residual = form.residual;
	e->unit = adapters[0]->unit;
	e->params = form.params;
	INV_TRY_OR(done, describe_merge(adapters, weight, count, strength, e));
	*out = e;
	e = NULL;
done:
	inv_composition_free(c);
	inv_free(weight);
	invar_adapter_close(e);
	return st;
}
