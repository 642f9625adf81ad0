/* SPDX-License-Identifier: Apache-2.0 */
/* bins.c - see bins.h. */
#include "measure/bins.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static uint64_t keep_finite(const float *values, uint64_t n, float *out)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			out[kept++] = values[i];
	return kept;
}

static uint64_t count_different(const float *sorted, uint64_t n)
{
	uint64_t count = n > 0;

	for (uint64_t i = 1; i < n; i++)
		count += sorted[i] != sorted[i - 1];
	return count;
}

/* The first place of a value in the sorted values. */
static uint64_t rank_of(const float *sorted, uint64_t n, float value)
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

static invar_status fill_by_rank(const float *values, uint64_t n, const float *sorted,
                                 uint64_t finite, bool one_each, inv_bins *b)
{
	uint32_t *place = inv_calloc(finite, sizeof *place);

	if (!place)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for bins");
	number_places(sorted, finite, one_each, place, b);
	for (uint64_t i = 0; i < n; i++)
		if (b->bin[i] != INV_NO_BIN)
			b->bin[i] = place[rank_of(sorted, finite, values[i])];
	inv_free(place);
	return INVAR_OK;
}

static invar_status fill(const float *values, uint64_t n, const float *sorted,
                         uint64_t finite, bool angles, inv_bins *b)
{
	double low = sorted[0], high = sorted[finite - 1];
	bool few = count_different(sorted, finite) <= b->count;

	if (few || !angles)
		return fill_by_rank(values, n, sorted, finite, few, b);
	if (high - low > 360 - 360.0 / (double)b->count)
		fill_circle(values, n, b);
	else
		fill_equal_width(values, n, low, high, b);
	return INVAR_OK;
}

invar_status inv_bins_make(const float *values, uint64_t n, size_t wanted, bool angles,
                           inv_bins *out)
{
	float *sorted = inv_calloc(n + 1, sizeof *sorted);
	uint64_t finite;
	invar_status st = INVAR_OK;

	*out = (inv_bins){.count = wanted,
	                  .x = inv_calloc(wanted, sizeof *out->x),
	                  .bin = inv_calloc(n + 1, sizeof *out->bin)};
	if (!sorted || !out->x || !out->bin) {
		inv_free(sorted);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for bins");
	}
	for (uint64_t i = 0; i < n; i++)
		out->bin[i] = isfinite(values[i]) ? 0 : INV_NO_BIN;
	if ((finite = keep_finite(values, n, sorted))) {
		qsort(sorted, finite, sizeof *sorted, by_value);
		st = fill(values, n, sorted, finite, angles, out);
	} else {
		out->count = 0;
	}
	inv_free(sorted);
	return st;
}

void inv_bins_clear(inv_bins *b)
{
	inv_free(b->x);
	inv_free(b->bin);
	*b = (inv_bins){0};
}
