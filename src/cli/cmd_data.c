/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_data.c - invar data: what is in a data set, before anything is done with it.
 *
 * Splits with their counts and sizes, classes with their counts in each split, and
 * a contact sheet with the first images of every class.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/help.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "images/dataset.h"
#include "report/sheet.h"
#include "report/table.h"

enum { SHEET_PICTURES = 120, MAX_EACH = 8, WIDE = 10, UNLABELLED = 60 };

static const inv_example examples[] = {
	{"invar data folder:photos", "splits, sizes and classes of a folder of image files"},
	{"invar data stl10:stl10_binary --sheet stl10.png",
     "also draws a contact sheet with the first images of each class"},
	{"invar data fashion-mnist: --json", "Debian's copy of Fashion-MNIST, as JSON"},
	{"invar data folder:photos --check --skip-broken",
     "decodes every image and lists the broken ones"},
	{0},
};

static const inv_argument arguments[] = {
	{"DATASET", "a folder of images", 1, 1},
	{0},
};

static const invar_option own[] = {
	{.name = "sheet",
     .type = INVAR_OPTION_TEXT,
     .meta = "FILE",
     .group = "Result",
     .help = "draw a contact sheet; SVG if the name ends in .svg, else PNG"},
	{.name = "each",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 100,
     .meta = "N",
     .group = "Result",
     .help = "images of each class on the sheet; 0: as many as fit well"},
	{.name = "check",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "decode every image instead of reading its header"},
	{.name = "force",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "let the sheet replace a file of another kind or be created among the images; "
             "never an input file"},
	{0},
};

/* ---- What there is ---------------------------------------------------------------- */

typedef struct split {
	const char *name;
	uint64_t count;
	int has_labels;
	int64_t *labels;        /* [count] */
	uint64_t *class_counts; /* [classes] */
	invar_figures *survey;
} split;

typedef struct contents {
	const char *text;
	invar_dataset *dataset;
	size_t classes, splits;
	split *split;
} contents;

static void free_contents(contents *c)
{
	for (size_t i = 0; c->split && i < c->splits; i++) {
		free(c->split[i].labels);
		free(c->split[i].class_counts);
		invar_figures_free(c->split[i].survey);
	}
	free(c->split);
	invar_dataset_close(c->dataset);
}

static invar_status look_into(inv_session *s, const contents *c, split *p)
{
	invar_status st;

	p->count = inv_dataset_count(c->dataset, p->name);
	p->has_labels = inv_dataset_has_labels(c->dataset, p->name);
	p->labels = malloc(p->count * sizeof *p->labels + 1);
	p->class_counts = calloc(c->classes + 1, sizeof *p->class_counts);
	if (!p->labels || !p->class_counts)
		return inv_no_memory();
	if ((st = inv_dataset_labels(c->dataset, p->name, p->labels)) != INVAR_OK)
		return st;
	for (uint64_t i = 0; i < p->count; i++)
		if (p->labels[i] >= 0)
			p->class_counts[p->labels[i]]++;
	return inv_dataset_survey(c->dataset, p->name, inv_flag(s, "check"), &p->survey);
}

static invar_status look(inv_session *s, contents *c)
{
	invar_status st = invar_dataset_open(s->ctx, c->text, s->options, &c->dataset);

	if (st != INVAR_OK)
		return st;
	c->classes = inv_dataset_classes(c->dataset);
	c->splits = inv_dataset_splits(c->dataset);
	c->split = calloc(c->splits, sizeof *c->split);
	if (!c->split)
		return inv_no_memory();
	for (size_t i = 0; i < c->splits && st == INVAR_OK; i++) {
		c->split[i].name = inv_dataset_split_name(c->dataset, i);
		st = look_into(s, c, &c->split[i]);
	}
	return st;
}

/* ---- For people ------------------------------------------------------------------- */

enum { SIZE_TEXT = 64 };

static const char *range(char *text, size_t size, uint64_t low, uint64_t high)
{
	if (low == high)
		snprintf(text, size, "%" PRIu64, low);
	else
		snprintf(text, size, "%" PRIu64 "–%" PRIu64, low, high);
	return text;
}

static uint64_t surveyed(const split *p, const char *figure)
{
	return (uint64_t)invar_figure(p->survey, figure);
}

