/* SPDX-License-Identifier: Apache-2.0 */
/* study_banks.c - the banks of a study: data x encoders x augmentations, or existing ones.
 */
#include <string.h>

#include "base/words.h"
#include "study/study.h"

enum { MAX_BANKS = 1000 };

/* One axis of the matrix: its items, their names and what each of them sets. */
typedef struct axis {
	inv_items items;
	inv_item_name *name;
	inv_settings *set;
	char **dataset; /* of the axis data alone */
} axis;

/* Reads item i: what it sets, and its name. */
typedef invar_status read_item(inv_study *s, const inv_recipe_key *k, axis *a, size_t i);

static invar_status read_data(inv_study *s, const inv_recipe_key *k, axis *a, size_t i)
{
	const inv_node *item = inv_items_at(&a->items, i);
	const char *text;
	char *title;

	if (item->kind == INV_NODE_MAP)
		INV_TRY(inv_settings_read(s, k, item, false, &a->set[i]));
	INV_TRY(inv_node_text(item->kind == INV_NODE_MAP ? inv_node_find(item, "data") : item,
	                      "data", &text));
	if (!text)
		return inv_node_fail(item, "an item of data needs the key data, "
		                           "such as {data: folder:images}");
	INV_TRY(inv_dataset_beside(s, text, &a->dataset[i]));
	INV_TRY(inv_dataset_title(s, text, &title));
	return inv_item_name_read(s, item, title, a->name, i);
}

/* A plain text is a file of weights, or the one encoder that needs none. */
static invar_status read_encoder(inv_study *s, const inv_recipe_key *k, axis *a, size_t i)
{
	const inv_node *item = inv_items_at(&a->items, i);
	const char *weights, *encoder;
	char *title = item->text;

	if (item->kind == INV_NODE_MAP) {
		INV_TRY(inv_settings_read(s, k, item, false, &a->set[i]));
	} else {
		const char *key = inv_recipe_short_for("encoders", item->text);

		if (strcmp(key, "weights") == 0)
			INV_TRY(inv_study_beside(s, item->text, &title));
		INV_TRY(inv_settings_add(s, &a->set[i], key, title, item));
	}
	weights = inv_settings_find(&a->set[i], "weights");
	encoder = inv_settings_find(&a->set[i], "encoder");
	if (!weights && !encoder)
		return inv_node_fail(item, "an encoder needs weights, a file, or is pixels");
	if (!encoder)
		INV_TRY(inv_file_title(s, weights, &title));
	return inv_item_name_read(s, item, encoder ? encoder : title, a->name, i);
}

static invar_status read_augment(inv_study *s, const inv_recipe_key *k, axis *a, size_t i)
{
	const inv_node *item = inv_items_at(&a->items, i);
	const char *spec;

	INV_TRY(item->kind == INV_NODE_TEXT
	            ? inv_settings_add(s, &a->set[i], "augment", item->text, item)
	            : inv_settings_read(s, k, item, false, &a->set[i]));
	if (!(spec = inv_settings_find(&a->set[i], "augment")))
		return inv_node_fail(item, "an augmentation needs the key augment, "
		                           "such as {augment: rotation}");
	return inv_item_name_read(s, item, spec, a->name, i);
}

static invar_status open_axis(inv_study *s, const char *key, axis *a)
{
	INV_TRY(inv_items_open(s->tree, key, &a->items));
	INV_TRY(inv_pool_zeros(&s->pool, &a->name, a->items.count));
	INV_TRY(inv_pool_zeros(&s->pool, &a->set, a->items.count));
	return inv_pool_zeros(&s->pool, &a->dataset, a->items.count);
}

static invar_status read_axis_items(inv_study *s, const char *key, axis *a, read_item *read)
{
	for (size_t i = 0; i < a->items.count; i++)
		INV_TRY(read(s, inv_recipe_key_find(key), a, i));
	return INVAR_OK;
}

static invar_status check_encode_options(const inv_study_bank *b)
{
	invar_context *ctx = NULL;
	invar_augment *augment = NULL;
	invar_options *o;
	invar_status st;

	INV_TRY(inv_settings_options(&b->encode, "encode", &o));
	INV_TRY_OR(done, invar_context_new(1, NULL, &ctx));
	st = invar_augment_parse(ctx, inv_settings_find(&b->encode, "augment"), &augment);
	if (st != INVAR_OK)
		inv_node_fail(b->node, "%s", invar_last_error());
done:
	invar_augment_close(augment);
	invar_context_free(ctx);
	invar_options_free(o);
	return st;
}

static invar_status add_settings(inv_study *s, const inv_settings *from, inv_settings *to)
{
	for (size_t i = 0; i < from->count; i++)
		INV_TRY(inv_settings_add(s, to, from->list[i].name, from->list[i].text,
		                         from->list[i].node));
	return INVAR_OK;
}

