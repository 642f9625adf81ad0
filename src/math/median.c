/* SPDX-License-Identifier: Apache-2.0 */
/* median.c - selection by counting, sixteen bits at a time. */
#include "math/median.h"

#include <string.h>

#include "base/memory.h"
#include "base/rank_shares.h"
#include "base/threads.h"
#include "math/kernels.h"

enum { BLOCK = 32, BINS = 1 << 16, ALL = BINS }; /* rows; ALL: no upper bits selected yet */

struct inv_median {
	const invar_context *ctx;
	struct inv_kernels kernels;
	/* State of the current run: */
	const float *x;
	size_t n, first, end; /* rows that are counted here */
	uint32_t *buffer;     /* of all processes; NULL: this one alone */
	invar_status status;
	uint32_t upper;   /* the bits that values must have to be counted, or ALL */
	uint32_t *counts; /* [threads, BINS] */
};

invar_status inv_median_new(const invar_context *ctx, inv_median **out)
{
	inv_median *p = inv_calloc(1, sizeof *p);

	*out = p;
	if (p)
		p->counts = inv_alloc(ctx->threads * BINS * sizeof *p->counts);
	if (!p || !p->counts) {
		inv_median_free(p);
		*out = NULL;
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a median");
	}
	p->ctx = ctx;
	inv_kernels_init(&p->kernels, ctx->cpu);
	return INVAR_OK;
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
	size_t from = p->first + block * BLOCK;
	size_t end = from + BLOCK < p->end ? from + BLOCK : p->end;
	uint32_t *counts = p->counts + thread * (size_t)BINS;

	for (size_t i = from; i < end; i++) {
		const float *row = p->x + i * p->n + i + 1;

		if (p->upper == ALL)
			p->kernels.count_upper(row, p->n - i - 1, counts);
		else
			p->kernels.count_lower(row, p->n - i - 1, p->upper, counts);
	}
}

/* Leaves the sums over all threads and processes in the first thread's counts. */
static void count(inv_median *p, uint32_t upper)
{
	p->upper = upper;
	memset(p->counts, 0, p->ctx->threads * BINS * sizeof *p->counts);
	inv_parallel(p->ctx, inv_blocks(p->end - p->first, BLOCK), count_block, p);
	for (unsigned t = 1; t < p->ctx->threads; t++)
		for (size_t bin = 0; bin < BINS; bin++)
			p->counts[bin] += p->counts[t * (size_t)BINS + bin];
	if (p->buffer && p->status == INVAR_OK)
		p->status = inv_sum_counts(p->ctx, p->counts, BINS, p->buffer);
}

/* The bin of the value of this rank; rank becomes the rank within the bin. */
static uint32_t find_bin(const inv_median *p, uint64_t *rank)
{
	uint32_t bin = 0;

	/* The last bin ends a search in counts that an exchange has left incomplete. */
	for (; bin + 1 < BINS && *rank >= p->counts[bin]; bin++)
		*rank -= p->counts[bin];
	return bin;
}

static uint32_t next_in_use(const inv_median *p, uint32_t bin)
{
	while (++bin < BINS && !p->counts[bin])
		;
	return bin;
}

/*
 * Ranks low and low + 1 often share their upper bits. If they do not, the higher one is the
 * smallest value with the next upper bits in use.
 */
static inv_middle find_middle(inv_median *p, const float *x, size_t n)
{
	uint64_t total = (uint64_t)n * (n - 1) / 2, rank = (total - 1) / 2;
	uint32_t upper, next, bin, low, high;
	inv_middle middle;

	p->x = x;
	p->n = n;
	count(p, ALL);
	upper = find_bin(p, &rank);
	next = next_in_use(p, upper);
	count(p, upper);
	bin = find_bin(p, &rank);
	low = high = upper << 16 | bin;
	if (total % 2 == 0 && rank + 1 == p->counts[bin]) {
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

inv_middle inv_median_above(inv_median *p, const float *x, size_t n)
{
	p->first = 0;
	p->end = n;
	p->buffer = NULL;
	return find_middle(p, x, n);
}

size_t inv_median_room(const invar_context *ctx)
{
	return inv_counts_room(ctx, BINS);
}

invar_status inv_median_above_shared(inv_median *p, const float *x, size_t n, size_t first,
                                     size_t count, uint32_t *buffer, inv_middle *out)
{
	p->first = first;
	p->end = first + count;
	p->buffer = buffer;
	p->status = INVAR_OK;
	*out = find_middle(p, x, n);
	return p->status;
}
