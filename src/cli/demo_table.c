/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_table.c - the third part of the demo: what the adapters did, and in words.
 *
 * Every number comes out of invar_eval, the words around it as well.
 */
#include <math.h>
#include <stdio.h>

#include "cli/command_files.h"
#include "cli/demo.h"
#include "cli/term.h"
#include "report/table.h"

enum { PROBE_HIDDEN = 512, PROBE_EPOCHS = 20 };

static const char *const row_title[DEMO_COLUMNS] = {
	"F, no adapter", "ridge", "robust", "MaWa, paper", "MaWa, residual", "WaCo"};

static invar_status set_options(const inv_demo *d, invar_options *o)
{
	const struct {
		const char *name, *text;
	} texts[] = {{"metrics", "lc,ec,kept,knn,structure,collision"}, {"index", "clean"}};
	const struct {
		const char *name;
		double value;
	} numbers[] = {{"probe-epochs", PROBE_EPOCHS},
	               {"probe-hidden", PROBE_HIDDEN},
	               {"seed", (double)d->v->common.seed}};
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < sizeof texts / sizeof *texts && st == INVAR_OK; i++)
		st = invar_options_set(o, texts[i].name, texts[i].text);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers && st == INVAR_OK; i++)
		st = invar_options_set_number(o, numbers[i].name, numbers[i].value);
	return st;
}

invar_status inv_demo_measure(inv_demo *d)
{
	char says[120];
	invar_options *o;
	invar_status st = invar_options_new("eval", &o);

	snprintf(says, sizeof says,
	         "Measuring; classifiers are trained for %d epochs, EC with %d hidden units.",
	         PROBE_EPOCHS, PROBE_HIDDEN);
	if (st == INVAR_OK)
		st = set_options(d, o);
	if (st == INVAR_OK)
		st = invar_stages_add_eval(d->stages, "eval", says, d->bank_path,
		                           (const char *const *)d->run_path, inv_demo_column + 1,
		                           DEMO_ADAPTERS, o, d->results_path);
	invar_options_free(o);
	return st;
}

/* ---- Numbers --------------------------------------------------------------------- */

static double number(const inv_demo *d, const char *metric, size_t column)
{
	const invar_value *v = invar_results_value(
		d->results, metric, invar_results_column(d->results, column)->id);

	return v && !v->reason ? v->value : NAN;
}

double inv_demo_percent(const inv_demo *d, const char *metric, size_t column)
{
	return 100 * number(d, metric, column);
}

/* ---- The table --------------------------------------------------------------------- */

static void accuracy_cell(const inv_demo *d, inv_table *t, const char *clean,
                          const char *augmented, size_t column)
{
	inv_table_cell(t, "%.1f | %.1f", inv_demo_percent(d, clean, column),
	               inv_demo_percent(d, augmented, column));
}

static void adapter_row(const inv_demo *d, inv_table *t, size_t i)
{
	inv_table_cell(t, "%s", row_title[i]);
	accuracy_cell(d, t, "lc.clean", "lc.augmented", i);
	accuracy_cell(d, t, "kept.clean", "kept.augmented", i);
	accuracy_cell(d, t, "knn.clean", "knn.augmented", i);
	inv_table_number(t, number(d, "structure.R2", i));
	inv_table_number(t, number(d, "structure.CVRMSD", i));
	inv_table_cell(t, "%.1f", inv_demo_percent(d, "collision.raw", i));
}

/* EC reads F with two hidden layers: no adapter, so the other columns are empty. */
static void ec_row(const inv_demo *d, inv_table *t)
{
	inv_table_cell(t, "F, classifier EC");
	accuracy_cell(d, t, "ec.clean", "ec.augmented", 0);
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
	puts("\nUpright | rotated:\n");
	written = inv_table_write(t, "text", stdout);
	inv_table_free(t);
	return written ? INVAR_OK : inv_no_memory(d->s);
}

/* ---- In words --------------------------------------------------------------------- */

static void explain_columns(void)
{
	puts("\nLC         a linear classifier, trained on the adapter's codes of upright "
	     "images\nLC-kept    the classifier of the first row, unchanged, applied to the "
	     "adapter's codes\nold index  the 20 nearest neighbours in an index built without "
	     "the adapter\nR², CVRMSD how well distances among upright images are preserved: 1 "
	     "and 0 are perfect\ncollision  rotated images that are nearer to an upright one "
	     "of another class\n");
}

/* The adapter whose features the old classifier reads best, rotated ones counted. */
static size_t best_column(const inv_demo *d)
{
	size_t best = 1;

	for (size_t i = 2; i < DEMO_COLUMNS; i++)
		if (inv_demo_percent(d, "kept.augmented", i) >
		    inv_demo_percent(d, "kept.augmented", best))
			best = i;
	return best;
}

static void explain_results(const inv_demo *d)
{
	size_t best = best_column(d);
	double before = inv_demo_percent(d, "knn.augmented", 0);
	double after = inv_demo_percent(d, "knn.augmented", best);

	printf(
		"Summary. The encoder was not changed%s.\nA classifier on its features recognises "
		"%.0f %% of upright images and %.0f %% of rotated\nones. With a small adapter "
		"after the encoder (%s) the same classifier, not retrained,\nrecognises %.0f %% "
		"and %.0f %%. An index of old features, not rebuilt, finds the class\nof %.0f %% "
		"of rotated images, and %.0f %% without the adapter. Training used no labels.\n",
		d->v->weights ? "" : "; it was trained on upright garments only",
		inv_demo_percent(d, "kept.clean", 0), inv_demo_percent(d, "kept.augmented", 0),
		row_title[best], inv_demo_percent(d, "kept.clean", best),
		inv_demo_percent(d, "kept.augmented", best), after, before);
	if (!(after > before))
		puts("No adapter helped the old index here: with few images there are few training "
		     "steps.");
	puts("WaCo computes new codes: a classifier must be trained on them (LC); an old "
	     "classifier\nor index cannot use them.");
	printf("Look at %s: rotated images and their neighbours, before and after.\n",
	       d->sheet_path);
}

static void tell_next(const inv_demo *d)
{
	printf("\n%s contains all files. Continue with:\n", d->folder);
	printf("  invar eval %s %s %s\n", d->bank_path, d->run_path[1], d->run_path[2]);
	printf("  invar train %s -o %s/longer --epochs 100\n", d->bank_path, d->folder);
	puts("\nWith your own encoder and images (a folder, with one sub-folder per class if "
	     "any):\n  invar encode folder:photos -o bank --weights resnet50.pth --augment "
	     "rotation --holdout 0.2\n  invar train bank -o run\n  invar eval bank run\nWith "
	     "your own features, as NumPy arrays: bank/train/clean.npy [n, d] of the "
	     "images,\nbank/train/aug.npy [n, c, d] of c augmented copies of each, and the "
	     "same for test.");
}

void inv_demo_words(const inv_demo *d)
{
	explain_columns();
	explain_results(d);
	tell_next(d);
}
