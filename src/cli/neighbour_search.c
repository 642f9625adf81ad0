/* SPDX-License-Identifier: Apache-2.0 */
/* neighbour_search.c - chooses queries and finds their nearest rows, see the header. */
#include "cli/neighbour_search.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "cli/term.h"

enum { BLOCK = 2048 };

typedef struct search {
	inv_session *s;
	const inv_search *n;
	uint32_t dim;
	inv_answers *out;
} search;

/* ---- Queries ------------------------------------------------------------------------- */

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

/*
 * The first image of each class; without labels spread evenly. Labels are used if both
 * splits have them.
 */
static invar_status choose_queries(search *m)
{
	const inv_search *n = m->n;
	const uint64_t rows = invar_bank_rows(n->bank, n->split), first = gallery_rows(n);
	const size_t wanted = n->queries < rows ? n->queries : (size_t)rows;

	if (invar_bank_has_labels(n->bank, n->split) &&
	    invar_bank_has_labels(n->bank, n->gallery)) {
		const int64_t *label;

		INV_TRY(inv_new_array(&m->out->label, first + rows));
		if (first)
			INV_TRY(invar_bank_labels(n->bank, n->gallery, m->out->label));
		INV_TRY(invar_bank_labels(n->bank, n->split, m->out->label + first));
		label = m->out->label + first;
		for (uint64_t i = 0; i < rows && m->out->queries < n->queries; i++) {
			uint64_t k = 0;

			while (k < i && label[k] != label[i])
				k++;
			if (k == i && label[i] >= 0)
				m->out->query[m->out->queries++] = (inv_query){.row = i, .label = label[i]};
		}
	}
	for (size_t i = 0, evenly = m->out->queries ? 0 : wanted; i < evenly; i++)
		m->out->query[m->out->queries++] =
			(inv_query){.row = (uint64_t)i * rows / wanted, .label = -1};
	return INVAR_OK;
}

/* ---- Nearest rows ---------------------------------------------------------------------
 */

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
static void normalise_if_unit(const search *m, float *rows, uint64_t count)
{
	for (uint64_t i = 0; invar_adapter_unit(m->n->adapter) && i < count; i++) {
		float *row = rows + i * m->dim;
		double sum = 0, by;

		for (uint32_t j = 0; j < m->dim; j++)
			sum += (double)row[j] * row[j];
		by = sum > 0 ? 1 / sqrt(sum) : 0;
		for (uint32_t j = 0; j < m->dim; j++)
			row[j] = (float)(row[j] * by);
	}
}

/* z and e are [queries, dim]: the copies of the queries as they are, and after E. */
static invar_status read_query_codes(search *m, float *z, float *e)
{
	char line[1024];

	for (size_t q = 0; q < m->out->queries; q++)
		INV_TRY(invar_bank_read(m->n->bank, m->n->split, (int32_t)m->n->copy,
		                        m->out->query[q].row, 1, z + q * m->dim));
	if (invar_adapter_check_norms(m->n->adapter, z, m->out->queries) != INVAR_OK) {
		inv_last_error_spelled("--", line, sizeof line);
		inv_term_hooks(m->s->term).log(m->s->term, INVAR_LOG_WARNING, line);
	}
	INV_TRY(invar_adapter_apply(m->n->adapter, z, m->out->queries, e));
	normalise_if_unit(m, z, m->out->queries);
	return INVAR_OK;
}

static invar_status search_neighbours(search *m)
{
	const uint64_t rows = gallery_rows(m->n) + invar_bank_rows(m->n->bank, m->n->split);
	const size_t cells = m->out->queries * m->dim;
	float *z = NULL, *block = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_new_array(&z, 2 * cells + 1));
	INV_TRY_OR(end, inv_new_array(&block, (uint64_t)BLOCK * m->dim));
	INV_TRY_OR(end, read_query_codes(m, z, z + cells));
	for (uint64_t first = 0, count; first < rows; first += count) {
		uint64_t at = first;
		const char *split = inv_search_split(m->n, &at);

		count = invar_bank_rows(m->n->bank, split) - at;
		count = count < BLOCK ? count : BLOCK;
		INV_TRY_OR(end, invar_bank_read(m->n->bank, split, INVAR_CLEAN, at, count, block));
		normalise_if_unit(m, block, count);
		for (size_t i = 0; i < m->out->queries * count; i++) {
			inv_query *q = &m->out->query[i / count];
			const float *row = block + i % count * m->dim, *query = z + i / count * m->dim;

			offer(&q->by_f, m->n->nearest, first + i % count,
			      neighbour_distance(query, row, m->dim));
			offer(&q->by_e, m->n->nearest, first + i % count,
			      neighbour_distance(query + cells, row, m->dim));
		}
	}
end:
	inv_free(block);
	inv_free(z);
	return st;
}

invar_status inv_search_run(inv_session *s, const inv_search *n, inv_answers *out)
{
	search m = {.s = s, .n = n, .dim = invar_bank_dim(n->bank), .out = out};

	*out = (inv_answers){0};
	INV_TRY(inv_new_zeros(&out->query, n->queries));
	INV_TRY(choose_queries(&m));
	return search_neighbours(&m);
}

void inv_answers_clear(inv_answers *a)
{
	inv_free(a->query);
	inv_free(a->label);
	*a = (inv_answers){0};
}
