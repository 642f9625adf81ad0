/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_models.c - invar models: encoders by name, and what is in weight files. */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "cli/files.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "cli/text.h"

static const inv_example examples[] = {
	{"invar models list", "what is known by name, and how its authors prepare images"},
	{"invar models inspect checkpoint.pth --key student",
     "what a file holds, and which encoder it is taken for"},
	{"invar models inspect resnet50-0676ba61.pth --tensors",
     "the same, and a line for every tensor"},
	{"invar models verify dino_deitsmall8_pretrain.pth",
     "size, SHA-256, finite weights, and one image through the network"},
	{"invar models convert ViT-B-16.pt clip.safetensors",
     "the same tensors in a format that holds nothing else"},
	{"invar models pull resnet50 --url https://example.org/resnet50-0676ba61.pth",
     "fetches a file, goes on where it was cut, checks its SHA-256"},
	{0},
};

static const inv_argument arguments[] = {
	{"ACTION", "list, inspect, verify, convert or pull", 1, 1},
	{"FILE",
     "a weight file; for convert, also the safetensors file to write; for pull, a name of "
     "the list or the file to write",
     0, 2},
	{0},
};

static const invar_field own_table[] = {
	{"tensors", INVAR_FIELD_FLAG, offsetof(models_values, tensors), 0, 1, 0, NULL, NULL,
     "Inspect", "list every tensor: name, type, shape and number of values"},
	{"url", INVAR_FIELD_TEXT, offsetof(models_values, url), 0, 0, INVAR_FIELD_OPTIONAL,
     NULL, "URL", "Pull", "address of the file: http, https or file"},
	{"sha256", INVAR_FIELD_TEXT, offsetof(models_values, sha256), 0, 0,
     INVAR_FIELD_OPTIONAL, NULL, "HEX", "Pull",
     "what the file must be, 64 digits; that of the list if not given"},
	{"output", INVAR_FIELD_TEXT, offsetof(models_values, output), 0, 0,
     INVAR_FIELD_OPTIONAL, NULL, "FILE", "Pull",
     "file to write; the name under which it is published if not given"},
	{"most", INVAR_FIELD_NUMBER, offsetof(models_values, most), 1e-3, 1e6, 0, NULL, "GB",
     "Pull", "a larger file is refused; that of a name is as large as the list says"},
	{"force", INVAR_FIELD_FLAG, offsetof(models_values, force), 0, 1, 0, NULL, NULL,
     "Convert",
     "replace a file of another kind, or one that is write-protected; never what is read"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{invar_encoder_fields, offsetof(models_values, encoder)},
	{0},
};

static void defaults(void *values)
{
	models_values *v = values;

	v->most = 20;
	invar_encoder_defaults(&v->encoder);
}

/* ---- What is known ---------------------------------------------------------------- */

const invar_model *inv_model_named(const char *name)
{
	for (size_t i = 0; i < invar_model_count(); i++)
		if (strcmp(invar_model_at(i)->name, name) == 0)
			return invar_model_at(i);
	return NULL;
}

const invar_model *inv_model_of_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const invar_model *found = NULL;

	for (size_t i = 0; i < invar_model_count(); i++) {
		const invar_model *m = invar_model_at(i);

		if (!m->file || strcmp(m->file, name) != 0)
			continue;
		if (found)
			return NULL;
		found = m;
	}
	return found;
}

const invar_model *inv_model_of_hash(const char *hex)
{
	for (size_t i = 0; i < invar_model_count(); i++) {
		const char *known = invar_model_at(i)->sha256;

		if (known && strcmp(known, hex) == 0)
			return invar_model_at(i);
	}
	return NULL;
}

bool inv_hash_agrees(const char *hex, const char *known)
{
	return strncasecmp(hex, known, strlen(known)) == 0;
}

/* ---- Convert ---------------------------------------------------------------------- */

static invar_status check_target(inv_session *s, const models_values *v)
{
	inv_reads(s, s->argument[1], "the weights");
	return inv_check_output(s, &(inv_output){.path = s->argument[2],
	                                         .kind = INV_OUTPUT_SAFETENSORS,
	                                         .force = v->force});
}

