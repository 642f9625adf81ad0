/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_encode.c - invar encode: a data set of images becomes a bank of features. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank/bank.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/help.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar encode mnist:data -o bank --encoder pixels --augment rotation",
     "pixels as features, with 10 rotated copies per image in train and 5 in test"},
	{"invar encode mnist:data -o bank --encoder pixels --augment rotation --copies 20",
     "later: adds the missing copies"},
	{"invar encode folder:photos -o bank --encoder pixels --size 32 --holdout 0.2",
     "a folder of image files, resized to 32 x 32; a fifth of each class becomes "
     "test"},
	{"invar encode stl10:data -o bank --weights dino.pth --augment rotation --dry-run",
     "prints the time and disk space needed; writes nothing"},
	{0},
};

static const inv_argument arguments[] = {
	{"DATASET", "a folder of images", 1, 1, INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_OUTPUT_ROW("BANK", "new folder for the features, or an existing bank to extend")},
	{INV_FLAG_ROW(
		"dry-run", "Result",
		"print the time and disk space needed, measured on a few seconds of work, and "
		"write nothing")},
	{0},
};

/* "40 to 65 seconds", outwards to whole ones, or to tenths where these are few. */
static void spell_seconds(double low, double high, char *out, size_t size)
{
	const char *unit = high < 90 ? "second" : high < 90 * 60 ? "minute" : "hour";
	double length = high < 90 ? 1 : high < 90 * 60 ? 60 : 3600;
	double step = high / length < 5 ? 10 : 1;
	double from = floor(low / length * step) / step, to = ceil(high / length * step) / step;

	if (high < 1)
		snprintf(out, size, "less than a second");
	else if (from >= to)
		snprintf(out, size, "about %g %s%s", to, unit, to <= 1 ? "" : "s");
	else
		snprintf(out, size, "%g to %g %s%s", from, to, unit, to <= 1 ? "" : "s");
}

/* `opening`: seconds that images and weights took to open, which they will take again. */
static invar_status forecast(inv_session *s, invar_encoder *e, const invar_dataset *d,
                             double opening)
{
	char time[60], bytes[INV_SPELLED_TIME], space[INV_SPELLED_TIME];
	const char *dtype = inv_text(s, "dtype");
	invar_figures *f;
	uint64_t images, made, existing, width;
	double rate, needed, available, low, seconds, high;

	INV_TRY(invar_encode_forecast(e, d, s->options, inv_text(s, "output"), &f));
	images = (uint64_t)invar_figure(f, "images");
	made = (uint64_t)invar_figure(f, "features");
	existing = (uint64_t)invar_figure(f, "existing");
	width = (uint64_t)invar_figure(f, "width");
	rate = invar_figure(f, "rate");
	needed = invar_figure(f, "bytes");
	available = invar_figure(f, "free-bytes");
	low = invar_figure(f, "seconds-low") + (made ? opening / 2 : 0);
	seconds = invar_figure(f, "seconds") + (made ? opening : 0);
	high = invar_figure(f, "seconds-high") + (made ? opening * 2 : 0);
	invar_figures_free(f);
	inv_term_clear(s->term);
	if (s->json)
		return inv_print_json(json_pack(
			"{s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:I, s:I}", "images",
			(json_int_t)images, "features", (json_int_t)made, "existing",
			(json_int_t)existing, "width", (json_int_t)width, "dtype", dtype, "rate", rate,
			"seconds", seconds, "seconds_low", low, "seconds_high", high, "bytes",
			(json_int_t)needed, "free_bytes", (json_int_t)available));

	printf("%" PRIu64 " %s, %" PRIu64 " %s of %" PRIu64 " %s in %s", images,
	       inv_noun(images, "image", "images"), made + existing,
	       inv_noun(made + existing, "feature", "features"), width,
	       inv_noun(width, "number", "numbers"), dtype);
	if (existing)
		printf("; %" PRIu64 " of them already %s, %" PRIu64 " %s to be made", existing,
		       inv_noun(existing, "exists", "exist"), made, inv_noun(made, "is", "are"));
	spell_seconds(low, high, time, sizeof time);
	if (made)
		printf("\ntime  %s, at the measured %.*f features per second", time,
		       rate < 100 ? 1 : 0, rate);
	printf("\ndisk  %s needed, %s free%s\n", inv_size_text(needed, bytes),
	       inv_size_text(available, space), needed > available ? ": not enough" : "");
	return INVAR_OK;
}

