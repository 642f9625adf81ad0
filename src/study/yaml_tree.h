/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_tree.h - YAML as a tree of nodes, the only use of libyaml.
 *
 * A build without libyaml has yaml_tree_none.c instead, whose one sentence says so. What is
 * taken is one document of mappings, lists and texts. Refused with line and column: anchors
 * and aliases (a few lines could stand for gigabytes), tags, duplicate keys, keys that are
 * not texts, several documents, nesting deeper than INV_NODE_DEPTH, more than INV_NODE_MAX
 * nodes or INV_RECIPE_MAX bytes, and zero bytes in a text.
 */
#ifndef INV_YAML_TREE_H
#define INV_YAML_TREE_H

#include "study/node.h"

bool inv_can_read_yaml(void);

/*
 * `where` begins messages: the name of the file. With `places` false lines and columns are
 * left out, for a text that is not a file. Gives a tree whose top may be any kind of node;
 * an empty document is an empty mapping.
 */
invar_status inv_yaml_read(const char *text, size_t bytes, const char *where, bool places,
                           inv_node **out);
/* A file whose top is a mapping. */
invar_status inv_yaml_load(const char *path, inv_node **out);

#endif