static const char *size_text(const split *p, char text[SIZE_TEXT])
{
	char width[SIZE_TEXT / 2 - 4], height[SIZE_TEXT / 2 - 4];

	if (surveyed(p, "count") == surveyed(p, "broken"))
		return "–";
	snprintf(
		text, SIZE_TEXT, "%s × %s",
		range(width, sizeof width, surveyed(p, "min-width"), surveyed(p, "max-width")),
		range(height, sizeof height, surveyed(p, "min-height"), surveyed(p, "max-height")));
	return text;
}

static uint64_t count_broken(const contents *c)
{
	uint64_t broken = 0;

	for (size_t i = 0; i < c->splits; i++)
		broken += surveyed(&c->split[i], "broken");
	return broken;
}

static bool print_splits(const contents *c)
{
	bool broken = count_broken(c) > 0, written;
	inv_table *t = inv_table_new(broken ? 5 : 4);
	char size[SIZE_TEXT];

	if (!t)
		return false;
	inv_table_cell(t, "split");
	inv_table_cell(t, "images");
	if (broken)
		inv_table_cell(t, "broken");
	inv_table_cell(t, "labels");
	inv_table_cell(t, "width × height");
	for (size_t i = 0; i < c->splits; i++) {
		const split *p = &c->split[i];

		inv_table_cell(t, "%s", p->name);
		inv_table_count(t, p->count);
		if (broken)
			inv_table_count(t, surveyed(p, "broken"));
		inv_table_cell(t, "%s", p->has_labels ? "yes" : "no");
		inv_table_cell(t, "%s", size_text(p, size));
	}
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written;
}

static void class_cell(inv_table *t, const invar_dataset *d, size_t k)
{
	const char *name = inv_dataset_class(d, k), *title = inv_dataset_class_title(d, k);

	if (strcmp(name, title) == 0)
		inv_table_cell(t, "%s", name);
	else
		inv_table_cell(t, "%s %s", name, title);
}

static bool print_classes(const contents *c)
{
	inv_table *t;
	size_t labelled = 0;
	bool written;

	for (size_t i = 0; i < c->splits; i++)
		labelled += c->split[i].has_labels != 0;
	if (!labelled || !c->classes)
		return true;
	if (!(t = inv_table_new(1 + labelled)))
		return false;
	inv_table_cell(t, "class");
	for (size_t i = 0; i < c->splits; i++)
		if (c->split[i].has_labels)
			inv_table_cell(t, "%s", c->split[i].name);
	for (size_t k = 0; k < c->classes; k++) {
		class_cell(t, c->dataset, k);
		for (size_t i = 0; i < c->splits; i++)
			if (c->split[i].has_labels)
				inv_table_count(t, c->split[i].class_counts[k]);
	}
	putchar('\n');
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written;
}

static bool is_open(const contents *c, const char *name)
{
	for (size_t i = 0; i < c->splits; i++)
		if (strcmp(c->split[i].name, name) == 0)
			return true;
	return false;
}

/* Splits that were not selected, such as folds, which must be named. */
static void print_others(const contents *c)
{
	const char *name;
	bool any = false;

	for (size_t i = 0; (name = inv_dataset_offered(c->dataset, i)); i++)
		if (!is_open(c, name)) {
			printf("%s %s", any ? "," : "also there, by --split:", name);
			any = true;
		}
	if (any)
		printf("\n\n");
}

static invar_status print_contents(const contents *c)
{
	print_others(c);
	return print_splits(c) && print_classes(c) ? INVAR_OK : inv_no_memory();
}

/* ---- For programs ----------------------------------------------------------------- */

static json_t *classes_json(const contents *c)
{
	json_t *all = json_array();

	for (size_t k = 0; k < c->classes; k++)
		json_array_append_new(
			all,
			json_pack("{s:o, s:o}", "name", inv_name_json(inv_dataset_class(c->dataset, k)),
		              "title", inv_name_json(inv_dataset_class_title(c->dataset, k))));
	return all;
}

static json_t *split_json(const contents *c, const split *p)
{
	json_t *counts = p->has_labels ? json_array() : json_null();

	for (size_t k = 0; p->has_labels && k < c->classes; k++)
		json_array_append_new(counts, json_integer((json_int_t)p->class_counts[k]));
	return json_pack("{s:o, s:I, s:I, s:b, s:[I, I], s:[I, I], s:o}", "name",
	                 inv_name_json(p->name), "images", (json_int_t)p->count, "broken",
	                 (json_int_t)surveyed(p, "broken"), "labels", p->has_labels, "width",
	                 (json_int_t)surveyed(p, "min-width"),
	                 (json_int_t)surveyed(p, "max-width"), "height",
	                 (json_int_t)surveyed(p, "min-height"),
	                 (json_int_t)surveyed(p, "max-height"), "class_counts", counts);
}

