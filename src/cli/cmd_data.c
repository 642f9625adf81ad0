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

#include "base/json.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/help.h"
#include "cli/term.h"
#include "images/dataset.h"
#include "report/sheet.h"

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
	{"DATASET", "a folder of images", 1, 1, INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "sheet", "FILE", "Result",
             "draw a contact sheet; SVG if the name ends in .svg, else PNG")},
	{INV_ROW(COUNT, "each", "N", "Result",
             "images of each class on the sheet; 0: as many as fit well"),
     .initial = "0", .max = 100},
	{INV_FLAG_ROW("check", "Result", "decode every image instead of reading its header")},
	{INV_FORCE_ROW},
	{0},
};

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

static invar_status read_dataset(inv_session *s, contents *c)
{
	INV_TRY(invar_dataset_open(s->ctx, c->text, s->options, &c->dataset));
	c->classes = inv_dataset_classes(c->dataset);
	c->splits = inv_dataset_splits(c->dataset);
	INV_TRY(inv_new_zeros(&c->split, c->splits));
	for (size_t i = 0; i < c->splits; i++) {
		split *p = &c->split[i];

		p->name = inv_dataset_split_name(c->dataset, i);
		p->count = inv_dataset_count(c->dataset, p->name);
		p->has_labels = inv_dataset_has_labels(c->dataset, p->name);
		INV_TRY(inv_new_array(&p->labels, p->count + 1));
		INV_TRY(inv_new_zeros(&p->class_counts, c->classes + 1));
		INV_TRY(inv_dataset_labels(c->dataset, p->name, p->labels));
		for (uint64_t row = 0; row < p->count; row++)
			if (p->labels[row] >= 0)
				p->class_counts[p->labels[row]]++;
		INV_TRY(inv_dataset_survey(c->dataset, p->name, inv_flag(s, "check"), &p->survey));
	}
	return INVAR_OK;
}

enum { SIZE_TEXT = 64 };

static const char *range(char text[SIZE_TEXT], uint64_t low, uint64_t high)
{
	if (low == high)
		snprintf(text, SIZE_TEXT, "%" PRIu64, low);
	else
		snprintf(text, SIZE_TEXT, "%" PRIu64 "–%" PRIu64, low, high);
	return text;
}

static uint64_t surveyed(const split *p, const char *figure)
{
	return (uint64_t)invar_figure(p->survey, figure);
}

static invar_status print_splits(const contents *c)
{
	uint64_t broken = 0;
	char width[SIZE_TEXT], height[SIZE_TEXT];
	inv_table *t;

	for (size_t i = 0; i < c->splits; i++)
		broken += surveyed(&c->split[i], "broken");
	if (!(t = inv_table_new(broken ? 5 : 4)))
		return inv_no_memory();
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
		if (surveyed(p, "count") == surveyed(p, "broken"))
			inv_table_cell(t, "–");
		else
			inv_table_cell(
				t, "%s × %s",
				range(width, surveyed(p, "min-width"), surveyed(p, "max-width")),
				range(height, surveyed(p, "min-height"), surveyed(p, "max-height")));
	}
	return inv_put_table(t, "text", stdout);
}

static invar_status print_classes(const contents *c)
{
	inv_table *t;
	size_t labelled = 0;

	for (size_t i = 0; i < c->splits; i++)
		labelled += c->split[i].has_labels != 0;
	if (!labelled || !c->classes)
		return INVAR_OK;
	if (!(t = inv_table_new(1 + labelled)))
		return inv_no_memory();
	inv_table_cell(t, "class");
	for (size_t i = 0; i < c->splits; i++)
		if (c->split[i].has_labels)
			inv_table_cell(t, "%s", c->split[i].name);
	for (size_t k = 0; k < c->classes; k++) {
		const char *name = inv_dataset_class(c->dataset, k);
		const char *title = inv_dataset_class_title(c->dataset, k);
		bool differ = strcmp(name, title) != 0;

		inv_table_cell(t, "%s%s%s", name, differ ? " " : "", differ ? title : "");
		for (size_t i = 0; i < c->splits; i++)
			if (c->split[i].has_labels)
				inv_table_count(t, c->split[i].class_counts[k]);
	}
	putchar('\n');
	return inv_put_table(t, "text", stdout);
}

