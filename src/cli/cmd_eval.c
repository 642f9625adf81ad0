/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_eval.c - invar eval: F and every adapter side by side.
 *
 * The library measures and gives a JSON document; this file names the columns,
 * shows the table and puts each run's own numbers into its metrics.json.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/term.h"
#include "report/results.h"

typedef struct eval_values {
	inv_common common;
	const char *output, *format;
	int force;
	invar_eval_opts eval;
} eval_values;

static const inv_example examples[] = {
	{"invar eval bank run", "what the adapter of a run does to the feature space"},
	{"invar eval bank run-a run-b other.safetensors --points 1000",
     "several adapters side by side, on 1000 points"},
	{"invar eval bank run --json -o results.json", "for programs, and kept in a file"},
	{"invar eval bank run --format latex", "for a paper"},
	{0},
};

static const inv_argument arguments[] = {
	{"BANK", "folder of features: test/clean.npy and what the measurements need", 1, 1},
	{"ADAPTER…", "safetensors files, or run folders that hold one; F alone without any", 0,
     INV_MANY},
	{0},
};

static const invar_field own_table[] = {
	{"output", INVAR_FIELD_TEXT, offsetof(eval_values, output), 0, 0, 0, NULL, "FILE",
     "Result", "write the whole JSON document to this file too"},
	{"format", INVAR_FIELD_TEXT, offsetof(eval_values, format), 0, 0, 0, INV_TABLE_FORMATS,
     "WORD", "Result", "how the table is written"},
	{"force", INVAR_FIELD_FLAG, offsetof(eval_values, force), 0, 1, 0, NULL, NULL, "Result",
     "let the document replace a file of another kind, or lie in the bank; never a file "
     "that"
     " is read"},
};
INV_FIELDS_FUNCTION(own_fields, own_table)

static const inv_option_table tables[] = {
	{invar_eval_fields, offsetof(eval_values, eval)},
	{own_fields, 0},
	{0},
};

static void defaults(void *values)
{
	eval_values *v = values;

	v->format = "text";
	invar_eval_defaults(&v->eval);
}

/* ---- Columns ----------------------------------------------------------------- */

/* One adapter: its file, its title, and where its numbers are kept. */
typedef struct columns {
	size_t count;
	invar_adapter **adapter;
	char **name;
	char **metrics_path; /* NULL for an adapter that is not in a run folder */
} columns;

static bool allocate_columns(columns *c, size_t count)
{
	c->count = count;
	c->adapter = calloc(count, sizeof *c->adapter);
	c->name = calloc(count, sizeof *c->name);
	c->metrics_path = calloc(count, sizeof *c->metrics_path);
	return c->adapter && c->name && c->metrics_path;
}

static void free_columns(columns *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->adapter)
			invar_adapter_close(c->adapter[i]);
		if (c->name)
			free(c->name[i]);
		if (c->metrics_path)
			free(c->metrics_path[i]);
	}
	free(c->adapter);
	free(c->name);
	free(c->metrics_path);
}

static bool is_taken(const columns *c, size_t before, const char *name)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(c->name[i], name) == 0)
			return true;
	return strcmp(name, "F") == 0;
}

/* The last part of a path, without .safetensors; NULL if there is no memory. */
static char *plain_title(const char *path)
{
	const char *const ending = ".safetensors";
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (end - start > strlen(ending) &&
	    strncmp(path + end - strlen(ending), ending, strlen(ending)) == 0)
		end -= strlen(ending);
	return strndup(path + start, end - start);
}

/* A second "run" is called "run#2"; F is the name of the encoder's own column. */
static char *unique_title(const columns *c, size_t i, const char *path)
{
	char *plain = plain_title(path);
	char *name = plain;

	for (unsigned n = 2; name && is_taken(c, i, name); n++) {
		if (name != plain)
			free(name);
		if (asprintf(&name, "%s#%u", plain, n) < 0)
			name = NULL;
	}
	if (name != plain)
		free(plain);
	return name;
}

