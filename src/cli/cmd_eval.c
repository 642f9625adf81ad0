/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_eval.c - invar eval: F and every adapter side by side.
 *
 * The library measures; this file names the columns, shows the results and lets each run
 * keep its own numbers in its metrics.json.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "base/file.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/plots.h"
#include "cli/term.h"
#include "measure/measurement.h"
#include "report/line_text.h"
#include "report/results_table.h"
#include "run/results.h"
#include "run/run.h"

static const inv_example examples[] = {
	{"invar eval bank run", "measures the adapter of a run"},
	{"invar eval bank run-a run-b other.safetensors --points 1000",
     "several adapters side by side, on 1000 points"},
	{"invar eval bank run --json -o results.json", "as JSON, also saved to a file"},
	{"invar eval bank run --format latex -o table.tex", "a table for a paper"},
	{"invar eval bank run --certify", "also notes the results in the adapter itself"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK",
     "folder of features: test/clean.npy, and test/aug, train and labels if a measurement "
     "needs them",
     1, 1, INV_READS_DATA},
	{"ADAPTER…", "safetensors files or run folders; without any, only F is measured", 0,
     INV_MANY, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE",
		"also write the results to this file, as JSON, or as a table if --format is "
		"not text")},
	{INV_ROW(TEXT, "format", "WORD", "Result", "format of the table"), .initial = "text",
     .choices = INV_TABLE_FORMATS},
	{INV_ROW(TEXT, "plots", "DIR", "Result",
             "also draw the results into this folder, as 'invar plot' does")},
	{INV_FLAG_ROW(
		"certify", "Result",
		"write what was measured, and what the clean features look like, into the "
		"metadata of each adapter, for 'invar check' and model cards; its tensors "
		"stay as they are")},
	{INV_FORCE_ROW},
	{0},
};

/* The adapters with their titles; argument 1 + i is where adapter i came from. */
typedef struct columns {
	size_t count;
	invar_adapter **adapter;
	char **title;
	bool *is_run; /* the argument is a run folder, which keeps its numbers */
} columns;

/*
 * The last component of a path, without .safetensors, or the one before it for the adapter
 * of a run, as all of these have the same name.
 */
static invar_status new_title(const char *path, char **out)
{
	const char *const ending = ".safetensors";
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (end - start > strlen(ending) &&
	    strncmp(path + end - strlen(ending), ending, strlen(ending)) == 0)
		end -= strlen(ending);
	if (strcmp(path + start, INV_RUN_ADAPTER) == 0 && start > 1)
		for (end = start - 1, start = end; start > 0 && path[start - 1] != '/'; start--)
			;
	INV_TRY(inv_new_text(out, path + start));
	(*out)[end - start] = '\0';
	return INVAR_OK;
}

/* Finds out before the work whether the files of the adapters can be extended. */
static invar_status open_columns(inv_session *s, columns *c)
{
	c->count = s->arguments - 1;
	INV_TRY(inv_new_zeros(&c->adapter, c->count));
	INV_TRY(inv_new_zeros(&c->title, c->count));
	INV_TRY(inv_new_zeros(&c->is_run, c->count));
	for (size_t i = 0; i < c->count; i++) {
		const char *path = s->argument[1 + i], *file;

		INV_TRY(invar_adapter_open(s->ctx, path, &c->adapter[i]));
		INV_TRY(new_title(path, &c->title[i]));
		file = invar_adapter_path(c->adapter[i]);
		if (inv_flag(s, "certify") && access(file, W_OK) != 0)
			return inv_fail(INVAR_E_IO,
			                "%s: is write-protected, so --certify cannot add to it", file);
		if (inv_flag(s, "certify"))
			INV_TRY(inv_check_writable(file));
		c->is_run[i] = inv_is_folder(path);
		if (c->is_run[i] && inv_process_rank(s->ctx) == 0)
			INV_TRY(invar_run_keep_results(s->ctx, path, NULL, NULL));
	}
	return INVAR_OK;
}

static invar_status show_results(inv_session *s, const invar_results *r)
{
	const char *output = inv_text(s, "output"), *format = inv_text(s, "format");
	bool as_text = strcmp(format, "text") == 0;
	char origin[INV_HEADING], measured[INV_HEADING], *text = NULL;
	size_t bytes;
	FILE *f;
	invar_status st;

	if (s->json) {
		INV_TRY(inv_print_results(r));
	} else {
		if (as_text) { /* what the figures below were taken on */
			inv_print_line(stdout, "%s%s", inv_results_origin(r, origin),
			               inv_results_measured(r, measured));
			putchar('\n');
		}
		INV_TRY(inv_put_table(inv_results_table(r, true), format, stdout));
	}
	if (!output)
		return INVAR_OK;
	if (s->json || as_text)
		return inv_save_results(s, output, r);
	if (!(f = open_memstream(&text, &bytes)))
		return inv_no_memory();
	st = inv_put_table(inv_results_table(r, true), format, f);
	if (fclose(f) != 0 && st == INVAR_OK)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(s->ctx, output, text, bytes);
	free(text);
	return st;
}

