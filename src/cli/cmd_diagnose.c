/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diagnose.c - invar diagnose: what to expect of an adapter, before any training. */
#include <stdio.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "report/line_text.h"
#include "report/results_table.h"

static const inv_example examples[] = {
	{"invar diagnose bank", "is an adapter worth training, and with which preset?"},
	{"invar diagnose bank --points 1000", "quicker, on 1000 images"},
	{"invar diagnose bank --json -o diagnosis.json", "as JSON, also saved to a file"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with copies: train/clean.npy, train/aug/000.npy …", 1, 1},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "also write the results to this file, as JSON")},
	{INV_FORCE_IN_BANK_ROW},
	{0},
};

static void print_heading(const invar_results *r)
{
	const char *encoder = invar_results_about(r, "encoder");
	const char *augment = invar_results_about(r, "augment");

	inv_print_line(
		stdout,
		"%s%s%s%s%.0f images of the split %s, %.0f of them held out; copies of these "
		"are measured",
		encoder ? encoder : "", encoder ? ", " : "", augment ? augment : "",
		augment ? ": " : "", invar_results_about_number(r, "points"),
		invar_results_about(r, "split"), invar_results_about_number(r, "held_out"));
	putchar('\n');
}

static invar_status print_table(inv_session *s, const invar_results *r)
{
	inv_table *t = inv_results_table(r);
	bool written;

	print_heading(r);
	written = t && inv_table_write(t, "text", stdout);
	inv_table_free(t);
	if (!written)
		return inv_no_memory(s);
	printf("\nverdict: %s\n%s\n", invar_results_about(r, "verdict"),
	       invar_results_about(r, "why"));
	return INVAR_OK;
}

static invar_status diagnose(inv_session *s, invar_results **out)
{
	invar_bank *bank = NULL;
	invar_status st = invar_bank_open_with(s->ctx, s->argument[0], s->options, &bank);

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
	return inv_check_output_option(s, INV_OUTPUT_RESULTS);
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
	st = s->common->json ? inv_print_results(r) : print_table(s, r);
	if (st == INVAR_OK && output)
		st = inv_save_results(s, output, r);
	invar_results_free(r);
	return st;
}

const inv_command inv_cmd_diagnose = {
	.name = "diagnose",
	.purpose = "estimates before training what an adapter could achieve on a bank",
	.usage = "BANK [options]",
	.about =
		"Holds out a fifth of the images, fits closed forms (a rigid map, ridge "
		"regression, random features) to the others, which takes seconds, and measures "
		"them on copies of the held-out images: how much of the displacement is removed, "
		"how much of the variance of clean features is explained (the mean of all explains "
		"0), how often a copy finds its own image and its class among clean features, and "
		"how often a linear classifier of clean features gets it right. Collision rates "
		"are those of the first copy. The verdict recommends a preset for train, keep or "
		"instant, or none if there is nothing to gain. The split test is not read.",
	.examples = examples,
	.arguments = arguments,
	.options = "diagnose",
	.own = own,
	.run = run,
};
