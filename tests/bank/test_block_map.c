/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_map.c - the map of finished blocks: what it keeps, what it rejects. */
#include <stdlib.h>

#include "bank/block_map.h"
#include "support.h"

#define OURS "0123456789012345678901234567890123456789012345678901234567890123"
#define THEIRS "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd"

static inv_block_map *open_map(const char *name, uint64_t rows, size_t arrays)
{
	inv_block_map *d;

	assert_int_equal(inv_block_map_open(test_path("%s", name), rows, arrays, &d), INVAR_OK);
	return d;
}

static void what_is_marked_and_saved_is_there_again(void **state)
{
	inv_block_map *d = open_map("map", 600, 2);

	(void)state;
	assert_int_equal(inv_block_map_blocks(d), 3);
	assert_int_equal(inv_block_map_expect(d, 0, OURS), INVAR_OK);
	assert_int_equal(inv_block_map_expect(d, 1, OURS), INVAR_OK);
	inv_block_map_mark(d, 1, 2);
	assert_int_equal(inv_block_map_save(d), INVAR_OK);
	inv_block_map_mark(d, 0, 0); /* not saved */
	inv_block_map_close(d, false);
	assert_true(inv_block_map_is_begun(test_path("map")));
	d = open_map("map", 600, 4);
	assert_int_equal(inv_block_map_arrays(d), 4);
	assert_int_equal(inv_block_map_expect(d, 1, OURS), INVAR_OK);
	assert_false(inv_block_map_any(d, 0));
	assert_true(inv_block_map_has(d, 1, 2));
	assert_false(inv_block_map_has(d, 1, 1));
	assert_false(inv_block_map_any(d, 3));
	inv_block_map_close(d, false);
	d = open_map("map", 600, 1); /* arrays of an earlier run stay */
	assert_int_equal(inv_block_map_arrays(d), 2);
	inv_block_map_close(d, true);
	assert_false(test_exists(test_path("map")));
	assert_false(inv_block_map_is_begun(test_path("map")));
}

static void blocks_of_something_else_are_refused(void **state)
{
	inv_block_map *d = open_map("other", 600, 2), *second;

	(void)state;
	assert_int_equal(inv_block_map_open(test_path("other"), 600, 2, &second), INVAR_E_IO);
	test_assert_error("another process");
	assert_int_equal(inv_block_map_expect(d, 0, THEIRS), INVAR_OK);
	assert_int_equal(inv_block_map_expect(d, 0, OURS), INVAR_OK); /* nothing is done yet */
	inv_block_map_mark(d, 0, 1);
	assert_int_equal(inv_block_map_save(d), INVAR_OK);
	inv_block_map_close(d, false);
	d = open_map("other", 600, 2);
	assert_int_equal(inv_block_map_expect(d, 0, THEIRS), INVAR_E_MISMATCH);
	test_assert_error("other: this split was started with different images");
	assert_int_equal(inv_block_map_expect(d, 1, THEIRS), INVAR_OK);
	inv_block_map_close(d, false);
	assert_int_equal(inv_block_map_open(test_path("other"), 900, 2, &d), INVAR_E_MISMATCH);
	assert_true(test_exists(test_path("other")));
}

static void a_map_without_a_block_is_removed(void **state)
{
	inv_block_map *d = open_map("empty", 1, 1);

	(void)state;
	assert_int_equal(inv_block_map_save(d), INVAR_OK);
	assert_false(inv_block_map_is_begun(test_path("empty")));
	inv_block_map_close(d, false);
	assert_false(test_exists(test_path("empty")));
	inv_block_map_close(NULL, true);
}

/* Every truncated file and line is read as fewer blocks, never as more. */
static void a_torn_map_stands_for_less(void **state)
{
	inv_block_map *d = open_map("torn", 512, 2);
	size_t bytes;
	char *text;

	(void)state;
	assert_int_equal(inv_block_map_expect(d, 0, OURS), INVAR_OK);
	assert_int_equal(inv_block_map_expect(d, 1, OURS), INVAR_OK);
	inv_block_map_mark(d, 0, 0);
	inv_block_map_mark(d, 1, 1);
	assert_int_equal(inv_block_map_save(d), INVAR_OK);
	inv_block_map_close(d, false);
	text = test_read(test_path("torn"), &bytes);
	for (size_t cut = 0; cut <= bytes; cut++) {
		test_write(test_path("cut"), text, cut);
		if (inv_block_map_open(test_path("cut"), 512, 2, &d) != INVAR_OK)
			continue;
		assert_int_equal(inv_block_map_any(d, 1), cut == bytes);
		inv_block_map_close(d, true);
	}
	for (size_t at = 64; at < bytes; at++) {
		char was = text[at];

		text[at] = '\0';
		test_write(test_path("bad"), text, bytes);
		d = open_map("bad", 512, 2);
		assert_true(!inv_block_map_any(d, 0) || inv_block_map_has(d, 0, 0));
		assert_false(inv_block_map_has(d, 0, 1) || inv_block_map_has(d, 1, 0));
		inv_block_map_close(d, true);
		text[at] = was;
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_marked_and_saved_is_there_again),
		cmocka_unit_test(blocks_of_something_else_are_refused),
		cmocka_unit_test(a_map_without_a_block_is_removed),
		cmocka_unit_test(a_torn_map_stands_for_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
