/* SPDX-License-Identifier: Apache-2.0 */
/* study_banks.c - the banks of a study: data x encoders x augmentations, or existing ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"
#include "study/study_items.h"

enum { MAX_BANKS = 1000 };

/* One axis of the matrix: its items, their names and what each of them sets. */
typedef struct axis {
	inv_items items;
	inv_item_name *name;
	inv_settings *set;
	char **dataset; /* of the axis data alone */
} axis;

typedef struct matrix {
	inv_study *study;
	const char *beside;
	inv_settings common; /* of the key encode */
	axis data, encoders, augments;
} matrix;

static void free_axis(axis *a)
{
	for (size_t i = 0; a->set && i < a->items.count; i++)
		inv_settings_clear(&a->set[i]);
	for (size_t i = 0; a->dataset && i < a->items.count; i++)
		free(a->dataset[i]);
	inv_item_names_free(a->name, a->items.count);
	free(a->set);
	free(a->dataset);
}

static invar_status open_axis(const matrix *m, const char *key, axis *a)
{
	INV_TRY(inv_items_open(m->study->tree, key, &a->items));
	if (!a->items.count)
		return INVAR_OK;
	a->name = calloc(a->items.count, sizeof *a->name);
	a->set = calloc(a->items.count, sizeof *a->set);
	a->dataset = calloc(a->items.count, sizeof *a->dataset);
	return a->name && a->set && a->dataset ? INVAR_OK : inv_no_memory();
}

/* The options that an item sets besides its own keys. */
static invar_status read_options(const matrix *m, const char *key, const inv_node *item,
                                 inv_settings *out)
{
	const inv_recipe_key *k = inv_recipe_key_find(key);
	const inv_section section = {k->command, k->items, k->without, m->beside};

	return item->kind == INV_NODE_TEXT ? INVAR_OK
	                                   : inv_section_read(&section, item, false, out);
}

/* ---- The axes ------------------------------------------------------------------------ */

static invar_status read_data(matrix *m, size_t i)
{
	axis *a = &m->data;
	const inv_node *item = inv_items_at(&a->items, i);
	const char *text;

	INV_TRY(read_options(m, "data", item, &a->set[i]));
	INV_TRY(inv_item_text(item, "data", "data", &text));
	if (!text)
		return inv_node_fail(item, "an item of data needs the key data, "
		                           "such as {data: folder:images}");
	if (!(a->dataset[i] = inv_dataset_beside(m->beside, text)))
		return inv_no_memory();
	return inv_item_name_read(item, inv_dataset_title(text), a->name, i);
}

/* A plain text is a file of weights, or the one encoder that needs none. */
static invar_status read_plain_encoder(const matrix *m, const inv_node *item,
                                       inv_settings *out)
{
	const char *key = inv_recipe_short_for("encoders", item->text);
	char *text = strcmp(key, "weights") == 0 ? inv_beside(m->beside, item->text)
	                                         : strdup(item->text);
	invar_status st = text ? inv_settings_add(out, key, text, item) : inv_no_memory();

	free(text);
	return st;
}

static invar_status read_encoder(matrix *m, size_t i)
{
	axis *a = &m->encoders;
	const inv_node *item = inv_items_at(&a->items, i);
	const char *weights, *encoder;

	INV_TRY(item->kind == INV_NODE_TEXT ? read_plain_encoder(m, item, &a->set[i])
	                                    : read_options(m, "encoders", item, &a->set[i]));
	weights = inv_settings_find(&a->set[i], "weights");
	encoder = inv_settings_find(&a->set[i], "encoder");
	if (!weights && !encoder)
		return inv_node_fail(item, "an encoder needs weights, a file, or is "
		                           "pixels");
	return inv_item_name_read(item, encoder ? strdup(encoder) : inv_file_title(weights),
	                          a->name, i);
}

static invar_status read_augment(matrix *m, size_t i)
{
	axis *a = &m->augments;
	const inv_node *item = inv_items_at(&a->items, i);
	const char *spec;

	INV_TRY(item->kind == INV_NODE_TEXT
	            ? inv_settings_add(&a->set[i], "augment", item->text, item)
	            : read_options(m, "augmentations", item, &a->set[i]));
	if (!(spec = inv_settings_find(&a->set[i], "augment")))
		return inv_node_fail(item, "an augmentation needs the key augment, "
		                           "such as {augment: rotation}");
	return inv_item_name_read(item, strdup(spec), a->name, i);
}

/* ---- The product --------------------------------------------------------------------- */

static bool name_bank(const matrix *m, inv_study_bank *b, const inv_item_name *data,
                      const inv_item_name *encoder, const inv_item_name *augment)
{
	b->augment = strdup(augment->title);
	if (asprintf(&b->title, "%s, %s, %s", data->title, encoder->title, augment->title) < 0)
		b->title = NULL;
	if (asprintf(&b->folder, "%s/%s/%s/%s", m->study->folder, data->folder, encoder->folder,
	             augment->folder) < 0)
		b->folder = NULL;
	if (!b->folder || asprintf(&b->path, "%s/bank", b->folder) < 0)
		b->path = NULL;
	return b->augment && b->title && b->path;
}

static invar_status check_options(const inv_study_bank *b)
{
	const char *spec = inv_settings_find(&b->encode, "augment");
	invar_context *ctx = NULL;
	invar_augment *augment = NULL;
	invar_options *o;
	invar_status st = inv_settings_options(&b->encode, "encode", &o);

	if (st == INVAR_OK)
		st = invar_context_new(1, NULL, &ctx);
	if (st == INVAR_OK && (st = invar_augment_parse(ctx, spec, &augment)) != INVAR_OK)
		inv_node_fail(b->node, "%s", invar_last_error());
	invar_augment_close(augment);
	invar_context_free(ctx);
	invar_options_free(o);
	return st;
}

