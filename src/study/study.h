/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study.h - what a recipe means: banks, adapters, seeds, and what is measured.
 *
 *   node.h, yaml_tree.h   the file as a tree
 *   settings.c            options of commands by their names, from entries of mappings
 *   item_names.c          titles and folder names of items; paths beside the recipe
 *   study_banks.c         data x encoders x augmentations, or existing banks
 *   study_adapters.c      adapters; a list as a value makes one per value
 *   study.c               all of it, from the tree to a study
 *   comparison.c          results of several runs as one document
 *   study_run.c           the stages, one after the other, run or asked what is pending
 *
 * docs/RECIPES.md has the grammar. Keys are checked here; options are those of the
 * library's tables and are checked by them, so that nothing about an option is repeated.
 */
#ifndef INV_STUDY_H
#define INV_STUDY_H

#include "study/node.h"

/* ---- Settings: options to be set, with the place that says so ------------------------ */

typedef struct inv_setting {
	char *name, *text;
	const inv_node *node; /* for messages; borrowed, lives as long as the tree */
} inv_setting;

typedef struct inv_settings {
	inv_setting *list;
	size_t count;
} inv_settings;

void inv_settings_clear(inv_settings *s);
/* A later setting of the same option counts. */
invar_status inv_settings_add(inv_settings *s, const char *name, const char *text,
                              const inv_node *node);
invar_status inv_settings_copy(const inv_settings *from, inv_settings *to); /* appends */
const char *inv_settings_find(const inv_settings *s, const char *name);     /* or NULL */
/* Gives options of a command with these settings; a wrong value is reported at its node. */
invar_status inv_settings_options(const inv_settings *s, const char *command,
                                  invar_options **out);

/* May the option stand in recipes as an option of this command? */
bool inv_recipe_has_option(const char *command, const invar_option *row);

/* Where options may stand: which command they are of, and which keys there are besides. */
typedef struct inv_section {
	const char *command; /* "encode" */
	const char *keys;    /* keys that are not options, "name|data"; or NULL */
	const char *without; /* options that belong elsewhere, "weights|encoder"; or NULL */
	const char *folder;  /* of the recipe; relative paths are below it */
} inv_section;

/*
 * Adds the options of a mapping. A list is joined by commas; with `lists` it is left out,
 * for the caller to expand.
 */
invar_status inv_section_read(const inv_section *s, const inv_node *map, bool lists,
                              inv_settings *out);
/* The text of a value of this option: a path is put below the folder. Gives, or NULL. */
char *inv_section_text(const inv_section *s, const invar_option *row, const char *text);

/* ---- Names --------------------------------------------------------------------------- */

/* ASCII in lower case, letters, digits and "._+-" alone; other characters as they are.
 * Gives; NULL if there is no memory. */
char *inv_folder_name(const char *title);
/* "dir/PATH" unless it is absolute. Gives. */
char *inv_beside(const char *folder, const char *path);
/* The same in "KIND:PATH" or, for npy, "npy:A,B". Gives. */
char *inv_dataset_beside(const char *folder, const char *dataset);
/* Default names of items. Give. */
char *inv_dataset_title(const char *dataset);
char *inv_file_title(const char *path);

/* ---- The study ----------------------------------------------------------------------- */

typedef struct inv_item_name {
	char *title, *folder;
	const inv_node *node;
} inv_item_name;

/* A bank of the matrix; of an existing one, only `bank` counts. */
typedef struct inv_study_bank {
	char *title;   /* "ucmerced, ResNet-18, rotation" */
	char *augment; /* title of its augmentation; NULL of an existing bank */
	char *folder;  /* "STUDY/ucmerced/resnet-18/rotation" */
	char *path;    /* of the bank itself */
	char *dataset; /* NULL: it exists */
	inv_settings encode;
	const inv_node *node;
} inv_study_bank;

/* A count that depends on the feature width d: times * d / over. */
typedef struct inv_relative_count {
	char *name;
	unsigned long times, over;
	const inv_node *node;
} inv_relative_count;

typedef struct inv_study_adapter {
	char *title, *folder;
	inv_settings train;
	inv_relative_count *relative;
	size_t relatives;
	const inv_node *node;
} inv_study_adapter;

typedef struct inv_study {
	char *name, *folder; /* of the study */
	inv_node *tree;
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

/* Parts of it, one file each. */
invar_status inv_study_read_banks(inv_study *s, const char *beside);
invar_status inv_study_read_adapters(inv_study *s);
/* The thread's message with options as recipes spell them, without a prefix; gives st. */
invar_status inv_study_spelled(invar_status st);

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

/* Options of a training: those of the adapter, a width and a seed. Gives. */
invar_status inv_study_train_options(const inv_study_adapter *a, uint32_t d, uint64_t seed,
                                     invar_options **out);

#endif
