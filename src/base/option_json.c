/* SPDX-License-Identifier: Apache-2.0 */
/* option_json.c - options as JSON, and back; a saved list compared with a new one. */
#include "base/option_entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"

static json_t *entry_json(const inv_entry *e)
{
	json_t *array;

	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		return json_boolean(e->flag);
	case INVAR_OPTION_COUNT:
		return json_integer((json_int_t)e->count);
	case INVAR_OPTION_NUMBER:
		return json_real(e->number);
	case INVAR_OPTION_TEXT:
		return e->text ? inv_json_path(e->text) : json_null();
	case INVAR_OPTION_LIST:
		array = json_array();
		for (size_t i = 0; i < e->listed; i++)
			if (json_array_append_new(array, inv_json_path(e->list[i])) != 0) {
				json_decref(array);
				return NULL;
			}
		return array;
	}
	return NULL;
}

static json_t *list_json(const invar_options *o, unsigned flags, bool only_used)
{
	json_t *object = json_object();

	for (size_t i = 0; i < o->count; i++) {
		const inv_entry *e = &o->entry[i];

		if ((e->row.flags & flags) != flags || (only_used && !inv_entry_takes_part(o, e)))
			continue;
		if (json_object_set_new(object, e->row.name, entry_json(e)) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *inv_options_json(const invar_options *o, unsigned flags)
{
	return list_json(o, flags, false);
}

json_t *inv_options_used_json(const invar_options *o, unsigned flags)
{
	return list_json(o, flags, true);
}

invar_status invar_options_json(const invar_options *o, char **json)
{
	json_t *object = inv_options_json(o, 0);

	*json = object ? inv_json_text(object, 1) : NULL;
	json_decref(object);
	return *json ? INVAR_OK : inv_no_memory();
}

/* A value from a document meets the same checks as one that is typed. */
static invar_status take_json(inv_entry *e, const json_t *value, const char *where)
{
	bool valid = json_is_string(value);
	const char *text = json_string_value(value);
	char number[INV_BOUND];
	const json_t *item;
	invar_status st;
	size_t i;

	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		valid = json_is_boolean(value);
		text = json_is_true(value) ? "1" : "0";
		break;
	case INVAR_OPTION_COUNT:
		valid = json_is_integer(value) && json_integer_value(value) >= 0;
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
		text = number;
		break;
	case INVAR_OPTION_NUMBER:
		valid = json_is_number(value);
		snprintf(number, sizeof number, "%.17g", json_number_value(value));
		text = number;
		break;
	case INVAR_OPTION_TEXT:
		valid = valid || (json_is_null(value) && !e->row.initial);
		break;
	case INVAR_OPTION_LIST:
		valid = json_is_array(value);
		json_array_foreach (value, i, item)
			valid = valid && json_is_string(item);
	}
	if (!valid)
		return inv_fail(INVAR_E_FORMAT, "%s: the value of \"%s\" is not valid", where,
		                e->row.name);
	if (e->row.type == INVAR_OPTION_LIST) {
		inv_entry_clear_list(e);
		json_array_foreach (value, i, item)
			INV_TRY(inv_entry_append(e, json_string_value(item)));
		return INVAR_OK;
	}
	if (!text)
		return inv_entry_reset(e, NULL);
	st = inv_entry_store(e, text);
	return st == INVAR_E_USE ? inv_context(INVAR_E_FORMAT, "%s", where) : st;
}

static invar_status compare_saved(const inv_entry *e, const json_t *saved,
                                  const char *where)
{
	json_t *mine = entry_json(e);
	char a[INV_SPELLED], b[INV_SPELLED];
	bool same = json_is_number(saved) ? json_number_value(saved) == json_number_value(mine)
	                                  : json_equal(saved, mine);
	invar_status st =
		same ? INVAR_OK
			 : inv_fail(INVAR_E_MISMATCH,
	                    "%s: was started with @%s %s, so it cannot be resumed with %s",
	                    where, e->row.name, inv_json_spell(saved, a),
	                    inv_json_spell(mine, b));

	json_decref(mine);
	return st;
}

/* The value that it has unless it is set; gives, NULL if there is no memory. */
static json_t *default_json(const inv_entry *e, const char *initial)
{
	inv_entry unset = {.row = e->row};
	json_t *value =
		inv_entry_reset(&unset, initial) == INVAR_OK ? entry_json(&unset) : NULL;

	inv_free(unset.text);
	inv_entry_clear_list(&unset);
	return value;
}

bool inv_option_is_default(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);
	json_t *now = entry_json(e), *initial = default_json(e, e->base);
	bool same = json_equal(now, initial);

	json_decref(now);
	json_decref(initial);
	return same;
}

invar_status inv_options_resume(invar_options *o, const json_t *saved, const char *where,
                                bool lenient)
{
	for (size_t i = 0; i < o->count; i++) {
		const json_t *value = json_object_get(saved, o->entry[i].row.name);

		if (value && !o->entry[i].set)
			INV_TRY(take_json(&o->entry[i], value, where));
	}
	for (size_t i = 0; i < o->count && !lenient; i++) {
		const inv_entry *e = &o->entry[i];
		const json_t *value = json_object_get(saved, e->row.name);
		json_t *initial;
		invar_status st;

		if (!e->set || !(e->row.flags & INVAR_OPTION_RESULT))
			continue;
		if (value) {
			INV_TRY(compare_saved(e, value, where));
			continue;
		}
		/* A record leaves out what is its own selector, or an absent text, at its default.
		 * Any other option is missing because the file is older. */
		if (inv_entry_has_chosen_part(o, e) &&
		    ((e->idle.selector && strcmp(e->idle.selector, e->row.name) == 0) ||
		     (e->row.type == INVAR_OPTION_TEXT && !e->base))) {
			initial = default_json(e, inv_entry_default(o, e));
			st = initial ? compare_saved(e, initial, where) : inv_no_memory();
			json_decref(initial);
			INV_TRY(st);
		}
	}
	return INVAR_OK;
}
