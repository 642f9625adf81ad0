/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stage.c - claims about running stages: finished stages are skipped, changed ones
 * run again, and the record is correct whatever happens.
 */
#include "study/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/json.h"
#include "support.h"

/* A stage that copies its input file and its option into its output. */
typedef struct copier {
	const char *from, *option;
	char to[300];
	invar_status fails; /* after it has begun to write */
	unsigned runs;
	bool resumed;       /* the last run found something begun */
	const char *random; /* is written besides */
} copier;

static invar_status run_copier(void *user)
{
	copier *c = user;
	char *text = c->from ? test_read(c->from, NULL) : NULL;
	char all[200];
	int length = snprintf(all, sizeof all, "%s/%s%s", text ? text : "",
	                      c->option ? c->option : "", c->random ? c->random : "");

	free(text);
	c->runs++;
	test_write(c->to, all, (size_t)length);
	return c->fails;
}

static void add(inv_stages *s, copier *c, const char *name)
{
	const char *inputs[] = {c->from, NULL};
	const inv_own_stage stage = {.user = c,
	                             .name = name,
	                             .inputs = inputs,
	                             .options = c->option,
	                             .output = c->to,
	                             .run = run_copier};

	assert_int_equal(inv_stages_add_own(s, &stage), INVAR_OK);
}

typedef struct job {
	char folder[200];
	copier first, second, third;
} job;

static void make_job(job *j, const char *name)
{
	*j = (job){.first.option = "1", .second.option = "2"};
	snprintf(j->folder, sizeof j->folder, "%s", test_path("%s", name));
	assert_int_equal(mkdir(j->folder, 0777), 0);
	snprintf(j->first.to, sizeof j->first.to, "%s/a", j->folder);
	snprintf(j->second.to, sizeof j->second.to, "%s/b", j->folder);
	snprintf(j->third.to, sizeof j->third.to, "%s/c", j->folder);
	j->second.from = j->first.to;
}

