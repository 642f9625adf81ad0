/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_run.c - invar run: a whole study from a recipe.
 *
 * src/recipe/study reads the recipe and runs its stages; this file has what a user types
 * and sees: --set, the plan, the tables, the list of failures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/outputs.h"
#include "cli/recipe_words.h"
#include "cli/study_report.h"
#include "cli/study_tables.h"
#include "cli/term.h"
#include "recipe/study/yaml_tree.h"

static const inv_example examples[] = {
	{"invar run study.yaml", "runs a study; the same again resumes, or does nothing"},
	{"invar run study.yaml --dry-run",
     "prints the stages to run, with time and disk space"},
	{"invar run study.yaml --set adapters.0.epochs=5 --set 'seeds=[0, 1]' -o quick",
     "with other values, in another folder"},
	{"invar run --print-defaults > study.yaml", "a recipe to start from"},
	{0},
};

static const inv_argument arguments[] = {
	{"RECIPE", "YAML file that describes the study; docs/RECIPES.md has its keys", 0, 1},
	{0},
};

static const invar_option own[] = {
	{.name = "output",
     .type = INVAR_OPTION_TEXT,
     .meta = "DIR",
     .group = "Result",
     .help = "folder of the study; default: the recipe's output, else its file name "
             "without .yaml"},
	{.name = "set",
     .type = INVAR_OPTION_LIST,
     .meta = "KEY=VALUE",
     .group = "Recipe",
     .help = "change a value of the recipe for this call, such as encode.size=64 or "
             "adapters.0.epochs=5; may be repeated"},
	{.name = "print-defaults",
     .type = INVAR_OPTION_FLAG,
     .group = "Recipe",
     .help = "print a recipe with all keys and options, their defaults and meanings"},
	{.name = "dry-run",
     .type = INVAR_OPTION_FLAG,
     .group = "Run",
     .help = "print the stages that would run, with estimates of time and disk space, and "
             "write nothing"},
	{.name = "keep-going",
     .type = INVAR_OPTION_FLAG,
     .group = "Run",
     .help = "after a failure, continue with all stages that do not depend on it"},
	{0},
};

/* ---- The recipe ------------------------------------------------------------------------
 */

/* The messages of src/recipe/study; the library's if there is none. */
static invar_status take_message(inv_session *s, invar_status st, const char *message)
{
	char sentence[INV_MESSAGE];

	if (st == INVAR_OK)
		return st;
	if (!*message) {
		invar_last_error_spelled("", sentence, sizeof sentence);
		message = sentence;
	}
	return inv_fault(s, st, "%s", message);
}

/* KEY=VALUE, where VALUE is YAML: a number, [0, 1], {epochs: 5}. */
static invar_status apply_set(inv_session *s, inv_node *tree, const char *text)
{
	const char *equals = strchr(text, '=');
	char message[INV_MESSAGE] = "", *path = NULL, *where = NULL;
	inv_node *value;
	invar_status st;

	if (!equals || equals == text)
		return inv_fault(s, INVAR_E_USE,
		                 "--set %.100s: expected KEY=VALUE, such as encode.size=64", text);
	path = strndup(text, (size_t)(equals - text));
	if (!path || asprintf(&where, "--set %s", path) < 0) {
		free(path);
		return inv_no_memory(s);
	}
	st = inv_yaml_read(equals + 1, strlen(equals + 1), where, false, &value, message);
	if (st == INVAR_OK)
		st = inv_node_set(tree, path, value, inv_recipe_short_for, message);
	else
		st = INVAR_E_USE;
	free(path);
	free(where);
	return take_message(s, st, message);
}

static invar_status read_recipe(inv_session *s, inv_study **out)
{
	char message[INV_MESSAGE] = "";
	const char *text;
	inv_node *tree;
	invar_status st = inv_yaml_load(s->argument[0], &tree, message);

	if (st != INVAR_OK)
		return take_message(s, st, message);
	for (size_t i = 0; (text = invar_options_text(s->options, "set", i)); i++)
		if ((st = apply_set(s, tree, text)) != INVAR_OK) {
			inv_node_free(tree);
			return st;
		}
	st = inv_study_new(tree, s->argument[0], inv_text(s, "output"), out, message);
	return take_message(s, st, message);
}

/* No study is made in what it reads. */
static invar_status check_output(inv_session *s, const inv_study *study)
{
	inv_reads(s, s->argument[0], "the recipe");
	inv_reads(s, study->published, "the published figures");
	for (size_t i = 0; i < study->banks; i++) {
		const inv_study_bank *b = &study->bank[i];

		inv_reads_dataset(s, b->dataset);
		inv_reads(s, inv_settings_find(&b->encode, "weights"), "the weights");
		if (!b->dataset)
			inv_reads_all(s, b->path, "the features");
	}
	return inv_check_output_folder(s, "-o", study->folder);
}

