/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study.h - what a recipe means: banks, adapters, seeds, and what is measured.
 *
 *   node.h, yaml_tree.h   the file as a tree
 *   settings.c            options of commands by their names, from entries of mappings
 *   study_items.c         items of lists, their titles and folders; paths beside the recipe
 *   study_banks.c         data x encoders x augmentations, or existing banks
 *   study_adapters.c      adapters; a list as a value makes one per value
 *   study.c               all of it, from the tree to a study
 *   comparison.c          results of several runs as one document
 *   study_run.c           the stages, one after the other, run or asked what is pending
 *
 * docs/RECIPES.md has the grammar. Keys are checked here; options are those of the
 * library's tables and are checked by them, so that nothing about an option is repeated.
 * Texts of a study are in its tree or its pool, and live as long as it does.
 */
#ifndef INV_STUDY_H
#define INV_STUDY_H

#include "base/pool.h"
#include "study/node.h"

/* ---- Settings: options to be set, with the place that says so ------------------------ */

typedef struct inv_setting {
	const char *name, *text;
	const inv_node *node; /* for messages */
} inv_setting;

typedef struct inv_settings {
	inv_setting *list;
	size_t count;
} inv_settings;

const char *inv_settings_find(const inv_settings *s, const char *name); /* or NULL */
/* Gives options of a command with these settings; a wrong value is reported at its node. */
invar_status inv_settings_options(const inv_settings *s, const char *command,
                                  invar_options **out);

/*
 * Do the options of a command fit together? Finds before any work what the command itself
 * would refuse: an option of a loss that is not chosen, a measurement that does not exist.
 */
invar_status inv_options_check(const invar_options *o);

/* May the option stand in recipes as an option of this command? */
bool inv_recipe_has_option(const char *command, const invar_option *row);

/* The top keys, for messages, defaults and the schema. */
typedef struct inv_recipe_key {
	const char *name, *about, *initial; /* a phrase; the default as text, or NULL */
	const char *command;                /* whose options it takes; or NULL */
	const char *items;                  /* of lists: keys of an item; or NULL */
	const char *without;                /* options that it does not take; or NULL */
	const char *shorthand;              /* the key that a plain text stands for; or NULL */
} inv_recipe_key;

const inv_recipe_key *inv_recipe_key_at(size_t i); /* NULL past the last */
const inv_recipe_key *inv_recipe_key_find(const char *name);
inv_short_for inv_recipe_short_for;

/* ---- The study ----------------------------------------------------------------------- */

/* A bank of the matrix; an existing one has no augment, dataset and encode. */
typedef struct inv_study_bank {
	char *title;         /* "ucmerced, ResNet-18, rotation" */
	const char *augment; /* title of its augmentation */
	char *folder;        /* "STUDY/ucmerced/resnet-18/rotation" */
	char *path;          /* of the bank itself */
	const char *dataset;
	inv_settings encode;
	const inv_node *node;
} inv_study_bank;

/* A count that depends on the feature width d: times * d / over. */
typedef struct inv_relative_count {
	const char *name;
	unsigned long times, over;
	const inv_node *node;
} inv_relative_count;

typedef struct inv_study_adapter {
	const char *title, *folder;
	inv_settings train;
	inv_relative_count *relative;
	size_t relatives;
	const inv_node *node;
} inv_study_adapter;

typedef struct inv_study {
	inv_pool pool;
	inv_node *tree;
	const char *beside; /* the folder of the recipe, that of relative paths; "" */
	const char *name;
	char *folder;
	inv_study_bank *bank;
	size_t banks;
	inv_study_adapter *adapter;
	size_t adapters;
	uint64_t *seed;
	size_t seeds;
	inv_settings diagnose, eval;
	bool diagnoses, reports;
	bool diagnoses_if_possible; /* the recipe does not ask for it */
} inv_study;

/*
 * Takes the tree, also if it fails. `path` is that of the recipe: relative paths are beside
 * it. `output` overrides the folder; NULL: the recipe says, or its name does.
 */
invar_status inv_study_new(inv_node *tree, const char *path, const char *output,
                           inv_study **out);
void inv_study_free(inv_study *s); /* accepts NULL */

/* Options of a training: those of the adapter, a width and a seed. Gives. */
invar_status inv_study_train_options(const inv_study_adapter *a, uint32_t d, uint64_t seed,
                                     invar_options **out);

/* The thread's message with options as recipes spell them, without a prefix; gives st. */
invar_status inv_study_spelled(invar_status st);

/* ---- What the files of this folder share --------------------------------------------- */

invar_status inv_study_read_banks(inv_study *s);
invar_status inv_study_read_adapters(inv_study *s);

/* A later setting of the same option counts. */
invar_status inv_settings_add(inv_study *s, inv_settings *to, const char *name,
                              const char *text, const inv_node *node);
/*
 * Adds the options of a mapping that stands below a top key, without the key's own `items`.
 * A list is joined by commas; with `lists` it is left out, for the caller to expand.
 */
invar_status inv_settings_read(inv_study *s, const inv_recipe_key *key, const inv_node *map,
                               bool lists, inv_settings *out);

/* What a key of the recipe lists: one item or several. */
typedef struct inv_items {
	const inv_node *section; /* NULL: the recipe does not have the key */
	size_t count;
} inv_items;

/* Checks that every item is a text or a mapping. */
invar_status inv_items_open(const inv_node *tree, const char *key, inv_items *out);
const inv_node *inv_items_at(const inv_items *all, size_t i);

/* The text of a node, which may be NULL or null: *out is NULL. `key` is for the message. */
invar_status inv_node_text(const inv_node *n, const char *key, const char **out);

typedef struct inv_item_name {
	const char *title;
	char *folder; /* ASCII in lower case, letters, digits and "._+-"; others as they are */
} inv_item_name;

/* From the `name` of an item, else `initial`; the names before it, [count], must differ. */
invar_status inv_item_name_read(inv_study *s, const inv_node *item, const char *initial,
                                inv_item_name *names, size_t count);
/* The same without its `name`: a title that was put together. */
invar_status inv_item_name_set(inv_study *s, const inv_node *item, const char *title,
                               inv_item_name *names, size_t count);

/* "dir/PATH" unless it is absolute; the same in "KIND:PATH" or, for npy, "npy:A,B". */
invar_status inv_study_beside(inv_study *s, const char *path, char **out);
invar_status inv_dataset_beside(inv_study *s, const char *dataset, char **out);
/* Default names of items, after their files. */
invar_status inv_dataset_title(inv_study *s, const char *dataset, char **out);
invar_status inv_file_title(inv_study *s, const char *path, char **out);

#endif
