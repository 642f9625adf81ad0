/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tar.c - tar files of GNU tar (fuzz/corpus/tar, made by its --format=v7, ustar, gnu
 * and pax), and headers that lie.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tar.h"
#include "support.h"

enum { BLOCK = 512, FILES = 3 };

/* ---- Files of GNU tar --------------------------------------------------------------- */

/* The last regular member of a file of the corpus. */
static void last_of(const char *file, char path[INV_TAR_PATH], uint64_t *bytes)
{
	size_t size;
	uint8_t *data = test_read(test_source("fuzz/corpus/tar/%s", file), &size);
	bool more = true;
	inv_tar t;

	assert_int_equal(inv_tar_open(data, size, file, &t), INVAR_OK);
	*path = '\0';
	for (;;) {
		if (inv_tar_next(&t, &more) != INVAR_OK)
			fail_msg("%s", invar_last_error());
		if (!more)
			break;
		if (t.type == INV_TAR_FILE) {
			strcpy(path, t.path);
			*bytes = t.bytes;
			assert_memory_equal(data + t.offset, "\x89PNG", 4);
		}
	}
	free(data);
}

static void long_paths_are_read_in_every_format(void **state)
{
	static const char *const files[FILES] = {"gnu.tar", "pax.tar", "ustar.tar"};
	char path[INV_TAR_PATH], want[256], deep[91];
	uint64_t bytes;

	(void)state;
	memset(deep, 'd', 90);
	deep[90] = '\0';
	snprintf(want, sizeof want, "x/%s/%s/long.png", deep, deep);
	for (size_t i = 0; i < FILES; i++) {
		last_of(files[i], path, &bytes);
		assert_string_equal(path, want);
		assert_true(bytes > 60);
	}
	last_of("v7.tar", path, &bytes);
	assert_string_equal(path, "train/cat/1.png");
}

/* Every member that is reported lies within the bytes that are there. */
static void walk_all(const uint8_t *data, size_t size)
{
	bool more = true;
	inv_tar t;

	if (inv_tar_open(data, size, "t.tar", &t) != INVAR_OK)
		return;
	while (inv_tar_next(&t, &more) == INVAR_OK && more)
		assert_true(t.offset <= size && t.bytes <= size - t.offset);
}

static void cuts_and_flips_do_no_harm(void **state)
{
	static const char *const files[FILES] = {"gnu.tar", "pax.tar", "web.tar"};

	(void)state;
	for (size_t k = 0; k < FILES; k++) {
		size_t size;
		uint8_t *data = test_read(test_source("fuzz/corpus/tar/%s", files[k]), &size);

		for (size_t cut = 0; cut < size; cut += 7) {
			uint8_t *part = malloc(cut ? cut : 1);

			memcpy(part, data, cut);
			walk_all(part, cut);
			free(part);
		}
		for (size_t i = 0; i < size; i++) {
			data[i] ^= (uint8_t)(1u << i % 8);
			walk_all(data, size);
			data[i] ^= (uint8_t)(1u << i % 8);
		}
		free(data);
	}
}

/* ---- Headers that lie ---------------------------------------------------------------- */

static void put_sum(uint8_t *header)
{
	unsigned sum = 0;

	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum);
}

static void put_header(uint8_t *header, const char *path, char type, const char *size)
{
	memset(header, 0, BLOCK);
	strcpy((char *)header, path);
	memcpy(header + 124, size, strlen(size));
	header[156] = (uint8_t)type;
	memcpy(header + 257,
	       "ustar\0"
	       "00",
	       8);
	put_sum(header);
}

static void refused(const uint8_t *data, size_t size, const char *why)
{
	bool more = true;
	inv_tar t;
	invar_status st = inv_tar_open(data, size, "t.tar", &t);

	while (st == INVAR_OK && more)
		st = inv_tar_next(&t, &more);
	assert_int_equal(st, INVAR_E_FORMAT);
	test_assert_error(why);
}

