/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_neighbours.c - invar neighbours: which images a search finds, before and after E. */
#include <string.h>

#include "bank/bank.h"
#include "base/text.h"
#include "cli/command_options.h"
#include "cli/neighbour_search.h"
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

static invar_status run_neighbours(inv_session *s)
{
	const char *path = s->argument[0], *split = inv_text(s, "split");
	const double copy = inv_number(s, "copy");
	invar_options *data = NULL;
	invar_dataset *images = NULL;
	invar_bank *bank = NULL;
	invar_adapter *e = NULL;
	uint32_t copies, dim;
	invar_status st;

	if (!inv_text(s, "data"))
		return inv_fail(INVAR_E_USE, "the images are missing: --data DATASET");
	INV_TRY_OR(end, inv_data_options(s, &data));
	INV_TRY_OR(end, invar_dataset_open(s->ctx, inv_text(s, "data"), data, &images));
	INV_TRY_OR(end, inv_bank_open(s->ctx, path, &bank));
	if (inv_text(s, "classes")) {
		/* Was the bank made from these classes? Otherwise --classes is for both. */
		size_t i = 0, count = inv_dataset_classes(images);
		const char *name;

		while (i < count && (name = inv_bank_class(bank, (int64_t)i)) &&
		       strcmp(name, inv_dataset_class(images, i)) == 0)
			i++;
		if (i < count || inv_bank_class(bank, (int64_t)count)) {
			invar_bank_close(bank);
			INV_TRY_OR(end, invar_bank_open(s->ctx, path, s->options, &bank));
		}
	}
	for (size_t i = 0; i < 2; i++) {
		const char *option = i ? "gallery" : "split";

		if (inv_bank_has_split(bank, inv_text(s, option)))
			continue;
		st = inv_fail(INVAR_E_USE, "--%s %s: %s has no such split", option,
		              inv_text(s, option), path);
		goto end;
	}
	copies = invar_bank_copies(bank, split);
	if (copy >= copies) {
		st = inv_fail(INVAR_E_USE, "--copy %.0f: %s of %s has %u %s, numbered from 0", copy,
		              split, path, (unsigned)copies, inv_noun(copies, "copy", "copies"));
		goto end;
	}
	INV_TRY_OR(end, invar_adapter_open(s->ctx, s->argument[1], &e));
	dim = invar_bank_dim(bank);
	if (invar_adapter_input(e) != dim || invar_adapter_output(e) != dim) {
		st = inv_fail(INVAR_E_MISMATCH,
		              "%s maps %u features to %u, but an index of the bank's %u features "
		              "needs codes of the same width",
		              s->argument[1], invar_adapter_input(e), invar_adapter_output(e), dim);
		goto end;
	}
	st = inv_neighbours_write(
		s,
		&(inv_neighbours){.images = images,
	                      .title = "with the adapter",
	                      .search = {.bank = bank,
	                                 .split = split,
	                                 .gallery = inv_text(s, "gallery"),
	                                 .adapter = e,
	                                 .copy = (uint32_t)copy,
	                                 .queries = (size_t)inv_number(s, "queries"),
	                                 .nearest = (size_t)inv_number(s, "nearest")}},
		inv_text(s, "output"));
end:
	invar_options_free(data);
	invar_dataset_close(images);
	invar_adapter_close(e);
	invar_bank_close(bank);
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
