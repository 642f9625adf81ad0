/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_recipe.c - the recipe of the demo, filled in from the options of the command.
 *
 * share/demo.yaml and the encoder beside it are found relative to the program, so that an
 * installed tree may be moved. The encoder is a narrow ResNet that was trained on upright
 * garments only (tools/train_demo_encoder.py).
 */
#include "cli/demo_recipe.h"

#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/losses/loss.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/study_command.h"
#include "cli/term.h"
#include "images/dataset.h"
#include "study/yaml_tree.h"

#define HOLDOUT "0.2" /* of images without splits; the rest is trained on */

static const char *const no_images =
	"there is no data set: install it with 'apt install dataset-fashion-mnist', or use "
	"--data mnist:DIR for idx files or --data folder:DIR for images";

/* ---- Files that come with the program ------------------------------------------------ */

/* From build/src/cli and from PREFIX/bin. */
static const char *const places[] = {"../../share", "../share/invar"};

/* "PLACE/name" below the folder of the program; NULL if there is none. Gives. */
static char *beside_program(const char *place, const char *name)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	char *folder, *path = NULL, *plain = NULL;

	if (length < 0)
		return NULL;
	program[length] = '\0';
	if ((folder = inv_path(dirname(program), place)) && (path = inv_path(folder, name)))
		plain = realpath(path, NULL);
	free(folder);
	free(path);
	return plain;
}

static invar_status find_shared(const char *name, char **out)
{
	char *installed;

	*out = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places && !*out; i++)
		*out = beside_program(places[i], name);
	if (!*out && (installed = inv_path(INV_DATA_FOLDER, name))) {
		*out = realpath(installed, NULL);
		free(installed);
	}
	return *out ? INVAR_OK
	            : inv_fail(INVAR_E_IO,
	                       "share/invar/%s was not found beside the program; install "
	                       "invar again",
	                       name);
}

/* ---- Images -------------------------------------------------------------------------- */

static bool has_idx(const char *folder)
{
	static const char *const names[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte",
	                                    "train-images-idx3-ubyte.gz",
	                                    "t10k-images-idx3-ubyte.gz"};
	bool there = false;

	for (size_t i = 0; i < sizeof names / sizeof *names && !there; i++) {
		char *path = inv_path(folder, names[i]);

		there = path && access(path, F_OK) == 0;
		free(path);
	}
	return there;
}

/* A plain folder is one of idx files, with names as MNIST has them, or of images. Gives. */
static char *name_dataset(const char *data)
{
	char *text;

	if (!data)
		return strdup("fashion-mnist:");
	if (!inv_path_is_folder(data))
		return strdup(data);
	return asprintf(&text, "%s:%s", has_idx(data) ? "mnist" : "folder", data) < 0 ? NULL
	                                                                              : text;
}

static bool offers(const invar_dataset *d, const char *split)
{
	const char *name;

	for (size_t i = 0; (name = inv_dataset_offered(d, i)); i++)
		if (strcmp(name, split) == 0)
			return true;
	return false;
}

/* Measured is what was not trained on: "test", "val" as in Tiny ImageNet, or a share. */
static invar_status set_split(inv_node *tree, const invar_dataset *d)
{
	invar_status st;

	if (offers(d, "test"))
		return INVAR_OK;
	if (!offers(d, "val"))
		return inv_recipe_set_text(tree, "encode.holdout", HOLDOUT);
	st = inv_recipe_set(tree, "encode.copies=[train=4, val=2]");
	return st == INVAR_OK ? inv_recipe_set_text(tree, "eval.split", "val") : st;
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
	char epochs[40];
	invar_status st = INVAR_OK;

	for (size_t i = 0; steps < many && i < sizeof trained / sizeof *trained; i++) {
		snprintf(epochs, sizeof epochs, "%.0f", ceil(trained[i].steps / steps));
		if (st == INVAR_OK)
			st = inv_recipe_set_text(tree, trained[i].path, epochs);
	}
	return st;
}

/* Opened before anything else, so that a wrong name fails at once. */
static invar_status set_images(inv_session *s, inv_node *tree)
{
	char *dataset = name_dataset(inv_text(s, "data"));
	invar_dataset *images = NULL;
	invar_status st =
		dataset ? invar_dataset_open(s->ctx, dataset, NULL, &images) : inv_no_memory();

	if (st == INVAR_E_IO && !inv_text(s, "data"))
		st = inv_fail(st, "%s", no_images);
	if (st == INVAR_OK)
		st = inv_recipe_set_text(tree, "data", dataset);
	if (st == INVAR_OK)
		st = set_split(tree, images);
	if (st == INVAR_OK && inv_text(s, "data"))
		st = set_epochs(s, tree, images);
	invar_dataset_close(images);
	free(dataset);
	return st;
}

/* ---- The encoder --------------------------------------------------------------------- */

static invar_status set_encoder(inv_session *s, inv_node *tree)
{
	const char *own = inv_text(s, "weights"), *size = inv_text(s, "size"),
			   *normalize = inv_text(s, "normalize");
	char *path = NULL;
	invar_status st = own ? INVAR_OK : find_shared("demo.safetensors", &path);

	if (st == INVAR_OK)
		st = inv_recipe_set_text(tree, "encoders.weights", own ? own : path);
	/* What suits the demo's encoder need not suit another one. */
	if (st == INVAR_OK)
		st = inv_recipe_set_text(tree, "encode.size", size ? size : own ? "" : NULL);
	if (st == INVAR_OK)
		st = inv_recipe_set_text(tree, "encode.normalize",
		                         normalize ? normalize
		                         : own     ? ""
		                                   : NULL);
	free(path);
	return st;
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

static invar_status set_number(inv_node *tree, const char *path, double value)
{
	char text[40];

	snprintf(text, sizeof text, "%.0f", value);
	return inv_recipe_set_text(tree, path, text);
}

static invar_status fill_in(inv_session *s, inv_node *tree)
{
	invar_status st = set_images(s, tree);

	if (st == INVAR_OK)
		st = set_encoder(s, tree);
	if (st == INVAR_OK)
		st = set_augmentations(s, tree);
	if (st == INVAR_OK)
		st = set_number(tree, "encode.limit", inv_number(s, "limit"));
	if (st == INVAR_OK)
		st = set_number(tree, "encode.seed", (double)s->common->seed);
	return st == INVAR_OK ? set_number(tree, "seeds", (double)s->common->seed) : st;
}

invar_status inv_demo_recipe(inv_session *s, inv_study **out)
{
	char *path = NULL;
	inv_node *tree = NULL;
	invar_status st = find_shared("demo.yaml", &path);

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_study_spelled(inv_yaml_load(path, &tree));
	free(path);
	if (st == INVAR_OK && (st = fill_in(s, tree)) != INVAR_OK)
		inv_node_free(tree);
	if (st != INVAR_OK)
		return st;
	/* Paths of options are relative to the current folder, not to the recipe's. */
	return inv_study_spelled(inv_study_new(tree, "demo.yaml", inv_text(s, "output"), out));
}