/* Runs both and says which ran: "", "1", "2" or "12"; "!" follows a failure. */
static const char *run_job(job *j)
{
	static char said[8];
	unsigned before[2] = {j->first.runs, j->second.runs};
	inv_stages *s;
	invar_status st;

	assert_int_equal(inv_stages_open(test_ctx, j->folder, &s), INVAR_OK);
	add(s, &j->first, "first");
	add(s, &j->second, "second");
	st = inv_stages_run(s);
	assert_int_equal(inv_stages_ran(s, "first"), j->first.runs > before[0]);
	inv_stages_close(s);
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

/* Whether both are pending, "12", the second alone, "2", or none, ""; nothing is written.
 */
static const char *ask_job(job *j, double *seconds)
{
	static char said[4];
	bool first, second;
	inv_stages *s;

	assert_int_equal(inv_stages_open(test_ctx, j->folder, &s), INVAR_OK);
	add(s, &j->first, "first");
	add(s, &j->second, "second");
	assert_int_equal(inv_stages_pending(s, "first", &first), INVAR_OK);
	assert_int_equal(inv_stages_pending(s, "second", &second), INVAR_OK);
	*seconds = inv_stages_seconds(s, "second");
	inv_stages_close(s);
	snprintf(said, sizeof said, "%s%s", first ? "1" : "", second ? "2" : "");
	return said;
}

static void a_plan_says_what_is_pending_and_how_long_it_took(void **state)
{
	double seconds;
	job j;

	(void)state;
	make_job(&j, "asked");
	assert_int_equal(rmdir(j.folder), 0); /* a study that does not exist yet */
	assert_string_equal(ask_job(&j, &seconds), "12");
	assert_true(isnan(seconds));
	assert_false(test_exists(j.folder));
	assert_int_equal(mkdir(j.folder, 0777), 0);
	assert_string_equal(run_job(&j), "12");
	assert_string_equal(ask_job(&j, &seconds), "");
	assert_true(seconds >= 0 && seconds < 60);
	j.second.option = "two";
	assert_string_equal(ask_job(&j, &seconds), "2");
	assert_true(seconds >= 0);
	assert_int_equal(j.second.runs, 1);
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
	inv_stages *s;
	job j;

	(void)state;
	make_job(&j, "stopped");
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(inv_stages_open(ctx, j.folder, &s), INVAR_OK);
	add(s, &j.first, "first");
	assert_int_equal(inv_stages_run(s), INVAR_E_CANCELLED);
	assert_int_equal(j.first.runs, 0);
	inv_stages_close(s);
	invar_context_free(ctx);
}

/* ---- A folder is replaced as a whole ------------------------------------------------ */

/* A stage that makes a folder of two files, "a" and, at the end, "b". */
static invar_status run_folder(const inv_stage_work *w, const char *at)
{
	copier *c = w->user;
	char path[400];

	c->runs++;
	mkdir(at, 0777);
	snprintf(path, sizeof path, "%s/a", at);
	c->resumed = test_exists(path);
	test_write(path, c->option, strlen(c->option));
	if (c->fails != INVAR_OK)
		return c->fails;
	snprintf(path, sizeof path, "%s/b", at);
	test_write(path, c->option, strlen(c->option));
	return INVAR_OK;
}

static invar_status list_folder(invar_context *ctx, const char *folder,
                                inv_stage_file *each, void *user)
{
	static const char *const names[] = {"a", "b", "c"};
	invar_status st = INVAR_OK;

	(void)ctx;
	for (size_t i = 0; i < 3 && st == INVAR_OK; i++) {
		char path[400];

		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		if (i < 2 || test_exists(path))
			st = each(user, path);
	}
	return st;
}

static inv_ownership claim_entry(const void *user, const char *entry)
{
	(void)user;
	return strlen(entry) == 1 ? INV_OWN_FILE : INV_FOREIGN;
}

static invar_status refuse_nothing(const char *folder)
{
	(void)folder;
	return INVAR_OK;
}

static invar_status remove_folder(const char *folder, const char *to)
{
	const inv_owner owner = {claim_entry, NULL};

	if (!test_exists(folder))
		return INVAR_OK;
	assert_int_equal(inv_folder_move_foreign(folder, to, owner), INVAR_OK);
	assert_int_equal(inv_folder_remove_own(folder, owner, "a"), INVAR_OK);
	assert_int_equal(rmdir(folder), 0);
	return INVAR_OK;
}

static invar_status describe_copier(const inv_stage_work *w, json_t *inputs)
{
	json_object_set_new(inputs, "option", json_string(((copier *)w->user)->option));
	return INVAR_OK;
}

static const inv_stage_kind folder_kind = {.describe = describe_copier,
                                           .run = run_folder,
                                           .list = list_folder,
                                           .refuse_foreign = refuse_nothing,
                                           .remove = remove_folder};

/* Runs it with an option and says what the folder then contains: "1 1" for "a" and "b";
 * "!" follows a failure. */
static const char *make_folder(const job *j, copier *c, const char *option,
                               invar_status fails)
{
	static char said[40];
	char *a, *b;
	inv_stages *s;
	invar_status st;

	c->option = option;
	c->fails = fails;
	assert_int_equal(inv_stages_open(test_ctx, j->folder, &s), INVAR_OK);
	assert_int_equal(inv_stages_add(s, "first", NULL, NULL, c->to, &folder_kind,
	                                &(inv_stage_work){.user = c}),
	                 INVAR_OK);
	st = inv_stages_run(s);
	inv_stages_close(s);
	a = test_exists(test_text("%s/a", c->to)) ? test_read(test_text("%s/a", c->to), NULL)
	                                          : NULL;
	b = test_exists(test_text("%s/b", c->to)) ? test_read(test_text("%s/b", c->to), NULL)
	                                          : NULL;
	snprintf(said, sizeof said, "%s %s%s", a ? a : "-", b ? b : "-",
	         st == INVAR_OK ? "" : "!");
	free(a);
	free(b);
	return said;
}

/* Finished outputs stay until the new ones are finished; unfinished work is resumed by the
 * same options and replaced by others. */
static void a_folder_is_replaced_when_the_new_one_is_finished(void **state)
{
	const char *part;
	job j;

	(void)state;
	make_job(&j, "replaced");
	part = test_text("%s.part", j.first.to);
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_OK), "1 1");
	assert_false(test_exists(part));
	test_write(test_text("%s/notes", j.first.to), "mine", 4);
	assert_string_equal(make_folder(&j, &j.first, "2", INVAR_E_NUMERIC), "1 1!");
	assert_true(test_exists(test_text("%s.part/a", j.first.to)));
	assert_string_equal(state_of(&j, "first"), "done");
	assert_string_equal(make_folder(&j, &j.first, "2", INVAR_E_NUMERIC), "1 1!");
	assert_true(j.first.resumed);
	assert_string_equal(make_folder(&j, &j.first, "3", INVAR_E_NUMERIC), "1 1!");
	assert_false(j.first.resumed);
	assert_string_equal(make_folder(&j, &j.first, "3", INVAR_OK), "3 3");
	assert_true(j.first.resumed);
	assert_false(test_exists(test_text("%s.part", j.first.to)));
	assert_true(test_exists(test_text("%s/notes", j.first.to)));

	/* Back to what is there: nothing runs, and what was begun beside it goes. */
	j.first.runs = 0;
	assert_string_equal(make_folder(&j, &j.first, "4", INVAR_E_NUMERIC), "3 3!");
	assert_string_equal(make_folder(&j, &j.first, "3", INVAR_OK), "3 3");
	assert_int_equal(j.first.runs, 1);
	assert_false(test_exists(test_text("%s.part", j.first.to)));
}

