/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_recipe.c - the recipe of the demo, filled in from the options of the command.
 *
 * share/demo.yaml and the encoder beside it are found relative to the program, so that an
 * installed tree may be moved. The encoder is a narrow ResNet that was trained on upright
 * garments only (tools/train_demo_encoder.py).
 */
#include "cli/study_command.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/losses/loss.h"
#include "base/file.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/command_options.h"
#include "cli/term.h"
#include "images/dataset.h"
#include "study/yaml_tree.h"

#define HOLDOUT "0.2" /* of images without splits; the rest is trained on */

static const char *const no_images =
	"there is no data set: install it with 'apt install dataset-fashion-mnist', or use "
	"--data mnist:DIR for idx files or --data folder:DIR for images";

/* ---- Files that come with the program ------------------------------------------------ */

/* Beside the program, in build/src/cli or in PREFIX/bin, or where it was installed. Gives.
 */
static invar_status find_shared(const char *name, char **out)
{
	static const char *const places[] = {"../../share", "../share/invar"};
	char program[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

	*out = NULL;
	program[length > 0 ? length : 0] = '\0';
	for (size_t i = 0; length > 0 && i < sizeof places / sizeof *places && !*out; i++) {
		char folder[PATH_MAX];

		memcpy(folder, program, sizeof folder);
		snprintf(path, sizeof path, "%s/%s/%s", dirname(folder), places[i], name);
		*out = realpath(path, NULL);
	}
	snprintf(path, sizeof path, "%s/%s", INV_DATA_FOLDER, name);
	if (!*out)
		*out = realpath(path, NULL);
	return *out ? INVAR_OK
	            : inv_fail(INVAR_E_IO,
	                       "share/invar/%s was not found beside the program; install "
	                       "invar again",
	                       name);
}

/* ---- Images -------------------------------------------------------------------------- */

/*
 * A plain folder is one of idx files, with names as MNIST has them, or of images. Gives;
 * free().
 */
static invar_status name_dataset(const char *data, char **out)
{
	static const char *const names[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte",
	                                    "train-images-idx3-ubyte.gz",
	                                    "t10k-images-idx3-ubyte.gz"};
	const char *kind = data && inv_is_folder(data) ? "folder:" : "";

	for (size_t i = 0; *kind && i < sizeof names / sizeof *names; i++) {
		char *path;

		INV_TRY(inv_new_path(&path, data, names[i]));
		if (access(path, F_OK) == 0)
			kind = "mnist:";
		inv_free(path);
	}
	return asprintf(out, "%s%s", kind, data ? data : "fashion-mnist:") < 0 ? inv_no_memory()
	                                                                       : INVAR_OK;
}

static invar_status set_number(inv_node *tree, const char *path, double value)
{
	char text[40];

	snprintf(text, sizeof text, "%.0f", value);
	return inv_recipe_set_text(tree, path, text);
}

static bool has_split(const invar_dataset *d, const char *split)
{
	const char *name;

	for (size_t i = 0; (name = inv_dataset_offered(d, i)); i++)
		if (strcmp(name, split) == 0)
			return true;
	return false;
}

/*
 * A few hundred images are one step per epoch, and 40 steps teach the paper's losses
 * little: on own images they have as many epochs as make 300 steps, 150 of WaCo, which
 * takes longer. Garments are many; the recipe stays as it is.
 */
static invar_status set_epochs(inv_session *s, inv_node *tree, const invar_dataset *d)
{
	static const struct {
		const char *path;
		double steps;
	} trained[] = {{"adapters.3.epochs", 300}, {"adapters.4.epochs", 150}};
	const double batch = inv_loss_find("mawa")->batch, many = 8; /* steps per epoch */
	double images = fmin((double)inv_dataset_count(d, "train"), inv_number(s, "limit"));
	double steps = fmax(1, floor(images / batch));

	for (size_t i = 0; steps < many && i < sizeof trained / sizeof *trained; i++)
		INV_TRY(set_number(tree, trained[i].path, ceil(trained[i].steps / steps)));
	return INVAR_OK;
}

/* Opened before anything else, so that a wrong name fails at once. */
static invar_status set_demo_images(inv_session *s, inv_node *tree)
{
	const char *data = inv_text(s, "data");
	char *dataset;
	invar_dataset *images = NULL;
	invar_status st;

	INV_TRY(name_dataset(data, &dataset));
	st = invar_dataset_open(s->ctx, dataset, NULL, &images);
	if (st == INVAR_E_IO && !data)
		st = inv_fail(st, "%s", no_images);
	if (st != INVAR_OK)
		goto end;
	INV_TRY_OR(end, inv_recipe_set_text(tree, "data", dataset));
	/* Measured is what was not trained on: test, val as in Tiny ImageNet, or a fraction. */
	if (!has_split(images, "test") && has_split(images, "val")) {
		INV_TRY_OR(end, inv_recipe_set(tree, "encode.copies=[train=4, val=2]"));
		INV_TRY_OR(end, inv_recipe_set_text(tree, "eval.split", "val"));
	} else if (!has_split(images, "test")) {
		INV_TRY_OR(end, inv_recipe_set_text(tree, "encode.holdout", HOLDOUT));
	}
	if (data)
		st = set_epochs(s, tree, images);
end:
	invar_dataset_close(images);
	free(dataset);
	return st;
}

/* ---- The encoder --------------------------------------------------------------------- */

static invar_status set_encoder(inv_session *s, inv_node *tree)
{
	const char *own = inv_text(s, "weights"), *size = inv_text(s, "size"),
			   *normalize = inv_text(s, "normalize");
	const char *initial = own ? "" : NULL; /* of the demo's encoder need not suit another */
	char *path = NULL;
	invar_status st;

	if (!own)
		INV_TRY(find_shared("demo.safetensors", &path));
	st = inv_recipe_set_text(tree, "encoders.weights", own ? own : path);
	free(path);
	INV_TRY(st);
	INV_TRY(inv_recipe_set_text(tree, "encode.size", size ? size : initial));
	return inv_recipe_set_text(tree, "encode.normalize", normalize ? normalize : initial);
}

/* ---- The rest ------------------------------------------------------------------------ */

/* --augment replaces the list of the recipe. */
static invar_status set_augmentations(inv_session *s, inv_node *tree)
{
	const char *text;
	inv_node *list;

	if (!inv_options_text(s->options, "augment", 0))
		return INVAR_OK;
	if (!(list = inv_node_new(INV_NODE_LIST, NULL, "--augment")))
		return inv_no_memory();
	for (size_t i = 0; (text = inv_options_text(s->options, "augment", i)); i++) {
		inv_node *item = inv_node_new(INV_NODE_TEXT, list, NULL);

		if (!item || !(item->text = strdup(text)) || !inv_node_append(list, item)) {
			inv_node_free(list);
			return inv_no_memory();
		}
	}
	return inv_study_spelled(
		inv_node_set(tree, "augmentations", list, inv_recipe_short_for));
}

invar_status inv_demo_recipe(inv_session *s, inv_study **out)
{
	char *path;
	inv_node *tree;
	invar_status st;

	*out = NULL;
	INV_TRY(find_shared("demo.yaml", &path));
	st = inv_study_spelled(inv_yaml_load(path, &tree));
	free(path);
	INV_TRY(st);
	INV_TRY_OR(fail, set_demo_images(s, tree));
	INV_TRY_OR(fail, set_encoder(s, tree));
	INV_TRY_OR(fail, set_augmentations(s, tree));
	INV_TRY_OR(fail, set_number(tree, "encode.limit", inv_number(s, "limit")));
	INV_TRY_OR(fail, set_number(tree, "encode.seed", (double)s->seed));
	INV_TRY_OR(fail, set_number(tree, "seeds", (double)s->seed));
	/* Paths of options are relative to the current folder, not to the recipe's. */
	return inv_study_spelled(inv_study_new(tree, "demo.yaml", inv_text(s, "output"), out));
fail:
	inv_node_free(tree);
	return st;
}
