/* nearest.c - the right name for a mistyped one, by edit distance. */
#include <string.h>

#include "cli/options.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void inv_nearest_start(inv_nearest *n, const char *word)
{
	size_t length = strlen(word);

	n->word = word;
	n->best = NULL;
	n->distance = length < 3 ? 2 : 2 + length / 4; /* what is farther is no help */
}

void inv_nearest_try(inv_nearest *n, const char *candidate)
{
	size_t length = strlen(n->word);
	size_t distance = invar_edit_distance(n->word, candidate);

	if (length >= 2 && strncmp(candidate, n->word, length) == 0)
		distance = least(distance, 1);
	if (distance < n->distance && distance < strlen(candidate)) {
		n->distance = distance;
		n->best = candidate;
	}
}
