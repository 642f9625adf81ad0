/* SPDX-License-Identifier: Apache-2.0 */
/* bins.c - see bins.h. */
#include "measure/bins.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static int by_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The first place of a value in the sorted values. */
static uint64_t sorted_place(const float *sorted, uint64_t n, float value)
{
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void fill_circle(const float *values, uint64_t n, inv_bins *b)
{
	long count = (long)b->count, half = count / 2;
	double width = 360.0 / (double)count;

	for (uint64_t i = 0; i < n; i++)
		if (b->bin[i] != INV_NO_BIN) {
			long at = (lround(remainder(values[i], 360) / width) + half) % count;

			b->bin[i] = (uint32_t)(at < 0 ? at + count : at);
		}
	for (long i = 0; i < count; i++)
		b->x[i] = (double)(i - half) * width;
	b->circle = count % 2 == 0;
}

static void fill_equal_width(const float *values, uint64_t n, double low, double high,
                             inv_bins *b)
{
	double width = (high - low) / (double)b->count;

	for (uint64_t i = 0; i < n; i++)
		if (b->bin[i] != INV_NO_BIN) {
			size_t at = (size_t)((values[i] - low) / width);

			b->bin[i] = (uint32_t)(at < b->count ? at : b->count - 1);
		}
	for (size_t i = 0; i < b->count; i++)
		b->x[i] = low + ((double)i + 0.5) * width;
}

/*
 * The bin of every place in the sorted values; equal values share the bin of the first of
 * them, and bins that this leaves empty are dropped.
 */
static void number_places(const float *sorted, uint64_t n, bool one_each, uint32_t *place,
                          inv_bins *b)
{
	uint64_t wanted = b->count, bin = 0, first = 0;
	double sum = 0;

	b->count = 0;
	for (uint64_t i = 0; i < n; i++) {
		bool begins = i && sorted[i] != sorted[i - 1];

		if (begins && (one_each || i * wanted / n != bin)) {
			b->x[b->count++] = sum / (double)(i - first);
			bin = i * wanted / n;
			first = i;
			sum = 0;
		}
		place[i] = (uint32_t)b->count;
		sum += sorted[i];
	}
	b->x[b->count++] = sum / (double)(n - first);
}

invar_status inv_bins_make(const float *values, uint64_t n, size_t wanted, bool angles,
                           inv_bins *out)
{
	float *sorted = NULL;
	uint32_t *place = NULL; /* [finite]: the bin of each place */
	uint64_t finite = 0, different;
	invar_status st;

	*out = (inv_bins){0};
	INV_TRY_OR(end, inv_new_array(&sorted, n + 1));
	INV_TRY_OR(end, inv_new_zeros(&out->x, wanted));
	INV_TRY_OR(end, inv_new_array(&out->bin, n + 1));
	for (uint64_t i = 0; i < n; i++) {
		out->bin[i] = isfinite(values[i]) ? 0 : INV_NO_BIN;
		if (isfinite(values[i]))
			sorted[finite++] = values[i];
	}
	if (!finite)
		goto end;

	out->count = wanted;
	qsort(sorted, finite, sizeof *sorted, by_float);
	different = 1;
	for (uint64_t i = 1; i < finite; i++)
		different += sorted[i] != sorted[i - 1];
	if (different > wanted && angles) {
		double low = sorted[0], high = sorted[finite - 1];

		if (high - low > 360 - 360.0 / (double)wanted)
			fill_circle(values, n, out);
		else
			fill_equal_width(values, n, low, high, out);
		goto end;
	}
	INV_TRY_OR(end, inv_new_array(&place, finite));
	number_places(sorted, finite, different <= wanted, place, out);
	for (uint64_t i = 0; i < n; i++)
		if (out->bin[i] != INV_NO_BIN)
			out->bin[i] = place[sorted_place(sorted, finite, values[i])];
end:
	inv_free(place);
	inv_free(sorted);
	return st;
}

void inv_bins_clear(inv_bins *b)
{
	inv_free(b->x);
	inv_free(b->bin);
	*b = (inv_bins){0};
}
