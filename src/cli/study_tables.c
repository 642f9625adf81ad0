/* SPDX-License-Identifier: Apache-2.0 */
/* study_tables.c - the tables of a study as files. See study_command.h. */
#include "cli/study_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command_results.h"
#include "report/line_text.h"
#include "report/results_table.h"
#include "run/results.h"
#include "study/stage.h"

typedef struct table_form {
	const char *file, *format; /* format of table.h; NULL: JSON */
} table_form;

static const table_form forms[INV_STUDY_TABLES] = {{"table.txt", "text"},
                                                   {"table.md", "markdown"},
                                                   {"table.csv", "csv"},
                                                   {"table.tex", "latex"},
                                                   {"table.json", NULL}};

const char *inv_study_table_file(size_t i)
{
	return i < INV_STUDY_TABLES ? forms[i].file : NULL;
}

typedef struct table_stage {
	inv_session *session;
	inv_study_job *job;
	const table_form *form;
	char *path;
} table_stage;

/* A title is the user's text: in a comment or a heading it must stay on its line. */
static void put_study_title(FILE *f, const table_form *form, const char *text)
{
	char *line = inv_line_text(text);
	const char *title = line ? line : "?";

	if (strcmp(form->format, "csv") == 0)
		inv_csv_text(title, f);
	else if (strcmp(form->format, "markdown") == 0)
		inv_markdown_text(title, f);
	else
		fputs(title, f);
	free(line);
}

static invar_status put_tables(const table_stage *w, FILE *f)
{
	const char *format = w->form->format;
	bool markdown = strcmp(format, "markdown") == 0, csv = strcmp(format, "csv") == 0;
	bool latex = strcmp(format, "latex") == 0;
	char measured[INV_HEADING];

	if (!csv && !latex) {
		fputs(markdown ? "# " : "", f);
		put_study_title(f, w->form, w->job->study->name);
		fputs("\n\n", f);
	}
	for (size_t i = 0; i < w->job->tables; i++) {
		invar_results *r;
		invar_status st;

		INV_TRY(invar_results_open(w->session->ctx, w->job->table[i], &r));
		if (i)
			fputs(csv ? "\r\n" : "\n", f);
		fputs(latex ? "% " : markdown ? "## " : "", f);
		put_study_title(f, w->form, w->job->table_bank[i]->title);
		if (csv)
			fputs("\r\n", f);
		else
			fprintf(f, "%s%s%s",
			        latex      ? ": "
			        : markdown ? "\n\n"
			                   : "\n",
			        inv_results_measured(r, measured), latex ? "\n" : "\n\n");
		st = inv_put_table(inv_results_table(r, true), format, f);
		invar_results_free(r);
		INV_TRY(st);
	}
	return INVAR_OK;
}

static invar_status put_json(const table_stage *w, FILE *f)
{
	json_t *tables = json_array();
	json_t *all = json_pack("{s:s, s:i, s:s, s:o}", "format", "invar-study", "version", 1,
	                        "name", w->job->study->name, "tables", tables);
	invar_status st;

	for (size_t i = 0; i < w->job->tables; i++) {
		invar_results *r;

		INV_TRY_OR(end, invar_results_open(w->session->ctx, w->job->table[i], &r));
		json_array_append_new(tables, inv_results_document(r));
		invar_results_free(r);
	}
	st = all && json_dumpf(all, f, INV_JSON_STYLE) == 0 ? INVAR_OK : inv_no_memory();
	fputc('\n', f);
end:
	json_decref(all);
	return st;
}

static invar_status write_form(void *user)
{
	const table_stage *w = user;
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	invar_status st;

	if (!f)
		return inv_no_memory();
	st = w->form->format ? put_tables(w, f) : put_json(w, f);
	if (fclose(f) != 0 && st == INVAR_OK)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(w->session->ctx, w->path, text, bytes);
	free(text);
	return st;
}

invar_status inv_study_tables(inv_session *s, inv_study_job *j)
{
	bool done;

	for (size_t i = 0; i < INV_STUDY_TABLES && j->tables; i++) {
		table_stage w = {.session = s, .job = j, .form = &forms[i]};
		invar_status st;

		INV_TRY(inv_new_path(&w.path, j->study->folder, forms[i].file));
		st = inv_study_add(j,
		                   &(inv_own_stage){.user = &w,
		                                    .name = forms[i].file,
		                                    .inputs = (const char *const *)j->table,
		                                    .options = j->study->name,
		                                    .output = w.path,
		                                    .run = write_form},
		                   &done);
		inv_free(w.path);
		INV_TRY(st);
	}
	return INVAR_OK;
}
