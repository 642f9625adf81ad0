/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c - invar train: a bank becomes a run with an adapter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/command_options.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/term.h"
#include "run/run.h"

enum { WORD = 2048 };

static const inv_example examples[] = {
	{"invar train bank -o run",
     "preset keep: copies find their image, and clean images stay where they are"},
	{"invar train bank -o run --preset instant", "without training, in seconds"},
	{"invar train --data folder:photos --weights dino.pth --augment rotation -o run",
     "without a bank: every epoch makes and encodes new copies of the images"},
	{"invar train bank -o run --resume", "resumes an interrupted run"},
	{"invar train bank -o run --contrast 3",
     "a stronger contrast, for search alone; distances change more"},
	{"invar train bank -o run --preset paper", "MaWa with the paper's settings"},
	{"invar train bank -o run --keep-structure 0.95",
     "as much invariance as leaves the distances of clean images nearly as they are"},
	{"invar train bank -o run --trial=false", "trains without asking whether it will help"},
	{"invar train bank -o run --loss waco --width 96 --decoder",
     "WaCo with narrower codes, and a decoder from codes to features"},
	{"invar train rotated noisy cropped -o run --loss waco",
     "three augmentations of the same images at once"},
	{"invar train bank -o ridge --loss none --init ridge",
     "a closed form; takes seconds and gives a baseline for training"},
	{"invar train --data stl10:data -o run --resume",
     "resumes a run without a bank: weights and preparation are read from the run"},
	{0},
};

static const inv_argument arguments[] = {
	{.name = "BANK…",
     .help = "folders of features: train/clean.npy and its copies train/aug/000.npy …; "
             "several are several augmentations of the same images (waco only)",
     .max = INV_MANY,
     .reads = INV_READS_DATA},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "output", "RUN", "Run",
             "folder for the adapter, its log and its checkpoint")},
	{0},
};

/*
 * With --json: the last line of the log, with the number of epochs for the index of the
 * last one, and the trial.
 */
static invar_status conclude_run(inv_session *s, const char *bank, const char *run)
{
	const char *classes = bank ? inv_text(s, "classes") : NULL;
	char from[WORD], to[WORD], list[WORD], *adapter = NULL, *log = NULL, *line = NULL;
	json_t *last = NULL, *now, *document, *trial, *about = NULL;
	size_t size = 0;
	FILE *file = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_new_path(&adapter, run, INV_RUN_ADAPTER));
	INV_TRY_OR(end, inv_new_path(&log, run, INV_RUN_LOG));
	if (s->json) {
		file = fopen(log, "r");
		while (file && getline(&line, &size, file) > 0)
			if ((now = json_loads(line, JSON_REJECT_DUPLICATES, NULL))) {
				json_decref(last);
				last = now;
			}
		document = json_pack("{s:o, s:o, s:I}", "run", inv_json_path(run), "adapter",
		                     inv_json_path(adapter), "epochs",
		                     json_integer_value(json_object_get(last, "epoch")) + !!last);
		json_object_del(last, "epoch");
		json_object_del(last, "seconds");
		json_object_update(document, last);
		about = inv_run_json(run);
		if ((trial = json_object_get(about, "trial")))
			json_object_set(document, "trial", trial);
		INV_TRY_OR(end, inv_print_json(document));
	}
	inv_term_say(s->term, "%s is finished; next: invar eval %s %s%s%s", adapter,
	             inv_shell_word(bank ? bank : "BANK", from, sizeof from),
	             inv_shell_word(run, to, sizeof to), classes ? " --classes " : "",
	             classes ? inv_shell_word(classes, list, sizeof list) : "");
end:
	if (file)
		fclose(file);
	free(line);
	json_decref(last);
	json_decref(about);
	inv_free(adapter);
	inv_free(log);
	return st;
}

static invar_status train_on_banks(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_results *r = NULL;
	invar_bank **bank;
	invar_status st;

	INV_TRY(inv_new_zeros(&bank, s->arguments));
	for (size_t i = 0; i < s->arguments; i++)
		INV_TRY_OR(end, invar_bank_open(s->ctx, s->argument[i], s->options, &bank[i]));
	if (inv_flag(s, "trial") && !inv_flag(s, "resume")) { /* a resumed run had its trial */
		if (s->arguments > 1) {
			st = inv_fail(INVAR_E_USE,
			              "--trial is measured on the copies of one bank, not of %zu",
			              s->arguments);
			goto end;
		}
		if (inv_process_rank(s->ctx) == 0)
			INV_TRY_OR(end, invar_run_check_new(output, inv_flag(s, "force")));
		INV_TRY_OR(end, invar_trial(bank[0], s->options, &r));
		if (!s->json && !s->quiet) {
			inv_term_clear(s->term);
			INV_TRY_OR(end, inv_print_trial(r));
		}
		INV_TRY_OR(end, invar_trial_settle(r, s->options));
	}
	st = invar_train(bank, s->arguments, s->options, output);
end:
	invar_results_free(r);
	for (size_t i = 0; i < s->arguments; i++)
		invar_bank_close(bank[i]);
	inv_free(bank);
	return st;
}