/* A first attempt is made under its name, as nothing is there that it could damage. */
static void an_unfinished_folder_is_resumed_or_replaced(void **state)
{
	job j;

	(void)state;
	make_job(&j, "unfinished");
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_E_NUMERIC), "1 -!");
	assert_string_equal(make_folder(&j, &j.first, "2", INVAR_E_NUMERIC), "1 -!");
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_OK), "1 1");
	assert_true(j.first.resumed);
	assert_false(test_exists(test_text("%s.part", j.first.to)));
}

static void somebodys_part_folder_is_not_touched(void **state)
{
	job j;

	(void)state;
	make_job(&j, "somebody");
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_OK), "1 1");
	assert_int_equal(mkdir(test_text("%s.part", j.first.to), 0777), 0);
	test_write(test_text("%s.part/a", j.first.to), "mine", 4);
	assert_string_equal(make_folder(&j, &j.first, "2", INVAR_OK), "1 1!");
	test_assert_error("a.part: already exists");
	assert_true(test_exists(test_text("%s.part/a", j.first.to)));
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_OK), "1 1");
}

/* The record of a program that was killed after the exchange, and of one before it. */
static void a_kill_around_the_exchange_loses_nothing(void **state)
{
	json_t *before, *after, *next;
	char path[300], part[310];
	job j;

	(void)state;
	make_job(&j, "exchange");
	snprintf(path, sizeof path, "%s/stages.json", j.folder);
	snprintf(part, sizeof part, "%s.part", j.first.to);
	make_folder(&j, &j.first, "1", INVAR_OK);
	assert_int_equal(inv_json_load(path, &before), INVAR_OK);
	make_folder(&j, &j.first, "2", INVAR_OK);
	assert_int_equal(inv_json_load(path, &after), INVAR_OK);
	next = json_deep_copy(json_object_get(json_object_get(after, "stages"), "first"));
	json_object_del(next, "state");
	json_object_set_new(json_object_get(json_object_get(before, "stages"), "first"), "next",
	                    next);

	/* After it: the new folder is under its name, the old one beside it. */
	assert_int_equal(inv_json_save(path, before), INVAR_OK);
	assert_int_equal(mkdir(part, 0777), 0);
	test_write(test_text("%s/a", part), "1", 1);
	j.first.runs = 0;
	assert_string_equal(make_folder(&j, &j.first, "2", INVAR_OK), "2 2");
	assert_int_equal(j.first.runs, 0);
	assert_false(test_exists(part));
	assert_string_equal(state_of(&j, "first"), "done");

	/* Between two renames: the old one has a third name. */
	assert_int_equal(inv_json_save(path, before), INVAR_OK);
	assert_int_equal(rename(j.first.to, part), 0);
	assert_int_equal(mkdir(test_text("%s.old.part", j.first.to), 0777), 0);
	test_write(test_text("%s.old.part/a", j.first.to), "1", 1);
	test_write(test_text("%s.old.part/b", j.first.to), "1", 1);
	assert_string_equal(make_folder(&j, &j.first, "1", INVAR_OK), "1 1");
	assert_int_equal(j.first.runs, 0);
	assert_false(test_exists(part));
	assert_false(test_exists(test_text("%s.old.part", j.first.to)));
	json_decref(before);
	json_decref(after);
}

/* ---- Contents count ----------------------------------------------------------------- */

static void an_output_of_the_same_size_is_noticed(void **state)
{
	job j;

	(void)state;
	make_job(&j, "contents");
	run_job(&j);
	test_write(j.first.to, "/x", 2);
	assert_string_equal(run_job(&j), "1"); /* the second has read the same as now */
	assert_string_equal(run_job(&j), "");
	test_write(j.second.to, "/1/x", 4);
	assert_string_equal(run_job(&j), "2");
	test_write(j.second.to, "/1/2", 4); /* the same contents, another time */
	assert_string_equal(run_job(&j), "");

	assert_string_equal(make_folder(&j, &j.third, "1", INVAR_OK), "1 1");
	test_write(test_text("%s/c", j.third.to), "more", 4);
	j.third.runs = 0;
	assert_string_equal(make_folder(&j, &j.third, "1", INVAR_OK), "1 1");
	assert_int_equal(j.third.runs, 1);
	assert_false(test_exists(test_text("%s/c", j.third.to)));
}