static invar_status fill_bank(const matrix *m, size_t i, size_t j, size_t k)
{
	inv_study_bank *b = &m->study->bank[m->study->banks++];

	b->node = inv_items_at(&m->augments.items, k);
	if (!name_bank(m, b, &m->data.name[i], &m->encoders.name[j], &m->augments.name[k]) ||
	    !(b->dataset = strdup(m->data.dataset[i])))
		return inv_no_memory();
	/* The last of encode, data, encoder and augmentation that sets an option counts. */
	INV_TRY(inv_settings_copy(&m->common, &b->encode));
	INV_TRY(inv_settings_copy(&m->data.set[i], &b->encode));
	INV_TRY(inv_settings_copy(&m->encoders.set[j], &b->encode));
	INV_TRY(inv_settings_copy(&m->augments.set[k], &b->encode));
	return check_options(b);
}

static invar_status multiply(const matrix *m)
{
	size_t I = m->data.items.count, J = m->encoders.items.count,
		   K = m->augments.items.count;

	if (I > MAX_BANKS || J > MAX_BANKS || K > MAX_BANKS || I * J * K > MAX_BANKS)
		return inv_node_fail(m->study->tree, "these are more than %d banks", MAX_BANKS);
	if (!(m->study->bank = calloc(I * J * K, sizeof *m->study->bank)))
		return inv_no_memory();
	for (size_t i = 0; i < I; i++)
		for (size_t j = 0; j < J; j++)
			for (size_t k = 0; k < K; k++)
				INV_TRY(fill_bank(m, i, j, k));
	return INVAR_OK;
}

static invar_status read_axes(matrix *m)
{
	const inv_recipe_key *k = inv_recipe_key_find("encode");
	const inv_section common = {k->command, NULL, k->without, m->beside};

	INV_TRY(inv_section_read(&common, inv_node_find(m->study->tree, "encode"), false,
	                         &m->common));
	INV_TRY(open_axis(m, "data", &m->data));
	INV_TRY(open_axis(m, "encoders", &m->encoders));
	INV_TRY(open_axis(m, "augmentations", &m->augments));
	if (!m->data.items.count || !m->encoders.items.count)
		return inv_node_fail(m->study->tree,
		                     "data and encoders are needed, or bank; 'invar run "
		                     "--print-defaults' shows all keys");
	for (size_t i = 0; i < m->data.items.count; i++)
		INV_TRY(read_data(m, i));
	for (size_t i = 0; i < m->encoders.items.count; i++)
		INV_TRY(read_encoder(m, i));
	for (size_t i = 0; i < m->augments.items.count; i++)
		INV_TRY(read_augment(m, i));
	return INVAR_OK;
}

static invar_status read_matrix(inv_study *s, const char *beside)
{
	matrix m = {.study = s, .beside = beside};
	invar_status st = read_axes(&m);

	if (st == INVAR_OK)
		st = multiply(&m);
	inv_settings_clear(&m.common);
	free_axis(&m.data);
	free_axis(&m.encoders);
	free_axis(&m.augments);
	return st;
}

/* ---- Existing banks ------------------------------------------------------------------ */

static invar_status read_existing(inv_study *s, const inv_node *item, const char *beside,
                                  inv_item_name *names)
{
	inv_study_bank *b = &s->bank[s->banks++];
	const inv_item_name *name = &names[s->banks - 1];
	const char *path;

	INV_TRY(inv_item_text(item, "bank", "bank", &path));
	for (size_t i = 0; item->kind == INV_NODE_MAP && i < item->count; i++)
		if (!inv_has_word("name|bank", '|', item->child[i]->key))
			return inv_node_key_fail(
				item->child[i], "unknown key '%.60s'; an item of bank has name and bank",
				item->child[i]->key);
	if (!path)
		return inv_node_fail(item, "an item of bank needs the key bank, a folder");
	INV_TRY(inv_item_name_read(item, inv_file_title(path), names, s->banks - 1));
	b->node = item;
	b->title = strdup(name->title);
	b->path = inv_beside(beside, path);
	if (asprintf(&b->folder, "%s/%s", s->folder, name->folder) < 0)
		b->folder = NULL;
	return b->title && b->path && b->folder ? INVAR_OK : inv_no_memory();
}

static invar_status read_list(inv_study *s, const inv_items *items, const char *beside)
{
	inv_item_name *names = calloc(items->count, sizeof *names);
	invar_status st = INVAR_OK;

	s->bank = calloc(items->count, sizeof *s->bank);
	if (!s->bank || !names)
		st = inv_no_memory();
	for (size_t i = 0; i < items->count && st == INVAR_OK; i++)
		st = read_existing(s, inv_items_at(items, i), beside, names);
	inv_item_names_free(names, items->count);
	return st;
}

invar_status inv_study_read_banks(inv_study *s, const char *beside)
{
	static const char *const others[] = {"data", "encode", "encoders", "augmentations"};
	inv_items existing;

	INV_TRY(inv_items_open(s->tree, "bank", &existing));
	if (!existing.count)
		return read_matrix(s, beside);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const inv_node *other = inv_node_find(s->tree, others[i]);

		if (other)
			return inv_node_key_fail(other,
			                         "bank is an existing bank, so %s cannot be given; "
			                         "remove one of them",
			                         others[i]);
	}
	return read_list(s, &existing, beside);
}