static invar_status train_on_images(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_dataset *dataset = NULL;
	invar_encoder *encoder = NULL;
	invar_status st;

	if (inv_flag(s, "resume"))
		INV_TRY(invar_train_images_options(s->options, output));
	INV_TRY_OR(end, invar_dataset_open(s->ctx, inv_text(s, "data"), s->options, &dataset));
	INV_TRY_OR(end, invar_encoder_open(s->ctx, NULL, s->options, &encoder));
	st = invar_train_images(encoder, dataset, s->options, output);
end:
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	return st;
}

static invar_status train_command(inv_session *s)
{
	const char *data = inv_text(s, "data"), *output = inv_text(s, "output");
	const char *classes = inv_text(s, "classes");
	char source[WORD], word[WORD];
	size_t fill = 0;
	invar_status st;

	if (data && s->arguments)
		return inv_fail(INVAR_E_USE, "give a bank or --data, not both: %s and --data %s",
		                s->argument[0], data);
	if (!data && !s->arguments)
		return inv_fail(INVAR_E_USE, "BANK is missing, or --data DATASET instead");
	st = data ? train_on_images(s) : train_on_banks(s);
	if (st == INVAR_E_CANCELLED && !inv_run_is_begun(output, inv_flag(s, "force")))
		return inv_fail(st, "interrupted before the first step");
	if (st == INVAR_E_CANCELLED) {
		/* "bank other --classes FILE"; a run on images keeps its list of classes. */
		if (data)
			snprintf(source, WORD, "--data %s", inv_shell_word(data, word, WORD - 8));
		for (size_t i = 0; i < s->arguments && fill < WORD; i++)
			fill += (size_t)snprintf(source + fill, WORD - fill, "%s%s", i ? " " : "",
			                         inv_shell_word(s->argument[i], word, WORD));
		if (s->arguments && classes && fill < WORD)
			snprintf(source + fill, WORD - fill, " --classes %s",
			         inv_shell_word(classes, word, WORD));
		return inv_fail(st, "interrupted; 'invar train %s -o %s --resume' resumes it",
		                source, inv_shell_word(output, word, WORD));
	}
	INV_TRY(st);
	return inv_process_rank(s->ctx) == 0
	           ? conclude_run(s, data ? NULL : s->argument[0], output)
	           : INVAR_OK;
}

const inv_command inv_cmd_train = {
	.name = "train",
	.purpose = "trains an adapter on a bank of features",
	.usage = "(BANK… | --data DATASET --augment SPEC) -o RUN [options]",
	.about =
		"Writes adapter.safetensors, run.json, log.jsonl and checkpoint.safetensors to "
		"the folder RUN. Before that comes the trial: the adapter is fitted without a "
		"fifth of the images, and what it gains and costs on these is printed, F beside "
		"E. If it does harm or does not help, train ends with exit code 1 and no RUN.",
	.details =
		"A loss that is asked for by name is trained without a trial. run.json has the "
		"options that took part and their values, log.jsonl one line per epoch. A resumed "
		"run "
		"ends with the same bytes as one that was never interrupted. RUN must be new or "
		"empty: files that do not belong to a run are never removed. With --force the new "
		"run "
		"is written to RUN.part and replaces RUN once it is finished; until then RUN is "
		"unchanged, and --resume continues the new run. With --data there is no bank: "
		"clean "
		"features are encoded once, into RUN/clean, and new copies in every epoch while "
		"the "
		"adapter trains. Each copy depends only on seed, epoch and image. With --resume, "
		"weights and preparation need not be given again.",
	.examples = examples,
	.first_examples = 4,
	.arguments = arguments,
	.options = "train",
	.own = own,
	.reads = "data|classes|weights",
	.output = INV_OUTPUT_FOLDER,
	.needs_output = true,
	.is_basic = true,
	.is_timed = true,
	.by_all_ranks = true,
	.run = train_command,
};
