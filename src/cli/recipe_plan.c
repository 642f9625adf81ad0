/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_plan.c - invar run --dry-run: the plan of a study as a table or JSON. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/command_results.h"
#include "cli/display_text.h"
#include "cli/study_command.h"
#include "cli/term.h"

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
		/* A missing file concerns many stages, and is noted once. */
		for (size_t k = 0; one->unknown && k <= i; k++) {
			if (k == i)
				inv_table_note(t, one->unknown);
			else if (j->plan[k].unknown && strcmp(j->plan[k].unknown, one->unknown) == 0)
				break;
		}
	}
	return inv_put_table(t, "text", stdout);
}

invar_status inv_print_plan(inv_session *s, const inv_study *study)
{
	inv_study_job j = {.study = study, .plans = true};
	double free_bytes = (double)inv_free_bytes(study->folder), seconds = 0, bytes = 0;
	size_t pending = 0, timed = 0, unknown = 0; /* stages; with a time; without a size */
	char time[INV_SPELLED_TIME], size[INV_SPELLED_TIME], left[INV_SPELLED_TIME];
	json_t *stages = json_array();
	invar_status st = inv_study_execute(s, &j);

	inv_term_clear(s->term);
	if (st != INVAR_OK) {
		inv_study_spelled(st);
		goto end;
	}
	for (size_t i = 0; i < j.planned; i++) {
		const inv_planned *one = &j.plan[i];

		json_array_append_new(stages,
		                      json_pack("{s:o, s:b, s:o, s:o, s:o*}", "stage",
		                                inv_json_path(one->stage), "pending", one->pending,
		                                "seconds", inv_json_number(one->seconds), "bytes",
		                                inv_json_number(one->bytes), "unknown",
		                                one->unknown ? inv_json_path(one->unknown) : NULL));
		if (!one->pending)
			continue;
		pending++;
		timed += !isnan(one->seconds);
		unknown += isnan(one->bytes);
		seconds += isnan(one->seconds) ? 0 : one->seconds;
		bytes += isnan(one->bytes) ? 0 : one->bytes;
	}
	if (s->json) {
		st = inv_print_json(
			json_pack("{s:o, s:o, s:O, s:I, s:f, s:f, s:o}", "name",
		              inv_json_path(study->name), "folder", inv_json_path(study->folder),
		              "stages", stages, "pending", (json_int_t)pending, "seconds", seconds,
		              "bytes", bytes, "free_bytes", inv_json_number(free_bytes)));
		goto end;
	}
	INV_TRY_OR(end, print_stages(&j));
	if (!pending) {
		printf("\nAll stages are done.\n");
		goto end;
	}
	printf("\n%zu of %zu %s to run: %s of disk space, %s free%s", pending, j.planned,
	       inv_noun(j.planned, "stage", "stages"), inv_size_text(bytes, size),
	       inv_size_text(free_bytes, left), bytes > free_bytes ? ": not enough" : "");
	if (unknown)
		printf("; without the %zu marked ?", unknown);
	puts(".");
	if (timed)
		printf("%zu of them ran before and took %s then.\n", timed,
		       inv_duration_text(seconds, time));
end:
	json_decref(stages);
	inv_study_job_clear(&j);
	return st;
}
