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
#include "base/status.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
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
     1, 1},
	{"ADAPTER…", "safetensors files or run folders; without any, only F is measured", 0,
     INV_MANY},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE",
		"also write the results to this file, as JSON, or as a table if --format is "
		"not text")},
	{.name = "format",
     .type = INVAR_OPTION_TEXT,
     .initial = "text",
     .choices = INV_TABLE_FORMATS,
     .meta = "WORD",
     .group = "Result",
     .help = "format of the table"},
	{.name = "plots",
     .type = INVAR_OPTION_TEXT,
     .meta = "DIR",
     .group = "Result",
     .help = "also draw the results into this folder, as 'invar plot' does"},
	{.name = "certify",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "write what was measured, and what the clean features look like, into the "
             "metadata of each adapter, for 'invar check' and model cards; its tensors "
             "stay as they are"},
	{INV_FORCE_ROW},
	{0},
};

/* ---- Columns ----------------------------------------------------------------- */

/* The adapters with their titles; argument 1 + i is where adapter i came from. */
typedef struct columns {
	size_t count;
	invar_adapter **adapter;
	char **title;
	bool *is_run; /* the argument is a run folder, which keeps its numbers */
} columns;

static bool allocate_columns(columns *c, size_t count)
{
	c->count = count;
	c->adapter = calloc(count, sizeof *c->adapter);
	c->title = calloc(count, sizeof *c->title);
	c->is_run = calloc(count, sizeof *c->is_run);
	return !count || (c->adapter && c->title && c->is_run);
}

static void free_columns(columns *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->adapter)
			invar_adapter_close(c->adapter[i]);
		if (c->title)
			free(c->title[i]);
	}
	free(c->adapter);
	free(c->title);
	free(c->is_run);
}

/*
 * The last part of a path, without .safetensors, or the one before it for the adapter of a
 * run, as all of these have the same name; NULL if there is no memory.
 */
static char *title_of(const char *path)
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
	return strndup(path + start, end - start);
}

/* Finds out before the work whether the adapter's file can be replaced. */
static invar_status check_certify(const invar_adapter *e)
{
	const char *path = invar_adapter_path(e);

	if (access(path, W_OK) != 0)
		return inv_fail(INVAR_E_IO,
		                "%s: is write-protected, so --certify cannot add "
		                "to it",
		                path);
	return inv_check_writable(path);
}

static invar_status open_column(inv_session *s, columns *c, size_t i, const char *path)
{
	invar_status st = invar_adapter_open(s->ctx, path, &c->adapter[i]);

	if (st != INVAR_OK)
		return st;
	if (!(c->title[i] = title_of(path)))
		return inv_no_memory();
	if (inv_flag(s, "certify") && (st = check_certify(c->adapter[i])) != INVAR_OK)
		return st;
	c->is_run[i] = inv_path_is_folder(path);
	/* Fails before the work if the file cannot be extended. */
	return c->is_run[i] && inv_process_rank(s->ctx) == 0
	           ? invar_run_keep_results(s->ctx, path, NULL, NULL)
	           : INVAR_OK;
}

/* ---- Results ------------------------------------------------------------------ */

/* What the figures below were taken on. */
static void print_heading(const invar_results *r)
{
	char origin[INV_HEADING], measured[INV_HEADING];

	inv_print_line(stdout, "%s%s", inv_results_origin(r, origin),
	               inv_results_measured(r, measured));
	putchar('\n');
}

static bool is_format(const inv_session *s, const char *name)
{
	return strcmp(inv_text(s, "format"), name) == 0;
}

static invar_status write_table(inv_session *s, const invar_results *r, FILE *out)
{
	inv_table *t = inv_results_table(r);
	bool written = t && inv_table_write(t, inv_text(s, "format"), out);

	inv_table_free(t);
	return written ? INVAR_OK : inv_no_memory();
}

/* Is the file a table, rather than the document? */
static bool saves_table(const inv_session *s)
{
	return !s->common->json && !is_format(s, "text");
}

static invar_status save_table(inv_session *s, const invar_results *r, const char *path)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	invar_status st = f ? write_table(s, r, f) : inv_no_memory();

	if (f && fclose(f) != 0 && st == INVAR_OK)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(s->ctx, path, text, bytes);
	free(text);
	return st;
}

static invar_status show_results(inv_session *s, const invar_results *r)
{
	const char *output = inv_text(s, "output");
	invar_status st;

	if (!s->common->json && is_format(s, "text"))
		print_heading(r);
	st = s->common->json ? inv_print_results(r) : write_table(s, r, stdout);
	if (st == INVAR_OK && output)
		st = saves_table(s) ? save_table(s, r, output) : inv_save_results(s, output, r);
	return st;
}

