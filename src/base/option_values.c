/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.c - values of options, from text. */
#include "base/option_entry.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"

/* The largest count that a double, and so JSON and Python, represents exactly. */
static const double max_count = 0x1p53;

void inv_entry_clear_list(inv_entry *e)
{
	for (size_t i = 0; i < e->listed; i++)
		inv_free(e->list[i]);
	inv_free(e->list);
	e->list = NULL;
	e->listed = 0;
}

const char *inv_spell_bound(double bound, char out[INV_BOUND])
{
	snprintf(out, INV_BOUND, bound == floor(bound) && fabs(bound) < 1e17 ? "%.0f" : "%.15g",
	         bound);
	return out;
}

/* The default maximum of a count is where doubles stop being exact. */
static double max_of(const invar_option *row)
{
	if (row->max != 0)
		return row->max;
	return row->type == INVAR_OPTION_COUNT ? max_count : INFINITY;
}

static bool is_within(const invar_option *row, double value)
{
	return value >= row->min && value <= max_of(row) &&
	       !(row->flags & INVAR_OPTION_ABOVE && value == row->min);
}

static invar_status refuse_bounds(const invar_option *row, const char *text)
{
	const char *above = row->flags & INVAR_OPTION_ABOVE ? "above" : "at least";
	double upper = max_of(row);
	char min[INV_BOUND], max[INV_BOUND];

	inv_spell_bound(row->min, min);
	if (upper == INFINITY || upper == max_count)
		return inv_fail(INVAR_E_USE, "@%s must be %s %s, not %s", row->name, above, min,
		                text);
	return inv_fail(INVAR_E_USE, "@%s must be %s %s and at most %s, not %s", row->name,
	                above, min, inv_spell_bound(upper, max), text);
}

static invar_status read_count(const invar_option *row, const char *text, uint64_t *out)
{
	bool negative = *text == '-';
	const char *digits = text + negative;
	unsigned long long value;

	if (!*digits || digits[strspn(digits, "0123456789")])
		return inv_fail(INVAR_E_USE, "@%s needs a whole number, not '%s'", row->name, text);
	errno = 0;
	value = strtoull(digits, NULL, 10);
	if (errno || (negative && value) || !is_within(row, (double)value))
		return refuse_bounds(row, text);
	*out = value;
	return INVAR_OK;
}

/* Strict: no spaces, no hexadecimal, no inf, nothing after the number. */
static invar_status read_number(const invar_option *row, const char *text, double *out)
{
	char rounded[INV_BOUND], *end = NULL;
	double value = 0;

	if (*text && !text[strspn(text, "0123456789.eE+-")])
		value = strtod(text, &end);
	if (!end || end == text || *end)
		return inv_fail(INVAR_E_USE, "@%s needs a number, not '%s'", row->name, text);
	if (!isfinite(value) || !is_within(row, value))
		return refuse_bounds(row, text);
	snprintf(rounded, sizeof rounded, "%.15g", value);
	*out = strtod(rounded, NULL);
	return INVAR_OK;
}

static invar_status check_word(const invar_option *row, const char *text)
{
	char what[INV_WORD + 2];

	if (!row->choices)
		return *text
		           ? INVAR_OK
		           : inv_fail(INVAR_E_USE, "the value of @%s must not be empty", row->name);
	snprintf(what, sizeof what, "@%s", row->name);
	return inv_require_word(what, row->choices, text);
}

invar_status inv_entry_append(inv_entry *e, const char *text)
{
	char **longer, *copy;
	invar_status st;

	INV_TRY(check_word(&e->row, text));
	INV_TRY(inv_new_text(&copy, text));
	INV_TRY_OR(fail, inv_new_zeros(&longer, e->listed + 2));
	if (e->listed)
		memcpy(longer, e->list, e->listed * sizeof *longer);
	inv_free(e->list);
	e->list = longer;
	e->list[e->listed++] = copy;
	return INVAR_OK;
fail:
	inv_free(copy);
	return st;
}

invar_status inv_entry_store(inv_entry *e, const char *text)
{
	char *copy;

	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		e->flag = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
		if (e->flag || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
			return INVAR_OK;
		return inv_fail(INVAR_E_USE, "@%s must be true or false, not '%s'", e->row.name,
		                text);
	case INVAR_OPTION_COUNT:
		return read_count(&e->row, text, &e->count);
	case INVAR_OPTION_NUMBER:
		return read_number(&e->row, text, &e->number);
	case INVAR_OPTION_TEXT:
		INV_TRY(check_word(&e->row, text));
		INV_TRY(inv_new_text(&copy, text));
		inv_free(e->text);
		e->text = copy;
		return INVAR_OK;
	case INVAR_OPTION_LIST:
		return inv_entry_append(e, text);
	}
	return INVAR_OK;
}

invar_status inv_entry_reset(inv_entry *e, const char *initial)
{
	e->flag = false;
	e->count = 0;
	e->number = 0;
	inv_free(e->text);
	e->text = NULL;
	inv_entry_clear_list(e);
	return initial ? inv_entry_store(e, initial) : INVAR_OK;
}
