/* SPDX-License-Identifier: Apache-2.0 */
/* class_list.c - see class_list.h. */
#include "images/class_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { MAX_LIST = 16 << 20 }; /* bytes */

const invar_option inv_class_list_rows[] = {
	{"classes", INVAR_OPTION_TEXT, .meta = "FILE", .group = "Images",
     .help = "use only the classes in this file, one name or index per line, renumbered in "
             "that order"},
	{0},
};

invar_status inv_class_list_load(const char *path, inv_names *out)
{
	size_t bytes;
	char *text;
	invar_status st = inv_file_load(path, MAX_LIST, &text, &bytes);

	if (st != INVAR_OK)
		return inv_context(st, "@classes");
	if (strlen(text) != bytes)
		INV_TRY_OR(end,
		           inv_fail(INVAR_E_USE,
		                    "@classes %s: contains a NUL, so it is not a text file", path));
	INV_TRY_OR(end, inv_names_add_lines(out, text));
	if (!out->count)
		st = inv_fail(INVAR_E_USE, "@classes %s: lists no class", path);
end:
	inv_free(text);
	return st;
}

bool inv_class_list_index(const char *text, uint64_t *index)
{
	size_t digits = strspn(text, "0123456789");

	/* 18 digits fit in any 64 bits. */
	if (!digits || digits > 18 || text[digits])
		return false;
	*index = strtoull(text, NULL, 10);
	return true;
}

invar_status inv_class_list_unknown(const char *path, const char *text, const char *where)
{
	return inv_fail(INVAR_E_USE, "@classes %s: there is no class '%.100s' in %s", path,
	                text, where);
}

invar_status inv_class_list_twice(const char *path, const char *name)
{
	return inv_fail(INVAR_E_USE, "@classes %s: lists the class '%.100s' twice", path, name);
}

invar_status inv_class_list_no_classes(const char *path, const char *where)
{
	return inv_fail(INVAR_E_USE, "@classes %s: %s has no classes", path, where);
}

invar_status inv_class_list_no_rows(const char *path, const char *where)
{
	return inv_fail(INVAR_E_USE, "@classes %s: no image of %s has one of these classes",
	                path, where);
}
