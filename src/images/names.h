/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - many strings in one block: file names and class names. */
#ifndef INV_NAMES_H
#define INV_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct inv_names {
	char *text; /* the strings one after the other, each with its NUL */
	size_t used, capacity;
	size_t *at; /* [count], offsets into text */
	size_t count, slots;
} inv_names;

/* Start from {0}. Adds the first `length` bytes of a text. */
invar_status inv_names_add(inv_names *n, const char *text, size_t length);
const char *inv_names_at(const inv_names *n, size_t i); /* views, until the next add */
bool inv_names_find(const inv_names *n, const char *text, size_t *i);
void inv_names_sort(inv_names *n);   /* by their bytes */
void inv_names_unique(inv_names *n); /* the same, each name once */
/* The lines of a text without blanks around them; empty ones are left out. */
invar_status inv_names_add_lines(inv_names *n, const char *text);
void inv_names_clear(inv_names *n);

#endif
