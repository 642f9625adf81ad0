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

#include "base/options.h"
#include "base/words.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/term.h"
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
     1, 1},
	{"IMAGE",
     "image files (JPEG, PNG, TIFF, WebP), or one NumPy file of tensors [n, c, h, w]", 1,
     INV_MANY},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW(
		"FILE",
		"contact sheet (SVG if the name ends in .svg, else PNG), or NumPy file OUT.npy")},
	{.name = "copies",
     .type = INVAR_OPTION_COUNT,
     .initial = "7",
     .min = 1,
     .max = 1000,
     .meta = "N",
     .group = "Result",
     .help = "augmented copies of each image on the sheet"},
	{INV_FORCE_ROW},
	{.name = "params",
     .type = INVAR_OPTION_TEXT,
     .meta = "P.json",
     .group = "Tensors",
     .help = "use these parameters instead of drawing them"},
	{.name = "params-out",
     .type = INVAR_OPTION_TEXT,
     .meta = "Q.json",
     .group = "Tensors",
     .help = "write the parameters that were used"},
	{0},
};

/* ---- Tensors ---------------------------------------------------------------------- */

static invar_status run_tensors(inv_session *s, invar_augment *a)
{
	invar_status st = INVAR_OK;

	if (s->arguments > 2)
		return inv_fail(INVAR_E_USE,
		                "unexpected argument '%s': only one NumPy file can be given",
		                s->argument[2]);
	if (inv_options_is_set(s->options, "normalize"))
		st = invar_augment_pixels(a, inv_text(s, "normalize"));
	return st == INVAR_OK
	           ? inv_augment_apply_file(a, s->options, s->argument[1],
	                                    inv_text(s, "params"), inv_text(s, "output"),
	                                    inv_text(s, "params-out"))
	           : st;
}

/* ---- Sheets ----------------------------------------------------------------------- */

enum { LINES = 2, LINE = 120 }; /* caption and detail; the sheet cuts what is too wide */

typedef struct sheet {
	inv_sheet_cell *cells;
	char (*text)[LINES][LINE];
	size_t count, capacity;
} sheet;

static invar_status sheet_make(sheet *h, size_t capacity)
{
	h->capacity = capacity;
	h->cells = calloc(capacity, sizeof *h->cells);
	h->text = calloc(capacity, sizeof *h->text);
	return h->cells && h->text ? INVAR_OK : inv_no_memory();
}

static void sheet_free(sheet *h)
{
	for (size_t i = 0; i < h->count; i++)
		invar_free((void *)(uintptr_t)h->cells[i].rgb);
	free(h->cells);
	free(h->text);
}

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
static bool belongs(const char *spec, const char *column, size_t chain)
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

static void spell(const char *column, double value, char *out, size_t size)
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
static void describe(const invar_augment *a, const float *row, char text[LINES][LINE])
{
	const char *spec = inv_augment_spec(a);
	bool set = invar_augment_columns(a) && strcmp(inv_augment_column(a, 0), "chain") == 0;
	size_t chain = set ? (size_t)row[0] : 0, said = 0;

	if (set)
		chain_words(spec, chain, text[0], LINE);
	for (size_t i = set; i < invar_augment_columns(a); i++)
		if (!set || belongs(spec, inv_augment_column(a, i), chain))
			spell(inv_augment_column(a, i), (double)row[i], text[said++ >= 2], LINE);
}

