/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_safetensors.c - claims about safetensors, read and written.
 *
 * data/mixed.safetensors was made with Python's struct and json (make_data.py):
 * one tensor of each type that is read, element i holding (i - 5) / 4.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "support.h"

static void a_file_made_elsewhere_is_read(void **state)
{
	static const char *names[] = {"bf16", "f16", "f32", "f64"};
	inv_safetensors *f;
	float out[6];

	(void)state;
	assert_int_equal(
		inv_safetensors_open(test_source("tests/formats/data/mixed.safetensors"), &f),
		INVAR_OK);
	assert_int_equal(inv_safetensors_count(f), 7);
	for (size_t k = 0; k < 4; k++) {
		const inv_tensor *t = inv_safetensors_find(f, names[k]);

		assert_non_null(t);
		assert_int_equal(t->ndim, 2);
		assert_int_equal(t->cells, 6);
		assert_int_equal(inv_safetensors_read(f, t, out), INVAR_OK);
		for (int i = 0; i < 6; i++)
			assert_true(out[i] == (float)(i - 5) / 4);
	}
	assert_int_equal(inv_safetensors_find(f, "scalar")->ndim, 0);
	assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "scalar"), out),
	                 INVAR_OK);
	assert_true(out[0] == 7.25f);
	assert_int_equal(inv_safetensors_find(f, "empty")->cells, 0);
	assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "empty"), NULL),
	                 INVAR_OK);
	assert_string_equal(inv_safetensors_metadata(f, "format"), "pt");
	assert_string_equal(inv_safetensors_metadata(f, "note"), "gr\xc3\xbc\xc3\x9f"
	                                                         "e");
	inv_safetensors_close(f);
}

static void tensors_come_in_name_order_and_unknown_ones_are_null(void **state)
{
	inv_safetensors *f;

	(void)state;
	assert_int_equal(
		inv_safetensors_open(test_source("tests/formats/data/mixed.safetensors"), &f),
		INVAR_OK);
	for (size_t i = 1; i < inv_safetensors_count(f); i++)
		assert_true(
			strcmp(inv_safetensors_at(f, i - 1)->name, inv_safetensors_at(f, i)->name) < 0);
	assert_null(inv_safetensors_at(f, inv_safetensors_count(f)));
	assert_null(inv_safetensors_find(f, "absent"));
	assert_null(inv_safetensors_find(f, "__metadata__"));
	assert_null(inv_safetensors_metadata(f, "absent"));
	inv_safetensors_close(f);
	inv_safetensors_close(NULL);
}

static void integers_are_refused_as_floats_by_name(void **state)
{
	inv_safetensors *f;
	float out[2];

	(void)state;
	assert_int_equal(
		inv_safetensors_open(test_source("tests/formats/data/mixed.safetensors"), &f),
		INVAR_OK);
	assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "int"), out),
	                 INVAR_E_FORMAT);
	test_assert_error("tensor 'int': contains I64");
	inv_safetensors_close(f);
}

/* A file around a header and `bytes` zeros of data, from a block of its exact size. */
static invar_status open_text(const char *header, size_t bytes)
{
	size_t length = strlen(header);
	unsigned char *file = calloc(1, 8 + length + bytes);
	uint64_t claim = length;
	inv_safetensors *f;
	invar_status st;

	memcpy(file, &claim, 8);
	memcpy(file + 8, header, length);
	st = inv_safetensors_view(file, 8 + length + bytes, "h.safetensors", &f);
	inv_safetensors_close(f);
	free(file);
	return st;
}

