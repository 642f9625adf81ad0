/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - claims about files: complete or not at all, whatever goes wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "support.h"

static void assert_holds(const char *path, const char *text)
{
	char *have = test_read(path, NULL);

	assert_string_equal(have, text);
	free(have);
}

static void a_saved_file_holds_its_bytes(void **state)
{
	(void)state;
	assert_int_equal(inv_file_save(test_path("a"), "old", 3), INVAR_OK);
	assert_holds(test_path("a"), "old");
	assert_int_equal(inv_file_write(NULL, test_path("a"), "newer", 5), INVAR_OK);
	assert_holds(test_path("a"), "newer");
	assert_int_equal(inv_file_save(test_path("a"), "", 0), INVAR_OK);
	assert_holds(test_path("a"), "");
	assert_false(test_has_part(test_folder()));
}

static void pieces_around_the_buffer_size_arrive_in_order(void **state)
{
	static const size_t sizes[] = {1, 65535, 1, 65536, 65537, 3, 200000, 0, 7};
	unsigned char *piece = malloc(200000);
	size_t total = 0, bytes;
	unsigned char *back;
	inv_writer *w;

	(void)state;
	assert_int_equal(inv_writer_open(test_path("b"), 0, &w), INVAR_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			piece[k] = (unsigned char)((total + k) * 131 >> 3);
		assert_int_equal(inv_writer_put(w, piece, sizes[i]), INVAR_OK);
		total += sizes[i];
	}
	assert_int_equal(inv_writer_commit(w), INVAR_OK);
	back = test_read(test_path("b"), &bytes);
	assert_int_equal(bytes, total);
	for (size_t k = 0; k < total; k++)
		assert_int_equal(back[k], (unsigned char)(k * 131 >> 3));
	free(back);
	free(piece);
}

static void an_aborted_save_leaves_the_old_file(void **state)
{
	inv_writer *w;

	(void)state;
	test_write(test_path("c"), "old", 3);
	assert_int_equal(inv_writer_open(test_path("c"), 100, &w), INVAR_OK);
	assert_int_equal(inv_writer_put(w, "new", 3), INVAR_OK);
	assert_holds(test_path("c"), "old"); /* nothing shows before the commit */
	inv_writer_abort(w);
	inv_writer_abort(NULL);
	assert_holds(test_path("c"), "old");
	assert_false(test_has_part(test_folder()));
}

static void a_part_left_by_a_killed_program_is_replaced(void **state)
{
	(void)state;
	test_write(test_path("d.invar.part"), "half of something longer", 24);
	assert_int_equal(inv_file_save(test_path("d"), "whole", 5), INVAR_OK);
	assert_holds(test_path("d"), "whole");
	assert_false(test_has_part(test_folder()));
}

static void a_part_file_of_the_user_is_left_alone(void **state)
{
	(void)state;
	test_write(test_path("u.part"), "a download of a browser", 23);
	assert_int_equal(inv_file_save(test_path("u"), "whole", 5), INVAR_OK);
	assert_holds(test_path("u"), "whole");
	assert_holds(test_path("u.part"), "a download of a browser");
	assert_int_equal(unlink(test_path("u.part")), 0);
}

static void a_link_in_place_of_the_part_is_not_followed(void **state)
{
	static const char *const suffix[] = {".part", ".invar.part"};
	inv_writer *w;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		test_write(test_path("victim"), "precious", 8);
		assert_int_equal(symlink("victim", test_path("l%s", suffix[i])), 0);
		inv_file_save(test_path("l"), "new", 3);
		if (inv_writer_take_up(test_path("l"), 100, i, &w) == INVAR_OK)
			inv_writer_abort(w);
		assert_holds(test_path("victim"), "precious");
		unlink(test_path("l%s", suffix[i]));
		unlink(test_path("l"));
	}
	assert_int_equal(symlink("victim", test_path("l.invar.part")), 0);
	assert_int_equal(inv_file_save(test_path("l"), "new", 3), INVAR_E_IO);
	test_assert_error("l.invar.part: is a link");
	assert_true(test_exists(test_path("l.invar.part")));
	assert_int_equal(unlink(test_path("l.invar.part")), 0);
}