static json_t *contents_json(const contents *c)
{
	json_t *splits = json_array(), *there = json_array();
	const char *name;

	for (size_t i = 0; i < c->splits; i++)
		json_array_append_new(splits, split_json(c, &c->split[i]));
	for (size_t i = 0; (name = inv_dataset_offered(c->dataset, i)); i++)
		json_array_append_new(there, inv_name_json(name));
	return json_pack("{s:o, s:o, s:o, s:o}", "dataset", inv_name_json(c->text), "splits",
	                 splits, "splits_there", there, "classes", classes_json(c));
}

/* ---- The contact sheet ------------------------------------------------------------ */

typedef struct gallery {
	inv_sheet_cell *cell;
	size_t count;
} gallery;

static void free_gallery(gallery *g)
{
	for (size_t i = 0; g->cell && i < g->count; i++) {
		free((void *)(uintptr_t)g->cell[i].rgb);
		free((void *)(uintptr_t)g->cell[i].detail);
	}
	free(g->cell);
}

/* The first split with labels, else the first one. */
static const split *shown_split(const contents *c)
{
	for (size_t i = 0; i < c->splits; i++)
		if (c->split[i].has_labels)
			return &c->split[i];
	return &c->split[0];
}

/* A broken image leaves an empty cell; the survey has already named it. */
static invar_status add_cell(inv_session *s, const contents *c, const split *p,
                             uint64_t row, inv_sheet_cell *cell)
{
	uint8_t *rgb = NULL;
	char *detail = NULL;
	invar_status st =
		inv_dataset_read(c->dataset, p->name, row, &rgb, &cell->width, &cell->height);

	if (st == INVAR_E_FORMAT && inv_flag(s, "skip-broken"))
		return INVAR_OK;
	if (st != INVAR_OK)
		return st;
	cell->rgb = inv_sheet_thumbnail(rgb, &cell->width, &cell->height);
	invar_free(rgb);
	if (!cell->rgb || asprintf(&detail, "%s %" PRIu64, p->name, row) < 0)
		return inv_no_memory();
	cell->detail = detail;
	if (p->labels[row] >= 0)
		cell->caption = inv_dataset_class_title(c->dataset, (size_t)p->labels[row]);
	return INVAR_OK;
}

/* `each` places for every class, filled with its first images. */
static invar_status fill_by_class(inv_session *s, const contents *c, const split *p,
                                  size_t classes, size_t each, gallery *g)
{
	size_t *added = calloc(classes, sizeof *added);
	invar_status st = added ? INVAR_OK : inv_no_memory();

	for (uint64_t row = 0; row < p->count && st == INVAR_OK; row++) {
		int64_t k = p->labels[row];

		if (k < 0 || (uint64_t)k >= classes || added[k] == each)
			continue;
		st = add_cell(s, c, p, row, &g->cell[(size_t)k * each + added[k]++]);
	}
	free(added);
	return st;
}

static invar_status fill_in_order(inv_session *s, const contents *c, const split *p,
                                  gallery *g)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < g->count && st == INVAR_OK; i++)
		st = add_cell(s, c, p, i, &g->cell[i]);
	return st;
}

static size_t choose_each(const inv_session *s, size_t classes)
{
	size_t asked = (size_t)inv_number(s, "each");
	size_t each = asked ? asked : SHEET_PICTURES / (classes ? classes : 1);

	return each < 1 ? 1 : !asked && each > MAX_EACH ? MAX_EACH : each;
}

static invar_status write_sheet(inv_session *s, const contents *c, const gallery *g,
                                const char *subtitle, size_t columns)
{
	const inv_sheet sheet = {.title = c->text,
	                         .subtitle = subtitle,
	                         .cells = g->cell,
	                         .count = g->count,
	                         .columns = columns};

	return inv_sheet_write(s->ctx, inv_text(s, "sheet"), &sheet);
}

