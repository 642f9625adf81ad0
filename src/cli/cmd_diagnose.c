/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diagnose.c - invar diagnose: what to expect of an adapter, before any training. */
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "cli/trial_table.h"

static const inv_example examples[] = {
	{"invar diagnose bank", "is an adapter worth training, and with which preset?"},
	{"invar diagnose bank --hidden 512", "quicker, with smaller adapters"},
	{"invar diagnose bank --json -o diagnosis.json", "as JSON, also saved to a file"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with copies: train/clean.npy, train/aug/000.npy …", 1, 1},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "also write the results to this file, as JSON")},
	{INV_FORCE_ROW},
	{0},
};

static invar_status diagnose(inv_session *s, invar_results **out)
{
	invar_bank *bank = NULL;
	invar_status st = invar_bank_open(s->ctx, s->argument[0], s->options, &bank);

	*out = NULL;
	if (st == INVAR_OK)
		st = invar_diagnose(bank, s->options, out);
	invar_bank_close(bank);
	return st;
}

static invar_status check_output(inv_session *s)
{
	inv_reads_all(s, s->argument[0], "the features");
	inv_reads(s, inv_text(s, "classes"), "the list of classes");
	return inv_check_output_option(s, &inv_kind_results);
}

static invar_status run(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_results *r = NULL;
	invar_status st = inv_session_start(s);

	if (st != INVAR_OK || (st = check_output(s)) != INVAR_OK ||
	    (st = diagnose(s, &r)) != INVAR_OK)
		return st;
	inv_term_close(s->term);
	st = s->common->json ? inv_print_results(r) : inv_print_trial(r);
	if (st == INVAR_OK && output && inv_process_rank(s->ctx) == 0)
		st = inv_save_results(s, output, r);
	invar_results_free(r);
	return st;
}

const inv_command inv_cmd_diagnose = {
	.name = "diagnose",
	.purpose = "tells on held-out images whether an adapter would help",
	.usage = "BANK [options]",
	.about =
		"Holds out a fifth of the images in runs of consecutive images (of small banks up "
		"to five fifths in turn), fits the presets instant and keep to the others, and "
		"searches for clean rows and copies of held-out images among the clean rows of "
		"all images: how often the same image is found first and among the first ten, and "
		"how often the nearest neighbour has the same class, in the old index (stored "
		"features stay as they are) and in the new one (they pass through the adapter "
		"too), by L2 and by cosine; and R² and CVRMSD of distances between clean images. "
		"F, the encoder alone, stands beside them. The verdict is the preset to use, none "
		"if nothing gets better beyond chance or something gets worse, or unknown with "
		"fewer than 50 images. The split test is not read. train makes the same trial of "
		"what it is about to train.",
	.examples = examples,
	.arguments = arguments,
	.options = "diagnose",
	.own = own,
	.by_all_ranks = true,
	.run = run,
};
