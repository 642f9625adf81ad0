/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_params.h - what was drawn for the copies of a split: SPLIT/aug/NNN.params.npy.
 *
 * Invariants:
 *   1. bank.json names the columns (augment_params): "angle", "1.std".
 *   2. Every copy has a file [rows, columns]; a bank need not have any, and only what asks
 *      for parameters reports files that do not match.
 *   3. If bank.json's augment is a SPEC with these columns, a parameter of an operation
 *      that did not act on an image (p < 1, another chain) is NaN.
 */
#ifndef INV_COPY_PARAMS_H
#define INV_COPY_PARAMS_H

#include "bank/bank.h"

typedef struct inv_copy_params inv_copy_params;

/* E_MISMATCH, with the reason, if there are none or they do not match. */
invar_status inv_copy_params_open(const invar_bank *b, const inv_split *s,
                                  inv_copy_params **out);
void inv_copy_params_close(inv_copy_params *p); /* accepts NULL */

size_t inv_copy_params_columns(const inv_copy_params *p);
const char *inv_copy_params_name(const inv_copy_params *p, size_t column); /* views */
/* The operation of a column, "rotation"; NULL: unknown, or of the whole SPEC. */
const char *inv_copy_params_operation(const inv_copy_params *p, size_t column);
/* The parameters [columns] of a row of a copy, as they were drawn. */
invar_status inv_copy_params_drawn(const inv_copy_params *p, uint32_t copy, uint64_t row,
                                   float *out);
/* The same with NaN for what did not act, see 3. */
invar_status inv_copy_params_row(const inv_copy_params *p, uint32_t copy, uint64_t row,
                                 float *out);

#endif
