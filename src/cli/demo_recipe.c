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

/* Opened before anything else, so that a wrong name fails at once. */
static invar_status set_demo_images(inv_session *s, inv_node *tree)
{
	static const char *const names[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte",
	                                    "train-images-idx3-ubyte.gz",
	                                    "t10k-images-idx3-ubyte.gz"};
	const char *data = inv_text(s, "data");
	const char *kind = data && inv_is_folder(data) ? "folder:" : "";
	const double batch = inv_loss_find("mawa")->batch, many = 8; /* steps per epoch */
	char *dataset;
	invar_dataset *images = NULL;
	double steps;
	invar_status st;

	/* A plain folder is one of idx files, with names as MNIST has them, or of images. */
	for (size_t i = 0; *kind && i < sizeof names / sizeof *names; i++) {
		char *path;

		INV_TRY(inv_new_path(&path, data, names[i]));
		if (access(path, F_OK) == 0)
			kind = "mnist:";
		inv_free(path);
	}
	if (asprintf(&dataset, "%s%s", kind, data ? data : "fashion-mnist:") < 0)
		return inv_no_memory();
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
	/*
	 * A few hundred images are one step per epoch, and 40 steps teach the paper's losses
	 * little: on own images they have as many epochs as make 300 steps, 150 of WaCo, which
	 * takes longer. Garments are many; the recipe stays as it is.
	 */
	steps = fmin((double)inv_dataset_count(images, "train"), inv_number(s, "limit"));
	steps = fmax(1, floor(steps / batch));
	if (data && steps < many) {
		INV_TRY_OR(end, set_number(tree, "adapters.3.epochs", ceil(300 / steps)));
		INV_TRY_OR(end, set_number(tree, "adapters.4.epochs", ceil(150 / steps)));
	}
end:
	invar_dataset_close(images);
	free(dataset);
	return st;
}

invar_status inv_demo_recipe(inv_session *s, inv_study **out)
{
	const char *own = inv_text(s, "weights"), *size = inv_text(s, "size"), *text;
	const char *normalize = inv_text(s, "normalize");
	const char *initial = own ? "" : NULL; /* of the demo's encoder need not suit another */
	char *path, *weights = NULL;
	inv_node *tree, *list = NULL;
	invar_status st;

	*out = NULL;
	INV_TRY(find_shared("demo.yaml", &path));
	st = inv_study_spelled(inv_yaml_load(path, &tree));
	free(path);
	INV_TRY(st);
	INV_TRY_OR(fail, set_demo_images(s, tree));
	if (!own)
		INV_TRY_OR(fail, find_shared("demo.safetensors", &weights));
	st = inv_recipe_set_text(tree, "encoders.weights", own ? own : weights);
	free(weights);
	INV_TRY_OR(fail, st);
	INV_TRY_OR(fail, inv_recipe_set_text(tree, "encode.size", size ? size : initial));
	INV_TRY_OR(fail, inv_recipe_set_text(tree, "encode.normalize",
	                                     normalize ? normalize : initial));

	/* --augment replaces the list of the recipe. */
	for (size_t i = 0; (text = inv_options_text(s->options, "augment", i)); i++) {
		inv_node *item;

		if (!list)
			list = inv_node_new(INV_NODE_LIST, NULL, "--augment");
		item = list ? inv_node_new(INV_NODE_TEXT, list, NULL) : NULL;
		if (!item || !(item->text = strdup(text)) || !inv_node_append(list, item)) {
			inv_node_free(list);
			st = inv_no_memory();
			goto fail;
		}
	}
	if (list)
		INV_TRY_OR(fail, inv_study_spelled(inv_node_set(tree, "augmentations", list,
		                                                inv_recipe_short_for)));
	INV_TRY_OR(fail, set_number(tree, "encode.limit", inv_number(s, "limit")));
	INV_TRY_OR(fail, set_number(tree, "encode.seed", (double)s->seed));
	INV_TRY_OR(fail, set_number(tree, "seeds", (double)s->seed));
	/* Paths of options are relative to the current folder, not to the recipe's. */
	return inv_study_spelled(inv_study_new(tree, "demo.yaml", inv_text(s, "output"), out));
fail:
	inv_node_free(tree);
	return st;
}
