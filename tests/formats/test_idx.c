/* SPDX-License-Identifier: Apache-2.0 */
/* test_idx.c - idx files, plain and compressed, intact and damaged. */
#include "formats/idx.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "support.h"

enum { HEADER = 16, N = 2, ROWS = 3, COLUMNS = 5, SIZE = HEADER + N * ROWS * COLUMNS };

static void make_plain(uint8_t out[SIZE])
{
	static const uint8_t header[HEADER] = {0, 0, 8, 3,    0, 0, 0, N,
	                                       0, 0, 0, ROWS, 0, 0, 0, COLUMNS};

	memcpy(out, header, HEADER);
	for (unsigned i = HEADER; i < SIZE; i++)
		out[i] = (uint8_t)(7 * i);
}

static size_t pack(const uint8_t *from, size_t size, uint8_t *out, size_t capacity)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)from;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)capacity;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return capacity - z.avail_out;
}

static void check(const inv_idx *x, const uint8_t *plain)
{
	assert_int_equal(x->ndim, 3);
	assert_int_equal(x->shape[0], N);
	assert_int_equal(x->shape[1], ROWS);
	assert_int_equal(x->shape[2], COLUMNS);
	assert_int_equal(x->cells, SIZE - HEADER);
	assert_memory_equal(x->data, plain + HEADER, SIZE - HEADER);
}

static void plain_and_packed_hold_the_same(void **state)
{
	uint8_t plain[SIZE], packed[SIZE + 100];
	size_t size;
	inv_idx *x;

	(void)state;
	make_plain(plain);
	size = pack(plain, SIZE, packed, sizeof packed);
	test_write(test_path("a.idx"), plain, SIZE);
	test_write(test_path("a.gz"), packed, size);
	assert_int_equal(inv_idx_open(test_path("a.idx"), &x), INVAR_OK);
	check(x, plain);
	inv_idx_close(x);
	assert_int_equal(inv_idx_open(test_path("a.gz"), &x), INVAR_OK);
	check(x, plain);
	inv_idx_close(x);
}

static void every_other_length_is_refused(void **state)
{
	uint8_t plain[SIZE + 1] = {0}, packed[SIZE + 100] = {0};
	size_t size;
	inv_idx *x;

	(void)state;
	make_plain(plain);
	size = pack(plain, SIZE, packed, sizeof packed);
	for (size_t cut = 0; cut <= SIZE + 1; cut++) {
		assert_int_equal(inv_idx_view(plain, cut, "cut.idx", &x) == INVAR_OK, cut == SIZE);
		inv_idx_close(x);
	}
	for (size_t cut = 0; cut <= size + 1; cut++) {
		assert_int_equal(inv_idx_view(packed, cut, "cut.gz", &x) == INVAR_OK, cut == size);
		inv_idx_close(x);
	}
	for (size_t kept = 0; kept <= SIZE + 1; kept++) {
		size = pack(plain, kept, packed, sizeof packed);
		assert_int_equal(inv_idx_view(packed, size, "kept.gz", &x) == INVAR_OK,
		                 kept == SIZE);
		inv_idx_close(x);
	}
}

static void a_claim_beyond_the_bytes_takes_no_memory(void **state)
{
	uint8_t plain[SIZE], packed[SIZE + 100];
	size_t size;
	inv_idx *x;

	(void)state;
	make_plain(plain);
	memset(plain + 4, 0xff, 4);
	size = pack(plain, SIZE, packed, sizeof packed);
	assert_int_equal(inv_idx_view(packed, size, "big.gz", &x), INVAR_E_FORMAT);
	test_assert_error("compressed bytes can expand to");
}

static void other_types_are_refused_by_name(void **state)
{
	uint8_t plain[SIZE];
	inv_idx *x;

	(void)state;
	make_plain(plain);
	plain[2] = 0x0d;
	assert_int_equal(inv_idx_view(plain, SIZE, "a.idx", &x), INVAR_E_FORMAT);
	test_assert_error("a.idx: contains float32 (0x0d), but only uint8 (0x08) is supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_and_packed_hold_the_same),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(a_claim_beyond_the_bytes_takes_no_memory),
		cmocka_unit_test(other_types_are_refused_by_name),
	};

	return cmocka_run_group_tests_name("idx", tests, NULL, NULL);
}
