/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_results.c - metrics.json, which several programs may add to at once.
 *
 * The part file that the new text is written to is also the lock: whoever holds it reads
 * what is there, adds to it and puts the whole in its place. A killed program leaves a
 * part file that the next one takes.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

static invar_status no_memory(const char *path)
{
	return inv_fail(INVAR_E_NOMEM, "%s: no memory for results", path);
}

static invar_status load_results(const char *path, json_t **out)
{
	*out = NULL;
	if (inv_exists(path))
		return inv_json_load(path, out);
	return (*out = json_object()) ? INVAR_OK : no_memory(path);
}

/* The run's own figures of a measurement, or those of F where it has no others. */
static bool has_figures(const json_t *measurement)
{
	const json_t *own = json_object_get(measurement, "E");
	const json_t *cell = own ? own : json_object_get(measurement, "F");

	return cell && !json_object_get(cell, "skipped");
}

/* A new measurement replaces the old one of its name; a skipped one replaces no figures. */
static bool merge(json_t *all, const json_t *more)
{
	json_t *there = json_object_get(all, "measurements"), *measurement;
	const char *name;

	if (!json_is_object(there)) {
		there = json_object();
		if (json_object_set_new(all, "measurements", there) != 0)
			return false;
	}
	json_object_foreach (json_object_get(more, "measurements"), name, measurement) {
		if (!has_figures(measurement) && has_figures(json_object_get(there, name)))
			continue;
		if (json_object_set(there, name, measurement) != 0)
			return false;
	}
	return true;
}

static invar_status write_results(inv_writer *w, const char *path, const json_t *more)
{
	json_t *all;
	char *text = NULL;
	invar_status st = load_results(path, &all);

	if (st == INVAR_OK && !(merge(all, more) && (text = inv_json_text(all, 2))))
		st = no_memory(path);
	if (st == INVAR_OK)
		st = inv_writer_put(w, text, strlen(text));
	inv_free(text);
	json_decref(all);
	return st;
}

static invar_status update_results(const invar_context *ctx, const char *path,
                                   const json_t *more)
{
	inv_writer *w;
	invar_status st = inv_writer_open_in_turn(ctx, path, &w);

	if (st != INVAR_OK)
		return st;
	if ((st = write_results(w, path, more)) == INVAR_OK)
		return inv_writer_commit(w);
	inv_writer_abort(w);
	return st;
}

invar_status invar_run_keep_results(invar_context *ctx, const char *run, const char *json)
{
	char *path = inv_join(run, INVAR_RUN_METRICS);
	json_t *more = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	invar_status st;

	if (!path)
		st = no_memory(run);
	else if (!json_is_object(more))
		st = inv_fail(INVAR_E_USE, "%s: results must be a JSON object", path);
	else
		st = update_results(ctx, path, more);
	json_decref(more);
	inv_free(path);
	return st;
}
