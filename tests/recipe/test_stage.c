/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stage.c - claims about running stages: finished stages are skipped, changed ones
 * run again, and the record is correct whatever happens.
 */
#include "recipe/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "support.h"

/* A stage that copies its input file and its option into its output. */
typedef struct copier {
	const char *from, *option;
	char to[300];
	invar_status fails; /* after it has begun to write */
	unsigned runs;
} copier;

static unsigned cleared;

static invar_status run_copier(void *user)
{
	copier *c = user;
	char *text = c->from ? test_read(c->from, NULL) : NULL;
	char all[200];
	int length =
		snprintf(all, sizeof all, "%s/%s", text ? text : "", c->option ? c->option : "");

	free(text);
	c->runs++;
	test_write(c->to, all, (size_t)length);
	return c->fails;
}

static void add(invar_stages *s, copier *c, const char *name)
{
	const char *inputs[] = {c->from, NULL};
	const invar_stage stage = {.size = sizeof stage,
	                           .user = c,
	                           .name = name,
	                           .inputs = inputs,
	                           .options = c->option,
	                           .output = c->to,
	                           .run = run_copier};

	assert_int_equal(invar_stages_add(s, &stage), INVAR_OK);
}

typedef struct job {
	char folder[200];
	copier first, second;
} job;

static void make_job(job *j, const char *name)
{
	*j = (job){.first.option = "1", .second.option = "2"};
	snprintf(j->folder, sizeof j->folder, "%s", test_path("%s", name));
	assert_int_equal(mkdir(j->folder, 0777), 0);
	snprintf(j->first.to, sizeof j->first.to, "%s/a", j->folder);
	snprintf(j->second.to, sizeof j->second.to, "%s/b", j->folder);
	j->second.from = j->first.to;
}

/* Runs both and says which ran: "", "1", "2" or "12"; "!" follows a failure. */
static const char *run_job(job *j)
{
	static char said[8];
	unsigned before[2] = {j->first.runs, j->second.runs};
	invar_stages *s;
	invar_status st;

	assert_int_equal(invar_stages_open(test_ctx, j->folder, &s), INVAR_OK);
	add(s, &j->first, "first");
	add(s, &j->second, "second");
	st = invar_stages_run(s);
	assert_int_equal(invar_stages_ran(s, "first"), j->first.runs > before[0]);
	invar_stages_close(s);
	snprintf(said, sizeof said, "%s%s%s", j->first.runs > before[0] ? "1" : "",
	         j->second.runs > before[1] ? "2" : "", st != INVAR_OK ? "!" : "");
	return said;
}

/* "done", "begun", or "" if the record has no such stage. */
static const char *state_of(const job *j, const char *name)
{
	static char state[16];
	char path[300];
	json_t *record;

	snprintf(path, sizeof path, "%s/stages.json", j->folder);
	assert_int_equal(inv_json_load(path, &record), INVAR_OK);
	snprintf(state, sizeof state, "%s",
	         json_is_object(json_object_get(json_object_get(record, "stages"), name))
	             ? json_string_value(json_object_get(
					   json_object_get(json_object_get(record, "stages"), name), "state"))
	             : "");
	json_decref(record);
	return state;
}

static void what_is_done_is_skipped(void **state)
{
	job j;

	(void)state;
	make_job(&j, "skipped");
	assert_string_equal(run_job(&j), "12");
	assert_string_equal(run_job(&j), "");
	assert_string_equal(run_job(&j), "");
	assert_string_equal(state_of(&j, "second"), "done");
}

static void a_changed_option_redoes_what_depends_on_it(void **state)
{
	job j;

	(void)state;
	make_job(&j, "option");
	run_job(&j);
	j.second.option = "two";
	assert_string_equal(run_job(&j), "2");
	j.first.option = "one";
	assert_string_equal(run_job(&j), "12");
	assert_string_equal(run_job(&j), "");
	j.first.option = NULL;
	assert_string_equal(run_job(&j), "12");
}

