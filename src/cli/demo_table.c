/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_table.c - the third part of the demo: what the adapters did, and in words.
 *
 * Every number comes out of invar_eval, the words around it as well.
 */
#include <math.h>
#include <stdio.h>

#include "cli/demo.h"
#include "cli/files.h"
#include "cli/term.h"
#include "report/table.h"

enum { PROBE_HIDDEN = 512, PROBE_EPOCHS = 20 };

static const char *const row_title[DEMO_COLUMNS] = {"F, no adapter", "ridge", "MaWa",
                                                    "MaWa, residual", "WaCo"};

invar_status inv_demo_measure(inv_demo *d)
{
	invar_eval_opts o;
	invar_status st;
	char *text;

	invar_eval_defaults(&o);
	o.only = "lc,ec,kept,knn,structure,collision";
	o.index = "clean";
	o.probe_epochs = PROBE_EPOCHS;
	o.probe_hidden = PROBE_HIDDEN;
	o.seed = d->v->common.seed;
	inv_term_say(d->s->term,
	             "Measuring; classifiers learn for %d epochs, EC with %d hidden units.",
	             PROBE_EPOCHS, PROBE_HIDDEN);
	st = invar_eval(d->bank, (const invar_adapter *const *)d->adapter, inv_demo_column + 1,
	                DEMO_ADAPTERS, &o, &text);
	if (st == INVAR_OK)
		d->results = json_loads(text, 0, NULL);
	invar_free(text);
	if (st != INVAR_OK)
		return st;
	return d->results ? inv_save_json(d->s, d->results_path, d->results)
	                  : inv_no_memory(d->s);
}

/* ---- Numbers --------------------------------------------------------------------- */

static const json_t *measured(const inv_demo *d, const char *measurement,
                              const char *column)
{
	const json_t *all = json_object_get(d->results, "measurements");

	return json_object_get(json_object_get(all, measurement), column);
}

