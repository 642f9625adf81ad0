/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_adapters.c - the adapters of a study; a list as a value makes one per value.
 *
 * The lists of an item are multiplied: the last key counts fastest. A count may be given in
 * multiples of the feature width d, which is known only once there is a bank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "study/option_sets.h"
#include "study/study_items.h"

enum { MAX_ADAPTERS = 1000 };

typedef struct making {
	inv_study *study;
	invar_options *options; /* of train, for their rows */
	inv_item_name *names;   /* [study->adapters] */
} making;

/* ---- Counts in d --------------------------------------------------------------------- */

/* "d", "2d", "d/4", "3d/2" */
static bool parse_relative(const char *text, unsigned long *times, unsigned long *over)
{
	char *end;

	*times = *over = 1;
	if (*text >= '1' && *text <= '9') {
		*times = strtoul(text, &end, 10);
		text = end;
	}
	if (*text++ != 'd')
		return false;
	if (!*text)
		return *times <= 1000000;
	if (*text != '/' || text[1] < '1' || text[1] > '9')
		return false;
	*over = strtoul(text + 1, &end, 10);
	return !*end && *times <= 1000000 && *over <= 1000000;
}

static invar_status add_relative(inv_study_adapter *a, const char *name,
                                 unsigned long times, unsigned long over,
                                 const inv_node *node)
{
	inv_relative_count made = {strdup(name), times, over, node};
	inv_relative_count *grown =
		made.name ? realloc(a->relative, (a->relatives + 1) * sizeof *grown) : NULL;

	if (!grown) {
		free(made.name);
		return inv_no_memory();
	}
	a->relative = grown;
	a->relative[a->relatives++] = made;
	return INVAR_OK;
}

static invar_status set_value(const making *m, inv_study_adapter *a, const char *name,
                              const inv_node *value)
{
	const invar_option *row = inv_options_find(m->options, name);
	unsigned long times, over;

	if (value->kind != INV_NODE_TEXT)
		return inv_node_fail(value, "%s takes single values", name);
	return row->type == INVAR_OPTION_COUNT && parse_relative(value->text, &times, &over)
	           ? add_relative(a, name, times, over, value)
	           : inv_settings_add(&a->train, name, value->text, value);
}

/* ---- Names --------------------------------------------------------------------------- */

/* A word of a choice speaks for itself; a number needs its option: "epochs 20". */
static void append_value(const making *m, FILE *f, const char *name, const char *text,
                         const char *gap)
{
	const invar_option *row = inv_options_find(m->options, name);

	if (row->choices || row->choice)
		fprintf(f, "%s%s", gap, text);
	else
		fprintf(f, "%s%s %s", gap, name, text);
}

static const char *plain_text(const inv_node *item, const char *key)
{
	const inv_node *entry = inv_node_find(item, key);

	return entry && entry->kind == INV_NODE_TEXT && !inv_node_is_null(entry) ? entry->text
	                                                                         : NULL;
}

/* The name, or preset and loss; then the values that were picked from lists. Gives. */
static char *make_title(const making *m, const inv_node *item, const size_t *pick)
{
	const char *name = plain_text(item, "name");
	const char *preset = plain_text(item, "preset"), *loss = plain_text(item, "loss");
	char *text = NULL;
	size_t bytes, used = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	if (name)
		used += (size_t)fprintf(f, "%s", name);
	else if (preset || loss)
		used += (size_t)fprintf(f, "%s%s%s", preset ? preset : "",
		                        preset && loss ? " " : "", loss ? loss : "");
	for (size_t i = 0, list = 0; i < item->count; i++)
		if (item->child[i]->kind == INV_NODE_LIST) {
			append_value(m, f, item->child[i]->key,
			             item->child[i]->child[pick[list++]]->text, used ? " " : "");
			used++;
		}
	if (!used)
		fputs("keep", f);
	fclose(f);
	return text;
}

/* ---- One adapter --------------------------------------------------------------------- */

static invar_status check_adapter(const inv_study_adapter *a)
{
	invar_options *o;
	invar_status st;

	/* A width that every count in d can be taken of. */
	INV_TRY(inv_study_train_options(a, 0, 0, &o));
	st = inv_node_context(a->node, inv_options_check(o));
	invar_options_free(o);
	return st;
}

static invar_status grow(making *m)
{
	inv_study *s = m->study;
	inv_study_adapter *more = realloc(s->adapter, (s->adapters + 1) * sizeof *more);
	inv_item_name *names;

	if (!more)
		return inv_no_memory();
	s->adapter = more;
	if (!(names = realloc(m->names, (s->adapters + 1) * sizeof *names)))
		return inv_no_memory();
	m->names = names;
	s->adapter[s->adapters] = (inv_study_adapter){0};
	m->names[s->adapters] = (inv_item_name){0};
	s->adapters++;
	return INVAR_OK;
}

