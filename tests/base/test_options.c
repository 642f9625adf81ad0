/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - claims about options by name. */
#include "base/options.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "support.h"

static const char *fruit_at(size_t i)
{
	static const char *const fruit[] = {"apple", "pear", NULL};

	return i < 2 ? fruit[i] : NULL;
}

static const invar_option own[] = {
	{.name = "loss",
     .type = INVAR_OPTION_TEXT,
     .initial = "mawa",
     .choices = "mawa|simclr|hsic"},
	{.name = "epochs",
     .type = INVAR_OPTION_COUNT,
     .initial = "100",
     .min = 1,
     .max = 1000,
     .flags = INVAR_OPTION_RESULT},
	{.name = "rate",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1e-3",
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE},
	{.name = "keep", .type = INVAR_OPTION_TEXT, .initial = "last", .choices = "last|best"},
	{.name = "fruit", .type = INVAR_OPTION_TEXT, .initial = "pear", .choice = fruit_at},
	{.name = "title", .type = INVAR_OPTION_TEXT},
	{.name = "also", .type = INVAR_OPTION_LIST},
	{.name = "force", .type = INVAR_OPTION_FLAG},
	{.name = "no-identity", .type = INVAR_OPTION_FLAG, .flags = INVAR_OPTION_RESULT},
	{0},
};

static const invar_option warm[] = {
	{.name = "temperature", .type = INVAR_OPTION_NUMBER, .initial = "0.5", .max = 10},
	{0},
};

static invar_options *make(void)
{
	invar_options *o;

	assert_int_equal(inv_options_begin("train", &o), INVAR_OK);
	assert_int_equal(inv_options_add_rows(o, own), INVAR_OK);
	assert_int_equal(inv_options_add_part(o, "loss", "simclr", warm), INVAR_OK);
	assert_int_equal(inv_options_add_part(o, "loss", "hsic", warm), INVAR_OK);
	assert_int_equal(inv_options_share(o, "loss", "mawa", "no-identity"), INVAR_OK);
	assert_int_equal(inv_options_share(o, "force", "true", "title"), INVAR_OK);
	return o;
}

static void what_is_not_set_has_its_default(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	assert_true(inv_option_number(o, "rate") == 1e-3);
	assert_true(inv_option_is(o, "fruit", "pear"));
	assert_null(inv_option_text(o, "title"));
	assert_null(inv_options_text(o, "also", 0));
	assert_false(inv_option_flag(o, "force"));
	assert_int_equal(inv_options_is_set(o, "epochs"), 0);
	assert_int_equal(invar_options_set(o, "epochs", "5"), INVAR_OK);
	assert_int_equal(inv_option_count(o, "epochs"), 5);
	assert_int_equal(inv_options_is_set(o, "epochs"), 1);
	assert_int_equal(inv_options_unset(o, "epochs"), INVAR_OK);
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	assert_int_equal(inv_options_is_set(o, "epochs"), 0);
	invar_options_free(o);
}

static void a_list_is_for_its_command(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_expect(o, "train"), INVAR_OK);
	assert_int_equal(inv_options_expect(o, "loss"), INVAR_E_USE);
	test_assert_error("these options were made for train, not for loss");
	invar_options_free(o);
}

static void the_name_of_the_command_is_copied(void **state)
{
	char command[] = "train";
	invar_options *o;

	(void)state;
	assert_int_equal(invar_options_new(command, &o), INVAR_OK);
	command[0] = 'b';
	assert_int_equal(inv_options_expect(o, "train"), INVAR_OK);
	invar_options_free(o);
}

/* A rejected value leaves the previous one. */
static void refuse(invar_options *o, const char *name, const char *text,
                   const char *sentence)
{
	if (invar_options_set(o, name, text) != INVAR_E_USE)
		fail_msg("%s = '%s' was accepted", name, text);
	test_assert_error(sentence);
}

