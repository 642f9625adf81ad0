/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - invar report: runs as one HTML page. */
#include "base/file.h"
#include "cli/command_options.h"
#include "cli/report_page.h"
#include "run/run.h"

static const inv_example examples[] = {
	{"invar report run --data photos",
     "measures what is missing and writes run/report.html, with pictures"},
	{"invar report run-a run-b -o comparison.html", "two adapters side by side"},
	{"invar report run --as-is", "only what 'invar eval' has measured"},
	{0},
};

static const inv_argument arguments[] = {
	{"RUN…", "run folders", 1, INV_MANY, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "data", "DATASET", "Images",
             "the images that the bank was made from, for pictures; give the options of "
             "'invar encode' that choose images as well")},
	{INV_ROW(TEXT, "bank", "BANK", "Measurements",
             "the bank to measure on; by default the one that each run was trained on, if "
             "it still has the same rows")},
	{INV_ROW(TEXT, "split", "NAME", "Measurements",
             "split of the bank to measure and to show"),
     .initial = "test"},
	{INV_ROW(
		TEXT, "metrics", "LIST", "Measurements",
		"measurements of 'invar eval' to make with their default options, if "
		"metrics.json does not have them; by default lc, kept, knn, structure, "
		"collision, invariance, same-image, same-class, tsne, curves, classes, worst")},
	{INV_ROW(COUNT, "points", "N", "Measurements",
             "measure N rows spread evenly over the split; 0: all, or as many as take a "
             "few minutes"),
     .initial = "0", .max = 4e9},
	{INV_FLAG_ROW("as-is", "Measurements", "measure nothing; show what metrics.json has")},
	{INV_OUTPUT_ROW("FILE", "page to write; by default report.html in the first run")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status run_report(inv_session *s)
{
	inv_report r = {.run = (const char *const *)s->argument,
	                .runs = s->arguments,
	                .bank = inv_text(s, "bank"),
	                .split = inv_text(s, "split"),
	                .metrics = inv_text(s, "metrics"),
	                .points = inv_number(s, "points"),
	                .as_is = inv_flag(s, "as-is"),
	                .images = inv_text(s, "data")};
	invar_options *data = NULL;
	char *output = NULL;
	invar_status st;

	for (size_t i = 0; i < s->arguments; i++)
		if (!inv_is_folder(s->argument[i]))
			return inv_fail(INVAR_E_USE,
			                "%s is not a run; give a folder that 'invar train' has filled",
			                s->argument[i]);
	INV_TRY(inv_data_options(s, &data));
	r.data = data;
	r.output = inv_text(s, "output");
	if (!r.output) { /* the page of the run is its own, and made anew */
		INV_TRY_OR(end, inv_new_path(&output, s->argument[0], INV_RUN_REPORT));
		r.output = output;
		INV_TRY_OR(end, inv_check_output(s, &(inv_output){.path = output, .force = true}));
	}
	st = inv_report_write(s, &r);
end:
	invar_options_free(data);
	inv_free(output);
	return st;
}

const inv_command inv_cmd_report = {
	.name = "report",
	.purpose = "writes an HTML page about runs: results, figures, pictures",
	.usage = "RUN… [--data DATASET] [-o FILE] [options]",
	.about = "The page is one HTML file that needs nothing else: it loads nothing, can be "
			 "read without JavaScript, printed, and sent by mail. What the runs were not "
			 "yet measured for is measured first and kept in their metrics.json. Sections "
			 "for which something is missing are left out, and the page says why.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.second = "data",
	.without = "seed|json",
	.reads = "bank|data|classes",
	.output = INV_OUTPUT_FILE,
	.endings = ".html",
	.is_basic = true,
	.is_timed = true,
	.run = run_report,
};