static void a_pipe_in_place_of_the_part_does_not_block(void **state)
{
	inv_writer *w;

	(void)state;
	alarm(100); /* waiting for a reader would never end */
	assert_int_equal(mkfifo(test_path("p.part"), 0666), 0);
	assert_int_equal(mkfifo(test_path("p.invar.part"), 0666), 0);
	assert_int_equal(inv_file_save(test_path("p"), "new", 3), INVAR_E_IO);
	test_assert_error("p.invar.part: is not a regular file");
	assert_int_equal(inv_writer_take_up(test_path("p"), 100, true, &w), INVAR_E_IO);
	test_assert_error("p.part: is not a regular file");
	assert_int_equal(inv_writer_take_up(test_path("p"), 100, false, &w), INVAR_E_IO);
	assert_int_equal(unlink(test_path("p.part")), 0);
	assert_int_equal(unlink(test_path("p.invar.part")), 0);
	alarm(0);
}

/* A part file with a second hard link is somebody else's file. */
static void what_another_name_of_the_part_holds_stays(void **state)
{
	inv_writer *w;

	(void)state;
	test_write(test_path("victim"), "precious", 8);
	assert_int_equal(link(test_path("victim"), test_path("hard.invar.part")), 0);
	assert_int_equal(inv_file_save(test_path("hard"), "new", 3), INVAR_OK);
	assert_holds(test_path("victim"), "precious");
	assert_int_equal(link(test_path("victim"), test_path("hard.part")), 0);
	assert_int_equal(inv_writer_take_up(test_path("hard"), 100, true, &w), INVAR_E_IO);
	test_assert_error("hard.part: is a hard link");
	assert_int_equal(inv_writer_take_up(test_path("hard"), 100, false, &w), INVAR_OK);
	inv_writer_abort(w);
	assert_holds(test_path("victim"), "precious");
}

static mode_t mode_of(const char *path)
{
	struct stat info;

	assert_int_equal(stat(path, &info), 0);
	return info.st_mode & 07777;
}

static void a_replaced_file_keeps_its_mode_and_owner(void **state)
{
	struct stat info;
	inv_writer *w;
	mode_t mask = umask(022);

	(void)state;
	assert_int_equal(inv_file_save(test_path("mode"), "old", 3), INVAR_OK);
	assert_int_equal(mode_of(test_path("mode")), 0644);
	assert_int_equal(chmod(test_path("mode"), 0600), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(test_path("mode"), 12345, 23456), 0);
	assert_int_equal(inv_writer_open(test_path("mode"), 0, &w), INVAR_OK);
	assert_int_equal(mode_of(test_path("mode.invar.part")), 0600); /* from its first byte */
	assert_int_equal(inv_writer_commit(w), INVAR_OK);
	assert_int_equal(mode_of(test_path("mode")), 0600);
	assert_int_equal(chmod(test_path("mode"), 0664), 0);
	assert_int_equal(inv_file_save(test_path("mode"), "new", 3), INVAR_OK);
	assert_int_equal(mode_of(test_path("mode")), 0664);
	assert_int_equal(stat(test_path("mode"), &info), 0);
	if (geteuid() == 0)
		assert_true(info.st_uid == 12345 && info.st_gid == 23456);
	umask(mask);
}

static void of_two_that_save_a_file_at_once_the_second_fails(void **state)
{
	inv_writer *first, *second;

	(void)state;
	assert_int_equal(inv_writer_open(test_path("twice"), 0, &first), INVAR_OK);
	assert_int_equal(inv_writer_open(test_path("twice"), 0, &second), INVAR_E_IO);
	test_assert_error("twice: another program is writing this file");
	assert_null(second);
	assert_int_equal(inv_writer_put(first, "whole", 5), INVAR_OK);
	assert_int_equal(inv_writer_commit(first), INVAR_OK);
	assert_holds(test_path("twice"), "whole");
	assert_false(test_has_part(test_folder()));
}

/* What a child with a disk of 1000 bytes sees; the answer is its exit code. */
static int save_on_a_full_disk(uint64_t promise)
{
	const struct rlimit limit = {1000, 1000};
	char data[3000] = {0};
	inv_writer *w;
	invar_status st;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 10;
	st = inv_writer_open(test_path("full"), promise, &w);
	if (promise)
		return st == INVAR_E_IO && !w && strstr(invar_last_error(), "cannot reserve") ? 0
		                                                                              : 1;
	if (st != INVAR_OK || inv_writer_put(w, data, sizeof data) != INVAR_OK)
		return 2;
	return inv_writer_commit(w) == INVAR_E_IO && strstr(invar_last_error(), "cannot write")
	           ? 0
	           : 3;
}

