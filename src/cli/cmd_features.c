/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_features.c - invar features: tensors through an encoder, in blocks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/term.h"
#include "encoders/encoder.h"

static const inv_example examples[] = {
	{"invar features images.npy -o features.npy --weights dino_deitsmall8_pretrain.pth",
     "recognises the encoder by the names and shapes of its weights"},
	{"invar features images.npy -o features.npy --weights FILE --encoder dino_vits8",
     "the same, but fails if the weights are those of another network"},
	{"invar features in.npy -o out.npy --weights full.pth --key student --heads 3",
     "the student of a full checkpoint, with the number of heads"},
	{"make-tensors | invar features - -o - --weights FILE | use-features",
     "as a filter of NumPy files"},
	{0},
};

static const inv_argument arguments[] = {
	{"IN.npy",
     "normalised images [n, channels, height, width] as a NumPy file of floats; - is "
     "standard input",
     1, 1, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("OUT.npy",
                    "NumPy file to write, [n, feature width]; - is standard output")},
	{INV_DTYPE_ROW},
	{INV_FORCE_ROW},
	{0},
};

static invar_status run_features(inv_session *s)
{
	const char *output = inv_text(s, "output"), *dtype = inv_text(s, "dtype");
	invar_encoder *e = NULL;
	uint64_t shape[4], width;
	invar_status st;

	INV_TRY(invar_encoder_open(s->ctx, NULL, s->options, &e));
	INV_TRY_OR(end, inv_encoder_run_file(
						e, s->argument[0], output,
						strcmp(dtype, "float16") == 0 ? INVAR_FLOAT16 : INVAR_FLOAT32, shape));
	INV_TRY_OR(end, invar_encoder_width(e, shape, &width));
	if (s->json)
		st = inv_print_json(
			json_pack("{s:s, s:s, s:[I, I, I, I], s:I, s:o, s:s}", "encoder",
		              invar_encoder_name(e), "about", invar_encoder_about(e), "shape",
		              (json_int_t)shape[0], (json_int_t)shape[1], (json_int_t)shape[2],
		              (json_int_t)shape[3], "width", (json_int_t)width, "output",
		              inv_json_path(output), "dtype", dtype));
	inv_term_say(s->term,
	             "%" PRIu64 " %s of %" PRIu64 " x %" PRIu64 ", features of %" PRIu64
	             " %s: %s",
	             shape[0], inv_noun(shape[0], "image", "images"), shape[3], shape[2], width,
	             inv_noun(width, "number", "numbers"), invar_encoder_about(e));
end:
	invar_encoder_close(e);
	return st;
}

const inv_command inv_cmd_features = {
	.name = "features",
	.purpose = "turns normalised images in a NumPy file into features",
	.usage = "IN.npy -o OUT.npy --weights FILE [options]",
	.about = "The images must already be resized and normalised as the encoder expects "
			 "(see invar models list); invar encode does this for data sets of images. "
			 "Works in blocks, so files may be larger than memory. Features do not depend "
			 "on the number of threads.",
	.examples = examples,
	.arguments = arguments,
	.options = "features",
	.own = own,
	.without = "seed",
	.reads = "weights",
	.output = INV_OUTPUT_STREAM,
	.endings = ".npy",
	.needs_output = true,
	.is_timed = true,
	.run = run_features,
};
