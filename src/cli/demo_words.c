/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_words.c - the end of the demo: a short table per bank and what it means.
 *
 * Every number comes from the table.json of a bank. The recommended adapter is the one that
 * the trial named, which knows nothing of the test images. A loss is called a loss.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command_results.h"
#include "cli/study_command.h"
#include "cli/term.h"
#include "run/run.h"

typedef struct goal {
	const char *title, *clean, *augmented;
	const char *words; /* of a sentence: "… more augmented images: 69 % instead of 29 %" */
} goal;

static const goal goals[] = {
	{"LC-kept, %", "kept.clean", "kept.augmented",
     "a classifier of the encoder's features, not retrained, recognises"},
	{"old index, %", "knn.clean", "knn.augmented",
     "an index of the encoder's features, not rebuilt, finds the class of"},
	{"same image, %", "same-image.old.l2.clean.recall_at_1",
     "same-image.old.l2.augmented.recall_at_1",
     "a search in an index of the encoder's features finds the original of"},
};

/* Shown beside them: what codes are worth to those who can train anew, as WaCo needs. */
static const goal new_classifier = {"LC, %", "lc.clean", "lc.augmented", NULL};

enum { GOALS = sizeof goals / sizeof *goals };

static const double noticeable_points = 5;

typedef struct summary {
	const inv_study_bank *bank;
	invar_results *r, *diagnosis; /* diagnosis NULL: there is none */
	size_t recommended;           /* column; 0: none */
} summary;

static double summary_value(const summary *m, const char *metric, size_t column)
{
	const invar_value *v =
		invar_results_value(m->r, metric, invar_results_column(m->r, column)->id);

	return v && !v->reason ? v->value : NAN;
}

static bool has_goal(const summary *m, const goal *g)
{
	return isfinite(summary_value(m, g->augmented, 0));
}

/* The preset that the trial named, "none" or "unknown". */
static const char *verdict(const summary *m)
{
	return m->diagnosis ? invar_results_about(m->diagnosis, "verdict") : "unknown";
}

static void fill_pair(const summary *m, inv_table *t, const goal *g, size_t column)
{
	inv_table_cell(t, "%.1f | %.1f", 100 * summary_value(m, g->clean, column),
	               100 * summary_value(m, g->augmented, column));
}

static invar_status print_summary(const summary *m)
{
	size_t columns = 3 + has_goal(m, &new_classifier);
	inv_table *t;

	for (size_t i = 0; i < GOALS; i++)
		columns += has_goal(m, &goals[i]);
	if (!(t = inv_table_new(columns)))
		return inv_no_memory();
	inv_table_cell(t, "clean | %s", m->bank->augment);
	if (has_goal(m, &new_classifier))
		inv_table_cell(t, "%s", new_classifier.title);
	for (size_t i = 0; i < GOALS; i++)
		if (has_goal(m, &goals[i]))
			inv_table_cell(t, "%s", goals[i].title);
	inv_table_cell(t, "R²");
	inv_table_cell(t, "gone, %%");
	for (size_t c = 0; c < invar_results_columns(m->r); c++) {
		inv_table_cell(t, "%s%s",
		               c ? invar_results_column(m->r, c)->title : "F, no adapter",
		               c && c == m->recommended ? " *" : "");
		if (has_goal(m, &new_classifier))
			fill_pair(m, t, &new_classifier, c);
		for (size_t i = 0; i < GOALS; i++)
			if (has_goal(m, &goals[i]))
				fill_pair(m, t, &goals[i], c);
		inv_table_number(t, summary_value(m, "structure.R2", c));
		inv_table_cell(t, "%.1f", 100 * summary_value(m, "invariance.gone", c));
	}
	putchar('\n');
	return inv_put_table(t, "text", stdout);
}

/* "more augmented images: 69 % instead of 29 %", and a loss as a loss. */
static void print_change(const summary *m, const char *metric, const char *images,
                         size_t column)
{
	double before = round(100 * summary_value(m, metric, 0)),
		   after = round(100 * summary_value(m, metric, column));

	if (after == before)
		printf("as many %s images as before: %.0f %%", images, after);
	else
		printf("%s %s images: %.0f %% instead of %.0f %%",
		       after > before ? "more" : "fewer", images, after, before);
}

