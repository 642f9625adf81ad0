/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - invar export: an adapter as a file for other programs. */
#include <string.h>
#include <sys/stat.h>

#include "adapter/export/export.h"
#include "base/options.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
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
	{"ADAPTER", "a safetensors file or a run folder", 1, 1},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("FILE", "file to write")},
	{.name = "with-encoder",
     .type = INVAR_OPTION_TEXT,
     .meta = "WEIGHTS",
     .group = "ONNX",
     .help = "write the encoder with these weights and the adapter as one model, from "
             "normalised images to codes"},
	{.name = "card",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "write a model card: the same as --format card"},
	{INV_FORCE_ROW},
	{0},
};

static bool is_card(const inv_session *s)
{
	return strcmp(inv_text(s, "format"), "card") == 0;
}

static invar_status check_encoder(inv_session *s)
{
	const char *option = inv_second_option(s);

	if (!option || inv_text(s, "with-encoder"))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "--%s is about the encoder of --with-encoder, which is missing",
	                option);
}

static invar_status check_output(inv_session *s)
{
	const inv_export_format *format = inv_export_format_named(inv_text(s, "format"));

	inv_reads(s, s->argument[0], "the adapter");
	inv_reads(s, inv_text(s, "onto"), "the model");
	inv_reads(s, inv_text(s, "with-encoder"), "the encoder");
	return inv_check_output_option(
		s, &(inv_file_kind){.name = format->file, .begins = {format->begins}});
}

/* --card is a shorter name of a format. */
static invar_status take_card(inv_session *s)
{
	if (!inv_flag(s, "card"))
		return INVAR_OK;
	if (inv_options_is_set(s->options, "format") && !is_card(s))
		return inv_fail(INVAR_E_USE, "--card and --format %s differ; use only one",
		                inv_text(s, "format"));
	return invar_options_set(s->options, "format", "card");
}

static invar_status report(inv_session *s, const invar_adapter *e)
{
	const char *path = inv_text(s, "output");
	struct stat file;
	json_int_t bytes = stat(path, &file) == 0 ? (json_int_t)file.st_size : 0;

	if (s->common->json)
		return inv_print_json(
			json_pack("{s:o, s:s, s:I, s:i, s:i}", "output", inv_name_json(path), "format",
		              inv_text(s, "format"), "bytes", bytes, "input_dim",
		              invar_adapter_input(e), "output_dim", invar_adapter_output(e)));
	inv_term_say(s->term, "%s is written: %s, %lld bytes", path, inv_text(s, "format"),
	             (long long)bytes);
	return INVAR_OK;
}

static invar_status run_export(inv_session *s)
{
	const char *weights = inv_text(s, "with-encoder");
	invar_options *o = NULL;
	invar_encoder *F = NULL;
	invar_adapter *e = NULL;
	invar_status st;

	INV_TRY(inv_need(inv_text(s, "output"), "the output file is missing: -o FILE"));
	INV_TRY(take_card(s));
	INV_TRY(check_encoder(s));
	INV_TRY(check_output(s));
	INV_TRY(inv_session_start(s));

	INV_TRY_OR(end, invar_adapter_open(s->ctx, s->argument[0], &e));
	if (weights) {
		INV_TRY_OR(end, inv_second_options(s, &o));
		INV_TRY_OR(end, invar_encoder_open(s->ctx, weights, o, &F));
	}
	INV_TRY_OR(end, invar_adapter_export(e, F, s->options, inv_text(s, "output")));
	st = report(s, e);
end:
	invar_encoder_close(F);
	invar_options_free(o);
	invar_adapter_close(e);
	if (st == INVAR_OK)
		inv_term_close(s->term);
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
	.second_without = "weights",
	.own = own,
	.without = "seed",
	.run = run_export,
};