static void check_full_disk(uint64_t promise)
{
	pid_t child;
	int status;

	test_write(test_path("full"), "old", 3);
	child = fork();
	if (child == 0)
		_exit(save_on_a_full_disk(promise));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_holds(test_path("full"), "old");
	assert_false(test_has_part(test_folder()));
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	(void)state;
	check_full_disk(0);
}

static void a_promise_that_the_disk_cannot_keep_fails_at_once(void **state)
{
	inv_writer *w;

	(void)state;
	check_full_disk(5000);
	assert_int_equal(inv_writer_open(test_path("x"), UINT64_MAX, &w), INVAR_E_IO);
	assert_null(w);
	assert_false(test_exists(test_path("x")));
	assert_false(test_has_part(test_folder()));
}

static void a_folder_is_not_overwritten(void **state)
{
	inv_writer *w;

	(void)state;
	assert_int_equal(mkdir(test_path("folder"), 0777), 0);
	assert_int_equal(inv_writer_open(test_path("folder"), 0, &w), INVAR_E_IO);
	test_assert_error("folder: is a folder, expected a file");
	assert_null(w);
	assert_false(test_has_part(test_folder()));
}

static void places_that_cannot_be_written_are_named(void **state)
{
	(void)state;
	assert_int_equal(inv_file_save(test_path("absent/file"), "x", 1), INVAR_E_IO);
	test_assert_error("absent/file: cannot write: No such file or directory");
	test_write(test_path("plain"), "x", 1);
	assert_int_equal(inv_file_save(test_path("plain/file"), "x", 1), INVAR_E_IO);
	test_assert_error("Not a directory");
	if (geteuid() == 0) /* root may write anywhere */
		return;
	assert_int_equal(mkdir(test_path("locked"), 0555), 0);
	assert_int_equal(inv_file_save(test_path("locked/file"), "x", 1), INVAR_E_IO);
	test_assert_error("Permission denied");
}

static void a_map_shows_the_file_and_empty_files_map_to_nothing(void **state)
{
	inv_map map;

	(void)state;
	test_write(test_path("m"), "hello", 5);
	assert_int_equal(inv_map_open(test_path("m"), &map), INVAR_OK);
	assert_int_equal(map.size, 5);
	assert_memory_equal(map.data, "hello", 5);
	inv_map_close(&map);
	assert_null(map.data);
	inv_map_close(&map);
	test_write(test_path("m"), "", 0);
	assert_int_equal(inv_map_open(test_path("m"), &map), INVAR_OK);
	assert_null(map.data);
	assert_int_equal(map.size, 0);
	inv_map_close(&map);
}

static void what_is_let_go_can_be_read_again(void **state)
{
	enum { SIZE = 40000 };
	unsigned char bytes[SIZE], elsewhere[16] = "not of the file";
	inv_map map;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7);
	assert_int_equal(inv_file_save(test_path("m"), bytes, SIZE), INVAR_OK);
	assert_int_equal(inv_map_open(test_path("m"), &map), INVAR_OK);
	assert_memory_equal(map.data, bytes, SIZE);
	inv_map_let_go(&map, map.data + 5000, 30000);
	inv_map_let_go(&map, map.data, SIZE);
	inv_map_let_go(&map, map.data, SIZE + 1);
	inv_map_let_go(&map, elsewhere, sizeof elsewhere);
	assert_memory_equal(map.data, bytes, SIZE);
	assert_string_equal((char *)elsewhere, "not of the file");
	inv_map_close(&map);
	inv_map_let_go(&map, NULL, 0);
}

/* Pages of mapped files that this process holds. */
static long pages_of_files(void)
{
	long all, resident, of_files = -1;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld %ld", &all, &resident, &of_files), 3);
	fclose(f);
	return of_files;
}

static void what_is_let_go_takes_no_memory(void **state)
{
	enum { SIZE = 32 << 20 };
	long page = sysconf(_SC_PAGE_SIZE), before;
	unsigned char *bytes = calloc(1, SIZE);
	unsigned sum = 0;
	inv_map map;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(inv_file_save(test_path("large"), bytes, SIZE), INVAR_OK);
	assert_int_equal(inv_map_open(test_path("large"), &map), INVAR_OK);
	for (size_t i = 0; i < SIZE; i += 512)
		sum += map.data[i];
	assert_int_equal(sum, 0);
	before = pages_of_files();
	inv_map_let_go(&map, map.data + 100, SIZE - 200);
	assert_true(before - pages_of_files() >= SIZE / page / 2);
	inv_map_close(&map);
	free(bytes);
}

