/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcomes.h - what becomes of every single copy in a column, in the old index.
 *
 * A code z of a copy of x has a displacement |z - F(x)|; it finds the same image or not
 * (nearest by L2 among the clean features of all splits); and its class is recognised or
 * not, by the vote of the k nearest features of train and by the linear classifier of F
 * (LC-kept). Curves over a parameter, accuracies by class and the worst images are all
 * averages of these, and each is measured once per column, by the first that needs it.
 */
#ifndef INV_OUTCOMES_H
#define INV_OUTCOMES_H

#include "measure/measurement.h"

typedef enum inv_outcome {
	INV_DISPLACEMENT,
	INV_FOUND,
	INV_KNN,
	INV_KEPT,
	INV_OUTCOMES
} inv_outcome;

enum { INV_OUTCOME_WHY = 300 };

struct inv_outcomes {
	inv_selection images;
	uint64_t n; /* images */
	uint32_t copies;
	/* [copies, n]; NaN: the image has no label. NULL: not measured. */
	float *value[INV_OUTCOMES];
	char why[INV_OUTCOMES][INV_OUTCOME_WHY]; /* one that was wanted was not measured */
};

/*
 * Those of the column (in->outcomes), of all copies of the images that the option points
 * selects; `wanted` has a bit 1 << i for each outcome i, `title` is that of the
 * progress. Others may have been measured before. Fails if codes are not as wide as
 * features. Views.
 */
invar_status inv_outcomes_take(const inv_measure_input *in, unsigned wanted,
                               const char *title, const inv_outcomes **out);
/* At the end of a column, which starts from {0}. */
void inv_outcomes_clear(inv_outcomes *o);

const char *inv_outcome_id(inv_outcome o); /* "displacement", "same-image", "knn", "kept" */
/* For people: "20-NN, old index"; returns text. */
enum { INV_OUTCOME_TITLE = 48 };
const char *inv_outcome_title(const inv_measure_input *in, inv_outcome o,
                              char text[INV_OUTCOME_TITLE]);

#endif
