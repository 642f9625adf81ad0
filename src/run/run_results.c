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

/* *out is NULL if there is no file yet. */
static invar_status load_run_metrics(const char *path, json_t **out)
{
	*out = NULL;
	if (!inv_exists(path))
		return INVAR_OK;
	INV_TRY(inv_json_load(path, out));
	return inv_results_check_metrics(*out, path);
}

static invar_status write_merged(inv_writer *w, const char *path, const invar_results *r,
                                 const char *column)
{
	json_t *all;
	char *text = NULL;
	invar_status st;

	INV_TRY_OR(end, load_run_metrics(path, &all));
	INV_TRY_OR(end, inv_results_merge(r, column, path, &all));
	INV_TRY_OR(end, (text = inv_json_text(all, 2)) ? INVAR_OK : inv_no_memory());
	st = strlen(text) <= INV_JSON_MAX
	         ? inv_writer_put(w, text, strlen(text))
	         : inv_fail(INVAR_E_USE,
	                    "%s: would exceed 16 MB, the maximum size; move it away to start a "
	                    "new one",
	                    path);
end:
	inv_free(text);
	json_decref(all);
	return st;
}

static invar_status update_metrics(const invar_context *ctx, const char *path,
                                   const invar_results *r, const char *column)
{
	inv_writer *w;
	invar_status st;

	INV_TRY(inv_writer_open_in_turn(ctx, path, &w));
	INV_TRY_OR(fail, write_merged(w, path, r, column));
	return inv_writer_commit(w);
fail:
	inv_writer_abort(w);
	return st;
}

invar_status invar_run_keep_results(invar_context *ctx, const char *run,
                                    const invar_results *r, const char *column)
{
	char *path = inv_join(run, INV_RUN_METRICS);
	json_t *there = NULL;
	invar_status st = INVAR_OK;

	if (!path)
		return inv_no_memory();
	if (!r)
		st = load_run_metrics(path, &there);
	else if (inv_results_has_own(r, column))
		st = update_metrics(ctx, path, r, column);
	json_decref(there);
	inv_free(path);
	return st;
}
