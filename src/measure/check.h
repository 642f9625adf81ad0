/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - is an adapter still used on the data it was certified for?
 *
 * Without labels. New clean features are compared with the profile in the certificate, and
 * what E does to them with what it did when it was certified. It is drift if
 *
 *   1. the features are shifted by more than 0.2 of the old spread, or their norms by more
 *      than 0.3; the square of a limit has that of twice the spread of chance added;
 *   2. R² is more than 0.1 below the certified one, or CVRMSD more than half above it and
 *      by more than 0.02;
 *   3. E moves clean features by half more than it did, and by more than 0.05 of the
 *      spread;
 *   4. E removes less of the displacement of copies: by more than 0.15. Only for copies of
 *      the augmentation that was certified.
 *
 * The tolerances of 2 to 4 are for many rows; for n they are sqrt(1 + 400/n) times as wide.
 *
 * The test split of a data set that is not drawn at random has a shift too, about 0.08 in
 * docs/CHECK.md, which has what was measured.
 */
#ifndef INV_CHECK_H
#define INV_CHECK_H

#include "measure/certificate.h"

invar_status inv_check_declare(invar_options *o);

enum { INV_CHECK_WHY = 600 };

typedef struct inv_check_facts {
	inv_shift shift;
	uint64_t points;        /* rows that `now` was measured on */
	inv_behaviour old, now; /* now.gone is NaN if it must not be compared */
} inv_check_facts;

/* True: drift. `why` gets one sentence. */
bool inv_check_judge(const inv_check_facts *f, char why[INV_CHECK_WHY]);
/* The largest shift that is fine: [0] of features, [1] of norms. */
double inv_check_limit(const inv_shift *s, int which);

#endif
