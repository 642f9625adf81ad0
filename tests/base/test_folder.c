/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.c - in a shared folder only the owner's files are removed. */
#include "base/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"

/* The errno of renameat2, which is wrapped (meson.build); 0: the real call. */
static int refusal;
int __real_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags);

int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	if (!refusal)
		return __real_renameat2(from, a, to, b, flags);
	errno = refusal;
	return -1;
}

/* Ours: mark, a, b, sub and sub/c. */
static inv_ownership claim(const void *user, const char *entry)
{
	(void)user;
	if (strcmp(entry, "sub") == 0)
		return INV_OWN_FOLDER;
	return inv_is_own_name(entry, "a") || inv_is_own_name(entry, "b") ||
	               strcmp(entry, "mark") == 0 || strcmp(entry, "sub/c") == 0
	           ? INV_OWN_FILE
	           : INV_FOREIGN;
}

static const inv_owner owner = {claim, NULL};

static void put(const char *folder, const char *name)
{
	test_write(test_path("%s/%s", folder, name), name, strlen(name));
}

static void make(const char *folder)
{
	assert_int_equal(mkdir(test_path("%s", folder), 0777), 0);
	assert_int_equal(mkdir(test_path("%s/sub", folder), 0777), 0);
	put(folder, "mark");
	put(folder, "a");
	put(folder, "a.invar.part");
	put(folder, "sub/c");
}

static bool holds(const char *folder, const char *name)
{
	return test_exists(test_path("%s/%s", folder, name));
}

static void assert_foreign(const char *folder, const char *want)
{
	char *found;

	assert_int_equal(inv_folder_find_foreign(test_path("%s", folder), owner, &found),
	                 INVAR_OK);
	if (want)
		assert_string_equal(found, want);
	else
		assert_null(found);
	inv_free(found);
}

static void names_are_exact(void **state)
{
	(void)state;
	assert_true(inv_is_own_name("run.json", "run.json"));
	assert_true(inv_is_own_name("run.json.invar.part", "run.json"));
	assert_false(inv_is_own_name("run.json.invar.part.part", "run.json"));
	assert_false(inv_is_own_name("run.jso", "run.json"));
	assert_false(inv_is_own_name("run.json2", "run.json"));
	assert_false(inv_is_own_name(".part", "run.json"));
}

static void the_first_foreign_entry_is_named(void **state)
{
	char *found;

	(void)state;
	make("named");
	assert_foreign("named", NULL);
	put("named", "z");
	assert_foreign("named", "z");
	put("named", "sub/d");
	assert_foreign("named", "sub/d");
	/* A link is foreign whatever it is called, and is not followed. */
	assert_int_equal(symlink("..", test_path("named/b")), 0);
	assert_foreign("named", "b");
	assert_int_equal(inv_folder_find_foreign(test_path("nowhere"), owner, &found),
	                 INVAR_E_IO);
	test_assert_error("cannot read the folder");
}

static void only_what_is_owned_is_removed(void **state)
{
	(void)state;
	make("removed");
	put("removed", "notes");
	put("removed", "movie.part");
	put("removed", "sub/thesis");
	assert_int_equal(inv_folder_remove_own(test_path("removed"), owner, "mark"), INVAR_OK);
	assert_true(holds("removed", "notes") && holds("removed", "movie.part") &&
	            holds("removed", "sub/thesis"));
	assert_false(holds("removed", "mark") || holds("removed", "a") ||
	             holds("removed", "a.invar.part") || holds("removed", "sub/c"));
	make("all");
	assert_int_equal(inv_folder_remove_own(test_path("all"), owner, "mark"), INVAR_OK);
	assert_int_equal(rmdir(test_path("all")), 0);
}

/* While any of our files exist, so does the file that identifies the owner. */
static void the_mark_goes_last(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip(); /* root removes files from any folder */
	make("last");
	assert_int_equal(chmod(test_path("last/sub"), 0555), 0);
	assert_int_equal(inv_folder_remove_own(test_path("last"), owner, "mark"), INVAR_E_IO);
	assert_true(holds("last", "mark"));
	assert_int_equal(chmod(test_path("last/sub"), 0777), 0);
}