static invar_status draw_results(inv_session *s, const invar_results *r)
{
	inv_figures all = {0};
	invar_status st = inv_figures_add(&all, r);

	if (st == INVAR_OK)
		st = inv_figures_save(s, &all, inv_text(s, "plots"), inv_flag(s, "force"), false);
	inv_figures_free(&all);
	return st;
}

static invar_status keep_results(inv_session *s, const invar_results *r, const columns *c)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++) {
		const char *run = s->argument[1 + i];
		char id[24];

		if (!c->is_run[i])
			continue;
		snprintf(id, sizeof id, "%zu", 1 + i);
		if (access(run, W_OK) != 0)
			inv_print_line(stderr, "%s/%s is not saved: the run is not writable", run,
			               INV_RUN_METRICS);
		else
			st = invar_run_keep_results(s->ctx, run, r, id);
	}
	return st;
}

static invar_status certify(inv_session *s, const invar_bank *bank, const columns *c,
                            const invar_results *r)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++) {
		const char *path = invar_adapter_path(c->adapter[i]);
		char id[24];

		snprintf(id, sizeof id, "%zu", 1 + i);
		st = invar_adapter_certify(c->adapter[i], bank, r, id, s->options, path);
		if (st == INVAR_OK)
			inv_term_say(s->term, "%s has a certificate", path);
	}
	return st;
}

/* ---- The command ---------------------------------------------------------------- */

/* *out may be set whatever the status is, and is NULL if there are no results. */
static invar_status measure_bank(inv_session *s, const columns *c, invar_results **out)
{
	invar_bank *bank = NULL;
	invar_status st = invar_bank_open(s->ctx, s->argument[0], s->options, &bank);

	*out = NULL;
	if (st == INVAR_OK)
		st = invar_eval(bank, (const invar_adapter *const *)c->adapter,
		                (const char *const *)c->title, c->count, s->options, out);
	if (st == INVAR_OK && inv_flag(s, "certify") && inv_process_rank(s->ctx) == 0)
		st = certify(s, bank, c, *out);
	invar_bank_close(bank);
	return st;
}

/* Shows and keeps results; those that are not complete are kept by their runs alone. */
static invar_status conclude(inv_session *s, const columns *c, const invar_results *r)
{
	invar_status st = inv_results_is_complete(r) ? show_results(s, r) : INVAR_OK;

	if (st == INVAR_OK && inv_text(s, "plots"))
		st = draw_results(s, r);
	return st == INVAR_OK ? keep_results(s, r, c) : st;
}

static invar_status check_output(inv_session *s)
{
	inv_reads_all(s, s->argument[0], "the features");
	inv_reads(s, inv_text(s, "classes"), "the list of classes");
	for (size_t i = 1; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "the adapter");
	return inv_check_output_option(s, saves_table(s) ? &inv_kind_table : &inv_kind_results);
}

static invar_status evaluate(inv_session *s, columns *c)
{
	invar_results *results = NULL;
	invar_status st = check_output(s);
	char sentence[1024];

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++)
		st = open_column(s, c, i, s->argument[1 + i]);
	if (st == INVAR_OK)
		st = measure_bank(s, c, &results);
	if (!results)
		return st;
	inv_last_error_spelled("--", sentence, sizeof sentence);
	if (inv_process_rank(s->ctx))
		; /* rank 0 does */
	else if (st == INVAR_OK)
		st = conclude(s, c, results);
	else if (conclude(s, c, results) == INVAR_OK)
		inv_fail(st, "%s", sentence); /* as it was before anything else was done */
	invar_results_free(results);
	return st;
}

static invar_status run_eval(inv_session *s)
{
	columns c = {0};
	invar_status st = inv_session_start(s);

	if (st != INVAR_OK)
		return st;
	st = allocate_columns(&c, s->arguments - 1) ? evaluate(s, &c) : inv_no_memory();
	free_columns(&c);
	if (st == INVAR_OK)
		inv_term_close(s->term);
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
	.about = "The first column is always F, the features without an adapter. If a "
			 "measurement fails, the others are still made and the reason is shown below "
			 "the table and in the JSON; the exit code is 1 only if --metrics named it. "
			 "Labels may be any numbers; a negative label means that the row has none. The "
			 "results of a run are merged into its metrics.json. Measurements:",
	.items = measurement_sentence,
	.examples = examples,
	.arguments = arguments,
	.options = "eval",
	.own = own,
	.by_all_ranks = true,
	.run = run_eval,
};
