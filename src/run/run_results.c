/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_results.c - metrics.json, which several programs may add to at once.
 *
 * The part file for the new text is also the lock: its holder reads the file, adds to it
 * and replaces it. A killed program leaves a part file that the next one takes over.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "run/results.h"
#include "run/run.h"

static invar_status no_memory(const char *path)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for results", path);
}

/* *out is NULL if there is no file yet. */
static invar_status load_results(const char *path, json_t **out)
{
	invar_status st;

	*out = NULL;
	if (!inv_exists(path))
		return INVAR_OK;
	if ((st = inv_json_load(path, out)) == INVAR_OK)
		st = inv_results_check_metrics(*out, path);
	return st;
}

static invar_status check_results(const char *path)
{
	json_t *there;
	invar_status st = load_results(path, &there);

	json_decref(there);
	return st;
}

static invar_status write_results(inv_writer *w, const char *path, const invar_results *r,
                                  const char *column)
{
	json_t *all;
	char *text = NULL;
	invar_status st = load_results(path, &all);

	if (st == INVAR_OK)
		st = inv_results_merge(r, column, path, &all);
	if (st == INVAR_OK && !(text = inv_json_text(all, 2)))
		st = no_memory(path);
	if (st == INVAR_OK && strlen(text) > INV_JSON_MAX)
		st = inv_fail(
			INVAR_E_USE,
			"%s: would exceed 16 MB, the maximum size; move it away to start a new one",
			path);
	if (st == INVAR_OK)
		st = inv_writer_put(w, text, strlen(text));
	inv_free(text);
	json_decref(all);
	return st;
}

static invar_status update_results(const invar_context *ctx, const char *path,
                                   const invar_results *r, const char *column)
{
	inv_writer *w;
	invar_status st = inv_writer_open_in_turn(ctx, path, &w);

	if (st != INVAR_OK)
		return st;
	if ((st = write_results(w, path, r, column)) == INVAR_OK)
		return inv_writer_commit(w);
	inv_writer_abort(w);
	return st;
}

invar_status invar_run_keep_results(invar_context *ctx, const char *run,
                                    const invar_results *r, const char *column)
{
	char *path = inv_join(run, INV_RUN_METRICS);
	invar_status st = INVAR_OK;

	if (!path)
		return no_memory(run);
	if (!r)
		st = check_results(path);
	else if (inv_results_has_own(r, column))
		st = update_results(ctx, path, r, column);
	inv_free(path);
	return st;
}