static double number(const json_t *of, const char *key)
{
	const json_t *value = json_object_get(of, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

double inv_demo_percent(const inv_demo *d, const char *measurement, const char *column,
                        const char *which)
{
	const json_t *of = measured(d, measurement, column);

	return 100 * number(json_object_get(of, which), "value");
}

/* ---- The table --------------------------------------------------------------------- */

static void accuracy_cell(const inv_demo *d, inv_table *t, const char *measurement,
                          const char *column)
{
	inv_table_cell(t, "%.1f | %.1f", inv_demo_percent(d, measurement, column, "clean"),
	               inv_demo_percent(d, measurement, column, "augmented"));
}

static void adapter_row(const inv_demo *d, inv_table *t, size_t i)
{
	const char *column = inv_demo_column[i];
	const json_t *structure = measured(d, "structure", column);

	inv_table_cell(t, "%s", row_title[i]);
	accuracy_cell(d, t, "lc", column);
	accuracy_cell(d, t, "kept", column);
	accuracy_cell(d, t, "knn", column);
	inv_table_number(t, number(structure, "R2"));
	inv_table_number(t, number(structure, "CVRMSD"));
	inv_table_cell(t, "%.1f", inv_demo_percent(d, "collision", column, "raw"));
}

/* EC reads F with two hidden layers: no adapter, so the other columns are empty. */
static void ec_row(const inv_demo *d, inv_table *t)
{
	inv_table_cell(t, "F, classifier EC");
	accuracy_cell(d, t, "ec", "F");
	for (size_t i = 0; i < 5; i++)
		inv_table_cell(t, "–");
}

static void fill_table(const inv_demo *d, inv_table *t)
{
	static const char *const heading[] = {"",   "LC, %",  "LC-kept, %",  "old index, %",
	                                      "R²", "CVRMSD", "collision, %"};

	for (size_t i = 0; i < sizeof heading / sizeof *heading; i++)
		inv_table_cell(t, "%s", heading[i]);
	adapter_row(d, t, 0);
	ec_row(d, t);
	for (size_t i = 1; i < DEMO_COLUMNS; i++)
		adapter_row(d, t, i);
}

invar_status inv_demo_table(const inv_demo *d)
{
	inv_table *t = inv_table_new(7);
	bool written;

	if (!t)
		return inv_no_memory(d->s);
	fill_table(d, t);
	inv_term_clear(d->s->term);
	puts("\nUpright | turned:\n");
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written ? INVAR_OK : inv_no_memory(d->s);
}

/* ---- In words --------------------------------------------------------------------- */

static void explain_columns(void)
{
	puts(
		"\n"
		"LC         a linear classifier, trained on upright images with the adapter in "
		"front\n"
		"LC-kept    the classifier of the first row, left alone, fed with what the adapter "
		"gives\n"
		"old index  the 20 nearest features of an index that was made without the adapter\n"
		"R², CVRMSD how well distances among upright images are kept: 1 and 0 are perfect\n"
		"collision  turned images that are nearer to an upright one of another class\n");
}

/* The adapter whose features the old classifier reads best, turned ones counted. */
static size_t best_column(const inv_demo *d)
{
	size_t best = 1;

	for (size_t i = 2; i < DEMO_COLUMNS; i++)
		if (inv_demo_percent(d, "kept", inv_demo_column[i], "augmented") >
		    inv_demo_percent(d, "kept", inv_demo_column[best], "augmented"))
			best = i;
	return best;
}

static void explain_results(const inv_demo *d)
{
	size_t i = best_column(d);
	const char *best = inv_demo_column[i];
	double before = inv_demo_percent(d, "knn", "F", "augmented");
	double after = inv_demo_percent(d, "knn", best, "augmented");

	printf("What you saw. The encoder stayed as it is%s.\n"
	       "A classifier on its features recognises %.0f %% of upright images and %.0f %% "
	       "of turned\n"
	       "ones. With a small adapter behind the encoder (%s) the same classifier, not "
	       "trained\n"
	       "again, recognises %.0f %% and %.0f %%. An index of old features, not built "
	       "again, finds\n"
	       "the class of %.0f %% of turned images, without it %.0f %%. The adapter never "
	       "saw a label.\n",
	       d->v->weights ? "" : "; it learned from upright garments alone",
	       inv_demo_percent(d, "kept", "F", "clean"),
	       inv_demo_percent(d, "kept", "F", "augmented"), row_title[i],
	       inv_demo_percent(d, "kept", best, "clean"),
	       inv_demo_percent(d, "kept", best, "augmented"), after, before);
	if (!(after > before))
		puts(
			"No adapter helped the old index here: few images make few steps of training.");
	puts("WaCo makes codes of its own: a classifier has to be trained on them (LC), and an "
	     "old\n"
	     "classifier or index does not know them.");
	printf("Look at %s: turned images and their neighbours, before and after.\n",
	       d->sheet_path);
}

static void tell_next(const inv_demo *d)
{
	printf("\n%s holds all of it. Go on with:\n", d->folder);
	printf("  invar eval %s %s %s\n", d->bank_path, d->run_path[1], d->run_path[2]);
	printf("  invar train %s -o %s/longer --epochs 100\n", d->bank_path, d->folder);
	puts(
		"\nYour own encoder and images (a folder with one folder a class, or without):\n"
		"  invar encode folder:photos -o bank --weights resnet50.pth --augment rotation "
		"--holdout 0.2\n"
		"  invar train bank -o run\n"
		"  invar eval bank run\n"
		"Features from elsewhere come as NumPy arrays: bank/train/clean.npy [n, d] of the\n"
		"images, bank/train/aug.npy [n, c, d] of c augmented copies each, the same for "
		"test.");
}

void inv_demo_words(const inv_demo *d)
{
	explain_columns();
	explain_results(d);
	tell_next(d);
}
