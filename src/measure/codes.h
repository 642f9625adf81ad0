/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codes.h - the codes of a column: E is applied once per row, whichever measurement needs
 * it.
 *
 * Measurements need the same rows one after the other. Codes are kept by split, copy and
 * view once they are computed: in memory up to a bound, beyond that in an unnamed, mapped
 * file in TMPDIR, which the system may write to disk. If there is no space for either, E is
 * applied again.
 */
#ifndef INV_CODES_H
#define INV_CODES_H

#include "adapter/adapter.h"
#include "bank/bank.h"

enum { INV_CODES_BLOCK = 1024 };

typedef struct inv_codes inv_codes;

/* Codes of `e` on rows of `bank`; both are borrowed. */
invar_status inv_codes_new(const invar_adapter *e, const invar_bank *bank, uint64_t bound,
                           inv_codes **out);
void inv_codes_free(inv_codes *c);

/* Bytes that may stay in memory: 1 GB, or a quarter of what the machine has or allows. */
uint64_t inv_codes_bound(void);

/*
 * The codes of up to INV_CODES_BLOCK rows, or of one of their views (bank.h), `stride`
 * floats from one to the next. Not for several threads at once.
 */
invar_status inv_codes_take(inv_codes *c, const inv_split *s, int32_t copy, unsigned view,
                            const uint64_t *row, size_t count, size_t stride, float *out);

#endif
