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
#include "measure/measurement_list.h"

enum { NAMES = 400 };

static const invar_option rows[] = {
	{"split", INVAR_OPTION_TEXT, "test", .meta = "NAME", .group = "Measurements",
     .help = "split to measure"},
	{"points", INVAR_OPTION_COUNT, "0", .max = 4e9, .meta = "N", .group = "Measurements",
     .help = "measure N rows spread evenly over the split; 0: all. Classifiers and knn "
             "take all rows"},
	{"train-split", INVAR_OPTION_TEXT, "train", .flags = INVAR_OPTION_EXPERT,
     .meta = "NAME", .group = "Measurements",
     .help = "split that probes, galleries and held-out maps are fitted on"},
	{INV_SEED_ROW},
	{0},
};

const inv_measurement *inv_measurement_at(size_t i)
{
	return i < sizeof parts / sizeof *parts ? parts[i] : NULL;
}

const char *inv_measurement_about(size_t i, const char **title, const char **about)
{
	const inv_measurement *m = inv_measurement_at(i);

	if (title)
		*title = m ? m->title : NULL;
	if (about)
		*about = m ? m->about : NULL;
	return m ? m->name : NULL;
}

static bool is_in_group(const inv_measurement *m, const char *group)
{
	return m->group && strcmp(m->group, group) == 0;
}

/* "a, b, c" of all measurements, of one group, or of those measured on request. */
static void list_measurements(const char *group, bool on_request, char out[NAMES])
{
	const inv_measurement *m;
	size_t fill = 0;

	*out = '\0';
	for (size_t i = 0; (m = inv_measurement_at(i)) && fill < NAMES; i++)
		if ((!group || is_in_group(m, group)) && (!on_request || m->on_request))
			fill += (size_t)snprintf(out + fill, NAMES - fill, "%s%s", fill ? ", " : "",
			                         m->name);
}

static invar_status declare_metrics(invar_options *o)
{
	char names[NAMES], members[NAMES], help[3 * NAMES];
	const invar_option row = {"metrics", INVAR_OPTION_TEXT, .meta = "LIST",
	                          .group = "Measurements", .help = help};
	const inv_measurement *m;
	size_t fill;

	list_measurements(NULL, false, names);
	fill = (size_t)snprintf(help, sizeof help,
	                        "measure only these, separated by commas: %s", names);
	list_measurements(NULL, true, names);
	if (*names)
		fill += (size_t)snprintf(help + fill, sizeof help - fill,
		                         "; %s are measured only if listed here", names);
	for (size_t i = 0; (m = inv_measurement_at(i)) && fill < sizeof help; i++) {
		bool is_first = m->group;

		for (size_t before = 0; before < i && is_first; before++)
			is_first = !is_in_group(inv_measurement_at(before), m->group);
		if (!is_first)
			continue;
		list_measurements(m->group, false, members);
		fill += (size_t)snprintf(help + fill, sizeof help - fill, "; %s stands for %s",
		                         m->group, members);
	}
	return inv_options_add(o, &row, sizeof row);
}

invar_status inv_eval_declare(invar_options *o)
{
	const inv_measurement *m;

	INV_TRY(declare_metrics(o));
	INV_TRY(inv_options_add_rows(o, rows));
	INV_TRY(inv_bank_declare(o));
	INV_TRY(inv_feature_name_declare(o));
	for (size_t i = 0; (m = inv_measurement_at(i)); i++)
		INV_TRY(inv_options_add_part(o, "metrics", m->name, m->options));
	for (size_t i = 0; (m = inv_measurement_at(i)); i++)
		INV_TRY(inv_options_share(o, "metrics", m->name, m->shares));
	return INVAR_OK;
}

static bool answers_to(const inv_measurement *m, const char *word)
{
	return strcmp(m->name, word) == 0 || is_in_group(m, word);
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

invar_status inv_eval_check_metrics(const invar_options *o)
{
	const char *list = inv_option_text(o, "metrics");
	char word[INV_WORD], names[NAMES], words[2 * NAMES], hint[INV_HINT];
	const inv_measurement *m;

	while (inv_next_word(&list, ',', word)) {
		bool known = false;
		size_t fill = 0;

		for (size_t i = 0; (m = inv_measurement_at(i)); i++)
			known = known || answers_to(m, word);
		if (known)
			continue;
		list_measurements(NULL, false, names);
		for (size_t i = 0; (m = inv_measurement_at(i)) && fill < sizeof words; i++)
			fill += (size_t)snprintf(words + fill, sizeof words - fill, "%s%s%s%s",
			                         fill ? "|" : "", m->name, m->group ? "|" : "",
			                         m->group ? m->group : "");
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
