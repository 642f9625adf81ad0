/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - checking, saving and restoring options by their table. */
#include "base/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const void *member(const invar_field *f, const void *opts)
{
	return (const char *)opts + f->offset;
}

static const char *text_of(const invar_field *f, const void *opts)
{
	return *(const char *const *)member(f, opts);
}

static const char *const *list_of(const invar_field *f, const void *opts)
{
	return *(const char *const *const *)member(f, opts);
}

static invar_status check_number(const invar_field *f, double value)
{
	if (value >= f->min && value <= f->max &&
	    !(f->flags & INVAR_FIELD_ABOVE && value == f->min))
		return INVAR_OK;
	if (f->max == INFINITY)
		return inv_fail(INVAR_E_USE, "--%s is %.15g but must be %s %.15g", f->name, value,
		                f->flags & INVAR_FIELD_ABOVE ? "above" : "at least", f->min);
	return inv_fail(INVAR_E_USE, "--%s is %.15g but must be %s %.15g and at most %.15g",
	                f->name, value, f->flags & INVAR_FIELD_ABOVE ? "above" : "at least",
	                f->min, f->max);
}

static bool is_choice(const char *choices, const char *word)
{
	size_t length = strlen(word);

	if (strchr(word, '|'))
		return false;
	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (length && strncmp(at, word, length) == 0 &&
		    (at[length] == '|' || at[length] == '\0'))
			return true;
	return false;
}

static invar_status check_field(const invar_field *f, const void *opts)
{
	const char *text;

	switch (f->type) {
	case INVAR_FIELD_FLAG:
		return INVAR_OK;
	case INVAR_FIELD_COUNT:
		return check_number(f, (double)*(const uint64_t *)member(f, opts));
	case INVAR_FIELD_NUMBER:
		return check_number(f, *(const double *)member(f, opts));
	case INVAR_FIELD_TEXT:
		text = text_of(f, opts);
		if (!text && !(f->flags & INVAR_FIELD_OPTIONAL))
			return inv_fail(INVAR_E_USE, "--%s has no value", f->name);
		if (text && f->choices && !is_choice(f->choices, text))
			return inv_fail(INVAR_E_USE, "--%s is '%s' but must be one of %s", f->name,
			                text, f->choices);
		return INVAR_OK;
	case INVAR_FIELD_LIST:
		return INVAR_OK;
	}
	return INVAR_OK;
}

void inv_fields_round(inv_fields f, void *opts)
{
	for (size_t i = 0; i < f.count; i++) {
		double *number = (double *)((char *)opts + f.field[i].offset);
		char text[40];

		if (f.field[i].type != INVAR_FIELD_NUMBER)
			continue;
		snprintf(text, sizeof text, "%.15g", *number);
		*number = strtod(text, NULL);
	}
}

invar_status inv_fields_check(inv_fields f, const void *opts)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < f.count && st == INVAR_OK; i++)
		st = check_field(&f.field[i], opts);
	return st;
}

static json_t *list_json(const char *const *text)
{
	json_t *array = json_array();

	for (; text && *text; text++)
		json_array_append_new(array, inv_json_path(*text));
	return array;
}

static json_t *field_json(const invar_field *f, const void *opts)
{
	switch (f->type) {
	case INVAR_FIELD_FLAG:
		return json_boolean(*(const int *)member(f, opts));
	case INVAR_FIELD_COUNT:
		return json_integer((json_int_t) * (const uint64_t *)member(f, opts));
	case INVAR_FIELD_NUMBER:
		return inv_json_number(*(const double *)member(f, opts));
	case INVAR_FIELD_TEXT:
		return text_of(f, opts) ? json_string(text_of(f, opts)) : json_null();
	case INVAR_FIELD_LIST:
		return list_json(list_of(f, opts));
	}
	return NULL;
}

json_t *inv_fields_json(inv_fields f, const void *opts, unsigned flags)
{
	json_t *object = json_object();

	for (size_t i = 0; i < f.count; i++)
		if ((f.field[i].flags & flags) == flags)
			json_object_set_new(object, f.field[i].name, field_json(&f.field[i], opts));
	return object;
}

