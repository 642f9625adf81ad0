/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c - invar train: a bank becomes a run with an adapter. */
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "cli/trial_table.h"
#include "run/run.h"

enum { WORD = 2048 };

static const inv_example examples[] = {
	{"invar train bank -o run",
     "preset keep: copies find their image, and clean images stay where they are"},
	{"invar train bank -o run --preset paper", "MaWa with the paper's settings"},
	{"invar train bank -o run --contrast 3",
     "the same with a stronger contrast, for search alone; distances change more"},
	{"invar train bank -o run --keep-structure 0.95",
     "as much invariance as leaves the distances of clean images nearly as they are"},
	{"invar train bank -o run --trial=false", "trains without asking whether it will help"},
	{"invar train bank -o run --epochs 20 --hidden 1024", "a quick first try"},
	{"invar train bank -o run --loss waco --width 96 --decoder",
     "WaCo with narrower codes, and a decoder from codes to features"},
	{"invar train rotated noisy cropped -o run --loss waco",
     "three augmentations of the same images at once"},
	{"invar train bank -o ridge --loss none --init ridge",
     "a closed form; takes seconds and gives a baseline for training"},
	{"invar train --images stl10:data --weights dino.pth --augment rotation -o run",
     "without a bank: every epoch makes and encodes new copies of the images"},
	{"invar train bank -o run --resume", "resumes an interrupted run"},
	{"invar train --images stl10:data -o run --resume",
     "the same without a bank: weights and preparation are read from the run"},
	{0},
};

static const inv_argument arguments[] = {
	{.name = "BANK…",
     .help = "folders of features: train/clean.npy and its copies train/aug/000.npy and so "
             "on; several banks are several augmentations of the same images (waco only); "
             "not with --images",
     .max = INV_MANY},
	{0},
};

static const invar_option own[] = {
	{.name = "output",
     .type = INVAR_OPTION_TEXT,
     .meta = "RUN",
     .group = "Run",
     .help = "folder for the adapter, its log and its checkpoint"},
	{0},
};

/*
 * "bank other --classes FILE", or "--images DATASET": the start of a command that resumes.
 * A run on images keeps its list of classes.
 */
static void spell_source(const inv_session *s, char *out, size_t size)
{
	const char *images = inv_text(s, "images"), *classes = inv_text(s, "classes");
	char word[WORD];
	size_t fill = 0;

	snprintf(out, size, "--images %s",
	         inv_shell_word(images ? images : "", word, sizeof word));
	for (size_t i = 0; i < s->arguments && fill < size; i++)
		fill += (size_t)snprintf(out + fill, size - fill, "%s%s", i ? " " : "",
		                         inv_shell_word(s->argument[i], word, sizeof word));
	if (s->arguments && classes && fill < size)
		snprintf(out + fill, size - fill, " --classes %s",
		         inv_shell_word(classes, word, sizeof word));
}

/* Says how to resume, if there is something to resume. */
static invar_status explain_interrupt(inv_session *s)
{
	const char *output = inv_text(s, "output");
	char source[WORD], word[WORD];

	if (!inv_run_is_begun(output, inv_flag(s, "force")))
		return inv_fail(INVAR_E_CANCELLED, "interrupted before the first step");
	spell_source(s, source, sizeof source);
	return inv_fail(INVAR_E_CANCELLED,
	                "interrupted; 'invar train %s -o %s --resume' resumes it", source,
	                inv_shell_word(output, word, sizeof word));
}

/* What run.json says of the trial; NULL if there was none. Gives. */
static json_t *trial_of(const char *run)
{
	json_t *json = inv_run_json(run);
	json_t *trial = json_incref(json_object_get(json, "trial"));

	json_decref(json);
	return trial;
}

/*
 * The last line of the log, with the number of epochs for the index of the last one, and
 * the trial.
 */
static invar_status print_summary(const char *run, const char *adapter, const char *log)
{
	json_t *trial = trial_of(run);
	json_t *last = inv_last_json_line(log);
	json_int_t epoch = json_integer_value(json_object_get(last, "epoch"));
	json_t *document =
		json_pack("{s:o, s:o, s:I}", "run", inv_name_json(run), "adapter",
	              inv_name_json(adapter), "epochs", last ? epoch + 1 : (json_int_t)0);

	json_object_del(last, "epoch");
	json_object_del(last, "seconds");
	if (last && document)
		json_object_update(document, last);
	json_decref(last);
	if (trial && document)
		json_object_set(document, "trial", trial);
	json_decref(trial);
	return inv_print_json(document);
}

static invar_status tell_result(inv_session *s, const char *bank, const char *run)
{
	char *adapter = inv_path(run, INV_RUN_ADAPTER);
	char *log = inv_path(run, INV_RUN_LOG);
	invar_status st = INVAR_OK;
	const char *classes = bank ? inv_text(s, "classes") : NULL;
	char from[WORD], to[WORD], list[WORD];

	if (!adapter || !log)
		st = inv_no_memory();
	else if (s->common->json)
		st = print_summary(run, adapter, log);
	if (st == INVAR_OK)
		inv_term_say(s->term, "%s is finished; next: invar eval %s %s%s%s", adapter,
		             inv_shell_word(bank ? bank : "BANK", from, sizeof from),
		             inv_shell_word(run, to, sizeof to), classes ? " --classes " : "",
		             classes ? inv_shell_word(classes, list, sizeof list) : "");
	free(adapter);
	free(log);
	return st;
}

