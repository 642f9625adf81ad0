/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge.c - invar merge: the mean of adapters as one adapter, or a weaker one. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
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
	{"ADAPTER", "safetensors files or run folders", 1, INV_MANY, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("OUT.safetensors", "adapter to write")},
	{INV_ROW(
		TEXT, "weights", "A,B,…", "Result",
		"one weight per adapter, above 0; they are divided by their sum; default: equal "
		"weights")},
	{INV_ROW(NUMBER, "strength", "W", "Result",
             "how far features are moved: z + W (E(z) - z); 0 leaves them unchanged"),
     .initial = "1", .max = 10},
	{INV_FORCE_ROW},
	{0},
};

/* "2,1": fills weight [s->arguments]. */
static invar_status read_weights(inv_session *s, double *weight)
{
	const char *at = inv_text(s, "weights"), *why = NULL;

	for (size_t i = 0; i < s->arguments && !why; i++) {
		char *end;

		if (i && *at++ != ',')
			why = "has too few weights";
		weight[i] = why ? 0 : strtod(at, &end);
		if (!why && (end == at || !isfinite(weight[i]) || !(weight[i] > 0)))
			why = "cannot be read";
		at = why ? at : end;
	}
	if (!why && *at)
		why = *at == ',' ? "has too many weights" : "cannot be read";
	return why ? inv_fail(INVAR_E_USE,
	                      "--weights %s %s: give a number above 0 for each of the %zu %s, "
	                      "separated by commas",
	                      inv_text(s, "weights"), why, s->arguments,
	                      inv_noun(s->arguments, "adapter", "adapters"))
	           : INVAR_OK;
}

static invar_status run_merge(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_adapter **adapters = NULL, *merged = NULL;
	double *weight = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_new_zeros(&adapters, s->arguments));
	INV_TRY_OR(end, inv_new_zeros(&weight, s->arguments));
	if (inv_text(s, "weights"))
		INV_TRY_OR(end, read_weights(s, weight));
	for (size_t i = 0; i < s->arguments; i++)
		INV_TRY_OR(end, invar_adapter_open(s->ctx, s->argument[i], &adapters[i]));
	INV_TRY_OR(end, invar_adapter_merge((const invar_adapter *const *)adapters,
	                                    inv_text(s, "weights") ? weight : NULL,
	                                    s->arguments, inv_number(s, "strength"), &merged));
	INV_TRY_OR(end, invar_adapter_save(merged, output));
	if (s->json)
		st = inv_print_json(json_pack(
			"{s:o, s:i, s:i, s:i, s:b, s:b}", "output", inv_json_path(output), "input_dim",
			invar_adapter_input(merged), "hidden", invar_adapter_hidden(merged),
			"output_dim", invar_adapter_output(merged), "residual",
			invar_adapter_residual(merged), "unit", invar_adapter_unit(merged)));
	else
		inv_term_say(s->term, "%s is written: (%u, %u, %u)%s%s", output,
		             invar_adapter_input(merged), invar_adapter_hidden(merged),
		             invar_adapter_output(merged),
		             invar_adapter_residual(merged) ? " residual" : "",
		             invar_adapter_unit(merged) ? " unit" : "");
end:
	invar_adapter_close(merged);
	for (size_t i = 0; adapters && i < s->arguments; i++)
		invar_adapter_close(adapters[i]);
	inv_free(adapters);
	inv_free(weight);
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
	.output = INV_OUTPUT_FILE,
	.endings = ".safetensors",
	.needs_output = true,
	.is_timed = true,
	.run = run_merge,
};
