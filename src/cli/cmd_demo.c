/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_demo.c - invar demo: the method from end to end on real images, in minutes.
 *
 * The demo is a recipe, share/demo.yaml, which the options change: it runs as 'invar run'
 * does, so that it resumes after an interruption, shows the results once it is done, and
 * redoes only what depends on a changed option.
 */
#include "cli/command_options.h"
#include "cli/study_command.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar demo", "uses Debian's dataset-fashion-mnist; writes to the folder invar-demo"},
	{"invar demo -o tour --limit 2000", "fewer images: a first look in seconds"},
	{"invar demo --data folder:photos --weights resnet50.pth --size 96",
     "your images and your encoder"},
	{"invar demo --data folder:photos --weights resnet50.pth --size 96 --augment crop",
     "another augmentation"},
	{0},
};

static const invar_option own[] = {
	{INV_ROW(TEXT, "output", "DIR", "Result",
             "folder for the banks, the runs, the tables and the pages"),
     .initial = "invar-demo"},
	{INV_ROW(TEXT, "data", "DATASET", "Images",
             "other images, as in 'invar encode'; a plain folder contains idx files like "
             "MNIST's, or images")},
	{INV_ROW(COUNT, "limit", "N", "Images",
             "number of images for training, and at most as many for testing; taken evenly "
             "from all classes"),
     .initial = "4000", .min = 50, .max = 1e9},
	{INV_ROW(LIST, "augment", "SPEC", "Images",
             "how copies are made, as in 'invar encode'; may be repeated; default: "
             "rotation and noise:std=0.5")},
	{INV_ROW(TEXT, "weights", "FILE", "Encoder",
             "use this encoder instead of the one that comes with invar")},
	{INV_ROW(TEXT, "size", "native|N", "Encoder",
             "side of the images; default: the encoder's own")},
	{INV_ROW(TEXT, "normalize", "NAME", "Encoder",
             "as in 'invar encode'; default: the encoder's own")},
	{0},
};

static invar_status run_demo(inv_session *s)
{
	inv_study *study = NULL;
	inv_study_job j = {0};
	invar_status st;

	INV_TRY(inv_demo_recipe(s, &study));
	j.study = study;
	INV_TRY_OR(end, inv_study_check_output(s, study));
	INV_TRY_OR(end, inv_study_execute(s, &j));
	inv_term_clear(s->term);
	st = s->json ? inv_study_print_file(study, "table.json") : inv_demo_words(s, &j);
end:
	inv_study_job_clear(&j);
	inv_study_free(study);
	return st;
}

const inv_command inv_cmd_demo = {
	.name = "demo",
	.purpose = "shows the whole method on real images",
	.usage = "[options]",
	.about =
		"Uses Debian's package dataset-fashion-mnist and a small encoder that comes with "
		"invar and was trained on upright garments only, without labels. Encodes garments "
		"and rotated and noisy copies of them, diagnoses, trains ridge, instant, keep "
		"(the default of 'invar train'), the paper's MaWa and WaCo, all of them small, "
		"measures them, prints a table and the adapter that it recommends, and writes a "
		"page, DIR/report.html, to be opened with a browser. Takes under three minutes on "
		"two "
		"cores. The demo is a recipe, share/invar/demo.yaml, so DIR has what 'invar run' "
		"makes. After an interruption the same command resumes; once finished, it shows "
		"the results again. With other options, only what depends on them is redone.",
	.examples = examples,
	.own = own,
	.is_basic = true,
	.is_timed = true,
	.run = run_demo,
};
