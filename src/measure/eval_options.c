/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_options.c - the options of eval, collected from the measurements.
 *
 * Which measurements exist is written only in the list of meson.build: help and messages
 * are made from it.
 */
#include "measure/eval_options.h"

#include <stdio.h>
#include <string.h>

#include "bank/class_view.h"
#include "bank/feature_name.h"
#include "base/options.h"
#include "base/words.h"

enum { NAMES = 400 };

static const invar_option rows[] = {
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .initial = "test",
     .meta = "NAME",
     .group = "Measurements",
     .help = "split to measure"},
	{.name = "points",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 4e9,
     .meta = "N",
     .group = "Measurements",
     .help = "measure N rows spread evenly over the split; 0: all. Classifiers and knn "
             "take all "
             "rows"},
	{.name = "train-split",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "NAME",
     .group = "Measurements",
     .help = "split that probes, galleries and held-out maps are fitted on"},
	{INV_SEED_ROW},
	{0},
};

/* "a, b, c" of all measurements, or of one group. */
static void list_names(const char *group, char out[NAMES])
{
	size_t fill = 0;

	*out = '\0';
	for (size_t i = 0; inv_measurement_at(i) && fill < NAMES; i++) {
		const inv_measurement *m = inv_measurement_at(i);

		if (!group || (m->group && strcmp(m->group, group) == 0))
			fill += (size_t)snprintf(out + fill, NAMES - fill, "%s%s", fill ? ", " : "",
			                         m->name);
	}
}

static void list_on_request(char out[NAMES])
{
	size_t fill = 0;

	*out = '\0';
	for (size_t i = 0; inv_measurement_at(i) && fill < NAMES; i++)
		if (inv_measurement_at(i)->on_request)
			fill += (size_t)snprintf(out + fill, NAMES - fill, "%s%s", fill ? ", " : "",
			                         inv_measurement_at(i)->name);
}

/* Does an earlier measurement have the group of measurement i? */
static bool is_named_before(size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (inv_measurement_at(before)->group &&
		    strcmp(inv_measurement_at(before)->group, inv_measurement_at(i)->group) == 0)
			return true;
	return false;
}

static invar_status declare_metrics(invar_options *o)
{
	char names[NAMES], members[NAMES], help[3 * NAMES];
	const invar_option row = {.name = "metrics",
	                          .type = INVAR_OPTION_TEXT,
	                          .meta = "LIST",
	                          .group = "Measurements",
	                          .help = help};
	size_t fill;

	list_names(NULL, names);
	fill = (size_t)snprintf(help, sizeof help,
	                        "measure only these, separated by commas: %s", names);
	list_on_request(names);
	if (*names)
		fill += (size_t)snprintf(help + fill, sizeof help - fill,
		                         "; %s are measured only if listed here", names);
	for (size_t i = 0; inv_measurement_at(i) && fill < sizeof help; i++)
		if (inv_measurement_at(i)->group && !is_named_before(i)) {
			list_names(inv_measurement_at(i)->group, members);
			fill += (size_t)snprintf(help + fill, sizeof help - fill, "; %s stands for %s",
			                         inv_measurement_at(i)->group, members);
		}
	return inv_options_add(o, &row, sizeof row);
}

invar_status inv_eval_declare(invar_options *o)
{
	invar_status st = declare_metrics(o);

	if (st == INVAR_OK)
		st = inv_options_add_rows(o, rows);
	if (st == INVAR_OK)
		st = inv_bank_declare(o);
	if (st == INVAR_OK)
		st = inv_feature_name_declare(o);
	for (size_t i = 0; inv_measurement_at(i) && st == INVAR_OK; i++)
		st = inv_options_add_part(o, "metrics", inv_measurement_at(i)->name,
		                          inv_measurement_at(i)->options);
	for (size_t i = 0; inv_measurement_at(i) && st == INVAR_OK; i++)
		st = inv_options_share(o, "metrics", inv_measurement_at(i)->name,
		                       inv_measurement_at(i)->shares);
	return st;
}

/* ---- Which measurements ------------------------------------------------------------- */

static bool answers_to(const inv_measurement *m, const char *word)
{
	return strcmp(m->name, word) == 0 || (m->group && strcmp(m->group, word) == 0);
}

bool inv_eval_wants(const invar_options *o, const inv_measurement *m)
{
	const char *list = inv_option_text(o, "metrics");
	char word[INV_WORD];

	if (!list)
		return !m->on_request;
	while (inv_next_word(&list, ',', word))
		if (answers_to(m, word))
			return true;
	return false;
}

bool inv_eval_names(const invar_options *o, const inv_measurement *m)
{
	const char *list = inv_option_text(o, "metrics");

	return list && inv_has_word(list, ',', m->name);
}

/* "lc|nc|…|probe|…": every word that the option metrics accepts. */
static void list_words(char out[2 * NAMES])
{
	size_t fill = 0;

	for (size_t i = 0; inv_measurement_at(i) && fill < 2 * NAMES; i++) {
		const inv_measurement *m = inv_measurement_at(i);

		fill += (size_t)snprintf(out + fill, 2 * NAMES - fill, "%s%s%s%s", fill ? "|" : "",
		                         m->name, m->group ? "|" : "", m->group ? m->group : "");
	}
}

invar_status inv_eval_check_metrics(const invar_options *o)
{
	const char *list = inv_option_text(o, "metrics");
	char word[INV_WORD], names[NAMES], words[2 * NAMES], hint[INV_HINT];

	while (inv_next_word(&list, ',', word)) {
		bool known = false;

		for (size_t i = 0; inv_measurement_at(i); i++)
			known = known || answers_to(inv_measurement_at(i), word);
		if (known)
			continue;
		list_names(NULL, names);
		list_words(words);
		return inv_fail(INVAR_E_USE,
		                "@metrics: there is no measurement '%s'; choose from %s%s", word,
		                names, inv_hint(word, words, hint));
	}
	return INVAR_OK;
}

json_t *inv_eval_options_of(const invar_options *o, const inv_measurement *m)
{
	json_t *all = inv_options_json(o, 0), *own = json_object(), *value;
	const char *name;

	json_object_foreach (all, name, value)
		if (inv_options_uses(o, "metrics", m->name, name))
			json_object_set(own, name, value);
	json_decref(all);
	return own;
}