static invar_status add_cell(inv_session *s, sheet *h, const float *tensor,
                             const uint64_t shape[4])
{
	inv_sheet_cell *cell = &h->cells[h->count];
	uint8_t *rgb;
	invar_status st =
		inv_tensor_to_image(s->ctx, tensor, shape, inv_text(s, "normalize"), &rgb);

	if (st != INVAR_OK)
		return st;
	*cell = (inv_sheet_cell){.rgb = rgb,
	                         .width = (uint32_t)shape[3],
	                         .height = (uint32_t)shape[2],
	                         .caption = h->text[h->count][0],
	                         .detail = h->text[h->count][1]};
	h->count++;
	return INVAR_OK;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

typedef struct tensors {
	uint64_t shape[4], result[4];
	float *x, *out, *params;
} tensors;

static invar_status make_room(const invar_augment *a, tensors *t)
{
	invar_status st = invar_augment_result(a, t->shape, t->result);

	if (st != INVAR_OK)
		return st;
	t->out = malloc(
		t->result[0] * t->result[1] * t->result[2] * t->result[3] * sizeof *t->out + 1);
	t->params = malloc(t->shape[0] * invar_augment_columns(a) * sizeof *t->params + 1);
	return t->out && t->params ? INVAR_OK : inv_no_memory();
}

/* Copy k of the image, so that a bank's copies look the same. */
static invar_status add_copy(inv_session *s, const invar_augment *a, sheet *h,
                             const tensors *t, uint64_t k)
{
	invar_status st = invar_options_set_number(s->options, "copy", (double)k);

	if (st == INVAR_OK)
		st = invar_augment_draw(a, s->options, t->shape, t->params);
	if (st == INVAR_OK)
		st = invar_augment_apply(a, s->options, t->x, t->shape, t->params, t->out);
	if (st != INVAR_OK)
		return st;
	describe(a, t->params, h->text[h->count]);
	return add_cell(s, h, t->out, t->result);
}

/* The size that is asked for is what is seen; inside=1 prepares more than that. */
static invar_status prepare(inv_session *s, const invar_augment *a, const uint8_t *rgb,
                            uint32_t width, uint32_t height, tensors *t)
{
	char *asked = strdup(inv_text(s, "size")), *end = asked, number[32];
	uint64_t side = asked ? strtoull(asked, &end, 10) : 0;
	uint64_t seen[4] = {1, 3, side, side}, needed[4];
	invar_status st = asked ? INVAR_OK : inv_no_memory();

	if (st == INVAR_OK && side && !*end) {
		if ((st = inv_augment_prepared(a, seen, needed)) == INVAR_OK) {
			snprintf(number, sizeof number, "%" PRIu64, needed[2]);
			st = invar_options_set(s->options, "size", number);
		}
	}
	if (st == INVAR_OK)
		st = invar_image_to_tensor(s->ctx, rgb, width, height, s->options, &t->x, t->shape);
	if (asked)
		invar_options_set(s->options, "size", asked);
	free(asked);
	return st;
}

static invar_status add_original(inv_session *s, const invar_augment *a, sheet *h,
                                 const tensors *t, const char *path)
{
	uint64_t clean[4];
	float *seen = malloc(t->shape[1] * t->shape[2] * t->shape[3] * sizeof *seen);
	invar_status st =
		seen ? inv_augment_clean(a, t->x, t->shape, clean, seen) : inv_no_memory();

	snprintf(h->text[h->count][0], sizeof h->text[0][0], "original");
	snprintf(h->text[h->count][1], sizeof h->text[0][1], "%.*s", LINE - 1, name_of(path));
	if (st == INVAR_OK)
		st = add_cell(s, h, seen, clean);
	free(seen);
	return st;
}

static invar_status add_copies(inv_session *s, const invar_augment *a, sheet *h,
                               size_t image)
{
	tensors t = {0};
	uint32_t width, height;
	double copy = inv_number(s, "copy"), first = inv_number(s, "first");
	const char *path = s->argument[1 + image];
	uint8_t *rgb;
	invar_status st = invar_image_read(s->ctx, path, &rgb, &width, &height);

	if (st == INVAR_OK)
		st = prepare(s, a, rgb, width, height, &t);
	invar_free(rgb);
	if (st == INVAR_OK)
		st = make_room(a, &t);
	if (st == INVAR_OK)
		st = add_original(s, a, h, &t, path);
	if (st == INVAR_OK)
		st = invar_options_set_number(s->options, "first", first + (double)image);
	for (uint64_t k = 0; k < (uint64_t)inv_number(s, "copies") && st == INVAR_OK; k++)
		st = add_copy(s, a, h, &t, (uint64_t)copy + k);
	/* The next image starts with the same copy. */
	invar_options_set_number(s->options, "copy", copy);
	invar_options_set_number(s->options, "first", first);
	invar_free(t.x);
	free(t.out);
	free(t.params);
	return st;
}

/* One row per image; a single image has as many rows as make its title readable. */
static size_t columns_of(const inv_session *s, const char *title)
{
	size_t wanted = strlen(title) / 12 + 1,
		   max_columns = (size_t)inv_number(s, "copies") + 1;

	if (s->arguments > 2)
		return max_columns;
	return wanted > 4 && max_columns > 4 ? (wanted < max_columns ? wanted : max_columns)
	                                     : 0;
}

static invar_status write_sheet(inv_session *s, const invar_augment *a, const sheet *h)
{
	char below[200];
	inv_sheet page = {.title = inv_augment_spec(a),
	                  .subtitle = below,
	                  .cells = h->cells,
	                  .count = h->count,
	                  .columns = columns_of(s, inv_augment_spec(a))};

	snprintf(below, sizeof below, "size %s, normalised by %s, seed %llu",
	         inv_text(s, "size"), inv_text(s, "normalize"),
	         (unsigned long long)inv_number(s, "seed"));
	return inv_sheet_write(s->ctx, inv_text(s, "output"), &page);
}

static invar_status run_sheet(inv_session *s, invar_augment *a)
{
	size_t images = s->arguments - 1;
	sheet h = {0};
	invar_status st = invar_augment_pixels(a, inv_text(s, "normalize"));

	if (inv_text(s, "params") || inv_text(s, "params-out"))
		return inv_fail(INVAR_E_USE, "--params and --params-out are for NumPy files");
	if (st == INVAR_OK)
		st = sheet_make(&h, images * ((size_t)inv_number(s, "copies") + 1));
	for (size_t i = 0; i < images && st == INVAR_OK; i++)
		st = add_copies(s, a, &h, i);
	if (st == INVAR_OK)
		st = write_sheet(s, a, &h);
	sheet_free(&h);
	return st;
}

/* ---- The command -------------------------------------------------------------------- */

static bool is_numpy(const char *path)
{
	size_t length = strlen(path);

	return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

static invar_status check_outputs(inv_session *s, bool numpy)
{
	const char *output = inv_text(s, "output"), *params_out = inv_text(s, "params-out");
	const inv_output result = {.option = "-o",
	                           .path = output,
	                           .kind = numpy ? &inv_kind_npy : inv_sheet_kind(output),
	                           .force = inv_flag(s, "force")};
	const inv_output params = {.option = "--params-out",
	                           .path = params_out,
	                           .kind = &inv_kind_params,
	                           .force = inv_flag(s, "force")};
	invar_status st;

	if (!numpy && is_numpy(output))
		return inv_fail(INVAR_E_USE,
		                "%s: a contact sheet is SVG or PNG; the output is a NumPy file "
		                "only if the input is one",
		                output);
	if (params_out && strcmp(params_out, output) == 0)
		return inv_fail(INVAR_E_USE, "-o and --params-out are both %s; use two files",
		                output);
	for (size_t i = 1; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "the images");
	inv_reads(s, inv_text(s, "params"), "the parameters");
	if ((st = inv_check_output(s, &result)) == INVAR_OK)
		st = inv_check_output(s, &params);
	return st;
}

static invar_status print_json(inv_session *s, const invar_augment *a)
{
	json_t *columns = json_array();

	for (size_t i = 0; i < invar_augment_columns(a); i++)
		json_array_append_new(columns, json_string(inv_augment_column(a, i)));
	return inv_print_json(json_pack("{s:s, s:o, s:o}", "augment", inv_augment_spec(a),
	                                "columns", columns, "output",
	                                inv_name_json(inv_text(s, "output"))));
}

static invar_status run_augment(inv_session *s)
{
	bool numpy = is_numpy(s->argument[1]);
	invar_augment *a = NULL;
	invar_status st;

	if ((st = inv_need(inv_text(s, "output"),
	                   numpy ? "the output file is missing: -o OUT.npy"
	                         : "the output file is missing: -o SHEET")) != INVAR_OK ||
	    (st = inv_session_start(s)) != INVAR_OK ||
	    (st = invar_augment_parse(s->ctx, s->argument[0], &a)) != INVAR_OK)
		return st;
	if ((st = check_outputs(s, numpy)) == INVAR_OK)
		st = numpy ? run_tensors(s, a) : run_sheet(s, a);
	if (st == INVAR_OK && s->common->json)
		st = print_json(s, a);
	invar_augment_close(a);
	if (st == INVAR_OK)
		inv_term_close(s->term);
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
	.run = run_augment,
};