static invar_status open_column(inv_session *s, columns *c, size_t i, const char *path)
{
	invar_status st = invar_adapter_open(s->ctx, path, &c->adapter[i]);
	json_t *there;

	if (st != INVAR_OK)
		return st;
	if (!(c->name[i] = unique_title(c, i, path)))
		return inv_no_memory(s);
	if (!inv_path_is_folder(path))
		return INVAR_OK;
	if (!(c->metrics_path[i] = inv_path(path, INVAR_RUN_METRICS)))
		return inv_no_memory(s);
	st = inv_load_json(s, c->metrics_path[i], &there); /* to refuse it before the work */
	json_decref(there);
	return st;
}

/* ---- Results ------------------------------------------------------------------ */

/* What the figures below were taken on. */
static void print_heading(const json_t *document)
{
	const char *encoder = json_string_value(json_object_get(document, "encoder"));
	const char *augment = json_string_value(json_object_get(document, "augment"));
	long long points = json_integer_value(json_object_get(document, "points"));
	long long copies = json_integer_value(json_object_get(document, "copies"));

	printf("%s%s%s%s%lld point%s of the split %s, %lld cop%s, width %lld; clean | "
	       "augmented\n\n",
	       encoder ? encoder : "", encoder ? ", " : "", augment ? augment : "",
	       augment ? ": " : "", points, points == 1 ? "" : "s",
	       json_string_value(json_object_get(document, "split")), copies,
	       copies == 1 ? "y" : "ies",
	       (long long)json_integer_value(json_object_get(document, "dim")));
}

static invar_status print_table(inv_session *s, const eval_values *v,
                                const json_t *document)
{
	inv_table *t = inv_results_table(document);
	bool written;

	if (!t)
		return inv_no_memory(s);
	if (strcmp(v->format, "text") == 0)
		print_heading(document);
	written = inv_table_write(t, v->format, stdout);
	inv_table_free(t);
	return written ? INVAR_OK : inv_no_memory(s);
}

/* Everything a reader needs to know about one measurement of one run. */
static json_t *own_part(const json_t *document, const char *title, const char *name)
{
	const json_t *all = json_object_get(document, "measurements");
	const json_t *measurement = json_object_get(all, name);

	return json_pack(
		"{s:O, s:O, s:O, s:O, s:O*, s:O*, s:O*}", "bank", json_object_get(document, "bank"),
		"split", json_object_get(document, "split"), "points",
		json_object_get(document, "points"), "dim", json_object_get(document, "dim"), "F",
		json_object_get(measurement, "F"), "E", json_object_get(measurement, title),
		"skipped", json_object_get(json_object_get(document, "skipped"), name));
}

/* Of a document that is not complete, only what the run itself has is kept. */
static bool is_kept(const json_t *document, const char *title, const char *name)
{
	const json_t *all = json_object_get(document, "measurements");
	const json_t *own = json_object_get(json_object_get(all, name), title);

	return !json_object_get(document, "incomplete") ||
	       (own && !json_object_get(own, "skipped"));
}

static bool add_own(const json_t *document, const char *title, const char *name,
                    json_t *all)
{
	return !is_kept(document, title, name) ||
	       json_object_set_new(all, name, own_part(document, title, name)) == 0;
}

/* What a run keeps of the document: its own column, beside F. */
static json_t *own_results(const json_t *document, const char *title)
{
	json_t *all = json_object(), *value;
	const char *name;
	bool added = true;

	json_object_foreach (json_object_get(document, "measurements"), name, value)
		added = added && add_own(document, title, name, all);
	json_object_foreach (json_object_get(document, "skipped"), name, value)
		added = added && add_own(document, title, name, all);
	if (added)
		return json_pack("{s:o}", "measurements", all);
	json_decref(all);
	return NULL;
}

static invar_status keep_column(inv_session *s, const json_t *document, const char *run,
                                const char *title)
{
	json_t *results = own_results(document, title);
	bool empty = results && !json_object_size(json_object_get(results, "measurements"));
	char *text = results ? json_dumps(results, INV_JSON_STYLE) : NULL;
	invar_status st = text ? INVAR_OK : inv_no_memory(s);

	if (st == INVAR_OK && !empty)
		st = invar_run_keep_results(s->ctx, run, text);
	free(text);
	json_decref(results);
	return st;
}

static invar_status keep_results(inv_session *s, const json_t *document, columns *c)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++)
		if (c->metrics_path[i] && access(s->argument[1 + i], W_OK) != 0)
			fprintf(stderr, "%s is not kept: the run cannot be written to\n",
			        c->metrics_path[i]);
		else if (c->metrics_path[i])
			st = keep_column(s, document, s->argument[1 + i], c->name[i]);
	return st;
}

