/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card_format.c - a model card: README.md with the block of metadata that Hugging Face
 * reads.
 *
 * Everything in it is in the adapter's file: what its metadata says, and the figures of its
 * certificate, if `eval --certify` has written one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/export/card_text.h"
#include "adapter/export/export.h"
#include "base/file.h"

enum { TITLE = 600 };

static const invar_option options[] = {
	{"title", INVAR_OPTION_TEXT, .meta = "TEXT", .group = "Model card",
     .help = "heading of the card; default: made from the encoder and the "
             "augmentation"},
	{"license", INVAR_OPTION_TEXT, "other", .meta = "NAME", .group = "Model card",
     .help = "licence of the adapter as Hugging Face spells it: apache-2.0, mit, …; "
             "other: not stated"},
	{0},
};

typedef struct card {
	const invar_adapter *e;
	const invar_options *o;
	json_t *certificate; /* NULL: none */
	FILE *out;
} card;

/* NULL if absent or empty. */
static const char *field(const card *c, const char *key)
{
	const char *text = invar_adapter_metadata(c->e, key);

	return text && *text ? text : NULL;
}

static const json_t *metrics_of(const card *c)
{
	return json_object_get(c->certificate, "metrics");
}

static const char *bank_text(const card *c, const char *key)
{
	return json_string_value(json_object_get(json_object_get(c->certificate, "bank"), key));
}

static const char *text_of(const json_t *metric, const char *key)
{
	const char *text = json_string_value(json_object_get(metric, key));

	return text ? text : "";
}

/* ---- Values ----------------------------------------------------------------------- */

static double number_of(const json_t *object, const char *key)
{
	const json_t *x = json_object_get(object, key);

	return json_is_number(x) ? json_number_value(x) : NAN;
}

static bool is_fraction(const json_t *metric)
{
	return strcmp(text_of(metric, "unit"), "share") == 0;
}

/* Fractions in percent, as in the tables of eval. */
static void write_number(FILE *out, const json_t *metric, double x)
{
	json_int_t digits = json_integer_value(json_object_get(metric, "digits"));

	if (is_fraction(metric))
		fprintf(out, "%.1f", 100 * x);
	else
		fprintf(out, "%.*f", digits < 0 || digits > 6 ? 6 : (int)digits, x);
}

static void write_value(FILE *out, const json_t *metric, const json_t *value)
{
	double low = number_of(value, "low"), high = number_of(value, "high");

	if (!isfinite(number_of(value, "value"))) {
		fputs("–", out);
		return;
	}
	write_number(out, metric, number_of(value, "value"));
	if (!isfinite(low) || !isfinite(high))
		return;
	fputs(" (", out);
	write_number(out, metric, low);
	fputs("–", out);
	write_number(out, metric, high);
	fputc(')', out);
}

/* "LC, clean"; of a row such as "displacement, mean | median" only its part: "displacement,
 * mean". */
static const char *metric_title(const json_t *metric, char *out, size_t size)
{
	const char *row = text_of(metric, "row"), *part = text_of(metric, "part");
	const char *bar = strstr(row, " | "), *comma = NULL;

	for (const char *s = row; bar && s < bar; s++)
		if (strncmp(s, ", ", 2) == 0)
			comma = s;
	if (bar && *part)
		snprintf(out, size, "%.*s%s%s", comma ? (int)(comma - row) : 0, row,
		         comma ? ", " : "", part);
	else
		snprintf(out, size, "%s%s%s", row, *part ? ", " : "", part);
	return out;
}

/* ---- The block of metadata ---------------------------------------------------------- */

static void write_title(const card *c, void (*write)(FILE *out, const char *text))
{
	const char *title = inv_option_text(c->o, "title");
	const char *encoder = field(c, "invar.encoder"), *augment = field(c, "invar.augment");
	char text[600];

	snprintf(text, sizeof text, "Invariance adapter%s%.200s%s%.200s",
	         encoder ? " for " : "", encoder ? encoder : "", augment ? ", " : "",
	         augment ? augment : "");
	write(c->out, title ? title : text);
}

static void write_index(const card *c)
{
	const json_t *metric;
	char title[TITLE];
	size_t i;

	if (!json_array_size(metrics_of(c)))
		return;
	fputs("metrics:\n- accuracy\nmodel-index:\n- name: ", c->out);
	write_title(c, inv_card_yaml);
	fputs("\n  results:\n    - task:\n        type: image-feature-extraction\n"
	      "      dataset:\n        type: features\n        name: ",
	      c->out);
	inv_card_yaml(c->out, bank_text(c, "fingerprint"));
	fputs("\n        split: ", c->out);
	inv_card_yaml(c->out, bank_text(c, "split"));
	fputs("\n      metrics:\n", c->out);
	json_array_foreach (metrics_of(c), i, metric) {
		if (!isfinite(number_of(metric, "value")))
			continue;
		fputs("        - type: ", c->out);
		inv_card_yaml(c->out, text_of(metric, "id"));
		fputs("\n          name: ", c->out);
		inv_card_yaml(c->out, metric_title(metric, title, sizeof title));
		fputs("\n          value: ", c->out);
		write_number(c->out, metric, number_of(metric, "value"));
		fputc('\n', c->out);
	}
}

