/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_augment.c - invar augment: shows what a SPEC does to images, and applies it to
 * tensors.
 *
 * Image files become a contact sheet: each image as the encoder would see it, then
 * augmented copies with their parameters below. A NumPy file becomes a NumPy file, with
 * drawn or given parameters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "base/words.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "images/augment/augment.h"
#include "images/image.h"
#include "images/spec.h"
#include "report/sheet.h"

static const inv_example examples[] = {
	{"invar augment rotation photo.jpg -o sheet.png", "the image and seven rotated copies"},
	{"invar augment 'affine:fill=reflect+noise:std=0.2|id' a.png b.png -o sheet.svg",
     "a set: each sample is one of the two chains"},
	{"invar augment rotation:inside=1 photo.jpg -o sheet.png",
     "no empty corners: all show the centre of a larger image, the original too"},
	{"invar augment crop in.npy -o out.npy --params-out drawn.json",
     "tensors [n, c, h, w]; saves the drawn parameters"},
	{"invar augment crop in.npy -o out.npy --params drawn.json",
     "reproduces the same output"},
	{0},
};

static const inv_argument arguments[] = {
	{"SPEC",
     "an operation such as rotation:degrees=30 (`invar docs augmentations` lists them with "
     "their keys); a+b applies both in turn, a|b one of them",
     1, 1, INV_READS_NOTHING},
	{"IMAGE",
     "image files (JPEG, PNG, TIFF, WebP), or one NumPy file of tensors [n, c, h, w]", 1,
     INV_MANY, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE",
		"contact sheet (SVG if the name ends in .svg, else PNG), or NumPy file OUT.npy")},
	{INV_ROW(COUNT, "copies", "N", "Result", "augmented copies of each image on the sheet"),
     .initial = "7", .min = 1, .max = 1000},
	{INV_FORCE_ROW},
	{INV_ROW(TEXT, "params", "P.json", "Tensors",
             "use these parameters instead of drawing them")},
	{INV_ROW(TEXT, "params-out", "Q.json", "Tensors",
             "write the parameters that were used")},
	{0},
};

enum { LINES = 2, LINE = 120 }; /* caption and detail; the sheet cuts what is too wide */

/* ---- What is written below a picture ------------------------------------------------ */

/* The operations of a chain without their keys: "rotation+crop". */
static void chain_words(const char *spec, size_t chain, char *out, size_t size)
{
	size_t fill = 0;
	bool key = false;

	while (chain && *spec)
		chain -= *spec++ == '|';
	if (strpbrk(spec, "*|") && *strpbrk(spec, "*|") == '*')
		spec = strchr(spec, '*') + 1;
	for (; *spec && *spec != '|' && fill + 1 < size; spec++) {
		key = *spec == ':' || (key && *spec != '+');
		if (!key)
			out[fill++] = *spec;
	}
	out[fill] = '\0';
}

/* "3.rotation" -> its number; columns of operations in other chains say nothing. */
static bool is_of_chain(const char *spec, const char *column, size_t chain)
{
	size_t number = strchr(column, '.') ? strtoul(column, NULL, 10) : 0, at = 0;

	for (; *spec && number; spec++) {
		number -= *spec == '+' || *spec == '|';
		at += *spec == '|';
	}
	return at == chain;
}

/* How a column is written below an image; others are "name value". */
static const struct {
	const char *name, *format;
	bool quiet; /* nothing is said of 0 */
} spellings[] = {
	{"angle", "%.0f°", false},
	{"scale", "×%.2f", false},
	{"tx", "x%+.0f", true},
	{"ty", "y%+.0f", true},
	{"shear_x", "shear %.0f°", true},
	{"shear_y", "shear y %.0f°", true},
	{"x0", "at %.0f", false},
	{"y0", ",%.0f", false},
	{"w", "%.0f", false},
	{"h", "× %.0f", false},
	{"mean", "mean %.2g", true},
	{"factor", "×%.2f", false},
};

static void spell_column(const char *column, double value, char *out, size_t size)
{
	const char *dot = strchr(column, '.'), *name = dot ? dot + 1 : column;
	size_t fill = strlen(out);

	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		if (strcmp(name, spellings[i].name) != 0)
			continue;
		if (value == 0 && spellings[i].quiet)
			return;
		if (fill && *spellings[i].format != ',')
			fill += (size_t)snprintf(out + fill, size - fill, " ");
		snprintf(out + fill, size - fill, spellings[i].format, value);
		return;
	}
	snprintf(out + fill, size - fill, "%s%s %.3g", fill ? " " : "", name, value);
}

/* The chain that was drawn from a set, two numbers beside it and the others below. */
static void describe_copy(const invar_augment *a, const float *row, char text[LINES][LINE])
{
	const char *spec = inv_augment_spec(a);
	bool set = invar_augment_columns(a) && strcmp(inv_augment_column(a, 0), "chain") == 0;
	size_t chain = set ? (size_t)row[0] : 0, spelled = 0;

	if (set)
		chain_words(spec, chain, text[0], LINE);
	for (size_t i = set; i < invar_augment_columns(a); i++)
		if (!set || is_of_chain(spec, inv_augment_column(a, i), chain))
			spell_column(inv_augment_column(a, i), (double)row[i], text[spelled++ >= 2],
			             LINE);
}

