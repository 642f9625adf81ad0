/* SPDX-License-Identifier: Apache-2.0 */
/* neighbour_search.c - chooses queries and finds their nearest rows, see the header. */
#include "cli/neighbour_search.h"

#include <math.h>
#include <stdlib.h>

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

static bool is_first_of_class(const int64_t *label, uint64_t row)
{
	for (uint64_t i = 0; i < row; i++)
		if (label[i] == label[row])
			return false;
	return label[row] >= 0;
}

static void choose_by_class(search *m, const int64_t *label, uint64_t rows)
{
	for (uint64_t i = 0; i < rows && m->out->queries < m->n->queries; i++)
		if (is_first_of_class(label, i))
			m->out->query[m->out->queries++] = (inv_query){.row = i, .label = label[i]};
}

static void choose_evenly(search *m, uint64_t rows)
{
	size_t wanted = m->n->queries < rows ? m->n->queries : (size_t)rows;

	for (; m->out->queries < wanted; m->out->queries++)
		m->out->query[m->out->queries] =
			(inv_query){.row = (uint64_t)m->out->queries * rows / wanted, .label = -1};
}

/* Gives the labels of a split, or NULL in *out where it has none. */
static invar_status read_labels(search *m, const char *split, int64_t **out)
{
	uint64_t rows = invar_bank_rows(m->n->bank, split);

	*out = NULL;
	if (!invar_bank_has_labels(m->n->bank, split))
		return INVAR_OK;
	if (!(*out = malloc(rows * sizeof **out)))
		return inv_no_memory();
	return invar_bank_labels(m->n->bank, split, *out);
}

static invar_status choose_queries(search *m)
{
	uint64_t rows = invar_bank_rows(m->n->bank, m->n->split);
	int64_t *label;
	invar_status st = read_labels(m, m->n->split, &label);

	if (st == INVAR_OK)
		st = read_labels(m, m->n->gallery, &m->out->label);
	if (st == INVAR_OK && label && m->out->label)
		choose_by_class(m, label, rows);
	if (st == INVAR_OK && !m->out->queries)
		choose_evenly(m, rows);
	free(label);
	return st;
}

/* ---- Nearest rows ---------------------------------------------------------------------
 */

static double squared_distance(const float *a, const float *b, uint32_t dim)
{
	double sum = 0;

	for (uint32_t i = 0; i < dim; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* Keeps the nearest in order; of equal ones the earlier row comes first. */
static void offer(inv_found *f, size_t most, uint64_t row, double distance)
{
	size_t at;

	if (f->count == most && !(distance < f->distance[most - 1]))
		return;
	at = f->count < most ? f->count++ : most - 1;
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
static void search_block(search *m, const float *block, uint64_t first, uint64_t rows,
                         const float *z, const float *e)
{
	for (size_t q = 0; q < m->out->queries; q++)
		for (uint64_t i = 0; i < rows; i++) {
			const float *row = block + i * m->dim;

			offer(&m->out->query[q].by_f, m->n->nearest, first + i,
			      squared_distance(z + q * m->dim, row, m->dim));
			offer(&m->out->query[q].by_e, m->n->nearest, first + i,
			      squared_distance(e + q * m->dim, row, m->dim));
		}
}

static invar_status read_queries(search *m, float *z, float *e)
{
	invar_status st = INVAR_OK;

	for (size_t q = 0; q < m->out->queries && st == INVAR_OK; q++)
		st = invar_bank_read(m->n->bank, m->n->split, (int32_t)m->n->copy,
		                     m->out->query[q].row, 1, z + q * m->dim);
	if (st == INVAR_OK &&
	    invar_adapter_check_norms(m->n->adapter, z, m->out->queries) != INVAR_OK) {
		char line[1024];

		inv_last_error_spelled("--", line, sizeof line);
		inv_term_hooks(m->s->term).log(m->s->term, INVAR_LOG_WARNING, line);
	}
	if (st == INVAR_OK)
		st = invar_adapter_apply(m->n->adapter, z, m->out->queries, e);
	normalise_if_unit(m, z, st == INVAR_OK ? m->out->queries : 0);
	return st;
}

static invar_status look_up(search *m)
{
	uint64_t rows = invar_bank_rows(m->n->bank, m->n->gallery);
	float *z = malloc(2 * m->out->queries * m->dim * sizeof *z), *e;
	float *block = malloc((size_t)BLOCK * m->dim * sizeof *block);
	invar_status st = z && block ? INVAR_OK : inv_no_memory();

	e = z ? z + m->out->queries * m->dim : NULL;
	if (st == INVAR_OK)
		st = read_queries(m, z, e);
	for (uint64_t first = 0; first < rows && st == INVAR_OK; first += BLOCK) {
		uint64_t count = rows - first < BLOCK ? rows - first : BLOCK;

		st = invar_bank_read(m->n->bank, m->n->gallery, INVAR_CLEAN, first, count, block);
		normalise_if_unit(m, block, st == INVAR_OK ? count : 0);
		if (st == INVAR_OK)
			search_block(m, block, first, count, z, e);
	}
	free(block);
	free(z);
	return st;
}

invar_status inv_search_run(inv_session *s, const inv_search *n, inv_answers *out)
{
	search m = {.s = s, .n = n, .dim = invar_bank_dim(n->bank), .out = out};
	invar_status st;

	*out = (inv_answers){.query = calloc(n->queries, sizeof *out->query)};
	if (!out->query)
		return inv_no_memory();
	st = choose_queries(&m);
	return st == INVAR_OK ? look_up(&m) : st;
}

void inv_answers_clear(inv_answers *a)
{
	free(a->query);
	free(a->label);
	*a = (inv_answers){0};
}
