/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_run.c - invar run: a whole study from a recipe.
 *
 * src/study reads the recipe and runs its stages; this file has what a user types
 * and sees: --set, the plan, the tables, the list of failures.
 */
#include <stdio.h>

#include "base/options.h"
#include "cli/command_options.h"
#include "cli/restart.h"
#include "cli/study_command.h"
#include "cli/term.h"
#include "run/run.h"
#include "study/yaml_tree.h"

static const inv_example examples[] = {
	{"invar run study.yaml", "runs a study; the same again resumes, or does nothing"},
	{"invar run study.yaml --dry-run",
     "prints the stages to run, with disk space and the time of earlier runs"},
	{"invar run study.yaml --set adapters.0.epochs=5 --set 'seeds=[0, 1]' -o quick",
     "with other values, in another folder"},
	{"invar run --print-defaults > study.yaml", "a recipe to start from"},
	{0},
};

static const inv_argument arguments[] = {
	{"RECIPE", "YAML file that describes the study; docs/RECIPES.md has its keys", 0, 1,
     INV_READS_FILE},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "output", "DIR", "Result",
             "folder of the study; default: the recipe's output, else its file name "
             "without .yaml")},
	{INV_ROW(LIST, "set", "KEY=VALUE", "Recipe",
             "change a value of the recipe for this call, such as encode.size=64 or "
             "adapters.0.epochs=5; may be repeated")},
	{INV_FLAG_ROW("print-defaults", "Recipe",
                  "print a recipe with all keys and options, their defaults and meanings")},
	{INV_FLAG_ROW(
		"dry-run", "Run",
		"print the stages that would run, with disk space and the time that they took "
		"before, and write nothing")},
	{INV_FLAG_ROW("keep-going", "Run",
                  "after a failure, continue with all stages that do not depend on it")},
	{INV_ROW(COUNT, "ranks", "R", "Run",
             "run the stages by so many processes, started by mpirun, or by srun within a "
             "job of Slurm; docs/SCALE.md says what they share"),
     .initial = "1", .min = 1, .max = 65536, .flags = INVAR_OPTION_EXPERT},
	{0},
};

/* What is done is shown even if something failed. */
static invar_status run_study(inv_session *s, const inv_study *study)
{
	inv_study_job j = {.study = study, .keep_going = inv_flag(s, "keep-going")};
	invar_status st;

	INV_TRY_OR(end, inv_study_execute(s, &j));
	inv_term_clear(s->term);
	if (inv_process_rank(s->ctx) == 0) {
		if (j.tables)
			INV_TRY_OR(end,
			           inv_study_print_file(study, s->json ? "table.json" : "table.txt"));
		if (!j.ran && !j.failures)
			inv_term_say(s->term, "%s: all %zu stages were done before; nothing to do",
			             study->folder, j.total);
		if (study->reports && j.runs)
			inv_term_say(s->term, "%s/%s is the page; open it with a browser",
			             study->folder, INV_RUN_REPORT);
		else if (study->reports && j.tables)
			inv_term_say(s->term, "%s: has no page, as no adapter was trained",
			             study->folder);
	}
	st = inv_study_tell_failures(&j);
end:
	inv_study_job_clear(&j);
	return st;
}

static invar_status run_recipe(inv_session *s)
{
	bool dry_run = inv_flag(s, "dry-run");
	inv_study *study = NULL;
	const char *text;
	inv_node *tree;
	invar_status st;

	s->is_timed = !dry_run && !inv_flag(s, "print-defaults");
	if (inv_flag(s, "print-defaults"))
		return inv_print_recipe(stdout);
	if (!s->arguments)
		return inv_fail(INVAR_E_USE,
		                "the recipe is missing: invar run RECIPE.yaml; --print-defaults "
		                "prints one to start from");
	if (!dry_run)
		INV_TRY(inv_launch_ranks(s, (uint64_t)inv_number(s, "ranks")));
	INV_TRY(inv_study_spelled(inv_yaml_load(s->argument[0], &tree)));
	for (size_t i = 0; (text = inv_options_text(s->options, "set", i)); i++)
		if ((st = inv_recipe_set(tree, text)) != INVAR_OK) {
			inv_node_free(tree);
			return st;
		}
	INV_TRY(inv_study_spelled(
		inv_study_new(tree, s->argument[0], inv_text(s, "output"), &study)));
	INV_TRY_OR(end, inv_study_check_output(s, study));
	if (!dry_run)
		st = run_study(s, study);
	else if (inv_process_rank(s->ctx) == 0)
		st = inv_print_plan(s, study);
end:
	inv_study_free(study);
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
	.is_basic = true,
	.is_timed = true,
	.by_all_ranks = true,
	.run = run_recipe,
};