static void a_changed_input_redoes_what_depends_on_it(void **state)
{
	char path[300];
	job j;

	(void)state;
	make_job(&j, "input");
	snprintf(path, sizeof path, "%s/source", j.folder);
	test_write(path, "old", 3);
	j.first.from = path;
	assert_string_equal(run_job(&j), "12");
	test_write(path, "old", 3); /* the same contents, another time */
	assert_string_equal(run_job(&j), "");
	test_write(path, "new", 3); /* the same size */
	assert_string_equal(run_job(&j), "12");
	unlink(path);
	assert_string_equal(run_job(&j), "!");
	test_assert_error("source");
	assert_string_equal(state_of(&j, "first"), "done");
}

/* Equal inputs give equal bytes, so stages that read an output need not run again. */
static void a_deleted_output_is_made_again_alone(void **state)
{
	job j;

	(void)state;
	make_job(&j, "deleted");
	run_job(&j);
	unlink(j.first.to);
	assert_string_equal(run_job(&j), "1");
	test_write(j.second.to, "cut", 1);
	assert_string_equal(run_job(&j), "2");
	assert_string_equal(run_job(&j), "");
}

static void a_failure_ends_the_list_and_the_record_says_so(void **state)
{
	job j;

	(void)state;
	make_job(&j, "failure");
	j.first.fails = INVAR_E_NUMERIC;
	assert_string_equal(run_job(&j), "1!");
	assert_string_equal(state_of(&j, "first"), "begun");
	assert_string_equal(state_of(&j, "second"), "");
	j.first.fails = INVAR_OK;
	j.second.fails = INVAR_E_CANCELLED; /* it was interrupted */
	assert_string_equal(run_job(&j), "12!");
	assert_string_equal(state_of(&j, "first"), "done");
	assert_string_equal(state_of(&j, "second"), "begun");
	j.second.fails = INVAR_OK;
	assert_string_equal(run_job(&j), "2");
	assert_string_equal(state_of(&j, "second"), "done");
	assert_false(test_has_part(j.folder));
}

static int stop(void *user, const char *name, uint64_t done, uint64_t total)
{
	(void)user;
	(void)name;
	(void)done;
	(void)total;
	return 1;
}

static void a_hook_that_stops_ends_it_between_stages(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .progress = stop};
	invar_context *ctx;
	invar_stages *s;
	job j;

	(void)state;
	make_job(&j, "stopped");
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(invar_stages_open(ctx, j.folder, &s), INVAR_OK);
	add(s, &j.first, "first");
	assert_int_equal(invar_stages_run(s), INVAR_E_CANCELLED);
	assert_int_equal(j.first.runs, 0);
	invar_stages_close(s);
	invar_context_free(ctx);
}

/* ---- What was made from other inputs is removed, and only that --------------------- */

static invar_status clear_copier(void *own)
{
	cleared++;
	return unlink(((copier *)own)->to) == 0 ? INVAR_OK : INVAR_E_IO;
}

static invar_status describe_copier(void *own, json_t *inputs)
{
	json_object_set_new(inputs, "option", json_string(((copier *)own)->option));
	return INVAR_OK;
}

static void keep_copier(void *own)
{
	(void)own;
}

static const inv_stage_kind clearing = {.describe = describe_copier,
                                        .clear = clear_copier,
                                        .run = run_copier,
                                        .free = keep_copier};

static invar_status run_clearing(const job *j, copier *c)
{
	invar_stages *s;
	invar_status st;

	assert_int_equal(invar_stages_open(test_ctx, j->folder, &s), INVAR_OK);
	assert_int_equal(inv_stages_add(s, "first", NULL, NULL, c->to, &clearing, c), INVAR_OK);
	st = invar_stages_run(s);
	invar_stages_close(s);
	return st;
}