static void wrong_values_are_refused_by_name(void **state)
{
	invar_options *o = make();

	(void)state;
	refuse(o, "epochs", "0", "epochs must be at least 1 and at most 1000, not 0");
	refuse(o, "epochs", "1001", "epochs must be at least 1 and at most 1000, not 1001");
	refuse(o, "epochs", "ten", "epochs needs a whole number, not 'ten'");
	refuse(o, "epochs", "-3", "not -3");
	refuse(o, "epochs", "1.5", "epochs needs a whole number, not '1.5'");
	refuse(o, "epochs", "99999999999999999999999", "at most 1000");
	refuse(o, "rate", "0", "rate must be above 0, not 0");
	refuse(o, "rate", "nan", "rate needs a number, not 'nan'");
	refuse(o, "rate", "1e999", "rate must be above 0, not 1e999");
	refuse(o, "rate", " 1", "rate needs a number");
	refuse(o, "rate", "0x10", "rate needs a number");
	refuse(o, "keep", "bset", "keep must be last or best, not 'bset'; did you mean best?");
	refuse(o, "keep", "last|best", "keep must be last or best");
	refuse(o, "keep", "", "keep must be last or best");
	refuse(o, "fruit", "appel", "did you mean apple?");
	refuse(o, "title", "", "title must not be empty");
	refuse(o, "force", "maybe", "force must be true or false, not 'maybe'");
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	assert_int_equal(inv_options_is_set(o, "epochs"), 0);
	assert_true(inv_option_is(o, "keep", "last"));
	assert_int_equal(invar_options_set_number(o, "rate", NAN), INVAR_E_USE);
	invar_options_free(o);
}

static void an_unknown_name_comes_with_the_nearest(void **state)
{
	invar_options *o = make();
	char text[200];

	(void)state;
	refuse(o, "epoch", "5", "there is no option epoch; did you mean epochs?");
	inv_last_error_spelled("--", text, sizeof text);
	assert_string_equal(text, "there is no option --epoch; did you mean --epochs?");
	inv_last_error_spelled("--", text, 8);
	assert_string_equal(text, "there i");
	refuse(o, "zzzzzzzz", "5", "there is no option zzzzzzzz of train");
	invar_options_free(o);
}

static void a_number_is_rounded_to_what_is_saved(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(invar_options_set(o, "rate", "0.12345678901234567890"), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.123456789012346);
	assert_int_equal(invar_options_set_number(o, "rate", 0.1 + 0.2), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.3);
	assert_int_equal(invar_options_set_number(o, "epochs", 7), INVAR_OK);
	assert_int_equal(inv_option_count(o, "epochs"), 7);
	assert_int_equal(invar_options_set_number(o, "epochs", 7.5), INVAR_E_USE);
	invar_options_free(o);
}

static void a_list_grows_and_its_texts_are_copies(void **state)
{
	invar_options *o = make();
	char text[] = "one";

	(void)state;
	assert_int_equal(invar_options_set(o, "also", text), INVAR_OK);
	memcpy(text, "xxx", 3);
	assert_int_equal(invar_options_set(o, "also", "two"), INVAR_OK);
	assert_string_equal(inv_options_text(o, "also", 0), "one");
	assert_string_equal(inv_options_text(o, "also", 1), "two");
	assert_null(inv_options_text(o, "also", 2));
	invar_options_free(o);
}