static void write_block(const card *c)
{
	static const char *const tagged[] = {"invar.encoder", "invar.augment"};

	fputs("---\nlibrary_name: invar\nlicense: ", c->out);
	inv_card_yaml(c->out, inv_option_text(c->o, "license"));
	fputs("\npipeline_tag: image-feature-extraction\ntags:\n- invar\n- feature-adapter\n"
	      "- invariance\n",
	      c->out);
	for (size_t i = 0; i < sizeof tagged / sizeof *tagged; i++)
		if (field(c, tagged[i])) {
			fputs("- ", c->out);
			inv_card_yaml(c->out, field(c, tagged[i]));
			fputc('\n', c->out);
		}
	write_index(c);
	fputs("---\n\n", c->out);
}

/* ---- The text ----------------------------------------------------------------------- */

static void write_purpose(const card *c)
{
	fputs("# ", c->out);
	write_title(c, inv_card_markdown);
	fprintf(c->out,
	        "\n\nA small network E that follows a frozen image encoder F: features of an "
	        "augmented image\nare mapped close to the features of the image itself, "
	        "E(F(t(x))) ≈ F(x).\n\nE is an MLP (%zu, %zu, %zu) with ReLU%s.\n%s\n",
	        c->e->s.d, c->e->s.h, c->e->s.w,
	        c->e->residual ? ", added to its input: E(z) = z + MLP(z)" : "",
	        c->e->unit ? "Features and codes are divided by their norms, unit(E(unit(z))): "
	                     "raw and normalised\nfeatures have the same codes, and codes suit "
	                     "inner products and cosines.\n"
	                   : "");
	fputs("## What it is for\n\nClassifiers, nearest-neighbour search and clustering on "
	      "features of this encoder, where\nimages may be augmented as below. ",
	      c->out);
	fputs(c->e->s.d == c->e->s.w
	          ? c->e->unit
	                ? "Codes are as wide as features, so an index of normalised\nfeatures "
	                  "of the encoder can stay in use.\n\n"
	                : "Codes are as wide as features, so an index or a classifier\nof the "
	                  "encoder's own features can stay in use.\n\n"
	          : "Codes have another width than features: indexes and classifiers\nmust be "
	            "made from codes.\n\n",
	      c->out);
}

/* "size 8, 8; resize shorter side": a list or an object in words. */
static void spell_json(FILE *out, const json_t *value)
{
	const char *key, *join = "";
	json_t *one;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)value, key, one) {
		fputs(join, out);
		for (const char *k = key; *k; k++)
			putc(*k == '_' ? ' ' : *k, out);
		putc(' ', out);
		spell_json(out, one);
		join = "; ";
	}
	json_array_foreach (value, i, one) {
		fputs(i ? ", " : "", out);
		spell_json(out, one);
	}
	if (json_is_string(value))
		fputs(json_string_value(value), out);
	else if (json_is_number(value))
		fprintf(out, "%.6g", json_number_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "yes" : "no", out);
}

static void write_row(const card *c, const char *title, const char *key)
{
	const char *text = field(c, key);
	json_t *json = text ? json_loads(text, 0, NULL) : NULL; /* an object or a list */
	char *words = NULL;
	size_t size;
	FILE *out = json ? open_memstream(&words, &size) : NULL;

	if (out) {
		spell_json(out, json);
		fclose(out);
	}
	if (text) {
		fprintf(c->out, "| %s | ", title);
		inv_card_markdown(c->out, words ? words : text);
		fputs(" |\n", c->out);
	}
	free(words);
	json_decref(json);
}

static void write_numbers(const card *c)
{
	const json_t *bank = json_object_get(c->certificate, "bank"), *metric;
	char title[TITLE];
	size_t i;

	fputs("## Numbers\n\n", c->out);
	if (!json_array_size(metrics_of(c))) {
		fputs(
			"None are recorded in this file. `invar eval BANK ADAPTER --certify` measures "
			"and records them.\n\n",
			c->out);
		return;
	}
	fprintf(c->out, "Measured on %lld images, %lld augmented copies of each, of the split ",
	        (long long)json_integer_value(json_object_get(bank, "points")),
	        (long long)json_integer_value(json_object_get(bank, "copies")));
	inv_card_markdown(c->out, bank_text(c, "split"));
	fputs(" of the bank with\nfingerprint `", c->out);
	for (const char *s = bank_text(c, "fingerprint"); s && *s; s++)
		if (strchr("0123456789abcdef", *s))
			fputc(*s, c->out);
	fputs("`. In parentheses: 95 % intervals over images.\n\n", c->out);
	fputs("| | encoder alone | with this adapter |\n|---|---:|---:|\n", c->out);
	json_array_foreach (metrics_of(c), i, metric) {
		fputs("| ", c->out);
		inv_card_markdown(c->out, metric_title(metric, title, sizeof title));
		fputs(is_fraction(metric) ? ", % | " : " | ", c->out);
		write_value(c->out, metric, json_object_get(metric, "F"));
		fputs(" | ", c->out);
		write_value(c->out, metric, metric);
		fputs(" |\n", c->out);
	}
	fputc('\n', c->out);
}

