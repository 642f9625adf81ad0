/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - invar export: an adapter as a file for other programs. */
#include <string.h>
#include <sys/stat.h>

#include "adapter/export/export.h"
#include "base/json.h"
#include "base/options.h"
#include "cli/command_options.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar export run -o adapter.onnx", "the adapter of a run for ONNX Runtime"},
	{"invar export run -o half.onnx --dtype float16", "half the size"},
	{"invar export run --onto encoder.onnx -o both.onnx",
     "an encoder of your own with the adapter behind it"},
	{"invar export run --onto resnet.onnx --onto-output flatten -o both.onnx",
     "behind a tensor inside the model, as its output is that of a classifier"},
	{"invar export run --with-encoder resnet18.safetensors -o both.onnx",
     "from normalised images to codes, ResNets and vision transformers alike"},
	{"invar export run --card -o README.md", "a model card, as Hugging Face shows it"},
	{0},
};

static const inv_argument arguments[] = {
	{"ADAPTER", "a safetensors file or a run folder", 1, 1, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "file to write")},
	{INV_ROW(TEXT, "with-encoder", "WEIGHTS", "ONNX",
             "write the encoder with these weights and the adapter as one model, from "
             "normalised images to codes")},
	{INV_FLAG_ROW("card", "Result", "write a model card: the same as --format card")},
	{INV_FORCE_ROW},
	{0},
};

/* An option that only an encoder has; NULL: none was typed. */
static const char *encoder_option(const inv_session *s)
{
	const char *found = NULL;
	invar_options *list;
	const invar_option *row;

	if (invar_options_new("features", &list) != INVAR_OK)
		return NULL;
	for (size_t i = 0; !found && (row = invar_options_at(list, i)); i++)
		if (inv_options_is_set(s->options, row->name))
			found = inv_options_find(s->options, row->name)->name;
	invar_options_free(list);
	return found;
}

static invar_status run_export(inv_session *s)
{
	const char *weights = inv_text(s, "with-encoder"), *output = inv_text(s, "output");
	const char *option = encoder_option(s), *format;
	invar_encoder *F = NULL;
	invar_adapter *e = NULL;
	struct stat file;
	json_int_t bytes;
	invar_status st;

	if (inv_flag(s, "card")) { /* a shorter name of a format */
		format = inv_text(s, "format");
		if (inv_options_is_set(s->options, "format") && strcmp(format, "card") != 0)
			return inv_fail(INVAR_E_USE, "--card and --format %s differ; use only one",
			                format);
		INV_TRY(invar_options_set(s->options, "format", "card"));
	}
	if (option && !weights)
		return inv_fail(INVAR_E_USE,
		                "--%s is about the encoder of --with-encoder, which is missing",
		                option);

	INV_TRY(invar_adapter_open(s->ctx, s->argument[0], &e));
	if (weights)
		INV_TRY_OR(end, invar_encoder_open(s->ctx, weights, s->options, &F));
	INV_TRY_OR(end, invar_adapter_export(e, F, s->options, output));
	format = inv_text(s, "format");
	bytes = stat(output, &file) == 0 ? (json_int_t)file.st_size : 0;
	if (s->json)
		st = inv_print_json(json_pack("{s:o, s:s, s:I, s:i, s:i}", "output",
		                              inv_json_path(output), "format", format, "bytes",
		                              bytes, "input_dim", invar_adapter_input(e),
		                              "output_dim", invar_adapter_output(e)));
	else
		inv_term_say(s->term, "%s is written: %s, %lld bytes", output, format,
		             (long long)bytes);
end:
	invar_encoder_close(F);
	invar_adapter_close(e);
	return st;
}

const inv_command inv_cmd_export = {
	.name = "export",
	.purpose = "writes an adapter as an ONNX model, or a model card for it",
	.usage = "ADAPTER -o FILE [options]",
	.about =
		"An ONNX model has the input 'features' [batch, d] and the output 'codes' "
		"[batch, w], opset 17 and any batch size; the adapter's metadata becomes that of "
		"the model. With --onto, the bytes of the model's graph are kept as they are and "
		"the adapter is appended to one of its tensors; the new output is called "
		"'invar/codes'. A model card has the numbers that 'invar eval --certify' measured.",
	.examples = examples,
	.arguments = arguments,
	.options = "export",
	.second = "features",
	.hidden = "weights",
	.own = own,
	.without = "seed",
	.reads = "onto|with-encoder",
	.output = INV_OUTPUT_FILE,
	.endings = ".onnx",
	.needs_output = true,
	.is_basic = true,
	.is_timed = true,
	.run = run_export,
};
