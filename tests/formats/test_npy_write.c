/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy_write.c - claims about writing NumPy files: NumPy's own bytes, or none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/npy.h"
#include "support.h"

static void assert_same_file(const char *path, const char *reference)
{
	size_t a_bytes, b_bytes;
	char *a = test_read(path, &a_bytes);
	char *b = test_read(test_source("tests/formats/data/%s", reference), &b_bytes);

	assert_int_equal(a_bytes, b_bytes);
	assert_memory_equal(a, b, a_bytes);
	free(a);
	free(b);
}

static void what_we_write_is_what_numpy_writes(void **state)
{
	const uint64_t cube[3] = {2, 3, 2}, five[1] = {5}, empty[3] = {3, 0, 2};
	const int64_t integers[5] = {-5, -4, -3, -2, -1};
	const float scalar = 7.25f;
	inv_npy_writer *w;
	float ramp[12];

	(void)state;
	for (int i = 0; i < 12; i++)
		ramp[i] = (float)(i - 5) / 4;
	assert_int_equal(invar_array_write(NULL, test_path("a"), ramp, 3, cube, INVAR_FLOAT32),
	                 0);
	assert_same_file(test_path("a"), "f4_le_c.npy");
	assert_int_equal(invar_array_write(NULL, test_path("a"), ramp, 3, cube, INVAR_FLOAT16),
	                 0);
	assert_same_file(test_path("a"), "f2_le_c.npy");
	assert_int_equal(
		invar_array_write(NULL, test_path("a"), &scalar, 0, NULL, INVAR_FLOAT32), 0);
	assert_same_file(test_path("a"), "scalar.npy");
	assert_int_equal(invar_array_write(NULL, test_path("a"), NULL, 3, empty, INVAR_FLOAT32),
	                 0);
	assert_same_file(test_path("a"), "empty.npy");
	assert_int_equal(inv_npy_create(test_path("a"), INV_I64, 1, five, &w), INVAR_OK);
	assert_int_equal(inv_npy_put_int(w, integers, 2), INVAR_OK);
	assert_int_equal(inv_npy_put_int(w, integers + 2, 3), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
	assert_same_file(test_path("a"), "vector.npy");
}

/* Enough for several blocks of the conversion, in pieces of odd sizes. */
static void pieces_of_any_size_make_the_same_file(void **state)
{
	enum { CELLS = 50000 };
	const uint64_t shape[2] = {CELLS / 50, 50};
	float *data = malloc(CELLS * sizeof *data), *back = malloc(CELLS * sizeof *back);
	inv_npy_writer *w;
	inv_npy *a;

	(void)state;
	for (int i = 0; i < CELLS; i++)
		data[i] = (float)(i % 2001 - 1000) / 8;
	assert_int_equal(inv_npy_create(test_path("b"), INV_F16, 2, shape, &w), INVAR_OK);
	for (size_t done = 0, n = 1; done < CELLS; done += n, n = 3 * n + 1) {
		n = n < CELLS - done ? n : CELLS - done;
		assert_int_equal(inv_npy_put(w, data + done, n), INVAR_OK);
	}
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
	assert_int_equal(inv_npy_open(test_path("b"), &a), INVAR_OK);
	assert_int_equal(inv_npy_read(a, 0, CELLS, back), INVAR_OK);
	assert_memory_equal(back, data, CELLS * sizeof *data);
	inv_npy_close(a);
	free(data);
	free(back);
}

static void too_few_or_too_many_elements_leave_no_file(void **state)
{
	const uint64_t shape[1] = {3};
	const float data[4] = {1, 2, 3, 4};
	inv_npy_writer *w;

	(void)state;
	assert_int_equal(inv_npy_create(test_path("c"), INV_F32, 1, shape, &w), INVAR_OK);
	assert_int_equal(inv_npy_put(w, data, 2), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_E_USE);
	test_assert_error("got 2 elements, but its shape needs 3");
	assert_false(test_exists(test_path("c")));
	assert_int_equal(inv_npy_create(test_path("c"), INV_F32, 1, shape, &w), INVAR_OK);
	assert_int_equal(inv_npy_put(w, data, 4), INVAR_E_USE);
	inv_npy_abort(w);
	inv_npy_abort(NULL);
	assert_false(test_exists(test_path("c")));
	assert_false(test_has_part(test_folder()));
}

static void floats_and_integers_do_not_mix(void **state)
{
	const uint64_t shape[1] = {1};
	inv_npy_writer *w;

	(void)state;
	assert_int_equal(inv_npy_create(test_path("d"), INV_F32, 1, shape, &w), INVAR_OK);
	assert_int_equal(inv_npy_put_int(w, &(int64_t){1}, 1), INVAR_E_USE);
	test_assert_error("was started as float32 but got integers");
	inv_npy_abort(w);
	assert_int_equal(inv_npy_create(test_path("d"), INV_F64, 1, shape, &w), INVAR_E_USE);
	assert_null(w);
}

static void shapes_that_no_file_can_hold_are_refused(void **state)
{
	const uint64_t huge[2] = {UINT64_C(1) << 32, UINT64_C(1) << 31}, ones[9] = {1, 1, 1, 1};
	inv_npy_writer *w;

	(void)state;
	assert_int_equal(inv_npy_create(test_path("e"), INV_F32, 2, huge, &w), INVAR_E_USE);
	assert_int_equal(inv_npy_create(test_path("e"), INV_F32, 9, ones, &w), INVAR_E_USE);
	assert_false(test_exists(test_path("e")));
}

static void a_number_too_large_for_float16_is_refused_not_made_infinite(void **state)
{
	const uint64_t shape[1] = {3};
	const float data[3] = {1, 65504, -70000}, infinite[3] = {INFINITY, NAN, -INFINITY};

	(void)state;
	assert_int_equal(invar_array_write(NULL, test_path("f"), data, 1, shape, INVAR_FLOAT16),
	                 INVAR_E_NUMERIC);
	test_assert_error("element 2 is -70000, but float16 holds at most 65504");
	assert_false(test_exists(test_path("f")));
	assert_int_equal(
		invar_array_write(NULL, test_path("f"), infinite, 1, shape, INVAR_FLOAT16),
		INVAR_OK);
}

static void a_pipe_carries_the_same_bytes(void **state)
{
	const uint64_t cube[3] = {2, 3, 2};
	char bytes[512];
	inv_npy_writer *w;
	float ramp[12];
	int ends[2];

	(void)state;
	for (int i = 0; i < 12; i++)
		ramp[i] = (float)(i - 5) / 4;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(inv_npy_create_stream(ends[1], "-", INV_F32, 3, cube, &w), INVAR_OK);
	assert_int_equal(inv_npy_put(w, ramp, 12), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
	close(ends[1]);
	test_write(test_path("g"), bytes, (size_t)read(ends[0], bytes, sizeof bytes));
	close(ends[0]);
	assert_same_file(test_path("g"), "f4_le_c.npy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_write_is_what_numpy_writes),
		cmocka_unit_test(pieces_of_any_size_make_the_same_file),
		cmocka_unit_test(too_few_or_too_many_elements_leave_no_file),
		cmocka_unit_test(floats_and_integers_do_not_mix),
		cmocka_unit_test(shapes_that_no_file_can_hold_are_refused),
		cmocka_unit_test(a_number_too_large_for_float16_is_refused_not_made_infinite),
		cmocka_unit_test(a_pipe_carries_the_same_bytes),
	};

	return cmocka_run_group_tests_name("npy_write", tests, NULL, NULL);
}
