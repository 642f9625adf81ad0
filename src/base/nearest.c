/* nearest.c - the right name for a mistyped one, by edit distance. */
#include "base/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "invar.h"

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace and swap neighbours cost 1. */
size_t invar_edit_distance(const char *a, const char *b)
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

/* Copies the name at *names and steps past it and its bar. */
static void next_name(const char **names, char out[LONGEST])
{
	size_t length = strcspn(*names, "|");

	snprintf(out, LONGEST, "%.*s", (int)least(length, LONGEST - 1), *names);
	*names += length + ((*names)[length] == '|');
}

const char *inv_hint(const char *word, const char *names, char out[INV_HINT])
{
	size_t length = strlen(word);
	size_t best = length < 3 ? 2 : 2 + length / 4; /* what is farther is no help */
	char name[LONGEST];

	out[0] = '\0';
	while (*names) {
		size_t distance;

		next_name(&names, name);
		distance = invar_edit_distance(word, name);
		if (length >= 2 && strncmp(name, word, length) == 0)
			distance = least(distance, 1);
		if (distance >= best || distance >= strlen(name))
			continue;
		best = distance;
		snprintf(out, INV_HINT, "; did you mean %s?", name);
	}
	return out;
}

const char *inv_list_words(const char *names, char *out, size_t room)
{
	char name[LONGEST];
	size_t fill = 0;

	out[0] = '\0';
	for (int first = 1; *names && fill < room; first = 0) {
		next_name(&names, name);
		fill += (size_t)snprintf(out + fill, room - fill, "%s%s",
		                         first    ? ""
		                         : *names ? ", "
		                                  : " or ",
		                         name);
	}
	return out;
}
