/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_features.c - invar features: tensors through an encoder, in blocks. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "cli/text.h"

typedef struct features_values {
	inv_common common;
	const char *output, *dtype, *weights;
	int force;
	invar_encoder_opts encoder;
} features_values;

static const inv_example examples[] = {
	{"invar features images.npy -o features.npy --weights dino_deitsmall8_pretrain.pth",
     "the encoder is found from the names and shapes of its weights"},
	{"invar features images.npy -o features.npy --weights FILE --encoder dino_vits8",
     "the same, and weights of another network are refused"},
	{"invar features in.npy -o out.npy --weights full.pth --key student --heads 3",
     "the student of a full checkpoint, and what no tensor tells"},
	{"make-tensors | invar features - -o - --weights FILE | use-features",
     "as a filter of NumPy files"},
	{0},
};

static const inv_argument arguments[] = {
	{"IN.npy",
     "normalised images [n, channels, height, width] as a NumPy file of floats; - is "
     "standard input",
     1, 1},
	{0},
};

static const invar_field own_table[] = {
	{"output", INVAR_FIELD_TEXT, offsetof(features_values, output), 0, 0, 0, NULL,
     "OUT.npy", "Result",
     "NumPy file to write, [n, width of a feature]; - is standard output"},
	{"dtype", INVAR_FIELD_TEXT, offsetof(features_values, dtype), 0, 0, 0,
     "float32|float16", "WORD", "Result", "type of the numbers that are written"},
	{"force", INVAR_FIELD_FLAG, offsetof(features_values, force), 0, 1, 0, NULL, NULL,
     "Result",
     "replace a file of another kind, or one that is write-protected; never what is read"},
	{"weights", INVAR_FIELD_TEXT, offsetof(features_values, weights), 0, 0,
     INVAR_FIELD_OPTIONAL, NULL, "FILE", "Encoder",
     "the encoder's weights: safetensors, a PyTorch checkpoint, or a folder of Hugging "
     "Face"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{invar_encoder_fields, offsetof(features_values, encoder)},
	{0},
};

static void defaults(void *values)
{
	features_values *v = values;

	v->dtype = "float32";
	invar_encoder_defaults(&v->encoder);
}

static invar_status tell_result(inv_session *s, const features_values *v, invar_encoder *e,
                                const uint64_t shape[4])
{
	uint64_t width;
	invar_status st = invar_encoder_width(e, shape, &width);

	if (st == INVAR_OK && s->common->json)
		st = inv_print_json(
			s, json_pack("{s:s, s:s, s:[I, I, I, I], s:I, s:o, s:s}", "encoder",
		                 invar_encoder_name(e), "about", invar_encoder_about(e), "shape",
		                 (json_int_t)shape[0], (json_int_t)shape[1], (json_int_t)shape[2],
		                 (json_int_t)shape[3], "width", (json_int_t)width, "output",
		                 inv_name_json(v->output), "dtype", v->dtype));
	if (st != INVAR_OK)
		return st;
	inv_term_say(s->term,
	             "%" PRIu64 " %s of %" PRIu64 " x %" PRIu64 ", features of %" PRIu64
	             " %s: %s",
	             shape[0], inv_noun(shape[0], "image", "images"), shape[3], shape[2], width,
	             inv_noun(width, "number", "numbers"), invar_encoder_about(e));
	inv_term_close(s->term);
	return INVAR_OK;
}

static invar_status check_output(inv_session *s, const features_values *v)
{
	inv_reads(s, s->argument[0], "the images");
	inv_reads(s, v->weights, "the weights");
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = v->output,
	                                         .kind = INV_OUTPUT_NPY,
	                                         .force = v->force,
	                                         .stream = true});
}

static invar_status run(inv_session *s, void *values)
{
	features_values *v = values;
	invar_dtype dtype = strcmp(v->dtype, "float16") == 0 ? INVAR_FLOAT16 : INVAR_FLOAT32;
	invar_encoder *encoder = NULL;
	uint64_t shape[4];
	invar_status st;

	if ((st = inv_need(s, v->output, "the file for the result is missing: -o OUT.npy")) !=
	    INVAR_OK)
		return st;
	if (s->common->json && strcmp(v->output, "-") == 0)
		return inv_fault(s, INVAR_E_USE,
		                 "--json and '-o -' both want standard output; choose one");
	if (!v->weights && !v->encoder.encoder)
		return inv_fault(s, INVAR_E_USE,
		                 "the weights are missing: --weights FILE (or --encoder pixels)");
	if ((st = check_output(s, v)) == INVAR_OK)
		st = inv_session_start(s);
	if (st == INVAR_OK)
		st = invar_encoder_open(s->ctx, v->weights, &v->encoder, &encoder);
	if (st == INVAR_OK)
		st = invar_encoder_run_file(encoder, s->argument[0], v->output, dtype, shape);
	if (st == INVAR_OK)
		st = tell_result(s, v, encoder, shape);
	invar_encoder_close(encoder);
	return st;
}

const inv_command inv_cmd_features = {
	.name = "features",
	.purpose = "turns normalised images in a NumPy file into features",
	.usage = "IN.npy -o OUT.npy --weights FILE [options]",
	.about =
		"The images are taken as they are: already resized and normalised as the encoder "
		"wants it (invar models list says how); invar encode does all that for data sets "
		"of pictures. Works in blocks, so files larger than memory pass through. The same "
		"features come out for any number of threads.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(features_values),
	.defaults = defaults,
	.run = run,
};