static void headers_within_the_format_are_accepted(void **state)
{
	static const struct {
		const char *header;
		size_t bytes;
	} fine[] = {
		{"{}", 0},
		{"{}      ", 0},
		{"{\"__metadata__\":{}}", 0},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4},
		{"{\"a\":{\"shape\":[2],\"data_offsets\":[0,1],\"dtype\":\"F4\"}}", 1},
		{"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3},
		{"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[0,9],\"data_offsets\":[0,0]},"
	     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	     "\"c\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]}}",
	     2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		if (open_text(fine[i].header, fine[i].bytes) != INVAR_OK)
			fail_msg("%s: %s", fine[i].header, invar_last_error());
}

static void headers_with_anything_odd_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *header, *reason;
	} odd[] = {
		{"", "does not start with '{'"},
		{" {}", "does not start with '{'"},
		{"{}", "has 4 bytes of data, but its tensors need 0"},
		{"{} {}", "not JSON"},
		{"{\"a\":1}", "tensor 'a': is not an object"},
		{"{\"__metadata__\":null}", "not an object of strings"},
		{"{\"__metadata__\":{\"k\":1}}", "value of 'k'"},
		{"{\"a\":{\"dtype\":4,\"shape\":[],\"data_offsets\":[0,4]}}", "has no dtype"},
		{"{\"a\":{\"dtype\":\"f32\",\"shape\":[],\"data_offsets\":[0,4]}}", "'f32'"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", "has no shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", "its shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}}", "its shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "its shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}",
	     "its shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}}",
	     "its shape"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", "not JSON"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4.0]}}",
	     "data_offsets"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4]}}", "data_offsets"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,0]}}", "4 to 0"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,8]}}", "0 to 8"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "expected 8"},
		{"{\"a\":{\"dtype\":\"F4\",\"shape\":[7],\"data_offsets\":[0,4]}}", "whole bytes"},
		{"{\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[1,3]}}", "expected 0"},
		{"{\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]}}", "need 2"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],"
	     "\"data_offsets\":[0,0]}}",
	     "more than 2^64 bits"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],"
	     "\"data_offsets\":[0,4]}}",
	     "has 9 dimensions"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		if (open_text(odd[i].header, 4) != INVAR_E_FORMAT)
			fail_msg("accepted: %s", odd[i].header);
		test_assert_error(odd[i].reason);
		test_assert_error("h.safetensors: ");
	}
}

static void nul_padding_is_not_space(void **state)
{
	static const unsigned char file[] = "\x04\0\0\0\0\0\0\0{}\0\0";
	inv_safetensors *f;

	(void)state;
	assert_int_equal(inv_safetensors_view(file, 12, "n", &f), INVAR_E_FORMAT);
}

static void nan_and_inf_are_refused_with_their_place(void **state)
{
	const float bad[2][3] = {{1, NAN, 2}, {1, 2, -INFINITY}};

	(void)state;
	for (int k = 0; k < 2; k++) {
		const inv_tensor_out t = {"w", 1, {3}, bad[k]};
		inv_safetensors *f;
		float out[3];

		assert_int_equal(inv_safetensors_save(test_path("nan"), &t, 1, NULL, 0), INVAR_OK);
		assert_int_equal(inv_safetensors_open(test_path("nan"), &f), INVAR_OK);
		assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "w"), out),
		                 INVAR_E_NUMERIC);
		test_assert_error(k ? "tensor 'w': element 2 is -inf"
		                    : "tensor 'w': element 1 is ");
		inv_safetensors_close(f);
	}
}

static void saving_and_reading_gives_back_everything(void **state)
{
	const float w[6] = {1, 2, 3, 4, 5, 6}, b[2] = {-1, 0.5f}, s = 3;
	const inv_tensor_out tensors[] = {{"2.weight", 2, {2, 3}, w},
	                                  {"0.bias", 1, {2}, b},
	                                  {"none", 2, {0, 7}, NULL},
	                                  {"alone", 0, {0}, &s}};
	const inv_metadata metadata[] = {
		{"invar.seed", "7"}, {"format", "pt"}, {"q", "\"\n/\xf0\x9f\x98\x80\xe2\x82\xac"}};
	inv_safetensors *f;
	float out[6];

	(void)state;
	assert_int_equal(inv_safetensors_save(test_path("a"), tensors, 4, metadata, 3),
	                 INVAR_OK);
	assert_int_equal(inv_safetensors_open(test_path("a"), &f), INVAR_OK);
	assert_int_equal(inv_safetensors_count(f), 4);
	assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "2.weight"), out), 0);
	assert_memory_equal(out, w, sizeof w);
	assert_int_equal(inv_safetensors_read(f, inv_safetensors_find(f, "0.bias"), out), 0);
	assert_memory_equal(out, b, sizeof b);
	assert_int_equal(inv_safetensors_find(f, "none")->shape[1], 7);
	assert_string_equal(inv_safetensors_metadata(f, "q"), metadata[2].value);
	assert_string_equal(inv_safetensors_metadata(f, "invar.seed"), "7");
	inv_safetensors_close(f);
}

