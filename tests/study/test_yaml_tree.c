/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml_tree.c - claims about recipes as trees: places, refusals, changes by path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/study.h"
#include "study/yaml_tree.h"
#include "support.h"

static inv_node *read_text(const char *text)
{
	inv_node *tree;

	if (inv_yaml_read(text, strlen(text), "r.yaml", true, &tree) == INVAR_OK)
		assert_non_null(tree);
	else
		assert_null(tree);
	return tree;
}

static void refuses(const char *text, const char *sentence)
{
	inv_node *tree = read_text(text);

	if (tree)
		fail_msg("accepted: %s", text);
	assert_string_equal(invar_last_error(), sentence);
}

static void nodes_know_their_places(void **state)
{
	inv_node *tree = read_text("a: 1\nlist:\n  - x\n  - {k: 'v'}\nempty:\nquoted: \"\"\n");
	const inv_node *list = inv_node_find(tree, "list"), *k;

	(void)state;
	assert_int_equal(list->kind, INV_NODE_LIST);
	assert_int_equal(list->count, 2);
	assert_int_equal(list->key_line, 2);
	k = inv_node_find(list->child[1], "k");
	assert_string_equal(k->text, "v");
	assert_int_equal(k->line, 4);
	assert_int_equal(k->column, 9);
	assert_int_equal(k->key_column, 6);
	assert_true(inv_node_is_null(inv_node_find(tree, "empty")));
	assert_true(inv_node_is_null(inv_node_find(tree, "absent")));
	assert_false(inv_node_is_null(inv_node_find(tree, "quoted")));
	inv_node_free(tree);
}

static void unusual_yaml_is_refused_at_its_place(void **state)
{
	(void)state;
	refuses("a: &x 1\n",
	        "r.yaml:1:4: anchors (&) are not supported; write the value again");
	refuses("a: 1\nb: *x\n", "r.yaml:2:4: aliases (*) are not supported; put a value that "
	                         "begins with * in quotes");
	refuses("a: !!int 1\n", "r.yaml:1:4: tags (!) are not supported; remove it");
	refuses("a: 1\nb: 2\na: 3\n", "r.yaml:3:1: the key 'a' appears twice");
	refuses("x: {a: 1, a: 2}\n", "r.yaml:1:11: the key 'a' appears twice");
	refuses("a: 1\n---\nb: 2\n",
	        "r.yaml:2:1: only one document is allowed; remove what follows");
	refuses("? [a]\n: b\n", "r.yaml:1:3: a key must be a text");
	refuses("a: \"x\\0y\"\n", "r.yaml:1:4: a text must not contain a zero byte");
	refuses("a: [1, 2\n",
	        "r.yaml:2:1: is not valid YAML: did not find expected ',' or ']', "
	        "while parsing a flow sequence");
}

static void nesting_ends_at_16(void **state)
{
	char deep[100] = "";
	inv_node *tree;

	(void)state;
	for (int i = 0; i < 16; i++)
		strcat(deep, "[");
	for (int i = 0; i < 16; i++)
		strcat(deep, "]");
	assert_non_null(tree = read_text(deep));
	inv_node_free(tree);
	for (int i = 0; i < 17; i++)
		deep[i] = '[';
	deep[17] = '\0';
	refuses(deep, "r.yaml:1:17: nested deeper than 16 levels");
}

static void large_files_are_refused(void **state)
{
	char *large = malloc(INV_RECIPE_MAX + 2), *many;
	inv_node *tree;

	(void)state;
	memset(large, '#', INV_RECIPE_MAX + 1);
	large[INV_RECIPE_MAX + 1] = '\0';
	refuses(large, "r.yaml: is larger than 1 MB, too large for a recipe");
	large[INV_RECIPE_MAX] = '\0';
	assert_non_null(tree = read_text(large)); /* one comment of exactly 1 MB */
	inv_node_free(tree);
	free(large);
	many = calloc(1, 2 * INV_NODE_MAX + 100);
	strcpy(many, "[");
	for (int i = 0; i < INV_NODE_MAX; i++)
		memcpy(many + 1 + 2 * i, "x,", 2);
	strcat(many, "]");
	assert_null(read_text(many));
	assert_non_null(strstr(many, "]"));
	assert_non_null(strstr(invar_last_error(), "too many values"));
	free(many);
}

/* ---- Changes by path
 * ---------------------------------------------------------------------- */

static invar_status set(inv_node *tree, const char *path, const char *text)
{
	inv_node *value;

	assert_int_equal(inv_yaml_read(text, strlen(text), "--set", false, &value), INVAR_OK);
	return inv_node_set(tree, path, value, inv_recipe_short_for);
}

static void paths_reach_keys_positions_and_short_items(void **state)
{
	inv_node *tree = read_text("adapters: [keep, {loss: waco}]\nseeds: 0\n");
	const inv_node *list = inv_node_find(tree, "adapters");

	(void)state;
	assert_int_equal(set(tree, "encode.size", "64"), INVAR_OK);
	assert_string_equal(inv_node_find(inv_node_find(tree, "encode"), "size")->text, "64");
	assert_int_equal(set(tree, "adapters.0.epochs", "5"), INVAR_OK);
	assert_string_equal(inv_node_find(list->child[0], "preset")->text, "keep");
	assert_string_equal(inv_node_find(list->child[0], "epochs")->text, "5");
	assert_int_equal(set(tree, "adapters.1.loss", "mawa"), INVAR_OK);
	assert_string_equal(inv_node_find(list->child[1], "loss")->text, "mawa");
	/* A single item is a list of one. */
	assert_int_equal(set(tree, "data.0.data", "folder:x"), INVAR_OK);
	assert_int_equal(set(tree, "data.0.limit", "3"), INVAR_OK);
	assert_string_equal(inv_node_find(inv_node_find(tree, "data"), "limit")->text, "3");
	assert_int_equal(set(tree, "seeds", "[1, 2]"), INVAR_OK);
	assert_int_equal(inv_node_find(tree, "seeds")->count, 2);
	inv_node_free(tree);
}

static void wrong_paths_are_reported(void **state)
{
	inv_node *tree = read_text("adapters: [keep]\nseeds: 0\n");

	(void)state;
	assert_int_equal(set(tree, "adapters.1.epochs", "5"), INVAR_E_USE);
	assert_string_equal(invar_last_error(),
	                    "--set adapters.1.epochs: '1' is not a position of this "
	                    "list, which has 1, counted from 0");
	assert_int_equal(set(tree, "seeds.a", "5"), INVAR_E_USE);
	assert_string_equal(invar_last_error(),
	                    "r.yaml:2:8: --set seeds.a goes through a single value "
	                    "here; name a position or a key that exists");
	assert_int_equal(set(tree, "a..b", "5"), INVAR_E_USE);
	assert_string_equal(invar_last_error(), "--set a..b: a key is empty");
	inv_node_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_know_their_places),
		cmocka_unit_test(unusual_yaml_is_refused_at_its_place),
		cmocka_unit_test(nesting_ends_at_16),
		cmocka_unit_test(large_files_are_refused),
		cmocka_unit_test(paths_reach_keys_positions_and_short_items),
		cmocka_unit_test(wrong_paths_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
