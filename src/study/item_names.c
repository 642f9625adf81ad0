/* SPDX-License-Identifier: Apache-2.0 */
/* item_names.c - titles and folder names of items; paths beside the recipe. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/dataset.h"
#include "study/study.h"

enum { LONGEST = 100 }; /* bytes of a folder's name */

/* Bytes of the character of several bytes in UTF-8 that the text begins with; 0: none. */
static size_t wide_bytes(const char *text)
{
	unsigned char first = (unsigned char)*text;
	size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;

	if (first < 0xC2 || first > 0xF4)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if (((unsigned char)text[i] & 0xC0) != 0x80)
			return 0;
	return bytes;
}

char *inv_folder_name(const char *title)
{
	char *name = calloc(1, LONGEST + 1);
	size_t used = 0;

	for (; name && *title && used < LONGEST; title++) {
		unsigned char c = (unsigned char)*title;
		bool plain = c < 128 && (isalnum(c) || strchr("._+", c));
		size_t wide = wide_bytes(title);

		if (wide > LONGEST - used)
			break;
		if (wide) {
			memcpy(name + used, title, wide);
			used += wide;
			title += wide - 1;
		} else if (plain && !(c == '.' && used == 0))
			name[used++] = (char)tolower(c);
		else if (used && name[used - 1] != '-')
			name[used++] = '-';
	}
	while (used && name[used - 1] == '-')
		name[--used] = '\0';
	return name;
}

char *inv_beside(const char *folder, const char *path)
{
	char *joined = NULL;

	if (*path == '/' || !*folder)
		return strdup(path);
	return asprintf(&joined, "%s/%s", folder, path) < 0 ? NULL : joined;
}

/* The part after "KIND:" of a known kind; the text itself if there is none. */
static const char *place_of(const char *dataset, const char **kind)
{
	const char *name;

	for (size_t i = 0; (name = inv_dataset_kind_about(i, NULL, NULL)); i++) {
		size_t length = strlen(name);

		if (strncmp(dataset, name, length) == 0 && dataset[length] == ':') {
			*kind = name;
			return dataset + length + 1;
		}
	}
	*kind = NULL;
	return dataset;
}

/* IMAGES[,LABELS] */
static char *arrays_beside(const char *folder, const char *place)
{
	const char *comma = strchr(place, ',');
	char *first = comma ? strndup(place, (size_t)(comma - place)) : NULL;
	char *a = first ? inv_beside(folder, first) : NULL;
	char *b = comma ? inv_beside(folder, comma + 1) : NULL;
	char *both = NULL;

	if (!comma)
		return inv_beside(folder, place);
	if (!a || !b || asprintf(&both, "%s,%s", a, b) < 0)
		both = NULL;
	free(first);
	free(a);
	free(b);
	return both;
}

char *inv_dataset_beside(const char *folder, const char *dataset)
{
	const char *kind, *place = place_of(dataset, &kind);
	char *moved, *text = NULL;

	if (!kind)
		return inv_beside(folder, place);
	if (!*place) /* a data set that has a place of its own */
		return strdup(dataset);
	moved =
		strcmp(kind, "npy") == 0 ? arrays_beside(folder, place) : inv_beside(folder, place);
	if (moved && asprintf(&text, "%s:%s", kind, moved) < 0)
		text = NULL;
	free(moved);
	return text;
}

/* The last part of a path, without its ending. */
char *inv_file_title(const char *path)
{
	size_t end = strlen(path), start, dot;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	for (dot = end; dot > start && path[dot - 1] != '.'; dot--)
		;
	if (dot > start + 1)
		end = dot - 1;
	return strndup(path + start, end - start);
}

char *inv_dataset_title(const char *dataset)
{
	static const char *const of_files[] = {"folder", "csv", "tar", "npy"};
	const char *kind, *place = place_of(dataset, &kind);
	bool named = !kind; /* after its file or folder */
	char *first, *title;

	for (size_t i = 0; kind && i < sizeof of_files / sizeof *of_files; i++)
		named = named || strcmp(kind, of_files[i]) == 0;
	if (!named)
		return strdup(kind);
	first = strndup(place, kind && strcmp(kind, "folder") != 0 ? strcspn(place, ",")
	                                                           : strlen(place));
	title = first ? inv_file_title(first) : NULL;
	free(first);
	return title;
}
