/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plot.c - invar plot: results as pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
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
     INV_MANY, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE|DIR",
		"a file whose name ends in .png or .svg, for one figure; or a folder, for all "
		"of them as PNG")},
	{INV_ROW(TEXT, "figure", "NAME", "Result",
             "draw only this one; without -o, all names are listed")},
	{INV_FLAG_ROW("dark", "Result",
                  "on a dark background; an SVG without it follows the reader's setting")},
	{INV_FORCE_ROW},
	{0},
};

typedef struct documents {
	invar_results **one;
	size_t count;
	inv_figures figures;
} documents;

static invar_status read_documents(inv_session *s, documents *d)
{
	for (size_t k = 0; k < s->arguments; k++) {
		const char *path = s->argument[k];
		bool run = inv_is_folder(path);

		for (size_t i = 0; i == 0 || run; i++) {
			invar_results **longer = realloc(d->one, (d->count + 1) * sizeof *longer);
			invar_results *r = NULL;

			if (!longer)
				return inv_no_memory();
			d->one = longer;
			INV_TRY(run ? invar_run_results(s->ctx, path, i, &r)
			            : invar_results_open(s->ctx, path, &r));
			if (!r)
				break;
			d->one[d->count++] = r;
			INV_TRY(inv_figures_add(&d->figures, r));
		}
	}
	return d->figures.count
	           ? INVAR_OK
	           : inv_fail(INVAR_E_USE,
	                      "%s has nothing to draw; 'invar eval' measures a run",
	                      s->argument[0]);
}

/* Leaves the figure that --figure names. */
static invar_status choose_figure(inv_session *s, inv_figures *all)
{
	const char *wanted = inv_text(s, "figure");
	char *names = NULL; /* "a|b|c", for the message about a name that does not exist */
	size_t size;
	FILE *f;
	invar_status st;

	for (size_t i = 0; wanted && i < all->count; i++)
		if (strcmp(all->one[i].name, wanted) == 0) {
			all->one[0] = all->one[i];
			all->count = 1;
			return INVAR_OK;
		}
	if (!wanted)
		return INVAR_OK;
	if (!(f = open_memstream(&names, &size)))
		return inv_no_memory();
	for (size_t i = 0; i < all->count; i++)
		fprintf(f, "%s%s", i ? "|" : "", all->one[i].name);
	st = fclose(f) == 0 ? inv_require_word("--figure", names, wanted) : inv_no_memory();
	free(names);
	return st;
}

static invar_status run_plot(inv_session *s)
{
	const char *output = inv_text(s, "output");
	bool force = inv_flag(s, "force"), dark = inv_flag(s, "dark");
	documents d = {0};
	json_t *list;
	invar_status st;

	INV_TRY_OR(end, read_documents(s, &d));
	INV_TRY_OR(end, choose_figure(s, &d.figures));
	if (output && !inv_ends_in(output, ".svg") && !inv_ends_in(output, ".png")) {
		INV_TRY_OR(end, inv_figures_save(s, &d.figures, output, force, dark));
	} else if (output && d.figures.count > 1) {
		st = inv_fail(
			INVAR_E_USE,
			"there are %zu figures for one file; choose one with --figure, or give "
			"a folder to -o (without -o their names are listed)",
			d.figures.count);
		goto end;
	} else if (output) {
		INV_TRY_OR(end, inv_figure_check(s, output, force));
		INV_TRY_OR(end, inv_figure_save(s, &d.figures.one[0], output, dark));
	}
	for (size_t i = 0; !s->json && !output && i < d.figures.count; i++)
		printf("%-24s %s\n", d.figures.one[i].name, d.figures.one[i].figure.title);
	if (!s->json)
		goto end;
	list = json_array();
	for (size_t i = 0; i < d.figures.count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "figure", d.figures.one[i].name,
		                                      "title", d.figures.one[i].figure.title));
	st = inv_print_json(json_pack("{s:o*, s:o}", "output",
	                              output ? inv_json_path(output) : NULL, "figures", list));
end:
	inv_figures_free(&d.figures);
	for (size_t i = 0; i < d.count; i++)
		invar_results_free(d.one[i]);
	free(d.one);
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