/* ---- Sheets ----------------------------------------------------------------------- */

typedef struct augment_sheet {
	inv_sheet_cell *cells;
	char (*text)[LINES][LINE];
	size_t count;
} augment_sheet;

/* The text of the cell has been written. */
static invar_status add_sheet_tensor(inv_session *s, augment_sheet *h, const float *tensor,
                                     const uint64_t shape[4])
{
	uint8_t *rgb;

	INV_TRY(inv_tensor_to_image(s->ctx, tensor, shape, inv_text(s, "normalize"), &rgb));
	h->cells[h->count] = (inv_sheet_cell){.rgb = rgb,
	                                      .width = (uint32_t)shape[3],
	                                      .height = (uint32_t)shape[2],
	                                      .caption = h->text[h->count][0],
	                                      .detail = h->text[h->count][1]};
	h->count++;
	return INVAR_OK;
}

/* The size that is asked for is what is seen; inside=1 prepares more than that. */
static invar_status prepare_sheet_image(inv_session *s, const invar_augment *a,
                                        const char *path, float **x, uint64_t shape[4])
{
	uint32_t width, height;
	uint64_t needed[4], side;
	char *asked, *rest, number[32];
	uint8_t *rgb = NULL;
	invar_status st;

	INV_TRY(inv_new_text(&asked, inv_text(s, "size")));
	INV_TRY_OR(end, invar_image_read(s->ctx, path, &rgb, &width, &height));
	side = strtoull(asked, &rest, 10);
	if (side && !*rest) {
		INV_TRY_OR(end, inv_augment_prepared(a, (uint64_t[]){1, 3, side, side}, needed));
		snprintf(number, sizeof number, "%" PRIu64, needed[2]);
		INV_TRY_OR(end, invar_options_set(s->options, "size", number));
	}
	st = invar_image_to_tensor(s->ctx, rgb, width, height, s->options, x, shape);
end:
	invar_free(rgb);
	invar_options_set(s->options, "size", asked);
	inv_free(asked);
	return st;
}

/* Copies are numbered as in a bank, so that they look the same. */
static invar_status add_augmented_image(inv_session *s, const invar_augment *a,
                                        augment_sheet *h, size_t image)
{
	const char *path = s->argument[1 + image], *slash = strrchr(path, '/');
	const double copy = inv_number(s, "copy"), first = inv_number(s, "first");
	uint64_t shape[4], seen[4];
	float *x = NULL, *out = NULL, *params = NULL, *clean = NULL;
	invar_status st;

	INV_TRY_OR(end, prepare_sheet_image(s, a, path, &x, shape));
	INV_TRY_OR(end, inv_new_array(&clean, shape[1] * shape[2] * shape[3]));
	INV_TRY_OR(end, inv_augment_clean(a, x, shape, seen, clean));
	snprintf(h->text[h->count][0], LINE, "original");
	snprintf(h->text[h->count][1], LINE, "%.*s", LINE - 1, slash ? slash + 1 : path);
	INV_TRY_OR(end, add_sheet_tensor(s, h, clean, seen));

	INV_TRY_OR(end, invar_augment_result(a, shape, seen));
	INV_TRY_OR(end, inv_new_array(&out, seen[0] * seen[1] * seen[2] * seen[3] + 1));
	INV_TRY_OR(end, inv_new_array(&params, shape[0] * invar_augment_columns(a) + 1));
	INV_TRY_OR(end, invar_options_set_number(s->options, "first", first + (double)image));
	for (uint64_t k = 0; k < (uint64_t)inv_number(s, "copies"); k++) {
		INV_TRY_OR(end, invar_options_set_number(s->options, "copy", copy + (double)k));
		INV_TRY_OR(end, invar_augment_draw(a, s->options, shape, params));
		INV_TRY_OR(end, invar_augment_apply(a, s->options, x, shape, params, out));
		describe_copy(a, params, h->text[h->count]);
		INV_TRY_OR(end, add_sheet_tensor(s, h, out, seen));
	}
end:
	/* The next image starts with the same copy. */
	invar_options_set_number(s->options, "copy", copy);
	invar_options_set_number(s->options, "first", first);
	invar_free(x);
	inv_free(out);
	inv_free(params);
	inv_free(clean);
	return st;
}

