/* cmd_train.c - invar train: a bank becomes a run with an adapter. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"

typedef struct train_values {
	inv_common common;
	const char *output, *images, *weights;
	invar_train_opts train;
	invar_encoder_opts encoder;
	invar_encode_opts encode;
	invar_dataset_opts dataset;
} train_values;

static const inv_example examples[] = {
	{"invar train bank -o run", "MaWa with the paper's settings"},
	{"invar train bank -o run --residual --lr 1e-4",
     "E(z) = z + MLP(z), which begins at the identity; safer on features of supervised "
     "networks"},
	{"invar train bank -o run --epochs 20 --hidden 1024", "a quick first try"},
	{"invar train bank -o run --loss waco --width 96 --decoder",
     "WaCo with narrower codes, and a decoder that leads back to the features"},
	{"invar train rotated -o run --loss waco --also noisy --also cropped",
     "three augmentations of the same images at once"},
	{"invar train bank -o ridge --loss none --init ridge",
     "a closed form in a second, to see what training has to beat"},
	{"invar train --images stl10:data --weights dino.pth --augment rotation -o run",
     "without a bank: every epoch makes new copies of the images and encodes them"},
	{"invar train bank -o run --resume", "goes on where the run was interrupted"},
	{"invar train --images stl10:data -o run --resume",
     "the same on images: the run knows its weights and how images were prepared"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK",
     "folder of features: train/clean.npy and its copies train/aug/000.npy and so on; or "
     "--images instead",
     0, 1},
	{0},
};

static const invar_field own_table[] = {
	{"output", INVAR_FIELD_TEXT, offsetof(train_values, output), 0, 0, 0, NULL, "RUN",
     "Run", "folder to fill with the adapter, its log and its checkpoint"},
	{"images", INVAR_FIELD_TEXT, offsetof(train_values, images), 0, 0, INVAR_FIELD_OPTIONAL,
     NULL, "DATASET", "Images",
     "instead of a bank: augment and encode images while training, new copies in every "
     "epoch; a data set as in `invar encode`"},
	{"weights", INVAR_FIELD_TEXT, offsetof(train_values, weights), 0, 0,
     INVAR_FIELD_OPTIONAL, NULL, "FILE", "Encoder", "the encoder's weights, for --images"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{invar_train_fields, offsetof(train_values, train)},
	{invar_dataset_choice_fields, offsetof(train_values, dataset)},
	{invar_encoder_fields, offsetof(train_values, encoder)},
	{invar_images_fields, offsetof(train_values, encode)},
	{0},
};

enum { IMAGE_TABLES = 2 }; /* of those above, the first that is for --images alone */

static void defaults(void *values)
{
	train_values *v = values;

	invar_train_defaults(&v->train);
	invar_encoder_defaults(&v->encoder);
	invar_encode_defaults(&v->encode);
	invar_dataset_defaults(&v->dataset);
}

/* Tells how to go on, if there is something to go on with. */
static invar_status explain_interrupt(inv_session *s, const train_values *v)
{
	if (!invar_run_is_begun(v->output, v->train.force))
		return inv_fault(s, INVAR_E_CANCELLED, "interrupted before the first step");
	return inv_fault(s, INVAR_E_CANCELLED,
	                 "interrupted; 'invar train %s%s -o %s --resume' goes on from here",
	                 v->images ? "--images " : "", v->images ? v->images : s->argument[0],
	                 v->output);
}

/* The last line of the log, with the number of epochs for the index of the last one. */
static invar_status print_summary(inv_session *s, const char *run, const char *adapter,
                                  const char *log)
{
	json_t *last = inv_last_json_line(log);
	json_int_t epoch = json_integer_value(json_object_get(last, "epoch"));
	json_t *document =
		json_pack("{s:o, s:o, s:I}", "run", inv_name_json(run), "adapter",
	              inv_name_json(adapter), "epochs", last ? epoch + 1 : (json_int_t)0);

	json_object_del(last, "epoch");
	json_object_del(last, "seconds");
	if (last && document)
		json_object_update(document, last);
	json_decref(last);
	return inv_print_json(s, document);
}

static invar_status tell_result(inv_session *s, const char *bank, const char *run)
{
	char *adapter = inv_path(run, INVAR_RUN_ADAPTER);
	char *log = inv_path(run, INVAR_RUN_LOG);
	invar_status st = INVAR_OK;

	if (!adapter || !log)
		st = inv_no_memory(s);
	else if (s->common->json)
		st = print_summary(s, run, adapter, log);
	if (st == INVAR_OK) {
		inv_term_say(s->term, "%s is written; next: invar eval %s %s", adapter,
		             bank ? bank : "BANK", run);
		inv_term_close(s->term);
	}
	free(adapter);
	free(log);
	return st;
}

