/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_plan.c - invar run --dry-run: the plan of a study as a table or JSON. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/recipe_words.h"
#include "cli/study_command.h"
#include "cli/term.h"

/* Of what is pending. */
typedef struct totals {
	double seconds, bytes;
	size_t pending, timed, unknown; /* stages; with a time; without disk space */
} totals;

static totals add_up(const inv_study_job *j)
{
	totals t = {0};

	for (size_t i = 0; i < j->planned; i++) {
		const inv_planned *one = &j->plan[i];

		if (!one->pending)
			continue;
		t.pending++;
		t.timed += !isnan(one->seconds);
		t.unknown += isnan(one->bytes);
		t.seconds += isnan(one->seconds) ? 0 : one->seconds;
		t.bytes += isnan(one->bytes) ? 0 : one->bytes;
	}
	return t;
}

/* Has it a reason that no stage before it has? A missing file concerns many. */
static bool is_first(const inv_study_job *j, size_t i)
{
	for (size_t k = 0; k < i && j->plan[i].unknown; k++)
		if (j->plan[k].unknown && strcmp(j->plan[k].unknown, j->plan[i].unknown) == 0)
			return false;
	return j->plan[i].unknown;
}

static invar_status print_stages(const inv_study_job *j)
{
	static const char *const heads[] = {"stage", "state", "took", "disk"};
	char took[INV_SPELLED_TIME], size[INV_SPELLED_TIME];
	inv_table *t = inv_table_new(4);

	for (size_t i = 0; t && i < 4; i++)
		inv_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; t && i < j->planned; i++) {
		const inv_planned *one = &j->plan[i];

		inv_table_cell(t, "%s", one->stage);
		inv_table_cell(t, "%s", one->pending ? "to run" : "done");
		inv_table_cell(t, "%s",
		               one->pending && !isnan(one->seconds)
		                   ? inv_duration_text(one->seconds, took)
		                   : "");
		inv_table_cell(t, "%s",
		               one->pending && one->bytes != 0 ? inv_size_text(one->bytes, size)
		                                               : "");
		if (is_first(j, i))
			inv_table_note(t, one->unknown);
	}
	return inv_put_table(t, "text", stdout);
}

static void print_totals(const inv_study_job *j, double free_bytes)
{
	const totals all = add_up(j);
	char time[INV_SPELLED_TIME], size[INV_SPELLED_TIME], left[INV_SPELLED_TIME];

	if (!all.pending) {
		printf("\nAll stages are done.\n");
		return;
	}
	printf("\n%zu of %zu %s to run: %s of disk space, %s free%s", all.pending, j->planned,
	       inv_noun(j->planned, "stage", "stages"), inv_size_text(all.bytes, size),
	       inv_size_text(free_bytes, left), all.bytes > free_bytes ? ": not enough" : "");
	if (all.unknown)
		printf("; without the %zu marked ?", all.unknown);
	puts(".");
	if (all.timed)
		printf("%zu of them ran before and took %s then.\n", all.timed,
		       inv_duration_text(all.seconds, time));
}

static invar_status print_plan_json(const inv_study_job *j, double free_bytes)
{
	const totals all = add_up(j);
	json_t *stages = json_array();

	for (size_t i = 0; i < j->planned; i++) {
		const inv_planned *one = &j->plan[i];

		json_array_append_new(stages,
		                      json_pack("{s:o, s:b, s:o, s:o, s:o*}", "stage",
		                                inv_json_path(one->stage), "pending", one->pending,
		                                "seconds", inv_json_number(one->seconds), "bytes",
		                                inv_json_number(one->bytes), "unknown",
		                                one->unknown ? inv_json_path(one->unknown) : NULL));
	}
	return inv_print_json(json_pack(
		"{s:o, s:o, s:o, s:I, s:f, s:f, s:o}", "name", inv_json_path(j->study->name),
		"folder", inv_json_path(j->study->folder), "stages", stages, "pending",
		(json_int_t)all.pending, "seconds", all.seconds, "bytes", all.bytes, "free_bytes",
		inv_json_number(free_bytes)));
}

invar_status inv_print_plan(inv_session *s, const inv_study *study)
{
	inv_study_job j = {.study = study, .plans = true};
	double free_bytes = (double)inv_free_bytes(study->folder);
	invar_status st = inv_study_execute(s, &j);

	inv_term_clear(s->term);
	if (st != INVAR_OK)
		inv_study_spelled(st);
	else if (s->json)
		st = print_plan_json(&j, free_bytes);
	else if ((st = print_stages(&j)) == INVAR_OK)
		print_totals(&j, free_bytes);
	inv_study_job_clear(&j);
	return st;
}
