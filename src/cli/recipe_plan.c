/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_plan.c - invar run --dry-run: the plan of a study as a table or JSON. */
#include <math.h>
#include <string.h>

#include "cli/command.h"
#include "cli/command_files.h"
#include "cli/display_text.h"
#include "cli/recipe_words.h"
#include "cli/study_report.h"
#include "cli/study_tables.h"
#include "cli/term.h"
#include "report/table.h"

static void spell_bytes(double bytes, char *out, size_t size)
{
	if (isnan(bytes))
		snprintf(out, size, "?");
	else if (bytes < 1e7)
		snprintf(out, size, "%.2f MB", bytes / 1e6);
	else if (bytes < 1e10)
		snprintf(out, size, "%.0f MB", bytes / 1e6);
	else
		snprintf(out, size, "%.1f GB", bytes / 1e9);
}

static void spell_seconds(double seconds, char out[INV_SPELLED_TIME])
{
	if (isnan(seconds))
		snprintf(out, INV_SPELLED_TIME, "?");
	else
		inv_duration_text(seconds, out);
}

/* Of what is pending; `unknown` counts what has no estimate. */
typedef struct totals {
	double seconds, bytes;
	size_t pending, unknown;
} totals;

static totals add_up(const inv_plan *p)
{
	totals t = {0};

	for (size_t i = 0; i < p->count; i++) {
		const inv_planned *one = &p->list[i];

		if (!one->pending)
			continue;
		t.pending++;
		t.unknown += isnan(one->seconds) || isnan(one->bytes);
		t.seconds += isnan(one->seconds) ? 0 : one->seconds;
		t.bytes += isnan(one->bytes) ? 0 : one->bytes;
	}
	return t;
}

/* Has it a reason that no stage before it has? A missing file concerns many. */
static bool is_first(const inv_plan *p, size_t i)
{
	for (size_t k = 0; k < i && p->list[i].unknown; k++)
		if (p->list[k].unknown && strcmp(p->list[k].unknown, p->list[i].unknown) == 0)
			return false;
	return p->list[i].unknown;
}

static inv_table *fill_table(const inv_plan *p)
{
	inv_table *t = inv_table_new(4);

	if (!t)
		return NULL;
	inv_table_cell(t, "stage");
	inv_table_cell(t, "state");
	inv_table_cell(t, "time");
	inv_table_cell(t, "disk");
	for (size_t i = 0; i < p->count; i++) {
		const inv_planned *one = &p->list[i];
		bool costs = one->pending && !(one->seconds == 0 && one->bytes == 0);
		char time[INV_SPELLED_TIME], bytes[40];

		spell_seconds(one->seconds, time);
		spell_bytes(one->bytes, bytes, sizeof bytes);
		inv_table_cell(t, "%s", one->stage);
		inv_table_cell(t, "%s", one->pending ? "to run" : "done");
		inv_table_cell(t, "%s", costs ? time : "");
		inv_table_cell(t, "%s", costs ? bytes : "");
		if (is_first(p, i))
			inv_table_note(t, one->unknown);
	}
	return t;
}

static void print_totals(const inv_plan *p)
{
	const totals all = add_up(p);
	char time[INV_SPELLED_TIME], bytes[40], size[40];

	spell_seconds(all.seconds, time);
	spell_bytes(all.bytes, bytes, sizeof bytes);
	spell_bytes(p->free_bytes, size, sizeof size);
	if (!all.pending) {
		printf("\nAll stages are done.\n");
		return;
	}
	printf("\n%zu of %zu %s to run: about %s, %s of disk space, %s free%s", all.pending,
	       p->count, inv_noun(p->count, "stage", "stages"), time, bytes, size,
	       all.bytes > p->free_bytes ? ": not enough" : "");
	if (all.unknown)
		printf("; without the %zu marked ?", all.unknown);
	puts(".\nTimes are estimates from short measurements; expect a factor of two.");
}

static invar_status print_text(const inv_plan *p)
{
	inv_table *t = fill_table(p);
	bool written = t && inv_table_write(t, "text", stdout);

	inv_table_free(t);
	if (!written)
		return inv_no_memory();
	print_totals(p);
	return INVAR_OK;
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static invar_status print_json(const inv_study *study, const inv_plan *p)
{
	const totals all = add_up(p);
	json_t *stages = json_array();

	for (size_t i = 0; i < p->count; i++) {
		const inv_planned *one = &p->list[i];

		json_array_append_new(stages,
		                      json_pack("{s:o, s:b, s:o, s:o, s:o*}", "stage",
		                                inv_name_json(one->stage), "pending", one->pending,
		                                "seconds", number_or_null(one->seconds), "bytes",
		                                number_or_null(one->bytes), "unknown",
		                                one->unknown ? inv_name_json(one->unknown) : NULL));
	}
	return inv_print_json(
		json_pack("{s:o, s:o, s:o, s:I, s:f, s:f, s:o}", "name", inv_name_json(study->name),
	              "folder", inv_name_json(study->folder), "stages", stages, "pending",
	              (json_int_t)all.pending, "seconds", all.seconds, "bytes", all.bytes,
	              "free_bytes", number_or_null(p->free_bytes)));
}

/* What comes after the stages of banks. */
static invar_status add_files(const inv_study *study, inv_plan *p)
{
	const char *name;
	invar_status st = INVAR_OK;

	for (size_t i = 0; (name = inv_study_table_file(i)) && st == INVAR_OK; i++)
		st = inv_plan_add_file(study, study->folder, name, p);
	return st == INVAR_OK ? inv_study_plan_report(study, p) : st;
}

invar_status inv_print_plan(inv_session *s, const inv_study *study)
{
	inv_plan plan;
	invar_status st = inv_study_plan(study, s->ctx, &plan);

	if (st == INVAR_OK)
		st = add_files(study, &plan);
	inv_term_clear(s->term);
	if (st == INVAR_OK)
		st = s->common->json ? print_json(study, &plan) : print_text(&plan);
	else
		inv_study_spelled(st);
	inv_plan_clear(&plan);
	return st;
}
