/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_apply.c - invar apply: features through an adapter, in blocks. */
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar apply run features.npy -o adapted.npy",
     "applies the adapter of a run to every row"},
	{"invar apply adapter.safetensors bank/test/aug.npy -o out.npy --dtype float16",
     "[n, c, d] in, half precision out"},
	{"invar apply run features.npy -o half.npy --strength 0.5",
     "halfway between the features and E"},
	{"make-features | invar apply run - -o - | use-features", "as a filter of NumPy files"},
	{0},
};

static const inv_argument arguments[] = {
	{"ADAPTER", "a safetensors file or a run folder", 1, 1},
	{"IN.npy", "features [n, d] or [n, c, d] as a NumPy file; - is standard input", 1, 1},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("OUT.npy", "NumPy file to write; - is standard output")},
	{INV_DTYPE_ROW},
	{.name = "strength",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .max = 10,
     .meta = "W",
     .group = "Result",
     .help = "how far features are moved: z + W (E(z) - z); 0: not at all"},
	{.name = "encoder-name",
     .type = INVAR_OPTION_TEXT,
     .meta = "NAME",
     .group = "Features",
     .help = "what made the features; a warning if the adapter was trained on features of "
             "another name"},
	{INV_FORCE_ROW},
	{0},
};

/* A bank's own files are compared by the library; here the user says what they are. */
static void compare_name(inv_session *s, const invar_adapter *e)
{
	const char *name = inv_text(s, "encoder-name");
	const char *mine = invar_adapter_metadata(e, "invar.encoder");
	char line[1024];

	if (!name || !mine || !*mine || strcmp(name, mine) == 0)
		return;
	snprintf(line, sizeof line,
	         "%.400s: was trained on features of %.60s but %.400s has features of %.60s",
	         s->argument[0], mine, s->argument[1], name);
	inv_term_hooks(s->term).log(s->term, INVAR_LOG_WARNING, line);
}

static invar_status check_output(inv_session *s)
{
	inv_reads(s, s->argument[0], "the adapter");
	inv_reads(s, s->argument[1], "the features");
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = inv_text(s, "output"),
	                                         .kind = &inv_kind_npy,
	                                         .force = inv_flag(s, "force"),
	                                         .stream = true});
}

/* *adapter is replaced by one of the strength asked for. */
static invar_status take_strength(const inv_session *s, invar_adapter **adapter)
{
	const invar_adapter *whole = *adapter;
	double strength = inv_number(s, "strength");
	invar_adapter *weaker;
	invar_status st;

	if (strength == 1)
		return INVAR_OK;
	if ((st = invar_adapter_merge(&whole, NULL, 1, strength, &weaker)) != INVAR_OK)
		return st;
	invar_adapter_close(*adapter);
	*adapter = weaker;
	return INVAR_OK;
}

static invar_status run_apply(inv_session *s)
{
	invar_dtype dtype =
		strcmp(inv_text(s, "dtype"), "float16") == 0 ? INVAR_FLOAT16 : INVAR_FLOAT32;
	invar_adapter *adapter = NULL;
	invar_status st;

	if ((st = inv_need(inv_text(s, "output"), "the output file is missing: -o OUT.npy")) !=
	    INVAR_OK)
		return st;
	if (s->common->json && strcmp(inv_text(s, "output"), "-") == 0)
		return inv_fail(INVAR_E_USE,
		                "--json and '-o -' both write to standard output; use only one");
	if ((st = check_output(s)) != INVAR_OK || (st = inv_session_start(s)) != INVAR_OK ||
	    (st = invar_adapter_open(s->ctx, s->argument[0], &adapter)) != INVAR_OK)
		return st;
	compare_name(s, adapter);
	st = take_strength(s, &adapter);
	if (st == INVAR_OK)
		st = inv_adapter_apply_file(adapter, s->argument[1], inv_text(s, "output"), dtype);
	if (st == INVAR_OK && s->common->json)
		st = inv_print_json(json_pack(
			"{s:o, s:s, s:i, s:i}", "output", inv_name_json(inv_text(s, "output")), "dtype",
			inv_text(s, "dtype"), "input_dim", invar_adapter_input(adapter), "output_dim",
			invar_adapter_output(adapter)));
	invar_adapter_close(adapter);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_apply = {
	.name = "apply",
	.purpose = "applies an adapter to features",
	.usage = "ADAPTER IN.npy -o OUT.npy [options]",
	.about = "Works in blocks, so files may be larger than memory. The last axis of IN.npy "
			 "is the feature and must have the width of the adapter's input.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.without = "seed",
	.run = run_apply,
};