static void foreign_entries_move_to_the_same_places(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *from = i ? "from1" : "from0", *to = i ? "to1" : "to0";

		refusal = i ? EINVAL : 0; /* a file system without RENAME_NOREPLACE */
		make(from);
		put(from, "notes");
		put(from, "sub/thesis");
		assert_int_equal(mkdir(test_path("%s", to), 0777), 0);
		assert_int_equal(
			inv_folder_move_foreign(test_path("%s", from), test_path("%s", to), owner),
			INVAR_OK);
		assert_true(holds(to, "notes") && holds(to, "sub/thesis") && holds(from, "sub/c"));
		assert_false(holds(from, "notes") || holds(to, "sub/c"));
		put(from, "notes");
		assert_int_equal(
			inv_folder_move_foreign(test_path("%s", from), test_path("%s", to), owner),
			INVAR_E_IO);
		test_assert_error("cannot be moved");
		assert_true(holds(from, "notes"));
	}
	refusal = 0;
}

static void folders_change_their_names(void **state)
{
	(void)state;
	make("new");
	assert_int_equal(mkdir(test_path("old"), 0777), 0);
	put("old", "b");
	for (int i = 0; i < 4; i++) {
		refusal = i < 2 ? 0 : ENOSYS; /* through a third name */
		assert_int_equal(
			inv_folder_exchange(test_path("old"), test_path("new"), test_path("aside")),
			INVAR_OK);
		assert_true(holds("old", i % 2 ? "b" : "a") && holds("new", i % 2 ? "a" : "b"));
		assert_false(test_exists(test_path("aside")));
	}
	assert_int_equal(mkdir(test_path("aside"), 0777), 0);
	assert_int_equal(
		inv_folder_exchange(test_path("old"), test_path("new"), test_path("aside")),
		INVAR_E_IO);
	assert_true(holds("old", "b") && holds("new", "a"));
	rmdir(test_path("aside"));
	assert_int_equal(
		inv_folder_exchange(test_path("old"), test_path("none"), test_path("aside")),
		INVAR_E_IO);
	assert_true(holds("old", "b"));
	refusal = 0;
}

static void a_folder_is_locked_once(void **state)
{
	int first, second;

	(void)state;
	assert_int_equal(mkdir(test_path("locked"), 0777), 0);
	assert_int_equal(inv_folder_lock(test_path("locked"), "is in use", &first), INVAR_OK);
	assert_int_equal(inv_folder_lock(test_path("locked"), "is in use", &second),
	                 INVAR_E_IO);
	test_assert_error("is in use");
	assert_int_equal(second, -1);
	close(first);
	assert_int_equal(inv_folder_lock(test_path("locked"), "is in use", &second), INVAR_OK);
	close(second);
}

static void a_torn_file_begins_as_it_should(void **state)
{
	(void)state;
	test_write(test_path("torn"), "", 0);
	assert_true(inv_file_begins(test_path("torn"), "{\"mark\""));
	test_write(test_path("torn"), "{\"ma", 4);
	assert_true(inv_file_begins(test_path("torn"), "{\"mark\""));
	test_write(test_path("torn"), "{\"mark\": 1}", 11);
	assert_true(inv_file_begins(test_path("torn"), "{\"mark\""));
	test_write(test_path("torn"), "{\"note\": 1}", 11);
	assert_false(inv_file_begins(test_path("torn"), "{\"mark\""));
	assert_false(inv_file_begins(test_path("absent"), "{"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_exact),
		cmocka_unit_test(the_first_foreign_entry_is_named),
		cmocka_unit_test(only_what_is_owned_is_removed),
		cmocka_unit_test(the_mark_goes_last),
		cmocka_unit_test(foreign_entries_move_to_the_same_places),
		cmocka_unit_test(folders_change_their_names),
		cmocka_unit_test(a_folder_is_locked_once),
		cmocka_unit_test(a_torn_file_begins_as_it_should),
	};

	return cmocka_run_group_tests_name("base/folder", tests, NULL, NULL);
}
