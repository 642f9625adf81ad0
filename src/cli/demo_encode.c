/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_encode.c - the first part of the demo: real images become a bank.
 *
 * The encoder that comes with invar is a narrow ResNet that was trained on upright
 * garments only (tools/train_demo_encoder.py). It is found relative to the program, so that
 * an installed tree may be moved.
 */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_files.h"
#include "cli/demo.h"
#include "cli/term.h"

#define COPIES "train=5,test=2"
enum { TEST_SHARE = 5 }; /* one in so many images is measured on */

static const char *const no_images =
	"there is no data set: install it with 'apt install dataset-fashion-mnist', or use "
	"--data mnist:DIR for idx files or --data folder:DIR for images";

/* ---- The weights --------------------------------------------------------------- */

/* From build/src/cli and from PREFIX/bin. */
static const char *const places[] = {"../../share/demo.safetensors",
                                     "../share/invar/demo.safetensors"};

/* NULL if there is none; gives, free() it. */
static char *beside_program(const char *place)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	char *path, *plain = NULL;

	if (length < 0)
		return NULL;
	program[length] = '\0';
	if ((path = inv_path(dirname(program), place)))
		plain = realpath(path, NULL);
	free(path);
	return plain;
}

static invar_status find_weights(inv_demo *d)
{
	if (d->v->weights)
		d->weights = strdup(d->v->weights);
	for (size_t i = 0; i < sizeof places / sizeof *places && !d->weights; i++)
		d->weights = beside_program(places[i]);
	if (!d->weights)
		d->weights = realpath(INV_DATA_FOLDER "/demo.safetensors", NULL);
	if (!d->weights)
		return inv_fault(d->s, INVAR_E_IO,
		                 "share/invar/demo.safetensors was not found beside the program; "
		                 "give an encoder with --weights FILE");
	return INVAR_OK;
}

/* ---- The images ------------------------------------------------------------------ */

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

/* A plain folder is one of idx files, with names as MNIST has them, or of images. */
static invar_status name_dataset(inv_demo *d)
{
	const char *data = d->v->data;

	if (!data)
		d->dataset = strdup("fashion-mnist:");
	else if (inv_path_is_folder(data)) {
		if (asprintf(&d->dataset, "%s:%s", has_idx(data) ? "mnist" : "folder", data) < 0)
			d->dataset = NULL;
	} else
		d->dataset = strdup(data);
	return d->dataset ? INVAR_OK : inv_no_memory(d->s);
}

static invar_status offers_test(inv_demo *d, bool *out)
{
	invar_dataset *all;
	const char *name;
	invar_status st = invar_dataset_open(d->s->ctx, d->dataset, NULL, &all);

	*out = false;
	if (st != INVAR_OK)
		return st;
	for (size_t i = 0; (name = invar_dataset_offered(all, i)); i++)
		if (strcmp(name, "test") == 0)
			*out = true;
	invar_dataset_close(all);
	return INVAR_OK;
}

static invar_status open_split(inv_demo *d, const char *split, uint64_t limit, bool whole,
                               invar_dataset **out)
{
	invar_options *o;
	invar_status st = invar_options_new("data", &o);

	*out = NULL;
	if (st == INVAR_OK)
		st = invar_options_set(o, "split", split);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "limit", (double)limit);
	if (st == INVAR_OK)
		st = invar_options_set_number(o, "holdout", whole ? 0 : 1.0 / TEST_SHARE);
	if (st == INVAR_OK)
		st = invar_dataset_open(d->s->ctx, d->dataset, o, out);
	invar_options_free(o);
	return st;
}

static invar_status open_images(inv_demo *d)
{
	uint64_t tests = (d->v->limit + TEST_SHARE - 1) / TEST_SHARE;
	bool has_test;
	invar_status st = name_dataset(d);

	if (st == INVAR_OK)
		st = offers_test(d, &has_test);
	if (st == INVAR_E_IO && !d->v->data)
		return inv_fault(d->s, st, "%s", no_images);
	if (st == INVAR_OK)
		st = open_split(d, "train", d->v->limit, has_test, &d->train);
	if (st == INVAR_OK)
		st = open_split(d, "test", tests, has_test, &d->test);
	return st;
}

/* ---- The bank ---------------------------------------------------------------------- */

static void announce(const inv_demo *d)
{
	inv_term_say(d->s->term, "Images: %s, %llu for training and %llu for testing.",
	             d->dataset, (unsigned long long)invar_dataset_count(d->train, "train"),
	             (unsigned long long)invar_dataset_count(d->test, "test"));
	inv_term_say(d->s->term, "Encoder: %s\n(%s).", d->weights,
	             invar_encoder_about(d->encoder));
}

/* Leaves the default where there is no text. */
static invar_status set(invar_options *o, const char *name, const char *text)
{
	return text ? invar_options_set(o, name, text) : INVAR_OK;
}

static invar_status set_options(const inv_demo *d, invar_options *o)
{
	const inv_demo_values *v = d->v;
	invar_status st = set(o, "augment", DEMO_AUGMENT);

	if (st == INVAR_OK)
		st = set(o, "copies", COPIES);
	if (st == INVAR_OK)
		st = set(o, "size", v->side ? v->side : v->weights ? NULL : DEMO_SIDE);
	/* Black is 0 without any normalisation, so the corners of a rotated image stay black.
	 */
	if (st == INVAR_OK)
		st = set(o, "normalize", v->normalize ? v->normalize : v->weights ? NULL : "none");
	return st == INVAR_OK ? invar_options_set_number(o, "seed", (double)v->common.seed)
	                      : st;
}

invar_status inv_demo_open(inv_demo *d)
{
	invar_status st = open_images(d);

	if (st == INVAR_OK)
		st = find_weights(d);
	if (st == INVAR_OK)
		st = invar_encoder_open(d->s->ctx, d->weights, NULL, &d->encoder);
	if (st == INVAR_OK)
		announce(d);
	return st;
}

invar_status inv_demo_encode(inv_demo *d)
{
	const invar_dataset *const sets[] = {d->train, d->test};
	invar_options *o;
	invar_status st = invar_options_new("encode", &o);

	if (st == INVAR_OK)
		st = set_options(d, o);
	if (st == INVAR_OK)
		st = invar_stages_add_encode(
			d->stages, "encode",
			"Encoding every image upright and rotated by random angles: copies " COPIES ".",
			d->encoder, sets, 2, o, d->bank_path);
	invar_options_free(o);
	if (st == INVAR_OK)
		st = invar_stages_run(d->stages);
	if (st == INVAR_E_MISMATCH)
		return inv_fault(d->s, st,
		                 "%s; if %s is from another demo, choose another folder with -o",
		                 invar_last_error(), d->folder);
	return st == INVAR_OK ? invar_bank_open(d->s->ctx, d->bank_path, &d->bank) : st;
}
