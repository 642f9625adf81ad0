/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - options by name: declared once, checked when they are set.
 *
 * An option is a row of a table, written with designated initialisers: its name, type,
 * default, bounds, choices and help. A loss, a measurement, an encoder declares its own
 * rows in its own file; the room that runs them adds these tables to a list. What a
 * caller holds is an invar_options made from such a list. It knows what was set and what
 * is the default, and the command line, run.json, the adapter's metadata, the
 * documentation and the check on resuming are all made from it.
 *
 * Invariants:
 *   1. A value that is held is within its bounds and among its choices, also one that
 *      was read from a file.
 *   2. Texts are copies; nothing is borrowed from the caller or from a document.
 *   3. A number is rounded to the 15 digits that run.json keeps, so that a run and its
 *      resumption compute with the same double.
 *   4. A message marks the names of options (@, see status.h), so that the command line
 *      can show them as they are typed.
 */
#ifndef INV_BASE_OPTIONS_H
#define INV_BASE_OPTIONS_H

#include <stdbool.h>

#include "base/json.h"
#include "base/status.h"

/* The option seed of every table; flags may follow: {INV_SEED_ROW, .flags = …}. */
#define INV_SEED_ROW                                                         \
	.name = "seed", .type = INVAR_OPTION_COUNT, .initial = "0", .meta = "N", \
	.group = "Common", .help = "seed of all random draws"

/* A row; further fields may follow: {INV_OPTION_ROW("p", NUMBER, "2", …), .min = 1}. */
#define INV_OPTION_ROW(option, kind, value, bits, where, text)                      \
	.name = option, .type = INVAR_OPTION_##kind, .initial = value, .flags = (bits), \
	.group = where, .help = text

/* An empty list; tables are added to it. `command` is what messages call it; borrowed. */
invar_status inv_options_begin(const char *command, invar_options **out);

/* Adds rows up to the one without a name; a name that exists is skipped. */
invar_status inv_options_add_rows(invar_options *o, const invar_option *rows);

/*
 * The same for rows that apply only if another option has a certain value: the options of
 * the loss simclr belong to ("loss", "simclr"). Several parts may declare the same option;
 * the first row is used. A flag has the values "true" and "false"; NULL means any value:
 * such rows apply whenever the selector is set.
 */
invar_status inv_options_add_part(invar_options *o, const char *selector, const char *value,
                                  const invar_option *rows);
/* Such a part also uses the options named in "a|b", which were declared before. */
invar_status inv_options_share(invar_options *o, const char *selector, const char *value,
                               const char *names);

/*
 * Where `selector` has the value `value`, the options named in "a|b" change nothing: they
 * are not recorded, and setting them is no error, as a script or a goal may set them for
 * whatever is chosen. An option may be its own selector: a strength of 1 does nothing.
 */
invar_status inv_options_idle(invar_options *o, const char *selector, const char *value,
                              const char *names);

/*
 * Where `selector` has the value `value`, the option `name` is `initial` unless it was set.
 * With `choose` it is what this function returns, which reads only options that were set.
 * The last rule that applies counts. Set a selector and its rules take effect at once, so
 * that what is read, recorded and resumed is the value that is used.
 */
typedef struct inv_option_default {
	const char *selector, *value, *name, *initial;
	const char *(*choose)(const invar_options *o); /* NULL: the other fields count */
} inv_option_default;

/*
 * The texts are borrowed; the option was declared before and is not a list. Add rules
 * before anything is set: the row then shows the default of a list without values.
 */
invar_status inv_options_add_default(invar_options *o, const inv_option_default *rule);

/* The command that o was made for; views. */
const char *inv_options_command(const invar_options *o);
/* Fails unless o was made for this command: a program may hand over the wrong list. */
invar_status inv_options_expect(const invar_options *o, const char *command);

