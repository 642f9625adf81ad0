/* SPDX-License-Identifier: Apache-2.0 */
/* study_tables.c - the tables of a study as files. See study_tables.h. */
#include "cli/study_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command_files.h"
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

typedef struct writing {
	inv_session *session;
	inv_study_job *job;
	const table_form *form;
	char *path;
} writing;

/* ---- Headings ------------------------------------------------------------------------ */

/* A title is the user's text: in a comment or a heading it must stay on its line. */
static void put_line(FILE *f, const table_form *form, const char *text)
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

/* The heading of the table of a bank, in the words of a format. */
static void put_heading(FILE *f, const table_form *form, const inv_study_bank *b,
                        const invar_results *r)
{
	const char *format = form->format;
	bool markdown = strcmp(format, "markdown") == 0, latex = strcmp(format, "latex") == 0;
	char measured[INV_HEADING];

	fputs(latex ? "% " : markdown ? "## " : "", f);
	put_line(f, form, b->title);
	if (strcmp(format, "csv") == 0) {
		fputs("\r\n", f);
		return;
	}
	fputs(latex ? ": " : markdown ? "\n\n" : "\n", f);
	fputs(inv_results_measured(r, measured), f);
	fputs(latex ? "\n" : "\n\n", f);
}

/* ---- Formats for people -------------------------------------------------------------- */

static invar_status put_tables(const writing *w, FILE *f)
{
	const char *format = w->form->format;
	bool markdown = strcmp(format, "markdown") == 0;

	if (markdown || strcmp(format, "text") == 0) {
		fputs(markdown ? "# " : "", f);
		put_line(f, w->form, w->job->study->name);
		fputs("\n\n", f);
	}
	for (size_t i = 0; i < w->job->tables; i++) {
		invar_results *r;
		inv_table *t;
		bool written;

		INV_TRY(invar_results_open(w->session->ctx, w->job->table[i], &r));
		if (i)
			fputs(strcmp(format, "csv") == 0 ? "\r\n" : "\n", f);
		put_heading(f, w->form, w->job->table_bank[i], r);
		t = inv_results_table(r);
		written = t && inv_table_write(t, format, f);
		inv_table_free(t);
		invar_results_free(r);
		if (!written)
			return inv_no_memory();
	}
	return INVAR_OK;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static invar_status put_json(const writing *w, FILE *f)
{
	json_t *tables = json_array();
	json_t *all = json_pack("{s:s, s:i, s:s, s:o}", "format", "invar-study", "version", 1,
	                        "name", w->job->study->name, "tables", tables);
	invar_status st = all ? INVAR_OK : inv_no_memory();

	for (size_t i = 0; i < w->job->tables && st == INVAR_OK; i++) {
		invar_results *r;

		st = invar_results_open(w->session->ctx, w->job->table[i], &r);
		if (st == INVAR_OK)
			json_array_append_new(tables, inv_results_document(r));
		invar_results_free(r);
	}
	if (st == INVAR_OK && json_dumpf(all, f, INV_JSON_STYLE) != 0)
		st = inv_no_memory();
	fputc('\n', f);
	json_decref(all);
	return st;
}

/* ---- Stages -------------------------------------------------------------------------- */

static invar_status write_form(void *user)
{
	const writing *w = user;
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	invar_status st = f ? INVAR_OK : inv_no_memory();

	if (st == INVAR_OK)
		st = w->form->format ? put_tables(w, f) : put_json(w, f);
	if (f && fclose(f) != 0 && st == INVAR_OK)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_file_write(w->session->ctx, w->path, text, bytes);
	free(text);
	return st;
}

invar_status inv_study_tables(inv_session *s, inv_study_job *j)
{
	invar_status st = INVAR_OK;
	bool done;

	for (size_t i = 0; i < INV_STUDY_TABLES && st == INVAR_OK && j->tables; i++) {
		writing w = {s, j, &forms[i], inv_path(j->study->folder, forms[i].file)};
		const inv_own_stage stage = {.user = &w,
		                             .name = forms[i].file,
		                             .inputs = (const char *const *)j->table,
		                             .options = j->study->name,
		                             .output = w.path,
		                             .run = write_form};

		st = w.path ? inv_study_add(j, &stage, &done) : inv_no_memory();
		free(w.path);
	}
	return st;
}
