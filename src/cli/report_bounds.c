/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_bounds.c - bounds the work of a page by the number of products that it takes.
 *
 * The option points thins out what compares rows with rows. Classifiers and kNN take all
 * rows whatever it is, so with many rows or classes they are left out.
 */
#include "cli/report_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/words.h"
#include "measure/labels.h"

/* Of the features of two rows, in searches: together a few minutes on one core. */
static const double max_products = 1e12;
static const double max_trained = 5e10; /* of a row with the weights of a classifier */
static const double max_voted = 1e13;   /* kNN makes one search, others several */
static const double per_pair = 100; /* so many numbers more per row, as a pair has a cost */
static const double min_points = 1000;

/* Moves those of `dropped`, "a,b", from one list to the other. */
static void drop_words(const char *dropped, char *metrics, char *left_out)
{
	char all[INV_REPORT_WORDS], word[INV_WORD];
	const char *at = strcpy(all, metrics);

	*metrics = '\0';
	while (inv_next_word(&at, ',', word)) {
		char *list = inv_has_word(dropped, ',', word) ? left_out : metrics;

		sprintf(list + strlen(list), "%s%s", *list ? "," : "", word);
	}
}

invar_status inv_report_bound(const invar_bank *bank, const char *split, size_t adapters,
                              char *metrics, char *left_out, double *points)
{
	bool has_train = inv_bank_has_split(bank, "train");
	double train = has_train ? (double)invar_bank_rows(bank, "train") : 0, gallery = 0;
	double rows = (double)invar_bank_rows(bank, split);
	double copies = (double)invar_bank_copies(bank, split);
	double numbers = (invar_bank_dim(bank) + per_pair) * (double)(1 + adapters), found;
	inv_labels labels = {0};

	*left_out = '\0';
	if (has_train && invar_bank_has_labels(bank, "train"))
		INV_TRY(inv_labels_read(bank, inv_bank_split(bank, "train"), &labels));
	if (train * labels.classes * numbers > max_trained)
		drop_words("lc,kept,curves,classes,worst", metrics, left_out);
	if (rows * (1 + copies) * train * numbers > max_voted)
		drop_words("knn", metrics, left_out);
	inv_labels_clear(&labels);

	for (size_t i = 0; i < invar_bank_splits(bank); i++)
		gallery += (double)invar_bank_rows(bank, invar_bank_split(bank, i));
	found = fmax(min_points, floor(max_products / ((1 + copies) * gallery * numbers)));
	*points = found < rows ? found : 0;
	return INVAR_OK;
}