static void write_limits(const card *c)
{
	fputs("## Limits\n\n"
	      "- It is for features of the encoder above, prepared as above; features of "
	      "another encoder of the\n  same width pass through it without an error and "
	      "without a meaning.\n"
	      "- It was made for the augmentation above; other changes of an image are not "
	      "removed.\n"
	      "- It changes clean features a little: R² and CVRMSD say how well distances "
	      "between them are kept.\n"
	      "- Intervals are about the images of one data set. Other images may behave "
	      "differently:",
	      c->out);
	fputs(
		c->certificate
			? "\n  `invar check adapter.safetensors NEW` tells whether new data looks like "
			  "the certified data.\n"
			: "\n  measure it on your own with `invar eval`.\n",
		c->out);
	fputs("- Licences of the encoder and of the training images are not recorded here.\n\n",
	      c->out);
}

static void write_loading(const card *c)
{
	static const char unit_plain[] = "unit = torch.nn.functional.normalize\n"
									 "codes = unit(E(unit(features, dim=-1)), dim=-1)\n";
	static const char unit_residual[] = "unit = torch.nn.functional.normalize\n"
										"z = unit(features, dim=-1)\n"
										"codes = unit(z + E(z), dim=-1)\n";

	fprintf(c->out,
	        "## How to load it\n\n```python\n# PyTorch\nimport torch\nfrom "
	        "safetensors.torch import load_file\nE = "
	        "torch.nn.Sequential(torch.nn.Linear(%zu, %zu), torch.nn.ReLU(), "
	        "torch.nn.Linear(%zu, %zu))\n"
	        "E.load_state_dict(load_file(\"adapter.safetensors\"))\n%s```\n\n",
	        c->e->s.d, c->e->s.h, c->e->s.h, c->e->s.w,
	        c->e->unit       ? c->e->residual ? unit_residual : unit_plain
	        : c->e->residual ? "codes = features + E(features)\n"
	                         : "codes = E(features)\n");
	fputs("```python\n# ONNX Runtime, after: invar export adapter.safetensors -o "
	      "adapter.onnx\nimport onnxruntime\nE = "
	      "onnxruntime.InferenceSession(\"adapter.onnx\")\ncodes = E.run([\"codes\"], "
	      "{\"features\": features})[0]\n```\n\n"
	      "```sh\ninvar apply adapter.safetensors features.npy -o codes.npy\n```\n",
	      c->out);
}

static invar_status save_card(const invar_adapter *e, const invar_options *o,
                              const char *path)
{
	static const struct {
		const char *title, *key;
	} rows[] = {{"encoder", "invar.encoder"},
	            {"SHA-256 of its weights", "invar.encoder_sha256"},
	            {"images", "invar.input"},
	            {"augmentation", "invar.augment"},
	            {"mean norm of features", "invar.norm_mean"},
	            {"deviation of norms", "invar.norm_deviation"},
	            {"loss", "invar.loss"},
	            {"preset", "invar.preset"},
	            {"seed", "invar.seed"},
	            {"made from adapters", "invar.merged"},
	            {"invar", "invar.version"}};
	card c = {.e = e, .o = o};
	const char *certificate = invar_adapter_metadata(e, INV_CERTIFICATE_KEY);
	char *text = NULL;
	size_t bytes = 0;
	invar_status st;

	if (!(c.out = open_memstream(&text, &bytes)))
		return inv_no_memory();
	if (certificate)
		c.certificate = json_loads(certificate, JSON_REJECT_DUPLICATES, NULL);
	write_block(&c);
	write_purpose(&c);
	fputs("## Data and training\n\n| | |\n|---|---|\n", c.out);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (e->unit && strcmp(rows[i].key, "invar.norm_mean") == 0)
			fputs("| norms of features | any: they are divided by their norms |\n", c.out);
		write_row(&c, rows[i].title, rows[i].key);
	}
	fputs("\nAll options of the training are in the metadata of the file "
	      "(`invar.options`).\n\n",
	      c.out);
	write_numbers(&c);
	write_limits(&c);
	write_loading(&c);
	json_decref(c.certificate);
	st = fclose(c.out) == 0 ? inv_file_save(path, text, bytes) : inv_no_memory();
	free(text);
	return st;
}

const inv_export_format inv_export_card = {
	.name = "card",
	.about = "a model card, README.md, as Hugging Face shows it",
	.file = "a model card of 'invar export'",
	.begins = "---\nlibrary_name: invar\n",
	.options = options,
	.save = save_card,
};