static invar_status fill_values(const making *m, const inv_node *item, const size_t *pick,
                                inv_study_adapter *a)
{
	for (size_t i = 0, list = 0; i < item->count; i++) {
		const inv_node *entry = item->child[i];

		if (strcmp(entry->key, "name") == 0 || inv_node_is_null(entry))
			continue;
		INV_TRY(
			set_value(m, a, entry->key,
		              entry->kind == INV_NODE_LIST ? entry->child[pick[list++]] : entry));
	}
	return INVAR_OK;
}

static invar_status make_adapter(making *m, const inv_node *item, const size_t *pick)
{
	bool plain = item->kind == INV_NODE_TEXT;
	size_t i = m->study->adapters;
	inv_study_adapter *a;

	INV_TRY(grow(m));
	a = &m->study->adapter[i];
	a->node = item;
	INV_TRY(plain ? set_value(m, a, "preset", item) : fill_values(m, item, pick, a));
	if (!(a->title = plain ? strdup(item->text) : make_title(m, item, pick)))
		return inv_no_memory();
	INV_TRY(inv_item_name_set(item, a->title, m->names, i));
	if (!(a->folder = strdup(m->names[i].folder)))
		return inv_no_memory();
	return check_adapter(a);
}

/* ---- Items --------------------------------------------------------------------------- */

/* Are the keys right, and every list one of texts? */
static invar_status check_item(const inv_node *item)
{
	const inv_recipe_key *k = inv_recipe_key_find("adapters");
	const inv_section section = {k->command, k->items, k->without, ""};
	const inv_node *named = inv_node_find(item, "name");
	inv_settings unused = {0};
	invar_status st = inv_section_read(&section, item, true, &unused);

	inv_settings_clear(&unused);
	if (st != INVAR_OK)
		return st;
	if (named && named->kind != INV_NODE_TEXT)
		return inv_node_fail(named, "name takes a single value");
	for (size_t i = 0; i < item->count; i++) {
		const inv_node *entry = item->child[i];

		if (entry->kind != INV_NODE_LIST)
			continue;
		if (!entry->count)
			return inv_node_fail(entry, "the list is empty");
		for (size_t j = 0; j < entry->count; j++)
			if (entry->child[j]->kind != INV_NODE_TEXT)
				return inv_node_fail(entry->child[j], "%s takes single values", entry->key);
	}
	return INVAR_OK;
}

/* The next combination, the last list fastest; false after the last. */
static bool advance(const inv_node *item, size_t *pick, size_t lists)
{
	for (size_t i = item->count, list = lists; i-- > 0;) {
		if (item->child[i]->kind != INV_NODE_LIST)
			continue;
		if (++pick[--list] < item->child[i]->count)
			return true;
		pick[list] = 0;
	}
	return false;
}

static invar_status expand_item(making *m, const inv_node *item)
{
	size_t lists = 0, *pick;
	invar_status st = check_item(item);

	if (st != INVAR_OK)
		return st;
	for (size_t i = 0; i < item->count; i++)
		lists += item->child[i]->kind == INV_NODE_LIST;
	if (!(pick = calloc(lists + 1, sizeof *pick)))
		return inv_no_memory();
	do {
		st = make_adapter(m, item, pick);
		if (st == INVAR_OK && m->study->adapters > MAX_ADAPTERS)
			st = inv_node_fail(item, "these are more than %d adapters", MAX_ADAPTERS);
	} while (st == INVAR_OK && advance(item, pick, lists));
	free(pick);
	return st;
}

invar_status inv_study_read_adapters(inv_study *s)
{
	making m = {.study = s};
	inv_items items;
	invar_status st = inv_items_open(s->tree, "adapters", &items);

	if (st == INVAR_OK)
		st = invar_options_new("train", &m.options);
	for (size_t i = 0; i < items.count && st == INVAR_OK; i++) {
		const inv_node *item = inv_items_at(&items, i);

		st = item->kind == INV_NODE_TEXT ? make_adapter(&m, item, NULL)
		                                 : expand_item(&m, item);
	}
	invar_options_free(m.options);
	inv_item_names_free(m.names, s->adapters);
	return st;
}

/* ---- Options of a training ----------------------------------------------------------- */

static invar_status set_relative(const inv_relative_count *r, uint32_t d, invar_options *o)
{
	unsigned long value = (unsigned long)d * r->times / r->over;
	char text[32];

	if (d && !value)
		return inv_node_fail(r->node, "%s is 0, as the features have %u numbers", r->name,
		                     (unsigned)d);
	snprintf(text, sizeof text, "%lu", d ? value : 1);
	return inv_node_context(r->node, invar_options_set(o, r->name, text));
}

invar_status inv_study_train_options(const inv_study_adapter *a, uint32_t d, uint64_t seed,
                                     invar_options **out)
{
	invar_status st = inv_settings_options(&a->train, "train", out);

	for (size_t i = 0; i < a->relatives && st == INVAR_OK; i++)
		st = set_relative(&a->relative[i], d, *out);
	if (st == INVAR_OK)
		st = invar_options_set_number(*out, "seed", (double)seed);
	if (st != INVAR_OK) {
		invar_options_free(*out);
		*out = NULL;
	}
	return st;
}
