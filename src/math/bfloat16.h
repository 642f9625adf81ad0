/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bfloat16.h - the upper half of a float, rounded to nearest even.
 *
 * As the processors' own instructions do it: numbers below the smallest normal float become
 * 0, a NaN stays one. Two of them in 32 bits, the first in the lower half, are a pair.
 */
#ifndef INV_BFLOAT16_H
#define INV_BFLOAT16_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t inv_to_bfloat16(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	if (isnan(x))
		return (uint16_t)(bits >> 16 | 0x40);
	if (fabsf(x) < FLT_MIN)
		return (uint16_t)(bits >> 16 & 0x8000);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float inv_from_bfloat16(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* In the storage of a float; no arithmetic may touch it. */
static inline void inv_store_pair(float first, float second, float *out)
{
	uint32_t both = inv_to_bfloat16(first) | (uint32_t)inv_to_bfloat16(second) << 16;

	memcpy(out, &both, sizeof both);
}

#endif
