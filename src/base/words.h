/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - lists such as "a|b|c" and "a,b,c", and the right word for a mistyped one. */
#ifndef INV_WORDS_H
#define INV_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { INV_WORD = 64 }; /* bytes of a word with its final 0; longer ones are cut off */

/*
 * The next word of a list into out, and *list past it and its separator; false at the
 * end. *list may be NULL: an empty list.
 */
bool inv_next_word(const char **list, char separator, char out[INV_WORD]);

/* Is `word` one of the words of the list? */
bool inv_has_word(const char *list, char separator, const char *word);

/* The words "a|b|c" for a message, "a, b or c". */
const char *inv_list_words(const char *names, char *out, size_t size);

/*
 * Fails unless text is one of the words "a|b|c", naming them and the closest. The message
 * starts with `what`; a leading @ marks an option.
 */
invar_status inv_require_word(const char *what, const char *choices, const char *text);

/* The candidate closest to a word by edit distance, or one that starts with it. */
typedef struct inv_closest {
	const char *word;
	const char *best; /* NULL while all were far */
	size_t distance;
} inv_closest;

void inv_closest_start(inv_closest *n, const char *word);
void inv_closest_try(inv_closest *n, const char *candidate);

/* The nearest of the names "a|b|c" as text to print: "; did you mean b?", or "". */
enum { INV_HINT = 96 };
const char *inv_hint(const char *word, const char *names, char out[INV_HINT]);

/* The word in "a|b|c" closest to a mistyped one, at most 63 bytes; "" if none is close. */
const char *inv_nearest_word(const char *word, const char *choices, char out[64]);

#endif
