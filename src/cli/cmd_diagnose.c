/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diagnose.c - invar diagnose: what to expect of an adapter, before any training. */
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar diagnose bank", "is an adapter worth training, and with which preset?"},
	{"invar diagnose bank --hidden 512", "quicker, with smaller adapters"},
	{"invar diagnose bank --json -o diagnosis.json", "as JSON, also saved to a file"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with copies: train/clean.npy, train/aug/000.npy …", 1, 1,
     INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "also write the results to this file, as JSON")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status diagnose_command(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_bank *bank = NULL;
	invar_results *r = NULL;
	invar_status st;

	INV_TRY(invar_bank_open(s->ctx, s->argument[0], s->options, &bank));
	INV_TRY_OR(end, invar_diagnose(bank, s->options, &r));
	inv_term_clear(s->term);
	INV_TRY_OR(end, s->json ? inv_print_results(r) : inv_print_trial(r));
	if (output && inv_process_rank(s->ctx) == 0)
		st = inv_save_results(s, output, r);
end:
	invar_results_free(r);
	invar_bank_close(bank);
	return st;
}

const inv_command inv_cmd_diagnose = {
	.name = "diagnose",
	.purpose = "tells on held-out images whether an adapter would help",
	.usage = "BANK [options]",
	.about =
		"Holds out a fifth of the images, fits the presets instant and keep to the others, "
		"and searches for clean rows and copies of held-out images among all images. The "
		"verdict is the preset to use, none if nothing gets better beyond chance or something "
		"gets worse, or unknown with fewer than 50 images.",
	.details =
		"Images are held out in runs of consecutive ones (of small banks up to five fifths in "
		"turn). Measured are how often the same image is found first and among the first ten, and "
		"how often the nearest neighbour has the same class, in the old index (stored "
		"features stay as they are) and in the new one (they pass through the adapter "
		"too), by L2 and by cosine; and R² and CVRMSD of distances between clean images. "
		"F, the encoder alone, stands beside them. The split test is not read. train makes "
		"the same trial of what it is about to train.",
	.examples = examples,
	.arguments = arguments,
	.options = "diagnose",
	.own = own,
	.reads = "classes",
	.output = INV_OUTPUT_FILE,
	.endings = ".json",
	.is_basic = true,
	.is_timed = true,
	.by_all_ranks = true,
	.run = diagnose_command,
};
