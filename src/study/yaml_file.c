/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_file.c - a recipe from a file, which is read whole and is at most 1 MB. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "study/yaml_tree.h"

invar_status inv_yaml_load(const char *path, inv_node **out)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t bytes;
	invar_status st;

	*out = NULL;
	if (!f)
		return inv_fail(INVAR_E_IO, "%.400s: %.400s", path, strerror(errno));
	/* One byte more than allowed shows that a file is too large. */
	INV_TRY_OR(done, inv_new_array(&text, INV_RECIPE_MAX + 1));
	bytes = fread(text, 1, INV_RECIPE_MAX + 1, f);
	if (ferror(f))
		INV_TRY_OR(done, inv_fail(INVAR_E_IO, "%.400s: %.400s", path, strerror(errno)));
	INV_TRY_OR(done, inv_yaml_read(text, bytes, path, true, out));
	if ((*out)->kind != INV_NODE_MAP) {
		st = inv_node_fail(*out, "a recipe is a mapping, such as 'data: folder:images'");
		inv_node_free(*out);
		*out = NULL;
	}
done:
	inv_free(text);
	fclose(f);
	return st;
}
