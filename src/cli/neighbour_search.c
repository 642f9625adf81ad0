/* SPDX-License-Identifier: Apache-2.0 */
/* neighbour_search.c - chooses queries and finds their nearest rows, see the header. */
#include "cli/neighbour_search.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "cli/term.h"

enum { BLOCK = 2048 };

/* Where the rows of the queries' split begin in the index. */
static uint64_t gallery_rows(const inv_search *n)
{
	return strcmp(n->split, n->gallery) ? invar_bank_rows(n->bank, n->gallery) : 0;
}

const char *inv_search_split(const inv_search *n, uint64_t *row)
{
	uint64_t first = gallery_rows(n);

	if (*row < first)
		return n->gallery;
	*row -= first;
	return n->split;
}

bool inv_search_is_same(const inv_search *n, const inv_query *q, uint64_t row)
{
	return row == gallery_rows(n) + q->row;
}

static double neighbour_distance(const float *a, const float *b, uint32_t dim)
{
	double sum = 0;

	for (uint32_t i = 0; i < dim; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* Keeps the nearest in order; of equal ones the earlier row comes first. */
static void offer(inv_found *f, size_t max, uint64_t row, double distance)
{
	size_t at;

	if (f->count == max && !(distance < f->distance[max - 1]))
		return;
	at = f->count < max ? f->count++ : max - 1;
	for (; at > 0 && distance < f->distance[at - 1]; at--) {
		f->distance[at] = f->distance[at - 1];
		f->row[at] = f->row[at - 1];
	}
	f->distance[at] = distance;
	f->row[at] = row;
}

/* A unit adapter is compared with unit features: an index of unit vectors. */
static void normalise_if_unit(const inv_search *n, float *rows, uint64_t count)
{
	const uint32_t dim = invar_bank_dim(n->bank);

	for (uint64_t i = 0; invar_adapter_unit(n->adapter) && i < count; i++) {
		float *row = rows + i * dim;
		double sum = 0, by;

		for (uint32_t j = 0; j < dim; j++)
			sum += (double)row[j] * row[j];
		by = sum > 0 ? 1 / sqrt(sum) : 0;
		for (uint32_t j = 0; j < dim; j++)
			row[j] = (float)(row[j] * by);
	}
}

/*
 * The first image of each class; without labels spread evenly. Labels are used if both
 * splits have them.
 */
static invar_status choose_queries(const inv_search *n, inv_answers *out)
{
	const uint64_t rows = invar_bank_rows(n->bank, n->split), first = gallery_rows(n);
	const size_t wanted = n->queries < rows ? n->queries : (size_t)rows;

	INV_TRY(inv_new_zeros(&out->query, n->queries));
	if (invar_bank_has_labels(n->bank, n->split) &&
	    invar_bank_has_labels(n->bank, n->gallery)) {
		const int64_t *label;

		INV_TRY(inv_new_array(&out->label, first + rows));
		if (first)
			INV_TRY(invar_bank_labels(n->bank, n->gallery, out->label));
		INV_TRY(invar_bank_labels(n->bank, n->split, out->label + first));
		label = out->label + first;
		for (uint64_t i = 0; i < rows && out->queries < n->queries; i++) {
			uint64_t k = 0;

			while (k < i && label[k] != label[i])
				k++;
			if (k == i && label[i] >= 0)
				out->query[out->queries++] = (inv_query){.row = i, .label = label[i]};
		}
	}
	for (size_t i = 0, evenly = out->queries ? 0 : wanted; i < evenly; i++)
		out->query[out->queries++] =
			(inv_query){.row = (uint64_t)i * rows / wanted, .label = -1};
	return INVAR_OK;
}

invar_status inv_search_run(inv_session *s, const inv_search *n, inv_answers *out)
{
	const uint64_t rows = gallery_rows(n) + invar_bank_rows(n->bank, n->split);
	const uint32_t dim = invar_bank_dim(n->bank);
	float *z = NULL, *e, *block = NULL; /* the copies of the queries, and after E */
	char line[1024];
	invar_status st;

	*out = (inv_answers){0};
	INV_TRY(choose_queries(n, out));
	INV_TRY_OR(end, inv_new_array(&z, 2 * out->queries * dim + 1));
	INV_TRY_OR(end, inv_new_array(&block, (uint64_t)BLOCK * dim));
	e = z + out->queries * dim;
	for (size_t q = 0; q < out->queries; q++)
		INV_TRY_OR(end, invar_bank_read(n->bank, n->split, (int32_t)n->copy,
		                                out->query[q].row, 1, z + q * dim));
	if (invar_adapter_check_norms(n->adapter, z, out->queries) != INVAR_OK) {
		inv_last_error_spelled("--", line, sizeof line);
		inv_term_hooks(s->term).log(s->term, INVAR_LOG_WARNING, line);
	}
	INV_TRY_OR(end, invar_adapter_apply(n->adapter, z, out->queries, e));
	normalise_if_unit(n, z, out->queries);

	for (uint64_t first = 0, count; first < rows; first += count) {
		uint64_t at = first;
		const char *split = inv_search_split(n, &at);

		count = invar_bank_rows(n->bank, split) - at;
		count = count < BLOCK ? count : BLOCK;
		INV_TRY_OR(end, invar_bank_read(n->bank, split, INVAR_CLEAN, at, count, block));
		normalise_if_unit(n, block, count);
		for (size_t i = 0; i < out->queries * count; i++) {
			inv_query *q = &out->query[i / count];
			const float *row = block + i % count * dim;

			offer(&q->by_f, n->nearest, first + i % count,
			      neighbour_distance(z + i / count * dim, row, dim));
			offer(&q->by_e, n->nearest, first + i % count,
			      neighbour_distance(e + i / count * dim, row, dim));
		}
	}
end:
	inv_free(block);
	inv_free(z);
	return st;
}

void inv_answers_clear(inv_answers *a)
{
	inv_free(a->query);
	inv_free(a->label);
	*a = (inv_answers){0};
}
