/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_names.h - SPLIT/names.txt: the image file of each row of a split.
 *
 * Invariants of names.txt:
 *   1. It has a line for every row, in their order, each ended by a newline.
 *   2. A name is the path below the data set's folder, so that it stays valid elsewhere.
 *   3. It is UTF-8 and has no other line ends, whatever files are called: a backslash is
 *      written as \\, and every byte of what is not UTF-8, of a control character and of
 *      a line separator (U+0085, U+2028, U+2029) as \xHH, lower case.
 *   4. Nothing is computed from it. A bank need not have it, and only a request for names
 *      reports a names.txt that does not match.
 */
#ifndef INV_ROW_NAMES_H
#define INV_ROW_NAMES_H

#include "bank/bank.h"
#include "images/dataset.h"

/* Of the images of a split; they must have names (inv_images_name). */
invar_status inv_row_names_save(const char *path, const invar_dataset *d,
                                const inv_images *s);
/* Fails if names.txt is for other images, naming the first. */
invar_status inv_row_names_check(const char *path, const invar_dataset *d,
                                 const inv_images *s);
uint64_t inv_row_names_bytes(const invar_dataset *d, const inv_images *s);

/* The names in a text, in one block with their array; gives, inv_free. */
invar_status inv_row_names_parse(const char *text, uint64_t bytes, const char *path,
                                 uint64_t rows, char ***out);

enum { INV_ROW_TEXT = 240 };

/* A row in a message, numbered as in the files: "7 (cats/1.png)", or "7" without names. */
const char *inv_row_text(const invar_bank *b, const inv_split *s, uint64_t row,
                         char text[INV_ROW_TEXT]);
const char *inv_image_text(const invar_dataset *d, const inv_images *s, uint64_t row,
                           char text[INV_ROW_TEXT]);

#endif
