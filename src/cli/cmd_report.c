/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - invar report: runs as one HTML page. */
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/report_page.h"
#include "cli/term.h"
#include "run/run.h"

static const inv_example examples[] = {
	{"invar report run --images photos",
     "measures what is missing and writes run/report.html, with pictures"},
	{"invar report run-a run-b -o comparison.html", "two adapters side by side"},
	{"invar report run --as-is", "only what 'invar eval' has measured"},
	{0},
};

static const inv_argument arguments[] = {
	{"RUN…", "run folders", 1, INV_MANY},
	{0},
};

static const invar_option own[] = {
	{.name = "images",
     .type = INVAR_OPTION_TEXT,
     .meta = "DATASET",
     .group = "Images",
     .help = "the images that the bank was made from, for pictures; give the options of "
             "'invar encode' that choose images as well"},
	{.name = "bank",
     .type = INVAR_OPTION_TEXT,
     .meta = "BANK",
     .group = "Measurements",
     .help = "the bank to measure on; by default the one that each run was trained on, if "
             "it still has the same rows"},
	{.name = "from",
     .type = INVAR_OPTION_TEXT,
     .initial = "test",
     .meta = "NAME",
     .group = "Measurements",
     .help = "split of the bank to measure and to show"},
	{.name = "metrics",
     .type = INVAR_OPTION_TEXT,
     .meta = "LIST",
     .group = "Measurements",
     .help = "measurements of 'invar eval' to make with their default options, if "
             "metrics.json does not have them; by default lc, kept, knn, structure, "
             "collision, invariance, same-image, same-class, tsne, curves, classes, worst"},
	{.name = "points",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 4e9,
     .meta = "N",
     .group = "Measurements",
     .help = "measure N rows spread evenly over the split; 0: all, or as many as take a "
             "few minutes"},
	{.name = "as-is",
     .type = INVAR_OPTION_FLAG,
     .group = "Measurements",
     .help = "measure nothing; show what metrics.json has"},
	{INV_OUTPUT_ROW("FILE", "page to write; by default report.html in the first run")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status check_output(inv_session *s, const char *output)
{
	for (size_t i = 0; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "the run");
	if (inv_text(s, "bank"))
		inv_reads_all(s, inv_text(s, "bank"), "the features");
	if (inv_text(s, "images"))
		inv_reads_dataset(s, inv_text(s, "images"));
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = output,
	                                         .kind = &inv_kind_page,
	                                         .force = inv_flag(s, "force")});
}

static invar_status run_report(inv_session *s)
{
	inv_report r = {.run = (const char *const *)s->argument,
	                .runs = s->arguments,
	                .bank = inv_text(s, "bank"),
	                .split = inv_text(s, "from"),
	                .metrics = inv_text(s, "metrics"),
	                .points = inv_number(s, "points"),
	                .as_is = inv_flag(s, "as-is"),
	                .images = inv_text(s, "images"),
	                .data = s->options};
	char *output;
	invar_status st;

	INV_TRY(inv_session_start(s));
	for (size_t i = 0; i < s->arguments; i++)
		if (!inv_path_is_folder(s->argument[i]))
			return inv_fail(INVAR_E_USE,
			                "%s is not a run; give a folder that 'invar train' has filled",
			                s->argument[i]);
	output = inv_text(s, "output") ? strdup(inv_text(s, "output"))
	                               : inv_path(s->argument[0], INV_RUN_REPORT);
	r.output = output;
	st = output ? check_output(s, output) : inv_no_memory();
	if (st == INVAR_OK && (st = inv_report_write(s, &r)) == INVAR_OK)
		inv_term_close(s->term);
	free(output);
	return st;
}

const inv_command inv_cmd_report = {
	.name = "report",
	.purpose = "writes an HTML page about runs: results, figures, pictures",
	.usage = "RUN… [--images DATASET] [-o FILE] [options]",
	.about = "The page is one HTML file that needs nothing else: it loads nothing, can be "
			 "read without JavaScript, printed, and sent by mail. What the runs were not "
			 "yet measured for is measured first and kept in their metrics.json. Sections "
			 "for which something is missing are left out, and the page says why.",
	.examples = examples,
	.arguments = arguments,
	.options = "data",
	.hidden = "split",
	.own = own,
	.without = "seed|json",
	.run = run_report,
};