static invar_status make_sheet(inv_session *s, invar_augment *a)
{
	const size_t images = s->arguments - 1, per_image = (size_t)inv_number(s, "copies") + 1;
	const size_t wanted = strlen(inv_augment_spec(a)) / 12 + 1;
	augment_sheet h = {0};
	size_t columns = 0;
	char below[200];
	invar_status st;

	if (inv_text(s, "params") || inv_text(s, "params-out"))
		return inv_fail(INVAR_E_USE, "--params and --params-out are for NumPy files");
	/* One row per image; a single image has as many rows as make its title readable. */
	if (images > 1)
		columns = per_image;
	else if (wanted > 4 && per_image > 4)
		columns = wanted < per_image ? wanted : per_image;

	INV_TRY(invar_augment_pixels(a, inv_text(s, "normalize")));
	INV_TRY_OR(end, inv_new_zeros(&h.cells, images * per_image));
	INV_TRY_OR(end, inv_new_zeros(&h.text, images * per_image));
	for (size_t i = 0; i < images; i++)
		INV_TRY_OR(end, add_augmented_image(s, a, &h, i));
	snprintf(below, sizeof below, "size %s, normalised by %s, seed %llu",
	         inv_text(s, "size"), inv_text(s, "normalize"),
	         (unsigned long long)inv_number(s, "seed"));
	st = inv_sheet_write(s->ctx, inv_text(s, "output"),
	                     &(inv_sheet){.title = inv_augment_spec(a),
	                                  .subtitle = below,
	                                  .cells = h.cells,
	                                  .count = h.count,
	                                  .columns = columns});
end:
	for (size_t i = 0; i < h.count; i++)
		invar_free((void *)(uintptr_t)h.cells[i].rgb);
	inv_free(h.cells);
	inv_free(h.text);
	return st;
}

/* ---- The command -------------------------------------------------------------------- */

static invar_status run_augment(inv_session *s)
{
	const char *output = inv_text(s, "output"), *params_out = inv_text(s, "params-out");
	const bool numpy = inv_ends_in(s->argument[1], ".npy");
	invar_augment *a = NULL;
	json_t *columns;
	invar_status st;

	if (!numpy && inv_ends_in(output, ".npy"))
		return inv_fail(INVAR_E_USE,
		                "%s: a contact sheet is SVG or PNG; the output is a NumPy file "
		                "only if the input is one",
		                output);
	if (numpy && s->arguments > 2)
		return inv_fail(INVAR_E_USE,
		                "unexpected argument '%s': only one NumPy file can be given",
		                s->argument[2]);
	if (params_out && strcmp(params_out, output) == 0)
		return inv_fail(INVAR_E_USE, "-o and --params-out are both %s; use two files",
		                output);
	INV_TRY(inv_check_output(s, &(inv_output){.option = "--params-out",
	                                          .path = params_out,
	                                          .endings = ".json",
	                                          .force = inv_flag(s, "force")}));

	INV_TRY(invar_augment_parse(s->ctx, s->argument[0], &a));
	if (!numpy) {
		INV_TRY_OR(end, make_sheet(s, a));
	} else {
		if (inv_options_is_set(s->options, "normalize"))
			INV_TRY_OR(end, invar_augment_pixels(a, inv_text(s, "normalize")));
		INV_TRY_OR(end, inv_augment_apply_file(a, s->options, s->argument[1],
		                                       inv_text(s, "params"), output, params_out));
	}
	if (s->json) {
		columns = json_array();
		for (size_t i = 0; i < invar_augment_columns(a); i++)
			json_array_append_new(columns, json_string(inv_augment_column(a, i)));
		st = inv_print_json(json_pack("{s:s, s:o, s:o}", "augment", inv_augment_spec(a),
		                              "columns", columns, "output", inv_json_path(output)));
	}
end:
	invar_augment_close(a);
	return st;
}

static const char *operation_name(size_t i, char out[INV_ITEM])
{
	const char *names = inv_augment_names();
	char word[INV_WORD];

	for (size_t k = 0; inv_next_word(&names, '|', word); k++)
		if (k == i) {
			snprintf(out, INV_ITEM, "%s", word);
			return out;
		}
	return NULL;
}

static const char *operation_sentence(size_t i, char out[INV_ITEM])
{
	char name[INV_ITEM];

	if (!operation_name(i, name))
		return NULL;
	snprintf(out, INV_ITEM, "%.60s: %s.", name, inv_augment_help(name));
	return out;
}

const inv_command inv_cmd_augment = {
	.name = "augment",
	.purpose = "applies an augmentation to images or tensors",
	.usage = "SPEC IMAGE… -o SHEET | SPEC IN.npy -o OUT.npy [options]",
	.about =
		"A SPEC is one operation with keys, such as rotation:degrees=10..30,p=0.5, a "
		"chain of operations joined by + (left first), or a set of chains separated "
		"by |, each with an optional weight: 3*rotation|id. docs/AUGMENTATIONS.md "
		"explains all operations and keys. Images are resized, normalised and then "
		"augmented, as in encoding, so that the sheet shows what an encoder would "
		"see. Tensors are used as they are; for operations that work on pixels, such as "
		"jpeg, --normalize says how they were normalised. Operations:",
	.items = operation_sentence,
	.examples = examples,
	.arguments = arguments,
	.starts = operation_name,
	.options = "augment",
	.own = own,
	.reads = "params",
	.output = INV_OUTPUT_FILE,
	.endings = ".npy|.png|.svg",
	.needs_output = true,
	.is_timed = true,
	.run = run_augment,
};
