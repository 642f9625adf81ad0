/* nearest.h - the right name for a mistyped one, by edit distance. */
#ifndef INV_NEAREST_H
#define INV_NEAREST_H

#include <stddef.h>

/* The nearest of the names "a|b|c" as text to print: "; did you mean b?", or "". */
enum { INV_HINT = 96 };
const char *inv_hint(const char *word, const char *names, char out[INV_HINT]);

/* The words "a|b|c" as a list for a sentence, "a, b or c". */
const char *inv_list_words(const char *names, char *out, size_t room);

#endif
