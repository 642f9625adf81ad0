/* SPDX-License-Identifier: Apache-2.0 */
/* test_dtype.c - claims about number formats: every half, every integer width. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "formats/dtype.h"
#include "support.h"

enum { HALVES = 1 << 16 };

static bool half_is_nan(uint16_t h)
{
	return (h & 0x7fff) > 0x7c00;
}

/* By the definition of the format, in double. */
static double half_by_definition(uint16_t h)
{
	int exponent = (h >> 10) & 0x1f;
	double size =
		exponent ? ldexp(1024 + (h & 0x3ff), exponent - 25) : ldexp(h & 0x3ff, -24);

	if (exponent == 0x1f)
		size = INFINITY;
	return h & 0x8000 ? -size : size;
}

static void every_half_has_its_value(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < HALVES; h++) {
		float f = inv_half_to_float((uint16_t)h);

		if (half_is_nan((uint16_t)h))
			assert_true(isnan(f));
		else if ((double)f != half_by_definition((uint16_t)h) ||
		         !signbit(f) != !(h & 0x8000))
			fail_msg("half %04x became %a", h, (double)f);
	}
}

static void every_half_survives_a_round_trip(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < HALVES; h++) {
		uint16_t back = inv_float_to_half(inv_half_to_float((uint16_t)h));

		if (half_is_nan((uint16_t)h))
			assert_true(half_is_nan(back));
		else
			assert_int_equal(back, h);
	}
}

/* Rounding is monotone, so testing the midpoints and their neighbours suffices. */
static void floats_between_two_halves_go_to_the_nearest_ties_to_even(void **state)
{
	(void)state;
	for (uint16_t h = 0; h < 0x7bff; h++) {
		float low = inv_half_to_float(h), high = inv_half_to_float((uint16_t)(h + 1));
		float middle = (low + high) / 2; /* exact in float */
		uint16_t even = (uint16_t)(h + (h & 1));

		assert_int_equal(inv_float_to_half(middle), even);
		assert_int_equal(inv_float_to_half(nextafterf(middle, 0)), h);
		assert_int_equal(inv_float_to_half(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(inv_float_to_half(-middle), even | 0x8000);
	}
}

static void halves_overflow_at_65520(void **state)
{
	(void)state;
	assert_int_equal(inv_float_to_half(65504), 0x7bff);
	assert_int_equal(inv_float_to_half(nextafterf(65520, 0)), 0x7bff);
	assert_int_equal(inv_float_to_half(65520), 0x7c00);
	assert_int_equal(inv_float_to_half(1e30f), 0x7c00);
	assert_int_equal(inv_float_to_half(-INFINITY), 0xfc00);
	assert_int_equal(inv_float_to_half(1e-30f), 0);
	assert_int_equal(inv_float_to_half(-1e-40f), 0x8000);
}

static void a_nan_with_low_bits_only_stays_a_nan(void **state)
{
	uint32_t bits = 0x7f800001;
	float f;

	(void)state;
	memcpy(&f, &bits, sizeof f);
	assert_true(half_is_nan(inv_float_to_half(f)));
}

static void sizes_and_names_agree(void **state)
{
	(void)state;
	assert_int_equal(inv_dtype_size(INV_F16), 2);
	assert_int_equal(inv_dtype_size(INV_BF16), 2);
	assert_int_equal(inv_dtype_size(INV_F64), 8);
	assert_int_equal(inv_dtype_size(INV_U8), 1);
	assert_string_equal(inv_dtype_name(INV_F16), "float16");
	assert_string_equal(inv_dtype_name(INV_I64), "int64");
	assert_true(inv_dtype_is_integer(INV_U64));
	assert_false(inv_dtype_is_integer(INV_BF16));
}

/* One number of each type, placed at an odd address, in both byte orders. */
static void widen_one(inv_dtype t, const void *value, float expected)
{
	unsigned char plain[9] = {0}, swapped[9] = {0};
	size_t size = inv_dtype_size(t);
	float out;

	memcpy(plain + 1, value, size);
	for (size_t i = 0; i < size; i++)
		swapped[1 + i] = plain[size - i];
	inv_widen(t, false, plain + 1, 1, &out);
	assert_true(out == expected);
	inv_widen(t, true, swapped + 1, 1, &out);
	assert_true(out == expected);
}

static void each_type_widens_at_any_address_in_both_orders(void **state)
{
	(void)state;
	widen_one(INV_F16, &(uint16_t){0xc500}, -5);
	widen_one(INV_BF16, &(uint16_t){0xc0a0}, -5);
	widen_one(INV_F32, &(float){-5.1f}, -5.1f);
	widen_one(INV_F64, &(double){-5.1}, -5.1f);
	widen_one(INV_I8, &(int8_t){-128}, -128);
	widen_one(INV_I16, &(int16_t){-300}, -300);
	widen_one(INV_I32, &(int32_t){-70000}, -70000);
	widen_one(INV_I64, &(int64_t){-5000000000}, -5e9f);
	widen_one(INV_U8, &(uint8_t){200}, 200);
	widen_one(INV_U16, &(uint16_t){60000}, 60000);
	widen_one(INV_U32, &(uint32_t){4000000000u}, 4e9f);
	widen_one(INV_U64, &(uint64_t){UINT64_MAX}, 0x1p64f);
}

static void integers_widen_exactly(void **state)
{
	const int64_t many[3] = {INT64_MIN, -1, INT64_MAX};
	const uint64_t fits = INT64_MAX, high = (uint64_t)INT64_MAX + 1;
	const int16_t swapped = 0x0100;
	int64_t out[3];

	(void)state;
	assert_true(inv_widen_int(INV_I64, false, many, 3, out));
	assert_memory_equal(out, many, sizeof many);
	assert_true(inv_widen_int(INV_I16, true, &swapped, 1, out));
	assert_int_equal(out[0], 1);
	assert_true(inv_widen_int(INV_U64, false, &fits, 1, out));
	assert_true(out[0] == INT64_MAX);
	assert_false(inv_widen_int(INV_U64, false, &high, 1, out));
	assert_false(inv_widen_int(INV_F32, false, many, 1, out));
}

static void nothing_widens_to_nothing(void **state)
{
	(void)state;
	for (int t = INV_F16; t <= INV_U64; t++)
		inv_widen((inv_dtype)t, false, NULL, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_half_has_its_value),
		cmocka_unit_test(every_half_survives_a_round_trip),
		cmocka_unit_test(floats_between_two_halves_go_to_the_nearest_ties_to_even),
		cmocka_unit_test(halves_overflow_at_65520),
		cmocka_unit_test(a_nan_with_low_bits_only_stays_a_nan),
		cmocka_unit_test(sizes_and_names_agree),
		cmocka_unit_test(each_type_widens_at_any_address_in_both_orders),
		cmocka_unit_test(integers_widen_exactly),
		cmocka_unit_test(nothing_widens_to_nothing),
	};

	return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
