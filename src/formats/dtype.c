/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.c - sizes and names of number formats, and the plain conversions.
 *
 * These loops are the reference: they work on any alignment and either byte
 * order, and a faster one elsewhere must give the same floats.
 */
#include "formats/dtype.h"

#include <assert.h>
#include <string.h>

/* Files are little-endian and we copy their floats as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian machine");

static const struct {
	const char *name;
	size_t size;
	bool integer;
} types[] = {
	[INV_F16] = {"float16", 2, false}, [INV_BF16] = {"bfloat16", 2, false},
	[INV_F32] = {"float32", 4, false}, [INV_F64] = {"float64", 8, false},
	[INV_I8] = {"int8", 1, true},      [INV_I16] = {"int16", 2, true},
	[INV_I32] = {"int32", 4, true},    [INV_I64] = {"int64", 8, true},
	[INV_U8] = {"uint8", 1, true},     [INV_U16] = {"uint16", 2, true},
	[INV_U32] = {"uint32", 4, true},   [INV_U64] = {"uint64", 8, true},
};

size_t inv_dtype_size(inv_dtype t)
{
	return types[t].size;
}

const char *inv_dtype_name(inv_dtype t)
{
	return types[t].name;
}

bool inv_dtype_is_integer(inv_dtype t)
{
	return types[t].integer;
}

static float float_of_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

static uint32_t bits_of_float(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}

/* float16: 1 sign, 5 exponent (bias 15), 10 fraction; float32: 1, 8 (127), 23. */
float inv_half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exponent = (h >> 10) & 0x1f;
	uint32_t fraction = h & 0x3ff;

	if (exponent == 0x1f) /* Inf and NaN */
		return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent)
		return float_of_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
	/* Zero and the subnormals are multiples of 2^-24, all exact in float. */
	return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
}

/*
 * Rounds `bits` >> shift to nearest, ties to even. A carry out of the fraction increments
 * the exponent, which is correct, up to Inf.
 */
static uint32_t shift_to_even(uint32_t bits, unsigned shift)
{
	uint32_t half = 1u << (shift - 1);
	uint32_t odd = (bits >> shift) & 1;

	return (bits + half - 1 + odd) >> shift;
}

uint16_t inv_float_to_half(float f)
{
	uint32_t bits = bits_of_float(f);
	uint32_t sign = (bits >> 16) & 0x8000;
	uint32_t size = bits & 0x7fffffff;
	uint32_t exponent = size >> 23;

	if (size > 0x7f800000) { /* NaN: keep what fits of it, but never make it Inf */
		uint32_t fraction = (size & 0x7fffff) >> 13;

		return (uint16_t)(sign | 0x7c00 | (fraction ? fraction : 1));
	}
	if (exponent >= 127 + 16) /* 65536 and above */
		return (uint16_t)(sign | 0x7c00);
	if (exponent >= 127 - 14) /* normal: rebias the exponent, round the fraction */
		return (uint16_t)(sign | shift_to_even(size - ((127 - 15) << 23), 13));
	if (exponent < 127 - 25) /* below half of the smallest subnormal */
		return (uint16_t)sign;
	/* Subnormal: the fraction with its hidden one, in units of 2^-24. */
	return (uint16_t)(sign |
	                  shift_to_even((size & 0x7fffff) | 0x800000, 127 - 1 - exponent));
}

static uint16_t load16(const unsigned char *p, bool swap)
{
	uint16_t x;

	memcpy(&x, p, sizeof x);
	return swap ? __builtin_bswap16(x) : x;
}

static uint32_t load32(const unsigned char *p, bool swap)
{
	uint32_t x;

	memcpy(&x, p, sizeof x);
	return swap ? __builtin_bswap32(x) : x;
}

static uint64_t load64(const unsigned char *p, bool swap)
{
	uint64_t x;

	memcpy(&x, p, sizeof x);
	return swap ? __builtin_bswap64(x) : x;
}

/* One integer; a uint64 comes as the int64 with the same bits. */
static int64_t load_int(inv_dtype t, bool swap, const unsigned char *p)
{
	switch (t) {
	case INV_I8:
		return (int8_t)*p;
	case INV_I16:
		return (int16_t)load16(p, swap);
	case INV_I32:
		return (int32_t)load32(p, swap);
	case INV_U8:
		return *p;
	case INV_U16:
		return load16(p, swap);
	case INV_U32:
		return load32(p, swap);
	default:
		return (int64_t)load64(p, swap);
	}
}

void inv_widen(inv_dtype t, bool swap, const void *from, size_t count, float *to)
{
	const unsigned char *p = from;
	size_t size = inv_dtype_size(t);

	switch (t) {
	case INV_F16:
		for (size_t i = 0; i < count; i++)
			to[i] = inv_half_to_float(load16(p + 2 * i, swap));
		break;
	case INV_BF16: /* the upper half of a float32 */
		for (size_t i = 0; i < count; i++)
			to[i] = float_of_bits((uint32_t)load16(p + 2 * i, swap) << 16);
		break;
	case INV_F32:
		if (!swap && count)
			memcpy(to, p, count * sizeof *to);
		for (size_t i = 0; swap && i < count; i++)
			to[i] = float_of_bits(load32(p + 4 * i, true));
		break;
	case INV_F64:
		for (size_t i = 0; i < count; i++) {
			uint64_t bits = load64(p + 8 * i, swap);
			double x;

			memcpy(&x, &bits, sizeof x);
			to[i] = (float)x;
		}
		break;
	default:
		for (size_t i = 0; i < count; i++) {
			int64_t x = load_int(t, swap, p + i * size);

			to[i] = t == INV_U64 ? (float)(uint64_t)x : (float)x;
		}
	}
}

bool inv_widen_int(inv_dtype t, bool swap, const void *from, size_t count, int64_t *to)
{
	const unsigned char *p = from;
	size_t size = inv_dtype_size(t);

	if (!inv_dtype_is_integer(t))
		return false;
	for (size_t i = 0; i < count; i++) {
		to[i] = load_int(t, swap, p + i * size);
		if (t == INV_U64 && to[i] < 0)
			return false;
	}
	return true;
}

/* ---- Strides ---------------------------------------------------------------------- */

bool inv_is_dense(unsigned ndim, const uint64_t *shape, const int64_t *stride)
{
	int64_t dense = 1;

	for (unsigned i = 0; i < ndim; i++)
		if (shape[i] == 0)
			return true;
	for (unsigned i = ndim; i-- > 0; dense *= (int64_t)shape[i])
		if (shape[i] > 1 && stride[i] != dense)
			return false;
	return true;
}

void inv_next_cell(unsigned ndim, const uint64_t *shape, const int64_t *stride, inv_cell *c)
{
	for (unsigned axis = ndim; axis-- > 0;) {
		c->offset += stride[axis];
		if (++c->at[axis] < shape[axis])
			return;
		c->offset -= (int64_t)c->at[axis] * stride[axis];
		c->at[axis] = 0;
	}
}
