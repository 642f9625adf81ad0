/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plot.c - invar plot: results as pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/plots.h"

static const inv_example examples[] = {
	{"invar plot run", "lists the figures that a run has"},
	{"invar plot run -o plots", "draws all of them into a folder, as PNG"},
	{"invar plot run --figure accuracy -o accuracy.svg", "one of them, as SVG"},
	{"invar plot results.json -o plots --dark",
     "those of 'invar eval -o', on a dark background"},
	{0},
};

static const inv_argument arguments[] = {
	{"RESULTS…", "run folders, and files that eval, diagnose or tsne have written", 1,
     INV_MANY},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE|DIR",
		"a file whose name ends in .png or .svg, for one figure; or a folder, for all "
		"of them as PNG")},
	{.name = "figure",
     .type = INVAR_OPTION_TEXT,
     .meta = "NAME",
     .group = "Result",
     .help = "draw only this one; without -o, all names are listed"},
	{.name = "dark",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "on a dark background; an SVG without it follows the reader's setting"},
	{INV_FORCE_ROW},
	{0},
};

/* ---- Documents ----------------------------------------------------------------------- */

typedef struct documents {
	invar_results **one;
	size_t count;
	inv_figures figures;
} documents;

/* Takes r. */
static invar_status add_document(documents *d, invar_results *r)
{
	invar_results **grown = realloc(d->one, (d->count + 1) * sizeof *grown);

	if (!grown) {
		invar_results_free(r);
		return inv_no_memory();
	}
	d->one = grown;
	d->one[d->count++] = r;
	return inv_figures_add(&d->figures, r);
}

static invar_status read_run(inv_session *s, documents *d, const char *run)
{
	for (size_t i = 0;; i++) {
		invar_results *r = NULL;
		invar_status st = invar_run_results(s->ctx, run, i, &r);

		if (st != INVAR_OK || !r)
			return st;
		if ((st = add_document(d, r)) != INVAR_OK)
			return st;
	}
}

static invar_status read_file(inv_session *s, documents *d, const char *path)
{
	invar_results *r = NULL;
	invar_status st = invar_results_open(s->ctx, path, &r);

	return st == INVAR_OK ? add_document(d, r) : st;
}

static invar_status read_documents(inv_session *s, documents *d)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < s->arguments && st == INVAR_OK; i++) {
		inv_reads(s, s->argument[i], "the results");
		st = inv_path_is_folder(s->argument[i]) ? read_run(s, d, s->argument[i])
		                                        : read_file(s, d, s->argument[i]);
	}
	if (st == INVAR_OK && !d->figures.count)
		st = inv_fail(INVAR_E_USE, "%s has nothing to draw; 'invar eval' measures a run",
		              s->argument[0]);
	return st;
}

static void free_documents(documents *d)
{
	inv_figures_free(&d->figures);
	for (size_t i = 0; i < d->count; i++)
		invar_results_free(d->one[i]);
	free(d->one);
}

/* ---- Choosing ------------------------------------------------------------------------ */

/* "a|b|c", for the message about a name that does not exist; NULL: no memory. */
static char *list_names(const inv_figures *all)
{
	size_t bytes = 1;
	char *names;

	for (size_t i = 0; i < all->count; i++)
		bytes += strlen(all->one[i].name) + 1;
	if (!(names = calloc(1, bytes)))
		return NULL;
	for (size_t i = 0; i < all->count; i++) {
		strcat(names, i ? "|" : "");
		strcat(names, all->one[i].name);
	}
	return names;
}

/* Leaves the figure that --figure names. */
static invar_status choose(inv_session *s, inv_figures *all)
{
	const char *wanted = inv_text(s, "figure");
	char *names;
	invar_status st;

	for (size_t i = 0; wanted && i < all->count; i++)
		if (strcmp(all->one[i].name, wanted) == 0) {
			all->one[0] = all->one[i];
			all->count = 1;
			return INVAR_OK;
		}
	if (!wanted)
		return INVAR_OK;
	if (!(names = list_names(all)))
		return inv_no_memory();
	st = inv_require_word("--figure", names, wanted);
	free(names);
	return st;
}

static bool is_picture_name(const char *path)
{
	size_t length = strlen(path);

	return inv_is_svg_name(path) || (length >= 4 && strcmp(path + length - 4, ".png") == 0);
}

static invar_status print_json(inv_session *s, const inv_figures *all)
{
	const char *output = inv_text(s, "output");
	json_t *list = json_array();

	for (size_t i = 0; i < all->count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "figure", all->one[i].name,
		                                      "title", all->one[i].figure.title));
	return inv_print_json(json_pack(
		"{s:o*, s:o}", "output", output ? inv_name_json(output) : NULL, "figures", list));
}

static void print_names(const inv_figures *all)
{
	for (size_t i = 0; i < all->count; i++)
		printf("%-24s %s\n", all->one[i].name, all->one[i].figure.title);
}

static invar_status draw(inv_session *s, const inv_figures *all)
{
	const char *output = inv_text(s, "output");
	bool force = inv_flag(s, "force"), dark = inv_flag(s, "dark");
	invar_status st;

	if (!is_picture_name(output))
		return inv_figures_save(s, all, output, force, dark);
	if (all->count > 1)
		return inv_fail(
			INVAR_E_USE,
			"there are %zu figures for one file; choose one with --figure, or give "
			"a folder to -o (without -o their names are listed)",
			all->count);
	if ((st = inv_figure_check(s, output, force)) != INVAR_OK)
		return st;
	return inv_figure_save(s, &all->one[0], output, dark);
}

static invar_status show(inv_session *s, const inv_figures *all)
{
	invar_status st = inv_text(s, "output") ? draw(s, all) : INVAR_OK;

	if (st == INVAR_OK && s->common->json)
		return print_json(s, all);
	if (st == INVAR_OK && !inv_text(s, "output"))
		print_names(all);
	return st;
}

static invar_status run_plot(inv_session *s)
{
	documents d = {0};
	invar_status st = inv_session_start(s);

	if (st != INVAR_OK)
		return st;
	if ((st = read_documents(s, &d)) == INVAR_OK &&
	    (st = choose(s, &d.figures)) == INVAR_OK)
		st = show(s, &d.figures);
	free_documents(&d);
	return st;
}

const inv_command inv_cmd_plot = {
	.name = "plot",
	.purpose = "draws results: accuracies, curves, distances, embeddings, training",
	.usage = "RESULTS… [-o FILE|DIR] [options]",
	.about =
		"Every figure comes from a results document and nothing else: what a run keeps "
		"in metrics.json and log.jsonl, or a file written by another command. Without "
		"-o the names of the figures are listed.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.without = "threads|seed",
	.run = run_plot,
};
