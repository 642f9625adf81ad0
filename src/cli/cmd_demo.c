/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_demo.c - invar demo: the method from end to end on real images, in minutes.
 *
 * Encodes upright and rotated images, trains adapters, measures them and draws a
 * picture: a list of stages in one folder, made by the calls that the commands make, so
 * that a user can continue from there. Stopped and started again, it resumes; once all
 * stages are done, it shows the results; with another option, it redoes what depends on it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command_files.h"
#include "cli/command_options.h"
#include "cli/demo.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "report/draw_svg.h"

static const inv_example examples[] = {
	{"invar demo", "uses Debian's dataset-fashion-mnist; writes to the folder invar-demo"},
	{"invar demo -o tour --limit 2000", "fewer images: a first look in seconds"},
	{"invar demo --data folder:photos --weights resnet50.pth --size 96",
     "your images and your encoder"},
	{0},
};

static const inv_argument arguments[] = {{0}};

static const invar_option own[] = {
	{.name = "output",
     .type = INVAR_OPTION_TEXT,
     .initial = "invar-demo",
     .meta = "DIR",
     .group = "Result",
     .help = "folder for the bank, the runs, the table and the picture"},
	{.name = "force",
     .type = INVAR_OPTION_FLAG,
     .group = "Result",
     .help = "replace a results.json or neighbours.png of another kind in DIR"},
	{.name = "data",
     .type = INVAR_OPTION_TEXT,
     .meta = "DATASET",
     .group = "Images",
     .help = "other images, as in 'invar encode'; a plain folder contains idx files like "
             "MNIST's, or images"},
	{.name = "limit",
     .type = INVAR_OPTION_COUNT,
     .initial = "15000",
     .min = 50,
     .max = 1e9,
     .meta = "N",
     .group = "Images",
     .help = "number of training images, taken evenly from class folders if there are any; "
             "a fifth as many are used for testing"},
	{.name = "weights",
     .type = INVAR_OPTION_TEXT,
     .meta = "FILE",
     .group = "Encoder",
     .help = "use this encoder instead of the one that comes with invar"},
	{.name = "size",
     .type = INVAR_OPTION_TEXT,
     .meta = "native|N",
     .group = "Encoder",
     .help = "side of the images; default: the encoder's own"},
	{.name = "normalize",
     .type = INVAR_OPTION_TEXT,
     .meta = "NAME",
     .group = "Encoder",
     .help = "as in 'invar encode'; default: the encoder's own"},
	{0},
};

static inv_demo_values read_values(const inv_session *s)
{
	return (inv_demo_values){.common = *s->common,
	                         .output = inv_text(s, "output"),
	                         .data = inv_text(s, "data"),
	                         .weights = inv_text(s, "weights"),
	                         .side = inv_text(s, "size"),
	                         .normalize = inv_text(s, "normalize"),
	                         .limit = (uint64_t)inv_number(s, "limit"),
	                         .force = inv_flag(s, "force")};
}

static invar_status name_paths(inv_demo *d)
{
	d->folder = d->v->output;
	d->bank_path = inv_path(d->folder, "bank");
	d->sheet_path =
		inv_path(d->folder, inv_can_draw() ? "neighbours.png" : "neighbours.svg");
	d->results_path = inv_path(d->folder, "results.json");
	for (size_t i = 0; i < DEMO_ADAPTERS; i++)
		if (!(d->run_path[i] = inv_path(d->folder, inv_demo_column[1 + i])))
			return inv_no_memory(d->s);
	return d->bank_path && d->sheet_path && d->results_path ? INVAR_OK
	                                                        : inv_no_memory(d->s);
}

static invar_status check_outputs(inv_demo *d)
{
	const inv_output outputs[] = {
		{.path = d->results_path, .kind = INV_OUTPUT_RESULTS, .force = d->v->force},
		{.path = d->sheet_path, .kind = INV_OUTPUT_PNG, .force = d->v->force},
	};
	invar_status st;

	inv_reads_dataset(d->s, d->v->data);
	st = inv_check_output_folder(d->s, "-o", d->folder);
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs && st == INVAR_OK; i++)
		if (inv_path_is_folder(d->folder)) /* else it is made later, or that is refused */
			st = inv_check_output(d->s, &outputs[i]);
	return st;
}

static void free_demo(inv_demo *d)
{
	for (size_t i = 0; i < DEMO_ADAPTERS; i++)
		free(d->run_path[i]);
	invar_stages_close(d->stages);
	invar_encoder_close(d->encoder);
	invar_bank_close(d->bank);
	invar_dataset_close(d->train);
	invar_dataset_close(d->test);
	invar_results_free(d->results);
	free(d->dataset);
	free(d->weights);
	free(d->bank_path);
	free(d->sheet_path);
	free(d->results_path);
}

/* How many hidden units adapters need depends on the bank, so it comes before the rest. */
static invar_status run_stages(inv_demo *d)
{
	invar_status st = invar_stages_open(d->s->ctx, d->folder, &d->stages);

	if (st == INVAR_OK)
		st = inv_demo_encode(d);
	if (st == INVAR_OK)
		st = inv_demo_train(d);
	if (st == INVAR_OK)
		st = inv_demo_measure(d);
	if (st == INVAR_OK)
		st = inv_demo_sheet(d);
	return st == INVAR_OK ? invar_stages_run(d->stages) : st;
}

static invar_status work(inv_demo *d)
{
	invar_status st = name_paths(d);

	if (st == INVAR_OK)
		st = check_outputs(d);
	if (st == INVAR_OK)
		st = inv_demo_open(d);
	if (st == INVAR_OK)
		st = inv_folder_make(d->s, d->folder);
	if (st == INVAR_OK)
		st = run_stages(d);
	return st == INVAR_OK ? invar_results_open(d->s->ctx, d->results_path, &d->results)
	                      : st;
}

static invar_status show(inv_demo *d)
{
	invar_status st;

	if (d->v->common.json)
		return inv_print_results(d->results);
	if ((st = inv_demo_table(d)) == INVAR_OK)
		inv_demo_words(d);
	return st;
}

static invar_status run_demo(inv_session *s)
{
	const inv_demo_values values = read_values(s);
	inv_demo d = {.s = s, .v = &values};
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK)
		st = work(&d);
	if (st == INVAR_E_CANCELLED)
		inv_fault(
			s, st,
			"interrupted; finished work is kept in %s, and the same command resumes it",
			d.folder);
	if (st == INVAR_OK)
		st = show(&d);
	free_demo(&d);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_demo = {
	.name = "demo",
	.purpose = "shows the whole method on real images",
	.usage = "[options]",
	.about =
		"Uses Debian's package dataset-fashion-mnist and a small encoder that comes with "
		"invar and was trained on upright garments only, without labels. Encodes garments "
		"upright and rotated by random angles, trains ridge, robust (the default of "
		"'invar train'), the paper's MaWa, plain and residual, and WaCo (512 hidden units, "
		"20 epochs), and shows the results in a table and a picture. "
		"Takes a few minutes on two cores. The folder contains the files that the other "
		"commands write, so that you can continue with those. After an interruption the "
		"same command resumes; once finished, it shows the results again. With other "
		"options, only what depends on them is redone.",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.run = run_demo,
};
