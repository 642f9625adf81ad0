/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_norms.h - the norms of a bank's rows, and a bank whose rows all have norm 1.
 *
 * Rows of a bank are unit rows if all norms that are examined are 1 within 1e-3, as for
 * rows that were normalised in float16; rows of zeros are allowed. At most INV_NORM_IMAGES
 * images, spread evenly over the split, are examined, each with its clean row and its
 * copies: few, because copies may have to be made for it (encode/source.h).
 * inv_bank_has_unit_rows stops at the first other norm.
 */
#ifndef INV_ROW_NORMS_H
#define INV_ROW_NORMS_H

#include "bank/bank.h"

enum { INV_NORM_IMAGES = 128 };

/* Begin with zeros; several splits may be added. */
typedef struct inv_row_norms {
	uint64_t rows;
	uint64_t units, zeros; /* rows of norm 1 and of norm 0 */
	double mean, squares;  /* squares: sum of squared distances from the mean */
} inv_row_norms;

/* How many images of a split are examined, and the row of number i of them. */
uint64_t inv_norm_images(const inv_split *s);
uint64_t inv_norm_image(const inv_split *s, uint64_t i);
/* Clean rows and the first `copies` copies, image by image. */
invar_status inv_row_norms_add(const invar_bank *b, const inv_split *s, uint32_t copies,
                               inv_row_norms *n);
void inv_row_norms_add_rows(const float *x, uint64_t rows, size_t d, inv_row_norms *n);
double inv_row_norms_deviation(const inv_row_norms *n);
bool inv_row_norms_are_one(const inv_row_norms *n);

/* Whether a split has unit rows. */
invar_status inv_bank_has_unit_rows(const invar_bank *b, const inv_split *s, bool *out);

/* The same bank with rows that are divided by their norms as they are read; views b. */
invar_bank inv_unit_view(const invar_bank *b);

#endif
