/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - jansson with our rules: no duplicate keys, bounded size, stable text. */
#ifndef INV_JSON_H
#define INV_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/sha256.h"

enum { INV_JSON_MAX = 16 << 20 }; /* bytes of a file that inv_json_load takes */

/* Reads a JSON object; duplicate keys and files over 16 MB are errors. */
invar_status inv_json_load(const char *path, json_t **out);

/*
 * The same document always gives the same text: one line for indent 0, else
 * indented and ended by a newline. Gives; inv_free.
 */
char *inv_json_text(const json_t *value, int indent);

/* A value as shown in a message: text without quotes, shortened with "…". */
enum { INV_SPELLED = 120 };
const char *inv_json_spell(const json_t *value, char out[INV_SPELLED]);

/* Equal, where a member that an object lacks counts as null. */
bool inv_json_same(const json_t *a, const json_t *b);

invar_status inv_json_save(const char *path, const json_t *value);

/* A path as text: bytes that are not UTF-8 become '?', for JSON knows no others. */
json_t *inv_json_path(const char *path);

/* The SHA-256 of its text in one line; NULL stands for a document that has no memory. */
invar_status inv_json_sha256(const json_t *value, char hex[INV_SHA256_HEX]);

/* Puts a member into an object; takes the value, NULL stands for one that has no memory. */
invar_status inv_json_put(json_t *object, const char *key, json_t *value);
/* Is this member the text? */
bool inv_json_is(const json_t *object, const char *key, const char *text);

/* A real for finite numbers, null for the others: JSON knows no NaN. */
json_t *inv_json_number(double value);

#endif
