/* SPDX-License-Identifier: Apache-2.0 */
/* study_report.c - the page of a study, as its last stage. See study_report.h. */
#include "cli/study_report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command_files.h"
#include "cli/report_page.h"

typedef struct paging {
	inv_session *session;
	const inv_study_job *job;
	invar_options *data; /* which images the banks have */
	char *path;
} paging;

size_t inv_study_report_files(const inv_study *study)
{
	return study->reports ? 1 : 0;
}

/* The images that all banks were made from; NULL if they are not the same for all. */
static const char *common_images(const inv_study *s)
{
	const char *images = s->banks ? s->bank[0].dataset : NULL;

	for (size_t i = 1; i < s->banks && images; i++)
		if (!s->bank[i].dataset || strcmp(s->bank[i].dataset, images) != 0)
			images = NULL;
	return images;
}

/* Options of images, from those of the first bank. */
static invar_status choose_images(paging *p)
{
	const inv_settings *set = &p->job->study->bank[0].encode;
	invar_status st = invar_options_new("data", &p->data);

	for (size_t i = 0; i < set->count && st == INVAR_OK; i++)
		if (invar_options_find(p->data, set->list[i].name))
			st = invar_options_set(p->data, set->list[i].name, set->list[i].text);
	return st;
}

static invar_status write_page(void *user)
{
	const paging *p = user;
	const inv_study *study = p->job->study;
	const char *split = inv_settings_find(&study->eval, "split");
	const inv_report r = {.run = (const char *const *)p->job->run,
	                      .runs = p->job->runs,
	                      .split = split ? split : "test",
	                      .as_is = true, /* what is measured stands in the recipe */
	                      .images = common_images(study),
	                      .data = p->data,
	                      .output = p->path};

	return inv_report_write(p->session, &r);
}

/* The tables stand for all results that they were made from. */
static invar_status add_page(inv_study_job *j, paging *p)
{
	const char **inputs = calloc(j->tables + 1, sizeof *inputs);
	bool done;
	invar_status st;

	if (!inputs)
		return inv_no_memory(p->session);
	for (size_t i = 0; i < j->tables; i++)
		inputs[i] = j->table[i];
	st = inv_study_add(j,
	                   &(invar_stage){.size = sizeof(invar_stage),
	                                  .user = p,
	                                  .name = "report.html",
	                                  .inputs = inputs,
	                                  .options = j->study->name,
	                                  .output = p->path,
	                                  .run = write_page},
	                   &done);
	free((void *)(uintptr_t)inputs);
	return st;
}

invar_status inv_study_report(inv_session *s, inv_study_job *j)
{
	paging p = {.session = s, .job = j};
	invar_status st;

	if (!j->study->reports || !j->runs)
		return INVAR_OK;
	p.path = inv_path(j->study->folder, INVAR_RUN_REPORT);
	st = p.path ? choose_images(&p) : inv_no_memory(s);
	if (st == INVAR_OK)
		st = add_page(j, &p);
	invar_options_free(p.data);
	free(p.path);
	return st;
}
