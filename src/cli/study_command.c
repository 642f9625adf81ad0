/* SPDX-License-Identifier: Apache-2.0 */
/* study_command.c - a recipe from a tree to finished stages. See study_command.h. */
#include "cli/study_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/processes.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "report/line_text.h"
#include "run/run.h"
#include "study/yaml_tree.h"

invar_status inv_recipe_set(inv_node *tree, const char *text)
{
	const char *equals = strchr(text, '=');
	char *path = NULL, *where = NULL;
	inv_node *value;
	invar_status st;

	if (!equals || equals == text)
		return inv_fail(INVAR_E_USE,
		                "--set %.100s: expected KEY=VALUE, such as encode.size=64", text);
	path = strndup(text, (size_t)(equals - text));
	if (!path || asprintf(&where, "--set %s", path) < 0) {
		free(path);
		return inv_no_memory();
	}
	st = inv_yaml_read(equals + 1, strlen(equals + 1), where, false, &value);
	if (st == INVAR_OK)
		st = inv_node_set(tree, path, value, inv_recipe_short_for);
	else
		st = INVAR_E_USE;
	free(path);
	free(where);
	return inv_study_spelled(st);
}

invar_status inv_recipe_set_text(inv_node *tree, const char *path, const char *text)
{
	inv_node *value;

	if (!text)
		return INVAR_OK;
	value = inv_node_new(INV_NODE_TEXT, NULL, path);
	if (!value || !(value->text = strdup(text))) {
		inv_node_free(value);
		return inv_no_memory();
	}
	return inv_study_spelled(inv_node_set(tree, path, value, inv_recipe_short_for));
}

static invar_status has_file(const char *folder, const char *name, bool *out)
{
	char *path;

	INV_TRY(inv_new_path(&path, folder, name));
	*out = access(path, F_OK) == 0;
	inv_free(path);
	return INVAR_OK;
}

invar_status inv_study_check_output(inv_session *s, const inv_study *study)
{
	const char *name = NULL;
	bool is_study = false, exists = false;

	if (inv_processes_rank(s->processes)) /* rank 0 checks */
		return INVAR_OK;
	for (size_t i = 0; i < study->banks; i++) {
		const inv_study_bank *b = &study->bank[i];

		INV_TRY(inv_reads(s, b->dataset ? b->dataset : b->path, INV_READS_DATA));
		INV_TRY(inv_reads(s, inv_settings_find(&b->encode, "weights"), INV_READS_FILE));
	}
	INV_TRY(inv_check_output(
		s, &(inv_output){.option = "-o", .path = study->folder, .folder = true}));

	/* A folder without a record of stages is no study, so its files are the user's. */
	INV_TRY(has_file(study->folder, "stages.json", &is_study));
	for (size_t i = 0; !is_study && !exists && (name = inv_study_table_file(i)); i++)
		INV_TRY(has_file(study->folder, name, &exists));
	if (!is_study && !exists && study->reports)
		INV_TRY(has_file(study->folder, name = INV_RUN_REPORT, &exists));
	return exists
	           ? inv_fail(INVAR_E_IO,
	                      "%s/%s: already exists and is not from a study; choose another "
	                      "folder with -o",
	                      study->folder, name)
	           : INVAR_OK;
}

invar_status inv_study_print_file(const inv_study *study, const char *name)
{
	char *path, block[4096];
	size_t bytes;
	FILE *f;

	INV_TRY(inv_new_path(&path, study->folder, name));
	f = fopen(path, "rb");
	inv_free(path);
	if (!f)
		return inv_fail(INVAR_E_IO, "%s/%s could not be read", study->folder, name);
	while ((bytes = fread(block, 1, sizeof block, f)) > 0)
		fwrite(block, 1, bytes, stdout);
	fclose(f);
	return INVAR_OK;
}

invar_status inv_study_tell_failures(const inv_study_job *j)
{
	if (!j->failures)
		return INVAR_OK;
	for (size_t i = 0; i < j->failures; i++)
		inv_print_line(stderr, "failed: %s: %s", j->failure[i].stage,
		               j->failure[i].message);
	return inv_fail(INVAR_E_MISMATCH, "%zu %s failed; what does not depend on %s is done",
	                j->failures, inv_noun(j->failures, "stage", "stages"),
	                inv_noun(j->failures, "it", "them"));
}

static void say(void *user, const char *text)
{
	inv_term_say(user, "%s", text);
}

static invar_status run_stages(inv_session *s, inv_study_job *j)
{
	inv_processes *all = s->ctx->processes;
	invar_status st;

	j->ctx = s->ctx;
	j->say = say;
	j->user = s->term;
	if (!j->plans) {
		INV_TRY(inv_study_check(j));
		if (inv_process_rank(s->ctx) == 0)
			INV_TRY(inv_make_folder(j->study->folder));
	}
	INV_TRY(inv_study_run(j, INV_STUDY_TABLES + inv_study_report_files(j->study)));
	if (inv_process_rank(s->ctx) > 0)
		return INVAR_OK;
	inv_context_share(s->ctx, NULL); /* rank 0 writes them alone */
	st = inv_study_tables(s, j);
	if (st == INVAR_OK)
		st = inv_study_report(s, j);
	inv_context_share(s->ctx, all);
	return st;
}

invar_status inv_study_execute(inv_session *s, inv_study_job *j)
{
	invar_status st = run_stages(s, j);

	if (st == INVAR_E_CANCELLED && !j->plans)
		return inv_fail(
			st, "interrupted; finished work is kept in %s, and the same command resumes it",
			j->study->folder);
	return st;
}
