/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pictures.h - the images behind the rows of a bank, as the encoder saw them.
 *
 * Pictures are prepared and augmented as bank.json says, with the parameters that the bank
 * has kept. Copies of a bank that does not say how they were made cannot be shown.
 */
#ifndef INV_PICTURES_H
#define INV_PICTURES_H

#include "cli/session.h"

#include "bank/copy_params.h"

enum { INV_NORMALIZE = 256, INV_PICTURE_SPLITS = 4 };

/* Which image each row of a split is. */
typedef struct inv_picture_index {
	const char *split;
	const invar_dataset *images;
	uint64_t *image; /* [rows]; UINT64_MAX: the data set does not have it */
} inv_picture_index;

typedef struct inv_pictures {
	inv_session *s;
	const invar_bank *bank;
	const char *split; /* whose copies are shown, and which one; it may be changed */
	uint32_t copy;
	inv_copy_params *params;
	invar_augment *augment; /* NULL: the bank does not say how copies were made */
	char normalize[INV_NORMALIZE];
	char side[24];
	double seed;
	inv_picture_index index[INV_PICTURE_SPLITS];
} inv_pictures;

/* Borrows everything; close it in any case. */
invar_status inv_pictures_open(inv_session *s, const invar_bank *bank, const char *split,
                               uint32_t copy, inv_pictures *out);
void inv_pictures_close(inv_pictures *p);

/* Row of a split, clean or as the copy; gives [height, width, 3], invar_free it. */
invar_status inv_pictures_draw(inv_pictures *p, const invar_dataset *images,
                               const char *split, uint64_t row, bool augmented,
                               uint8_t **rgb, uint32_t *width, uint32_t *height);

#endif
