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

invar_status inv_run_load_metrics(const char *run, json_t **out)
{
	char *path = inv_join(run, INV_RUN_METRICS);
	invar_status st = path ? INVAR_OK : inv_no_memory();

	*out = NULL;
	if (path && inv_exists(path)) {
		INV_TRY_OR(end, inv_json_load(path, out));
		st = inv_results_check_metrics(*out, path);
	}
end:
	inv_free(path);
	return st;
}

static invar_status write_merged(inv_writer *w, const char *run, const char *path,
                                 const invar_results *r, const char *column)
{
	json_t *all;

	char *text = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_run_load_metrics(run, &all));
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

invar_status invar_run_keep_results(invar_context *ctx, const char *run,
                                    const invar_results *r, const char *column)
{
	char *path;
	json_t *there = NULL;
	inv_writer *w;
	invar_status st = INVAR_OK;

	if (!r) { /* only the check */
		st = inv_run_load_metrics(run, &there);
		json_decref(there);
		return st;
	}
	if (!inv_results_has_own(r, column))
		return INVAR_OK;
	if (!(path = inv_join(run, INV_RUN_METRICS)))
		return inv_no_memory();
	INV_TRY_OR(end, inv_writer_open_in_turn(ctx, path, &w));
	if ((st = write_merged(w, run, path, r, column)) == INVAR_OK)
		st = inv_writer_commit(w);
	else
		inv_writer_abort(w);
end:
	inv_free(path);
	return st;
}