static invar_status train_on_bank(inv_session *s, const train_values *v)
{
	invar_bank *bank;
	invar_status st = invar_bank_open(s->ctx, s->argument[0], &bank);

	if (st == INVAR_OK)
		st = invar_train(&bank, 1, &v->train, s->given, v->output);
	invar_bank_close(bank);
	return st;
}

static invar_status train_on_images(inv_session *s, train_values *v)
{
	invar_recalled *begun = NULL;
	invar_dataset *dataset = NULL;
	invar_encoder *encoder = NULL;
	invar_status st = INVAR_OK;

	v->dataset.split = v->train.split;
	if (v->train.resume)
		st = invar_train_images_recall(s->ctx, v->output, s->given, &v->weights,
		                               &v->dataset, &v->encoder, &v->encode, &begun);
	v->train.split = v->dataset.split;
	if (st == INVAR_OK)
		st = invar_dataset_open(s->ctx, v->images, &v->dataset, &dataset);
	if (st == INVAR_OK)
		st = invar_encoder_open(s->ctx, v->weights, &v->encoder, &encoder);
	if (st == INVAR_OK)
		st = invar_train_images(encoder, dataset, &v->encode, &v->train, s->given,
		                        v->output);
	invar_encoder_close(encoder);
	invar_dataset_close(dataset);
	invar_recalled_free(begun);
	return st;
}

/* An option that says how images become features has no place beside a bank. */
static const char *find_image_option(const inv_session *s)
{
	const inv_option_table *t = tables + IMAGE_TABLES;
	size_t count;

	for (const char **name = s->given; *name; name++) {
		if (strcmp(*name, "weights") == 0)
			return *name;
		for (size_t i = 0; t[i].fields; i++)
			for (const invar_field *f = t[i].fields(&count), *end = f + count; f < end; f++)
				if (strcmp(f->name, *name) == 0)
					return *name;
	}
	return NULL;
}

static invar_status check_source(inv_session *s, const train_values *v)
{
	const char *option = find_image_option(s);

	if (v->images && s->arguments)
		return inv_fault(s, INVAR_E_USE,
		                 "give a bank or --images, not both: %s and --images %s",
		                 s->argument[0], v->images);
	if (!v->images && !s->arguments)
		return inv_fault(s, INVAR_E_USE, "BANK is missing, or --images DATASET instead");
	if (!v->images && option)
		return inv_fault(s, INVAR_E_USE,
		                 "--%s says how images become features, but %s has features; it "
		                 "belongs to --images",
		                 option, s->argument[0]);
	return INVAR_OK;
}

/* A run that has been begun among data stays where it is. */
static invar_status check_output(inv_session *s, const train_values *v)
{
	inv_reads_dataset(s, v->images);
	if (s->arguments)
		inv_reads_all(s, s->argument[0], "the features");
	for (const char *const *bank = v->train.also; bank && *bank; bank++)
		inv_reads_all(s, *bank, "the features");
	return invar_run_is_begun(v->output, 0) ? INVAR_OK
	                                        : inv_check_output_folder(s, "-o", v->output);
}

static invar_status run(inv_session *s, void *values)
{
	train_values *v = values;
	invar_status st;

	if ((st = check_source(s, v)) != INVAR_OK ||
	    (st = inv_need(s, v->output, "the folder for the run is missing: -o RUN")) !=
	        INVAR_OK ||
	    (st = check_output(s, v)) != INVAR_OK || (st = inv_session_start(s)) != INVAR_OK)
		return st;
	st = v->images ? train_on_images(s, v) : train_on_bank(s, v);
	if (st == INVAR_E_CANCELLED)
		return explain_interrupt(s, v);
	return st == INVAR_OK ? tell_result(s, v->images ? NULL : s->argument[0], v->output)
	                      : st;
}

const inv_command inv_cmd_train = {
	.name = "train",
	.purpose = "trains an adapter on a bank of features",
	.usage = "BANK -o RUN | --images DATASET --augment SPEC -o RUN [options]",
	.about =
		"Fills the folder RUN with adapter.safetensors, run.json (every option with its "
		"value), log.jsonl (a line per epoch) and checkpoint.safetensors. An interrupted "
		"run goes on with --resume and ends with the same bytes as one that was never "
		"interrupted. RUN must be a new or an empty folder: what is not part of a run is "
		"never removed. With --force the new run is written to RUN.part and takes the "
		"place of RUN once it is finished; until then RUN stays as it is, and --resume "
		"goes on with the new one. With --images there is no bank: clean features are "
		"encoded once, "
		"into RUN/clean, and copies anew in every epoch while the adapter trains, each a "
		"function of seed, epoch and image; with --resume, weights and preparation need "
		"not "
		"be given again.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(train_values),
	.defaults = defaults,
	.run = run,
};