static void an_option_belongs_to_its_parts(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	assert_int_equal(invar_options_set(o, "temperature", "2"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_E_USE);
	test_assert_error("temperature needs loss simclr or hsic, but loss is mawa");
	assert_int_equal(invar_options_set(o, "loss", "hsic"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	assert_int_equal(invar_options_set(o, "no-identity", "true"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_E_USE);
	assert_int_equal(inv_options_unset(o, "no-identity"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "title", "t"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_E_USE);
	test_assert_error("title needs force, which is not set");
	assert_int_equal(invar_options_set(o, "force", "true"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	assert_true(inv_options_uses(o, "loss", "simclr", "temperature"));
	assert_false(inv_options_uses(o, "loss", "mawa", "temperature"));
	assert_string_equal(inv_options_part(o, "temperature", 1), "hsic");
	assert_null(inv_options_part(o, "temperature", 2));
	assert_null(inv_options_part(o, "epochs", 0));
	invar_options_free(o);
}

static void an_option_may_belong_to_parts_of_several_selectors(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_share(o, "loss", "hsic", "title"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "title", "t"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_E_USE);
	test_assert_error("title needs force or loss hsic, and neither is set");
	assert_int_equal(invar_options_set(o, "loss", "hsic"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	assert_int_equal(invar_options_set(o, "loss", "mawa"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "force", "1"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	invar_options_free(o);
}

static invar_options *make_with_rules(void)
{
	static const inv_option_default rules[] = {{"loss", "hsic", "rate", "0.3", NULL},
	                                           {"loss", "hsic", "keep", "best", NULL},
	                                           {"keep", "best", "epochs", "7", NULL},
	                                           {"fruit", "apple", "rate", "0.4", NULL},
	                                           {"fruit", "apple", "force", "true", NULL}};
	invar_options *o = make();

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		assert_int_equal(inv_options_add_default(o, &rules[i]), INVAR_OK);
	return o;
}

static void a_default_may_depend_on_another_option(void **state)
{
	invar_options *o = make_with_rules(), *copy;

	(void)state;
	assert_true(inv_option_number(o, "rate") == 1e-3);
	assert_int_equal(invar_options_set(o, "loss", "hsic"), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.3);
	assert_false(inv_option_is_set(o, "rate"));
	assert_int_equal(inv_option_count(o, "epochs"), 7); /* through keep */
	assert_int_equal(invar_options_set(o, "fruit", "apple"), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.4); /* the last rule applies */
	assert_true(inv_option_flag(o, "force"));
	assert_int_equal(inv_options_copy(o, &copy), INVAR_OK);
	assert_int_equal(inv_options_unset(copy, "fruit"), INVAR_OK);
	assert_true(inv_option_number(copy, "rate") == 0.3);
	assert_false(inv_option_flag(copy, "force"));
	assert_int_equal(invar_options_set(o, "rate", "0.5"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "loss", "mawa"), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.5); /* what is set stays */
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	invar_options_free(o);
	invar_options_free(copy);
}

static const char *choose_keep(const invar_options *o)
{
	return inv_option_is_set(o, "rate") ? "best" : "last";
}

static void a_default_may_be_chosen_from_what_was_set(void **state)
{
	static const inv_option_default chosen = {.name = "keep", .choose = choose_keep},
									by_keep = {"keep", "last", "epochs", "7", NULL};
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_add_default(o, &chosen), INVAR_OK);
	assert_int_equal(inv_options_add_default(o, &by_keep), INVAR_OK);
	assert_string_equal(inv_options_find(o, "keep")->initial, "last");
	assert_string_equal(inv_options_find(o, "epochs")->initial, "7");
	assert_true(inv_option_is(o, "keep", "last") && inv_option_count(o, "epochs") == 7);
	assert_int_equal(invar_options_set(o, "rate", "0.5"), INVAR_OK);
	assert_true(inv_option_is(o, "keep", "best") && inv_option_count(o, "epochs") == 100);
	assert_string_equal(inv_options_find(o, "epochs")->initial, "7");
	assert_int_equal(inv_options_unset(o, "rate"), INVAR_OK);
	assert_true(inv_option_is(o, "keep", "last") && inv_option_count(o, "epochs") == 7);
	assert_int_equal(invar_options_set(o, "keep", "best"), INVAR_OK);
	assert_true(inv_option_has_value(o, "keep", "best") &&
	            inv_option_has_value(o, "force", "false"));
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	invar_options_free(o);
}

/* A document names its options in any order, and a saved one has all of them. */
static void rules_apply_to_documents_as_well(void **state)
{
	json_t *saved =
		json_pack("{s:s, s:f, s:s}", "loss", "hsic", "rate", 0.25, "keep", "last");
	invar_options *o = make_with_rules(), *back = make_with_rules();

	(void)state;
	assert_int_equal(invar_options_set(o, "keep", "last"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "loss", "hsic"), INVAR_OK);
	assert_true(inv_option_number(o, "rate") == 0.3);
	assert_true(inv_option_is(o, "keep", "last"));
	assert_int_equal(inv_options_resume(back, saved, "run", false), INVAR_OK);
	assert_true(inv_option_number(back, "rate") == 0.25);
	assert_true(inv_option_is(back, "keep", "last"));
	json_decref(saved);
	invar_options_free(o);
	invar_options_free(back);
}

static invar_status read_back(invar_options *o, const char *text)
{
	json_t *saved = json_loads(text, 0, NULL);
	invar_status st = inv_options_resume(o, saved, "run", true);

	json_decref(saved);
	return st;
}

static void json_goes_out_and_comes_back(void **state)
{
	invar_options *o = make(), *back = make();
	char *text, *again;

	(void)state;
	assert_int_equal(invar_options_set(o, "epochs", "7"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "title", "a \"b\" ü"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "also", "x"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "force", "1"), INVAR_OK);
	assert_int_equal(invar_options_json(o, &text), INVAR_OK);
	assert_int_equal(read_back(back, text), INVAR_OK);
	assert_int_equal(invar_options_json(back, &again), INVAR_OK);
	assert_string_equal(text, again);
	assert_int_equal(inv_option_count(back, "epochs"), 7);
	invar_free(text);
	invar_free(again);
	assert_int_equal(read_back(back, "{\"epochs\": \"7\"}"), INVAR_E_FORMAT);
	assert_int_equal(read_back(back, "{\"epochs\": 7000}"), INVAR_E_FORMAT);
	assert_int_equal(read_back(back, "{\"keep\": null}"), INVAR_E_FORMAT);
	assert_int_equal(inv_option_count(back, "epochs"), 7);
	invar_options_free(o);
	invar_options_free(back);
}

static void resuming_takes_what_was_saved_and_refuses_what_differs(void **state)
{
	json_t *saved = json_pack("{s:i, s:f, s:s, s:b}", "epochs", 20, "rate", 0.25, "keep",
	                          "best", "force", 1);
	invar_options *o = make();

	(void)state;
	assert_int_equal(invar_options_set(o, "rate", "0.25"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "force", "0"), INVAR_OK);
	assert_int_equal(inv_options_resume(o, saved, "run", false), INVAR_OK);
	assert_int_equal(inv_option_count(o, "epochs"), 20);
	assert_true(inv_option_is(o, "keep", "best"));
	assert_false(inv_option_flag(o, "force")); /* it does not change the result */
	assert_int_equal(invar_options_set(o, "rate", "0.5"), INVAR_OK);
	assert_int_equal(inv_options_resume(o, saved, "run", false), INVAR_E_MISMATCH);
	test_assert_error("run: was started with rate 0.25, so it cannot be resumed with 0.5");
	assert_int_equal(inv_options_resume(o, saved, "run", true), INVAR_OK);
	json_object_set_new(saved, "epochs", json_integer(0));
	assert_int_equal(inv_options_resume(o, saved, "run", false), INVAR_E_FORMAT);
	test_assert_error("run: epochs must be at least 1");
	json_decref(saved);
	invar_options_free(o);
}

static const invar_option steps[] = {
	{.name = "strength",
     .type = INVAR_OPTION_NUMBER,
     .initial = "1",
     .flags = INVAR_OPTION_RESULT},
	{0},
};

static void assert_recorded(const invar_options *o, const char *name, bool recorded)
{
	json_t *used = inv_options_used_json(o, 0);

	assert_int_equal(json_object_get(used, name) != NULL, recorded);
	json_decref(used);
}

static void only_what_takes_part_is_recorded(void **state)
{
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_add_rows(o, steps), INVAR_OK);
	assert_int_equal(inv_options_idle(o, "strength", "1", "strength"), INVAR_OK);
	assert_int_equal(inv_options_idle(o, "loss", "hsic", "epochs|rate"), INVAR_OK);
	assert_recorded(o, "epochs", true);
	assert_recorded(o, "no-identity", true); /* mawa's */
	assert_recorded(o, "temperature", false);
	assert_recorded(o, "strength", false);
	assert_recorded(o, "title", false);
	assert_int_equal(invar_options_set(o, "strength", "0.5"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "loss", "hsic"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "epochs", "3"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK); /* idle, not wrong */
	assert_recorded(o, "strength", true);
	assert_recorded(o, "temperature", true);
	assert_recorded(o, "no-identity", false);
	assert_recorded(o, "epochs", false);
	invar_options_free(o);
}

/* What a record leaves out is the default there, not whatever is set now. */
static void resuming_compares_with_the_default_of_what_is_not_recorded(void **state)
{
	json_t *saved = json_pack("{s:s}", "loss", "mawa");
	invar_options *o = make();

	(void)state;
	assert_int_equal(inv_options_add_rows(o, steps), INVAR_OK);
	assert_int_equal(inv_options_idle(o, "strength", "1", "strength"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "epochs", "3"), INVAR_OK); /* an older record */
	assert_int_equal(invar_options_set(o, "strength", "1"), INVAR_OK);
	assert_int_equal(inv_options_resume(o, saved, "run", false), INVAR_OK);
	assert_int_equal(invar_options_set(o, "strength", "0.5"), INVAR_OK);
	assert_int_equal(inv_options_resume(o, saved, "run", false), INVAR_E_MISMATCH);
	test_assert_error(
		"run: was started with strength 1.0, so it cannot be resumed with 0.5");
	json_decref(saved);
	invar_options_free(o);
}

/* A caller that was compiled when rows were shorter, or will be when they are longer. */
static void rows_of_other_sizes_are_taken(void **state)
{
	struct longer {
		invar_option row;
		char more[40];
	} row = {.row = {.name = "format", .type = INVAR_OPTION_TEXT, .initial = "text"},
	         .more = "unknown"};
	invar_options *o = make();
	const invar_option *added;

	(void)state;
	assert_int_equal(inv_options_add(o, &row.row, sizeof row), INVAR_OK);
	row.row.name = "colour";
	assert_int_equal(inv_options_add(o, &row.row, offsetof(invar_option, min)), INVAR_OK);
	added = inv_options_find(o, "colour");
	assert_string_equal(added->initial, "text");
	assert_null(added->help);
	assert_string_equal(inv_options_text(o, "format", 0), "text");
	row.row.name = NULL;
	assert_int_equal(inv_options_add(o, &row.row, sizeof row), INVAR_E_USE);
	invar_options_free(o);
}

static void a_copy_is_independent(void **state)
{
	invar_options *o = make(), *copy;

	(void)state;
	assert_int_equal(invar_options_set(o, "title", "one"), INVAR_OK);
	assert_int_equal(invar_options_set(o, "also", "x"), INVAR_OK);
	assert_int_equal(inv_options_copy(o, &copy), INVAR_OK);
	assert_int_equal(invar_options_set(o, "title", "two"), INVAR_OK);
	invar_options_free(o);
	assert_string_equal(inv_option_text(copy, "title"), "one");
	assert_string_equal(inv_options_text(copy, "also", 0), "x");
	assert_int_equal(inv_options_is_set(copy, "title"), 1);
	assert_int_equal(invar_options_set(copy, "fruit", "apple"), INVAR_OK);
	invar_options_free(copy);
}

/* The --output of the command line is not an option that a training records. */
static void a_copy_leaves_out_what_a_caller_added(void **state)
{
	const invar_option mine = {
		.name = "output", .type = INVAR_OPTION_TEXT, .flags = INVAR_OPTION_RESULT};
	invar_options *o = make(), *copy;

	(void)state;
	assert_int_equal(inv_options_add(o, &mine, sizeof mine), INVAR_OK);
	assert_int_equal(invar_options_set(o, "output", "here"), INVAR_OK);
	assert_int_equal(inv_options_copy(o, &copy), INVAR_OK);
	assert_int_equal(invar_options_count(copy), invar_options_count(o) - 1);
	assert_null(inv_options_find(copy, "output"));
	assert_non_null(inv_options_find(copy, "temperature"));
	invar_options_free(o);
	invar_options_free(copy);
}

/* ---- Picking, and rows that need another option ---------------------------------- */

static const invar_option picked_rows[] = {
	{.name = "limit", .type = INVAR_OPTION_COUNT, .initial = "3", .max = 10},
	{.name = "name", .type = INVAR_OPTION_TEXT, .initial = "all"},
	{.name = "copies", .type = INVAR_OPTION_COUNT, .initial = "4"},
	{.name = "share", .type = INVAR_OPTION_NUMBER, .initial = "0.5", .max = 1},
	{0},
};

static invar_status declare_picked(invar_options *o)
{
	return inv_options_add_rows(o, picked_rows);
}

static void a_call_picks_what_it_knows_of_a_list(void **state)
{
	static const invar_option rows[] = {
		{.name = "limit", .type = INVAR_OPTION_COUNT, .initial = "7"},
		{.name = "copies", .type = INVAR_OPTION_TEXT, .initial = "train=2"},
		{.name = "share", .type = INVAR_OPTION_NUMBER, .initial = "0.1"},
		{.name = "other", .type = INVAR_OPTION_TEXT},
		{0},
	};
	invar_options *o, *mine;

	(void)state;
	assert_int_equal(inv_options_begin("encode", &o), INVAR_OK);
	assert_int_equal(inv_options_add_rows(o, rows), INVAR_OK);
	assert_int_equal(invar_options_set(o, "share", "0.25"), INVAR_OK);
	assert_int_equal(inv_options_pick(o, declare_picked, &mine), INVAR_OK);
	assert_int_equal(inv_option_count(mine, "limit"), 7); /* its default, not ours */
	assert_string_equal(inv_option_text(mine, "name"), "all");
	assert_int_equal(inv_option_count(mine, "copies"), 4); /* another type */
	assert_true(inv_option_number(mine, "share") == 0.25);
	assert_true(inv_option_is_set(mine, "share"));
	assert_false(inv_option_is_set(mine, "limit"));
	assert_null(inv_options_find(mine, "other"));
	invar_options_free(mine);
	assert_int_equal(invar_options_set(o, "limit", "11"), INVAR_OK);
	assert_int_equal(inv_options_pick(o, declare_picked, &mine), INVAR_E_USE);
	assert_null(mine);
	test_assert_error("limit must be at least 0 and at most 10, not 11");
	invar_options_free(o);
	assert_int_equal(inv_options_pick(NULL, declare_picked, &mine), INVAR_OK);
	assert_int_equal(inv_option_count(mine, "limit"), 3);
	invar_options_free(mine);
}

static void rows_may_need_that_another_option_is_given(void **state)
{
	static const invar_option images[] = {{.name = "images", .type = INVAR_OPTION_TEXT},
	                                      {0}};
	static const invar_option size[] = {{.name = "size", .type = INVAR_OPTION_TEXT}, {0}};
	invar_options *o;

	(void)state;
	assert_int_equal(inv_options_begin("train", &o), INVAR_OK);
	assert_int_equal(inv_options_add_rows(o, images), INVAR_OK);
	assert_int_equal(inv_options_add_part(o, "images", NULL, size), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	assert_int_equal(invar_options_set(o, "size", "8"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_E_USE);
	test_assert_error("size needs images, which is not set");
	assert_int_equal(invar_options_set(o, "images", "photos"), INVAR_OK);
	assert_int_equal(inv_options_check_parts(o), INVAR_OK);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_picks_what_it_knows_of_a_list),
		cmocka_unit_test(rows_may_need_that_another_option_is_given),
		cmocka_unit_test(what_is_not_set_has_its_default),
		cmocka_unit_test(a_list_is_for_its_command),
		cmocka_unit_test(the_name_of_the_command_is_copied),
		cmocka_unit_test(wrong_values_are_refused_by_name),
		cmocka_unit_test(an_unknown_name_comes_with_the_nearest),
		cmocka_unit_test(a_number_is_rounded_to_what_is_saved),
		cmocka_unit_test(a_list_grows_and_its_texts_are_copies),
		cmocka_unit_test(an_option_belongs_to_its_parts),
		cmocka_unit_test(an_option_may_belong_to_parts_of_several_selectors),
		cmocka_unit_test(a_default_may_depend_on_another_option),
		cmocka_unit_test(a_default_may_be_chosen_from_what_was_set),
		cmocka_unit_test(rules_apply_to_documents_as_well),
		cmocka_unit_test(json_goes_out_and_comes_back),
		cmocka_unit_test(resuming_takes_what_was_saved_and_refuses_what_differs),
		cmocka_unit_test(only_what_takes_part_is_recorded),
		cmocka_unit_test(resuming_compares_with_the_default_of_what_is_not_recorded),
		cmocka_unit_test(rows_of_other_sizes_are_taken),
		cmocka_unit_test(a_copy_is_independent),
		cmocka_unit_test(a_copy_leaves_out_what_a_caller_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
