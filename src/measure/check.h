/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - is an adapter still used on the data it was certified for?
 *
 * Without labels. New clean features are compared with the profile in the certificate, and
 * what E does to them with what it did when it was certified. It is drift if
 *
 *   1. the features, or their norms, are shifted by more than 1.5 times what chance makes
 *      of so many rows, and by more than a tenth of the old spread;
 *   2. R² is more than 0.1 below the certified one, or CVRMSD more than half above it and
 *      by more than 0.02;
 *   3. E moves clean features by half more than it did, and by more than 0.05 of the spread;
 *   4. E removes less of the displacement of copies: by more than 0.15. Only for copies of
 *      the augmentation that was certified.
 *
 * 1.5 leaves space for splits that were not drawn at random; docs/CHECK.md has what was
 * measured.
 */
#ifndef INV_CHECK_H
#define INV_CHECK_H

#include "measure/certificate.h"

invar_status inv_check_declare(invar_options *o);

enum { INV_CHECK_WHY = 600 };

typedef struct inv_check_facts {
	inv_shift shift;
	inv_behaviour old, now; /* now.gone is NaN if it must not be compared */
} inv_check_facts;

/* True: drift. `why` gets one sentence. */
bool inv_check_judge(const inv_check_facts *f, char why[INV_CHECK_WHY]);
/* The largest shift that is fine: [0] of features, [1] of norms. */
double inv_check_limit(const inv_shift *s, int which);

#endif
