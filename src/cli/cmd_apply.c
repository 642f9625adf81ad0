/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_apply.c - invar apply: features through an adapter, in blocks. */
#include <stddef.h>
#include <string.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"

typedef struct apply_values {
	inv_common common;
	const char *output, *dtype;
	int force;
} apply_values;

static const inv_example examples[] = {
	{"invar apply run features.npy -o adapted.npy",
     "E of every row, with the adapter of a run"},
	{"invar apply adapter.safetensors bank/test/aug.npy -o out.npy --dtype float16",
     "[n, c, d] in, half precision out"},
	{"make-features | invar apply run - -o - | use-features", "as a filter of NumPy files"},
	{0},
};

static const inv_argument arguments[] = {
	{"ADAPTER", "a safetensors file, or a run folder that holds one", 1, 1},
	{"IN.npy", "features [n, d] or [n, c, d] as a NumPy file; - is standard input", 1, 1},
	{0},
};

static const invar_field own_table[] = {
	{"output", INVAR_FIELD_TEXT, offsetof(apply_values, output), 0, 0, 0, NULL, "OUT.npy",
     "Result", "NumPy file to write; - is standard output"},
	{"dtype", INVAR_FIELD_TEXT, offsetof(apply_values, dtype), 0, 0, 0, "float32|float16",
     "WORD", "Result", "type of the numbers that are written"},
	{"force", INVAR_FIELD_FLAG, offsetof(apply_values, force), 0, 1, 0, NULL, NULL,
     "Result",
     "replace a file of another kind, or one that is write-protected; never what is read"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {{own_fields, 0}, {0}};

static void defaults(void *values)
{
	((apply_values *)values)->dtype = "float32";
}

static invar_status check_output(inv_session *s, const apply_values *v)
{
	inv_reads(s, s->argument[0], "the adapter");
	inv_reads(s, s->argument[1], "the features");
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = v->output,
	                                         .kind = INV_OUTPUT_NPY,
	                                         .force = v->force,
	                                         .stream = true});
}

static invar_status run(inv_session *s, void *values)
{
	apply_values *v = values;
	invar_dtype dtype = strcmp(v->dtype, "float16") == 0 ? INVAR_FLOAT16 : INVAR_FLOAT32;
	invar_adapter *adapter = NULL;
	invar_status st;

	if ((st = inv_need(s, v->output, "the file for the result is missing: -o OUT.npy")) !=
	    INVAR_OK)
		return st;
	if (s->common->json && strcmp(v->output, "-") == 0)
		return inv_fault(s, INVAR_E_USE,
		                 "--json and '-o -' both want standard output; choose one");
	if ((st = check_output(s, v)) != INVAR_OK || (st = inv_session_start(s)) != INVAR_OK ||
	    (st = invar_adapter_open(s->ctx, s->argument[0], &adapter)) != INVAR_OK)
		return st;
	st = invar_adapter_apply_file(adapter, s->argument[1], v->output, dtype);
	if (st == INVAR_OK && s->common->json)
		st = inv_print_json(s, json_pack("{s:o, s:s, s:i, s:i}", "output",
		                                 inv_name_json(v->output), "dtype", v->dtype,
		                                 "input_dim", invar_adapter_input(adapter),
		                                 "output_dim", invar_adapter_output(adapter)));
	invar_adapter_close(adapter);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_apply = {
	.name = "apply",
	.purpose = "applies an adapter to features",
	.usage = "ADAPTER IN.npy -o OUT.npy [options]",
	.about = "Works in blocks, so files larger than memory pass through. The last axis of "
			 "IN.npy "
			 "is the feature and must be as wide as the adapter's input.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(apply_values),
	.defaults = defaults,
	.run = run,
};
