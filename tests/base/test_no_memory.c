/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - base with every allocation failing in turn. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "failing.h"
#include "support.h"

static invar_status save_file(void *user)
{
	(void)user;
	return inv_file_save(test_path("a"), "new", 3);
}

static invar_status load_json(void *user)
{
	json_t *value;
	invar_status st = inv_json_load(test_path("a.json"), &value);

	(void)user;
	json_decref(value);
	return st;
}

static invar_status save_json(void *user)
{
	return inv_json_save(test_path("b.json"), user);
}

static invar_status make_context(void *user)
{
	invar_context *ctx;
	invar_status st = invar_context_new(1, NULL, &ctx);

	(void)user;
	invar_context_free(ctx);
	return st;
}

static void saving_a_file_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(save_file, NULL) >= 3);
	assert_false(test_has_part(test_folder()));
}

static void json_survives(void **state)
{
	json_t *value = json_pack("{s:[i,i], s:s}", "list", 1, 2, "word", "text");

	(void)state;
	assert_int_equal(inv_json_save(test_path("a.json"), value), INVAR_OK);
	assert_true(test_each_allocation_fails(load_json, NULL) >= 5);
	assert_true(test_each_allocation_fails(save_json, value) >= 3);
	json_decref(value);
	assert_false(test_has_part(test_folder()));
}

static void a_context_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(make_context, NULL) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saving_a_file_survives),
		cmocka_unit_test(json_survives),
		cmocka_unit_test(a_context_survives),
	};

	return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
