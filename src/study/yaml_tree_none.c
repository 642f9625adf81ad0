/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree_none.c - stands in for yaml_tree.c in a build without libyaml. */
#include "study/yaml_tree.h"

bool inv_can_read_yaml(void)
{
	return false;
}

invar_status inv_yaml_read(const char *text, size_t bytes, const char *where, bool places,
                           inv_node **out)
{
	(void)text;
	(void)bytes;
	(void)places;
	*out = NULL;
	return inv_fail(INVAR_E_USE,
	                "%.400s: this invar was built without libyaml and cannot read recipes; "
	                "build it with -Dyaml=enabled",
	                where);
}