static json_t *dataset_json(const contents *c)
{
	json_t *splits = json_array(), *there = json_array(), *classes = json_array();
	const char *name;

	for (size_t i = 0; i < c->splits; i++) {
		const split *p = &c->split[i];
		json_t *counts = p->has_labels ? json_array() : json_null();

		for (size_t k = 0; p->has_labels && k < c->classes; k++)
			json_array_append_new(counts, json_integer((json_int_t)p->class_counts[k]));
		json_array_append_new(
			splits,
			json_pack("{s:o, s:I, s:I, s:b, s:[I, I], s:[I, I], s:o}", "name",
		              inv_json_path(p->name), "images", (json_int_t)p->count, "broken",
		              (json_int_t)surveyed(p, "broken"), "labels", p->has_labels, "width",
		              (json_int_t)surveyed(p, "min-width"),
		              (json_int_t)surveyed(p, "max-width"), "height",
		              (json_int_t)surveyed(p, "min-height"),
		              (json_int_t)surveyed(p, "max-height"), "class_counts", counts));
	}
	for (size_t i = 0; (name = inv_dataset_offered(c->dataset, i)); i++)
		json_array_append_new(there, inv_json_path(name));
	for (size_t k = 0; k < c->classes; k++)
		json_array_append_new(
			classes,
			json_pack("{s:o, s:o}", "name", inv_json_path(inv_dataset_class(c->dataset, k)),
		              "title", inv_json_path(inv_dataset_class_title(c->dataset, k))));
	return json_pack("{s:o, s:o, s:o, s:o}", "dataset", inv_json_path(c->text), "splits",
	                 splits, "splits_there", there, "classes", classes);
}

/*
 * `each` places for every class, filled with its first images; without classes in order. A
 * broken image leaves an empty cell; the survey has already named it.
 */
static invar_status fill_cells(inv_session *s, const contents *c, const split *p,
                               size_t classes, size_t each, inv_sheet_cell *cells,
                               size_t count)
{
	size_t *added = NULL;
	invar_status st;

	INV_TRY(inv_new_zeros(&added, classes + 1));
	for (uint64_t row = 0; row < p->count; row++) {
		int64_t k = p->labels[row];
		inv_sheet_cell *cell;
		uint8_t *rgb = NULL;
		char *detail = NULL;

		if (!p->has_labels && row == count)
			break;
		if (p->has_labels && (k < 0 || (uint64_t)k >= classes || added[k] == each))
			continue;
		cell = &cells[p->has_labels ? (size_t)k * each + added[k]++ : row];
		st = inv_dataset_read(c->dataset, p->name, row, &rgb, &cell->width, &cell->height);
		if (st == INVAR_E_FORMAT && inv_flag(s, "skip-broken"))
			continue;
		INV_TRY_OR(end, st);
		cell->rgb = inv_sheet_thumbnail(rgb, &cell->width, &cell->height);
		invar_free(rgb);
		if (!cell->rgb || asprintf(&detail, "%s %" PRIu64, p->name, row) < 0) {
			st = inv_no_memory();
			goto end;
		}
		cell->detail = detail;
		if (k >= 0)
			cell->caption = inv_dataset_class_title(c->dataset, (size_t)k);
	}
	st = INVAR_OK;
end:
	inv_free(added);
	return st;
}