static void only_regular_files_are_opened(void **state)
{
	inv_map map;

	(void)state;
	assert_int_equal(inv_map_open(test_folder(), &map), INVAR_E_IO);
	test_assert_error("is a folder");
	assert_int_equal(mkfifo(test_path("fifo"), 0666), 0); /* must not block */
	assert_int_equal(inv_map_open(test_path("fifo"), &map), INVAR_E_IO);
	test_assert_error("is not a regular file");
	assert_int_equal(inv_map_open("/dev/zero", &map), INVAR_E_IO);
	assert_int_equal(inv_map_open(test_path("nowhere"), &map), INVAR_E_IO);
	test_assert_error("nowhere: cannot open: No such file");
}

static void a_small_file_is_loaded_within_its_limit(void **state)
{
	size_t bytes;
	char *text;

	(void)state;
	test_write(test_path("s"), "12345", 5);
	assert_int_equal(inv_file_load(test_path("s"), 5, &text, &bytes), INVAR_OK);
	assert_int_equal(bytes, 5);
	assert_string_equal(text, "12345");
	inv_free(text);
	assert_int_equal(inv_file_load(test_path("s"), 4, &text, &bytes), INVAR_E_FORMAT);
	assert_null(text);
	test_assert_error("has 5 bytes, expected at most 4");
}

static void folders_are_made_once_and_files_are_not_folders(void **state)
{
	(void)state;
	assert_int_equal(inv_make_folder(test_path("f")), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("f")), INVAR_OK);
	assert_true(inv_is_folder(test_path("f")));
	assert_int_equal(inv_sync_folder(test_path("f")), INVAR_OK);
	test_write(test_path("g"), "x", 1);
	assert_int_equal(inv_make_folder(test_path("g")), INVAR_E_IO);
	assert_false(inv_is_folder(test_path("g")));
	assert_true(inv_exists(test_path("g")));
	assert_false(inv_exists(test_path("h")));
	assert_int_equal(inv_sync_folder(test_path("h")), INVAR_E_IO);
}

static void a_link_to_nowhere_exists(void **state)
{
	(void)state;
	assert_int_equal(symlink("nowhere", test_path("link")), 0);
	assert_true(inv_exists(test_path("link")));
}

static void paths_join_with_one_slash(void **state)
{
	static const char *cases[][3] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *path = inv_join(cases[i][0], cases[i][1]);

		assert_string_equal(path, cases[i][2]);
		inv_free(path);
	}
}

static void a_bare_name_is_saved_in_the_current_folder(void **state)
{
	char before[4096];

	(void)state;
	assert_non_null(getcwd(before, sizeof before));
	assert_int_equal(chdir(test_folder()), 0);
	assert_int_equal(inv_file_save("bare", "x", 1), INVAR_OK);
	assert_int_equal(chdir(before), 0);
	assert_holds(test_path("bare"), "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_file_holds_its_bytes),
		cmocka_unit_test(pieces_around_the_buffer_size_arrive_in_order),
		cmocka_unit_test(an_aborted_save_leaves_the_old_file),
		cmocka_unit_test(a_part_left_by_a_killed_program_is_replaced),
		cmocka_unit_test(a_part_file_of_the_user_is_left_alone),
		cmocka_unit_test(a_link_in_place_of_the_part_is_not_followed),
		cmocka_unit_test(a_pipe_in_place_of_the_part_does_not_block),
		cmocka_unit_test(what_another_name_of_the_part_holds_stays),
		cmocka_unit_test(a_replaced_file_keeps_its_mode_and_owner),
		cmocka_unit_test(of_two_that_save_a_file_at_once_the_second_fails),
		cmocka_unit_test(a_full_disk_leaves_the_old_file),
		cmocka_unit_test(a_promise_that_the_disk_cannot_keep_fails_at_once),
		cmocka_unit_test(a_folder_is_not_overwritten),
		cmocka_unit_test(places_that_cannot_be_written_are_named),
		cmocka_unit_test(a_map_shows_the_file_and_empty_files_map_to_nothing),
		cmocka_unit_test(what_is_let_go_can_be_read_again),
		cmocka_unit_test(what_is_let_go_takes_no_memory),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(a_small_file_is_loaded_within_its_limit),
		cmocka_unit_test(folders_are_made_once_and_files_are_not_folders),
		cmocka_unit_test(a_link_to_nowhere_exists),
		cmocka_unit_test(paths_join_with_one_slash),
		cmocka_unit_test(a_bare_name_is_saved_in_the_current_folder),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
