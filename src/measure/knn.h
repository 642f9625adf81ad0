/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knn.h - the class that the k nearest training rows vote for.
 *
 * One vote each; the label with the most votes wins, on a tie the smallest one, as in
 * scikit-learn's KNeighborsClassifier. Of rows at the same distance the earlier one votes.
 * If train has fewer than k rows, all of them vote. The option metric says which rows are
 * near: by L2, or by cosine, where a row of zeros has cosine 0 to everything.
 */
#ifndef INV_KNN_H
#define INV_KNN_H

#include "measure/measurement.h"

typedef struct inv_voters inv_voters;

/*
 * The rows of train that have a label, in the new index (codes of the column) or in the
 * old one (features as they are in the bank, and only queries pass through E). Lives until
 * the running measurement is done, but free it before.
 */
invar_status inv_voters_new(const inv_measure_input *in, bool old_index, inv_voters **out);
void inv_voters_free(inv_voters *v); /* accepts NULL */

/* Classes [count] of queries [count, w], by the numbers of the classes of train. */
void inv_voters_ask(inv_voters *v, const float *queries, uint64_t count, uint32_t *classes);

/* "20-NN, old index, cosine": how many vote, in which index, and how they are found. */
void inv_voters_title(const inv_measure_input *in, bool old_index, char *out, size_t size);

#endif
