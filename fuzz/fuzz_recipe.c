/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_recipe.c - any bytes as a recipe.
 *
 * What is refused has a message; what is accepted is a study whose parts are complete:
 * every bank and adapter has a title and a folder of its own, and its options can be made.
 */
#include <string.h>

#include "fuzz.h"
#include "study/study.h"
#include "study/yaml_tree.h"

/* Letters beyond ASCII stay as they are. */
static void check_folder(const char *folder)
{
	require(folder && *folder && *folder != '.');
	for (const char *c = folder; *c; c++)
		require((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
		        (unsigned char)*c >= 0x80 || strchr("._+-", *c));
}

static void check_study(const inv_study *s)
{
	invar_options *o;

	require(s->banks && s->adapters && s->seeds);
	for (size_t i = 0; i < s->banks; i++)
		require(s->bank[i].title && s->bank[i].folder && s->bank[i].path);
	for (size_t i = 0; i < s->adapters; i++) {
		require(s->adapter[i].title);
		check_folder(s->adapter[i].folder);
		for (size_t k = 0; k < i && i < 20; k++)
			require(strcmp(s->adapter[i].folder, s->adapter[k].folder) != 0);
	}
	if (inv_study_train_options(&s->adapter[0], 64, s->seed[0], &o) == INVAR_OK)
		invar_options_free(o);
	else
		require(*invar_last_error());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_node *tree;
	inv_study *study;

	if (inv_yaml_read((const char *)data, size, "recipe.yaml", true, &tree) != INVAR_OK) {
		require(!tree && *invar_last_error());
		return 0;
	}
	if (tree->kind != INV_NODE_MAP) {
		inv_node_free(tree);
		return 0;
	}
	if (inv_study_new(tree, "folder/recipe.yaml", NULL, &study) == INVAR_OK)
		check_study(study);
	else
		require(!study && *invar_last_error());
	inv_study_free(study);
	return 0;
}