static invar_status convert(inv_session *s, const models_values *v)
{
	const char *from = s->argument[1], *to = s->argument[2];
	invar_weights *w;
	invar_status st;

	if ((st = check_target(s, v)) != INVAR_OK ||
	    (st = invar_weights_open(s->ctx, from, v->encoder.key, &w)) != INVAR_OK)
		return st;
	st = invar_weights_save(w, to);
	if (st == INVAR_OK && s->common->json)
		st =
			inv_print_json(s, json_pack("{s:o, s:s, s:o, s:I}", "output", inv_name_json(to),
		                                "format", invar_weights_format(w), "key",
		                                inv_name_json(invar_weights_key(w)), "tensors",
		                                (json_int_t)invar_weights_count(w)));
	if (st == INVAR_OK)
		inv_term_say(s->term, "%s holds %zu %s of %s", to, invar_weights_count(w),
		             inv_noun(invar_weights_count(w), "tensor", "tensors"), from);
	invar_weights_close(w);
	return st;
}

/* ---- The command ------------------------------------------------------------------ */

static const struct {
	const char *name;
	size_t files; /* that follow */
	invar_status (*run)(inv_session *s, const models_values *v);
	const char *needs, *takes; /* options of its own, ended by a bar each */
} actions[] = {
	{"list", 0, inv_models_list, "", ""},
	{"inspect", 1, inv_models_inspect, "FILE",
     "key|encoder|heads|eps|bn-eps|pos|stride|tensors|"},
	{"verify", 1, inv_models_verify, "FILE", "key|encoder|heads|eps|bn-eps|pos|stride|"},
	{"convert", 2, convert, "FILE OUT.safetensors", "key|force|"},
	{"pull", 1, inv_models_pull, "NAME --url URL", "url|sha256|output|most|"},
};

/* Of options, each of which ends with a bar. */
static bool is_listed(const char *options, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = options; *at; at = strchr(at, '|') + 1)
		if (strncmp(at, option, length) == 0 && at[length] == '|')
			return true;
	return false;
}

/* An option that an action would pass over in silence is a mistake. */
static invar_status check_use(inv_session *s, size_t action)
{
	static const char common[] = "json|quiet|verbose|threads|seed|help|version|";

	if (s->arguments != actions[action].files + 1)
		return inv_fault(s, INVAR_E_USE, "%s takes %s", actions[action].name,
		                 actions[action].files ? actions[action].needs : "no arguments");
	for (const char *const *given = s->given; *given; given++)
		if (!is_listed(common, *given) && !is_listed(actions[action].takes, *given))
			return inv_fault(s, INVAR_E_USE, "%s takes no --%s", actions[action].name,
			                 *given);
	return INVAR_OK;
}

static invar_status run(inv_session *s, void *values)
{
	enum { ACTIONS = sizeof actions / sizeof *actions };
	size_t i = 0;
	invar_status st = inv_check_word(s, "ACTION", s->command->words, s->argument[0]);

	if (st != INVAR_OK)
		return st;
	while (i < ACTIONS - 1 && strcmp(actions[i].name, s->argument[0]) != 0)
		i++;
	if ((st = check_use(s, i)) == INVAR_OK && (st = inv_session_start(s)) == INVAR_OK)
		st = actions[i].run(s, values);
	return st;
}

const inv_command inv_cmd_models = {
	.name = "models",
	.purpose = "encoders known by name, and what is in weight files",
	.usage = "ACTION [FILE [OUT]] [options]",
	.about =
		"A weight file is safetensors, a PyTorch checkpoint or a TorchScript archive; "
		"nothing in it is executed. inspect shows any such file, an encoder or not; of an "
		"adapter, or of a run, what "
		"it was made for. verify "
		"compares with what is known, reads every weight and runs the network on an image "
		"that is zero after normalisation. pull is the only thing here that ever uses a "
		"network: it writes FILE.invar.part, which the same command takes up where it was "
		"cut, "
		"and renames it when all has come and its SHA-256 is right; where none is known it "
		"prints the one it got.",
	.examples = examples,
	.arguments = arguments,
	.words = "list|inspect|verify|convert|pull",
	.tables = tables,
	.values = sizeof(models_values),
	.defaults = defaults,
	.run = run,
};