static void equal_contents_give_equal_bytes_in_any_order(void **state)
{
	static const char expected[] =
		"\x90\0\0\0\0\0\0\0"
		"{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"},"
		"\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		"\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}    "
		"\0\0\x80\x3f\0\0\0\x40";
	const float one = 1, two = 2;
	const inv_tensor_out forth[] = {{"x", 1, {1}, &one}, {"y", 1, {1}, &two}};
	const inv_tensor_out back[] = {{"y", 1, {1}, &two}, {"x", 1, {1}, &one}};
	const inv_metadata ab[] = {{"a", "1"}, {"b", "2"}}, ba[] = {{"b", "2"}, {"a", "1"}};

	(void)state;
	for (int k = 0; k < 2; k++) {
		size_t bytes;
		char *file;

		assert_int_equal(
			inv_safetensors_save(test_path("e"), k ? back : forth, 2, k ? ba : ab, 2),
			INVAR_OK);
		file = test_read(test_path("e"), &bytes);
		assert_int_equal(bytes, sizeof expected - 1);
		assert_memory_equal(file, expected, bytes);
		free(file);
	}
}

static void what_cannot_be_read_again_is_not_saved(void **state)
{
	const float x = 1;
	const inv_tensor_out twice[] = {{"x", 0, {0}, &x}, {"x", 0, {0}, &x}};
	const inv_tensor_out reserved = {"__metadata__", 0, {0}, &x};
	const inv_tensor_out latin = {"gr\xfc", 0, {0}, &x}, plain = {"x", 0, {0}, &x};
	const inv_tensor_out deep = {"x", 9, {1, 1, 1, 1, 1, 1, 1, 1}, &x};
	const inv_tensor_out huge = {"x", 2, {UINT64_C(1) << 40, UINT64_C(1) << 40}, &x};
	const inv_metadata bad[] = {{"k", "\xff"},         {"k", "\xc0\x80"},
	                            {"k", "\xed\xa0\x80"}, {"k", "\xf4\x90\x80\x80"},
	                            {"k", "a\xc3"},        {"\xe0\x80\x80", "v"}};

	(void)state;
	assert_int_equal(inv_safetensors_save(test_path("no"), twice, 2, NULL, 0), INVAR_E_USE);
	test_assert_error("'x' is given twice");
	assert_int_equal(inv_safetensors_save(test_path("no"), &reserved, 1, NULL, 0),
	                 INVAR_E_USE);
	assert_int_equal(inv_safetensors_save(test_path("no"), &latin, 1, NULL, 0),
	                 INVAR_E_USE);
	test_assert_error("not UTF-8");
	assert_int_equal(inv_safetensors_save(test_path("no"), &deep, 1, NULL, 0), INVAR_E_USE);
	assert_int_equal(inv_safetensors_save(test_path("no"), &huge, 1, NULL, 0), INVAR_E_USE);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(inv_safetensors_save(test_path("no"), &plain, 1, &bad[i], 1),
		                 INVAR_E_USE);
	assert_false(test_exists(test_path("no")));
	assert_false(test_has_part(test_folder()));
}

static invar_status open_exactly(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	inv_safetensors *f;
	invar_status st;

	memcpy(copy, bytes, size);
	st = inv_safetensors_view(copy, size, "x", &f);
	for (size_t i = 0; st == INVAR_OK && i < inv_safetensors_count(f); i++) {
		const inv_tensor *t = inv_safetensors_at(f, i);
		float *out = malloc(t->cells * sizeof *out + 1);

		inv_safetensors_read(f, t, out);
		free(out);
	}
	inv_safetensors_close(f);
	free(copy);
	return st;
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	size_t size;
	unsigned char *bytes =
		test_read(test_source("tests/formats/data/mixed.safetensors"), &size);

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(open_exactly(bytes, cut), INVAR_E_FORMAT);
	assert_int_equal(open_exactly(bytes, size), INVAR_OK);
	free(bytes);
}

static void a_file_with_any_bit_flipped_is_read_or_refused_cleanly(void **state)
{
	size_t size;
	unsigned char *bytes =
		test_read(test_source("tests/formats/data/mixed.safetensors"), &size);

	(void)state;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		invar_status st;

		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		st = open_exactly(bytes, size);
		assert_true(st == INVAR_OK || st == INVAR_E_FORMAT);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_made_elsewhere_is_read),
		cmocka_unit_test(tensors_come_in_name_order_and_unknown_ones_are_null),
		cmocka_unit_test(integers_are_refused_as_floats_by_name),
		cmocka_unit_test(headers_within_the_format_are_accepted),
		cmocka_unit_test(headers_with_anything_odd_are_refused_with_a_reason),
		cmocka_unit_test(nul_padding_is_not_space),
		cmocka_unit_test(nan_and_inf_are_refused_with_their_place),
		cmocka_unit_test(saving_and_reading_gives_back_everything),
		cmocka_unit_test(equal_contents_give_equal_bytes_in_any_order),
		cmocka_unit_test(what_cannot_be_read_again_is_not_saved),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(a_file_with_any_bit_flipped_is_read_or_refused_cleanly),
	};

	return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
