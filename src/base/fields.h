/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - option structs seen through their table of fields.
 *
 * One table serves the command line, run.json, the adapter's metadata and the
 * check on --resume; nothing about an option is written down twice.
 */
#ifndef INV_FIELDS_H
#define INV_FIELDS_H

#include <stdbool.h>

#include "base/json.h"
#include "base/status.h"

typedef struct inv_fields {
	const invar_field *field;
	size_t count;
} inv_fields;

/*
 * Rounds every number to the 15 digits that run.json keeps, so that a run and
 * its resumption compute with the same double.
 */
void inv_fields_round(inv_fields f, void *opts);

/* Numbers within their bounds, words among their choices, no text missing. */
invar_status inv_fields_check(inv_fields f, const void *opts);

/*
 * { name: value, … } of the fields that have all of `flags`; absent text is null,
 * a list is an array.
 */
json_t *inv_fields_json(inv_fields f, const void *opts, unsigned flags);

/* Is the name in a NULL-terminated list? The list may be NULL. */
bool inv_is_given(const char *const *given, const char *name);

/*
 * Takes every field that `saved` holds into opts, except the ones named in
 * `given`; of those, the ones that change the result must have the same value
 * already. Text stays borrowed from saved; the array of a list that was taken is
 * given: inv_free it.
 */
invar_status inv_fields_resume(inv_fields f, const json_t *saved, const char *const *given,
                               const char *where, void *opts);

/* The same, but whether what was given fits is for others to tell. */
invar_status inv_fields_recall(inv_fields f, const json_t *saved, const char *const *given,
                               const char *where, void *opts);

#endif
