/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voters.h - the class that the k nearest training rows vote for.
 *
 * Euclidean distances, one vote each; the label with the most votes wins, on a tie the
 * smallest one, as in scikit-learn's KNeighborsClassifier. Of rows at the same distance the
 * earlier one votes. If train has fewer than k rows, all of them vote.
 */
#ifndef INV_VOTERS_H
#define INV_VOTERS_H

#include "measure/measurement.h"

typedef struct inv_voters inv_voters;

/*
 * The rows of train that have a label, as codes of the column, or with `features` as they
 * are in the bank: an existing index, where only queries pass through E.
 */
invar_status inv_voters_new(const inv_measure_input *in, bool features, inv_voters **out);
void inv_voters_free(inv_voters *v); /* accepts NULL */

/* Classes [count] of queries [count, w], by the numbers of the classes of train. */
void inv_voters_ask(inv_voters *v, const float *queries, uint64_t count, uint32_t *classes);

/* How many vote: the option k, or all rows of train. */
uint64_t inv_voters_count(const inv_measure_input *in);

#endif
