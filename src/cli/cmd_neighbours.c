/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_neighbours.c - invar neighbours: which images a search finds, before and after E. */
#include <string.h>

#include "bank/bank.h"
#include "base/text.h"
#include "cli/command_options.h"
#include "cli/neighbour_sheet.h"
#include "images/dataset.h"

static const inv_example examples[] = {
	{"invar neighbours bank run --data photos -o neighbours.png",
     "looks up augmented images of test among clean ones of test and train"},
	{"invar neighbours bank run --data photos -o neighbours.svg --queries 5 --nearest 5",
     "fewer queries, more neighbours"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features with copies", 1, 1, INV_READS_DATA},
	{"ADAPTER", "safetensors file or run folder", 1, 1, INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "data", "DATASET", "Images",
             "the images that the bank was made from; give the options of 'invar encode' "
             "that choose images as well")},
	{INV_ROW(TEXT, "split", "NAME", "Search",
             "split of the bank whose copies are looked up"),
     .initial = "test"},
	{INV_ROW(TEXT, "gallery", "NAME", "Search",
             "split of the bank whose clean features are searched, beside those of the "
             "split that is looked up"),
     .initial = "train"},
	{INV_ROW(COUNT, "copy", "N", "Search", "copy of the queries that is looked up"),
     .initial = "0", .max = 1e9},
	{INV_ROW(COUNT, "queries", "N", "Search",
             "number of queries: with labels the first image of each class, else spread "
             "evenly"),
     .initial = "10", .min = 1, .max = INV_MAX_QUERIES},
	{INV_ROW(COUNT, "nearest", "N", "Search", "neighbours per query"), .initial = "3",
     .min = 1, .max = INV_MAX_NEAREST},
	{INV_OUTPUT_ROW("FILE", "sheet to write; SVG if the name ends in .svg, else PNG")},
	{INV_FORCE_ROW},
	{0},
};

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

static invar_status open_all(inv_session *s, opened *all)
{
	const char *path = s->argument[0], *split = inv_text(s, "split");
	double copy = inv_number(s, "copy");
	invar_options *data = NULL;
	uint32_t copies, dim;
	invar_status st;

	INV_TRY(inv_data_options(s, &data));
	st = invar_dataset_open(s->ctx, inv_text(s, "data"), data, &all->images);
	invar_options_free(data);
	INV_TRY(st);
	INV_TRY(inv_bank_open(s->ctx, path, &all->bank));
	if (inv_text(s, "classes") && !has_these_classes(all->bank, all->images)) {
		/* --classes is for both. */
		invar_bank_close(all->bank);
		INV_TRY(invar_bank_open(s->ctx, path, s->options, &all->bank));
	}
	for (size_t i = 0; i < 2; i++) {
		const char *option = i ? "gallery" : "split";

		if (!inv_bank_has_split(all->bank, inv_text(s, option)))
			return inv_fail(INVAR_E_USE, "--%s %s: %s has no such split", option,
			                inv_text(s, option), path);
	}
	copies = invar_bank_copies(all->bank, split);
	if (copy >= copies)
		return inv_fail(INVAR_E_USE, "--copy %.0f: %s of %s has %u %s, numbered from 0",
		                copy, split, path, (unsigned)copies,
		                inv_noun(copies, "copy", "copies"));

	INV_TRY(invar_adapter_open(s->ctx, s->argument[1], &all->adapter));
	dim = invar_bank_dim(all->bank);
	if (invar_adapter_input(all->adapter) != dim ||
	    invar_adapter_output(all->adapter) != dim)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s maps %u features to %u, but an index of the bank's %u features "
		                "needs codes of the same width",
		                s->argument[1], invar_adapter_input(all->adapter),
		                invar_adapter_output(all->adapter), dim);
	return INVAR_OK;
}

static invar_status run_neighbours(inv_session *s)
{
	opened all = {0};
	invar_status st;

	if (!inv_text(s, "data"))
		return inv_fail(INVAR_E_USE, "the images are missing: --data DATASET");
	if ((st = open_all(s, &all)) == INVAR_OK)
		st = inv_neighbours_write(
			s,
			&(inv_neighbours){.images = all.images,
		                      .title = "with the adapter",
		                      .search = {.bank = all.bank,
		                                 .split = inv_text(s, "split"),
		                                 .gallery = inv_text(s, "gallery"),
		                                 .adapter = all.adapter,
		                                 .copy = (uint32_t)inv_number(s, "copy"),
		                                 .queries = (size_t)inv_number(s, "queries"),
		                                 .nearest = (size_t)inv_number(s, "nearest")}},
			inv_text(s, "output"));
	invar_dataset_close(all.images);
	invar_adapter_close(all.adapter);
	invar_bank_close(all.bank);
	return st;
}

const inv_command inv_cmd_neighbours = {
	.name = "neighbours",
	.purpose = "draws the images that a search finds, before and after an adapter",
	.usage = "BANK ADAPTER --data DATASET -o FILE [options]",
	.about = "Looks up augmented images among the clean features of the gallery and of "
			 "their own split, the same image among them, by the encoder alone and with "
			 "the adapter behind it: by L2 distance, which for a unit adapter is that of "
			 "unit vectors and ranks like cosine. The index is not changed. Images are "
			 "shown as the encoder saw them; a blue frame is the same image.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.second = "data",
	.without = "seed|json",
	.reads = "data|classes",
	.output = INV_OUTPUT_FILE,
	.endings = ".png|.svg",
	.needs_output = true,
	.is_timed = true,
	.run = run_neighbours,
};