static void sizes_beyond_the_file_are_refused(void **state)
{
	uint8_t data[3 * BLOCK] = {0};

	(void)state;
	put_header(data, "a.png", '0', "00000002001"); /* 1025 of 1024 */
	refused(data, sizeof data, "a member of 1025 bytes at byte 512 of 1536");
	memset(data + 124, 0xff, 12); /* binary, 2^95 */
	put_sum(data);
	refused(data, sizeof data, "a size that is not a number at byte 0");
	memset(data + 124, 0, 12);
	memcpy(data + 124, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
	put_sum(data);
	refused(data, sizeof data, "a member of 9223372036854775807 bytes");
	put_header(data, "a.png", '0', "99");
	refused(data, sizeof data, "a size that is not a number");
}

static void pax_headers_are_checked(void **state)
{
	static const char *const records[][2] = {
		{"9999 path=a\n", "a pax header that cannot be read"},
		{"7 path=\n", "a pax header that cannot be read"},
		{"8 path=\n", "a path that is empty or too long"},
		{"10 size=x\n", "a size that is not a number"},
		{"32 size=99999999999999999999999\n", "a size that is not a number"},
		{"13 size=9999\n", "a member of 9999 bytes"},
		{"x\n", "a pax header that cannot be read"},
	};
	uint8_t data[4 * BLOCK] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		char size[32];

		memset(data, 0, sizeof data);
		snprintf(size, sizeof size, "%011zo", strlen(records[i][0]));
		put_header(data, "pax", 'x', size);
		strcpy((char *)data + BLOCK, records[i][0]);
		put_header(data + 2 * BLOCK, "a.png", '0', "00000000001");
		refused(data, sizeof data, records[i][1]);
	}
}

static void a_wrong_sum_is_refused(void **state)
{
	uint8_t data[4 * BLOCK] = {0};

	(void)state;
	put_header(data, "a.png", '0', "00000000001");
	put_header(data + 2 * BLOCK, "b.png", '0', "00000000001");
	data[2 * BLOCK]++;
	refused(data, sizeof data, "a header with a wrong checksum at byte 1024");
	refused(data, 2 * BLOCK + 100, "is a truncated tar file: 100 bytes at byte 1024");
	data[0]++;
	refused(data, sizeof data, "t.tar: is not a tar file");
	put_header(data, "a.png", 'S', "00000000001");
	refused(data, sizeof data, "has a sparse file");
}

/* Folders and links have no data, whatever their size field says. */
static void links_have_no_data(void **state)
{
	uint8_t data[3 * BLOCK] = {0};
	bool more;
	inv_tar t;

	(void)state;
	put_header(data, "link", '1', "00000077777");
	strcpy((char *)data + 157, "a.png");
	put_sum(data);
	put_header(data + BLOCK, "a.png", '0', "00000000000");
	assert_int_equal(inv_tar_open(data, sizeof data, "t.tar", &t), INVAR_OK);
	assert_int_equal(inv_tar_next(&t, &more), INVAR_OK);
	assert_true(more && t.type == INV_TAR_HARD && t.bytes == 0);
	assert_string_equal(t.target, "a.png");
	assert_int_equal(inv_tar_next(&t, &more), INVAR_OK);
	assert_true(more && t.type == INV_TAR_FILE && !*t.target);
	assert_string_equal(t.path, "a.png");
	assert_int_equal(inv_tar_next(&t, &more), INVAR_OK);
	assert_false(more);
}

/* GNU tar writes long targets with a header of type K, or with a pax header. */
static void long_targets_are_read(void **state)
{
	size_t size, found = 0;
	uint8_t *data = test_read(test_source("fuzz/corpus/tar/links.tar"), &size);
	bool more = true;
	inv_tar t;

	(void)state;
	assert_int_equal(inv_tar_open(data, size, "links.tar", &t), INVAR_OK);
	while (inv_tar_next(&t, &more) == INVAR_OK && more) {
		if (strcmp(t.path, "b/long.png") != 0)
			continue;
		assert_int_equal(t.type, INV_TAR_SYMBOLIC);
		assert_int_equal(strlen(t.target), strlen("../a/.png") + 120);
		assert_memory_equal(t.target, "../a/nnn", 8);
		found++;
	}
	assert_int_equal(found, 2);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_paths_are_read_in_every_format),
		cmocka_unit_test(cuts_and_flips_do_no_harm),
		cmocka_unit_test(sizes_beyond_the_file_are_refused),
		cmocka_unit_test(pax_headers_are_checked),
		cmocka_unit_test(a_wrong_sum_is_refused),
		cmocka_unit_test(links_have_no_data),
		cmocka_unit_test(long_targets_are_read),
	};

	return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
