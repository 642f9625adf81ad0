/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_report.c - the pages of a study, as its last stages. See study_command.h.
 *
 * A study of one bank has one page. With several banks each has a page of its own beside
 * its table, with the pictures of its images, and the study has an overview with links.
 */
#include "cli/study_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "cli/report_page.h"
#include "cli/report_pictures.h"
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

/* The preset that the trial of a bank named; gives, NULL: there was none. */
static char *read_verdict(inv_session *s, const inv_study_bank *b)
{
	invar_results *diagnosis = NULL;
	const char *verdict = NULL;
	char *path = NULL, *out = NULL;

	if (inv_new_path(&path, b->folder, "diagnose.json") == INVAR_OK && inv_exists(path) &&
	    invar_results_open(s->ctx, path, &diagnosis) == INVAR_OK)
		verdict = invar_results_about(diagnosis, "verdict");
	out = verdict ? inv_strdup(verdict) : NULL;
	invar_results_free(diagnosis);
	inv_free(path);
	return out;
}

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
	const char **run = NULL;
	inv_report r = {.as_is = true, /* what is measured stands in the recipe */
	                .name = j->study->banks > 1 ? b->title : j->study->name,
	                .output = p->path};
	invar_options *data = NULL;
	char *verdict = read_verdict(p->session, b);
	invar_status st;

	r.recommended = verdict;
	INV_TRY_OR(end, inv_new_zeros(&run, j->runs + 1));
	INV_TRY_OR(end, describe_page(j->study, b, &r, &data));
	r.run = run;
	for (size_t i = 0; i < j->runs; i++)
		if (j->run_bank[i] == b)
			run[r.runs++] = j->run[i];
	if (r.runs)
		st = inv_report_write(p->session, &r);
end:
	invar_options_free(data);
	inv_free(verdict);
	inv_free((void *)(uintptr_t)run);
	return st;
}

/* The banks of an overview: arrays [tables]. */
typedef struct overview {
	invar_results **table;
	inv_page_part *part;
	inv_page_pictures *pictures;
	char **href, **verdict;
} overview;

/* Searches with the adapter that the headline is about: its run of the first seed. */
static invar_status draw_searches(const paging *p, const inv_study_bank *b,
                                  const invar_results *table, const char *verdict,
                                  inv_page_pictures *out)
{
	const inv_study *study = p->job->study;
	const invar_column *best = inv_page_best(table, verdict, false);
	char *run = NULL;
	inv_report r = {.runs = 1};
	invar_options *data = NULL;
	invar_status st;

	for (size_t a = 0; b->dataset && best && !run && a < study->adapters; a++)
		if (strcmp(study->adapter[a].title, best->title) == 0)
			run = inv_study_run_path(b, &study->adapter[a], study->seed[0]);
	if (!run)
		return INVAR_OK;
	r.run = (const char *const[]){run};
	INV_TRY_OR(end, describe_page(study, b, &r, &data));
	st = inv_overview_pictures(p->session, &r, best->title, out);
end:
	invar_options_free(data);
	free(run);
	return st;
}

static invar_status write_overview(void *user)
{
	const paging *p = user;
	const inv_study_job *j = p->job;
	overview o = {0};
	invar_status st;

	INV_TRY_OR(end, inv_new_zeros(&o.table, j->tables));
	INV_TRY_OR(end, inv_new_zeros(&o.part, j->tables));
	INV_TRY_OR(end, inv_new_zeros(&o.pictures, j->tables));
	INV_TRY_OR(end, inv_new_zeros(&o.href, j->tables));
	INV_TRY_OR(end, inv_new_zeros(&o.verdict, j->tables));
	for (size_t i = 0; i < j->tables; i++) {
		const inv_study_bank *b = j->table_bank[i];

		if (has_runs(j, b))
			INV_TRY_OR(end, inv_new_path(&o.href[i], inv_study_below(j->study, b->folder),
			                             INV_RUN_REPORT));
		INV_TRY_OR(end, invar_results_open(p->session->ctx, j->table[i], &o.table[i]));
		o.verdict[i] = read_verdict(p->session, b);
		o.part[i] = (inv_page_part){b->title, o.href[i], &o.pictures[i], o.verdict[i]};
		INV_TRY_OR(end, draw_searches(p, b, o.table[i], o.verdict[i], &o.pictures[i]));
	}
	st = inv_overview_write(p->session, j->study->name,
	                        (const invar_results *const *)o.table, o.part, j->tables,
	                        p->path);
end:
	for (size_t i = 0; o.verdict && i < j->tables; i++) {
		invar_results_free(o.table[i]);
		inv_page_pictures_clear(&o.pictures[i]);
		inv_free(o.href[i]);
		inv_free(o.verdict[i]);
	}
	inv_free(o.table);
	inv_free(o.part);
	inv_free(o.pictures);
	inv_free(o.href);
	inv_free(o.verdict);
	return st;
}

/* Its inputs are tables, which stand for all results that they were made from. */
static invar_status add_page(paging *p, const char *folder, const char *const *inputs,
                             invar_status (*write)(void *user))
{
	inv_study_job *j = p->job;
	bool done;
	invar_status st;

	INV_TRY(inv_new_path(&p->path, folder, INV_RUN_REPORT));
	st = inv_study_add(j,
	                   &(inv_own_stage){.user = p,
	                                    .name = inv_study_below(j->study, p->path),
	                                    .inputs = inputs,
	                                    .options = j->study->name,
	                                    .output = p->path,
	                                    .run = write},
	                   &done);
	inv_free(p->path);
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