/* A run that is resumed had its trial before. */
static invar_status try_first(inv_session *s, const invar_bank *bank)
{
	invar_results *r = NULL;
	invar_status st = INVAR_OK;

	if (!inv_flag(s, "trial") || inv_flag(s, "resume"))
		return INVAR_OK;
	if (s->arguments > 1)
		return inv_fail(INVAR_E_USE,
		                "--trial is measured on the copies of one bank, not of %zu",
		                s->arguments);
	if (inv_process_rank(s->ctx) == 0)
		st = invar_run_check_new(inv_text(s, "output"), inv_flag(s, "force"));
	if (st == INVAR_OK)
		st = invar_trial(bank, s->options, &r);
	if (st == INVAR_OK && !s->common->json && !s->common->quiet) {
		inv_term_clear(s->term);
		st = inv_print_trial(r);
	}
	if (st == INVAR_OK)
		st = invar_trial_settle(r, s->options);
	invar_results_free(r);
	return st;
}

static invar_status train_on_banks(inv_session *s)
{
	invar_bank **bank = calloc(s->arguments, sizeof *bank);
	invar_status st = bank ? INVAR_OK : inv_no_memory();

	for (size_t i = 0; i < s->arguments && st == INVAR_OK; i++)
		st = invar_bank_open(s->ctx, s->argument[i], s->options, &bank[i]);
	if (st == INVAR_OK)
		st = try_first(s, bank[0]);
	if (st == INVAR_OK)
		st = invar_train(bank, s->arguments, s->options, inv_text(s, "output"));
	for (size_t i = 0; i < s->arguments && bank; i++)
		invar_bank_close(bank[i]);
	free(bank);
	return st;
}

static invar_status train_on_images(inv_session *s)
{
	const char *output = inv_text(s, "output");
	invar_dataset *dataset = NULL;
	invar_encoder *encoder = NULL;
	invar_status st = INVAR_OK;

	if (inv_flag(s, "resume"))
		st = invar_train_images_options(s->options, output);
	if (st == INVAR_OK)
		st = invar_dataset_open(s->ctx, inv_text(s, "images"), s->options, &dataset);
	if (st == INVAR_OK)
		st = invar_encoder_open(s->ctx, NULL, s->options, &encoder);
	if (st == INVAR_OK)
		st = invar_train_images(encoder, dataset, s->options, output);
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	return st;
}

static invar_status check_source(inv_session *s)
{
	const char *images = inv_text(s, "images");

	if (images && s->arguments)
		return inv_fail(INVAR_E_USE,
		                "give a bank or --images, not both: %s and --images %s",
		                s->argument[0], images);
	if (!images && !s->arguments)
		return inv_fail(INVAR_E_USE, "BANK is missing, or --images DATASET instead");
	return INVAR_OK;
}

/* A run that was started among data stays where it is. */
static invar_status check_output(inv_session *s, const char *output)
{
	inv_reads_dataset(s, inv_text(s, "images"));
	inv_reads(s, inv_text(s, "classes"), "the list of classes");
	for (size_t i = 0; i < s->arguments; i++)
		inv_reads_all(s, s->argument[i], "the features");
	return inv_run_is_begun(output, 0) ? INVAR_OK
	                                   : inv_check_output_folder(s, "-o", output);
}

static invar_status run_train(inv_session *s)
{
	const char *images = inv_text(s, "images"), *output = inv_text(s, "output");
	invar_status st;

	if ((st = check_source(s)) != INVAR_OK ||
	    (st = inv_need(output, "the output folder is missing: -o RUN")) != INVAR_OK ||
	    (st = check_output(s, output)) != INVAR_OK ||
	    (st = inv_session_start(s)) != INVAR_OK)
		return st;
	st = images ? train_on_images(s) : train_on_banks(s);
	if (st == INVAR_E_CANCELLED)
		return explain_interrupt(s);
	if (st == INVAR_OK && inv_process_rank(s->ctx) == 0)
		st = tell_result(s, images ? NULL : s->argument[0], output);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_train = {
	.name = "train",
	.purpose = "trains an adapter on a bank of features",
	.usage = "(BANK… | --images DATASET --augment SPEC) -o RUN [options]",
	.about = "Writes adapter.safetensors, run.json (the options that took part, and their "
			 "values), "
			 "log.jsonl (one line per epoch) and checkpoint.safetensors to the folder RUN. "
			 "Before that comes the trial: the adapter is fitted without a fifth of the "
			 "images, and what it gains and costs on these is printed, F beside E. If it "
			 "does harm or does not help, train ends with exit code 1 and no RUN "
			 "(--even-if-worse). A loss that is asked for by name is trained without a "
			 "trial (--trial). "
			 "--resume continues an interrupted run, which then ends with the same bytes "
			 "as one that was never interrupted. RUN must be new or empty: files that do "
			 "not belong to a run are never removed. With --force the new run is written "
			 "to RUN.part and replaces RUN once it is finished; until then RUN is "
			 "unchanged, and --resume continues the new run. With --images there is no "
			 "bank: clean features are encoded once, into RUN/clean, and new copies in "
			 "every epoch while the adapter trains. Each copy depends only on seed, epoch "
			 "and image. With --resume, weights and preparation need not be given again.",
	.examples = examples,
	.arguments = arguments,
	.options = "train",
	.own = own,
	.by_all_ranks = true,
	.run = run_train,
};
