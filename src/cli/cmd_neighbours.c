/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_neighbours.c - invar neighbours: which images a search finds, before and after E. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/bank.h"
#include "base/text.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/neighbour_sheet.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "images/dataset.h"

static const inv_example examples[] = {
	{"invar neighbours bank run --data photos -o neighbours.png",
     "looks up augmented images of test among clean ones of train"},
	{"invar neighbours bank run --data photos -o neighbours.svg --queries 5 --nearest 5",
     "fewer queries, more neighbours"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with copies", 1, 1},
	{"ADAPTER", "safetensors file or run folder", 1, 1},
	{0},
};

static const invar_option own[] = {
	{.name = "data",
     .type = INVAR_OPTION_TEXT,
     .meta = "DATASET",
     .group = "Images",
     .help = "the images that the bank was made from; give the options of 'invar encode' "
             "that choose images as well"},
	{.name = "from",
     .type = INVAR_OPTION_TEXT,
     .initial = "test",
     .meta = "NAME",
     .group = "Search",
     .help = "split of the bank whose copies are looked up"},
	{.name = "gallery",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "NAME",
     .group = "Search",
     .help = "split of the bank whose clean features are searched"},
	{.name = "copy",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 1e9,
     .meta = "N",
     .group = "Search",
     .help = "copy of the queries that is looked up"},
	{.name = "queries",
     .type = INVAR_OPTION_COUNT,
     .initial = "10",
     .min = 1,
     .max = INV_MAX_QUERIES,
     .meta = "N",
     .group = "Search",
     .help = "number of queries: with labels the first image of each class, else spread "
             "evenly"},
	{.name = "nearest",
     .type = INVAR_OPTION_COUNT,
     .initial = "3",
     .min = 1,
     .max = INV_MAX_NEAREST,
     .meta = "N",
     .group = "Search",
     .help = "neighbours per query"},
	{INV_OUTPUT_ROW("FILE", "sheet to write; SVG if the name ends in .svg, else PNG")},
	{INV_FORCE_ROW},
	{0},
};

/* ---- The bank and its splits ----------------------------------------------------------
 */

static invar_status check_split(inv_session *s, const invar_bank *bank, const char *option,
                                const char *split)
{
	if (inv_bank_has_split(bank, split))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "--%s %s: %s has no such split", option, split,
	                s->argument[0]);
}

static invar_status check_bank(inv_session *s, const invar_bank *bank)
{
	const char *split = inv_text(s, "from");
	double copy = inv_number(s, "copy");
	uint32_t copies;
	invar_status st = check_split(s, bank, "from", split);

	if (st == INVAR_OK)
		st = check_split(s, bank, "gallery", inv_text(s, "gallery"));
	if (st != INVAR_OK)
		return st;
	copies = invar_bank_copies(bank, split);
	if (copy >= copies)
		return inv_fail(INVAR_E_USE, "--copy %.0f: %s of %s has %u %s, numbered from 0",
		                copy, split, s->argument[0], (unsigned)copies,
		                inv_noun(copies, "copy", "copies"));
	return INVAR_OK;
}

static invar_status check_adapter(inv_session *s, const invar_adapter *adapter,
                                  const invar_bank *bank)
{
	uint32_t dim = invar_bank_dim(bank);

	if (invar_adapter_input(adapter) == dim && invar_adapter_output(adapter) == dim)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s maps %u features to %u, but an index of the bank's %u features "
	                "needs codes of the same width",
	                s->argument[1], invar_adapter_input(adapter),
	                invar_adapter_output(adapter), dim);
}

typedef struct opened {
	invar_bank *bank;
	invar_adapter *adapter;
	invar_dataset *images;
} opened;

/* Was the bank made from the classes of the list, rather than from all of them? */
static bool has_these_classes(const invar_bank *bank, const invar_dataset *images)
{
	size_t count = inv_dataset_classes(images);

	for (size_t i = 0; i < count; i++) {
		const char *name = inv_bank_class(bank, (int64_t)i);

		if (!name || strcmp(name, inv_dataset_class(images, i)) != 0)
			return false;
	}
	return !inv_bank_class(bank, (int64_t)count);
}

/* The same classes as the images: --classes is for both. */
static invar_status open_bank(inv_session *s, opened *all)
{
	invar_status st = inv_bank_open(s->ctx, s->argument[0], &all->bank);

	if (st != INVAR_OK || !inv_text(s, "classes") ||
	    has_these_classes(all->bank, all->images))
		return st;
	invar_bank_close(all->bank);
	return invar_bank_open(s->ctx, s->argument[0], s->options, &all->bank);
}

static invar_status open_all(inv_session *s, opened *all)
{
	invar_status st =
		invar_dataset_open(s->ctx, inv_text(s, "data"), s->options, &all->images);

	if (st == INVAR_OK)
		st = open_bank(s, all);
	if (st == INVAR_OK)
		st = check_bank(s, all->bank);
	if (st == INVAR_OK)
		st = invar_adapter_open(s->ctx, s->argument[1], &all->adapter);
	if (st == INVAR_OK)
		st = check_adapter(s, all->adapter, all->bank);
	return st;
}

static void close_all(opened *all)
{
	invar_dataset_close(all->images);
	invar_adapter_close(all->adapter);
	invar_bank_close(all->bank);
}

/* ---- The command ----------------------------------------------------------------------
 */

static invar_status check_output(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_status st = inv_need(output, "the file for the sheet is missing: -o FILE");

	if (st == INVAR_OK)
		st = inv_need(inv_text(s, "data"), "the images are missing: --data DATASET");
	if (st != INVAR_OK)
		return st;
	inv_reads_all(s, s->argument[0], "the features");
	inv_reads(s, s->argument[1], "the adapter");
	inv_reads_dataset(s, inv_text(s, "data"));
	inv_reads(s, inv_text(s, "classes"), "the list of classes");
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = output,
	                                         .kind = inv_sheet_kind(output),
	                                         .force = inv_flag(s, "force")});
}

static invar_status run_neighbours(inv_session *s)
{
	opened all = {0};
	invar_status st = inv_session_start(s);

	if (st != INVAR_OK || (st = check_output(s)) != INVAR_OK)
		return st;
	if ((st = open_all(s, &all)) == INVAR_OK) {
		const inv_neighbours n = {.images = all.images,
		                          .title = "with the adapter",
		                          .search = {.bank = all.bank,
		                                     .split = inv_text(s, "from"),
		                                     .gallery = inv_text(s, "gallery"),
		                                     .adapter = all.adapter,
		                                     .copy = (uint32_t)inv_number(s, "copy"),
		                                     .queries = (size_t)inv_number(s, "queries"),
		                                     .nearest = (size_t)inv_number(s, "nearest")}};

		st = inv_neighbours_write(s, &n, inv_text(s, "output"));
	}
	close_all(&all);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_neighbours = {
	.name = "neighbours",
	.purpose = "draws the images that a search finds, before and after an adapter",
	.usage = "BANK ADAPTER --data DATASET -o FILE [options]",
	.about = "Looks up augmented images among the clean features of the gallery, by the "
			 "encoder alone and with the adapter behind it, by L2 distance. The index is "
			 "not changed. Images are shown as the encoder saw them.",
	.examples = examples,
	.arguments = arguments,
	.options = "data",
	.hidden = "split",
	.own = own,
	.without = "seed|json",
	.run = run_neighbours,
};