bool inv_is_given(const char *const *given, const char *name)
{
	for (; given && *given; given++)
		if (strcmp(*given, name) == 0)
			return true;
	return false;
}

static bool is_list_of_texts(const json_t *value)
{
	const json_t *text;
	size_t i;

	json_array_foreach (value, i, text)
		if (!json_is_string(text))
			return false;
	return json_is_array(value);
}

static bool fits(const invar_field *f, const json_t *value)
{
	switch (f->type) {
	case INVAR_FIELD_FLAG:
		return json_is_boolean(value);
	case INVAR_FIELD_COUNT:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case INVAR_FIELD_NUMBER:
		return json_is_number(value);
	case INVAR_FIELD_TEXT:
		return json_is_string(value) ||
		       (json_is_null(value) && f->flags & INVAR_FIELD_OPTIONAL);
	case INVAR_FIELD_LIST:
		return is_list_of_texts(value);
	}
	return false;
}

static invar_status take_list(const invar_field *f, const json_t *value,
                              const char *const **out)
{
	size_t count = json_array_size(value);
	const char **texts = count ? inv_calloc(count + 1, sizeof *texts) : NULL;

	*out = texts;
	if (count && !texts)
		return inv_fail(INVAR_E_NOMEM, "no memory for the values of --%s", f->name);
	for (size_t i = 0; i < count; i++)
		texts[i] = json_string_value(json_array_get(value, i));
	return INVAR_OK;
}

static invar_status take(const invar_field *f, const json_t *value, void *opts)
{
	void *at = (char *)opts + f->offset;

	switch (f->type) {
	case INVAR_FIELD_FLAG:
		*(int *)at = json_is_true(value);
		break;
	case INVAR_FIELD_COUNT:
		*(uint64_t *)at = (uint64_t)json_integer_value(value);
		break;
	case INVAR_FIELD_NUMBER:
		*(double *)at = json_number_value(value);
		break;
	case INVAR_FIELD_TEXT:
		*(const char **)at = json_string_value(value);
		break;
	case INVAR_FIELD_LIST:
		return take_list(f, value, at);
	}
	return INVAR_OK;
}

static invar_status refuse_other(const invar_field *f, const json_t *saved, json_t *mine,
                                 const char *where)
{
	char a[64] = "", b[64] = "";
	size_t na =
		json_dumpb(saved, a, sizeof a - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	size_t nb = json_dumpb(mine, b, sizeof b - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

	a[na < sizeof a ? na : 0] = b[nb < sizeof b ? nb : 0] = '\0';
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: was begun with --%s %s, so it cannot go on with %s", where,
	                f->name, a, b);
}

static invar_status resume_field(const invar_field *f, const json_t *saved, bool given,
                                 const char *where, void *opts)
{
	json_t *mine;
	invar_status st = INVAR_OK;

	if (!fits(f, saved))
		return inv_fail(INVAR_E_FORMAT, "%s: the value of \"%s\" makes no sense", where,
		                f->name);
	if (!given)
		return take(f, saved, opts);
	if (!(f->flags & INVAR_FIELD_RESULT))
		return INVAR_OK; /* it may change, the result stays the same */
	mine = field_json(f, opts);
	if (json_is_number(saved) ? json_number_value(saved) != json_number_value(mine)
	                          : !json_equal(saved, mine))
		st = refuse_other(f, saved, mine, where);
	json_decref(mine);
	return st;
}

static invar_status take_saved(inv_fields f, const json_t *saved, const char *const *given,
                               bool held, const char *where, void *opts)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < f.count && st == INVAR_OK; i++) {
		const json_t *value = json_object_get(saved, f.field[i].name);
		bool is_given = inv_is_given(given, f.field[i].name);

		if (value && (held || !is_given))
			st = resume_field(&f.field[i], value, is_given, where, opts);
	}
	return st;
}

invar_status inv_fields_resume(inv_fields f, const json_t *saved, const char *const *given,
                               const char *where, void *opts)
{
	return take_saved(f, saved, given, true, where, opts);
}

invar_status inv_fields_recall(inv_fields f, const json_t *saved, const char *const *given,
                               const char *where, void *opts)
{
	return take_saved(f, saved, given, false, where, opts);
}
