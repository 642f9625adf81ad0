/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificate.h - what was measured of an adapter, in its own metadata.
 *
 * invar.certificate is a JSON object:
 * - version: 1
 * - invar: the version of the program that measured
 * - bank: fingerprint, split, encoder, augment, points, copies, as in results
 * - metrics: a list; id, row, part, unit, digits, better of each metric, its value, low and
 *   high for the adapter, and the same of F under "F"
 * - tensors: inv_adapter_fingerprint of the adapter that was measured; certificates of
 *   earlier versions have none
 * - adapter: R2, CVRMSD, moved, gone (inv_behaviour), as `check` measures them again
 * - clean: split, and the profile of its clean features (clean_profile.h)
 *
 * Of a unit adapter, features are unit(F(x)) in both, whether or not those of the bank are.
 *
 * It says nothing about where files are: equal measurements give equal bytes. The tensors
 * of the file stay as they are, in type and content.
 */
#ifndef INV_CERTIFICATE_H
#define INV_CERTIFICATE_H

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "base/options.h"
#include "base/pool.h"
#include "measure/clean_profile.h"

enum { INV_CERTIFICATE_MAX = 16 << 20 }; /* bytes */

/* What E does on some rows, without labels; NaN: could not be measured. */
typedef struct inv_behaviour {
	double r2, cvrmsd; /* structure of clean features */
	double moved;      /* rms of |E(z) - z| over the rms of |z - mean|, of clean features */
	double gone;       /* fraction of the squared displacement of copies that E removes */
} inv_behaviour;

/* x [n, d] are clean features, copies [n, d] copies of them, or NULL. */
invar_status inv_behaviour_measure(const invar_adapter *e, const float *x,
                                   const float *copies, uint64_t n, inv_behaviour *out);

/* At most `max_rows` rows of a split, spread evenly: *n of them, [n, d] in the scratch. */
invar_status inv_take_rows(const invar_bank *b, const inv_split *s, int32_t copy,
                           uint64_t max_rows, inv_pool *scratch, float **out, uint64_t *n);

typedef struct inv_certificate {
	json_t *document;
	inv_behaviour adapter;
	inv_clean_profile clean;
} inv_certificate;

/* Fails if an adapter has none, or a damaged one, for another width or other tensors. */
invar_status inv_certificate_of(const invar_adapter *e, inv_certificate *out);
/* The same from its text; `where` is for messages, d the width that is expected. */
invar_status inv_certificate_read(const char *text, const char *where, size_t d,
                                  inv_certificate *out);
void inv_certificate_clear(inv_certificate *c); /* also after a failure */

#endif
