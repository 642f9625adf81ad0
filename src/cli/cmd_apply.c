/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_apply.c - invar apply: features through an adapter, in blocks. */
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "base/json.h"
#include "cli/command_options.h"
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
	{"ADAPTER", "a safetensors file or a run folder", 1, 1, INV_READS_FILE},
	{"IN.npy", "features [n, d] or [n, c, d] as a NumPy file; - is standard input", 1, 1,
     INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("OUT.npy", "NumPy file to write; - is standard output")},
	{INV_DTYPE_ROW},
	{INV_ROW(NUMBER, "strength", "W", "Result",
             "how far features are moved: z + W (E(z) - z); 0: not at all"),
     .initial = "1", .max = 10},
	{INV_ROW(TEXT, "encoder-name", "NAME", "Features",
             "what made the features; a warning if the adapter was trained on features of "
             "another name"),
     .flags = INVAR_OPTION_EXPERT},
	{INV_FORCE_ROW},
	{0},
};

static invar_status run_apply(inv_session *s)
{
	const char *output = inv_text(s, "output"), *name = inv_text(s, "encoder-name"),
			   *trained;
	invar_dtype dtype =
		strcmp(inv_text(s, "dtype"), "float16") == 0 ? INVAR_FLOAT16 : INVAR_FLOAT32;
	double strength = inv_number(s, "strength");
	invar_adapter *e = NULL, *whole = NULL;
	char line[1024];
	invar_status st;

	INV_TRY(invar_adapter_open(s->ctx, s->argument[0], &e));
	/* A bank's own files are compared by the library; here the user says what they are. */
	trained = invar_adapter_metadata(e, "invar.encoder");
	if (name && trained && *trained && strcmp(name, trained) != 0) {
		snprintf(
			line, sizeof line,
			"%.400s: was trained on features of %.60s but %.400s has features of %.60s",
			s->argument[0], trained, s->argument[1], name);
		inv_term_hooks(s->term).log(s->term, INVAR_LOG_WARNING, line);
	}
	if (strength != 1) {
		whole = e;
		INV_TRY_OR(end, invar_adapter_merge((const invar_adapter *const *)&whole, NULL, 1,
		                                    strength, &e));
	}
	INV_TRY_OR(end, inv_adapter_apply_file(e, s->argument[1], output, dtype));
	if (s->json)
		st = inv_print_json(json_pack("{s:o, s:s, s:i, s:i}", "output",
		                              inv_json_path(output), "dtype", inv_text(s, "dtype"),
		                              "input_dim", invar_adapter_input(e), "output_dim",
		                              invar_adapter_output(e)));
end:
	if (e != whole)
		invar_adapter_close(e);
	invar_adapter_close(whole);
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
	.output = INV_OUTPUT_STREAM,
	.endings = ".npy",
	.needs_output = true,
	.is_basic = true,
	.is_timed = true,
	.run = run_apply,
};