/* Values. The name must be an option of this list, of this type. */
bool inv_option_flag(const invar_options *o, const char *name);
uint64_t inv_option_count(const invar_options *o, const char *name);
double inv_option_number(const invar_options *o, const char *name);
const char *inv_option_text(const invar_options *o, const char *name); /* NULL: none */
bool inv_option_is(const invar_options *o, const char *name, const char *word);
/* The same for texts, numbers and flags, whose values are "true" and "false"; NULL: any. */
bool inv_option_has_value(const invar_options *o, const char *name, const char *value);

/* Was it set by the caller, rather than left at its default? */
bool inv_option_is_set(const invar_options *o, const char *name);
/* Has it the default of its row, whether or not it was set? */
bool inv_option_is_default(const invar_options *o, const char *name);

/*
 * Fails if an option was set that belongs to a part which is not chosen: "temperature
 * belongs to loss simclr, but loss is mawa".
 */
invar_status inv_options_check_parts(const invar_options *o);
/* Does the part (selector, value) use this option? */
bool inv_options_uses(const invar_options *o, const char *selector, const char *value,
                      const char *name);

/* { name: value, … } of the options that have all of `flags`; an absent text is null. */
json_t *inv_options_json(const invar_options *o, unsigned flags);
/*
 * The same of those that take part, which is what a result is recorded with: the command's
 * own and those of the parts that are chosen, without idle ones and absent texts. So a
 * record does not grow with parts that it has nothing to do with.
 */
json_t *inv_options_used_json(const invar_options *o, unsigned flags);

/*
 * Takes the values in `saved` for options that are not set. Options that are set and affect
 * the result must equal the saved value, or the default if it is not recorded
 * (INVAR_E_MISMATCH naming `where`), unless `lenient`.
 */
invar_status inv_options_resume(invar_options *o, const json_t *saved, const char *where,
                                bool lenient);

/*
 * How options were found, { key: value }, for the record of what they are used for; copies
 * have it too. Takes value; NULL: there is none.
 */
invar_status inv_options_set_record(invar_options *o, const char *key, json_t *value);
json_t *inv_options_record(const invar_options *o, const char *key); /* views */

/*
 * A copy of the options of the command, with what was set; those that a caller has added
 * are left out, as they mean nothing to it. Gives, invar_options_free.
 */
invar_status inv_options_copy(const invar_options *o, invar_options **out);

/*
 * A list of the options that `declare` adds, with the values that o has for them: what one
 * call needs of a list that serves several. A name that o lacks, or has as another type,
 * keeps its default; o may be NULL. Gives, invar_options_free.
 */
invar_status inv_options_pick(const invar_options *o,
                              invar_status (*declare)(invar_options *o),
                              invar_options **out);

invar_status inv_options_unset(invar_options *o, const char *name);
int inv_options_is_set(const invar_options *o, const char *name);
const invar_option *inv_options_find(const invar_options *o, const char *name);
/* Its help without what the choices mean. */
const char *inv_options_phrase(const invar_options *o, const char *name);
/* The option that must be set, or differently, for this one to be used; NULL: none. */
const char *inv_options_needs(const invar_options *o, const char *name);
/* The options that its default depends on, "a|b"; "" if none. Returns out. */
enum { INV_SELECTORS = 256 };
const char *inv_options_selectors(const invar_options *o, const char *name,
                                  char out[INV_SELECTORS]);
/* The losses, closed forms … that an option belongs to, one by one; NULL past the last. */
const char *inv_options_part(const invar_options *o, const char *name, size_t i);
/* Adds an option of the caller; the row and its strings are copied. */
invar_status inv_options_add(invar_options *o, const invar_option *row, size_t size_of_row);

/* Flags count as 0 and 1; NaN for texts and names that do not exist. */
double inv_options_number(const invar_options *o, const char *name);
/* Value i of a list, or a text with i = 0; NULL: none. Views, until it is set again. */
const char *inv_options_text(const invar_options *o, const char *name, size_t i);

#endif