/* Shows and keeps results; those that are not complete are kept by their runs alone. */
static invar_status keep_results(inv_session *s, const columns *c, const invar_results *r)
{
	inv_figures all = {0};
	invar_status st;

	if (inv_results_is_complete(r))
		INV_TRY(show_results(s, r));
	if (inv_text(s, "plots")) {
		st = inv_figures_add(&all, r);
		if (st == INVAR_OK)
			st = inv_figures_save(s, &all, inv_text(s, "plots"), inv_flag(s, "force"),
			                      false);
		inv_figures_free(&all);
		INV_TRY(st);
	}
	for (size_t i = 0; i < c->count; i++) {
		const char *run = s->argument[1 + i];
		char id[24];

		if (!c->is_run[i])
			continue;
		snprintf(id, sizeof id, "%zu", 1 + i);
		if (access(run, W_OK) != 0)
			inv_print_line(stderr, "%s/%s is not saved: the run is not writable", run,
			               INV_RUN_METRICS);
		else
			INV_TRY(invar_run_keep_results(s->ctx, run, r, id));
	}
	return INVAR_OK;
}

static invar_status eval_command(inv_session *s)
{
	columns c = {0};
	invar_bank *bank = NULL;
	invar_results *r = NULL; /* may be set even if a measurement failed */
	char sentence[1024];
	invar_status st;

	INV_TRY_OR(end, open_columns(s, &c));
	INV_TRY_OR(end, invar_bank_open(s->ctx, s->argument[0], s->options, &bank));
	st = invar_eval(bank, (const invar_adapter *const *)c.adapter,
	                (const char *const *)c.title, c.count, s->options, &r);
	if (!r || inv_process_rank(s->ctx)) /* rank 0 shows and keeps them */
		goto end;
	for (size_t i = 0; st == INVAR_OK && inv_flag(s, "certify") && i < c.count; i++) {
		const char *path = invar_adapter_path(c.adapter[i]);
		char id[24];

		snprintf(id, sizeof id, "%zu", 1 + i);
		st = invar_adapter_certify(c.adapter[i], bank, r, id, s->options, path);
		if (st == INVAR_OK)
			inv_term_say(s->term, "%s has a certificate", path);
	}
	if (st == INVAR_OK) {
		st = keep_results(s, &c, r);
	} else {
		inv_last_error_spelled("--", sentence, sizeof sentence);
		if (keep_results(s, &c, r) == INVAR_OK)
			inv_fail(st, "%s", sentence); /* as it was before anything else was done */
	}
end:
	invar_results_free(r);
	invar_bank_close(bank);
	for (size_t i = 0; i < c.count; i++) {
		if (c.adapter)
			invar_adapter_close(c.adapter[i]);
		if (c.title)
			inv_free(c.title[i]);
	}
	inv_free(c.adapter);
	inv_free(c.title);
	inv_free(c.is_run);
	return st;
}

static const char *measurement_sentence(size_t i, char out[INV_ITEM])
{
	const char *title, *about, *name = inv_measurement_about(i, &title, &about);

	if (!name)
		return NULL;
	snprintf(out, INV_ITEM, "%s: %s.", title, about);
	return out;
}

const inv_command inv_cmd_eval = {
	.name = "eval",
	.purpose = "measures what adapters do to a bank's features",
	.usage = "BANK [ADAPTER…] [options]",
	.about =
		"The first column is always F, the features without an adapter. The results of "
		"a run are merged into its metrics.json.",
	.details =
		"If a measurement fails, the others are still made and the reason is shown "
		"below the table and in the JSON; the exit code is 1 only if --metrics named "
		"it. Labels may be any numbers; a negative label means that the row has none. "
		"Measurements:",
	.items = measurement_sentence,
	.examples = examples,
	.arguments = arguments,
	.options = "eval",
	.own = own,
	.reads = "classes",
	.output = INV_OUTPUT_FILE,
	.endings = ".json|.md|.csv|.tex|.txt",
	.is_basic = true,
	.is_timed = true,
	.by_all_ranks = true,
	.run = eval_command,
};
