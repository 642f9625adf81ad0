/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge.c - invar merge: the mean of adapters as one adapter, or a weaker one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/outputs.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar merge run1 run2 run3 -o mean.safetensors", "the mean of three adapters"},
	{"invar merge rotation crop -o both.safetensors --weights 2,1",
     "a weighted mean: two parts of the first, one of the second"},
	{"invar merge run -o half.safetensors --strength 0.5",
     "an adapter that moves features half as far"},
	{0},
};

static const inv_argument arguments[] = {
	{"ADAPTER", "safetensors files or run folders", 1, INV_MANY},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("OUT.safetensors", "adapter to write")},
	{.name = "weights",
     .type = INVAR_OPTION_TEXT,
     .meta = "A,B,…",
     .group = "Result",
     .help =
         "one weight per adapter, above 0; they are divided by their sum (default: equal "
         "weights)"},
	{.name = "strength",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .max = 10,
     .meta = "W",
     .group = "Result",
     .help = "how far features are moved: z + W (E(z) - z); 0 leaves them unchanged"},
	{.name = "force",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help =
         "replace a file of another kind or a write-protected one; never an input file"},
	{0},
};

/* ---- Weights ---------------------------------------------------------------------- */

static invar_status refuse_weights(inv_session *s, const char *why)
{
	return inv_fail(INVAR_E_USE,
	                "--weights %s %s: give a number above 0 for each of the %zu %s, "
	                "separated by commas",
	                inv_text(s, "weights"), why, s->arguments,
	                inv_noun(s->arguments, "adapter", "adapters"));
}

/* Fills weight [s->arguments]. */
static invar_status read_weights(inv_session *s, double *weight)
{
	const char *at = inv_text(s, "weights");

	for (size_t i = 0; i < s->arguments; i++) {
		char *end;

		if (i && *at++ != ',')
			return refuse_weights(s, "has too few weights");
		weight[i] = strtod(at, &end);
		if (end == at || !isfinite(weight[i]) || !(weight[i] > 0))
			return refuse_weights(s, "cannot be read");
		at = end;
	}
	return *at ? refuse_weights(s, *at == ',' ? "has too many weights" : "cannot be read")
	           : INVAR_OK;
}

/* ---- The command ------------------------------------------------------------------ */

static invar_status check_output(inv_session *s)
{
	for (size_t i = 0; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "an adapter");
	return inv_check_output_option(s, &inv_kind_safetensors);
}

static invar_status report(inv_session *s, const invar_adapter *merged)
{
	if (s->common->json)
		return inv_print_json(
			json_pack("{s:o, s:i, s:i, s:i, s:b, s:b}", "output",
		              inv_name_json(inv_text(s, "output")), "input_dim",
		              invar_adapter_input(merged), "hidden", invar_adapter_hidden(merged),
		              "output_dim", invar_adapter_output(merged), "residual",
		              invar_adapter_residual(merged), "unit", invar_adapter_unit(merged)));
	inv_term_say(s->term, "%s is written: (%u, %u, %u)%s%s", inv_text(s, "output"),
	             invar_adapter_input(merged), invar_adapter_hidden(merged),
	             invar_adapter_output(merged),
	             invar_adapter_residual(merged) ? " residual" : "",
	             invar_adapter_unit(merged) ? " unit" : "");
	return INVAR_OK;
}

static invar_status merge_adapters(inv_session *s, invar_adapter **adapters,
                                   const double *weight)
{
	invar_adapter *merged = NULL;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < s->arguments && st == INVAR_OK; i++)
		st = invar_adapter_open(s->ctx, s->argument[i], &adapters[i]);
	if (st == INVAR_OK)
		st = invar_adapter_merge((const invar_adapter *const *)adapters, weight,
		                         s->arguments, inv_number(s, "strength"), &merged);
	if (st == INVAR_OK)
		st = invar_adapter_save(merged, inv_text(s, "output"));
	if (st == INVAR_OK)
		st = report(s, merged);
	invar_adapter_close(merged);
	return st;
}

static invar_status run_merge(inv_session *s)
{
	invar_adapter **adapters = NULL;
	double *weight = NULL;
	invar_status st;

	if ((st = inv_need(inv_text(s, "output"),
	                   "the file for the result is missing: -o OUT.safetensors")) !=
	        INVAR_OK ||
	    (st = check_output(s)) != INVAR_OK)
		return st;
	adapters = calloc(s->arguments, sizeof *adapters);
	weight = calloc(s->arguments, sizeof *weight);
	if (!adapters || !weight)
		st = inv_no_memory();
	if (st == INVAR_OK && inv_text(s, "weights"))
		st = read_weights(s, weight);
	if (st == INVAR_OK && (st = inv_session_start(s)) == INVAR_OK)
		st = merge_adapters(s, adapters, inv_text(s, "weights") ? weight : NULL);
	for (size_t i = 0; adapters && i < s->arguments; i++)
		invar_adapter_close(adapters[i]);
	free(adapters);
	free(weight);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_merge = {
	.name = "merge",
	.purpose = "averages adapters into one, or makes one weaker",
	.usage = "ADAPTER… -o OUT.safetensors [options]",
	.about = "The mean is exact: the hidden layers are concatenated, so the result is an "
			 "ordinary adapter with as many hidden units as all of them together. All must "
			 "be for features of the same encoder. Unit adapters, which normalise features "
			 "and codes, merge with each other only: the mean is that of the maps inside "
			 "the normalisation, and so is the strength.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.without = "seed",
	.run = run_merge,
};
