/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - a recipe as a tree: texts, lists and mappings, each with its place in the file.
 *
 * The tree says nothing about YAML or about keys: yaml_tree.h fills it, study.h reads it.
 */
#ifndef INV_NODE_H
#define INV_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum {
	INV_MESSAGE = 1024,       /* bytes of a message */
	INV_RECIPE_MAX = 1 << 20, /* bytes of a recipe */
	INV_NODE_DEPTH = 16,      /* levels of lists and mappings */
	INV_NODE_MAX = 20000      /* nodes of a tree */
};

typedef enum inv_node_kind { INV_NODE_TEXT, INV_NODE_LIST, INV_NODE_MAP } inv_node_kind;

typedef struct inv_node inv_node;
struct inv_node {
	inv_node_kind kind;
	bool quoted;           /* of texts: "null" in quotes is a word */
	unsigned line, column; /* from 1; 0: not from a file */
	const char *where;     /* the file, or the option that set it; views `owner` */
	char *owner;           /* of the top node */
	char *key;             /* of an entry of a mapping; else NULL */
	unsigned key_line, key_column;
	char *text;       /* of texts */
	inv_node **child; /* of the others, in the order of the file */
	size_t count, allocated;
};

/* NULL if there is no memory. `where` is copied for the top of a tree (parent NULL). */
inv_node *inv_node_new(inv_node_kind kind, const inv_node *parent, const char *where);
void inv_node_free(inv_node *n); /* accepts NULL */
/* Takes child, also if it fails for lack of memory. */
bool inv_node_append(inv_node *parent, inv_node *child);

/* The entry of a mapping; NULL if there is none, or n is NULL or no mapping. */
inv_node *inv_node_find(const inv_node *n, const char *key);
/* Is the value empty or null, which means the default? NULL is. */
bool inv_node_is_null(const inv_node *n);

/*
 * Fail with "FILE:LINE:COLUMN: …", INVAR_E_USE. The second one points to the key of an
 * entry instead of its value.
 */
invar_status inv_node_fail(const inv_node *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
invar_status inv_node_key_fail(const inv_node *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same before this thread's message, with options as recipes spell them; returns st. */
invar_status inv_node_context(const inv_node *n, invar_status st);

/*
 * Puts `value` (takes it, also if it fails) at a path such as "encode.size" or
 * "adapters.0.epochs". Mappings on the way are created; a list must have the position. A
 * text on the way becomes the mapping that it is short for, see `short_for`, which returns
 * the key that a text of this list means, or NULL.
 */
typedef const char *inv_short_for(const char *section, const char *text);
invar_status inv_node_set(inv_node *root, const char *path, inv_node *value,
                          inv_short_for *short_for);

#endif