/* Of the first split with labels, else of the first one. */
static invar_status draw_class_sheet(inv_session *s, const contents *c)
{
	const split *p = &c->split[0];
	size_t classes = c->classes < SHEET_PICTURES ? c->classes : SHEET_PICTURES;
	size_t asked = (size_t)inv_number(s, "each"), each = 1, count, columns;
	inv_sheet_cell *cell;
	char subtitle[160];
	int used;
	invar_status st;

	for (size_t i = c->splits; i-- > 0;)
		if (c->split[i].has_labels)
			p = &c->split[i];
	if (p->has_labels && asked)
		each = asked;
	else if (p->has_labels && classes && SHEET_PICTURES / classes > 1)
		each = SHEET_PICTURES / classes < MAX_EACH ? SHEET_PICTURES / classes : MAX_EACH;
	count = p->has_labels ? classes * each : p->count < UNLABELLED ? p->count : UNLABELLED;
	columns = each * (WIDE / each > 1 ? WIDE / each : 1);

	used = snprintf(subtitle, sizeof subtitle, "%s: %" PRIu64 " %s", p->name, p->count,
	                inv_noun(p->count, "image", "images"));
	if (p->has_labels && used > 0 && (size_t)used < sizeof subtitle)
		snprintf(subtitle + used, sizeof subtitle - (size_t)used, " of %zu %s%s",
		         c->classes, inv_noun(c->classes, "class", "classes"),
		         classes < c->classes ? ", first ones shown" : "");
	INV_TRY(inv_new_zeros(&cell, count + 1));
	INV_TRY_OR(end, fill_cells(s, c, p, classes, each, cell, count));
	st = inv_sheet_write(s->ctx, inv_text(s, "sheet"),
	                     &(inv_sheet){.title = c->text,
	                                  .subtitle = subtitle,
	                                  .cells = cell,
	                                  .count = count,
	                                  .columns = columns < count ? columns : count});
end:
	for (size_t i = 0; i < count; i++) {
		free((void *)(uintptr_t)cell[i].rgb);
		free((void *)(uintptr_t)cell[i].detail);
	}
	inv_free(cell);
	return st;
}

static invar_status run_data(inv_session *s)
{
	contents c = {.text = s->argument[0]};
	const char *name;
	bool any = false;
	invar_status st;

	INV_TRY(inv_check_output(s, &(inv_output){.option = "--sheet",
	                                          .path = inv_text(s, "sheet"),
	                                          .endings = ".png|.svg",
	                                          .force = inv_flag(s, "force")}));
	INV_TRY_OR(end, read_dataset(s, &c));
	if (inv_text(s, "sheet"))
		INV_TRY_OR(end, draw_class_sheet(s, &c));
	inv_term_clear(s->term);
	if (s->json) {
		st = inv_print_json(dataset_json(&c));
		goto end;
	}
	/* Splits that were not selected, such as folds, which must be named. */
	for (size_t i = 0; (name = inv_dataset_offered(c.dataset, i)); i++) {
		bool open = false;

		for (size_t k = 0; k < c.splits; k++)
			open = open || strcmp(c.split[k].name, name) == 0;
		if (!open)
			printf("%s %s", any ? "," : "also there, by --split:", name);
		any = any || !open;
	}
	if (any)
		printf("\n\n");
	INV_TRY_OR(end, print_splits(&c));
	st = print_classes(&c);
end:
	for (size_t i = 0; c.split && i < c.splits; i++) {
		inv_free(c.split[i].labels);
		inv_free(c.split[i].class_counts);
		invar_figures_free(c.split[i].survey);
	}
	inv_free(c.split);
	invar_dataset_close(c.dataset);
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
		"width and height from file headers. A folder has one sub-folder per class, or "
		"images without labels; its splits are the sub-folders train, val, test and "
		"unlabeled, or --holdout splits test from train. Images are JPEG, PNG, TIFF or "
		"WebP; grey images get three equal channels, alpha is dropped, EXIF "
		"orientation is applied. A NumPy array of images is [n, h, w], [n, h, w, 3] or "
		"[n, 3, h, w], uint8, or float from 0 to 1. The first line of a CSV file names "
		"its columns: path, relative to the file, and, if there, label and split. "
		"Images in tar files are read in place; their labels are in .cls files beside "
		"them, as WebDataset has them, or are their folders; their splits are folders, "
		"or the beginnings of the names of tar files (train-0.tar). tar: takes a list "
		"separated by commas, and patterns. Links in tar files are images and labels "
		"of their own, as after extraction, and the last of several members of one "
		"path counts; a link to nothing in its tar file is a broken image, and links "
		"to folders and members outside (../) are skipped with a warning. Of 16 bits "
		"per sample the upper 8 are used; of several pages or frames the first. An "
		"image that cannot be read is an error, or is listed and counted with "
		"--skip-broken. Kinds of data sets:",
	.items = kind_sentence,
	.examples = examples,
	.arguments = arguments,
	.places = inv_dataset_item,
	.options = "data",
	.own = own,
	.without = "seed",
	.reads = "classes",
	.is_timed = true,
	.run = run_data,
};