/* ---- The command ---------------------------------------------------------------- */

/* *out may hold results whatever the status is, and NULL where there are none. */
static invar_status measure_bank(inv_session *s, const eval_values *v, const columns *c,
                                 json_t **out)
{
	invar_bank *bank = NULL;
	char *text = NULL;
	invar_status st = invar_bank_open(s->ctx, s->argument[0], &bank);

	*out = NULL;
	if (st == INVAR_OK)
		st = invar_eval(bank, (const invar_adapter *const *)c->adapter,
		                (const char *const *)c->name, c->count, &v->eval, &text);
	invar_bank_close(bank);
	if (text && !(*out = json_loads(text, 0, NULL)))
		st = inv_no_memory(s);
	invar_free(text);
	return st;
}

/* Shows and keeps a document; one that is not complete is kept by its runs alone. */
static invar_status conclude(inv_session *s, const eval_values *v, columns *c,
                             json_t *document)
{
	bool complete = !json_object_get(document, "incomplete");
	invar_status st = INVAR_OK;

	if (complete)
		st = s->common->json ? inv_print_json(s, json_incref(document))
		                     : print_table(s, v, document);
	if (complete && st == INVAR_OK && v->output)
		st = inv_save_json(s, v->output, document);
	return st == INVAR_OK ? keep_results(s, document, c) : st;
}

static invar_status check_output(inv_session *s, const eval_values *v)
{
	inv_reads_all(s, s->argument[0], "the features");
	for (size_t i = 1; i < s->arguments; i++)
		inv_reads(s, s->argument[i], "the adapter");
	return inv_check_output(s, &(inv_output){.option = "-o",
	                                         .path = v->output,
	                                         .kind = INV_OUTPUT_RESULTS,
	                                         .force = v->force});
}

static invar_status evaluate(inv_session *s, const eval_values *v, columns *c)
{
	json_t *document = NULL;
	invar_status st = check_output(s, v);
	char sentence[sizeof s->fault];

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++)
		st = open_column(s, c, i, s->argument[1 + i]);
	if (st == INVAR_OK)
		st = measure_bank(s, v, c, &document);
	if (!document)
		return st;
	snprintf(sentence, sizeof sentence, "%s", invar_last_error());
	if (st == INVAR_OK)
		st = conclude(s, v, c, document);
	else if (conclude(s, v, c, document) == INVAR_OK)
		inv_fault(s, st, "%s", sentence); /* as it was before anything else was done */
	json_decref(document);
	return st;
}

static invar_status run(inv_session *s, void *values)
{
	columns c = {0};
	invar_status st = inv_session_start(s);

	if (st != INVAR_OK)
		return st;
	st =
		allocate_columns(&c, s->arguments - 1) ? evaluate(s, values, &c) : inv_no_memory(s);
	free_columns(&c);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_eval = {
	.name = "eval",
	.purpose = "measures what adapters do to a bank's features",
	.usage = "BANK [ADAPTER…] [options]",
	.about =
		"F, the features as they are, is always the first column. Probes are trained on "
		"clean "
		"rows of train and tested on clean and augmented rows: LC a linear classifier and "
		"NC "
		"one with a hidden layer on the codes, EC one with two on F, LC-kept a linear "
		"classifier of F that is left alone and fed the codes, kNN neighbours in train. "
		"structure tells how close an adapter is to an isometry on clean features: L1 and "
		"L2, the least and the greatest ratio of a distance after E to the one before; m, "
		"b "
		"and R2 of the line through them; RMSD, NRMSD and CVRMSD, the deviation from "
		"equality. collision is the share of augmented features nearer to another class "
		"than to their own, as they are, after the best rigid map fitted on the same "
		"points (as published, which flatters), and after one fitted on other points. Each "
		"measurement fails alone: what cannot be measured is skipped, with the reason "
		"below "
		"the table and in the JSON; asked for by its own name in --only, it makes the exit "
		"code 1, and the others are still shown. Labels may be any numbers; rows with a "
		"negative one have none and are left out of what needs labels. The numbers of a "
		"run "
		"are merged into its metrics.json.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(eval_values),
	.defaults = defaults,
	.run = run,
};
