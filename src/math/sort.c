/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.c - radix sort of floats: three passes of 11 bits, least significant first.
 *
 * A float's bits sort like integers once the bits of negative ones are inverted and the
 * sign bit of the others is set. All three histograms are counted in one pass, and a pass
 * in which all values have the same digit is skipped.
 */
#include "math/sort.h"

#include <string.h>

enum { BITS = 11, BUCKETS = 1 << BITS, PASSES = 3 };

static uint32_t to_key(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

static uint32_t digit(uint32_t key, int pass)
{
	return key >> (BITS * pass) & (BUCKETS - 1);
}

/* The keys are recomputed in each pass: that is cheaper than storing them. */
void inv_sort_floats(float *x, size_t n, float *scratch)
{
	uint32_t count[PASSES][BUCKETS] = {0};
	float *from = x, *to = scratch;

	for (size_t i = 0; i < n; i++)
		for (int pass = 0; pass < PASSES; pass++)
			count[pass][digit(to_key(x[i]), pass)]++;
	for (int pass = 0; pass < PASSES; pass++) {
		uint32_t *place = count[pass], at = 0;
		float *swap = from;
		int several = 1;

		/* Counts become the start of each bucket. */
		for (int i = 0; i < BUCKETS; i++) {
			uint32_t here = place[i];

			several &= here != n;
			place[i] = at;
			at += here;
		}
		if (!several)
			continue;
		for (size_t i = 0; i < n; i++)
			to[place[digit(to_key(from[i]), pass)]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != x)
		memcpy(x, from, n * sizeof *x);
}
