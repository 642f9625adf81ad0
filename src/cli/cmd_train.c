/* cmd_train.c - invar train: a bank becomes a run with an adapter. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/term.h"

typedef struct train_values {
	inv_common common;
	const char *output;
	invar_train_opts train;
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
	{"invar train bank -o run --resume", "goes on where the run was interrupted"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK",
     "folder of features: train/clean.npy and its copies train/aug/000.npy and so on", 1,
     1},
	{0},
};

static const invar_field own_table[] = {
	{"output", INVAR_FIELD_TEXT, offsetof(train_values, output), 0, 0, 0, NULL, "RUN",
     "Run", "folder to fill with the adapter, its log and its checkpoint"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{own_fields, 0},
	{invar_train_fields, offsetof(train_values, train)},
	{0},
};

static void defaults(void *values)
{
	invar_train_defaults(&((train_values *)values)->train);
}

/* Tells how to go on, if there is something to go on with. */
static invar_status explain_interrupt(inv_session *s, const char *bank, const char *run)
{
	char *begun = inv_path(run, "run.json");
	bool resumable = begun && access(begun, F_OK) == 0;

	free(begun);
	if (!resumable)
		return inv_fault(s, INVAR_E_CANCELLED, "interrupted before the first step");
	return inv_fault(s, INVAR_E_CANCELLED,
	                 "interrupted; 'invar train %s -o %s --resume' goes on from here", bank,
	                 run);
}

/* The last line of the log, with the number of epochs for the index of the last one. */
static invar_status print_summary(inv_session *s, const char *run, const char *adapter,
                                  const char *log)
{
	json_t *last = inv_last_json_line(log);
	json_int_t epoch = json_integer_value(json_object_get(last, "epoch"));
	json_t *document = json_pack("{s:s, s:s, s:I}", "run", run, "adapter", adapter,
	                             "epochs", last ? epoch + 1 : (json_int_t)0);

	json_object_del(last, "epoch");
	json_object_del(last, "seconds");
	if (last && document)
		json_object_update(document, last);
	json_decref(last);
	return inv_print_json(s, document);
}

static invar_status tell_result(inv_session *s, const char *bank, const char *run)
{
	char *adapter = inv_path(run, "adapter.safetensors");
	char *log = inv_path(run, "log.jsonl");
	invar_status st = INVAR_OK;

	if (!adapter || !log)
		st = inv_no_memory(s);
	else if (s->common->json)
		st = print_summary(s, run, adapter, log);
	if (st == INVAR_OK) {
		inv_term_say(s->term, "%s is written; next: invar eval %s %s", adapter, bank, run);
		inv_term_close(s->term);
	}
	free(adapter);
	free(log);
	return st;
}

static invar_status run(inv_session *s, void *values)
{
	train_values *v = values;
	const char *path = s->argument[0];
	invar_bank *bank = NULL;
	invar_status st;

	if ((st = inv_need(s, v->output, "the folder for the run is missing: -o RUN")) !=
	        INVAR_OK ||
	    (st = inv_session_start(s)) != INVAR_OK ||
	    (st = invar_bank_open(s->ctx, path, &bank)) != INVAR_OK)
		return st;
	st = invar_train(&bank, 1, &v->train, s->given, v->output);
	invar_bank_close(bank);
	if (st == INVAR_E_CANCELLED)
		return explain_interrupt(s, path, v->output);
	return st == INVAR_OK ? tell_result(s, path, v->output) : st;
}

const inv_command inv_cmd_train = {
	.name = "train",
	.purpose = "trains an adapter on a bank of features",
	.usage = "BANK -o RUN [options]",
	.about =
		"Fills the folder RUN with adapter.safetensors, run.json (every option with its "
		"value), log.jsonl (a line per epoch) and checkpoint.safetensors. An interrupted "
		"run goes on with --resume and ends with the same bytes as one that was never "
		"interrupted.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(train_values),
	.defaults = defaults,
	.run = run,
};
