/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_models.c - invar models: encoders by name, and what is in weight files. */
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/options.h"
#include "base/words.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/models.h"
#include "cli/term.h"
#include "encoders/encoder.h"
#include "formats/weights.h"

static const inv_example examples[] = {
	{"invar models list",
     "the encoders known by name, and how images are prepared for each"},
	{"invar models inspect checkpoint.pth --key student",
     "what a file contains, and which encoder it is"},
	{"invar models inspect resnet50-0676ba61.pth --tensors",
     "the same, with one line per tensor"},
	{"invar models verify dino_deitsmall8_pretrain.pth",
     "checks size, SHA-256 and weights, and runs one image through the network"},
	{"invar models convert ViT-B-16.pt clip.safetensors",
     "saves the same tensors as safetensors"},
	{"invar models pull resnet50 --url https://example.org/resnet50-0676ba61.pth",
     "downloads a file, resumes an interrupted download, checks its SHA-256"},
	{0},
};

static const inv_argument arguments[] = {
	{"ACTION", "list, inspect, verify, convert or pull", 1, 1, INV_READS_NOTHING},
	{"FILE",
     "a weight file; for convert, then the safetensors file to write; for pull, a name "
     "from the list or the file to write",
     0, 2, INV_READS_NOTHING},
	{0},
};

static const invar_option own[] = {
	{INV_FLAG_ROW("tensors", "Inspect",
                  "list every tensor: name, type, shape and number of values")},
	{INV_ROW(TEXT, "url", "URL", "Pull", "URL of the file: http, https or file")},
	{INV_ROW(TEXT, "sha256", "HEX", "Pull",
             "expected SHA-256 of the file, 64 digits; default: the one in the list")},
	{INV_ROW(TEXT, "output", "FILE", "Pull",
             "file to write; default: the file name in the list")},
	{INV_ROW(NUMBER, "max-size", "GB", "Pull",
             "stop if the file is larger; if the list has a size, the file must have that "
             "size"),
     .initial = "20", .min = 1e-3, .max = 1e6},
	{INV_FLAG_ROW("force", "Convert", "replace any existing file; never one that is read")},
	{0},
};

/* ---- What is known ---------------------------------------------------------------- */

const inv_known_model *inv_model_named(const char *name)
{
	for (size_t i = 0; i < inv_model_count(); i++)
		if (strcmp(inv_model_at(i)->name, name) == 0)
			return inv_model_at(i);
	return NULL;
}

const inv_known_model *inv_model_of_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const inv_known_model *found = NULL;

	for (size_t i = 0; i < inv_model_count(); i++) {
		const inv_known_model *m = inv_model_at(i);

		if (!m->file || strcmp(m->file, name) != 0)
			continue;
		if (found)
			return NULL;
		found = m;
	}
	return found;
}

const inv_known_model *inv_model_of_hash(const char *hex)
{
	for (size_t i = 0; i < inv_model_count(); i++) {
		const char *known = inv_model_at(i)->sha256;

		if (known && strcmp(known, hex) == 0)
			return inv_model_at(i);
	}
	return NULL;
}

bool inv_hash_agrees(const char *hex, const char *known)
{
	return strncasecmp(hex, known, strlen(known)) == 0;
}

/* ---- The command ------------------------------------------------------------------ */

static invar_status convert_weights(inv_session *s)
{
	const char *from = s->argument[1], *to = s->argument[2];
	inv_weights *w;
	invar_status st;

	INV_TRY(inv_reads(s, from, INV_READS_FILE));
	INV_TRY(inv_check_output(s, &(inv_output){.path = to,
	                                          .endings = ".safetensors",
	                                          .force = inv_flag(s, "force")}));
	INV_TRY(inv_weights_open(s->ctx, from, inv_text(s, "key"), &w));
	INV_TRY_OR(end, inv_weights_save(w, to));
	if (s->json)
		INV_TRY_OR(end,
		           inv_print_json(json_pack(
					   "{s:o, s:s, s:o, s:I}", "output", inv_json_path(to), "format",
					   inv_weights_format_name(w), "key", inv_json_path(inv_weights_key(w)),
					   "tensors", (json_int_t)inv_weights_count(w))));
	inv_term_say(s->term, "%s has %zu %s from %s", to, inv_weights_count(w),
	             inv_noun(inv_weights_count(w), "tensor", "tensors"), from);
end:
	inv_weights_close(w);
	return st;
}

static const struct {
	const char *name;
	size_t files; /* that follow */
	invar_status (*run)(inv_session *s);
	const char *needs, *takes; /* options that it takes, "a|b", */
	bool opens;                /* and all those of opening an encoder */
} actions[] = {
	{"list", 0, inv_models_list, "", "", false},
	{"inspect", 1, inv_models_inspect, "FILE", "tensors", true},
	{"verify", 1, inv_models_verify, "FILE", "", true},
	{"convert", 2, convert_weights, "FILE OUT.safetensors", "key|force", false},
	{"pull", 1, inv_models_pull, "NAME --url URL", "url|sha256|output|max-size", false},
};

static invar_status run_models(inv_session *s)
{
	static const char own_names[] = "tensors|url|sha256|output|max-size|force";
	static const char common[] = "json|quiet|verbose|threads";
	size_t action = 0;

	INV_TRY(inv_require_word("ACTION", s->command->words, s->argument[0]));
	while (strcmp(actions[action].name, s->argument[0]) != 0)
		action++;
	if (s->arguments != actions[action].files + 1)
		return inv_fail(INVAR_E_USE, "%s takes %s", actions[action].name,
		                actions[action].files ? actions[action].needs : "no arguments");
	/* An option that an action would ignore is a mistake. */
	for (size_t i = 0; i < invar_options_count(s->options); i++) {
		const char *name = invar_options_at(s->options, i)->name;

		if (inv_options_is_set(s->options, name) && !inv_has_word(common, '|', name) &&
		    !inv_has_word(actions[action].takes, '|', name) &&
		    !(actions[action].opens && !inv_has_word(own_names, '|', name)))
			return inv_fail(INVAR_E_USE, "%s does not take --%s", actions[action].name,
			                name);
	}
	return actions[action].run(s);
}

const inv_command inv_cmd_models = {
	.name = "models",
	.purpose = "lists, inspects, verifies, converts and downloads encoders",
	.usage = "ACTION [FILE [OUT]] [options]",
	.about =
		"A weight file is a safetensors file, a PyTorch checkpoint or a TorchScript "
		"archive; nothing in it is executed. inspect shows what any such file contains; "
		"for an adapter or a run, also which features it was trained on. verify compares "
		"the file with the list, reads every weight and runs the network on an image that "
		"is zero after normalisation. pull is the only action that uses the network: it "
		"downloads to FILE.invar.part, which the same command resumes after an "
		"interruption unless the file on the server has changed meanwhile (its ETag or "
		"date is in FILE.invar.part.version), "
		"and renames it once it is complete and its SHA-256 is correct; if "
		"no SHA-256 is known, it prints the one of the file.",
	.examples = examples,
	.arguments = arguments,
	.words = "list|inspect|verify|convert|pull",
	.options = "features",
	.hidden = "weights", /* FILE */
	.own = own,
	.without = "seed",
	.run = run_models,
};
