/* nearest.c - the right name for a mistyped one, by edit distance. */
#include <string.h>

#include "cli/options.h"

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace and swap neighbours cost 1. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[3][LONGEST + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > LONGEST || nb > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = least(least(before[j], now[j - 1]) + 1,
			               before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return row[na % 3][nb];
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
	size_t distance = edit_distance(n->word, candidate);

	if (length >= 2 && strncmp(candidate, n->word, length) == 0)
		distance = least(distance, 1);
	if (distance < n->distance && distance < strlen(candidate)) {
		n->distance = distance;
		n->best = candidate;
	}
}
