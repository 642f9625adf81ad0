/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_npy.c - claims about reading NumPy files.
 *
 * data/ was made by NumPy (make_data.py beside it); element i in C order holds
 * i - 5, i or (i - 5) / 4 by its type, so every value is known from its index.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "support.h"

static inv_npy *open_data(const char *name)
{
	inv_npy *a;

	if (inv_npy_open(test_source("tests/formats/data/%s", name), &a) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return a;
}

static double ramp(inv_dtype t, uint64_t i)
{
	if (!inv_dtype_is_integer(t))
		return ((double)i - 5) / 4;
	return t >= INV_U8 ? (double)i : (double)i - 5;
}

static void check_every_range(const inv_npy *a)
{
	float out[64];

	assert_true(a->h.cells <= 64);
	for (uint64_t first = 0; first <= a->h.cells; first++)
		for (uint64_t count = 0; count <= a->h.cells - first; count++) {
			assert_int_equal(inv_npy_read(a, first, count, out), INVAR_OK);
			for (uint64_t i = 0; i < count; i++)
				assert_true((double)out[i] == ramp(a->h.dtype, first + i));
		}
}

static void check_every_int_range(const inv_npy *a)
{
	int64_t out[64];

	for (uint64_t first = 0; first <= a->h.cells; first++) {
		assert_int_equal(inv_npy_read_int(a, first, a->h.cells - first, out), INVAR_OK);
		for (uint64_t i = 0; i < a->h.cells - first; i++)
			assert_true((double)out[i] == ramp(a->h.dtype, first + i));
	}
}

static void every_type_order_and_endianness_reads_in_every_range(void **state)
{
	static const char *codes[] = {"f2", "f4", "f8", "i1", "i2", "i4",
	                              "i8", "u1", "u2", "u4", "u8"};
	static const char *variants[] = {"le_c", "le_f", "be_c", "be_f"};
	char name[32];

	(void)state;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		for (size_t k = 0; k < 4; k++) {
			inv_npy *a;

			snprintf(name, sizeof name, "%s_%s.npy", codes[i], variants[k]);
			a = open_data(name);
			assert_int_equal(a->h.ndim, 3);
			assert_int_equal(a->h.fortran, k % 2);
			check_every_range(a);
			if (inv_dtype_is_integer(a->h.dtype))
				check_every_int_range(a);
			inv_npy_close(a);
		}
}

static void versions_1_2_and_3_and_older_writers_read_alike(void **state)
{
	static const char *names[] = {"version_1.npy", "version_2.npy", "version_3.npy",
	                              "python_2.npy", "unaligned.npy"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		inv_npy *a = open_data(names[i]);

		assert_int_equal(a->h.ndim, 2);
		assert_int_equal(a->h.shape[0], 2);
		assert_int_equal(a->h.shape[1], 3);
		check_every_range(a);
		inv_npy_close(a);
	}
}

static void fortran_order_reads_right_at_rank_8(void **state)
{
	inv_npy *a = open_data("rank_8_f.npy");

	(void)state;
	assert_int_equal(a->h.ndim, 8);
	assert_true(a->h.fortran);
	check_every_range(a);
	inv_npy_close(a);
}

/* More elements than one gathered block holds. */
static void a_large_fortran_array_reads_right(void **state)
{
	enum { ROWS = 37, COLUMNS = 41 };
	unsigned char *bytes = malloc(128 + 4 * ROWS * COLUMNS);
	float *columns = malloc(4 * ROWS * COLUMNS), *out = malloc(4 * ROWS * COLUMNS);
	inv_npy *a;

	(void)state;
	memset(bytes, ' ', 128);
	memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
	bytes[10 + sprintf((char *)bytes + 10,
	                   "{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %d)}", ROWS,
	                   COLUMNS)] = ' ';
	bytes[127] = '\n';
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			columns[c * ROWS + r] = (float)(r * COLUMNS + c);
	memcpy(bytes + 128, columns, 4 * ROWS * COLUMNS);
	assert_int_equal(inv_npy_view(bytes, 128 + 4 * ROWS * COLUMNS, "f", &a), INVAR_OK);
	assert_int_equal(inv_npy_read(a, 3, ROWS * COLUMNS - 3, out), INVAR_OK);
	for (int i = 3; i < ROWS * COLUMNS; i++)
		assert_true(out[i - 3] == (float)i);
	inv_npy_close(a);
	free(bytes);
	free(columns);
	free(out);
}

static void a_scalar_has_rank_0_and_one_element(void **state)
{
	inv_npy *a = open_data("scalar.npy");
	float x;

	(void)state;
	assert_int_equal(a->h.ndim, 0);
	assert_int_equal(a->h.cells, 1);
	assert_int_equal(inv_npy_read(a, 0, 1, &x), INVAR_OK);
	assert_true(x == 7.25f);
	inv_npy_close(a);
}

static void an_empty_array_is_fine(void **state)
{
	inv_npy *a = open_data("empty.npy");

	(void)state;
	assert_int_equal(a->h.ndim, 3);
	assert_int_equal(a->h.cells, 0);
	assert_int_equal(inv_npy_read(a, 0, 0, NULL), INVAR_OK);
	inv_npy_close(a);
}

static void reading_beyond_the_end_is_refused(void **state)
{
	inv_npy *a = open_data("vector.npy");
	float x[8];

	(void)state;
	assert_int_equal(inv_npy_read(a, 4, 2, x), INVAR_E_USE);
	test_assert_error("it has 5");
	assert_int_equal(inv_npy_read(a, 6, 0, x), INVAR_E_USE);
	assert_int_equal(inv_npy_read(a, 1, UINT64_MAX, x), INVAR_E_USE);
	assert_int_equal(inv_npy_read(a, UINT64_MAX, 1, x), INVAR_E_USE);
	inv_npy_close(a);
}

static void floats_are_not_read_as_integers(void **state)
{
	inv_npy *a = open_data("f4_le_c.npy");
	int64_t x;

	(void)state;
	assert_int_equal(inv_npy_read_int(a, 0, 1, &x), INVAR_E_FORMAT);
	test_assert_error("contains float32, expected integers");
	assert_int_equal(inv_npy_read_int(a, 0, 0, &x), INVAR_E_FORMAT);
	inv_npy_close(a);
}

static void a_uint64_beyond_int64_is_refused(void **state)
{
	inv_npy *a = open_data("uint64_max.npy");
	int64_t x[2];

	(void)state;
	assert_int_equal(inv_npy_read_int(a, 0, 1, x), INVAR_OK);
	assert_int_equal(inv_npy_read_int(a, 0, 2, x), INVAR_E_FORMAT);
	test_assert_error("above 9223372036854775807");
	inv_npy_close(a);
}

static void the_public_functions_are_the_same_reader(void **state)
{
	invar_array *a;
	float out[5];
	int64_t whole[5];

	(void)state;
	assert_int_equal(
		invar_array_open(NULL, test_source("tests/formats/data/vector.npy"), &a), INVAR_OK);
	assert_int_equal(a->h.ndim, 1);
	assert_int_equal(a->h.shape[0], 5);
	assert_int_equal(a->h.cells, 5);
	assert_int_equal(invar_array_read(a, 0, 5, out), INVAR_OK);
	assert_true(out[0] == -5 && out[4] == -1);
	invar_array_close(a);
	assert_int_equal(invar_array_open(NULL, test_source("fuzz/corpus/npy/u8_le_c.npy"), &a),
	                 INVAR_OK);
	assert_int_equal(inv_npy_read_int(a, 0, 1, whole), INVAR_OK);
	invar_array_close(a);
	invar_array_close(NULL);
}

static void files_that_are_not_there_or_not_files_are_named(void **state)
{
	inv_npy *a = (inv_npy *)state;

	assert_int_equal(inv_npy_open(test_path("absent.npy"), &a), INVAR_E_IO);
	assert_null(a);
	test_assert_error("absent.npy: cannot open: No such file or directory");
	assert_int_equal(inv_npy_open(test_folder(), &a), INVAR_E_IO);
	test_assert_error("is a folder");
	test_write(test_path("text.npy"), "1 2 3\n4 5 6\n", 12);
	assert_int_equal(inv_npy_open(test_path("text.npy"), &a), INVAR_E_FORMAT);
	test_assert_error("text.npy: is not a NumPy file (it does not start with \\x93NUMPY)");
	test_write(test_path("nothing.npy"), "", 0);
	assert_int_equal(inv_npy_open(test_path("nothing.npy"), &a), INVAR_E_FORMAT);
	test_assert_error("is empty");
}

/* A whole file around a header and `bytes` zeros of data, opened from memory. */
static invar_status open_text(const char *header, size_t bytes)
{
	unsigned char file[1024] = "\x93NUMPY\x01";
	size_t length = strlen(header);
	inv_npy *a;
	invar_status st;

	assert_true(10 + length + bytes <= sizeof file);
	file[8] = (unsigned char)(length & 0xff);
	file[9] = (unsigned char)(length >> 8);
	memcpy(file + 10, header, length);
	st = inv_npy_view(file, 10 + length + bytes, "h.npy", &a);
	inv_npy_close(a);
	return st;
}

static void headers_that_mean_the_same_are_accepted(void **state)
{
	static const char *headers[] = {
		"{'descr':'<f4','fortran_order':False,'shape':(2,3)}\n",
		"{\"shape\": (2, 3,), \"descr\": \"<f4\", \"fortran_order\": False,}  \n",
		"{'fortran_order' : True , 'shape' : ( 2 , 3 , ) , 'descr' : '=f4' }\n",
		"{ 'descr': '>i4',\n'fortran_order': False,\t'shape': (6,), }\n",
		"{'descr': '<u4', 'fortran_order': True, 'shape': (6L,)}\n",
		"{'descr': '|i1', 'fortran_order': False, 'shape': (24,)}\n",
		"{'descr': '<u1', 'fortran_order': False, 'shape': (24,)}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (open_text(headers[i], 24) != INVAR_OK)
			fail_msg("%s%s", headers[i], invar_last_error());
}

static void headers_with_anything_odd_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *header, *reason;
	} odd[] = {
		{"", "claims a header of 0 bytes"},
		{"{}\n", "has no 'descr'"},
		{" {'descr': '<f4'}\n", "expected a dict in braces"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", "expected a newline"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x\n", "nothing more"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)\n", "closing brace"},
		{"{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}\n", "a comma"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6)}\n", "a comma in shape"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': [6]}\n", "a tuple for shape"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (06,)}\n", "leading zeros"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}\n", "a count of shape"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (+6,)}\n", "a count of shape"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6 6)}\n", "a comma in shape"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}\n",
	     "more than 8 dimensions"},
		{"{'descr': '<f4', 'fortran_order': false, 'shape': (6,)}\n", "True or False"},
		{"{'descr': '<f4', 'fortran_order': Falsely, 'shape': (6,)}\n", "a comma"},
		{"{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}\n", "'descr' twice"},
		{"{descr: '<f4', 'fortran_order': False, 'shape': (6,)}\n", "expected a key"},
		{"{'descr': 'f4', 'fortran_order': False, 'shape': (6,)}\n", "descr 'f4'"},
		{"{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}\n", "descr '|f4'"},
		{"{'descr': '', 'fortran_order': False, 'shape': (6,)}\n", "descr ''"},
		{"{'descr': '<f16', 'fortran_order': False, 'shape': (6,)}\n", "descr '<f16'"},
		{"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}\n", "complex numbers"},
		{"{'descr': '|b1', 'fortran_order': False, 'shape': (24,)}\n", "truth values"},
		{"{'descr': '|S4', 'fortran_order': False, 'shape': (6,)}\n", "text"},
		{"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (3,)}\n", "dates"},
		{"{'descr': '<f\\x34', 'fortran_order': False, 'shape': (6,)}\n", "plain word"},
		{"{'descr': '<f4, 'fortran_order': False, 'shape': (6,)}\n", "descr '<f4, '"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}\n", "expected 28"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}\n", "expected 20"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}\n",
	     "more than 2^63 - 1 bytes"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}\n",
	     "over 2^64"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		if (open_text(odd[i].header, 24) != INVAR_E_FORMAT)
			fail_msg("accepted: %s", odd[i].header);
		test_assert_error(odd[i].reason);
		test_assert_error("h.npy: ");
	}
}