/* What the bank has, and the command that comes next. */
static invar_status print_bank(inv_session *s, const invar_bank *b, const char *path,
                               const char *encoder)
{
	unsigned width = (unsigned)invar_bank_dim(b);
	const char *with = NULL; /* the split that has copies, train if several have */
	const char *numbers = inv_noun(width, "number", "numbers");
	char word[PATH_MAX + 8], split[300];
	json_t *splits = json_array();

	for (size_t i = 0; i < invar_bank_splits(b); i++) {
		const char *name = invar_bank_split(b, i);

		json_array_append_new(
			splits,
			json_pack("{s:o, s:I, s:I, s:b, s:b, s:b}", "name", inv_json_path(name), "rows",
		              (json_int_t)invar_bank_rows(b, name), "copies",
		              (json_int_t)invar_bank_copies(b, name), "labels",
		              invar_bank_has_labels(b, name), "names", inv_bank_has_names(b, name),
		              "views", invar_bank_has_views(b, name, INVAR_CLEAN)));
	}
	if (s->json)
		INV_TRY(inv_print_json(json_pack("{s:o, s:s, s:I, s:O}", "bank",
		                                 inv_json_path(path), "encoder", encoder, "width",
		                                 (json_int_t)width, "splits", splits)));
	json_decref(splits);

	for (size_t i = invar_bank_splits(b); i-- > 0;)
		if (invar_bank_copies(b, invar_bank_split(b, i)) &&
		    (!with || strcmp(with, "train") != 0))
			with = invar_bank_split(b, i);
	inv_shell_word(path, word, sizeof word);
	if (!with)
		inv_term_say(s->term,
		             "%s has features of %u %s, without copies; next: invar apply "
		             "RUN %s/%s/clean.npy -o OUT.npy",
		             path, width, numbers, word,
		             inv_shell_word(invar_bank_split(b, 0), split, sizeof split));
	else if (strcmp(with, "train") == 0)
		inv_term_say(s->term, "%s has features of %u %s; next: invar train %s -o RUN", path,
		             width, numbers, word);
	else
		inv_term_say(s->term,
		             "%s has features of %u %s, copies only for %s; next: invar "
		             "train %s --split %s -o RUN",
		             path, width, numbers, with, word,
		             inv_shell_word(with, split, sizeof split));
	return INVAR_OK;
}

static invar_status encode_command(inv_session *s)
{
	const char *output = inv_text(s, "output");
	bool dry_run = inv_flag(s, "dry-run");
	double began = inv_wall_seconds();
	invar_dataset *dataset = NULL;
	invar_encoder *encoder = NULL;
	invar_bank *bank = NULL;
	invar_status st;

	INV_TRY_OR(end, invar_dataset_open(s->ctx, s->argument[0], s->options, &dataset));
	INV_TRY_OR(end, invar_encoder_open(s->ctx, NULL, s->options, &encoder));
	s->is_timed = !dry_run;
	if (dry_run) {
		if (inv_process_rank(s->ctx) == 0)
			st = forecast(s, encoder, dataset, inv_wall_seconds() - began);
		goto end;
	}
	INV_TRY_OR(end, invar_encode(encoder, dataset, s->options, output));
	if (inv_process_rank(s->ctx) == 0) {
		INV_TRY_OR(end, inv_bank_open(s->ctx, output, &bank));
		st = print_bank(s, bank, output, invar_encoder_name(encoder));
	}
end:
	if (st == INVAR_E_CANCELLED && !dry_run)
		st = inv_fail(
			st, "interrupted; finished work is kept in %s, and the same command resumes it",
			output);
	invar_bank_close(bank);
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	return st;
}

const inv_command inv_cmd_encode = {
	.name = "encode",
	.purpose = "turns images and augmented copies of them into a bank of features",
	.usage = "DATASET -o BANK [options]",
	.about =
		"Images are decoded, resized, normalised, augmented and encoded. An existing bank "
		"is "
		"extended: splits, copies and views can be added later. After an interruption the "
		"same command resumes.",
	.details =
		"Resizing is that of Pillow, byte for byte. BANK receives the clean rows, labels, "
		"copies with their drawn parameters, SPLIT/names.txt with the file of each "
		"row (if images are files), SPLIT/fingerprints.npy with 16 bytes of the "
		"SHA-256 of each image, and bank.json, which records how it was made. "
		"Rows that are added later have the same bytes as if made at once. A bank made "
		"with another encoder, SPEC, size "
		"or seed cannot be extended, nor can one whose images have changed since. "
		"Rows are finished in blocks of 256, and a resumed command starts after the last "
		"finished one.",
	.examples = examples,
	.arguments = arguments,
	.places = inv_dataset_item,
	.options = "encode",
	.own = own,
	.reads = "weights|classes",
	.output = INV_OUTPUT_FOLDER,
	.needs_output = true,
	.is_basic = true,
	.is_timed = true,
	.by_all_ranks = true,
	.run = encode_command,
};
