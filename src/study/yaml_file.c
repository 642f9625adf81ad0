/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_file.c - a recipe from a file, which is read whole and is at most 1 MB. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/yaml_tree.h"

static invar_status fail(const char *path, const char *reason)
{
	return inv_fail(INVAR_E_IO, "%.400s: %.400s", path, reason);
}

/* One byte more than allowed tells that a file is too large. Gives; free() it. */
static invar_status read_text(const char *path, char **text, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	invar_status st = INVAR_OK;

	*text = NULL;
	if (!f)
		return fail(path, strerror(errno));
	if (!(*text = malloc(INV_RECIPE_MAX + 1)))
		st = fail(path, "not enough memory");
	else {
		*bytes = fread(*text, 1, INV_RECIPE_MAX + 1, f);
		if (ferror(f))
			st = fail(path, strerror(errno));
	}
	fclose(f);
	return st;
}

invar_status inv_yaml_load(const char *path, inv_node **out)
{
	char *text;
	size_t bytes = 0;
	invar_status st = read_text(path, &text, &bytes);

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_yaml_read(text, bytes, path, true, out);
	free(text);
	if (st == INVAR_OK && (*out)->kind != INV_NODE_MAP) {
		st = inv_node_fail(*out, "a recipe is a mapping, such as 'data: folder:images'");
		inv_node_free(*out);
		*out = NULL;
	}
	return st;
}