/* What the trial says, a line per preset; the recommended one alone if there is one. */
static void print_trial(const summary *m)
{
	const char *why = m->diagnosis ? invar_results_about(m->diagnosis, "why") : NULL;
	size_t preset = strlen(verdict(m)), length;

	for (; why && *why; why += length + (why[length] != '\0')) {
		size_t column = 1;

		length = strcspn(why, "\n");
		if (m->recommended && (strncmp(why, verdict(m), preset) != 0 || why[preset] != ' '))
			continue;
		putchar(' ');
		for (size_t at = 0, word; at < length; at += word + 1) {
			word = strcspn(why + at, " \n");
			if (column + word + 2 > 96)
				column = (size_t)printf("\n ") - 1;
			column += (size_t)printf(" %.*s", (int)word, why + at);
		}
		puts(".");
	}
}

static void print_words(const summary *m)
{
	const char *trial = "the trial on held-out training images ('invar diagnose')";
	const invar_value *v = invar_results_value(m->r, goals[GOALS - 1].augmented, "F");
	double images = v ? (double)v->count : 0, points;

	printf("\n%s: ", m->bank->augment);
	if (m->recommended)
		printf("%s (*) is recommended, by %s.\n",
		       invar_results_column(m->r, m->recommended)->title, trial);
	else if (strcmp(verdict(m), "unknown") == 0)
		puts("no adapter is recommended: there are too few images for a trial.");
	else
		printf("no adapter is recommended: %s named %s.\n", trial, verdict(m));
	print_trial(m);
	for (size_t i = 0; i < GOALS && m->recommended; i++)
		if (has_goal(m, &goals[i])) {
			printf("  With it, %s\n  ", goals[i].words);
			print_change(m, goals[i].augmented, "augmented", m->recommended);
			fputs(", ", stdout);
			print_change(m, goals[i].clean, "clean", m->recommended);
			puts(".");
		}
	/* Two shares of n images differ by so much, one time in twenty, by chance alone. */
	points = 100 * 1.96 * sqrt(2 * 0.25 / fmax(images, 1));
	if (images > 0 && points >= noticeable_points)
		printf(
			"  Only %.0f images were tested: differences of less than %.0f points may be "
			"chance.\n",
			images, ceil(points));
}

invar_status inv_demo_words(inv_session *s, const inv_study_job *j)
{
	summary *all;
	invar_status st;

	INV_TRY(inv_new_zeros(&all, j->tables + 1));
	for (size_t i = 0; i < j->tables; i++) {
		summary *m = &all[i];
		char *path;

		m->bank = j->table_bank[i];
		INV_TRY_OR(end, invar_results_open(s->ctx, j->table[i], &m->r));
		INV_TRY_OR(end, inv_new_path(&path, m->bank->folder, "diagnose.json"));
		if (invar_results_open(s->ctx, path, &m->diagnosis) != INVAR_OK)
			m->diagnosis = NULL; /* a bank of fewer than 50 images has none */
		inv_free(path);
		for (size_t c = 1; c < invar_results_columns(m->r); c++)
			if (strcmp(invar_results_column(m->r, c)->title, verdict(m)) == 0)
				m->recommended = c;
	}
	for (size_t i = 0; i < j->tables; i++)
		INV_TRY_OR(end, print_summary(&all[i]));
	assert(j->tables); /* the recipe has two banks */
	puts("");
	if (has_goal(&all[0], &goals[0]))
		puts("LC         a linear classifier that is trained on the adapter's codes of "
		     "clean images\n"
		     "LC-kept    the classifier of the first row, unchanged, applied to the "
		     "adapter's codes");
	if (has_goal(&all[0], &goals[1]))
		puts("old index  class by the 20 nearest neighbours in an index built without the "
		     "adapter");
	puts("same image the image that a query was made from is found first in an index built "
	     "without the adapter\n"
	     "R²         how well distances among clean images are preserved: 1 is perfect\n"
	     "gone       how much of the squared displacement by the augmentation is removed");
	for (size_t i = 0; i < j->tables; i++)
		print_words(&all[i]);
	printf("\nThe encoder was not changed, and training used no labels. A page with "
	       "figures and pictures,\nto be opened with a browser:\n\n  %s/%s\n",
	       j->study->folder, INV_RUN_REPORT);
	st = INVAR_OK;
end:
	for (size_t i = 0; i < j->tables; i++) {
		invar_results_free(all[i].r);
		invar_results_free(all[i].diagnosis);
	}
	inv_free(all);
	return st;
}
