/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_entry.h - what a list of options is made of, for the files that are options.h:
 * options.c (lists, parts, setting, reading, copies), option_values.c and option_json.c.
 */
#ifndef INV_OPTION_ENTRY_H
#define INV_OPTION_ENTRY_H

#include "base/options.h"

enum { INV_MAX_DEFAULTS = 64, INV_MAX_PARTS = 24, INV_BOUND = 40 };

typedef struct inv_part {
	const char *selector, *value; /* "loss", "simclr" */
} inv_part;

typedef struct inv_entry {
	invar_option row; /* a copy; row.choices is ours where `choices` is set */
	/* The default where no rule applies; row.initial: where none is set. */
	const char *base;
	/* The parts that the option belongs to; none: to the command itself. */
	inv_part part[INV_MAX_PARTS];
	size_t parts;
	inv_part idle; /* where it changes nothing; without a selector: nowhere */
	char *choices;
	const char *phrase; /* the help as it was declared */
	char *help;         /* row.help with what the choices mean; NULL: as it is */
	char *texts; /* of a row that a caller has added; NULL: of the command's own */
	bool set;
	bool flag;
	uint64_t count;
	double number;
	char *text;
	char **list; /* ended by NULL */
	size_t listed;
} inv_entry;

struct invar_options {
	const char *command;
	inv_entry *entry;
	size_t count, allocated;
	inv_option_default rule[INV_MAX_DEFAULTS]; /* in the order they were added */
	size_t rules;
	json_t *record; /* see inv_options_set_record; NULL: there is none */
};

/* NULL: there is none. */
inv_entry *inv_entry_find(const invar_options *o, const char *name);
/* The default under the rules as they apply now; NULL: none. */
const char *inv_entry_default(const invar_options *o, const inv_entry *e);
/* Gives every option that was not set the default of its rules. */
invar_status inv_options_apply_defaults(invar_options *o);

/* Values, from text. A list grows by one. */
invar_status inv_entry_store(inv_entry *e, const char *text);
invar_status inv_entry_append(inv_entry *e, const char *text);
void inv_entry_clear_list(inv_entry *e);
/* To `initial`, or to nothing if it is NULL. */
invar_status inv_entry_reset(inv_entry *e, const char *initial);
/* Whole bounds with all their digits, others as short as they were written. */
const char *inv_spell_bound(double bound, char out[INV_BOUND]);

/* Parts. */
bool inv_entry_has_chosen_part(const invar_options *o, const inv_entry *e);
bool inv_entry_takes_part(const invar_options *o, const inv_entry *e);

#endif