/* What a stage has read may change without a change of any option. */
static void another_result_of_the_same_inputs_is_read_again(void **state)
{
	job j;

	(void)state;
	make_job(&j, "result");
	run_job(&j);
	test_write(j.first.to, "/x", 2);
	j.first.random = "y";
	assert_string_equal(run_job(&j), "12");
	assert_string_equal(run_job(&j), "");
}

/* A finished job of an earlier version is taken as it is, if the sizes are right. */
static void a_record_of_version_1_is_read(void **state)
{
	static const char *const names[] = {"first", "second"};
	json_t *record, *entry;
	char path[300];
	job j;

	(void)state;
	make_job(&j, "version");
	run_job(&j);
	snprintf(path, sizeof path, "%s/stages.json", j.folder);
	for (int changed = 0; changed < 2; changed++) {
		assert_int_equal(inv_json_load(path, &record), INVAR_OK);
		json_object_set_new(record, "version", json_integer(1));
		for (size_t i = 0; i < 2; i++) {
			entry = json_object_get(json_object_get(record, "stages"), names[i]);
			json_object_del(entry, "reads");
			json_object_set_new(entry, "outputs",
			                    json_pack("{s:i}", i ? "b" : "a",
			                              changed ? 7
			                              : i     ? 4
			                                      : 2));
		}
		assert_int_equal(inv_json_save(path, record), INVAR_OK);
		json_decref(record);
		assert_string_equal(run_job(&j), changed ? "12" : "");
	}
	test_write(j.first.to, "/x", 2);
	assert_string_equal(run_job(&j), "1"); /* contents count from then on */
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
	                                     "{\"format\": \"invar-stages\", \"version\": 3, "
	                                     "\"stages\": {}}"};
	static const char silent[] = "{\"format\": \"invar-stages\", \"version\": 1, "
								 "\"stages\": {\"first\": 7}}";
	inv_stages *s;
	char path[300];
	job j;

	(void)state;
	make_job(&j, "foreign");
	snprintf(path, sizeof path, "%s/stages.json", j.folder);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		test_write(path, others[i], strlen(others[i]));
		assert_int_equal(inv_stages_open(test_ctx, j.folder, &s), INVAR_E_FORMAT);
		test_assert_error("stages.json");
		assert_null(s);
	}
	test_write(path, silent, strlen(silent));
	assert_string_equal(run_job(&j), "12"); /* an empty entry */
}

/* Two programs in one folder would each write the record that it read at the start. */
static void a_folder_is_for_one_at_a_time(void **state)
{
	inv_stages *s, *second;
	job j;

	(void)state;
	make_job(&j, "shared");
	assert_int_equal(inv_stages_open(test_ctx, j.folder, &s), INVAR_OK);
	assert_int_equal(inv_stages_open(test_ctx, j.folder, &second), INVAR_E_IO);
	test_assert_error("another process runs its stages; wait until it has ended");
	assert_null(second);
	inv_stages_close(s);
	assert_string_equal(run_job(&j), "12");
}

static void two_stages_of_one_name_are_refused(void **state)
{
	const inv_own_stage stage = {.name = "first", .output = "x", .run = run_copier};
	inv_stages *s;
	job j;

	(void)state;
	make_job(&j, "twice");
	assert_int_equal(inv_stages_open(test_ctx, j.folder, &s), INVAR_OK);
	add(s, &j.first, "first");
	assert_int_equal(inv_stages_add_own(s, &stage), INVAR_E_USE);
	inv_stages_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_is_skipped),
		cmocka_unit_test(a_plan_says_what_is_pending_and_how_long_it_took),
		cmocka_unit_test(a_changed_option_redoes_what_depends_on_it),
		cmocka_unit_test(a_changed_input_redoes_what_depends_on_it),
		cmocka_unit_test(a_deleted_output_is_made_again_alone),
		cmocka_unit_test(a_failure_ends_the_list_and_the_record_says_so),
		cmocka_unit_test(a_hook_that_stops_ends_it_between_stages),
		cmocka_unit_test(a_folder_is_replaced_when_the_new_one_is_finished),
		cmocka_unit_test(an_unfinished_folder_is_resumed_or_replaced),
		cmocka_unit_test(somebodys_part_folder_is_not_touched),
		cmocka_unit_test(a_kill_around_the_exchange_loses_nothing),
		cmocka_unit_test(an_output_of_the_same_size_is_noticed),
		cmocka_unit_test(another_result_of_the_same_inputs_is_read_again),
		cmocka_unit_test(a_record_of_version_1_is_read),
		cmocka_unit_test(a_folder_may_be_moved),
		cmocka_unit_test(a_record_of_others_is_refused),
		cmocka_unit_test(a_folder_is_for_one_at_a_time),
		cmocka_unit_test(two_stages_of_one_name_are_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
