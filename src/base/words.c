/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - lists of words, and the right word for a mistyped one by edit distance. */
#include "base/words.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = INV_WORD, ALL = 1024 };

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

/* ---- Lists ------------------------------------------------------------------------ */

bool inv_next_word(const char **list, char separator, char out[INV_WORD])
{
	const char stop[] = {separator, '\0'};
	size_t length;

	if (!*list || !**list)
		return false;
	length = strcspn(*list, stop);
	snprintf(out, INV_WORD, "%.*s", (int)least(length, INV_WORD - 1), *list);
	*list += length + ((*list)[length] == separator);
	return true;
}

bool inv_has_word(const char *list, char separator, const char *word)
{
	const char stop[] = {separator, '\0'};
	size_t length = strlen(word);

	while (list && *list) {
		size_t piece = strcspn(list, stop);

		if (piece && piece == length && memcmp(list, word, length) == 0)
			return true;
		list += piece + (list[piece] == separator);
	}
	return false;
}

const char *inv_list_words(const char *names, char *out, size_t size)
{
	char name[INV_WORD];
	size_t fill = 0;

	out[0] = '\0';
	for (bool first = true; fill < size && inv_next_word(&names, '|', name); first = false)
		fill += (size_t)snprintf(out + fill, size - fill, "%s%s",
		                         first    ? ""
		                         : *names ? ", "
		                                  : " or ",
		                         name);
	return out;
}

invar_status inv_require_word(const char *what, const char *choices, const char *text)
{
	char all[ALL], hint[INV_HINT];

	if (inv_has_word(choices, '|', text))
		return INVAR_OK;
	inv_list_words(choices, all, sizeof all);
	inv_hint(text, choices, hint);
	if (!strchr(choices, '|'))
		hint[0] = '\0'; /* the message already names the only word */
	if (*what == '@')
		return inv_fail(INVAR_E_USE, "@%s must be %s, not '%.64s'%s", what + 1, all, text,
		                hint);
	return inv_fail(INVAR_E_USE, "%s must be %s, not '%.64s'%s", what, all, text, hint);
}

/* ---- The nearest word ---------------------------------------------------------------- */

void inv_closest_start(inv_closest *n, const char *word)
{
	size_t length = strlen(word);

	n->word = word;
	n->best = NULL;
	n->distance = length < 3 ? 2 : 2 + length / 4; /* a word farther away is no help */
}

void inv_closest_try(inv_closest *n, const char *candidate)
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

const char *inv_nearest_word(const char *word, const char *choices, char out[INV_WORD])
{
	char name[INV_WORD];
	inv_closest n;

	inv_closest_start(&n, word);
	out[0] = '\0';
	while (inv_next_word(&choices, '|', name)) {
		n.best = NULL; /* set again only by a word that is nearer than all before */
		inv_closest_try(&n, name);
		if (n.best)
			snprintf(out, INV_WORD, "%s", name);
	}
	return out;
}

const char *inv_hint(const char *word, const char *names, char out[INV_HINT])
{
	char near[INV_WORD];

	inv_nearest_word(word, names, near);
	snprintf(out, INV_HINT, *near ? "; did you mean %s?" : "%s", near);
	return out;
}
