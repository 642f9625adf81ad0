/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_report.c - the pages of a study, as its last stages. See study_report.h.
 *
 * A study of one bank has one page. With several banks each has a page of its own beside
 * its table, with the pictures of its images, and the study has an overview with links.
 */
#include "cli/study_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/command_files.h"
#include "cli/report_page.h"
#include "report/page.h"
#include "run/run.h"
#include "study/stage.h"

typedef struct paging {
	inv_session *session;
	inv_study_job *job;
	size_t table; /* whose page it is */
	char *path;
} paging;

size_t inv_study_report_files(const inv_study *study)
{
	if (!study->reports)
		return 0;
	return study->banks > 1 ? study->banks + 1 : 1;
}

/* ---- The page of a bank -------------------------------------------------------------- */

/* The split that is measured, and the options that choose images of the bank; gives *data.
 */
static invar_status describe_page(const inv_study *study, const inv_study_bank *b,
                                  inv_report *r, invar_options **data)
{
	const inv_settings *set = &b->encode;
	const char *split = inv_settings_find(&study->eval, "split");

	r->bank = b->path;
	r->split = split ? split : "test";
	r->images = b->dataset;
	INV_TRY(invar_options_new("data", data));
	r->data = *data;
	for (size_t i = 0; i < set->count; i++)
		if (inv_options_find(*data, set->list[i].name))
			INV_TRY(invar_options_set(*data, set->list[i].name, set->list[i].text));
	return INVAR_OK;
}

/* A page shows adapters; where none helps, there is a table alone. */
static bool has_runs(const inv_study_job *j, const inv_study_bank *b)
{
	for (size_t i = 0; i < j->runs; i++)
		if (j->run_bank[i] == b)
			return true;
	return false;
}

static invar_status write_bank_page(void *user)
{
	const paging *p = user;
	const inv_study_job *j = p->job;
	const inv_study_bank *b = j->table_bank[p->table];
	const char **run = calloc(j->runs + 1, sizeof *run);
	inv_report r = {.run = run,
	                .as_is = true, /* what is measured stands in the recipe */
	                .name = j->study->banks > 1 ? b->title : j->study->name,
	                .output = p->path};
	invar_options *data = NULL;
	invar_status st = run ? describe_page(j->study, b, &r, &data) : inv_no_memory();

	for (size_t i = 0; run && i < j->runs; i++)
		if (j->run_bank[i] == b)
			run[r.runs++] = j->run[i];
	if (st == INVAR_OK && r.runs)
		st = inv_report_write(p->session, &r);
	invar_options_free(data);
	free((void *)(uintptr_t)run);
	return st;
}

/* ---- The overview -------------------------------------------------------------------- */

/* The banks of an overview: arrays [tables]. */
typedef struct overview {
	invar_results **table;
	inv_page_part *part;
	inv_page_pictures *pictures;
	char **href;
} overview;

/* The run of the first seed that a column of a table is; gives, NULL if there is none. */
static char *run_of_column(const inv_study *study, const inv_study_bank *b,
                           const invar_column *column)
{
	for (size_t a = 0; column && a < study->adapters; a++)
		if (strcmp(study->adapter[a].title, column->title) == 0)
			return inv_study_run_path(b, &study->adapter[a], study->seed[0]);
	return NULL;
}

/* Searches with the adapter that the headline is about. */
static invar_status draw_searches(const paging *p, const inv_study_bank *b,
                                  const invar_results *table, inv_page_pictures *out)
{
	const inv_study *study = p->job->study;
	const invar_column *best = inv_page_best(table);
	char *run = b->dataset ? run_of_column(study, b, best) : NULL;
	const char *const runs[] = {run};
	inv_report r = {.run = runs, .runs = 1};
	invar_options *data = NULL;
	invar_status st = run ? describe_page(study, b, &r, &data) : INVAR_OK;

	if (run && st == INVAR_OK)
		st = inv_overview_pictures(p->session, &r, best->title, out);
	invar_options_free(data);
	free(run);
	return st;
}

static invar_status open_part(const paging *p, overview *o, size_t i)
{
	const inv_study_bank *b = p->job->table_bank[i];
	const char *below = inv_study_below(p->job->study, b->folder);

	if (has_runs(p->job, b) && !(o->href[i] = inv_path(below, INV_RUN_REPORT)))
		return inv_no_memory();
	INV_TRY(invar_results_open(p->session->ctx, p->job->table[i], &o->table[i]));
	o->part[i] = (inv_page_part){b->title, o->href[i], &o->pictures[i]};
	return draw_searches(p, b, o->table[i], &o->pictures[i]);
}

static invar_status write_overview(void *user)
{
	const paging *p = user;
	const inv_study_job *j = p->job;
	overview o = {.table = calloc(j->tables, sizeof *o.table),
	              .part = calloc(j->tables, sizeof *o.part),
	              .pictures = calloc(j->tables, sizeof *o.pictures),
	              .href = calloc(j->tables, sizeof *o.href)};
	bool all = o.table && o.part && o.pictures && o.href;
	invar_status st = all ? INVAR_OK : inv_no_memory();

	for (size_t i = 0; i < j->tables && st == INVAR_OK; i++)
		st = open_part(p, &o, i);
	if (st == INVAR_OK)
		st = inv_overview_write(p->session, j->study->name,
		                        (const invar_results *const *)o.table, o.part, j->tables,
		                        p->path);
	for (size_t i = 0; all && i < j->tables; i++) {
		invar_results_free(o.table[i]);
		inv_page_pictures_clear(&o.pictures[i]);
		free(o.href[i]);
	}
	free(o.table);
	free(o.part);
	free(o.pictures);
	free(o.href);
	return st;
}

/* ---- Stages -------------------------------------------------------------------------- */

/* Its inputs are tables, which stand for all results that they were made from. */
static invar_status add_page(paging *p, const char *folder, const char *const *inputs,
                             invar_status (*write)(void *user))
{
	inv_study_job *j = p->job;
	bool done;
	invar_status st;

	if (!(p->path = inv_path(folder, INV_RUN_REPORT)))
		return inv_no_memory();
	st = inv_study_add(j,
	                   &(inv_own_stage){.user = p,
	                                    .name = inv_study_below(j->study, p->path),
	                                    .inputs = inputs,
	                                    .options = j->study->name,
	                                    .output = p->path,
	                                    .run = write},
	                   &done);
	free(p->path);
	return st;
}

invar_status inv_study_report(inv_session *s, inv_study_job *j)
{
	const char *const *tables = (const char *const *)j->table;
	const char *folder = j->study->folder;
	paging p = {.session = s, .job = j};

	if (!j->study->reports || !j->runs)
		return INVAR_OK;
	if (j->study->banks == 1)
		return add_page(&p, folder, tables, write_bank_page);
	for (p.table = 0; p.table < j->tables; p.table++)
		if (has_runs(j, j->table_bank[p.table]))
			INV_TRY(add_page(&p, j->table_bank[p.table]->folder,
			                 (const char *const[]){tables[p.table], NULL},
			                 write_bank_page));
	return add_page(&p, folder, tables, write_overview);
}