static invar_status read_matrix(inv_study *s)
{
	axis data = {0}, encoders = {0}, augments = {0};
	inv_settings common = {0}; /* of the key encode */
	size_t I, J, K;

	INV_TRY(inv_settings_read(s, inv_recipe_key_find("encode"),
	                          inv_node_find(s->tree, "encode"), false, &common));
	INV_TRY(open_axis(s, "data", &data));
	INV_TRY(open_axis(s, "encoders", &encoders));
	INV_TRY(open_axis(s, "augmentations", &augments));
	I = data.items.count;
	J = encoders.items.count;
	K = augments.items.count;
	if (!I || !J)
		return inv_node_fail(s->tree, "data and encoders are needed, or bank; 'invar run "
		                              "--print-defaults' shows all keys");
	INV_TRY(read_axis_items(s, "data", &data, read_data));
	INV_TRY(read_axis_items(s, "encoders", &encoders, read_encoder));
	INV_TRY(read_axis_items(s, "augmentations", &augments, read_augment));
	if (I > MAX_BANKS || J > MAX_BANKS || K > MAX_BANKS || I * J * K > MAX_BANKS)
		return inv_node_fail(s->tree, "these are more than %d banks", MAX_BANKS);

	INV_TRY(inv_pool_zeros(&s->pool, &s->bank, I * J * K));
	for (; s->banks < I * J * K; s->banks++) {
		size_t i = s->banks / (J * K), j = s->banks / K % J, k = s->banks % K;
		inv_study_bank *b = &s->bank[s->banks];

		b->node = inv_items_at(&augments.items, k);
		b->dataset = data.dataset[i];
		b->augment = augments.name[k].title;
		INV_TRY(inv_pool_print(&s->pool, &b->title, "%s, %s, %s", data.name[i].title,
		                       encoders.name[j].title, augments.name[k].title));
		INV_TRY(inv_pool_print(&s->pool, &b->folder, "%s/%s/%s/%s", s->folder,
		                       data.name[i].folder, encoders.name[j].folder,
		                       augments.name[k].folder));
		INV_TRY(inv_pool_print(&s->pool, &b->path, "%s/bank", b->folder));
		/* The last of encode, data, encoder and augmentation that sets an option counts. */
		INV_TRY(add_settings(s, &common, &b->encode));
		INV_TRY(add_settings(s, &data.set[i], &b->encode));
		INV_TRY(add_settings(s, &encoders.set[j], &b->encode));
		INV_TRY(add_settings(s, &augments.set[k], &b->encode));
		INV_TRY(check_encode_options(b));
	}
	return INVAR_OK;
}

static invar_status read_existing(inv_study *s, const inv_items *items)
{
	inv_item_name *names;

	INV_TRY(inv_pool_zeros(&s->pool, &s->bank, items->count));
	INV_TRY(inv_pool_zeros(&s->pool, &names, items->count));
	for (size_t i = 0; i < items->count; i++) {
		const inv_node *item = inv_items_at(items, i);
		bool map = item->kind == INV_NODE_MAP;
		inv_study_bank *b = &s->bank[s->banks++];
		const char *path;
		char *title;

		INV_TRY(inv_node_text(map ? inv_node_find(item, "bank") : item, "bank", &path));
		for (size_t k = 0; map && k < item->count; k++)
			if (!inv_has_word("name|bank", '|', item->child[k]->key))
				return inv_node_key_fail(
					item->child[k],
					"unknown key '%.60s'; an item of bank has name and bank",
					item->child[k]->key);
		if (!path)
			return inv_node_fail(item, "an item of bank needs the key bank, a folder");
		INV_TRY(inv_file_title(s, path, &title));
		INV_TRY(inv_item_name_read(s, item, title, names, i));
		b->node = item;
		INV_TRY(inv_pool_print(&s->pool, &b->title, "%s", names[i].title));
		INV_TRY(inv_study_beside(s, path, &b->path));
		INV_TRY(inv_pool_print(&s->pool, &b->folder, "%s/%s", s->folder, names[i].folder));
	}
	return INVAR_OK;
}

invar_status inv_study_read_banks(inv_study *s)
{
	static const char *const others[] = {"data", "encode", "encoders", "augmentations"};
	inv_items existing;

	INV_TRY(inv_items_open(s->tree, "bank", &existing));
	if (!existing.count)
		return read_matrix(s);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const inv_node *other = inv_node_find(s->tree, others[i]);

		if (other)
			return inv_node_key_fail(other,
			                         "bank is an existing bank, so %s cannot be given; "
			                         "remove one of them",
			                         others[i]);
	}
	return read_existing(s, &existing);
}