static void only_what_the_stage_made_is_cleared(void **state)
{
	job j;

	(void)state;
	make_job(&j, "cleared");
	test_write(j.first.to, "of somebody else", 16);
	cleared = 0;
	assert_int_equal(run_clearing(&j, &j.first), INVAR_OK);
	assert_int_equal(cleared, 0); /* the record does not know it */
	j.first.fails = INVAR_E_CANCELLED;
	j.first.option = "other";
	assert_int_equal(run_clearing(&j, &j.first), INVAR_E_CANCELLED);
	assert_int_equal(cleared, 1);
	assert_int_equal(run_clearing(&j, &j.first), INVAR_E_CANCELLED);
	assert_int_equal(cleared, 1); /* begun with the same inputs: it resumes */
	j.first.option = "third";
	j.first.fails = INVAR_OK;
	assert_int_equal(run_clearing(&j, &j.first), INVAR_OK);
	assert_int_equal(cleared, 2);
}

static void a_folder_may_be_moved(void **state)
{
	job j, moved;

	(void)state;
	make_job(&j, "here");
	run_job(&j);
	moved = j;
	snprintf(moved.folder, sizeof moved.folder, "%s", test_path("there"));
	assert_int_equal(rename(j.folder, moved.folder), 0);
	snprintf(moved.first.to, sizeof moved.first.to, "%s/a", moved.folder);
	snprintf(moved.second.to, sizeof moved.second.to, "%s/b", moved.folder);
	moved.second.from = moved.first.to;
	assert_string_equal(run_job(&moved), "");
}

static void a_record_of_others_is_refused(void **state)
{
	static const char *const others[] = {"{}", "[]", "{\"format\": \"invar-stages\"}",
	                                     "{\"format\": \"invar-stages\", \"version\": 2, "
	                                     "\"stages\": {}}"};
	static const char silent[] = "{\"format\": \"invar-stages\", \"version\": 1, "
								 "\"stages\": {\"first\": 7}}";
	invar_stages *s;
	char path[300];
	job j;

	(void)state;
	make_job(&j, "foreign");
	snprintf(path, sizeof path, "%s/stages.json", j.folder);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		test_write(path, others[i], strlen(others[i]));
		assert_int_equal(invar_stages_open(test_ctx, j.folder, &s), INVAR_E_FORMAT);
		test_assert_error("stages.json");
		assert_null(s);
	}
	test_write(path, silent, strlen(silent));
	assert_string_equal(run_job(&j), "12"); /* an empty entry */
}

/* Two programs in one folder would each write the record that it read at the start. */
static void a_folder_is_for_one_at_a_time(void **state)
{
	invar_stages *s, *second;
	job j;

	(void)state;
	make_job(&j, "shared");
	assert_int_equal(invar_stages_open(test_ctx, j.folder, &s), INVAR_OK);
	assert_int_equal(invar_stages_open(test_ctx, j.folder, &second), INVAR_E_IO);
	test_assert_error("another process runs its stages; wait until it has ended");
	assert_null(second);
	invar_stages_close(s);
	assert_string_equal(run_job(&j), "12");
}

static void two_stages_of_one_name_are_refused(void **state)
{
	const invar_stage stage = {
		.size = sizeof stage, .name = "first", .output = "x", .run = run_copier};
	invar_stages *s;
	job j;

	(void)state;
	make_job(&j, "twice");
	assert_int_equal(invar_stages_open(test_ctx, j.folder, &s), INVAR_OK);
	add(s, &j.first, "first");
	assert_int_equal(invar_stages_add(s, &stage), INVAR_E_USE);
	invar_stages_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_is_skipped),
		cmocka_unit_test(a_changed_option_redoes_what_depends_on_it),
		cmocka_unit_test(a_changed_input_redoes_what_depends_on_it),
		cmocka_unit_test(a_deleted_output_is_made_again_alone),
		cmocka_unit_test(a_failure_ends_the_list_and_the_record_says_so),
		cmocka_unit_test(a_hook_that_stops_ends_it_between_stages),
		cmocka_unit_test(only_what_the_stage_made_is_cleared),
		cmocka_unit_test(a_folder_may_be_moved),
		cmocka_unit_test(a_record_of_others_is_refused),
		cmocka_unit_test(a_folder_is_for_one_at_a_time),
		cmocka_unit_test(two_stages_of_one_name_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
