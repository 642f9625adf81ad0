/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - the glue around jansson. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

invar_status inv_json_load(const char *path, json_t **out)
{
	json_error_t error;
	char *text;
	size_t bytes;

	*out = NULL;
	INV_TRY(inv_file_load(path, INV_JSON_MAX, &text, &bytes));
	*out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	inv_free(text);
	if (!*out)
		return inv_fail(INVAR_E_FORMAT, "%s: line %d: %s", path, error.line, error.text);
	if (!json_is_object(*out)) {
		json_decref(*out);
		*out = NULL;
		return inv_fail(INVAR_E_FORMAT, "%s: is not a JSON object", path);
	}
	return INVAR_OK;
}

/*
 * Dumped twice, for its size and for its text: jansson may leave out a key when
 * it runs out of memory, and then the two sizes differ.
 */
char *inv_json_text(const json_t *value, int indent)
{
	size_t flags = JSON_INDENT(indent) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
	size_t bytes = json_dumpb(value, NULL, 0, flags);
	char *text = bytes ? inv_alloc(bytes + 2) : NULL;

	if (text && json_dumpb(value, text, bytes, flags) != bytes) {
		inv_free(text);
		return NULL;
	}
	if (text)
		memcpy(text + bytes, indent ? "\n" : "", 2 - !indent);
	return text;
}

/* Has b all members of a that are not null? */
static bool covers(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)a, key, value)
		if (!inv_json_same(value, json_object_get(b, key)))
			return false;
	return true;
}

bool inv_json_same(const json_t *a, const json_t *b)
{
	if (!a || !b || json_is_null(a) || json_is_null(b))
		return (!a || json_is_null(a)) && (!b || json_is_null(b));
	if (json_is_object(a) && json_is_object(b))
		return covers(a, b) && covers(b, a);
	return json_equal(a, b);
}

const char *inv_json_spell(const json_t *value, char out[INV_SPELLED])
{
	const char *plain = json_string_value(value);
	char *text = plain ? NULL : inv_json_text(value, 0);
	const char *shown = plain ? plain : text ? text : "?";
	int max = INV_SPELLED - 4;

	snprintf(out, INV_SPELLED, "%.*s%s", max, shown,
	         strlen(shown) > (size_t)max ? "…" : "");
	inv_free(text);
	return out;
}

invar_status inv_json_save(const char *path, const json_t *value)
{
	char *text = inv_json_text(value, 1);
	invar_status st;

	if (!text)
		return inv_no_memory();
	st = inv_file_save(path, text, strlen(text));
	inv_free(text);
	return st;
}

invar_status inv_json_sha256(const json_t *value, char hex[INV_SHA256_HEX])
{
	char *text = value ? inv_json_text(value, 0) : NULL;
	invar_status st = text ? inv_sha256(text, strlen(text), hex) : inv_no_memory();

	inv_free(text);
	return st;
}

invar_status inv_json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0 ? INVAR_OK : inv_no_memory();
}

bool inv_json_is(const json_t *object, const char *key, const char *text)
{
	const char *found = json_string_value(json_object_get(object, key));

	return found && strcmp(found, text) == 0;
}

json_t *inv_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *inv_json_path(const char *path)
{
	json_t *text = json_string(path);
	bool ascii = true;
	char *plain;

	for (const char *at = path; *at; at++)
		ascii = ascii && !(*at & 0x80);
	if (text || ascii || !(plain = inv_strdup(path)))
		return text; /* of ASCII, NULL means no memory */
	for (char *at = plain; *at; at++)
		if (*at & 0x80)
			*at = '?';
	text = json_string(plain);
	inv_free(plain);
	return text;
}
