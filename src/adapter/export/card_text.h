/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card_text.h - texts from files inside a model card.
 *
 * Names in metadata may come from anyone. In YAML they are double-quoted, in Markdown every
 * character with a meaning is escaped; control characters, line separators and marks that
 * change the direction of writing become '?', and long texts end in "…".
 */
#ifndef INV_CARD_TEXT_H
#define INV_CARD_TEXT_H

#include <stdio.h>

/* NULL is written as an empty text. */
void inv_card_yaml(FILE *out, const char *text);
void inv_card_markdown(FILE *out, const char *text);

#endif