static invar_status draw_sheet(inv_session *s, const contents *c)
{
	const split *p = shown_split(c);
	size_t each = p->has_labels ? choose_each(s, c->classes) : 1;
	size_t classes = c->classes < SHEET_PICTURES ? c->classes : SHEET_PICTURES;
	size_t in_order = p->count < UNLABELLED ? p->count : UNLABELLED;
	gallery g = {.count = p->has_labels ? classes * each : in_order};
	size_t columns = each * (WIDE / each > 1 ? WIDE / each : 1);
	char subtitle[160];
	invar_status st;
	int used;

	used = snprintf(subtitle, sizeof subtitle, "%s: %" PRIu64 " %s", p->name, p->count,
	                inv_noun(p->count, "image", "images"));
	if (p->has_labels && used > 0 && (size_t)used < sizeof subtitle)
		snprintf(subtitle + used, sizeof subtitle - (size_t)used, " of %zu %s%s",
		         c->classes, inv_noun(c->classes, "class", "classes"),
		         classes < c->classes ? ", first ones shown" : "");
	g.cell = calloc(g.count + 1, sizeof *g.cell);
	if (!g.cell)
		return inv_no_memory();
	st = p->has_labels ? fill_by_class(s, c, p, classes, each, &g)
	                   : fill_in_order(s, c, p, &g);
	if (st == INVAR_OK)
		st = write_sheet(s, c, &g, subtitle, columns < g.count ? columns : g.count);
	free_gallery(&g);
	return st;
}

/* ---- The command ------------------------------------------------------------------ */

static invar_status check_sheet(inv_session *s, const char *sheet)
{
	inv_reads_dataset(s, s->argument[0]);
	inv_reads(s, inv_text(s, "classes"), "the list of classes");
	return inv_check_output(s, &(inv_output){.option = "--sheet",
	                                         .path = sheet,
	                                         .kind = inv_sheet_kind(sheet),
	                                         .force = inv_flag(s, "force")});
}

static invar_status run_data(inv_session *s)
{
	const char *sheet = inv_text(s, "sheet");
	contents c = {.text = s->argument[0]};
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK && sheet)
		st = check_sheet(s, sheet);
	if (st == INVAR_OK)
		st = look(s, &c);
	if (st == INVAR_OK && sheet)
		st = draw_sheet(s, &c);
	inv_term_clear(s->term);
	if (st == INVAR_OK)
		st = s->common->json ? inv_print_json(contents_json(&c)) : print_contents(&c);
	free_contents(&c);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

static const char *kind_sentence(size_t i, char out[INV_ITEM])
{
	const char *about, *kind = inv_dataset_kind_about(i, NULL, &about);

	if (!kind)
		return NULL;
	snprintf(out, INV_ITEM, "%s: %s.", kind, about);
	return out;
}

const inv_command inv_cmd_data = {
	.name = "data",
	.purpose = "shows what is in a data set of images",
	.usage = "DATASET [options]",
	.about =
		"Counts the images per split and class, and reads the smallest and largest "
		"width and height from file headers. A folder has one sub-folder per class, "
		"or images without labels; its splits are the sub-folders train, val, test "
		"and unlabeled, or --holdout splits test from train. Images are JPEG, PNG, "
		"TIFF or WebP; "
		"grey images get three equal channels, alpha is dropped, EXIF orientation is "
		"applied. A NumPy array of images is [n, h, w], [n, h, w, 3] or [n, 3, h, w], "
		"uint8, or float from 0 to 1. The first line of a CSV file names its columns: "
		"path, "
		"relative to the file, and, if there, label and split. Images in tar files "
		"are read in place; their "
		"labels are in .cls files beside them, as WebDataset has them, or are their "
		"folders; their splits are "
		"folders, or the beginnings of the names of tar files (train-0.tar). tar: "
		"takes a list "
		"separated by commas, and patterns. Links in tar files are images and labels "
		"of their own, as after extraction, and the last of several members of one "
		"path counts; a link to nothing in its tar file is a broken image, and links to "
		"folders and members outside (../) are skipped with a warning. Of 16 bits per "
		"sample the upper 8 are "
		"used; of several pages or frames the "
		"first. An image that cannot be read is an error, or is "
		"listed and counted with --skip-broken. Kinds of data sets:",
	.items = kind_sentence,
	.examples = examples,
	.arguments = arguments,
	.places = inv_dataset_item,
	.options = "data",
	.own = own,
	.without = "seed",
	.run = run_data,
};
