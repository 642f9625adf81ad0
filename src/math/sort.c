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

/* Counts become the start of each bucket. Returns whether there is more than one. */
static int place_buckets(uint32_t *count, size_t n)
{
	uint32_t at = 0;
	int several = 1;

	for (int i = 0; i < BUCKETS; i++) {
		uint32_t here = count[i];

		several &= here != n;
		count[i] = at;
		at += here;
	}
	return several;
}

static void scatter(const float *x, size_t n, int pass, uint32_t *place, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[place[digit(to_key(x[i]), pass)]++] = x[i];
}

/* The keys are recomputed in each pass: that is cheaper than storing them. */
void inv_sort_floats(float *x, size_t n, float *scratch)
{
	uint32_t count[PASSES][BUCKETS] = {0};
	float *from = x, *to = scratch;

	for (size_t i = 0; i < n; i++)
		for (int pass = 0; pass < PASSES; pass++)
			count[pass][digit(to_key(x[i]), pass)]++;
	for (int pass = 0; pass < PASSES; pass++)
		if (place_buckets(count[pass], n)) {
			float *swap = from;

			scatter(from, n, pass, count[pass], to);
			from = to;
			to = swap;
		}
	if (from != x)
		memcpy(x, from, n * sizeof *x);
}
