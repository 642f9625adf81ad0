/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_command.h - what the commands that run a study share: `invar run` and `invar demo`.
 *
 * A recipe is a tree (study/node.h) that options of a command change; the study made
 * from it runs with its tables and pages as the last stages.
 */
#ifndef INV_STUDY_COMMAND_H
#define INV_STUDY_COMMAND_H

#include <stdio.h>

#include "cli/session.h"
#include "study/study_run.h"

/* KEY=VALUE, where VALUE is YAML: a number, [0, 1], {epochs: 5}. */
invar_status inv_recipe_set(inv_node *tree, const char *text);
/* A value that is not YAML: a path, a SPEC. NULL: nothing changes; "": the default. */
invar_status inv_recipe_set_text(inv_node *tree, const char *path, const char *text);

/* No study is made in what it reads. */
invar_status inv_study_check_output(inv_session *s, const inv_study *study);

/*
 * Runs all stages, tables and pages, or plans them. The caller has filled `study`,
 * `keep_going` and `plans`, and clears the job whatever the status is.
 */
invar_status inv_study_execute(inv_session *s, inv_study_job *j);
/* What could not be done with keep_going, as messages and a status. */
invar_status inv_study_tell_failures(const inv_study_job *j);
/* Prints STUDY/NAME. */
invar_status inv_study_print_file(const inv_study *study, const char *name);

/*
 * study_tables.c: STUDY/table.txt, .md, .csv, .tex and .json for people, papers and
 * programs, a stage each, made from the table.json of every bank.
 */
enum { INV_STUDY_TABLES = 5 };
const char *inv_study_table_file(size_t i); /* its name; NULL past the last */
invar_status inv_study_tables(inv_session *s, inv_study_job *j);

/*
 * study_report.c: STUDY/report.html and, with several banks, one beside the table of each,
 * as the last stages.
 */
size_t inv_study_report_files(const inv_study *study); /* how many stages these are */
invar_status inv_study_report(inv_session *s, inv_study_job *j);

/* A recipe with every key and option, its default and meaning, as comments. */
invar_status inv_print_recipe(FILE *out);
/* The JSON Schema of recipes. */
invar_status inv_print_recipe_schema(FILE *out);
/* --dry-run: what would run, how large it will be and how long it took before. */
invar_status inv_print_plan(inv_session *s, const inv_study *study);

/* share/demo.yaml with the values of the options of `invar demo`. Gives. */
invar_status inv_demo_recipe(inv_session *s, inv_study **out);
/* The end of the demo: a short table per bank, which adapter is recommended, and why. */
invar_status inv_demo_words(inv_session *s, const inv_study_job *j);

#endif
