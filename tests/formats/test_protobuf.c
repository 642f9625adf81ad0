/* SPDX-License-Identifier: Apache-2.0 */
/* test_protobuf.c - fields come back as they were put, and broken ones are found. */
#include "support.h"

#include <string.h>

#include "formats/protobuf.h"

static inv_message sample(void)
{
	inv_message m = {0}, part = {0};

	inv_message_put_number(&m, 1, 0);
	inv_message_put_number(&m, 1, 127);
	inv_message_put_number(&m, 16, 128);
	inv_message_put_number(&m, 2, UINT64_MAX);
	inv_message_put_text(&m, 3, "");
	inv_message_put_text(&part, 1, "inside");
	inv_message_put(&m, (1 << 29) - 1, &part);
	inv_message_put_bytes(&m, 4, "\0\xff", 2);
	return m;
}

static void fields_come_back_as_they_were_put(void **state)
{
	static const struct {
		uint32_t number;
		unsigned kind;
		uint64_t value;
		size_t size;
	} want[] = {
		{1, 0, 0, 1}, {1, 0, 127, 1},           {16, 0, 128, 2}, {2, 0, UINT64_MAX, 10},
		{3, 2, 0, 0}, {(1 << 29) - 1, 2, 0, 8}, {4, 2, 0, 2}};
	inv_message m = sample();
	inv_bytes rest = {m.data, m.size};
	inv_field f;

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		assert_int_equal(inv_field_next(&rest, &f), INV_FIELD);
		assert_int_equal(f.number, want[i].number);
		assert_int_equal(f.kind, want[i].kind);
		assert_int_equal(f.value, want[i].value);
		assert_int_equal(f.part.size, want[i].size);
	}
	assert_memory_equal(f.part.data, "\0\xff", 2);
	assert_int_equal(inv_field_next(&rest, &f), INV_FIELD_END);
	inv_message_free(&m);
}

/* The bytes that protoc's writers make for field 16 = 300 and field 1 = "a". */
static void bytes_are_those_of_the_standard(void **state)
{
	inv_message m = {0};

	(void)state;
	inv_message_put_number(&m, 16, 300);
	inv_message_put_text(&m, 1, "a");
	assert_int_equal(m.size, 7);
	assert_memory_equal(m.data,
	                    "\x80\x01\xac\x02\x0a\x01"
	                    "a",
	                    7);
	inv_message_free(&m);
}

/* The limit is a number, so that no memory is needed to meet it. */
static void more_than_the_format_can_have_is_too_large(void **state)
{
	inv_message m = {0}, whole = {0};

	(void)state;
	inv_message_put_text(&m, 1, "a");
	assert_null(inv_message_put_space(&m, 2, INV_MESSAGE_MAX));
	assert_true(m.failed && m.too_large);
	inv_message_put_text(&m, 1, "after a failure nothing is added");
	assert_true(m.size < 16);
	inv_message_put(&whole, 1, &m);
	assert_true(whole.failed && whole.too_large);
	inv_message_free(&whole);
}

static void a_message_that_is_cut_never_reads_beyond_its_end(void **state)
{
	inv_message m = sample();

	(void)state;
	for (size_t size = 0; size < m.size; size++) {
		unsigned char *copy = test_malloc(size ? size : 1);
		inv_bytes rest = {copy, size};
		inv_field f;
		size_t seen = 0;

		memcpy(copy, m.data, size);
		while (inv_field_next(&rest, &f) == INV_FIELD)
			seen += f.whole.size;
		assert_true(seen <= size);
		test_free(copy);
	}
	inv_message_free(&m);
}

static void what_the_format_does_not_allow_is_broken(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{"\x00\x01", 2},                                          /* field number 0 */
		{"\x0b\x0c", 2},                                          /* a group */
		{"\x0e\x01", 2},                                          /* kind 6 */
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11},     /* 65 bits */
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* 11 bytes */
		{"\x0a\x05"
	     "abcd",
	     6}, /* a length beyond the end */
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
		{"\x0d\x01\x02\x03", 4},
		{"\xf8\xff\xff\xff\x1f\x01", 6}, /* field number 2^30 and more */
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		inv_bytes rest = {(const unsigned char *)bad[i].bytes, bad[i].size};
		inv_field f;

		assert_int_equal(inv_field_next(&rest, &f), INV_FIELD_BROKEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_come_back_as_they_were_put),
		cmocka_unit_test(bytes_are_those_of_the_standard),
		cmocka_unit_test(more_than_the_format_can_have_is_too_large),
		cmocka_unit_test(a_message_that_is_cut_never_reads_beyond_its_end),
		cmocka_unit_test(what_the_format_does_not_allow_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
