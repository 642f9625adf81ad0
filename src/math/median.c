/* SPDX-License-Identifier: Apache-2.0 */
/* median.c - selection by counting, sixteen bits at a time. */
#include "math/median.h"

#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/kernels.h"

enum { BLOCK = 32, BINS = 1 << 16, ALL = BINS }; /* rows; ALL: no upper bits selected yet */

struct inv_median {
	const invar_context *ctx;
	struct inv_kernels kernels;
	/* State of the current run: */
	const float *x;
	size_t n;
	uint32_t upper;   /* the bits that values must have to be counted, or ALL */
	uint32_t *counts; /* [threads, BINS] */
};

invar_status inv_median_new(const invar_context *ctx, inv_median **out)
{
	invar_status st;
	inv_median *p;

	*out = NULL;
	INV_TRY(inv_new(&p));
	INV_TRY_OR(fail, inv_new_array(&p->counts, ctx->threads * (size_t)BINS));
	p->ctx = ctx;
	inv_kernels_init(&p->kernels, ctx->cpu);
	*out = p;
	return INVAR_OK;
fail:
	inv_free(p);
	return st;
}

void inv_median_free(inv_median *p)
{
	if (p)
		inv_free(p->counts);
	inv_free(p);
}

static void count_block(void *user, size_t block, unsigned thread)
{
	const inv_median *p = user;
	size_t from = block * BLOCK, end = from + BLOCK < p->n ? from + BLOCK : p->n;
	uint32_t *counts = p->counts + thread * (size_t)BINS;

	for (size_t i = from; i < end; i++) {
		const float *row = p->x + i * p->n + i + 1;

		if (p->upper == ALL)
			p->kernels.count_upper(row, p->n - i - 1, counts);
		else
			p->kernels.count_lower(row, p->n - i - 1, p->upper, counts);
	}
}

/* Leaves the sums over all threads in the first thread's counts. */
static void count(inv_median *p, uint32_t upper)
{
	p->upper = upper;
	memset(p->counts, 0, p->ctx->threads * BINS * sizeof *p->counts);
	inv_parallel(p->ctx, inv_blocks(p->n, BLOCK), count_block, p);
	for (unsigned t = 1; t < p->ctx->threads; t++)
		for (size_t bin = 0; bin < BINS; bin++)
			p->counts[bin] += p->counts[t * (size_t)BINS + bin];
}

/* The bin of the value at this place; place becomes the one within the bin. */
static uint32_t find_bin(const inv_median *p, uint64_t *place)
{
	uint32_t bin = 0;

	for (; *place >= p->counts[bin]; bin++)
		*place -= p->counts[bin];
	return bin;
}

static uint32_t next_in_use(const inv_median *p, uint32_t bin)
{
	while (++bin < BINS && !p->counts[bin])
		;
	return bin;
}

/*
 * Places low and low + 1 often share their upper bits. If they do not, the higher one is
 * the smallest value with the next upper bits in use.
 */
inv_middle inv_median_above(inv_median *p, const float *x, size_t n)
{
	uint64_t total = (uint64_t)n * (n - 1) / 2, place = (total - 1) / 2;
	uint32_t upper, next, bin, low, high;
	inv_middle middle;

	p->x = x;
	p->n = n;
	count(p, ALL);
	upper = find_bin(p, &place);
	next = next_in_use(p, upper);
	count(p, upper);
	bin = find_bin(p, &place);
	low = high = upper << 16 | bin;
	if (total % 2 == 0 && place + 1 == p->counts[bin]) {
		bin = next_in_use(p, bin);
		if (bin == BINS) {
			count(p, upper = next);
			bin = next_in_use(p, UINT32_MAX);
		}
		high = upper << 16 | bin;
	}
	memcpy(&middle.low, &low, sizeof low);
	memcpy(&middle.high, &high, sizeof high);
	return middle;
}
