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

#include "base/options.h"
#include "study/option_sets.h"
#include "study/study.h"

enum { MAX_ADAPTERS = 1000 };

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

static invar_status set_value(inv_study *s, const invar_options *train,
                              inv_study_adapter *a, const char *name, const inv_node *value)
{
	const invar_option *row = inv_options_find(train, name);
	unsigned long times, over;

	if (value->kind != INV_NODE_TEXT)
		return inv_node_fail(value, "%s takes single values", name);
	if (row->type != INVAR_OPTION_COUNT || !parse_relative(value->text, &times, &over))
		return inv_settings_add(s, &a->train, name, value->text, value);
	INV_TRY(inv_pool_more(&s->pool, &a->relative, a->relatives));
	a->relative[a->relatives++] = (inv_relative_count){name, times, over, value};
	return INVAR_OK;
}

static const char *plain_text(const inv_node *item, const char *key)
{
	const inv_node *entry = inv_node_find(item, key);

	return entry && entry->kind == INV_NODE_TEXT && !inv_node_is_null(entry) ? entry->text
	                                                                         : NULL;
}

/*
 * The name, or preset and loss; then the values that were picked from lists. A word of a
 * choice speaks for itself; a number needs its option: "epochs 20".
 */
static invar_status make_title(inv_study *s, const invar_options *train,
                               const inv_node *item, const size_t *pick, char **out)
{
	const char *name = plain_text(item, "name");
	const char *preset = plain_text(item, "preset"), *loss = plain_text(item, "loss");

	INV_TRY(inv_pool_print(&s->pool, out, "%s%s%s",
	                       name     ? name
	                       : preset ? preset
	                                : "",
	                       !name && preset && loss ? " " : "", !name && loss ? loss : ""));
	for (size_t i = 0, list = 0; i < item->count; i++) {
		const inv_node *entry = item->child[i];
		const invar_option *row;

		if (entry->kind != INV_NODE_LIST)
			continue;
		row = inv_options_find(train, entry->key);
		INV_TRY(inv_pool_print(&s->pool, out, "%s%s%s%s%s", *out, **out ? " " : "",
		                       row->choices || row->choice ? "" : entry->key,
		                       row->choices || row->choice ? "" : " ",
		                       entry->child[pick[list++]]->text));
	}
	return **out ? INVAR_OK : inv_pool_print(&s->pool, out, "keep");
}

static invar_status make_study_adapter(inv_study *s, const invar_options *train,
                                       inv_item_name **names, const inv_node *item,
                                       const size_t *pick)
{
	size_t at = s->adapters, list = 0;
	inv_study_adapter *a;
	invar_options *o;
	char *title = item->text;
	invar_status st;

	INV_TRY(inv_pool_more(&s->pool, &s->adapter, at));
	INV_TRY(inv_pool_more(&s->pool, names, at));
	s->adapters++;
	a = &s->adapter[at];
	a->node = item;
	if (item->kind == INV_NODE_TEXT)
		INV_TRY(set_value(s, train, a, "preset", item));
	for (size_t i = 0; i < item->count; i++) {
		const inv_node *entry = item->child[i];

		if (strcmp(entry->key, "name") != 0 && !inv_node_is_null(entry))
			INV_TRY(set_value(s, train, a, entry->key,
			                  entry->kind == INV_NODE_LIST ? entry->child[pick[list++]]
			                                               : entry));
	}
	if (item->kind == INV_NODE_MAP)
		INV_TRY(make_title(s, train, item, pick, &title));
	INV_TRY(inv_item_name_set(s, item, title, *names, at));
	a->title = title;
	a->folder = (*names)[at].folder;

	INV_TRY(inv_study_train_options(a, 0, 0, &o)); /* every count in d is 1 */
	st = inv_node_context(item, inv_options_check(o));
	invar_options_free(o);
	return st;
}

/* Are the keys right, and every list one of texts? */
static invar_status check_item(inv_study *s, const inv_node *item)
{
	const inv_node *named = inv_node_find(item, "name");
	inv_settings unused = {0};

	INV_TRY(inv_settings_read(s, inv_recipe_key_find("adapters"), item, true, &unused));
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

invar_status inv_study_read_adapters(inv_study *s)
{
	inv_item_name *names = NULL; /* [s->adapters] */
	invar_options *train;        /* for their rows */
	inv_items items;
	invar_status st = INVAR_OK;

	INV_TRY(inv_items_open(s->tree, "adapters", &items));
	INV_TRY(invar_options_new("train", &train));
	for (size_t i = 0; i < items.count; i++) {
		const inv_node *item = inv_items_at(&items, i);
		size_t lists = 0, *pick;

		if (item->kind == INV_NODE_MAP)
			INV_TRY_OR(done, check_item(s, item));
		for (size_t k = 0; k < item->count; k++)
			lists += item->child[k]->kind == INV_NODE_LIST;
		INV_TRY_OR(done, inv_pool_zeros(&s->pool, &pick, lists + 1));
		do {
			INV_TRY_OR(done, make_study_adapter(s, train, &names, item, pick));
			if (s->adapters > MAX_ADAPTERS)
				INV_TRY_OR(done, inv_node_fail(item, "these are more than %d adapters",
				                               MAX_ADAPTERS));
		} while (advance(item, pick, lists));
	}
done:
	invar_options_free(train);
	return st;
}

invar_status inv_study_train_options(const inv_study_adapter *a, uint32_t d, uint64_t seed,
                                     invar_options **out)
{
	char text[32];
	invar_status st;

	INV_TRY(inv_settings_options(&a->train, "train", out));
	for (size_t i = 0; i < a->relatives; i++) {
		const inv_relative_count *r = &a->relative[i];
		unsigned long value = (unsigned long)d * r->times / r->over;

		if (d && !value)
			INV_TRY_OR(fail,
			           inv_node_fail(r->node, "%s is 0, as the features have %u numbers",
			                         r->name, (unsigned)d));
		snprintf(text, sizeof text, "%lu", d ? value : 1);
		INV_TRY_OR(fail, inv_node_context(r->node, invar_options_set(*out, r->name, text)));
	}
	INV_TRY_OR(fail, invar_options_set_number(*out, "seed", (double)seed));
	return INVAR_OK;
fail:
	invar_options_free(*out);
	*out = NULL;
	return st;
}
