/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_merge.c - the metrics.json of a run: the figures of its adapter, measured at any
 * time, on any bank.
 *
 * One entry per bank (by its fingerprint), split, measurement and the options that matter
 * for it. Measuring the same again replaces the entry; a second bank adds one.
 */
#include <stdbool.h>
#include <string.h>

#include "run/results.h"

/* The parts of an entry that say what was measured; equal keys replace each other. */
static const char *const keys[] = {"fingerprint", "split", "points", "measurement",
                                   "options"};

static bool is_same(const json_t *a, const json_t *b)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);

		if (x != y &&
		    (!x || !y || !json_equal((json_t *)(uintptr_t)x, (json_t *)(uintptr_t)y)))
			return false;
	}
	return true;
}

/* { metric: value } of one measurement and column; NULL where it has none. */
static json_t *figures(const json_t *document, const char *measurement, const char *column)
{
	const json_t *values = json_object_get(document, "values"), *metric;
	json_t *all = json_object();
	size_t i;

	json_array_foreach (json_object_get(document, "metrics"), i, metric) {
		const char *id = json_string_value(json_object_get(metric, "id"));
		const char *of = json_string_value(json_object_get(metric, "measurement"));
		json_t *value = json_object_get(json_object_get(values, id), column);

		if (strcmp(of, measurement) == 0 && value)
			json_object_set(all, id, value);
	}
	if (json_object_size(all))
		return all;
	json_decref(all);
	return NULL;
}

static json_t *entry_of(const json_t *document, const char *measurement, const char *column)
{
	const json_t *details =
		json_object_get(json_object_get(document, "details"), measurement);
	const json_t *options =
		json_object_get(json_object_get(document, "options"), measurement);

	return json_pack(
		"{s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:s, s:o, s:o*, s:o*, s:O*}", "bank",
		json_object_get(document, "bank"), "fingerprint",
		json_object_get(document, "fingerprint"), "encoder",
		json_object_get(document, "encoder"), "augment",
		json_object_get(document, "augment"), "split", json_object_get(document, "split"),
		"points", json_object_get(document, "points"), "measurement", measurement,
		"options", options ? json_deep_copy(options) : json_object(), "F",
		figures(document, measurement, "F"), "E", figures(document, measurement, column),
		"details", json_object_get(details, column));
}

static int put_entry(json_t *list, json_t *entry)
{
	const json_t *old;
	size_t i;

	json_array_foreach (list, i, old)
		if (is_same(old, entry))
			return json_array_set_new(list, i, entry);
	return json_array_append_new(list, entry);
}

static json_t *new_metrics(void)
{
	return json_pack("{s:s, s:i, s:{}, s:[]}", "format", "invar-metrics", "version", 1,
	                 "metrics", "measured");
}

static bool is_metrics(const json_t *json)
{
	const char *format = json_string_value(json_object_get(json, "format"));

	return format && strcmp(format, "invar-metrics") == 0 &&
	       json_integer_value(json_object_get(json, "version")) == 1 &&
	       json_is_object(json_object_get(json, "metrics")) &&
	       json_is_array(json_object_get(json, "measured"));
}

/* How each metric is shown, { id: { row, unit … } }. */
static void describe_metrics(const json_t *document, json_t *into)
{
	const json_t *metric;
	size_t i;

	json_array_foreach (json_object_get(document, "metrics"), i, metric) {
		json_t *shown = json_copy((json_t *)(uintptr_t)metric);

		json_object_del(shown, "id");
		json_object_set_new(into, json_string_value(json_object_get(metric, "id")), shown);
	}
}

static invar_status merge(const json_t *document, const char *column, json_t *metrics)
{
	json_t *list = json_object_get(metrics, "measured");
	const json_t *metric;
	const char *last = "";
	size_t i;

	describe_metrics(document, json_object_get(metrics, "metrics"));
	json_array_foreach (json_object_get(document, "metrics"), i, metric) {
		const char *measurement = json_string_value(json_object_get(metric, "measurement"));
		json_t *entry;

		if (strcmp(measurement, last) == 0)
			continue; /* its metrics stand one behind the other */
		last = measurement;
		entry = entry_of(document, measurement, column);
		if (!entry || put_entry(list, entry) != 0)
			return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
	}
	return INVAR_OK;
}

invar_status inv_results_merge(const invar_results *r, const char *column,
                               const char *where, json_t **metrics)
{
	json_t *document;
	invar_status st;

	if (*metrics && !is_metrics(*metrics))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is not a metrics.json of version 1; move it away to measure "
		                "this run",
		                where);
	if (!*metrics && !(*metrics = new_metrics()))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
	if (!(document = inv_results_document(r)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
	st = merge(document, column, *metrics);
	json_decref(document);
	return st;
}