/* ---- Running ----------------------------------------------------------------------------
 */

static invar_status print_file(inv_session *s, const char *folder, const char *name)
{
	char *path = inv_path(folder, name), block[4096];
	FILE *f = path ? fopen(path, "rb") : NULL;
	size_t bytes;

	free(path);
	if (!f)
		return inv_fault(s, INVAR_E_IO, "%s/%s could not be read", folder, name);
	while ((bytes = fread(block, 1, sizeof block, f)) > 0)
		fwrite(block, 1, bytes, stdout);
	fclose(f);
	return INVAR_OK;
}

static invar_status tell_failures(inv_session *s, const inv_study_job *j)
{
	if (!j->failures)
		return INVAR_OK;
	for (size_t i = 0; i < j->failures; i++)
		fprintf(stderr, "failed: %s: %s\n", j->failure[i].stage, j->failure[i].message);
	return inv_fault(s, INVAR_E_MISMATCH,
	                 "%zu stage%s failed; what does not depend on %s is done", j->failures,
	                 j->failures == 1 ? "" : "s", j->failures == 1 ? "it" : "them");
}

/* What is done is shown even if something failed. */
static invar_status conclude(inv_session *s, const inv_study_job *j)
{
	invar_status st = INVAR_OK;

	inv_term_clear(s->term);
	if (j->tables)
		st = print_file(s, j->study->folder, s->common->json ? "table.json" : "table.txt");
	if (st != INVAR_OK)
		return st;
	if (!j->ran && !j->failures)
		inv_term_say(s->term, "%s: all %zu stages were done before; nothing to do",
		             j->study->folder, j->total);
	return tell_failures(s, j);
}

static void say(void *user, const char *text)
{
	inv_term_say(user, "%s", text);
}

/* A bank that does not exist is found before a folder is made. */
static invar_status check_banks(inv_session *s, const inv_study *study)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < study->banks && st == INVAR_OK; i++) {
		invar_bank *bank = NULL;

		if (!study->bank[i].dataset && !inv_flag(s, "keep-going"))
			st = invar_bank_open(s->ctx, study->bank[i].path, &bank);
		invar_bank_close(bank);
	}
	return st;
}

static invar_status run_study(inv_session *s, const inv_study *study)
{
	inv_study_job j = {.study = study,
	                   .ctx = s->ctx,
	                   .keep_going = inv_flag(s, "keep-going"),
	                   .say = say,
	                   .user = s->term};
	invar_status st = check_banks(s, study);

	if (st == INVAR_OK)
		st = inv_folder_make(s, study->folder);
	if (st == INVAR_OK)
		st = inv_study_run(&j, inv_study_table_files() + inv_study_report_files(study));
	if (st == INVAR_OK)
		st = inv_study_tables(s, &j);
	if (st == INVAR_OK)
		st = inv_study_report(s, &j);
	if (st == INVAR_E_CANCELLED)
		st = inv_fault(
			s, st,
			"interrupted; finished work is kept in %s, and the same command resumes it",
			study->folder);
	else if (st != INVAR_OK && !*s->fault)
		st = take_message(s, st, j.message);
	else if (st == INVAR_OK)
		st = conclude(s, &j);
	inv_study_job_clear(&j);
	return st;
}

/* ---- The command
 * ------------------------------------------------------------------------- */

static invar_status plan_or_run(inv_session *s, const inv_study *study)
{
	invar_status st = check_output(s, study);

	if (st != INVAR_OK)
		return st;
	return inv_flag(s, "dry-run") ? inv_print_plan(s, study) : run_study(s, study);
}

static invar_status run_recipe(inv_session *s)
{
	inv_study *study = NULL;
	invar_status st;

	if (inv_flag(s, "print-defaults"))
		return inv_print_recipe(s, stdout);
	if (!s->arguments)
		return inv_fault(s, INVAR_E_USE,
		                 "the recipe is missing: invar run RECIPE.yaml; --print-defaults "
		                 "prints one to start from");
	if ((st = inv_session_start(s)) != INVAR_OK ||
	    (st = read_recipe(s, &study)) != INVAR_OK)
		return st;
	st = plan_or_run(s, study);
	inv_study_free(study);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_run = {
	.name = "run",
	.purpose = "runs a whole study from a recipe",
	.usage = "RECIPE [options]",
	.about =
		"Encodes, diagnoses, trains, evaluates and writes tables, for every data set, "
		"encoder, augmentation, adapter and seed of the recipe. Each of these stages is "
		"done once: the same command again does nothing, after a change it redoes what "
		"depends on the change, and after an interruption it resumes. The folder of the "
		"study contains the files that the other commands write, and table.txt, .md, "
		".csv, .tex and .json with one table per bank. docs/RECIPES.md describes recipes.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.without = "seed",
	.run = run_recipe,
};