/* A copy that ends at the end of its block: the sanitizer catches a read past it. */
static invar_status open_exactly(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	float out[64];
	inv_npy *a;
	invar_status st;

	memcpy(copy, bytes, size);
	st = inv_npy_view(copy, size, "x.npy", &a);
	if (st == INVAR_OK && a->h.cells <= 64)
		assert_int_equal(inv_npy_read(a, 0, a->h.cells, out), INVAR_OK);
	inv_npy_close(a);
	free(copy);
	return st;
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	static const char *names[] = {"f4_le_c.npy", "f2_be_f.npy", "version_3.npy"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t size;
		unsigned char *bytes =
			test_read(test_source("tests/formats/data/%s", names[i]), &size);

		for (size_t cut = 0; cut < size; cut++)
			assert_int_equal(open_exactly(bytes, cut), INVAR_E_FORMAT);
		assert_int_equal(open_exactly(bytes, size), INVAR_OK);
		free(bytes);
	}
}

static void a_file_with_any_bit_flipped_is_read_or_refused_cleanly(void **state)
{
	size_t size;
	unsigned char *bytes = test_read(test_source("tests/formats/data/f4_le_f.npy"), &size);

	(void)state;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		invar_status st;

		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		st = open_exactly(bytes, size);
		assert_true(st == INVAR_OK || st == INVAR_E_FORMAT);
		if (bit / 8 < 6) /* the magic */
			assert_int_equal(st, INVAR_E_FORMAT);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_order_and_endianness_reads_in_every_range),
		cmocka_unit_test(versions_1_2_and_3_and_older_writers_read_alike),
		cmocka_unit_test(fortran_order_reads_right_at_rank_8),
		cmocka_unit_test(a_large_fortran_array_reads_right),
		cmocka_unit_test(a_scalar_has_rank_0_and_one_element),
		cmocka_unit_test(an_empty_array_is_fine),
		cmocka_unit_test(reading_beyond_the_end_is_refused),
		cmocka_unit_test(floats_are_not_read_as_integers),
		cmocka_unit_test(a_uint64_beyond_int64_is_refused),
		cmocka_unit_test(the_public_functions_are_the_same_reader),
		cmocka_unit_test(files_that_are_not_there_or_not_files_are_named),
		cmocka_unit_test(headers_that_mean_the_same_are_accepted),
		cmocka_unit_test(headers_with_anything_odd_are_refused_with_a_reason),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(a_file_with_any_bit_flipped_is_read_or_refused_cleanly),
	};

	return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
